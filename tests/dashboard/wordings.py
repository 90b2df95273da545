"""Every text that the dashboard says, found by parsing its templates and its code."""

import ast
import re
from collections.abc import Iterator
from datetime import date
from functools import lru_cache
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, nodes

from memorist import errors
from memorist.about.values import SLOTS, NamedKind
from memorist.erasure.values import ErasureStatus
from memorist.errors import MemoristError
from memorist.memories.governance import RULES
from memorist.memories.kinds import KINDS
from memorist.memories.policy import Move
from memorist.memories.values import Status, Trust
from memorist.surfaces.dashboard import rendering
from memorist.turns.values import TurnStatus

FOLDER = Path(rendering.__file__).parent
TEMPLATES = FOLDER / "templates"
# The reference of the API is in English, as the API is.
IN_ENGLISH = "docs"
_HOLE = "\0"
_READ_OUT = ("placeholder", "title", "aria-label", "alt", "data-label", "hx-confirm")
_UNREAD = ("script", "style", "code", "kbd", "pre")
# Names and examples, which are the same in every language.
_SAME = {
    "Memorist",
    "Python",
    "curl",
    "ok",
    "mst_live_…",
    "key_…",
    "mem_…",
    "ok, forbidden",
    "GET /v1/memories",
    "User",
}
_WORD = re.compile(r"[^\W\d_]{2,}")
_PROSE = re.compile(r"^[A-Z][a-z]+|[a-z] [a-z]")


class Said(NamedTuple):
    place: str
    text: str


def templates() -> Iterator[tuple[str, str]]:
    for path in sorted(TEMPLATES.rglob("*.html")):
        if not path.name.startswith(IN_ENGLISH):
            yield path.relative_to(TEMPLATES).as_posix(), path.read_text("utf-8")


def said_in_templates() -> Iterator[Said]:
    environment = Environment()
    for name, source in templates():
        tree = environment.parse(source)
        for call in tree.find_all(nodes.Call):
            if isinstance(call.node, nodes.Name) and call.node.name in ("_", "_n"):
                assert _called(call), f"{name}:{call.lineno}: a text is said as it stands, with {{names}} for values"
            for text in _called(call):
                yield Said(f"{name}:{call.lineno}", text)
        for use in tree.find_all(nodes.Filter):
            if use.name == "plural":
                yield from (Said(f"{name}:{use.lineno}", text) for text in _counted(use))


def _called(call: nodes.Call) -> list[str]:
    named = call.node.name if isinstance(call.node, nodes.Name) else ""
    wanted = {"_": 1, "_n": 2}.get(named, 0)
    return [one.value for one in call.args[:wanted] if isinstance(one, nodes.Const)]


def _counted(use: nodes.Filter) -> list[str]:
    words = [one.value for one in use.args if isinstance(one, nodes.Const)]
    assert len(words) == len(use.args), f"line {use.lineno}: `plural` takes its words as they stand"
    return [f"{{n}} {words[0]}", f"{{n}} {words[1] if len(words) > 1 else words[0] + 's'}"]


_TEXTS = {"say": 1, "to_say": 1, "say_in_page": 1, "say_n": 2, "say_n_in_page": 2}


