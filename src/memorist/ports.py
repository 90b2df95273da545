"""What the core needs of the world, as Protocols. Stores, models and clocks implement them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, TypeVar

from memorist.model import (
    ApiKey,
    Document,
    DocumentPosition,
    Embedded,
    Event,
    IdempotencyRecord,
    IndexCounts,
    IndexRow,
    Memory,
    Owner,
    OwnerFilter,
    Query,
    Tenant,
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

    def scan_memories(self, owner: OwnerFilter, after_id: str, limit: int) -> list[Memory]:
        """Rows of every status in id order, for export and erasure."""
        ...

    def turn_before(self, memory: Memory) -> Memory | None:
        """The message before this one in its session."""
        ...

    def load_index(self, user: str | None, after_id: str, limit: int) -> list[IndexRow]:
        """What is searched of a user's memories, or of those of no user, in id order."""
        ...

    def refresh_index(self, user: str | None, since: int, after_id: str, limit: int) -> list[IndexRow]:
        """Rows whose change and id come after these, in that order."""
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


class Writer(Reader, Protocol):
    """A transaction of one tenant: all of it happens, or none."""

    def insert_memory(self, memory: Memory) -> bool:
        """False, and nothing written, where its id, its name or its text already exists for that owner."""
        ...

    def replace_memory(self, memory: Memory, expected_updated_at: datetime) -> bool:
        """Compare-and-set on `updated_at`. False where the row changed meanwhile or is gone.

        Raises Conflict where the new name or text belongs to another active memory of the owner.
        """
        ...

    def add_accesses(self, accesses: Mapping[str, tuple[int, datetime]]) -> None:
        """Add to the count, and move forward the time, of reads of each memory."""
        ...

    def append_events(self, events: Iterable[Event]) -> None: ...

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

    def insert_key(self, key: ApiKey) -> None: ...

    def revoke_key(self, key_id: str, at: datetime) -> bool: ...

    def touch_keys(self, uses: Mapping[str, datetime]) -> None: ...


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

    def ping(self) -> None:
        """Raises StoreError where the database cannot answer."""
        ...

    def check(self, *, thorough: bool = True) -> Mapping[str, str]:
        """Findings by name: `ok`, or what is wrong."""
        ...

    def checkpoint(self, *, erased: bool = False) -> None:
        """Move erased bytes out of the database's logs and, after an erasure, out of its files."""
        ...

    def close(self) -> None: ...
