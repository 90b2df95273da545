"""Between rows and values. An absent text that is part of a key is '' in the row and None in the value."""

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from functools import lru_cache, partial
from typing import Any

from memorist.ingestion.values import Document
from memorist.making import maker_of
from memorist.memories.fields import FIELDS, Field
from memorist.memories.values import Kind, Memory, Row, Status
from memorist.platform.values import ApiKey, Event, Owner, OwnerFilter, Role, SignIn, SignInKind
from memorist.times import from_micros, optional_micros, optional_moment, to_micros

# After every id that is made here, in byte order, and after every time.
NEWEST_ID = "~"
LATEST = 2**62

# Lookups in a dict are several times faster than calling the enum.
_ROLES = {role.value: role for role in Role}

PARAMETERS = tuple(field.parameter for field in FIELDS)
"""The names of what `memory_to_values` returns."""


# The times of a memory are mostly one, and so are those of what was said together.
_moment = lru_cache(maxsize=4096)(from_micros)
_decoder = json.JSONDecoder()


def _loaded(text: str) -> Any:
    """As `json.loads` does, which takes twice as long to look for spaces around what is written without them."""
    return _decoder.raw_decode(text)[0]


def _memory_reader() -> Callable[[tuple[Any, ...]], Memory]:
    """What makes a memory of a row of `memory_columns`.

    Written out field by field, as dataclasses write their constructors: it runs for every row read, and a loop over the
    fields takes a tenth longer.
    """
    names: dict[str, Any] = {"make": maker_of(Memory), "Owner": Owner, "from_micros": _moment, "loads": _loaded}
    values: list[str] = []
    for field in FIELDS:
        if issubclass(field.type, StrEnum):
            # Lookups in a dict are several times faster than calling the enum.
            names[f"{field.name}s"] = {member.value: member for member in field.type}
            values.append(f"{field.name}s[{field.name}]")
        else:
            values.append(_converted(field, field.name, {datetime: "from_micros", Mapping: "loads"}, "None"))
    owner = values.index("user or None")
    owned = "Owner(user or None, agent or None)"
    values[owner : owner + 2] = [f"{owned} if anonymized_at is None else Owner.of_row(user, agent, anonymized=True)"]
    row = ", ".join(field.name for field in FIELDS)
    exec(f"def memory_from_row(row):\n    {row} = row\n    return make({', '.join(values)})", names)
    made: Callable[[tuple[Any, ...]], Memory] = names["memory_from_row"]
    return made


def _memory_writer() -> Callable[[Memory, str], tuple[Any, ...]]:
    """What makes the values of PARAMETERS of a memory and its tenant, written out likewise.

    A tuple, because binding by name takes the database three times as long.
    """
    names: dict[str, Any] = {"to_micros": to_micros, "dumps": partial(json.dumps, ensure_ascii=False)}
    sources = {"tenant": "tenant", "user": "memory.owner.user", "agent": "memory.owner.agent"}
    values = [
        _converted(
            field, sources.get(field.name, f"memory.{field.name}"), {datetime: "to_micros", Mapping: "dumps"}, "''"
        )
        for field in FIELDS
    ]
    exec(f"def memory_to_values(memory, tenant):\n    return ({', '.join(values)})", names)
    made: Callable[[Memory, str], tuple[Any, ...]] = names["memory_to_values"]
    return made


def _converted(field: Field, value: str, functions: Mapping[Any, str], absent: str) -> str:
    """The expression for a value on the other side, where `absent` stands for a text that is part of a key."""
    function = functions.get(field.type)
    if function is None:
        return f"{value} or {absent}" if field.blank else value
    return f"None if {value} is None else {function}({value})" if field.optional else f"{function}({value})"


memory_from_row = _memory_reader()
memory_to_values = _memory_writer()


def may_precede(memory: Memory) -> bool:
    """Whether what was said next may be embedded with its words."""
    return memory.kind is Kind.CHAT_MESSAGE and memory.session is not None


def may_follow(memory: Memory) -> bool:
    """Whether it may be embedded with the words of a message before it."""
    return memory.kind in (Kind.CHAT_MESSAGE, Kind.TOOL_OUTPUT) and memory.session is not None


