"""The words of Memorist as frozen values. No I/O, no policy: just what things are."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
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


class Mode(StrEnum):
    """Whether the sweeper only records what a policy would do, or does it."""

    OBSERVE = "observe"
    ENFORCE = "enforce"


class Move(StrEnum):
    """A step of a memory's life that time brings, named as its event is."""

    EXPIRED = "expired"
    ARCHIVED = "archived"
    DELETED = "deleted"
    HARD_DELETE_PENDING = "hard_delete_pending"
    PURGED = "purged"
    ANONYMIZED = "anonymized"


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
    ttl: timedelta | None = None
    same_as: str | None = None
    """What makes a fact the same as one that is there, where that is not its text; '' where nothing does."""


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
    redacted: Mapping[str, int] | None = field(default=None, compare=False)
    """What a write took out of it, by rule: known to that write alone, and afterwards from the memory's events."""

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


class FeedPosition(NamedTuple):
    """A place in a tenant's feed of changes: the transaction that wrote an event, and the event's number."""

    change: int
    seq: int


@dataclass(frozen=True, slots=True)
class HiddenOwner:
    """Whose an erased memory was, told only to those who know: salted hashes of the user and the agent."""

    salt: str
    user: str
    agent: str

    @staticmethod
    def hide(salt: str, name: str | None) -> str:
        return "" if name is None else hashlib.sha256(f"{salt}\0{name}".encode()).hexdigest()

    def is_in(self, part: OwnerFilter) -> bool:
        is_user = part.any_user or self.hide(self.salt, part.user) == self.user
        return is_user and (part.any_agent or self.hide(self.salt, part.agent) == self.agent)


class FeedRow(NamedTuple):
    """An event in the feed. Of an erased memory the id is 32 hexadecimal digits and the owner hidden."""

    position: FeedPosition
    memory_id: str
    event_type: str
    at: datetime
    owner: Owner | HiddenOwner | None


@dataclass(frozen=True, slots=True)
class FeedPage:
    """Events in the order of their commits. `has_unsafe`: some are not shown, since one before them may yet appear."""

    rows: tuple[FeedRow, ...]
    is_last: bool
    has_unsafe: bool


@dataclass(frozen=True, slots=True)
class Change:
    """That a memory changed, without its text. Pass `position` back to go on from there."""

    position: str
    action: str
    memory_id: str
    at: datetime


@dataclass(frozen=True, slots=True)
class ChunkQuery:
    """What a coding assistant searches, of one slice. `pattern` is for LIKE, with `!` before what is literal."""

    owner: OwnerFilter
    pattern: str | None = "%"
    category: str | None = None
    project: str | None = None
    min_relevance: float = 0.0


class ChunkCandidate(NamedTuple):
    created_at: int
    memory_id: str
    content: str
    excerpt: str | None


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
class PastRecall:
    """One time that a memory came back: who asked what, and at which place of the answer it was, from 1.

    `id` is shared by all memories that came back together.
    """

    memory_id: str
    at: datetime
    id: str
    user: str | None
    agent: str | None
    source: str
    query: str
    place: int
    score: float


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


class IndexPlace(NamedTuple):
    """How far somebody has read what changed among a user's rows, or among those of no user."""

    user: str | None
    change: int
    memory_id: str


class IndexPage(NamedTuple):
    """Rows after a place, and the change from which on others may appear that are not to be seen yet."""

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


class SignInKind(StrEnum):
    LINK = "link"
    SESSION = "session"


@dataclass(frozen=True, slots=True)
class SignIn:
    """A link to the dashboard that works once, or a session there; it stands for a key."""

    kind: SignInKind
    key: ApiKey
    created_at: datetime
    expires_at: datetime


