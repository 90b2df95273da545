"""Writes the parts of the documentation that the code itself knows: `make docs`.

A page marks such a part with `<!-- generated: name -->` and `<!-- end -->`; what stands between them is replaced.
Everything else on a page is written by hand. A test fails where a page is not what this script would write.
"""

import dataclasses
import inspect
import re
import sys
import tomllib
import typing
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import typer

from memorist import ports
from memorist.about.values import (
    About,
    Mention,
    OpenDoubt,
    PersonProfile,
    ProfileLine,
    ProfileSlot,
    ReplacedFact,
    WrittenProfile,
)
from memorist.client import Client, Retries
from memorist.composing.values import Composed, Section
from memorist.erasure.values import Receipt, Verification
from memorist.errors import all_errors
from memorist.importers.items import CATEGORIES, UNCATEGORISED
from memorist.ingestion.service import Message
from memorist.memories import lifecycle
from memorist.memories.fields import FIELDS, Field
from memorist.memories.values import Draft, Memory, Remembered, Status
from memorist.observing.families import ALL
from memorist.platform import access, validation
from memorist.platform.paging import Page
from memorist.platform.values import Change, Event, Owner, Principal, Role
from memorist.settings import ENVIRONMENT_PREFIX, Settings
from memorist.surfaces.cli.failures import EXIT_CODES, exit_code_of
from memorist.surfaces.cli.flags import IDENTITY, STORE, Flags
from memorist.surfaces.cli.runner import full_app
from memorist.surfaces.cli.serve import serve
from memorist.surfaces.http.problems import status_of
from memorist.surfaces.library import AsyncHandle, AsyncMemorist, Handle, Memorist
from memorist.surfaces.mcp.server import PROTOCOL
from memorist.testing.conformance import CAPABILITIES
from memorist.transfer.service import ImportReport
from memorist.verbs import AsyncVerbs, Verbs
from memorist.verbs.listed import VerbList

sys.path.append(str(Path(__file__).parents[1]))  # This may be run from anywhere.

from docs import calls, typescript
from docs.calls import prose

DOCS = Path(__file__).parent
_MANIFESTS = DOCS.parent / "tests" / "contracts"

_PART = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> None:
    for path in pages():
        path.write_text(render(path.read_text("utf-8")), "utf-8")
    for path, text in typescript.files().items():
        path.write_text(text, "utf-8")


def pages() -> list[Path]:
    """The pages that have a generated part."""
    return [path for path in sorted(DOCS.rglob("*.md")) if _PART.search(path.read_text("utf-8"))]


def render(page: str) -> str:
    """The page with every generated part written anew. Raises KeyError where a part has no generator."""
    return _PART.sub(lambda part: f"{part[1]}\n{PARTS[part[2]]().strip()}\n\n{part[3]}", page)


# Settings


def settings() -> str:
    flags = _flags_of_settings()
    return "\n\n".join(_setting(field, flags.get(field.name)) for field in dataclasses.fields(Settings))


def _setting(field: Any, flag: str | None) -> str:
    facts = [f"Default: {_literal(field.default)}", f"environment: `{ENVIRONMENT_PREFIX}{field.name.upper()}`"]
    if flag:
        facts.append(f"flag: `{flag}`")
    check = field.metadata["check"]
    # A value that no check accepts makes it say what it takes.
    rule = check(-(10**18) if field.type in (int, float, float | None) else "no://thing") if check else None
    sentences = [field.metadata["help"], f"{rule[0].upper()}{rule[1:]}." if rule else ""]
    return f"### `{field.name}`\n\n{' '.join(filter(None, sentences))}\n\n{'; '.join(facts)}."


def _flags_of_settings() -> dict[str, str]:
    found = {}
    for option in (*STORE, *IDENTITY):
        if option.name != "as_json":
            values = Flags(**{option.name: "@"}).as_settings()
            name = next(name for name, value in values.items() if value == "@")
            found[name] = _flag(option.name)
    own = inspect.signature(serve).parameters
    return found | {field.name: _flag(field.name) for field in dataclasses.fields(Settings) if field.name in own}


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _literal(value: Any) -> str:
    return "empty" if value is None or not str(value) else f"`{value}`"


# The command line


def commands() -> str:
    return "\n\n".join(_command(path, command) for path, command in walk_commands())


