"""The words of Memorist as frozen values. No I/O, no policy: just what things are."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from memorist.times import to_micros


class Role(StrEnum):
    """What a credential may do; `core.access` holds the rules."""

    ADMIN = "admin"
    SERVICE = "service"
    USER = "user"
    READER = "reader"


class Kind(StrEnum):
    """Where a memory came from."""

    FACT = "fact"
    CHAT_MESSAGE = "chat_message"
    TOOL_OUTPUT = "tool_output"
    DOCUMENT_CHUNK = "document_chunk"


class Trust(StrEnum):
    """Who vouches for a text."""

    USER = "user"
    AGENT = "agent"
    TOOL = "tool"
    DOCUMENT = "document"


class Status(StrEnum):
    """Where a memory stands in its life; `lifecycle` holds the moves."""

    ACTIVE = "active"
    ARCHIVED = "archived"
    SOFT_DELETED = "soft_deleted"
    HARD_DELETE_PENDING = "hard_delete_pending"
    PURGED = "purged"


class Retention(StrEnum):
    """Whether the tenant's policy ages a memory, or it is kept until somebody deletes it."""

    POLICY = "policy"
    KEEP = "keep"


class Order(StrEnum):
    """How a list is sorted. NEWEST is stable under edits; IMPORTANCE is for named memories."""

    NEWEST = "newest"
    IMPORTANCE = "importance"


@dataclass(frozen=True, slots=True)
class Principal:
    """Who is calling. The tenant always comes from the credential, never from a request.

    `agent_vouched`: the credential itself stands for the agent, or may act for any. An agent that a user merely names
    is a choice among the user's own profiles; what all users of that agent share is not opened by it.
    """

    tenant: str
    role: Role
    user: str | None = None
    agent: str | None = None
    session: str | None = None
    key_id: str | None = None
    source: str = "library"
    agent_vouched: bool = True


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose memory: a user's, an agent's, a user's with one agent, or (neither) the whole tenant's."""

    user: str | None = None
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class OwnerFilter:
    """A slice of memories by owner. `user` or `agent` None matches rows without one; `any_*` matches all."""

    user: str | None = None
    agent: str | None = None
    any_user: bool = False
    any_agent: bool = False

    def matches(self, owner: Owner) -> bool:
        return (self.any_user or owner.user == self.user) and (self.any_agent or owner.agent == self.agent)


@dataclass(frozen=True, slots=True)
class Draft:
    """A memory about to be written. Without an `owner` it belongs to the caller."""

    content: str
    kind: Kind = Kind.FACT
    category: str | None = None
    name: str | None = None
    description: str | None = None
    excerpt: str | None = None
    importance: int = 0
    confidence: float | None = None
    relevance: float | None = None
    meta: Mapping[str, Any] | None = None
    source_ref: str | None = None
    trust: Trust = Trust.USER
    project: str | None = None
    session: str | None = None
    retention: Retention = Retention.KEEP
    event_time: datetime | None = None
    owner: Owner | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """One row: a text with a kind, a category, an owner, provenance, a state and times (aware, UTC)."""

    id: str
    tenant: str
    content: str
    content_hash: str
    dedup_key: str
    created_at: datetime
    updated_at: datetime
    owner: Owner = Owner()
    session: str | None = None
    project: str | None = None
    kind: Kind = Kind.FACT
    category: str | None = None
    name: str | None = None
    description: str | None = None
    excerpt: str | None = None
    importance: int = 0
    confidence: float | None = None
    relevance: float | None = None
    meta: Mapping[str, Any] | None = None
    source_ref: str | None = None
    trust: Trust = Trust.USER
    status: Status = Status.ACTIVE
    retention: Retention = Retention.KEEP
    superseded_by: str | None = None
    event_time: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    archive_at: datetime | None = None
    retention_expires_at: datetime | None = None
    expires_at: datetime | None = None
    deleted_at: datetime | None = None
    hard_delete_at: datetime | None = None
    anonymized_at: datetime | None = None
    access_count: int = 0
    last_accessed_at: datetime | None = None

    @property
    def user(self) -> str | None:
        return self.owner.user

    @property
    def agent(self) -> str | None:
        return self.owner.agent

    @property
    def version(self) -> str:
        """Changes with every edit, and with nothing else; the doors show it as the ETag."""
        return f"{to_micros(self.updated_at):x}"

    def is_expired(self, now: datetime) -> bool:
        """Past its own expiry, whether or not a sweep ran."""
        return self.expires_at is not None and self.expires_at <= now

    def is_current(self, now: datetime) -> bool:
        """Active and not past its own expiry."""
        return self.status is Status.ACTIVE and not self.is_expired(now)


@dataclass(frozen=True, slots=True)
class Remembered:
    """What a write did: the memory, and whether it is new or was there before."""

    memory: Memory
    was_new: bool
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class Position:
    """Where a page ended: the sort key of its last row."""

    created_at: datetime
    id: str
    importance: int = 0


@dataclass(frozen=True, slots=True)
class Query:
    """What to list. `owners` is the union of the slices that the caller may see."""

    owners: tuple[OwnerFilter, ...]
    named: bool = False
    kind: Kind | None = None
    category: str | None = None
    project: str | None = None
    session: str | None = None
    status: Status = Status.ACTIVE
    order: Order = Order.NEWEST
    limit: int = 20
    after: Position | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """A page of memories; `next_cursor` is None on the last one."""

    items: tuple[Memory, ...]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the audit trail. `seq` is given by the database and orders a tenant's events."""

    memory_id: str
    event_type: str
    source: str
    created_at: datetime
    actor: str | None = None
    payload: Mapping[str, Any] = field(default_factory=dict)
    seq: int = 0


@dataclass(frozen=True, slots=True)
class Tenant:
    """The isolation boundary."""

    id: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A credential as stored: the secret itself is kept nowhere, only its SHA-256."""

    id: str
    tenant: str
    secret_hash: str
    role: Role
    created_at: datetime
    user: str | None = None
    agent: str | None = None
    label: str | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class IdempotencyRecord:
    """A remembered request: what was asked (as a hash) and what was answered (as JSON)."""

    principal: str
    route: str
    key: str
    user: str | None
    request_hash: str
    response: str
    created_at: datetime
    expires_at: datetime
