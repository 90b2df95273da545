"""A memory, what becomes one, and lists of them. No I/O, no policy: just what things are."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

from memorist.platform.values import Owner, OwnerFilter
from memorist.times import to_micros

QUOTES = "quotes"
"""In the meta of a tool output, and of a fact that was learned: the memories that it repeats word for word."""


class Kind(StrEnum):
    """Where a memory came from."""

    FACT = "fact"
    CHAT_MESSAGE = "chat_message"
    TOOL_OUTPUT = "tool_output"
    DOCUMENT_CHUNK = "document_chunk"

    @property
    def is_said(self) -> bool:
        """Whether memories of this kind are turns of a session."""
        return self in (Kind.CHAT_MESSAGE, Kind.TOOL_OUTPUT)


class Trust(StrEnum):
    """Who vouches for a text."""

    USER = "user"
    AGENT = "agent"
    TOOL = "tool"
    DOCUMENT = "document"


class Governor(StrEnum):
    """The door that wrote a memory, and so whose promises hold for it; `governance` has them."""

    NATIVE = "native"
    COMPANION = "companion"
    PROFILE = "profile"
    CODING_ASSISTANT = "coding_assistant"
    LIFECYCLE = "lifecycle"
    AGENT_TOOLS = "agent_tools"


class NamedType(StrEnum):
    """What a named memory is about: its category is one of these."""

    USER = "user"
    FEEDBACK = "feedback"
    PROJECT = "project"
    REFERENCE = "reference"


class Status(StrEnum):
    """Where a memory stands in its life; `lifecycle` holds the moves."""

    ACTIVE = "active"
    ARCHIVED = "archived"
    SOFT_DELETED = "soft_deleted"
    HARD_DELETE_PENDING = "hard_delete_pending"
    PURGED = "purged"

    @property
    def in_use(self) -> bool:
        """Whether memories in this state are read: they are not deleted."""
        return self in (Status.ACTIVE, Status.ARCHIVED)


ENDS_FROM: dict[Status, tuple[Status, ...]] = {
    Status.ARCHIVED: (Status.ACTIVE,),
    Status.SOFT_DELETED: (Status.ACTIVE, Status.ARCHIVED),
}
"""The states that a TTL may bring a memory into, and those that it then comes from."""


class Retention(StrEnum):
    """Whether the tenant's policy ages a memory, or it is kept until somebody deletes it."""

    POLICY = "policy"
    KEEP = "keep"


class Order(StrEnum):
    """How a list is sorted. NEWEST is stable under edits; IMPORTANCE is for named memories."""

    NEWEST = "newest"
    IMPORTANCE = "importance"


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
    ttl: timedelta | None = None
    same_as: str | None = None
    """What makes a fact the same as one that is there, where that is not its text; '' where nothing does."""
    governed_by: Governor | None = None
    """The door that writes it. Without one it is what `governance` says of a draft."""


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
    governed_by: Governor = Governor.NATIVE
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
    redacted: Mapping[str, int] | None = field(default=None, compare=False)
    """What a write took out of it, by rule: known to that write alone, and afterwards from the memory's events."""

    @property
    def user(self) -> str | None:
        return self.owner.user

    @property
    def agent(self) -> str | None:
        return self.owner.agent

    def meta_text(self, name: str) -> str | None:
        """What `meta` has under a name of ours, where that is a text: it is the caller's own, and may be anything."""
        value = (self.meta or {}).get(name)
        return value if isinstance(value, str) else None

    def meta_texts(self, name: str) -> tuple[str, ...] | None:
        """The same, where that is a list of nothing but texts."""
        value = (self.meta or {}).get(name)
        are_texts = isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)
        return tuple(value or ()) if are_texts else None

    def meta_whole(self, name: str) -> int | None:
        """The same, where that is a whole number of at most 64 bits."""
        value = (self.meta or {}).get(name)
        if not isinstance(value, int) or isinstance(value, bool):
            return None
        return value if -(2**63) <= value < 2**63 else None

    def meta_value(self, name: str) -> str | int | float | None:
        """The same, where that is a text or a number."""
        value = (self.meta or {}).get(name)
        return value if isinstance(value, str | float) else self.meta_whole(name)

    @property
    def repeats(self) -> bool:
        """Whether it only says again what other memories say: such an output is kept, and not found itself."""
        return self.kind is Kind.TOOL_OUTPUT and QUOTES in (self.meta or {})

    @property
    def said_in(self) -> str | None:
        """The session that it is a turn of, so that others stand before and after it."""
        return self.session if self.kind.is_said and not self.repeats else None

    @property
    def is_entry(self) -> bool:
        """Whether only its user reads it: an entry of the companion, or what may repeat one."""
        return self.governed_by is Governor.COMPANION or self.repeats

    @property
    def is_past(self) -> bool:
        """Whether another fact took its place. Where that one was erased since, `valid_to` alone says so."""
        return self.superseded_by is not None or (self.status is Status.ARCHIVED and self.valid_to is not None)

    @property
    def version(self) -> str:
        """Changes with every edit, and with nothing else; the doors show it as the ETag."""
        return f"{to_micros(self.updated_at):x}"

    def is_expired(self, now: datetime) -> bool:
        """Past its own expiry, whether or not a sweep ran. In the archive that of one that ages counts no more: it ends
        the time for which a memory is active, and the policy says what follows.
        """
        is_past = self.expires_at is not None and self.expires_at <= now
        return is_past and not (self.status is Status.ARCHIVED and self.retention is Retention.POLICY)

    def is_in_use(self, now: datetime) -> bool:
        """Neither deleted nor past its own expiry."""
        return self.status.in_use and not self.is_expired(now)

    def is_current(self, now: datetime) -> bool:
        """Active and not past its own expiry."""
        return self.status is Status.ACTIVE and not self.is_expired(now)


class State(NamedTuple):
    """What a memory's status and times come to."""

    standing: int
    """Whether recall may show it: `searchable.Standing`."""
    retired_at: datetime | None
    """Since when it is in the archive."""
    due_at: datetime | None
    """When the policy's next move is due."""


class Row(NamedTuple):
    """All that is written of a memory: itself, and what follows from it for recall."""

    memory: Memory
    state: State
    thread: str
    event_time: datetime
    digest: int
    terms: bytes


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
    """What to list. `owners` is the union of the slices that the caller may see. `archiving`: memories that are past
    their own time and that no sweep has moved are listed, too, in the state that a sweep will bring them into; these
    are the kinds that the policy archives.
    """

    owners: tuple[OwnerFilter, ...]
    named: bool = False
    name: str | None = None
    kind: Kind | None = None
    category: str | None = None
    project: str | None = None
    session: str | None = None
    status: Status = Status.ACTIVE
    archiving: frozenset[Kind] | None = None
    order: Order = Order.NEWEST
    limit: int = 20
    after: Position | None = None


@dataclass(frozen=True, slots=True)
class PastRecall:
    """One time that a memory came back: who asked what, and at which rank of the answer it was, from 1.

    `id` is shared by all memories that came back together.
    """

    memory_id: str
    at: datetime
    id: str
    user: str | None
    agent: str | None
    source: str
    query: str
    rank: int
    score: float


class AskedCount(NamedTuple):
    """How often an agent, or nobody's, asked on a day (UTC), and how many memories came back."""

    day: date
    agent: str | None
    questions: int
    memories: int
