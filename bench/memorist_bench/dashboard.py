"""How long the server takes for each view of the dashboard, with so many memories behind it."""

import http.client
import random
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from html import unescape
from typing import Any
from urllib.parse import quote, urlsplit

from memorist.core import Core
from memorist.errors import MemoristError
from memorist.platform.values import Principal, Role
from memorist.recall.values import Question
from memorist.settings import Settings
from memorist_bench.dashboard_filling import Filled, fill
from memorist_bench.metrics import milliseconds
from memorist_bench.quality import Report
from memorist_bench.serving import serving

_PAGES = {
    "home": "",
    "about you": "/about",
    "people and things": "/people",
    "people and things, a search": "/people?q={word}",
    "people and things, one": "/people/one?name=User",
    "memories": "/memories?kind=any",
    "memories, facts": "/memories",
    "memories, a word": "/memories?kind=any&q={word}",
    "memories, two words": "/memories?kind=any&q={word}+{other}",
    "memories, a rare word": "/memories?kind=any&q={rare}",
    "memories, no such word": "/memories?kind=any&q=nosuchwordanywhere",
    "memories, by meaning": "/memories/meaning?q={word}+{other}",
    "memories, some days": "/memories?kind=any&since=2000-01-01&q={word}",
    "memories, archived": "/memories?kind=any&state=archived",
    "memories, a kind": "/memories?kind=tool_output",
    "memories, a type": "/memories?type=decision",
    "memories, a project": "/memories?kind=any&project={project}",
    "memories, oldest first": "/memories?kind=any&sort=oldest",
    "memories, by importance": "/memories?kind=any&sort=importance",
    "memory": "/memories/{id}",
    "memory, beside a list": "/memories/{id}/panel",
    "memory, to edit": "/memories/{id}/edit",
    "memory, a new one": "/memories/new",
    "conversations": "/conversations",
    "conversation": "/conversations/read?session={session}&user={user}",
    "conversation, a word": "/conversations/read?session={session}&user={user}&q={word}",
    "conversation, before deleting": "/conversations/leaving?session={session}&user={user}",
    "documents": "/documents",
    "document": "/documents/read?id={document}",
    "recall": "/recall",
    "recall, a question": "/recall?q={question}",
    "recall, not reranked": "/recall?q={question}&rerank=off",
    "recall, a session's beginning": "/recall/section",
    "recall, two settings": "/recall/compare?q={question}",
    "chat": "/chat",
    "chat, a question": "/chat?q={question}",
    "turns": "/turns",
    "turn": "/turns/{turn}",
    "activity": "/activity",
    "activity, changes": "/activity?what=changes",
    "activity, recalls": "/activity?what=recalled",
    "activity, a user": "/activity?who={user}",
    "activity, usage": "/activity/usage",
    "activity, jobs": "/activity/jobs",
    "activity, retention": "/activity/retention",
    "in doubt": "/doubts",
    "palette": "/palette?q={word}",
    "whose memories": "/whose?q=u",
    "import and export": "/transfer",
    "set up": "/connect",
    "privacy": "/privacy",
    "privacy, before erasing": "/privacy/erase?user={user}",
    "access": "/access",
    "audit log": "/audit",
    "system": "/system",
}
# What a page asks for while somebody types.
_TYPED = {"memories, while typing": "/memories?kind=any&q={typed}", "palette, while typing": "/palette?q={typed}"}
# Who looks at everybody's is shown no turn: it may repeat what only its user reads.
_OF_ONE_USER = frozenset({"turn"})
_DEEP_PAGES = 20
_STARTS_WITHIN_S = 60
_TAG = re.compile(r"<[a-z][^>]*\shx-get=\"([^\"]+)\"[^>]*>")
_EVERYBODY = "*"


def measure_dashboard(
    core: Core, settings: Settings, tenant: str, prefix: str, *, memories: int, rounds: int, report: Report
) -> dict[str, Any]:
    """Fill a tenant, serve it from a process of its own, and ask for every view. Raises MemoristError or StoreError.

    Half of the memories are the user's who is signed in. Each view is asked for as that user and, since an admin may,
    as somebody who looks at everybody's; what a page loads afterwards by itself is a view of its own.
    """
    admin = Principal(tenant, Role.ADMIN, f"{prefix}-0", source="benchmark")
    filled = fill(core, tenant, prefix, memories, report)
    link = core.sign_ins.make_link(admin)
    try:
        with serving(settings) as address, closing(_Visitor(address, link)) as visitor:
            timings = _ViewTimings(visitor, filled)
            timings.run(rounds, report)
    finally:
        for key in core.identity.list_keys(admin):
            if key.user == admin.user and key.revoked_at is None:
                core.identity.revoke_key(admin, key.id)
    views = timings.figures()
    floor = _reranked(core, replace(admin, role=Role.USER), filled)
    return {
        "memories": memories,
        "users": filled.users,
        "turns": len(filled.turns),
        "rounds": rounds,
        "database": "sqlite" if settings.sqlite_path() else "postgres",
        "embedder": core.embedder.model_id if core.embedder else None,
        "slowest_ms_p95": max(view["ms_p95"] for view in views.values()),
        "reranked_recall": floor,
        "views": views,
    }