class Ruling(StrEnum):
    """How a newer fact stands to an older one. Unsure: both stay, and somebody is asked."""

    SAME = "same"
    CONTRADICTS = "contradicts"
    UNRELATED = "unrelated"
    UNSURE = "unsure"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge says of two facts, why, and how certain it is, from 0 to 1."""

    ruling: Ruling
    reason: str
    confidence: float = 1.0


class DoubtStatus(StrEnum):
    """What became of two facts in doubt: not decided, the older or the newer one was retired, or both are right."""

    OPEN = "open"
    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    DISMISSED = "dismissed"


@dataclass(frozen=True, slots=True)
class Doubt:
    """Two facts of one owner that may contradict each other, or say the same: `fact_id` is the newer one."""

    id: str
    owner: Owner
    fact_id: str
    other_id: str
    reason: str
    judge: str
    created_at: datetime
    updated_at: datetime
    status: DoubtStatus = DoubtStatus.OPEN


@dataclass(frozen=True, slots=True)
class InDoubt:
    """A doubt with its two facts, to be decided; and what the judge said, where the audit trail has it."""

    doubt: Doubt
    fact: Memory
    other: Memory
    verdict: Verdict | None = None


@dataclass(frozen=True, slots=True)
class DoubtPage:
    """A page of doubts; `next_cursor` is None on the last one."""

    items: tuple[InDoubt, ...]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class Supersession:
    """A fact that was retired, what took its place, and when, why and by whose judgement that was.

    `by` is None where it is gone; `confidence` where nobody said how certain it is.
    """

    retired: Memory
    by: Memory | None
    at: datetime
    reason: str
    judge: str
    confidence: float | None


@dataclass(frozen=True, slots=True)
class SupersessionPage:
    """A page of supersessions; `next_cursor` is None on the last one."""

    items: tuple[Supersession, ...]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class FactVersion:
    """One fact of a chain, and what happened to it."""

    memory: Memory
    events: tuple[Event, ...]


class JobStatus(StrEnum):
    """Where a job stands: it waits for its next attempt, it succeeded, or it was given up."""

    WAITING = "waiting"
    DONE = "done"
    DEAD = "dead"


@dataclass(frozen=True, slots=True)
class Job:
    """Work that was promised durably. It acts as `principal`; a `waiting` one is due at `run_at`."""

    id: str
    kind: str
    principal: Principal
    payload: Mapping[str, Any]
    run_at: datetime
    created_at: datetime
    updated_at: datetime
    key: str | None = None
    status: JobStatus = JobStatus.WAITING
    attempts: int = 0
    error: str | None = None
    result: Mapping[str, Any] | None = None

    @property
    def tenant(self) -> str:
        return self.principal.tenant

    @property
    def user(self) -> str | None:
        return self.principal.user

    @property
    def agent(self) -> str | None:
        return self.principal.agent

    @property
    def owner(self) -> Owner:
        return Owner(self.principal.user, self.principal.agent)


@dataclass(frozen=True, slots=True)
class JobPage:
    """A page of jobs; `next_cursor` is None on the last one."""

    items: tuple[Job, ...]
    next_cursor: str | None


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


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that a language model wants to be run. `arguments` is what it wrote, which may be no good."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LlmMessage:
    """One message of a prompt: `user`, `assistant` (with the tools it called) or `tool` (what a call returned)."""

    role: str
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None


@dataclass(frozen=True, slots=True)
class LlmTool:
    """A tool as a language model is told of it; `schema` is the JSON Schema of its arguments."""

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LlmRequest:
    """What a language model is asked."""

    messages: tuple[LlmMessage, ...]
    system: str = ""
    tools: tuple[LlmTool, ...] = ()
    max_tokens: int = 4096


class Stop(StrEnum):
    """Why a language model stopped: it was done, wants tools to be run, ran out of tokens, or declined."""

    DONE = "done"
    TOOLS = "tools"
    LENGTH = "length"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Usage:
    """What a call took. `cost_usd` is None where the price of the model is not known."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0

    def plus(self, other: "Usage") -> "Usage":
        known = self.cost_usd is not None and other.cost_usd is not None
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            round((self.cost_usd or 0.0) + (other.cost_usd or 0.0), 9) if known else None,
        )


@dataclass(frozen=True, slots=True)
class LlmAnswer:
    """What a language model answered, and what that took."""

    text: str
    stop: Stop
    usage: Usage
    tool_calls: tuple[ToolCall, ...] = ()


