"""What the core needs of the world, as Protocols. Stores, models and clocks implement them."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from memorist.model import (
    ApiKey,
    BrowsePlace,
    ChunkCandidate,
    ChunkQuery,
    Document,
    DocumentPosition,
    Doubt,
    DoubtStatus,
    DueCount,
    Embedded,
    Erased,
    Event,
    FacetRow,
    FeedPage,
    FeedPosition,
    IdempotencyRecord,
    IndexCounts,
    IndexPage,
    IndexPlace,
    IndexRow,
    Job,
    JobStatus,
    KindCount,
    LlmAnswer,
    LlmRequest,
    Memory,
    Naming,
    Owner,
    OwnerCount,
    OwnerFilter,
    PastRecall,
    PolicyRevision,
    Position,
    Query,
    Receipt,
    RedactionNote,
    SignIn,
    Stretch,
    SweepState,
    Tenant,
    Turn,
    TurnEvent,
    Verdict,
    Walk,
)

if TYPE_CHECKING:  # Only those who embed pay for importing numpy.
    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T")


class Clock(Protocol):
    def now(self) -> datetime: ...


class Embedder(Protocol):
    """Turns texts into vectors. Raises ModelError where it cannot."""

    is_local: bool
    """Whether it answers in milliseconds, so that a write may wait for it."""

    @property
    def model_id(self) -> str:
        """Names the vectors: those of different models are never compared."""
        ...

    def load(self) -> None:
        """Get ready now rather than at the first use."""
        ...

    def embed(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """A row of length 1 for each text, in their order."""
        ...


class Reranker(Protocol):
    """Reads a question and a memory together. Raises ModelError where it cannot."""

    is_local: bool
    """Whether it is ours, whose scores recall knows how to read as a degree of certainty."""

    @property
    def model_id(self) -> str: ...

    def load(self) -> None:
        """Get ready now rather than at the first use."""
        ...

    def score(self, query: str, passages: Sequence[str]) -> list[float]:
        """A score for each passage, in their order, higher is better; only their differences mean anything."""
        ...


class Llm(Protocol):
    """A language model behind an address. It is asked once a call: trying again is the caller's decision."""

    @property
    def model_id(self) -> str: ...

    @property
    def context_tokens(self) -> int:
        """How many tokens it reads at most."""
        ...

    def ask(self, request: LlmRequest) -> LlmAnswer:
        """The whole answer. Raises LlmError, with `retry_after` where the server named a time."""
        ...

    def stream(self, request: LlmRequest) -> Iterator[str | LlmAnswer]:
        """The pieces of the text as they come, and at last the whole answer. Raises LlmError, also half way.

        Closing the iterator ends the call.
        """
        ...


class Judge(Protocol):
    """Says how two facts of one owner stand to each other. Raises MemoristError where it cannot say."""

    is_local: bool
    """Whether it answers in milliseconds, so that a write may wait for it."""

    @property
    def name(self) -> str:
        """Names the judge in the audit trail."""
        ...

    def judge(self, new: Memory, old: Memory) -> Verdict:
        """`new` is the later one, by when it was true."""
        ...


