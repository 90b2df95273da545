"""The words of Memorist as frozen values. No I/O, no policy: just what things are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

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


class Scope(StrEnum):
    """Which slice of memory to search."""

    ANY = "any"
    SESSION = "session"
    USER = "user"
    AGENT = "agent"
    TENANT = "tenant"


@dataclass(frozen=True, slots=True)
class Question:
    """What to recall, and how."""

    query: str
    top_k: int = 5
    source_kinds: Sequence[Kind] | None = None
    scope: Scope = Scope.ANY
    enable_rerank: bool = True
    as_of: datetime | None = None
    known_at: datetime | None = None
    after: datetime | None = None
    before: datetime | None = None
    category: str | None = None
    project: str | None = None
    budget_tokens: int | None = None
    min_score: float | None = None
    explain: bool = False
    why_not: str | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory that was recalled. `excerpt` is the part of a long text that fits the question best."""

    memory: Memory
    score: float
    excerpt: str
    explanation: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Recalled:
    """The answer. `degraded`: some memories are found by keyword only, because they wait for their vectors."""

    hits: tuple[Hit, ...]
    degraded: bool
    rerank_used: bool
    why_not: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Weights:
    """How much a memory of each class counts when all are searched; 0 leaves a class out."""

    session: float = 1.3
    user: float = 1.1
    agent: float = 1.0
    tenant: float = 1.0
    history: float = 1.0
    """What was said in the user's other sessions."""


class IndexRow(NamedTuple):
    """What is searched of one memory. `model` is '' and `vectors` None until it is embedded.

    Times are microseconds, and texts that are absent are '', as the database has them: these are read by the thousand.
    """

    change: int
    memory_id: str
    agent: str
    thread: str
    kind: str
    category: str
    project: str
    standing: int
    event_time: int
    created_at: int
    expires_at: int | None
    valid_from: int | None
    valid_to: int | None
    retired_at: int | None
    digest: int
    model: str
    terms: bytes
    vectors: bytes | None


@dataclass(frozen=True, slots=True)
class Embedded:
    """What a model made of one memory, and of which of its texts."""

    memory_id: str
    user: str | None
    digest: int
    terms: bytes
    model: str
    vectors: bytes


@dataclass(frozen=True, slots=True)
class IndexCounts:
    """How far the index of a tenant is: all rows, those that wait for vectors, those with another model's."""

    total: int
    waiting: int
    outdated: int


@dataclass(frozen=True, slots=True)
class Document:
    """A text that was uploaded whole. Its chunks are memories that name it as their `source_ref`."""

    id: str
    owner: Owner
    title: str
    media_type: str
    content: str
    chunks: int
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class DocumentPosition:
    """Where a page of documents ended: the sort key of its last one."""

    id: str
    owner: Owner


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """A page of documents; `next_cursor` is None on the last one."""

    items: tuple[Document, ...]
    next_cursor: str | None


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