def walk_commands() -> Iterator[tuple[str, Any]]:
    """Every command that does something, with its path, such as `keys create`."""
    root: Any = typer.main.get_command(full_app())
    for name, command in root.commands.items():
        for child_name, child in getattr(command, "commands", {}).items():
            yield f"{name} {child_name}", child
        if not hasattr(command, "commands"):
            yield name, command


def _command(path: str, command: Any) -> str:
    shared = {option.name for option in (*STORE, *IDENTITY)} - _own_names(path)
    visible = [parameter for parameter in command.params if not parameter.hidden]
    also = [one for one in visible if one.name in shared and one.param_type_name != "argument"]
    own = [one for one in visible if one not in also]
    with command.make_context(path, [], resilient_parsing=True) as context:
        lines = [_parameter(parameter, context) for parameter in own]
    usage = " ".join(["memorist", path, *map(_usage, own), "[OPTIONS]"])
    help_text = "\n\n".join(" ".join(part.split()) for part in command.help.split("\n\n"))
    parts = [
        f"### `memorist {path}`",
        help_text,
        f"Usage: `{' '.join(usage.split())}`",
        "\n".join(lines),
        f"[Shared options](#shared-options): {', '.join(f'`{one.opts[-1]}`' for one in also)}.",
    ]
    return "\n\n".join(filter(None, parts))


def _own_names(path: str) -> set[str]:
    # There they say whom the key is for, not who acts.
    return {"user", "agent"} if path in ("keys create", "tokens create") else set()


def _usage(parameter: Any) -> str:
    if parameter.param_type_name != "argument":
        return ""
    name = parameter.metavar or parameter.name.upper()
    return name if parameter.required or name.startswith("[") else f"[{name}]"


def _parameter(parameter: Any, context: Any) -> str:
    name, help_text = parameter.get_help_record(context)
    if parameter.param_type_name == "argument":
        choices = re.search(r"<\S+\|\S+>", name)
        name = f"{_usage(parameter)} {choices[0]}" if choices else _usage(parameter)
    help_text, _, note = help_text.partition("  [")
    default = re.search(r"default: ([^\];]+)", note)
    extra = f" Default: `{default[1]}`." if default else ""
    extra += " Required." if "required" in note and parameter.param_type_name != "argument" else ""
    return f"- `{name}`: {help_text}{extra}"


def exit_codes() -> str:
    meanings = {0: "It worked.", 1: "A check failed, or something went wrong inside Memorist."}
    for kind, code in EXIT_CODES:
        codes = ", ".join(f"`{error.code}`" for error in all_errors(kind))
        meanings[code] = f"{meanings[code]}, {codes}" if code in meanings else codes
    meanings |= {130: "Interrupted with Ctrl-C.", 141: "The reader of a pipe went away."}
    return _table(["exit code", "meaning"], [[str(code), meaning] for code, meaning in sorted(meanings.items())])


# Errors


def errors() -> str:
    rows = [
        [f"`{kind.code}`", str(status_of(kind())), str(exit_code_of(kind())), f"`{kind.__name__}`", kind().message]
        for kind in all_errors()
    ]
    return _table(["code", "HTTP", "exit code", "Python class", "what it means, what to do"], rows)


# The library


def library() -> str:
    return "\n\n".join([*_class(Memorist), *_class(Handle)])


def _class(kind: type) -> Iterator[str]:
    yield f"## `{kind.__name__}`"
    yield prose(kind.__doc__)
    for name, method in _members(kind):
        if not name.startswith("_"):
            function = method.__func__ if isinstance(method, classmethod) else method
            yield f"### `{kind.__name__}.{name}`"
            if callable(function):
                yield f"```text\n{_signature(name, function)}\n```"
            yield prose(function.__doc__)


def _members(kind: type) -> Iterator[tuple[str, Any]]:
    """A class's own first, then the verbs that a handle has; a client's are those, and described there."""
    yield from vars(kind).items()
    if kind is Handle:
        # A property has its words, and a verb those of its description.
        yield from ((name, getattr(Verbs, name)) for name in _verbs(Verbs) if name not in vars(Handle))


def _verbs(kind: type) -> list[str]:
    """The verbs, and what a class of them has beside."""
    return [name for name in dict.fromkeys([*vars(VerbList), *vars(kind)]) if not name.startswith("_")]


