"""What a store does for erasure."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, Protocol

from memorist.erasure.values import Erased, Naming, Receipt
from memorist.platform.values import OwnerFilter


class ReceiptReads(Protocol):
    """Proofs of erasures."""

    def get(self, receipt_id: str) -> Receipt | None: ...

    def page(self, before_id: str | None, limit: int) -> list[Receipt]:
        """Receipts before an id, newest first."""
        ...

    def unfinished(self, now: datetime) -> list[Receipt]:
        """Erasures that are due by now and not done, oldest first."""
        ...


class ReceiptWrites(ReceiptReads, Protocol):
    """The same in a transaction that writes."""

    def insert(self, receipt: Receipt) -> bool:
        """False where there is one of that id."""
        ...

    def lock(self, receipt_id: str) -> Receipt | None:
        """A receipt that nobody else changes until this transaction ends."""
        ...

    def save(self, receipt: Receipt) -> None: ...


class LedgerReads(Protocol):
    """What was erased, without a word of it."""

    def of_receipt(self, receipt_id: str, kind: str, after_id: str, limit: int) -> list[Erased]:
        """Lines of the ledger that one erasure wrote, in the order of their ids."""
        ...

    def of_kind(self, kind: str) -> list[Erased]: ...

    def find(self, kind: str, ids: Sequence[str]) -> list[Erased]:
        """The lines of the ledger for these, in the order of their ids."""
        ...

    def purges_since(self, since: datetime) -> list[tuple[str, str, datetime]]:
        """Erasures and resets of users, asked for since a moment: salt, salted hash of the user, and when."""
        ...


class LedgerWrites(LedgerReads, Protocol):
    """The same in a transaction that writes."""

    def insert(self, entries: Iterable[Erased]) -> None:
        """Write lines of the ledger; those that are there stay as they are."""
        ...

    def drop(self, receipt_id: str) -> None:
        """Remove the lines that one erasure wrote."""
        ...


class ErasureReads(Protocol):
    """Removing, and looking for what should be gone."""

    def count_named(self, memory_ids: Sequence[str]) -> dict[str, int]:
        """By table, how many rows are these memories' or name one of them."""
        ...

    def count_of_user(self, user: str, until: datetime) -> dict[str, int]:
        """By table, how many rows written until a moment are a user's."""
        ...

    def count_all_of_user(self, user: str) -> dict[str, int]:
        """The same, whenever they were written, without the history: that takes longest to count."""
        ...

    def count_history_of_user(self, user: str) -> int:
        """How many events are of a user's memories, or were done by the user."""
        ...

    def count_memories(self, most: int) -> int:
        """How many memories the tenant has; `most` where there are more."""
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
        """The tables where a row holds this piece of text, capital or not."""
        ...

    def texts_of(self, owner: OwnerFilter, limit: int) -> list[str]:
        """Some of what a slice of owners has beside memories and documents: turns, jobs, doubts and questions."""
        ...


class ErasureWrites(ErasureReads, Protocol):
    """The same in a transaction that writes."""

    def erase_rows(self, memory_ids: Sequence[str]) -> dict[str, int]:
        """Remove memories for good, and whatever belongs to them or quotes them. Returns how many rows by table."""
        ...

    def erase_owned(self, owner: OwnerFilter) -> dict[str, int]:
        """Remove what belongs to a slice of owners beside their memories. Returns how many rows by table."""
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

    def empty_turn(self, turn_id: str, naming: Sequence[int]) -> dict[str, int]:
        """Take from a turn its answer, and what its events hold: those with these numbers, and all that may have words.
        Returns how many rows by table.
        """
        ...

    def rewrite_event(self, seq: int, cut: Callable[[Any], Any]) -> None:
        """Put another payload into an event: what is made of the one that it has by then, which nobody else changes
        before this transaction ends.
        """
        ...
