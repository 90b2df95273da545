"""Every field of a memory, declared once: what it is, how it is kept, and who may change it.

A field's type, and whether it may be absent, is what `Memory` says. Rows and their statements, records and exports,
redaction, what an edit may change and the documentation all follow from FIELDS.
"""

import dataclasses
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import partial
from operator import attrgetter
from typing import Any

from memorist.errors import InvalidField
from memorist.memories.values import Draft, Memory, NamedType
from memorist.platform import validation
from memorist.platform.redaction import Secrets
from memorist.platform.values import Seal

Check = Callable[[str, Any], Any]
"""Given a field's name and a value, the value as it may be stored. Raises InvalidField."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field. `about` is said of it in the documentation and at the doors."""

    name: str
    about: str
    type: Any
    """`str`, `int`, `float`, `datetime`, `Mapping` for JSON, or a StrEnum."""
    optional: bool
    column: str
    check: Check
    blank: bool = False
    """Where it is absent, a row has '': it is part of a key."""
    fixed: bool = False
    """Writing over a memory leaves it as it was."""
    editable: bool = False
    embedded: bool = False
    """Its words are among those that a model reads."""
    personal: bool = False
    """It says something of somebody: none of it is left once a memory is anonymized."""
    secrets: Secrets | None = None
    seal: Seal | None = None
    """How it is kept where the tenant is encrypted; None: in plain text."""
    exported: bool = True
    shown: bool = True
    """The doors tell of it."""
    given: bool = False
    """A draft has it."""

    @property
    def parameter(self) -> str:
        """Its name in a statement."""
        return "tenant" if self.name == "tenant" else self.column

    @property
    def is_text(self) -> bool:
        """Whether its column can hold words."""
        return self.type not in (int, float, datetime)


_ATTRIBUTES = {one.name: one.type for one in dataclasses.fields(Memory)}
_GIVEN = {one.name for one in dataclasses.fields(Draft)}


def _field(name: str, about: str, *, column: str = "", check: Check | None = None, **rest: Any) -> Field:
    annotation = _ATTRIBUTES.get(name, str | None)
    members = [member for member in typing.get_args(annotation) if member is not type(None)]
    optional = type(None) in typing.get_args(annotation)
    type_ = members[0] if optional else annotation
    type_ = typing.get_origin(type_) or type_
    check = check or _check_of(type_)
    return Field(name, about, type_, optional, column or name, check, given=name in _GIVEN, **rest)


def _check_of(type_: Any) -> Check:
    """What holds for every value of a type."""
    if isinstance(type_, type) and issubclass(type_, StrEnum):
        return partial(validation.choice, choices=type_)
    checks: dict[Any, Check] = {datetime: validation.moment, int: validation.integer, float: validation.fraction}
    return checks.get(type_, _line)


def _project(name: str, value: str) -> str:
    """As it is kept and looked for."""
    return validation.project(_line(name, value))


def _meta(_: str, value: Mapping[str, Any]) -> Mapping[str, Any]:
    return validation.meta(value)


_line = partial(validation.text, longest=validation.MAX_LINE, one_line=True)
_content = partial(validation.text, longest=validation.MAX_CONTENT)
_identifies: dict[str, Any] = {
    "check": validation.identifier,
    "blank": True,
    "personal": True,
    "secrets": Secrets.IDENTIFIER,
}
_edited: dict[str, Any] = {"editable": True, "personal": True}
_slug: dict[str, Any] = {"check": validation.slug, "blank": True, "secrets": Secrets.IDENTIFIER, **_edited}

