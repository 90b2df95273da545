"""The question that an address of the playground asks, and the same question for a shell and for Python."""

import json
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import QueryParams

from memorist.memories.values import Kind
from memorist.platform import access, validation
from memorist.platform.values import Principal
from memorist.recall.values import Scope
from memorist.surfaces.dashboard.visits import EVERYBODY, HOME, Visit
from memorist.times import from_iso

PAGE = f"{HOME}/recall"
COMPARE = f"{PAGE}/compare"
SIDES = ("a", "b")
PER_SIDE = ("rerank", "scope", "as_of", "known_at", "top_k", "min_score")
"""What each side of a comparison sets for itself; the rest of a question is of both."""

LONGEST_QUERY = 2000
"""What the field takes: a question is part of the address, and addresses are not endless."""

_MOMENTS = ("as_of", "known_at", "after", "before")
_NUMBERS = {"top_k": int, "min_score": float, "budget_tokens": int}
_TEXTS = ("category", "project")


@dataclass(frozen=True, slots=True)
class RecallForm:
    """What stands in the address. `arguments` is what the tool `recall` is given: what is not its default."""

    query: str
    arguments: Mapping[str, Any]
    fields: Mapping[str, str]
    kinds: tuple[str, ...]
    agent: str
    session: str

    @classmethod
    def of(cls, given: QueryParams) -> "RecallForm":
        """Nothing is refused here: the tool itself says what is wrong with its arguments."""
        names = ("scope", "rerank", *_NUMBERS, *_MOMENTS, *_TEXTS, "why_not")
        fields = {name: given.get(name, "").strip() for name in names}
        kinds = tuple(kind for kind in given.getlist("kind") if kind)
        query = given.get("q", "").strip()
        arguments: dict[str, Any] = {"query": query}
        if kinds and set(kinds) != set(Kind):
            arguments["source_kinds"] = list(kinds)
        if fields["scope"] not in ("", Scope.ANY):
            arguments["scope"] = fields["scope"]
        if fields["rerank"] == "off":
            arguments["enable_rerank"] = False
        for name, kind in _NUMBERS.items():
            if fields[name]:
                arguments[name] = _number(kind, fields[name])
        arguments |= {name: fields[name] for name in (*_MOMENTS, *_TEXTS, "why_not") if fields[name]}
        agent, session = (given.get(name, "").strip() for name in ("agent", "session"))
        return cls(query, arguments, fields, kinds, agent, session)

    @property
    def has_filters(self) -> bool:
        """Whether anything is set beside the question, the scope and the reranker."""
        return bool(self.kinds or self.agent or self.session) or any(
            value for name, value in self.fields.items() if name not in ("scope", "rerank", "why_not")
        )

    def by(self, principal: Principal) -> Principal:
        """Who asks: with the agent and in the session that are named. Raises InvalidField or Forbidden."""
        named = {"agent": self.agent, "session": self.session}
        return access.acting(
            principal, **{name: validation.identifier(name, value) for name, value in named.items() if value}
        )

    def number(self, name: str) -> str:
        """A number as a field for numbers takes it; what is none, it would not show."""
        return self.fields[name] if isinstance(self.arguments.get(name), int | float) else ""

    def moment(self, name: str) -> str:
        """A time as a field for times takes it."""
        given = self.fields[name]
        try:
            moment = from_iso(given).replace(tzinfo=None) if given else None
        except (ValueError, OverflowError):
            return ""
        if moment is None:
            return ""
        return moment.isoformat(timespec="milliseconds" if moment.microsecond else "seconds")

    # The same in other words

    def pairs(self, **changed: str) -> list[tuple[str, str]]:
        """What the address says, without what is the default anyway."""
        values = {"q": self.query, "agent": self.agent, "session": self.session, **self.fields, **changed}
        if values["scope"] == Scope.ANY:
            values["scope"] = ""
        if values["rerank"] != "off":
            values["rerank"] = ""
        kinds = [("kind", kind) for kind in self.kinds]
        return [(name, value) for name, value in values.items() if value] + kinds

    def address(self, **changed: str) -> str:
        pairs = self.pairs(**changed)
        return f"{PAGE}?{urlencode(pairs)}" if pairs else PAGE

    def comparison(self) -> str:
        """Where this question is compared with the same one without the reranker, or with it."""
        pairs = self.pairs(why_not="")
        left = [(f"a_{name}" if name in PER_SIDE else name, value) for name, value in pairs]
        right = [(f"b_{name}", value) for name, value in pairs if name in PER_SIDE and name != "rerank"]
        reranked = "on" if self.fields["rerank"] == "off" else "off"
        return f"{COMPARE}?{urlencode([*left, *right, ('b_rerank', reranked)])}"

    def curl(self, visit: Visit) -> str:
        """A command that asks the same; the key is in MEMORIST_API_KEY."""
        lines = [
            f"curl -s {shlex.quote(f'{visit.address}/v1/tools/recall')}",
            '-H "Authorization: Bearer $MEMORIST_API_KEY"',
            "-H 'Content-Type: application/json'",
            *(f"-H {shlex.quote(f'X-Memorist-{name.title()}: {value}')}" for name, value in self._acting(visit)),
            f"-d {shlex.quote(_plain_json(self.arguments))}",
        ]
        return " \\\n  ".join(lines)

    def python(self, visit: Visit) -> str:
        """A program that asks the same; the key is in MEMORIST_API_KEY."""
        acting = "".join(f", {name}={value!r}" for name, value in self._acting(visit))
        moments = [name for name in _MOMENTS if name in self.arguments]
        given = [f"{name}={_as_python(name, value)}" for name, value in self.arguments.items() if name != "query"]
        return "\n".join(
            [
                *(["from datetime import datetime", ""] if moments else []),
                "from memorist.client import Client",
                "",
                f"with Client({visit.address!r}{acting}) as memory:",
                f"    recalled = memory.recall({', '.join([repr(self.query), *given])})",
                "    for hit in recalled.hits:",
                "        print(hit.score, hit.excerpt)",
            ]
        )

    def _acting(self, visit: Visit) -> Iterable[tuple[str, str]]:
        """For whom the key has to act, where that is not its own user, agent or session."""
        if visit.whose and visit.whose != EVERYBODY:
            yield "user", visit.whose
        if self.agent:
            yield "agent", self.agent
        if self.session:
            yield "session", self.session


def _number(kind: type[int] | type[float], text: str) -> int | float | str:
    """The number, or the text as it is: then the tool refuses it by its name."""
    try:
        return kind(text)
    except ValueError:
        return text


def _plain_json(value: Mapping[str, Any]) -> str:
    """JSON of which every character is seen: what turns the text around, or ends its line, is escaped."""
    text = json.dumps(value, ensure_ascii=False)
    return "".join(one if one.isprintable() else json.dumps(one)[1:-1] for one in text)


def _as_python(name: str, value: Any) -> str:
    if name not in _MOMENTS:
        return repr(value)
    moment: datetime = from_iso(value)
    return f"datetime.fromisoformat({moment.isoformat()!r})"
