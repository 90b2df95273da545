"""Makers of values: each call gives something fresh, so that no test depends on another or on an empty database."""

import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from memorist.erasure.values import ErasureKind, ErasureStatus, Receipt
from memorist.facts.values import Doubt
from memorist.ids import new_id
from memorist.ingestion.values import Document
from memorist.memories.fields import FIELDS, Field
from memorist.memories.searchable import searchable
from memorist.memories.values import Memory
from memorist.platform.values import ApiKey, Event, IdempotencyRecord, Job, Owner, Principal, Role
from memorist.recall.values import Embedded
from memorist.testing.clocks import START
from memorist.turns.values import Turn, TurnStatus


def new_tenant() -> str:
    """The name of a tenant that nobody has used."""
    return f"t-{secrets.token_hex(8)}"


def make_memory(tenant: str, **fields: Any) -> Memory:
    """A memory of the user `ada`, unlike any other unless a field is given."""
    memory_id = fields.pop("id", None) or new_id("mem")
    values: dict[str, Any] = {
        "content": f"text of {memory_id}",
        "content_hash": secrets.token_hex(32),
        "dedup_key": memory_id,
        "created_at": START,
        "updated_at": fields.get("created_at", START),
        "owner": Owner("ada"),
    }
    return Memory(id=memory_id, tenant=tenant, **(values | fields))


def full_memory(tenant: str) -> Memory:
    """A memory with a value in every field, none of them the default."""
    values = {field.name: _some(field, number) for number, field in enumerate(FIELDS, start=1)}
    del values["user"], values["agent"]
    fitting = {
        "id": new_id("mem"),
        "tenant": tenant,
        "owner": Owner("ada", "coder"),
        "superseded_by": new_id("mem"),
    }
    return Memory(**(values | fitting))


def _some(field: Field, number: int) -> Any:
    """A value that a field may have, unlike those of the others."""
    if issubclass(field.type, StrEnum):
        return next(member for member in field.type if member != Memory.__dataclass_fields__[field.name].default)
    return {
        str: f"some_{field.name}",
        int: -number,
        float: number / 100,
        datetime: START + timedelta(days=number, microseconds=number),
        Mapping: {"nested": [1, 2.5, None, True, {"ключ": "значение 🚀"}]},
    }[field.type]


def make_event(memory: Memory, event_type: str = "created", **fields: Any) -> Event:
    values: dict[str, Any] = {"source": "library", "created_at": START}
    return Event(memory.id, event_type, **(values | fields))


def make_document(**fields: Any) -> Document:
    """A document of the user `ada`."""
    document_id = new_id("doc")
    values: dict[str, Any] = {
        "id": document_id,
        "owner": Owner("ada"),
        "title": f"title of {document_id}",
        "media_type": "text/plain",
        "content": f"text of {document_id}",
        "chunks": 1,
        "created_at": START,
        "updated_at": START,
    }
    return Document(**(values | fields))


def make_embedded(
    memory: Memory, model: str = "model-1", vectors: bytes | None = b"vectors", tokens: bytes = b"tokens of a text"
) -> Embedded:
    """What a model made of a memory as it is."""
    found = searchable(memory)
    return Embedded(memory.id, memory.owner.user, found.digest(), found.terms(), model, vectors, tokens)


def make_key(tenant: str, **fields: Any) -> ApiKey:
    values: dict[str, Any] = {
        "id": new_id("key"),
        "secret_hash": secrets.token_hex(32),
        "role": Role.USER,
        "created_at": START,
        "user": "ada",
    }
    return ApiKey(tenant=tenant, **(values | fields))


def make_record(**fields: Any) -> IdempotencyRecord:
    """A remembered request of `ada`, good for a day."""
    values: dict[str, Any] = {
        "principal": "ada",
        "route": "remember",
        "key": secrets.token_hex(8),
        "user": "ada",
        "request_hash": secrets.token_hex(32),
        "response": '{"answer": 42}',
        "created_at": START,
        "expires_at": START + timedelta(days=1),
    }
    return IdempotencyRecord(**(values | fields))


def make_job(tenant: str, **fields: Any) -> Job:
    """A job of the user `ada`, due at START."""
    values: dict[str, Any] = {
        "id": new_id("job"),
        "kind": "count",
        "principal": Principal(tenant, Role.USER, "ada"),
        "payload": {},
        "run_at": START,
        "created_at": START,
        "updated_at": START,
    }
    return Job(**(values | fields))


def make_doubt(newer: Memory, older: Memory, **fields: Any) -> Doubt:
    values: dict[str, Any] = {"reason": "It may be so.", "judge": "local", "created_at": START, "updated_at": START}
    return Doubt(new_id("dbt"), older.owner, newer.id, older.id, **(values | fields))


def make_turn(**fields: Any) -> Turn:
    """A turn of the user `ada` that runs, and that the process `first` works on for a minute."""
    values: dict[str, Any] = {
        "id": new_id("turn"),
        "owner": Owner("ada"),
        "session": "s1",
        "status": TurnStatus.RUNNING,
        "created_at": START,
        "request": "{}",
        "runner": "first",
        "lease_until": START + timedelta(minutes=1),
        "attended_until": START + timedelta(minutes=1),
    }
    return Turn(**(values | fields))


def make_receipt(tenant: str, **fields: Any) -> Receipt:
    """A receipt of an erasure that runs."""
    values: dict[str, Any] = {
        "id": new_id("rcpt"),
        "kind": ErasureKind.USER,
        "status": ErasureStatus.RUNNING,
        "asked_by": {"role": "admin", "key": None},
        "salt": "5a17",
        "started_at": START,
        "due_at": START,
        "subject": "ab12",
        "request": {"user": "ada"},
    }
    return Receipt(tenant=tenant, **(values | fields))
