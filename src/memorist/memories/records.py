"""Memories and events as plain JSON records: the format of exports and of remembered answers."""

from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from memorist.errors import InvalidField
from memorist.ids import parse_id
from memorist.ingestion.values import Document
from memorist.memories.hashes import content_hash, dedup_key
from memorist.memories.values import Draft, Kind, Memory, Retention, Status, Trust
from memorist.platform import validation
from memorist.platform.values import Event, Owner
from memorist.times import from_iso, to_iso

_ENUMS: dict[str, type[StrEnum]] = {"kind": Kind, "trust": Trust, "status": Status, "retention": Retention}
_TIMES = {
    "created_at", "updated_at", "event_time", "valid_from", "valid_to", "archive_at", "retention_expires_at",
    "expires_at", "deleted_at", "hard_delete_at", "anonymized_at", "last_accessed_at",
}  # fmt: skip
_MEMORY_FIELDS = [field.name for field in fields(Memory) if field.name not in ("tenant", "owner", "redacted")]
_REQUIRED = ("id", "content", "content_hash", "dedup_key", "created_at", "updated_at")
_LAST_YEAR = 9000
_DRAFT_FIELDS = [field.name for field in fields(Draft) if field.name not in ("owner", "ttl", "same_as")]


def memory_to_record(memory: Memory) -> dict[str, Any]:
    """Every field except the tenant, which belongs to the place and not to the memory."""
    record: dict[str, Any] = {"id": memory.id, "user": memory.owner.user, "agent": memory.owner.agent}
    for name in _MEMORY_FIELDS:
        value = getattr(memory, name)
        record[name] = to_iso(value) if isinstance(value, datetime) else value
    return record


def memory_from_record(record: Mapping[str, Any], tenant: str) -> Memory:
    """The memory that a record describes. Raises InvalidField where it is not what `memory_to_record` writes."""
    known = {*_MEMORY_FIELDS, "user", "agent"}
    unknown = sorted(set(record) - known)
    if unknown:
        raise InvalidField(f"A memory has no field {unknown[0]!r}.", field=unknown[0])
    for name in _REQUIRED:
        if record.get(name) is None:
            raise InvalidField(f"A memory needs {name}.", field=name)
    values = {name: _value(name, record[name]) for name in _MEMORY_FIELDS if name in record}
    owner = Owner(record.get("user"), record.get("agent"))
    memory = Memory(tenant=tenant, owner=owner, **values)
    _validate(memory)
    memory_id = parse_id("mem", memory.id)
    # What decides which memories are the same is never taken from a file.
    return replace(
        memory,
        id=memory_id,
        content_hash=content_hash(memory.content),
        dedup_key=dedup_key(memory, memory_id, memory.session),
        superseded_by=None if memory.superseded_by is None else parse_id("mem", memory.superseded_by),
    )


def _value(name: str, value: Any) -> Any:
    if value is None:
        return None
    try:
        if name in _ENUMS:
            return _ENUMS[name](value)
        if name in _TIMES:
            return _bounded(from_iso(value))
    except (ValueError, TypeError, OverflowError) as error:
        raise InvalidField.of(name, f"cannot be {str(value)[:60]!r}.") from error
    if name == "meta":
        return validation.meta(value)
    return value


def _validate(memory: Memory) -> None:
    validation.draft(Draft(owner=memory.owner, **{name: getattr(memory, name) for name in _DRAFT_FIELDS}))
    validation.choice("status", memory.status, Status)
    validation.integer("access_count", memory.access_count)
    for name in ("id", "superseded_by"):
        if getattr(memory, name) is not None:
            validation.text(name, getattr(memory, name), longest=validation.MAX_LINE, one_line=True)


def _bounded(moment: datetime) -> datetime:
    """Far from the end of time, so that a deadline or a next version can still be counted from it."""
    if moment.year >= _LAST_YEAR:
        raise ValueError(moment)
    return moment


def event_to_record(event: Event) -> dict[str, Any]:
    """Every field except the sequence number, which the database gives anew; order is kept."""
    return {
        "memory_id": event.memory_id,
        "event_type": event.event_type,
        "source": event.source,
        "actor": event.actor,
        "payload": event.payload,
        "created_at": to_iso(event.created_at),
    }


def event_from_record(record: Mapping[str, Any], memory_id: str) -> Event:
    """Raises InvalidField where the record is not what `event_to_record` writes."""
    try:
        created_at = from_iso(record["created_at"])
        event_type = validation.slug("event_type", record["event_type"])
        source = validation.text("source", record["source"], longest=validation.MAX_LINE, one_line=True)
        payload = validation.payload(record["payload"])
    except (KeyError, ValueError, TypeError, OverflowError) as error:
        raise InvalidField("An event needs event_type, source, payload and created_at.", field="events") from error
    actor = record.get("actor")
    if actor is not None:
        validation.text("actor", actor, longest=validation.MAX_LINE, one_line=True)
    return Event(memory_id, event_type, source, created_at, actor, payload)


def document_to_record(document: Document) -> dict[str, Any]:
    return {
        "id": document.id,
        "user": document.owner.user,
        "agent": document.owner.agent,
        "title": document.title,
        "media_type": document.media_type,
        "content": document.content,
        "chunks": document.chunks,
        "created_at": to_iso(document.created_at),
        "updated_at": to_iso(document.updated_at),
    }


def document_from_record(record: Mapping[str, Any]) -> Document:
    """Raises InvalidField where the record is not what `document_to_record` writes."""
    try:
        return Document(
            id=validation.identifier("id", record["id"]),
            owner=validation.owner(Owner(record["user"], record["agent"])),
            title=validation.text("title", record["title"], longest=validation.MAX_LINE, one_line=True),
            media_type=validation.text("media_type", record["media_type"], longest=validation.MAX_LINE, one_line=True),
            content=validation.text("content", record["content"], longest=validation.MAX_DOCUMENT),
            chunks=validation.integer("chunks", record["chunks"]),
            created_at=_bounded(from_iso(record["created_at"])),
            updated_at=_bounded(from_iso(record["updated_at"])),
        )
    except (KeyError, ValueError, TypeError, OverflowError) as error:
        raise InvalidField("A document needs all of its fields.", field="document") from error