def _signature(name: str, function: Callable[..., Any]) -> str:
    signature = inspect.signature(function)
    given = [parameter for parameter in signature.parameters.values() if parameter.name not in ("self", "cls")]
    shown = [_type_name(re.sub(r"<(\w+)\.(\w+): '[^']*'>", r"\1.\2", str(parameter))) for parameter in given]
    star = next((index for index, one in enumerate(given) if one.kind is inspect.Parameter.KEYWORD_ONLY), None)
    if star is not None:
        shown.insert(star, "*")
    answer = f" -> {_type_name(signature.return_annotation)}"
    line = f"{name}({', '.join(shown)}){answer}"
    return line if len(line) <= 100 else f"{name}(\n    " + ",\n    ".join(shown) + f",\n){answer}"


def _type_name(annotation: Any) -> str:
    name = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\b(?:typing|collections\.abc|memorist(?:\.\w+)+|datetime|pathlib(?:\._local)?)\.", "", name)


def values() -> str:
    kinds = (
        Draft, Remembered, Memory, Message, Owner, Page, Event, Change, Composed, Section, About, PersonProfile,
        ProfileSlot, ProfileLine, Mention, ReplacedFact, OpenDoubt, WrittenProfile, ImportReport, Receipt, Verification,
        Principal,
    )  # fmt: skip
    return "\n\n".join(_value(kind) for kind in kinds)


def _value(kind: Any) -> str:
    doc = "" if (kind.__doc__ or "").startswith(f"{kind.__name__}(") else prose(kind.__doc__)
    fields = ", ".join(f"`{field.name}`" for field in dataclasses.fields(kind))
    properties = [name for name, value in vars(kind).items() if isinstance(value, property)]
    derived = f" Derived: {', '.join(f'`{name}`' for name in properties)}." if properties else ""
    return f"### `{kind.__name__}`\n\n{f'{doc} ' if doc else ''}Fields: {fields}.{derived}"


# The client


def client() -> str:
    return "\n\n".join(_class(Client))


def client_verbs() -> str:
    return ", ".join(f"`{name}`" for name in _verbs(Verbs)) + "."


def client_values() -> str:
    return _value(Retries)


def import_categories() -> str:
    rows = [[f"`{name}`", f"`{category}`"] for name, category in CATEGORIES.items()]
    return _table(["there", "here"], [*rows, ["anything else, and nothing", f"`{UNCATEGORISED}`"]])


def async_library() -> str:
    lines = []
    for kind in (AsyncMemorist, AsyncHandle):
        members = dict.fromkeys([*vars(kind), *(_verbs(AsyncVerbs) if kind is AsyncHandle else ())])
        names = [f"`{name}`" for name in members if not name.startswith("_")]
        lines.append(f"- `{kind.__name__}`: {', '.join(names)}")
    return "\n".join(lines)


# The data model

_VALUES = {str: "text", int: "whole number", float: "number", datetime: "time", Mapping: "JSON object"}


def fields() -> str:
    return _table(
        ["field", "type", "can be edited", "meaning"],
        [[f"`{one.name}`", _holds(one), "yes" if one.editable else "–", one.about] for one in FIELDS],
    )


def _holds(field: Field) -> str:
    words = _VALUES.get(field.type) or ", ".join(f"`{word}`" for word in field.type)
    return f"{words}, or none" if field.optional else words


_LIMITS = {
    "MAX_CONTENT": "characters of `content`, and of `excerpt`",
    "MAX_TOOL_OUTPUT": "characters of a tool's output",
    "MAX_DOCUMENT": "characters of a document's text",
    "MAX_DOCUMENT_PAGE": "documents in one page of a list",
    "MAX_QUERY": "characters of a question to `recall`",
    "MAX_TOP_K": "memories that one `recall` returns, unless it fills a budget",
    "MAX_BUDGET_TOKENS": "tokens of a budget that `recall` fills",
    "MAX_LINE": "characters of `description`, `source_ref`, `project` and a key's `label`, each a single line",
    "MAX_NAME": "characters of `name` and `category`, which are slugs",
    "MAX_IDENTIFIER": "characters of a user, agent or session, without spaces",
    "MAX_META_BYTES": "bytes of `meta` as JSON",
    "MAX_META_DEPTH": "levels of nesting in `meta`",
    "MAX_PAYLOAD_BYTES": "bytes of an event's payload",
    "MAX_BATCH": "memories in one `remember_all`",
    "MAX_IDEMPOTENCY_KEY": "characters of an idempotency key",
    "MAX_TTL": "days of a memory's TTL",
}


