"""Every regular expression of the package, how each is used, and texts that make one with a flaw take its time."""

import ast
import builtins
import dataclasses
import importlib
import inspect
import pkgutil
import random
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from re import _constants as ops  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from types import ModuleType
from typing import Any, NamedTuple

import memorist

_SEARCHES = {"search", "sub", "subn", "finditer", "findall", "split"}
_WAYS = {**dict.fromkeys(_SEARCHES, "search"), "match": "match", "fullmatch": "fullmatch"}
# Where patterns are one argument of a function, the others are flags and texts.
_FLAGS_AT = {"compile": 1, "search": 2, "match": 2, "fullmatch": 2, "findall": 2, "finditer": 2}


class UsedPattern(NamedTuple):
    """A pattern, where it stands, and whether it is searched for or only fitted to the beginning or all of a text."""

    where: str
    pattern: re.Pattern[Any]
    way: str

    def try_on(self, text: str) -> None:
        seen = text.encode() if isinstance(self.pattern.pattern, bytes) else text
        if self.way == "search":
            for _ in self.pattern.finditer(seen):
                pass
        else:
            getattr(self.pattern, self.way)(seen)


# Collecting


@cache
def patterns_of_package() -> tuple[UsedPattern, ...]:
    """The patterns that modules keep, and those that stand where they are used."""
    trees = {module: ast.parse(inspect.getsource(module)) for module in _modules()}
    own_ways = {module: _ways(tree) for module, tree in trees.items()}
    all_ways: dict[str, set[str]] = {}
    for ways in own_ways.values():
        for name, of_name in ways.items():
            all_ways.setdefault(name, set()).update(of_name)
    found: dict[tuple[Any, int, str], UsedPattern] = {}
    for module, tree in trees.items():
        for one in (*_kept(module, tree, own_ways[module], all_ways), *_written_out(module, tree)):
            found.setdefault((one.pattern.pattern, one.pattern.flags, one.way), one)
    return tuple(found.values())


def _kept(
    module: ModuleType, tree: ast.Module, own_ways: Mapping[str, set[str]], all_ways: Mapping[str, set[str]]
) -> Iterator[UsedPattern]:
    for name in sorted(_assigned(tree)):
        value = getattr(module, name, None)
        ways = (own_ways if name.startswith("_") else all_ways).get(name, set())
        for pattern in _patterns_in(value):
            # What stands in a list is taken out of it who knows where.
            for way in sorted(ways) if isinstance(value, re.Pattern) and ways else ["search"]:
                yield UsedPattern(f"{module.__name__}.{name}", pattern, way)


def _assigned(tree: ast.Module) -> set[str]:
    """What a module gives a name itself."""
    targets = [target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]
    targets += [node.target for node in tree.body if isinstance(node, ast.AnnAssign)]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _modules() -> Iterator[ModuleType]:
    for info in pkgutil.walk_packages(memorist.__path__, "memorist."):
        if not info.name.endswith("__main__"):
            yield importlib.import_module(info.name)


def _patterns_in(value: Any) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, list | tuple | set | frozenset):
        for one in value:
            yield from _patterns_in(one)
    elif isinstance(value, dict):
        yield from _patterns_in(list(value.values()))
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield from _patterns_in([getattr(value, field.name) for field in dataclasses.fields(value)])


def _ways(tree: ast.Module) -> dict[str, set[str]]:
    """How what has a name is used; what is handed on may be searched for."""
    ways: dict[str, set[str]] = {}
    nodes = list(ast.walk(tree))
    asked = {id(node.value): node.attr for node in nodes if isinstance(node, ast.Attribute)}
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name, ctx=ast.Load()):
                ways.setdefault(name, set()).add(_WAYS.get(asked.get(id(node), ""), "search"))
    return ways


def _written_out(module: ModuleType, tree: ast.Module) -> Iterator[UsedPattern]:
    """Calls such as `re.sub(r"…", …)`; what they are made of and only the function knows is taken for a name."""
    if getattr(module, "re", None) is not re:
        return  # Most modules, through which looking takes seconds.
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for node, name in ((inner, one.name) for one in functions for inner in ast.walk(one)):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=attr)) if attr in {"compile", *_WAYS}:
                flags = [word.value for word in node.keywords if word.arg == "flags"]
                flags += node.args[_FLAGS_AT[attr] :][:1] if attr in _FLAGS_AT else []
                written, *said = (_value_of(one, module) for one in (node.args[0], *flags))
                if isinstance(written, str | bytes) and all(isinstance(one, int) for one in said):
                    where = f"{module.__name__}.{name}()"
                    yield UsedPattern(where, re.compile(written, *said), _WAYS.get(attr, "search"))


class _Known(dict[str, Any]):
    def __missing__(self, name: str) -> str:
        if hasattr(builtins, name):
            raise KeyError(name)
        return "Ab"


def _value_of(node: ast.expr, module: ModuleType) -> Any:
    code = compile(ast.Expression(node), module.__name__, "eval")
    return eval(code, vars(module), _Known(vars(module)))


# Texts