# In the order of `Memory`, whose owner is two of them; a row has its columns in this order.
FIELDS = (
    _field("id", "`mem_` and a ULID: 128 bits, sorted by the millisecond of their making; the same bits are a UUIDv7",
           fixed=True),
    _field("tenant", "the isolation boundary", column="tenant_id", fixed=True, exported=False, shown=False),
    _field("content", "the text", check=_content, embedded=True, secrets=Secrets.TEXT, seal=Seal.TEXT, **_edited),
    _field("content_hash", "SHA-256 of the content", check=partial(_line, empty=True), shown=False,
           seal=Seal.EQUAL),
    _field("dedup_key", "what makes two facts the same", check=partial(_line, empty=True), shown=False,
           seal=Seal.EQUAL),
    _field("created_at", "when it was written", fixed=True),
    _field("updated_at", "when it was changed; moves forward with every change, and is the version (the ETag)"),
    _field("user", "the user whose it is", column="user_id", **_identifies),
    _field("agent", "the agent whose it is", column="agent_id", **_identifies),
    _field("session", "the session it comes from, for filters", column="session_id", **_identifies),
    _field("project", "the project it comes from, for filters", check=_project, blank=True, secrets=Secrets.LINE,
           **_edited),
    _field("kind", "where it came from"),
    _field("category", "what it is about: a slug", **_slug),
    _field("name", "a slug, unique among the active memories of its owner", embedded=True, seal=Seal.EQUAL, **_slug),
    _field("description", "one line, shown in the memory section", check=partial(_line, empty=True), embedded=True,
           secrets=Secrets.LINE, seal=Seal.TEXT, **_edited),
    _field("excerpt", "the part that is quoted, if not all of it", check=partial(_content, empty=True),
           secrets=Secrets.TEXT, seal=Seal.TEXT, **_edited),
    _field("importance", "what is higher comes first in the memory section", editable=True),
    _field("confidence", "how sure it is, from 0 to 1", **_edited),
    _field("relevance", "how much it matters, from 0 to 1", **_edited),
    _field("meta", "a JSON object of your own", check=_meta, embedded=True, secrets=Secrets.OBJECT, seal=Seal.TEXT,
           **_edited),
    _field("source_ref", "what it was taken from", personal=True, secrets=Secrets.LINE),
    _field("trust", "who vouches for it"),
    _field("governed_by", "the door that wrote it, whose promises hold for it", fixed=True),
    _field("status", "where it stands in its life"),
    _field("retention", "whether the tenant's policy ages it, or it is kept until somebody deletes it"),
    _field("superseded_by", "the fact that took its place"),
    _field("event_time", "when the thing happened, if that is known"),
    _field("valid_from", "since when it holds: `event_time`, or the time of writing"),
    _field("valid_to", "until when it held: when another fact took its place"),
    _field("archive_at", "when the policy archives it"),
    _field("retention_expires_at", "when the policy deletes it"),
    _field("expires_at", "the end of its TTL; past it, it is not active, and goes the way of the policy"),
    _field("deleted_at", "when it was deleted"),
    _field("hard_delete_at", "when it goes for good, and can no longer be restored"),
    _field("anonymized_at", "when its text, and whose it was, were removed"),
    _field("access_count", "reads of the whole memory by id; best effort, and no change of the version", fixed=True),
    _field("last_accessed_at", "when it was read last", fixed=True),
)  # fmt: skip

BY_NAME = {one.name: one for one in FIELDS}
EXPORTED = tuple(one for one in FIELDS if one.exported)
SHOWN = tuple(one for one in FIELDS if one.shown)
"""What a door tells of a memory, each with its type, whether it may be absent or changed, and what is said of it."""
GIVEN = tuple(one for one in FIELDS if one.given)
PROJECT_AS_GIVEN = "project_path"
"""Where `meta` has a project as it was given, if that is not how it is looked for."""

EDITABLE = frozenset(one.name for one in FIELDS if one.editable)
EMBEDDED = frozenset(one.name for one in FIELDS if one.embedded)
SECRETS: Mapping[str, Secrets] = {one.name: one.secrets for one in FIELDS if one.secrets is not None}
REPLACED = tuple(name for name, how in SECRETS.items() if how is not Secrets.IDENTIFIER)
"""The fields from which secrets are taken, so that a memory may differ from what was given."""


_NAMES = tuple(one.name for one in GIVEN)
_values_of = attrgetter(*_NAMES)
_DEFAULTS = {one.name: one.default for one in dataclasses.fields(Draft)}


def checked(values: Mapping[str, Any]) -> dict[str, Any]:
    """These fields as they may be stored. Raises InvalidField for the first that may not."""
    return {
        name: None if value is None and BY_NAME[name].optional else BY_NAME[name].check(name, value)
        for name, value in values.items()
    }


def project_of(memory: Memory) -> str | None:
    """The project of a memory as it was given."""
    given = memory.meta_text(PROJECT_AS_GIVEN)
    is_same = given is not None and memory.project is not None and validation.project(given) == memory.project
    return given if is_same else memory.project


def check_draft(draft: Draft) -> dict[str, Any]:
    """What a draft gives, as it may be stored. Raises InvalidField for the first field that cannot be."""
    values = dict(zip(_NAMES, _values_of(validation.kind_of("draft", draft, Draft, "a Draft")), strict=True))
    # What nobody gave needs no check: of most drafts that is nearly everything.
    values |= checked({name: value for name, value in values.items() if value is not _DEFAULTS[name]})
    if draft.name is not None:
        # One that says nothing of it points to something, as most do that programs keep by a name.
        values["category"] = validation.choice("category", draft.category or NamedType.REFERENCE, NamedType).value
    if draft.project is not None and draft.project != values["project"]:
        values["meta"] = {**(values["meta"] or {}), PROJECT_AS_GIVEN: draft.project}
    if draft.ttl is not None:
        validation.ttl(draft.ttl)
    if draft.owner is not None:
        validation.owner(draft.owner)
    return values


def check_changes(changes: Mapping[str, Any]) -> dict[str, Any]:
    """What an edit changes, as it may be stored. Raises InvalidField, also where a field is not to be changed."""
    for name in validation.kind_of("changes", changes, Mapping, "an object"):
        if name not in EDITABLE:
            raise InvalidField.of(name, f"cannot be changed; {', '.join(sorted(EDITABLE))} can.")
    return checked(changes)