class ErasureKind(StrEnum):
    """What an erasure was asked for: some memories, a user, a tenant, or the end of their retention."""

    MEMORIES = "memories"
    USER = "user"
    TENANT = "tenant"
    RETENTION = "retention"


class ErasureStatus(StrEnum):
    """Where an erasure stands: asked for later, removing rows, rewriting files, or done and verified."""

    DUE = "due"
    RUNNING = "running"
    SCRUBBING = "scrubbing"
    DONE = "done"


class Derived(StrEnum):
    """What becomes of a fact that was learned from an erased memory: it loses its source, or goes too."""

    DETACH = "detach"
    ERASE = "erase"


@dataclass(frozen=True, slots=True)
class Verification:
    """What was looked for after an erasure, and what of it was found. `samples` are pieces of the erased texts.

    `rows` counts by place what still named an erased memory or user; `ids_in_files` and `samples_in_files` are None
    where the database's files cannot be read. A sample that a living row holds as well is counted as `samples_shared`.
    """

    ok: bool
    checked_at: datetime
    ids: int = 0
    rows: Mapping[str, int] = field(default_factory=dict)
    ids_in_files: int | None = None
    samples: int = 0
    samples_in_files: int | None = None
    samples_shared: int = 0
    name_in_files: int | None = None


@dataclass(frozen=True, slots=True)
class Receipt:
    """The proof of an erasure. It holds no personal text: `subject` is the salted hash of whose data it was.

    `counts` says how many rows went from each place; `remains` what may still hold copies that are out of reach.
    `request` is what was asked, for as long as the erasure runs, and None afterwards.
    """

    id: str
    tenant: str
    kind: ErasureKind
    status: ErasureStatus
    asked_by: Mapping[str, Any]
    salt: str
    started_at: datetime
    due_at: datetime
    subject: str = ""
    request: Mapping[str, Any] | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    verification: Verification | None = None
    remains: tuple[str, ...] = ()
    finished_at: datetime | None = None


class Naming(NamedTuple):
    """What a memory says about others, as the database has it: `meta` is JSON."""

    id: str
    kind: str
    source_ref: str | None
    superseded_by: str | None
    meta: str | None


@dataclass(frozen=True, slots=True)
class Erased:
    """One line of the ledger: a memory by its id in hexadecimal digits, a document or a user by a salted hash."""

    kind: str
    id: str
    salt: str
    receipt_id: str
    erased_at: datetime


@dataclass(frozen=True, slots=True)
class Windows:
    """How long a memory stays in each state, in days; `archive` false leaves the archive out."""

    active_days: float = 90
    archive: bool = True
    archive_days: float = 60
    grace_days: float = 7


@dataclass(frozen=True, slots=True)
class Policy:
    """A tenant's retention rules. `kinds` holds, by kind, the windows that differ, each as field and value."""

    mode: Mode = Mode.OBSERVE
    windows: Windows = Windows()
    kinds: Mapping[Kind, Mapping[str, Any]] = field(default_factory=dict)
    anonymize_after_days: float = 30
    derived_facts: Derived = Derived.DETACH

    def windows_of(self, kind: Kind) -> Windows:
        differing = self.kinds.get(kind)
        return replace(self.windows, **differing) if differing else self.windows


@dataclass(frozen=True, slots=True)
class PolicyRevision:
    """A policy as it was set: the newest revision is in force, the others are its history."""

    revision: int
    policy: Policy
    source: str
    created_at: datetime | None = None
    """None for the policy that every tenant begins with."""
    actor: str | None = None


@dataclass(frozen=True, slots=True)
class SweepState:
    """How far a tenant's sweeper is: deadlines follow `revision` up to an id (None: all do), and its last report."""

    revision: int
    recomputed_after: str | None
    report: Mapping[str, Any] | None = None
    reported_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class DueCount:
    """How many memories of a kind are due for a move, and the ids of a few of them."""

    move: Move
    kind: Kind
    count: int
    samples: tuple[str, ...]


