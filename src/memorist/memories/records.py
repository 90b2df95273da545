"""Memories and events as plain JSON records: the format of exports and of remembered answers."""

from collections.abc import Mapping
from datetime import datetime
from operator import attrgetter
from typing import Any

from memorist.errors import InvalidField
from memorist.ids import parse_id
from memorist.memories.fields import BY_NAME, EXPORTED, checked
from memorist.memories.governance import presumed_governor
from memorist.memories.hashes import with_own_hashes
from memorist.memories.values import Memory
from memorist.platform import validation
from memorist.platform.values import Event, Owner
from memorist.times import from_iso, to_iso

_REQUIRED = ("id", "content", "content_hash", "dedup_key", "created_at", "updated_at")
_LAST_YEAR = 9000
_values_of = attrgetter(*(field.name for field in EXPORTED))


def memory_to_record(memory: Memory) -> dict[str, Any]:
    """Every field except the tenant, which belongs to the database and not to the memory."""
    return {
        field.name: to_iso(value) if isinstance(value, datetime) else value
        for field, value in zip(EXPORTED, _values_of(memory), strict=True)
    }


def memory_from_record(record: Mapping[str, Any], tenant: str) -> Memory:
    """The memory that a record describes. Raises InvalidField where it is not what `memory_to_record` writes."""
    unknown = sorted(set(record) - {field.name for field in EXPORTED})
    if unknown:
        raise InvalidField(f"A memory has no field {unknown[0]!r}.", field=unknown[0])
    for name in _REQUIRED:
        if record.get(name) is None:
            raise InvalidField(f"A memory needs {name}.", field=name)
    values = checked({name: _decoded(name, value) for name, value in record.items()})
    values.setdefault("governed_by", presumed_governor(values))
    is_anonymized = values.get("anonymized_at") is not None
    owner = Owner.of_row(values.pop("user", None), values.pop("agent", None), anonymized=is_anonymized)
    for name in ("id", "superseded_by"):
        if values.get(name) is not None:
            values[name] = parse_id("mem", values[name])
    # What decides which memories are the same is never taken from a file.
    return with_own_hashes(Memory(tenant=tenant, owner=owner, **values))


def _decoded(name: str, value: Any) -> Any:
    """A value as a memory has it: in a record, times are texts."""
    if value is None or BY_NAME[name].type is not datetime:
        return value
    try:
        return bounded(from_iso(value))
    except (ValueError, TypeError, OverflowError) as error:
        raise InvalidField.of(name, f"cannot be {str(value)[:60]!r}.") from error


def bounded(moment: datetime) -> datetime:
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
        created_at = bounded(from_iso(record["created_at"]))
        event_type = validation.slug("event_type", record["event_type"])
        source = validation.text("source", record["source"], longest=validation.MAX_LINE, one_line=True)
        payload = validation.payload(record["payload"])
    except (KeyError, ValueError, TypeError, OverflowError) as error:
        raise InvalidField("An event needs event_type, source, payload and created_at.", field="events") from error
    actor = record.get("actor")
    if actor is not None:
        validation.text("actor", actor, longest=validation.MAX_LINE, one_line=True)
    return Event(memory_id, event_type, source, created_at, actor, payload)