def limits() -> str:
    found = {
        name: value.days if isinstance(value, timedelta) else value
        for name, value in vars(validation).items()
        if name.startswith("MAX_")
    }
    return _table(["at most", "of what"], [[f"{value:,}", _LIMITS[name]] for name, value in found.items()])


def states() -> str:
    rows = [
        [
            f"`{state}`",
            ", ".join(f"`{after}`" for after in Status if after in lifecycle.TRANSITIONS[state]) or "nothing",
        ]
        for state in Status
    ]
    return _table(["state", "can become"], rows)


def roles() -> str:
    actions = list(access.Action)
    rows = [[f"`{role}`", *("yes" if action in access.ALLOWED[role] else "–" for action in actions)] for role in Role]
    return _table(["role", *(str(action) for action in actions)], rows)


def _table(columns: list[str], rows: list[list[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |" for line in lines)


def metrics() -> str:
    rows = [[f"`{one.name}`", one.form, ", ".join(f"`{name}`" for name in one.labels), one.help] for one in ALL]
    return _table(["metric", "kind", "labels", "what it tells"], rows)


# What a store does


def capabilities() -> str:
    calls = {name: _calls(_protocol(name)) for name in CAPABILITIES}
    total = sum(map(len, calls.values()))
    rows = [
        [
            f"`tx.{name}`",
            prose(_protocol(name, ports.Reader).__doc__),
            ", ".join(f"`{call}`" for call in calls[name]),
            f"`{case.__name__}`",
        ]
        for name, case in CAPABILITIES.items()
    ]
    table = _table(["capability", "what it is", "calls", "its tests"], rows)
    return f"{len(rows)} capabilities with {total} calls:\n\n{table}"


def store_calls() -> str:
    calls = ", ".join(f"`{name}`" for name in _calls(ports.Store))
    return f"The {len(_calls(ports.Store))} calls of the store itself: {calls}."


def _protocol(capability: str, transaction: type = ports.Writer) -> type:
    prop = vars(transaction).get(capability) or vars(ports.Reader)[capability]
    found: type = typing.get_type_hints(prop.fget)["return"]
    return found


def _calls(protocol: type) -> list[str]:
    """In the order of the protocol, what it inherits first."""
    names = [name for part in reversed(protocol.__mro__) for name, one in vars(part).items() if inspect.isfunction(one)]
    return [name for name in dict.fromkeys(names) if not name.startswith("_")]


# How to use memory


def protocol() -> str:
    return f"```text\n{PROTOCOL}\n```"


# The published documents


def contracts() -> str:
    manifests = [tomllib.loads(path.read_text("utf-8")) for path in sorted(_MANIFESTS.glob("*.toml"))]
    rows = [
        [one["title"], *(str(len(one.get(kind, []))) for kind in ("statement", "deviation", "extension", "outside"))]
        for one in manifests
    ]
    total = ["all", *(str(sum(int(row[column]) for row in rows)) for column in range(1, 5))]
    parts = [
        _table(
            ["document", "statements, all pinned", "done otherwise", "extensions", "not a memory server's"],
            [*rows, total],
        )
    ]
    for kind, heading in (
        ("deviation", "Done otherwise"),
        ("extension", "Where they are silent"),
        ("outside", "Left out"),
    ):
        found = [[one["title"], _sentence(item)] for one in manifests for item in one.get(kind, [])]
        parts += [f"## {heading}", _table(["document", ""], found)]
    return "\n\n".join(parts)


def _sentence(item: Mapping[str, Any]) -> str:
    return f"{item['says']} {item['why']}" if "why" in item else str(item["says"])


PARTS: dict[str, Callable[[], str]] = {
    "contracts": contracts,
    "settings": settings,
    "commands": commands,
    "exit_codes": exit_codes,
    "endpoints": calls.endpoints,
    "tools": calls.agent_tools,
    "protocol": protocol,
    "errors": errors,
    "library": library,
    "values": values,
    "async_library": async_library,
    "client": client,
    "client_values": client_values,
    "client_verbs": client_verbs,
    "import_categories": import_categories,
    "fields": fields,
    "limits": limits,
    "states": states,
    "roles": roles,
    "capabilities": capabilities,
    "store_calls": store_calls,
    "metrics": metrics,
    "typescript_methods": typescript.methods,
}


if __name__ == "__main__":
    main()
