"""The OpenAPI document as its reference shows it: operations in groups, each with what it takes and an example."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from memorist.surfaces.http.samples import BODIES, VALUES

_ACTING = "X-Memorist-"
_PATHS_OF_NO_RETURN = ("/erase", "/purge", "/reset")


class ApiGroup(NamedTuple):
    title: str
    text: str


# The five published APIs, then what is Memorist's own.
_GROUPS = {
    "profile memory": ApiGroup(
        "Profile memory", "Named memories of a user's agent profiles, and the section for a prompt."
    ),
    "agent tools": ApiGroup(
        "Agent tools", "What a model calls: recall, facts and tool outputs; sessions and documents."
    ),
    "companion": ApiGroup("Companion", "What is remembered of a user, findings, and turns with a language model."),
    "coding assistant": ApiGroup("Coding assistant", "Search, context, store and extract for a project."),
    "lifecycle": ApiGroup(
        "Lifecycle", "Texts that are kept for a time: archived, restored, deleted and purged by policy."
    ),
    "native": ApiGroup("Memories of every kind", "What the Python and TypeScript clients speak."),
    "facts": ApiGroup(
        "Facts, jobs and context", "Facts that stay true, what is known of a person, and work in the background."
    ),
    "events": ApiGroup("Events", "Changes as they happen."),
    "retention": ApiGroup("Retention", "How long memories are kept, for admins."),
    "tokens": ApiGroup("Tokens", "Short-lived rights of one user, for pages in browsers."),
    "erasure": ApiGroup("Erasure", "Receipts, and the erasure of users and tenants."),
    "health": ApiGroup("Health", "Whether the process lives, and whether it can serve."),
}


@dataclass(frozen=True, slots=True)
class ApiInput:
    """A parameter, or a field of the body. `sample` is what the example has there, if it has anything."""

    name: str
    location: str
    kind: str
    text: str
    is_required: bool
    sample: str = ""

    @property
    def choices(self) -> tuple[str, ...]:
        """What a value is chosen from; nothing where it is written."""
        kinds = [one for one in self.kind.split(" or ") if one != "null"]
        if kinds == ["boolean"]:
            return ("true", "false")
        return tuple(one.strip("`") for one in kinds) if all(one[:1] == "`" for one in kinds) else ()


class ApiAnswer(NamedTuple):
    status: str
    media_types: tuple[str, ...]
    fields: tuple[ApiInput, ...]


@dataclass(frozen=True, slots=True)
class Operation:
    method: str
    path: str
    summary: str
    text: str
    group: str
    parameters: tuple[ApiInput, ...]
    fields: tuple[ApiInput, ...]
    body: Any
    """An example of the body; None where it takes none."""
    needs_key: bool
    answers: tuple[ApiAnswer, ...] = ()
    """What it answers where nothing is refused."""

    @property
    def slug(self) -> str:
        """Its part of an address."""
        return re.sub(r"[^a-z0-9_]+", "-", f"{self.method}{self.path}".lower()).strip("-")

    @property
    def own(self) -> tuple[ApiInput, ...]:
        """The parameters without those headers that every operation takes."""
        return tuple(one for one in self.parameters if not one.name.startswith(_ACTING))

    @property
    def acting(self) -> tuple[ApiInput, ...]:
        """The headers that say for whom."""
        return tuple(one for one in self.parameters if one.name.startswith(_ACTING))

    @property
    def removes(self) -> bool:
        """Whether something is gone afterwards."""
        return self.method == "DELETE" or self.path.endswith(_PATHS_OF_NO_RETURN)


def operations(schema: Mapping[str, Any]) -> dict[str, list[Operation]]:
    """All of them by group: the published APIs first, and what no group here names last."""
    found: dict[str, list[Operation]] = {tag: [] for tag in _GROUPS}
    for path, methods in schema["paths"].items():
        for method, described in methods.items():
            one = _operation(schema, method.upper(), path, described)
            found.setdefault(one.group, []).append(one)
    return {tag: group for tag, group in found.items() if group}


def group_of(tag: str) -> ApiGroup:
    return _GROUPS.get(tag) or ApiGroup(tag.capitalize(), "")


def _operation(schema: Mapping[str, Any], method: str, path: str, described: Mapping[str, Any]) -> Operation:
    content = described.get("requestBody", {}).get("content", {}).get("application/json")
    fields = tuple(_fields(schema, content["schema"])) if content else ()
    return Operation(
        method,
        path,
        described["summary"],
        described.get("description", ""),
        (described.get("tags") or ["other"])[0],
        tuple(map(_parameter, described.get("parameters", ()))),
        fields,
        BODIES.get((method, path), _sample_body(fields)) if content else None,
        "security" in described,
        tuple(_answers(schema, described["responses"])),
    )


def _parameter(described: Mapping[str, Any]) -> ApiInput:
    name, required = described["name"], described.get("required", False)
    sample = VALUES.get(name, name) if required else ""
    kind = _kind(described.get("schema", {}))
    return ApiInput(name, described["in"], kind, described.get("description", ""), required, sample)


def _answers(schema: Mapping[str, Any], described: Mapping[str, Any]) -> Iterator[ApiAnswer]:
    for status, answer in described.items():
        if status.startswith("2"):
            content = answer.get("content", {})
            body = content.get("application/json", {}).get("schema", {})
            fields = tuple(replace(field, is_required=False) for field in _fields(schema, body))
            yield ApiAnswer(status, tuple(content), fields)


def _fields(schema: Mapping[str, Any], body: Mapping[str, Any], inside: str = "") -> Iterator[ApiInput]:
    """The fields of an object, and those of the objects in it, which are named after it."""
    body = _resolved(schema, body)
    for name, described in body.get("properties", {}).items():
        text = described.get("description", "")
        if "default" in described and described["default"] not in (None, ""):
            text = f"{text} Default: `{described['default']}`.".strip()
        required = not inside and name in body.get("required", ())
        yield ApiInput(f"{inside}{name}", "body", _kind(described), text, required)
        is_list = described.get("type") == "array"
        nested = described.get("items", {}) if is_list else described
        if not inside and "$ref" in nested:
            yield from _fields(schema, nested, f"{name}[]." if is_list else f"{name}.")


def _sample_body(fields: tuple[ApiInput, ...]) -> dict[str, Any]:
    return {field.name: VALUES.get(field.name, field.name) for field in fields if field.is_required}


def _kind(described: Mapping[str, Any]) -> str:
    """What a value is, in words."""
    if "$ref" in described:
        return "object"
    if "enum" in described:
        return " or ".join(f"`{value}`" for value in described["enum"])
    for several in ("anyOf", "oneOf"):
        if several in described:
            return " or ".join(dict.fromkeys(_kind(one) for one in described[several]))
    if described.get("type") == "array":
        return f"list of {_kind(described.get('items', {}))}"
    return str(described.get("type", "anything"))


def _resolved(schema: Mapping[str, Any], described: Mapping[str, Any]) -> Mapping[str, Any]:
    name = described.get("$ref", "").rpartition("/")[2]
    found: Mapping[str, Any] = schema["components"]["schemas"][name] if name else described
    return found