class Reader(Protocol):
    """A consistent view of one tenant. Nothing here can see another tenant."""

    def get_memory(self, memory_id: str) -> Memory | None: ...

    def get_memories(self, memory_ids: Sequence[str]) -> list[Memory]:
        """Those of the ids that exist, in no particular order."""
        ...

    def list_memories(self, query: Query, now: datetime) -> list[Memory]:
        """At most `query.limit` rows after `query.after`, in `query.order`; past-expiry rows are left out."""
        ...

    def find_named(self, user: str | None, agent: str | None, name: str) -> Memory | None:
        """The active memory of that name and exactly that owner."""
        ...

    def find_duplicate(self, user: str | None, agent: str | None, dedup_key: str) -> Memory | None:
        """The active memory with that key and exactly that owner."""
        ...

    def list_category(
        self,
        owner: OwnerFilter,
        category: str,
        now: datetime,
        limit: int,
        *,
        after: Position | None,
        since: datetime | None,
    ) -> list[Memory]:
        """Current facts of a user in one category, newest first: after a place in that order, newer than `since`."""
        ...

    def scan_memories(self, owner: OwnerFilter, after_id: str, limit: int) -> list[Memory]:
        """Rows of every status in id order, for export and erasure."""
        ...

    def turn_before(self, memory: Memory) -> Memory | None:
        """The message before this one in its session."""
        ...

    def load_index(self, user: str | None, after_id: str, limit: int) -> list[IndexRow]:
        """What is searched of a user's memories, or of those of no user, in id order."""
        ...

    def follow_index(self, places: Sequence[IndexPlace], limit: int) -> list[IndexPage]:
        """For each place up to `limit` rows whose change and id come after it, in that order; all of one moment."""
        ...

    def index_watermark(self, user: str | None) -> int:
        """No row will appear later with a smaller change than this."""
        ...

    def index_users(self) -> list[str | None]:
        """The users that have memories, None standing for those of no user."""
        ...

    def count_index(self, model: str) -> IndexCounts: ...

    def has_waiting(self) -> bool:
        """Whether rows wait for vectors."""
        ...

    def get_tool_output(self, memory_id: str) -> str | None:
        """The whole payload, where the memory shows only a part of it."""
        ...

    def get_document(self, owner: Owner, document_id: str) -> Document | None: ...

    def find_document_of(self, owner: OwnerFilter, document_id: str) -> Document | None:
        """A document of a slice."""
        ...

    def find_document(self, owner: Owner, title: str) -> Document | None: ...

    def list_documents(
        self, owner: OwnerFilter, after: Document | DocumentPosition | None, limit: int, *, whole: bool
    ) -> list[Document]:
        """Documents of a slice in the order of their ids and owners; their `content` is '' unless they are `whole`."""
        ...

    def chunks_of(self, document: Document) -> list[Memory]:
        """The active chunks of a document, in their order."""
        ...

    def list_events(self, memory_ids: Sequence[str]) -> list[Event]:
        """The audit trail of these memories, oldest first."""
        ...

    def find_idempotency(self, principal: str, route: str, key: str) -> IdempotencyRecord | None: ...

    def list_keys(self) -> list[ApiKey]: ...

    def get_policy(self) -> PolicyRevision | None:
        """The policy in force; None where none was ever set."""
        ...

    def list_policies(self, limit: int) -> list[PolicyRevision]:
        """The policy in force and those before it."""
        ...

    def get_sweep(self) -> SweepState | None:
        """How far the sweeper is; None where it never was here."""
        ...

    def has_due(self, as_of: datetime) -> bool:
        """Whether a move of the policy is due (`lifecycle.due_at`)."""
        ...

    def has_expired(self, as_of: datetime) -> bool:
        """Whether a memory is past its TTL and not deleted yet."""
        ...

    def has_retired(self, before: datetime) -> bool:
        """Whether a fact is to be anonymized that was retired by then."""
        ...

    def count_due(self, as_of: datetime, retired_before: datetime) -> list[DueCount]:
        """How many memories are due for each move."""
        ...

    def scan_aging(self, after_id: str, limit: int) -> list[tuple[Memory, datetime | None]]:
        """Memories that have deadlines, or should have, in id order, each with its `due_at` as stored.

        Only their kinds, states and times are filled in.
        """
        ...

    def last_restored(self, memory_ids: Sequence[str]) -> dict[str, datetime]:
        """When these memories were restored last, those of them that ever were."""
        ...

    def get_receipt(self, receipt_id: str) -> Receipt | None: ...

    def list_receipts(self, before_id: str | None, limit: int) -> list[Receipt]:
        """Receipts before an id, newest first."""
        ...

    def list_unfinished(self, now: datetime) -> list[Receipt]:
        """Erasures that are due by now and not done, oldest first."""
        ...

    def list_erased(self, receipt_id: str, kind: str, after_id: str, limit: int) -> list[Erased]:
        """Lines of the ledger that one erasure wrote, in the order of their ids."""
        ...

    def list_erased_of_kind(self, kind: str) -> list[Erased]: ...

    def find_erased(self, kind: str, ids: Sequence[str]) -> set[str]:
        """Which of these the ledger has."""
        ...

    def count_named(self, memory_ids: Sequence[str]) -> dict[str, int]:
        """By place, how many rows are these memories' or name one of them."""
        ...

    def count_of_user(self, user: str, until: datetime | None) -> dict[str, int]:
        """By place, how many rows written until a moment, or ever, are a user's."""
        ...

    def list_users(self) -> list[str]:
        """Every user that anything belongs to or was done by."""
        ...

    def scan_naming(self, after_id: str, limit: int) -> list[Naming]:
        """What memories say about others, in id order of those that name one."""
        ...

    def scan_naming_events(self, after_seq: int, limit: int) -> list[tuple[int, str]]:
        """Events whose payload names a memory: their number and payload, in their order."""
        ...

    def scan_naming_turns(self, after: tuple[str, int], limit: int) -> list[tuple[str, int, str]]:
        """Events of turns that name a memory, after one of them: turn, number and data, in their order."""
        ...

    def find_text(self, piece: str) -> list[str]:
        """The places where a row holds this piece of text, capital or not."""
        ...

    def read_feed(self, after: FeedPosition, limit: int) -> FeedPage:
        """The next events of the tenant. None will appear later at or before the position of the last one."""
        ...

    def feed_head(self) -> FeedPosition:
        """The position of the last event that `read_feed` would give."""
        ...

    def is_feed_foreign(self) -> bool:
        """Whether events bear numbers that this database has yet to give: it was restored from another server."""
        ...

    def find_chunks(self, query: ChunkQuery, now: datetime, page: int) -> Iterator[list[ChunkCandidate]]:
        """Pages of active, unexpired memories of a coding assistant's categories, newest first.

        Every memory is among them whose content or excerpt is not of ASCII alone, or fits `query.pattern` in any case.
        """
        ...

    def browse(
        self, walk: Walk, after: BrowsePlace | None, now: datetime, *, span: int, limit: int, texts: bool
    ) -> Stretch:
        """What may fit among the next `span` rows of a walk, at most `limit` of them.

        Every row is among them that has a text which is not of ASCII alone, or fits `walk.pattern` in any case.
        """
        ...

    def count_facets(
        self, user: str | None, after: FacetRow | None, now: datetime, limit: int, *, any_user: bool
    ) -> list[FacetRow]:
        """How many memories a user has, or everybody, of each combination: the next ones in a fixed order."""
        ...

    def next_project(self, user: str | None, after: tuple[str, str], *, any_user: bool) -> tuple[str, str] | None:
        """The user and project after a pair of them, in a fixed order; names of more than 1,000 bytes aside."""
        ...

    def get_job(self, job_id: str) -> Job | None: ...

    def has_due_jobs(self, now: datetime) -> bool: ...

    def list_jobs(
        self, owner: OwnerFilter, before_id: str | None, limit: int, *, status: JobStatus | None, kind: str | None
    ) -> list[Job]:
        """Jobs of a slice, newest first, those before an id."""
        ...

    def list_superseded(self, memory_id: str) -> list[Memory]:
        """The memories that this one took the place of."""
        ...

    def get_doubt(self, doubt_id: str) -> Doubt | None: ...

    def find_doubt(self, fact_id: str, other_id: str) -> Doubt | None: ...

    def list_doubts(self, owner: OwnerFilter, before_id: str | None, limit: int, *, status: DoubtStatus) -> list[Doubt]:
        """Doubts of a slice, newest first, those before an id; open ones as far as both facts are active."""
        ...

    def list_retired(self, owner: OwnerFilter, before: Position | None, now: datetime, limit: int) -> list[Memory]:
        """Facts of a slice that another took the place of, the last changed first, those before a place.

        The time of `before` is that of the last change. Anonymized and expired ones are left out.
        """
        ...

    def said_around(self, memory: Memory, session: str, before: int, after: int) -> tuple[list[Memory], list[Memory]]:
        """The last messages and tool outputs of a session before a memory of the same owner, and the first after it,
        each in their order, as far as they are not deleted.
        """
        ...

    def chunks_around(self, chunk: Memory, before: int, after: int) -> tuple[list[Memory], list[Memory]]:
        """The chunks of its document before and after one, likewise."""
        ...

    def latest_events(self, memory_id: str, limit: int) -> list[Event]:
        """The last events of a memory, newest first."""
        ...

    def list_recalls(self, memory_id: str, limit: int) -> list[PastRecall]:
        """What a memory was recalled for, newest first."""
        ...

    def list_purges(self, since: datetime) -> list[tuple[str, str, datetime]]:
        """The erasures of users that were asked for since a moment: salt, salted hash of the user, and when."""
        ...

    def get_turn(self, turn_id: str) -> Turn | None: ...

    def list_turns(self, owner: OwnerFilter, before_id: str | None, limit: int) -> list[Turn]:
        """Turns of a slice, newest first."""
        ...

    def list_turn_events(self, turn_id: str, after: int, limit: int) -> list[TurnEvent]: ...

    def last_turn_event(self, turn_id: str) -> int:
        """How many events a turn has."""
        ...

    def list_lost_turns(self, now: datetime, limit: int) -> list[Turn]:
        """Turns that run, and that nobody works on any more."""
        ...

    def spent_on_turns(self, month: datetime) -> float:
        """What the tenant's turns have cost in the month that began then, in dollars, also those that were erased."""
        ...

    def count_said(self, user: str | None, agent: str | None, hashes: Sequence[str]) -> dict[str, int]:
        """How many messages of an owner have a text with each of these hashes, whatever became of them."""
        ...

    def count_kinds(self, owner: OwnerFilter, now: datetime) -> list[KindCount]:
        """How many memories of each state and kind a slice has, those that `list_memories` would list."""
        ...

    def count_days(self, owner: OwnerFilter, since: datetime, days: int) -> list[int]:
        """How many memories of a slice were written on each of so many days, and are still there."""
        ...

    def count_waiting(self, owner: OwnerFilter, most: int) -> int:
        """How many memories of a slice's users wait for vectors; `most` at most."""
        ...

    def count_jobs(self, owner: OwnerFilter, most: int) -> dict[JobStatus, int]:
        """How many jobs of a slice there are of each status; `most` at most, of those that are not done together."""
        ...

    def count_open_doubts(self, owner: OwnerFilter, most: int) -> int:
        """How many doubts `list_doubts` would list of a slice; `most` at most."""
        ...

    def list_owners(self, after: Owner, limit: int, most: int) -> list[OwnerCount]:
        """Owners of memories after one of them, by user and then by agent; each count is `most` at most."""
        ...

    def list_sessions(self, now: datetime, limit: int) -> list[SignIn]:
        """Who is signed in to the dashboard, newest first."""
        ...

    def list_session_ids(self, owner: Owner, session: str, limit: int) -> list[str]:
        """The memories of a session that are exactly this owner's, whatever their state, in id order."""
        ...

    def list_chunk_ids(self, owner: Owner, document_id: str, limit: int) -> list[str]:
        """The chunks of exactly this owner's document, likewise."""
        ...

    def list_redactions(self, before: int | None, limit: int) -> list[RedactionNote]:
        """What redaction took out of memories that are there, newest first, before the number of an event."""
        ...

    def list_learned(self, source_ref: str, limit: int) -> list[Memory]:
        """Facts of every status that name a source, oldest first."""
        ...

    def list_said(self, owner: Owner, session: str, since: datetime, until: datetime, limit: int) -> list[Memory]:
        """Messages of exactly that owner's session that were stored between two moments, in their order."""
        ...


