"""What a store keeps of memories and their rules."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from memorist.memories.policy import ComingMove, ComingSpan, DueCount, Move, PolicyRevision, SweepState
from memorist.memories.values import Governor, Memory, Query, Row, State
from memorist.platform.values import Event, OwnerFilter


class MemoryReads(Protocol):
    """The rows."""

    def get(self, memory_id: str) -> Memory | None: ...

    def get_many(self, memory_ids: Sequence[str]) -> list[Memory]:
        """Those of the ids that exist, in no particular order."""
        ...

    def page(self, query: Query, now: datetime) -> list[Memory]:
        """At most `query.limit` rows after `query.after`, in `query.order`; past-expiry rows are left out."""
        ...

    def find_named(self, user: str | None, agent: str | None, name: str) -> Memory | None:
        """The active memory of that name and exactly that owner."""
        ...

    def count_named(self, owners: Sequence[OwnerFilter], category: str | None, now: datetime) -> int:
        """How many current memories with a name these slices have, of a category or of any."""
        ...

    def find_duplicate(self, user: str | None, agent: str | None, dedup_key: str) -> Memory | None:
        """The active memory with that key and exactly that owner."""
        ...

    def scan(self, owner: OwnerFilter, after_id: str, limit: int) -> list[Memory]:
        """Rows of every status in id order, for export and erasure."""
        ...


class MemoryWrites(MemoryReads, Protocol):
    """The same in a transaction that writes. `writing` says what a row is."""

    def insert(self, row: Row) -> bool:
        """False, and nothing written, where its id, its name or its text already exists for that owner."""
        ...

    def insert_many(self, rows: Sequence[Row]) -> bool:
        """Write memories of which none can exist already. False where one does: then the transaction must not go on."""
        ...

    def hold(self, memory_ids: Sequence[str], *, wait: bool = True) -> set[str]:
        """Which of these exist: they are not erased before this transaction ends. Those that another one erases right
        now are waited for, unless it shall not `wait`: then they are not told.
        """
        ...

    def replace(self, row: Row, expected_updated_at: datetime) -> bool:
        """Compare-and-set on `updated_at`. False where the row changed meanwhile or is gone.

        Raises Conflict where the new name or text belongs to another active memory of the owner.
        """
        ...

    def add_accesses(self, accesses: Mapping[str, tuple[int, datetime]]) -> dict[str, int]:
        """Add to the count, and move forward the time, of reads of each memory. Returns how often each was read."""
        ...


class PolicyReads(Protocol):
    """A tenant's retention rules."""

    def get(self) -> PolicyRevision | None:
        """The policy in force; None where none was ever set."""
        ...

    def history(self, limit: int) -> list[PolicyRevision]:
        """The policy in force and those before it."""
        ...

    def observed_from(self) -> datetime | None:
        """When the tenant's observation window began; None where there is no such tenant."""
        ...


class PolicyWrites(PolicyReads, Protocol):
    """The same in a transaction that writes."""

    def insert(self, revision: PolicyRevision) -> bool:
        """False where that revision exists."""
        ...


class AgingReads(Protocol):
    """What time brings to memories."""

    def get_sweep(self) -> SweepState | None:
        """How far the sweeper is; None where it never was here."""
        ...

    def has_due(self, as_of: datetime, governed_by: Governor | None = None) -> bool:
        """Whether a move of the policy is due, of any memory or of those that one door governs."""
        ...

    def has_expired(self, as_of: datetime) -> bool:
        """Whether a memory is past its TTL and not deleted yet."""
        ...

    def has_retired(self, before: datetime) -> bool:
        """Whether a fact is to be anonymized that was retired by then."""
        ...

    def retired(self, before: datetime) -> list[str]:
        """The ids of all these."""
        ...

    def count_due(self, as_of: datetime, retired_before: datetime) -> list[DueCount]:
        """How many memories are due for each move."""
        ...

    def count_coming(self, span: ComingSpan, most: int) -> dict[Move, int]:
        """How many memories each move comes to in a span, by their next deadline; `most` at most by way of a TTL, of
        the policy, and of being replaced.
        """
        ...

    def list_coming(self, span: ComingSpan, limit: int) -> list[ComingMove]:
        """The first of these, by time and id."""
        ...

    def scan(self, after_id: str, limit: int) -> list[tuple[Memory, datetime | None]]:
        """Memories that have deadlines, or should have, in id order, each with its `due_at` as stored.

        Only their kinds, states and times are filled in.
        """
        ...

    def last_restored(self, memory_ids: Sequence[str]) -> dict[str, datetime]:
        """When these memories were restored last, those of them that ever were."""
        ...


class AgingWrites(AgingReads, Protocol):
    """The same in a transaction that writes."""

    def hold_sweep(self) -> SweepState | None:
        """As `get_sweep`; nobody else changes it before the transaction ends."""
        ...

    def put_sweep(self, state: SweepState) -> None: ...

    def claim_due(self, as_of: datetime, limit: int, governed_by: Governor | None = None) -> list[Memory]:
        """Memories, of all doors or of one, for which a move of the policy is due, the most overdue first; until this
        transaction ends nobody else gets them.
        """
        ...

    def claim_expired(self, as_of: datetime, limit: int) -> list[Memory]:
        """Active and archived memories past their TTL, likewise."""
        ...

    def claim_retired(self, before: datetime, limit: int) -> list[Memory]:
        """Facts that are to be anonymized, likewise."""
        ...

    def move(self, memory: Memory, state: State, expected_updated_at: datetime) -> bool:
        """Write the state and the deadlines of a memory, and nothing else of it. Compare-and-set on `updated_at`.

        False where the row changed meanwhile or is gone. Not for a move to active, which may clash with another row.
        """
        ...

    def set_deadlines(self, memory: Memory, due_at: datetime | None, expected_updated_at: datetime) -> bool:
        """Write the deadlines of a memory, and nothing else of it; likewise."""
        ...

    def entomb(self, events: Iterable[Event]) -> None:
        """Keep events as those of what they name now, with their payloads as they are given and without an actor."""
        ...

    def clear_traces(self, memory: Memory, terms: bytes, events: Iterable[Event]) -> None:
        """Leave these terms and no vectors of it in the index, no payload, recall or doubt, and of these events their
        payloads as they are given, without an actor.
        """
        ...