def said_in_code() -> Iterator[Said]:
    for path in sorted(FOLDER.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            name = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
            if isinstance(node, ast.Call) and name in _TEXTS:
                for text in node.args[: _TEXTS[name]]:
                    if isinstance(text, ast.Constant) and isinstance(text.value, str):
                        yield Said(f"{path.name}:{node.lineno}", text.value)
                    else:
                        assert not isinstance(text, ast.JoinedStr) or path.name in ("wording.py", "rendering.py"), (
                            f"{path.name}:{node.lineno}: a text is said as it stands, with {{names}} for values"
                        )


# Who reads what these are given.
_READ_BY_PEOPLE = {"Toast", "Sign", *(name for name in vars(errors) if not name.startswith("_"))}


def unsaid_in_code() -> list[str]:
    """Messages and errors of the pages that are not said, but written as they stand."""
    found = []
    for path in sorted(FOLDER.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and _called_name(node) in _READ_BY_PEOPLE:
                found += [f"{path.name}:{node.lineno}" for text in node.args if _is_prose(text)]
    return found


def _called_name(call: ast.Call) -> str:
    """`InvalidField` of `InvalidField(…)` and of `InvalidField.of(…)`."""
    called = call.func.value if isinstance(call.func, ast.Attribute) else call.func
    return called.id if isinstance(called, ast.Name) else ""


def _is_prose(text: ast.expr) -> bool:
    if isinstance(text, ast.JoinedStr):
        return any(_is_prose(part) for part in text.values)
    return isinstance(text, ast.Constant) and isinstance(text.value, str) and bool(_PROSE.search(text.value))


def unsaid(name: str, source: str) -> list[str]:
    """What a template shows that is in no catalogue: text, words of an attribute, and words in an expression."""
    tree = Environment().parse(source)
    return [*(f"{name}: {one}" for one in _Shown(_flat(tree)).found), *_constants(name, tree)]


def _flat(tree: nodes.Template) -> str:
    """The HTML with a hole for each value, and with the words that an expression shows where they are not said."""
    pieces: list[str] = []
    for output in tree.find_all(nodes.Output):
        for one in output.nodes:
            if isinstance(one, nodes.TemplateData):
                pieces.append(one.data)
            else:
                pieces += [_HOLE, *(f"{constant.value}{_HOLE}" for constant in _shown_constants(one))]
    return "".join(pieces)


class _Shown(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self._unread = 0
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._unread += tag in _UNREAD
        for name, value in attrs:
            if name in _READ_OUT:
                self._check(value or "")

    def handle_endtag(self, tag: str) -> None:
        self._unread -= tag in _UNREAD

    def handle_data(self, data: str) -> None:
        if not self._unread:
            self._check(data)

    def _check(self, text: str) -> None:
        # A macro may write attributes.
        bare = " ".join(re.sub(r'[\w-]+="[^"]*"| autofocus', "", text).replace(_HOLE, " ").split()).strip("· ")
        if bare not in _SAME and _WORD.search(bare):
            self.found.append(bare)


def _constants(name: str, tree: nodes.Template) -> Iterator[str]:
    """What reads like words anywhere in an expression, such as what a macro is given."""
    heard = {id(arg) for call in tree.find_all(nodes.Call) for arg in call.args if _called(call)}
    heard |= {id(arg) for use in tree.find_all(nodes.Filter) for arg in use.args if use.name == "plural"}
    for constant in tree.find_all(nodes.Const):
        value = constant.value
        if not isinstance(value, str) or value in _SAME or value.startswith(("/", "%")):
            continue
        if _PROSE.search(value) and id(constant) not in heard:
            yield f"{name}:{constant.lineno}: {value}"


def _shown_constants(node: nodes.Node) -> Iterator[nodes.Const]:
    if isinstance(node, nodes.Const) and isinstance(node.value, str):
        yield node
    elif isinstance(node, nodes.CondExpr):
        yield from _shown_constants(node.expr1)
        if node.expr2 is not None:
            yield from _shown_constants(node.expr2)
    elif isinstance(node, nodes.Or | nodes.Add):
        yield from _shown_constants(node.left)
        yield from _shown_constants(node.right)
    elif isinstance(node, nodes.Concat):
        for one in node.nodes:
            yield from _shown_constants(one)
    elif isinstance(node, nodes.Filter) and node.node is not None:
        yield from _shown_constants(node.node)


@lru_cache
def all_said() -> dict[str, str]:
    """Each text, and one of the places where it is said."""
    found = {one.text: one.place for one in (*said_in_templates(), *said_in_code())}
    return found | dict.fromkeys(_of_the_core(), "a word of the core") | {"English": "the name of the language"}


def _of_the_core() -> Iterator[str]:
    """Words that the core gives, and pages show."""
    for kind in KINDS.values():
        yield from (kind.one, kind.many)
    for rules in RULES.values():
        yield from filter(None, (rules.door, rules.instead))
    yield from (f"topic: {heading}" for heading in SLOTS.values())
    for value in (
        *Status,
        *TurnStatus,
        *ErasureStatus,
        *Move,
        *Trust,
        *NamedKind,
        "embedder",
        "reranker",
        "language model",
        "judge",
    ):
        yield value.replace("_", " ")
    yield from _errors()
    for month in range(1, 13):
        yield from (f"{date(2027, month, 1):%b}", f"{date(2027, month, 1):%B}")


# What most errors of these say that people see; others name a value, and are in English.
_TOLD = {"Conflict", "Forbidden", "IllegalTransition", "NotFound", "Unauthenticated"}


def _errors() -> Iterator[str]:
    """What each error says by itself, and what the core says where it raises one."""
    for found in _below(MemoristError):
        yield found().message
    for path in sorted(FOLDER.parents[1].rglob("*.py")):
        if "surfaces" in path.parts or "weights" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            raised = node.exc if isinstance(node, ast.Raise) else None
            if isinstance(raised, ast.Call) and isinstance(raised.func, ast.Name) and raised.func.id in _TOLD:
                yield from map(ast.literal_eval, (one for one in raised.args[:1] if isinstance(one, ast.Constant)))


def _below(error: type[MemoristError]) -> Iterator[type[MemoristError]]:
    yield error
    for one in error.__subclasses__():
        yield from _below(one) if one.__module__ == MemoristError.__module__ else ()