class Writer(Reader, Protocol):
    """A transaction of one tenant: all of it happens, or none."""

    def insert_memory(self, memory: Memory) -> bool:
        """False, and nothing written, where its id, its name or its text already exists for that owner."""
        ...

    def hold_memories(self, memory_ids: Sequence[str]) -> set[str]:
        """Which of these exist: they are not erased before this transaction ends."""
        ...

    def insert_memories(self, memories: Sequence[Memory]) -> bool:
        """Write memories of which none can exist already. False where one does: then the transaction must not go on."""
        ...

    def replace_memory(self, memory: Memory, expected_updated_at: datetime) -> bool:
        """Compare-and-set on `updated_at`. False where the row changed meanwhile or is gone.

        Raises Conflict where the new name or text belongs to another active memory of the owner.
        """
        ...

    def add_accesses(self, accesses: Mapping[str, tuple[int, datetime]]) -> None:
        """Add to the count, and move forward the time, of reads of each memory."""
        ...

    def insert_recalls(self, recalls: Iterable[PastRecall]) -> None:
        """Note what memories were recalled for, as far as they exist; in a transaction that added to their accesses."""
        ...

    def trim_recalls(self, memory_ids: Collection[str], keep: int) -> None:
        """Keep the newest few of each memory, at least one."""
        ...

    def erase_recalls(self, owner: OwnerFilter) -> int:
        """Remove what a slice of users and agents asked."""
        ...

    def append_events(self, events: Iterable[Event]) -> None: ...

    def restart_feed(self) -> int:
        """Number a foreign feed's events anew, in their order; positions from before are then ahead of the head."""
        ...

    def erase_memories(self, memory_ids: Sequence[str]) -> int:
        """Remove rows for good, with their events, their place in the index and their payloads.

        Returns how many rows went.
        """
        ...

    def claim_waiting(self, now: datetime, until: datetime, limit: int) -> list[str]:
        """Ids of memories that wait for vectors, nobody else's until then."""
        ...

    def release_claims(self, until: datetime | None = None) -> None:
        """Let anybody take what was claimed until a moment or, without one, whatever was claimed by whomever."""
        ...

    def save_vectors(self, embedded: Iterable[Embedded]) -> int:
        """Returns how many were kept: a text that changed meanwhile waits again."""
        ...

    def unindex(self, model: str, limit: int) -> int:
        """Let some rows that have vectors of another model wait for new ones. Returns how many."""
        ...

    def adopt_rows(self, limit: int) -> int:
        """Put some memories into the index that were written before there was one. Returns how many."""
        ...

    def insert_tool_output(self, memory_id: str, content: str) -> None: ...

    def put_document(self, document: Document) -> None:
        """Write a document, over the one of its id and owner."""
        ...

    def erase_document(self, document: Document) -> None:
        """Remove the document itself; its chunks are memories."""
        ...

    def erase_documents(self, owner: OwnerFilter) -> int: ...

    def insert_idempotency(self, record: IdempotencyRecord) -> bool:
        """False where the key is taken."""
        ...

    def drop_expired_idempotency(self, now: datetime) -> int: ...

    def erase_idempotency(self, user: str | None) -> int:
        """Forget every stored answer of a user, or with None of the tenant, since answers quote memories.

        Answers to those who act for nobody go as well: they may quote anybody.
        """
        ...

    def insert_policy(self, revision: PolicyRevision) -> bool:
        """False where that revision exists."""
        ...

    def put_sweep(self, state: SweepState) -> None: ...

    def claim_due(self, as_of: datetime, limit: int) -> list[Memory]:
        """Memories for which a move of the policy is due, the most overdue first; until the end of this transaction
        nobody else gets them.
        """
        ...

    def claim_expired(self, as_of: datetime, limit: int) -> list[Memory]:
        """Active and archived memories past their TTL, likewise."""
        ...

    def claim_retired(self, before: datetime, limit: int) -> list[Memory]:
        """Facts that are to be anonymized, likewise."""
        ...

    def move_memory(self, memory: Memory, expected_updated_at: datetime) -> bool:
        """Write the state and the deadlines of a memory, and nothing else of it. Compare-and-set on `updated_at`.

        False where the row changed meanwhile or is gone. Not for a move to active, which may clash with another row.
        """
        ...

    def set_deadlines(self, memory: Memory, expected_updated_at: datetime) -> bool:
        """Write the deadlines of a memory, and nothing else of it; likewise."""
        ...

    def clear_traces(self, memory: Memory, events: Iterable[Event]) -> None:
        """Remove what the index, payloads, recalls, doubts and these events still hold of a text it had."""
        ...

    def insert_key(self, key: ApiKey) -> None: ...

    def revoke_key(self, key_id: str, at: datetime) -> bool: ...

    def touch_keys(self, uses: Mapping[str, datetime]) -> None: ...

    def insert_sign_in(self, token_hash: str, sign_in: SignIn) -> None: ...

    def delete_sign_in(self, token_hash: str) -> bool:
        """False where it was not there: of two that use a link, one may."""
        ...

    def drop_expired_sign_ins(self, now: datetime) -> int: ...

    def insert_job(self, job: Job) -> Job:
        """The job, or the one that was added before under its kind and key."""
        ...

    def claim_jobs(self, now: datetime, until: datetime, limit: int) -> list[Job]:
        """Jobs that are due, as their next attempt has them; nobody else's until then."""
        ...

    def finish_job(self, job: Job) -> bool:
        """Note how the attempt that `job` was ended. False where the job was given to another one meanwhile."""
        ...

    def retry_job(self, job_id: str, now: datetime) -> bool:
        """Make a job due now. False where it is done or gone."""
        ...

    def drop_job(self, job_id: str) -> bool: ...

    def drop_done_jobs(self, before: datetime) -> int: ...

    def erase_jobs(self, owner: OwnerFilter) -> int: ...

    def insert_doubt(self, doubt: Doubt) -> bool:
        """False where the two facts are linked already."""
        ...

    def settle_doubt(self, doubt_id: str, expected: DoubtStatus, status: DoubtStatus, now: datetime) -> bool:
        """Compare-and-set on the status. False where somebody else decided meanwhile."""
        ...

    def insert_receipt(self, receipt: Receipt) -> bool:
        """False where there is one of that id."""
        ...

    def lock_receipt(self, receipt_id: str) -> Receipt | None:
        """A receipt that nobody else changes until this transaction ends."""
        ...

    def save_receipt(self, receipt: Receipt) -> None: ...

    def insert_erased(self, entries: Iterable[Erased]) -> None:
        """Write lines of the ledger; those that are there stay as they are."""
        ...

    def erase_rows(self, memory_ids: Sequence[str]) -> dict[str, int]:
        """Remove memories for good, and whatever belongs to them or quotes them. Returns how many rows by place."""
        ...

    def erase_owned(self, owner: OwnerFilter) -> dict[str, int]:
        """Remove what belongs to a slice of owners beside their memories. Returns how many rows by place."""
        ...

    def erase_leftovers(self) -> dict[str, int]:
        """Remove whatever the tenant still has beside its memories, keys too, but not its receipts."""
        ...

    def erase_keys(self, user: str) -> int:
        """Remove the API keys bound to a user."""
        ...

    def forget_actor(self, user: str) -> int:
        """Leave a user's name out of the history of what is somebody else's."""
        ...

    def revoke_all_keys(self, at: datetime) -> int: ...

    def empty_turn_event(self, turn_id: str, seq: int) -> None: ...

    def rewrite_event(self, seq: int, payload: str) -> None: ...

    def insert_turn(self, turn: Turn) -> None: ...

    def append_turn_event(self, turn_id: str, event: TurnEvent) -> None: ...

    def hold_turn(self, turn_id: str, runner: str, until: datetime) -> bool:
        """Go on working on a turn. False where it is over, or another has taken it."""
        ...

    def attend_turn(self, turn_id: str, until: datetime) -> None:
        """Say that somebody listens to a turn."""
        ...

    def take_turn(self, turn_id: str, runner: str, now: datetime, until: datetime) -> bool:
        """Take over a turn that nobody works on. False where somebody does."""
        ...

    def finish_turn(self, turn: Turn) -> bool:
        """Note how a turn ended. False where it is over, or another has taken it."""
        ...

    def add_spending(self, month: datetime, cost_usd: float) -> None:
        """Count what calls have cost, in the month that began then."""
        ...


