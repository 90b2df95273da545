"""What the core needs of the world, as Protocols. Stores, models and clocks implement them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Protocol, TypeVar

from memorist.model import (
    ApiKey,
    Event,
    IdempotencyRecord,
    Memory,
    OwnerFilter,
    Query,
    Tenant,
)

T = TypeVar("T")


class Clock(Protocol):
    def now(self) -> datetime: ...


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
        """Remove rows, their text entries and their events for good. Returns how many rows went."""
        ...

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

    def checkpoint(self) -> None:
        """Move erased bytes out of the database's logs, where that is ours to do."""
        ...

    def close(self) -> None: ...