class HostileText(NamedTuple):
    """Something over and over, with what a pattern wants before it and does not want after it."""

    before: str
    again: str
    after: str

    def of(self, size: int) -> str:
        count = max(1, (size - len(self.before) - len(self.after)) // len(self.again))
        return f"{self.before}{self.again * count}{self.after}"


_GENERIC = (
    *" \t\n#-aA1.'\"@([<`|_/:=\\&é你“…*",
    "Ab", "a ", "Ab ", "a.", "a-", "a'", "1.", "1,", "a,", "* ", "- ", "\n ", "\n- ", "</", "a@", "a:", "a\n", "# ",
    "Ab's ", "a_", "I ", "my ", "and ", "a1", ". ",
)  # fmt: skip
_SIGNS = " aA1-#.'\"\n_@/:*é\t,([<`~|\\=你…"
_REPEATS = {ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT}
_ENDLESS = 30
_MOST_SIGNS = 3
_MOST_PUMPS = 40
_MOST_BRANCHES = 8


def hostile_texts(pattern: re.Pattern[Any]) -> list[HostileText]:
    """Common ones, and those that are nearly what the pattern wants. The same for a pattern every time."""
    written = pattern.pattern.decode("latin-1") if isinstance(pattern.pattern, bytes) else pattern.pattern
    maker = _Maker(random.Random(zlib.crc32(written.encode("utf-8", "surrogatepass"))))
    tree = parser.parse(written, pattern.flags)
    pumps = list(dict.fromkeys(pump for _ in range(3) for pump in maker.pumps(tree)))
    maker.chance.shuffle(pumps)
    texts = [HostileText("", sign, "\x01") for sign in _GENERIC]
    for before, again in pumps[:_MOST_PUMPS]:
        texts += [HostileText(before, again, after) for after in ("\x01", " ", "a")]
        texts += [HostileText("", before + again, "")]
    texts += [HostileText("", maker.sample(tree)[:cut], "") for cut in (None, -1)]
    return [text for text in dict.fromkeys(texts) if text.again]


class _Maker:
    """Makes texts that fit a pattern, of what its parser says."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def pumps(self, items: Iterable[tuple[Any, Any]], before: str = "") -> Iterator[tuple[str, str]]:
        """What may come again without end, and what fits before it."""
        for op, value in items:
            if op in _REPEATS and value[1] >= _ENDLESS:
                for _ in range(_MOST_SIGNS):
                    if again := self.sample(value[2]):
                        yield before, again
            for inner in self._inner(op, value):
                yield from self.pumps(inner, before)
            before += self._one(op, value)

    def sample(self, items: Iterable[tuple[Any, Any]]) -> str:
        return "".join(self._one(op, value) for op, value in items)

    def _inner(self, op: Any, value: Any) -> list[Any]:
        if op in _REPEATS:
            return [value[2]]
        if op is ops.BRANCH:
            return list(self.chance.sample(value[1], min(len(value[1]), _MOST_BRANCHES)))
        if op is ops.SUBPATTERN:
            return [value[3]]
        if op in (ops.ASSERT, ops.ASSERT_NOT):
            return [value[1]]
        return [value] if op is ops.ATOMIC_GROUP else []

    def _one(self, op: Any, value: Any) -> str:
        if op is ops.LITERAL:
            return chr(value)
        if op is ops.NOT_LITERAL:
            return self.chance.choice([sign for sign in _SIGNS if ord(sign) != value])
        if op is ops.ANY:
            return self.chance.choice(_SIGNS.replace("\n", ""))
        if op is ops.IN:
            return self.chance.choice(_signs_in(value))
        if op in _REPEATS:
            return "".join(self.sample(value[2]) for _ in range(min(value[0] or self.chance.choice((0, 1)), 40)))
        if op in (ops.ASSERT, ops.ASSERT_NOT):
            return ""
        inner = self._inner(op, value)
        return self.sample(self.chance.choice(inner)) if inner else ""


def _signs_in(items: Iterable[tuple[Any, Any]]) -> str:
    """Some signs that a set holds."""
    parts = list(items)
    is_negated = parts[0][0] is ops.NEGATE
    own = [] if is_negated else [chr(value if op is ops.LITERAL else value[0]) for op, value in parts if op in _SPANS]
    fitting = [sign for sign in _SIGNS if any(_holds(op, value, sign) for op, value in parts) is not is_negated]
    return "".join(dict.fromkeys([*fitting, *own])) or "z"


_SPANS = (ops.LITERAL, ops.RANGE)
_CATEGORIES: Mapping[str, Any] = {
    "DIGIT": str.isdigit,
    "SPACE": str.isspace,
    "WORD": lambda sign: sign.isalnum() or sign == "_",
}


def _holds(op: Any, value: Any, sign: str) -> bool:
    if op is ops.LITERAL:
        return bool(ord(sign) == value)
    if op is ops.RANGE:
        return bool(value[0] <= ord(sign) <= value[1])
    if op is not ops.CATEGORY:
        return False
    *said, category = str(value).split("_")
    return bool(_CATEGORIES[category](sign)) is not ("NOT" in said)
