"""Between rows and values. An absent text that is part of a key is '' in the row and None in the value."""

import json
from typing import Any

from memorist.ingestion.values import Document
from memorist.memories import lifecycle
from memorist.memories.values import Kind, Memory, Retention, Status, Trust
from memorist.platform.values import ApiKey, Event, Owner, OwnerFilter, Role, SignIn, SignInKind
from memorist.recall.searchable import searchable, standing, thread_of
from memorist.times import from_micros, optional_micros, optional_moment, to_micros

# After every id in byte order, and after every time.
NEWEST_ID = "~"
LATEST = 2**62

# Lookups in a dict are several times faster than calling the enum, and this runs for every row read.
_KINDS = {kind.value: kind for kind in Kind}
_TRUSTS = {trust.value: trust for trust in Trust}
_STATUSES = {status.value: status for status in Status}
_moment, _micros = optional_moment, optional_micros
_RETENTIONS = {retention.value: retention for retention in Retention}


def memory_from_row(row: tuple[Any, ...]) -> Memory:
    """The memory in a row of `memory_columns` (queries/shared/memories.sql)."""
    (
        id_, tenant, content, content_hash, dedup_key, created_at, updated_at, user, agent, session, project,
        kind, category, name, description, excerpt, importance, confidence, relevance, meta, source_ref, trust, status,
        retention, superseded_by, event_time, valid_from, valid_to, archive_at, retention_expires_at, expires_at,
        deleted_at, hard_delete_at, anonymized_at, access_count, last_accessed_at,
    ) = row  # fmt: skip
    return Memory(
        id_, tenant, content, content_hash, dedup_key, from_micros(created_at), from_micros(updated_at),
        owner_of(user, agent), session or None, project or None,
        _KINDS[kind], category or None, name or None, description, excerpt, importance, confidence, relevance,
        None if meta is None else json.loads(meta), source_ref, _TRUSTS[trust], _STATUSES[status],
        _RETENTIONS[retention], superseded_by, _moment(event_time), _moment(valid_from), _moment(valid_to),
        _moment(archive_at), _moment(retention_expires_at), _moment(expires_at), _moment(deleted_at),
        _moment(hard_delete_at), _moment(anonymized_at), access_count, _moment(last_accessed_at),
    )  # fmt: skip


# The parameters of `memory_values` (queries/shared/memories.sql), in its order.
MEMORY_PARAMETERS = (
    "id", "tenant", "content", "content_hash", "dedup_key", "created_at", "updated_at", "user_id", "agent_id",
    "session_id", "project", "kind", "category", "name", "description", "excerpt", "importance", "confidence",
    "relevance", "meta", "source_ref", "trust", "status", "retention", "superseded_by", "event_time", "valid_from",
    "valid_to", "archive_at", "retention_expires_at", "expires_at", "deleted_at", "hard_delete_at", "anonymized_at",
    "access_count", "last_accessed_at",
)  # fmt: skip


def memory_to_values(memory: Memory, tenant: str) -> tuple[Any, ...]:
    """The values of MEMORY_PARAMETERS. A tuple, because binding by name takes the database three times as long."""
    owner = memory.owner
    return (
        memory.id, tenant, memory.content, memory.content_hash, memory.dedup_key, to_micros(memory.created_at),
        to_micros(memory.updated_at), owner.user or "", owner.agent or "", memory.session or "", memory.project or "",
        memory.kind, memory.category or "", memory.name or "", memory.description, memory.excerpt, memory.importance,
        memory.confidence, memory.relevance,
        None if memory.meta is None else json.dumps(memory.meta, ensure_ascii=False),
        memory.source_ref, memory.trust, memory.status, memory.retention, memory.superseded_by,
        _micros(memory.event_time), _micros(memory.valid_from), _micros(memory.valid_to), _micros(memory.archive_at),
        _micros(memory.retention_expires_at), _micros(memory.expires_at), _micros(memory.deleted_at),
        _micros(memory.hard_delete_at), _micros(memory.anonymized_at), memory.access_count,
        _micros(memory.last_accessed_at),
    )  # fmt: skip


def index_to_parameters(memory: Memory) -> dict[str, Any]:
    """A memory's row of `memory_index`, without vectors."""
    found = searchable(memory)
    return {
        "memory_id": memory.id,
        "user_id": memory.owner.user or "",
        "agent_id": memory.owner.agent or "",
        "thread": thread_of(memory),
        "kind": memory.kind,
        "category": memory.category or "",
        "project": memory.project or "",
        "standing": int(standing(memory)),
        "event_time": to_micros(memory.event_time or memory.created_at),
        "created_at": to_micros(memory.created_at),
        "expires_at": optional_micros(memory.expires_at),
        "valid_from": optional_micros(memory.valid_from),
        "valid_to": optional_micros(memory.valid_to),
        "retired_at": to_micros(memory.updated_at) if memory.status is Status.ARCHIVED else None,
        "digest": found.digest(),
        "terms": found.terms(),
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
    id_, tenant, secret_hash, role, user, agent, label, created_at, revoked_at, last_used_at = row
    return ApiKey(
        id_, tenant, secret_hash, Role(role), from_micros(created_at), user or None, agent or None, label,
        optional_moment(revoked_at), optional_moment(last_used_at),
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
    }


def event_from_row(row: tuple[Any, ...]) -> Event:
    return Event(row[0], row[1], row[2], from_micros(row[3]), row[4], json.loads(row[5]), row[6])


def sign_in_from_row(row: tuple[Any, ...]) -> SignIn:
    kind, created_at, expires_at, *key = row
    return SignIn(SignInKind(kind), key_from_row(tuple(key)), from_micros(created_at), from_micros(expires_at))


def due_micros(memory: Memory) -> int | None:
    """The memory's `due_at` as a row has it."""
    return optional_micros(lifecycle.due_at(memory))


def owner_of(user: str | None, agent: str | None) -> Owner:
    return Owner(user or None, agent or None)


def owner_parameters(owner: Owner | OwnerFilter) -> dict[str, str]:
    """Exactly that owner."""
    return {"user_id": owner.user or "", "agent_id": owner.agent or ""}


def breadth_of(owner: OwnerFilter) -> str:
    """How wide a slice is: a list has a statement for each breadth, because each has an index."""
    return "tenant" if owner.any_user else "user" if owner.any_agent else "owner"


def slice_parameters(owner: OwnerFilter) -> dict[str, str | None]:
    """Whose rows a statement takes: None where anybody's."""
    return {
        "user_id": None if owner.any_user else owner.user or "",
        "agent_id": None if owner.any_agent else owner.agent or "",
    }
