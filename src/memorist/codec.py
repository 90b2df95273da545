"""Values as plain JSON and back, by the types of their fields: what the native door and the clients send each other.

Times are ISO-8601, durations seconds, enumerations their words. An owner that a value always has is written as `user`
and `agent` beside its other fields, and a memory also with its `version`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from functools import cache
from types import UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from memorist.memories.values import Memory
from memorist.platform.values import Owner
from memorist.times import from_iso, to_iso

T = TypeVar("T")


def to_record(value: Any) -> Any:
    """The value as JSON has it. What is no value of ours is left as it is."""
    if isinstance(value, datetime):
        try:
            # As everywhere else: a time without an offset is UTC.
            return to_iso(value.replace(tzinfo=UTC) if value.tzinfo is None else value)
        except OverflowError:
            return value.isoformat()  # It is not within what UTC can tell, and whoever reads it says so.
    if isinstance(value, timedelta):
        return value.total_seconds()
    if is_dataclass(value) and not isinstance(value, type):
        return _dataclass_to_record(value)
    if isinstance(value, Mapping):
        return dict(value)  # Plain JSON of its owner's, or refused as what it is.
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return [to_record(item) for item in value]
    return value


def from_record(kind: type[T], record: Any) -> T:
    """The value of that type. Raises KeyError, TypeError or ValueError where the record is not one."""
    return cast(T, _read(kind, record))


@cache
def fields_of(kind: type) -> Mapping[str, tuple[Any, Field[Any]]]:
    """The fields of a dataclass as a record has them, with their types; the one list that schemas are made of."""
    hints = _hints(kind)
    found: dict[str, tuple[Any, Field[Any]]] = {}
    for field in fields(kind):
        if hints[field.name] is Owner:
            found |= fields_of(Owner)
        else:
            found[field.name] = (hints[field.name], field)
    return found


@cache
def _hints(kind: type) -> Mapping[str, Any]:
    """The types of its fields; of a `Page[Memory]`, with Memory as what a page is of."""
    of = get_args(kind)
    found = get_type_hints(get_origin(kind) or kind)
    return {name: hint[of] if of and getattr(hint, "__parameters__", ()) else hint for name, hint in found.items()}


@cache
def _owner_field(kind: type) -> str | None:
    """The field whose user and agent stand beside the others."""
    return next((name for name, hint in _hints(kind).items() if hint is Owner), None)


def _dataclass_to_record(value: Any) -> dict[str, Any]:
    kind: Any = type(value)
    owner = _owner_field(kind)
    record: dict[str, Any] = {}
    for field in fields(kind):
        item = getattr(value, field.name)
        record |= to_record(item) if field.name == owner else {field.name: to_record(item)}
    if isinstance(value, Memory):
        record["version"] = value.version
    return record


def _read(kind: Any, record: Any) -> Any:
    origin = get_origin(kind)
    if kind is Any or record is None:
        return record
    if origin in (Union, UnionType):
        return _read(next(one for one in get_args(kind) if one is not type(None)), record)
    if kind is datetime:
        return record if isinstance(record, datetime) else from_iso(record)
    if kind is timedelta:
        return timedelta(seconds=record)
    if is_dataclass(origin or kind):
        return _dataclass_from_record(kind, record)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(record)
    if origin is not None and issubclass(origin, Mapping):
        of_key, of_value = get_args(kind)
        return {_read(of_key, key): _read(of_value, item) for key, item in record.items()}
    if origin is not None and issubclass(origin, Sequence):
        items = (_read(get_args(kind)[0], item) for item in record)
        return list(items) if origin is list else tuple(items)
    return record


def _dataclass_from_record(kind: Any, record: Mapping[str, Any]) -> Any:
    owner = _owner_field(kind)
    values: dict[str, Any] = {}
    if owner is not None:
        is_anonymized = record.get("anonymized_at") is not None
        values[owner] = Owner.of_row(record["user"], record["agent"], anonymized=is_anonymized)
    hints = _hints(kind)
    for field in fields(get_origin(kind) or kind):
        if field.name == owner:
            continue
        if field.name in record:
            values[field.name] = _read(hints[field.name], record[field.name])
        elif field.default is MISSING and field.default_factory is MISSING:
            raise KeyError(field.name)
    return (get_origin(kind) or kind)(**values)