class TurnStatus(StrEnum):
    """Where a turn stands."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Turn:
    """One exchange with a language model. `request` is what was asked, as JSON, until the turn is over.

    `runner` is the process that works on it, whose word holds until `lease_until`; until `attended_until` somebody
    listens. `replayed` where it was begun before, and asked for again under the same idempotency key.
    """

    id: str
    owner: Owner
    session: str
    status: TurnStatus
    created_at: datetime
    request: str = ""
    answer: str | None = None
    error: Mapping[str, str] | None = None
    usage: Usage = Usage()
    completed_at: datetime | None = None
    runner: str = ""
    lease_until: datetime | None = None
    attended_until: datetime | None = None
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class TurnEvent:
    """One event of a turn's stream; `seq` counts from 1 without a gap."""

    seq: int
    event: str
    data: Mapping[str, Any]
    created_at: datetime


@dataclass(frozen=True, slots=True)
class TurnPage:
    """A page of turns; `next_cursor` is None on the last one."""

    items: tuple[Turn, ...]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class RedactionNote:
    """That secrets were taken out of a memory when it was written: by which rules, and how many; never what they were.

    `seq` is the number of the event that tells it.
    """

    seq: int
    memory_id: str
    owner: Owner
    rules: Mapping[str, int]
    source: str
    actor: str | None
    at: datetime


@dataclass(frozen=True, slots=True)
class RedactionPage:
    """A page of what redaction took out; `next_cursor` is None on the last one."""

    items: tuple[RedactionNote, ...]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class KindCount:
    """How many memories there are of a state and a kind."""

    status: Status
    kind: Kind
    count: int


@dataclass(frozen=True, slots=True)
class OwnerCount:
    """An owner, how many active memories they have, and when the last of those was written."""

    owner: Owner
    count: int
    newest_at: datetime | None


class BrowseOrder(StrEnum):
    """How browsing sorts. By importance, what has none comes last, newest first."""

    NEWEST = "newest"
    OLDEST = "oldest"
    IMPORTANCE = "importance"


@dataclass(frozen=True, slots=True)
class Browse:
    """What to browse. Every word of `text` must occur; '' as a category or an agent means those without one."""

    text: str = ""
    statuses: tuple[Status, ...] = (Status.ACTIVE,)
    agent: str | None = None
    category: str | None = None
    kind: Kind | None = None
    trust: Trust | None = None
    project: str | None = None
    order: BrowseOrder = BrowseOrder.NEWEST


class BrowsePlace(NamedTuple):
    """A place in the order of a walk; the time in microseconds."""

    importance: int
    created_at: int
    id: str


@dataclass(frozen=True, slots=True)
class Walk:
    """One slice and state in one order. `pattern` is for LIKE, with `!` before what is literal; None fits no ASCII."""

    owner: OwnerFilter
    status: Status
    order: BrowseOrder = BrowseOrder.NEWEST
    pattern: str | None = "%"
    category: str | None = None
    kind: Kind | None = None
    trust: Trust | None = None
    project: str | None = None
    most_importance: int = 2**31 - 1


class BrowseCandidate(NamedTuple):
    """A row that may fit a text; `content` is '' where no text is looked for."""

    place: BrowsePlace
    name: str
    description: str | None
    content: str


@dataclass(frozen=True, slots=True)
class Stretch:
    """What was found on a part of a walk. `end` is where it stopped; None where the walk is over."""

    candidates: tuple[BrowseCandidate, ...]
    end: BrowsePlace | None


@dataclass(frozen=True, slots=True)
class BrowsedPage:
    """A page of what was browsed. With a `next_cursor` it goes on, even where the page is not full, or empty:
    `reached` is then the time up to which was looked.
    """

    items: tuple[Memory, ...]
    next_cursor: str | None
    reached: datetime | None = None


class FacetRow(NamedTuple):
    """How many memories there are of one combination; '' for what is absent."""

    user: str
    status: str
    kind: str
    category: str
    trust: str
    agent: str
    memories: int


@dataclass(frozen=True, slots=True)
class Facets:
    """What can be narrowed down to: by name, the values and how many memories each has while the others stay as chosen.

    `is_complete`: False where there was more to count than time; the counts are then lower bounds.
    """

    counts: Mapping[str, Mapping[str, int]]
    projects: tuple[str, ...]
    is_complete: bool
