"""A question, its answer, and what the index holds, as values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from memorist.memories.values import Kind, Memory


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


class Shortfall(StrEnum):
    """What an answer lacks: the meaning of the question, vectors of some memories, or the memories of some users."""

    MEANING = "meaning"
    VECTORS = "vectors"
    USERS = "users"


@dataclass(frozen=True, slots=True)
class Recalled:
    """The answer. `degraded`: it may lack something; `degraded_by` says what. Some memories are found by keyword only,
    because no embedder answered, they wait for their vectors or there is no memory for these; or an admin that asks for
    nobody is shown those of some users alone. `reranked`: how many candidates the reranker had time to read.
    """

    hits: tuple[Hit, ...]
    degraded: bool
    rerank_used: bool
    why_not: Mapping[str, Any] | None = None
    reranked: int = 0
    degraded_by: tuple[Shortfall, ...] = ()


@dataclass(frozen=True, slots=True)
class Weights:
    """How much a memory of each class counts when all are searched; 0 leaves a class out."""

    session: float = 1.3
    user: float = 1.1
    agent: float = 1.0
    tenant: float = 1.0
    history: float | None = None
    """What was said in the user's other sessions. None: 1, or nothing where what is said in this one counts nothing."""

    @property
    def earlier(self) -> float:
        """What was said in the user's other sessions, as it counts."""
        return float(self.session > 0) if self.history is None else self.history


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


AFTER_ALL_IDS = "~"


class IndexPosition(NamedTuple):
    """How far somebody has read what changed among a user's rows, or among those of no user."""

    user: str | None
    change: int
    memory_id: str = AFTER_ALL_IDS


class IndexMark(NamedTuple):
    """Which state of a memory the index has."""

    memory_id: str
    change: int
    digest: int


class Unembedded(NamedTuple):
    """A row that waits for vectors: whose it is ('' for nobody), and about how many bytes its text has."""

    user: str
    memory_id: str
    size: int


class IndexPage(NamedTuple):
    """Rows after a position, and the change up to which everything was to be seen."""

    watermark: int
    rows: list[IndexRow]


@dataclass(frozen=True, slots=True)
class Embedded:
    """What a model made of one memory, and of which of its texts."""

    memory_id: str
    user: str | None
    digest: int
    terms: bytes
    model: str
    vectors: bytes | None
    """None where it can read none of it: the memory is found by its words alone."""
    tokens: bytes = b""
    """What is kept of its tokens; nothing where the model says nothing of them."""


@dataclass(frozen=True, slots=True)
class IndexCounts:
    """How far the index of a tenant is: all rows, those that wait for vectors, those with another model's, those
    with vectors of a model that makes the same, which lack tokens, and those that the model could not read.
    """

    total: int
    waiting: int
    outdated: int
    kept: int = 0
    refused: int = 0