def _reranked(core: Core, principal: Principal, filled: Filled) -> dict[str, float] | None:
    """How long a reranked recall takes in this process: less than that no view takes that shows one."""
    if core.reranker is None:
        return None
    seconds = []
    core.recall.recall(principal, Question("What is read the first time?"))
    for values in filled.examples():
        began = time.perf_counter()
        core.recall.recall(principal, Question(values["question"].replace("+", " ")))
        seconds.append(time.perf_counter() - began)
    return {"ms_p50": milliseconds(seconds, 50), "ms_p95": milliseconds(seconds, 95)}


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    seconds: float
    text: str
    headers: Mapping[str, str]


class _Visitor:
    """Somebody at one connection that stays open, who is signed in by a link."""

    def __init__(self, address: str, link: str) -> None:
        host = urlsplit(address).netloc
        self._connection = http.client.HTTPConnection(host, timeout=_STARTS_WITHIN_S)
        self._cookies: dict[str, str] = {}
        entered = self.get(f"/dashboard/enter?link={link}")
        if entered.status != 303 or not self._cookies:
            raise MemoristError("The server did not let the benchmark sign in.")
        (self._session,) = [name for name in self._cookies if name.startswith("memorist_session_")]

    def close(self) -> None:
        self._connection.close()

    def choose(self, whose: str) -> None:
        self._cookies[self._session.replace("session", "whose")] = quote(whose)

    def get(self, path: str, *, is_partial: bool = False, on: str = "") -> _Answer:
        """`on`: the address of the page that asks for a part of it."""
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in self._cookies.items())}
        if is_partial:
            headers |= {"HX-Request": "true", "HX-Current-URL": f"http://{self._connection.host}{on}"}
        started = time.perf_counter()
        self._connection.request("GET", path, headers=headers)
        response = self._connection.getresponse()
        body = response.read()
        seconds = time.perf_counter() - started
        for line in response.headers.get_all("set-cookie") or ():
            name, _, rest = line.partition("=")
            self._cookies[name] = rest.partition(";")[0]
        return _Answer(response.status, seconds, body.decode("utf-8", "replace"), dict(response.headers))


@dataclass(slots=True)
class _View:
    """An address or several that look alike, as one who chose `whose` sees it."""

    name: str
    paths: Sequence[str]
    whose: str
    is_partial: bool = False
    is_typed: bool = False
    seconds: list[float] = field(default_factory=list)
    longest: int = 0


class _ViewTimings:
    """All views, asked for in turns, so that what else the machine does hits all alike."""

    def __init__(self, visitor: _Visitor, filled: Filled) -> None:
        self._visitor = visitor
        self._views: list[_View] = []
        for whose, suffix in (("", ""), (_EVERYBODY, " (everybody)")):
            for name, pattern in (_PAGES | _TYPED).items():
                if whose and name in _OF_ONE_USER:
                    continue
                paths = [f"/dashboard{pattern.format(**values)}" for values in filled.examples()]
                is_typed = name in _TYPED
                paths = list(dict.fromkeys(paths))
                self._views.append(_View(name + suffix, paths, whose, is_partial=is_typed, is_typed=is_typed))
        for view in list(self._views):
            self._find_parts(view)
        for whose, suffix in (("", ""), (_EVERYBODY, " (everybody)")):
            self._find_deep_page(whose, f"memories, page {_DEEP_PAGES}{suffix}")

    def _find_parts(self, view: _View) -> None:
        """What a page loads by itself, once it is shown."""
        text = self._ask(view, view.paths[0]).text
        for tag in _TAG.finditer(text):
            trigger = re.search(r'hx-trigger="([^"]*)"', tag[0])
            if trigger is None or not re.search(r"\bload\b", trigger[1]):
                continue
            path = unescape(tag[1])
            is_same = path == view.paths[0]
            name = f"{view.name}: {'its answer' if is_same else urlsplit(path).path.removeprefix('/dashboard')}"
            if all(other.name != name for other in self._views):
                self._views.append(_View(name, view.paths if is_same else [path], view.whose, is_partial=True))

    def _find_deep_page(self, whose: str, name: str) -> None:
        """Scroll on as htmx does, as far as there is something."""
        view = _View(name, ["/dashboard/memories?kind=any"], whose)
        for _ in range(_DEEP_PAGES - 1):
            following = [path for path in _TAG.findall(self._ask(view, view.paths[0]).text) if "cursor=" in path]
            if not following:
                break
            view = _View(name, [unescape(following[-1])], whose, is_partial=True)
        if view.is_partial:
            self._views.append(view)

    def run(self, rounds: int, report: Report) -> None:
        rng = random.Random(0)
        for number in range(rounds):
            for view in rng.sample(self._views, len(self._views)):
                answer = self._ask(view, view.paths[number % len(view.paths)])
                view.seconds.append(answer.seconds)
                view.longest = max(view.longest, len(answer.text))
            report("Asking", number + 1, rounds)

    def _ask(self, view: _View, path: str) -> _Answer:
        self._visitor.choose(view.whose)
        # Who types has typed all but the last letter before.
        answer = self._visitor.get(path, is_partial=view.is_partial, on=path[:-1] if view.is_typed else "")
        if answer.status != 200:
            raise MemoristError(f"The view {view.name!r} answered {answer.status} at {path}.")
        return answer

    def figures(self) -> dict[str, dict[str, float]]:
        return {
            view.name: {
                "ms_p50": milliseconds(view.seconds, 50),
                "ms_p95": milliseconds(view.seconds, 95),
                "kb": round(view.longest / 1024, 1),
            }
            for view in self._views
        }