class Store(Protocol):
    """Durable memory. A write is on disk when `write` returns."""

    instant_reads: bool
    """Whether a read by key never waits, for a network or for a lock."""

    def read(self, tenant: str, work: Callable[[Reader], T], *, snapshot: bool = True) -> T:
        """Run `work` on one consistent view. Without `snapshot` each of its statements has a view of its own."""
        ...

    def write(self, tenant: str, work: Callable[[Writer], T]) -> T:
        """Run `work` in one transaction. It may run more than once, so it must have no effect outside."""
        ...

    def on_write(self, tell: Callable[[str], None]) -> None:
        """Have `tell` called with the tenant after each write of this process that is durable. It must not block."""
        ...

    def create_tenant(self, tenant: Tenant) -> bool:
        """False where it exists."""
        ...

    def list_tenants(self) -> list[Tenant]: ...

    def index_model(self, tenant: str) -> str | None:
        """The model that a tenant's vectors are made with, '' before the first; None where there is no such tenant."""
        ...

    def set_index_model(self, tenant: str, model: str) -> None: ...

    def find_key(self, secret_hash: str) -> ApiKey | None:
        """The key with that hash, revoked or not: looked up before the tenant is known."""
        ...

    def has_keys(self) -> bool: ...

    def find_sign_in(self, token_hash: str) -> SignIn | None:
        """A link or session of any tenant, over or not, whose key still exists."""
        ...

    def ping(self) -> None:
        """Raises StoreError where the database cannot answer."""
        ...

    def check(self, *, thorough: bool = True) -> Mapping[str, str]:
        """Findings by name: `ok`, or what is wrong."""
        ...

    def checkpoint(self, *, erased: bool = False) -> None:
        """Move erased bytes out of the database's logs and, after an erasure, out of its files."""
        ...

    def scrub(self, tenant: str, *, rewrite: bool = True) -> tuple[str, ...]:
        """After an erasure: get what was erased out of the database's files, as far as that can be done from here.

        Without `rewrite` only what costs little: most often that is enough, but only a look at the files tells.
        Returns what may still hold copies. Raises StoreError where it could not be done now.
        """
        ...

    def search_files(self, pieces: Collection[bytes]) -> frozenset[bytes] | None:
        """Which of these pieces, of 8 bytes or more, the files of the database hold; None where they are a server's."""
        ...

    def own_words(self) -> bytes:
        """What the files of the database hold whatever is stored: the definitions of tables, and the like."""
        ...

    def describe(self) -> Mapping[str, str | int]:
        """What database it is: `engine`, `version`, `place` and `size_bytes`. Raises StoreError."""
        ...

    def backup(self, path: Path) -> None:
        """Write a consistent copy to a file while the database is in use. Raises StoreError where it cannot."""
        ...

    def close(self) -> None: ...
