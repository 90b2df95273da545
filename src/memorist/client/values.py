"""What a server tells, as frozen values. Their fields have the names of the library's; None is what was not told."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memorist.facts.values import DoubtStatus
from memorist.memories.values import Kind, Retention, Status, Trust
from memorist.platform.values import Event
from memorist.turns.values import TurnStatus


@dataclass(frozen=True, slots=True)
class RemoteMemory:
    """One memory, as far as the API that told of it shows it. `version` goes back as `expected_version`."""

    id: str
    content: str
    created_at: datetime | None = None
    updated_at: datetime | None = None
    user: str | None = None
    agent: str | None = None
    session: str | None = None
    project: str | None = None
    kind: Kind | None = None
    category: str | None = None
    name: str | None = None
    description: str | None = None
    excerpt: str | None = None
    importance: int | None = None
    confidence: float | None = None
    relevance: float | None = None
    meta: Mapping[str, Any] | None = None
    source_ref: str | None = None
    status: Status | None = None
    superseded_by: str | None = None
    event_time: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    archive_at: datetime | None = None
    retention_expires_at: datetime | None = None
    expires_at: datetime | None = None
    deleted_at: datetime | None = None
    hard_delete_at: datetime | None = None
    access_count: int | None = None
    last_accessed_at: datetime | None = None
    version: str | None = None
    trust: Trust | None = None
    retention: Retention | None = None
    anonymized_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class RemoteRemembered:
    """What a write did. `was_new` is None where the API does not tell."""

    memory: RemoteMemory
    was_new: bool | None
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class RemotePage:
    """A page of memories; `next_cursor` is None on the last one."""

    items: tuple[RemoteMemory, ...]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class RemoteHit:
    """A memory that was recalled. `excerpt` is the part of a long text that fits the question best."""

    memory: RemoteMemory
    score: float
    excerpt: str
    explanation: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class RemoteRecalled:
    """The answer. `degraded`: some memories are found by keyword only, because they wait for their vectors."""

    hits: tuple[RemoteHit, ...]
    degraded: bool
    rerank_used: bool
    why_not: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class RemoteToolOutput:
    """A stored tool output: its memory, the key of the whole payload, and what the memory shows of it."""

    memory: RemoteMemory
    key: str
    preview: str
    truncated: bool
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class RemoteDocument:
    """A document; `content` is empty in a list."""

    id: str
    title: str
    media_type: str
    content: str
    chunks: int
    shared: bool
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class RemoteDocumentPage:
    """A page of documents; `next_cursor` is None on the last one."""

    items: tuple[RemoteDocument, ...]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class RemoteStoredDocument:
    """What an upload did: whether the document is new, and whether anything changed."""

    document: RemoteDocument
    was_new: bool
    changed: bool


@dataclass(frozen=True, slots=True)
class RemoteFactVersion:
    """One fact of a chain, and what happened to it."""

    memory: RemoteMemory
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class RemoteDoubt:
    """Two facts that may contradict each other; `fact` is the newer one."""

    id: str
    status: DoubtStatus
    reason: str
    judge: str
    fact: RemoteMemory
    other: RemoteMemory
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class RemoteDoubtPage:
    """A page of doubts; `next_cursor` is None on the last one."""

    items: tuple[RemoteDoubt, ...]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class RemoteExtracted:
    """What came of a transcript. `waiting`: parts of it that could not be read now and are tried again later."""

    memories: tuple[RemoteMemory, ...]
    waiting: int


@dataclass(frozen=True, slots=True)
class RemoteTurn:
    """One exchange with a language model: how it stands, and what came of it."""

    id: str
    session: str
    status: TurnStatus
    created_at: datetime
    completed_at: datetime | None
    answer: str | None
    error: Mapping[str, str] | None
    input_tokens: int
    output_tokens: int
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class RemoteTurnPage:
    """A page of turns; `next_cursor` is None on the last one."""

    items: tuple[RemoteTurn, ...]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class RemoteTurnEvent:
    """One event of a turn's stream; `seq` counts from 1 without a gap."""

    seq: int
    event: str
    data: Mapping[str, Any]