def index_to_parameters(row: Row) -> dict[str, Any]:
    """A memory's row of `memory_index`, without vectors."""
    memory, state, thread, event_time, digest, terms = row
    return {
        "memory_id": memory.id,
        "user_id": memory.owner.user or "",
        "agent_id": memory.owner.agent or "",
        "kind": memory.kind,
        "category": memory.category or "",
        "project": memory.project or "",
        "created_at": to_micros(memory.created_at),
        "expires_at": optional_micros(memory.expires_at),
        "valid_from": optional_micros(memory.valid_from),
        "valid_to": optional_micros(memory.valid_to),
        "standing": state.standing,
        "retired_at": optional_micros(state.retired_at),
        "thread": thread,
        "event_time": to_micros(event_time),
        "digest": digest,
        "terms": terms,
    }


def document_from_row(row: tuple[Any, ...]) -> Document:
    user, agent, id_, title, media_type, content, chunks, created_at, updated_at = row
    owner = owner_of(user, agent)
    return Document(id_, owner, title, media_type, content, chunks, from_micros(created_at), from_micros(updated_at))


def document_to_parameters(document: Document) -> dict[str, Any]:
    return {
        "user_id": document.owner.user or "",
        "agent_id": document.owner.agent or "",
        "id": document.id,
        "title": document.title,
        "media_type": document.media_type,
        "content": document.content,
        "chunks": document.chunks,
        "created_at": to_micros(document.created_at),
        "updated_at": to_micros(document.updated_at),
    }


def key_from_row(row: tuple[Any, ...]) -> ApiKey:
    id_, tenant, secret_hash, role, user, agent, label, created_at, revoked_at, last_used_at, expires_at = row
    return ApiKey(
        id_, tenant, secret_hash, _ROLES[role], from_micros(created_at), user or None, agent or None, label,
        optional_moment(revoked_at), optional_moment(last_used_at), optional_moment(expires_at),
    )  # fmt: skip


def key_to_parameters(key: ApiKey) -> dict[str, Any]:
    return {
        "id": key.id,
        "secret_hash": key.secret_hash,
        "role": key.role,
        "user_id": key.user or "",
        "agent_id": key.agent or "",
        "label": key.label,
        "created_at": to_micros(key.created_at),
        "revoked_at": optional_micros(key.revoked_at),
        "last_used_at": optional_micros(key.last_used_at),
        "expires_at": optional_micros(key.expires_at),
    }


def event_from_row(row: tuple[Any, ...]) -> Event:
    return Event(row[0], row[1], row[2], from_micros(row[3]), row[4], json.loads(row[5]), row[6])


def sign_in_from_row(row: tuple[Any, ...]) -> SignIn:
    kind, created_at, expires_at, role, user, agent, *key = row
    return SignIn(
        SignInKind(kind), key_from_row(tuple(key)), from_micros(created_at), from_micros(expires_at),
        Role(role) if role else None, user or None, agent or None,
    )  # fmt: skip


def owner_of(user: str | None, agent: str | None) -> Owner:
    return Owner(user or None, agent or None)


def owner_parameters(owner: Owner | OwnerFilter) -> dict[str, str]:
    """Exactly that owner."""
    return {"user_id": owner.user or "", "agent_id": owner.agent or ""}


def breadth_of(owner: OwnerFilter) -> str:
    """How wide a slice is: a list has a statement for each breadth, because each has an index."""
    return "tenant" if owner.any_user else "user" if owner.any_agent else "owner"


def state_parameters(status: Status, ended: Status | None, archiving: Iterable[Kind] | None) -> dict[str, str]:
    """Which state a list is of or, where `ended` is given, which of what is past its time a sweep brings into that."""
    return {"status": status, "ended": ended or "", "archiving": " ".join(sorted(archiving or ()))}


def slice_parameters(owner: OwnerFilter) -> dict[str, str | int | None]:
    """Whose rows a statement takes: None where anybody's; and whether entries of the companion are among them."""
    return {
        "user_id": None if owner.any_user else owner.user or "",
        "agent_id": None if owner.any_agent else owner.agent or "",
        "entries": int(owner.entries),
    }
