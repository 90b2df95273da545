"""What a store keeps of facts, and who judges them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from memorist.facts.values import Doubt, DoubtStatus, Verdict
from memorist.memories.values import Memory, Position
from memorist.platform.values import Owner, OwnerFilter


class Judge(Protocol):
    """Says how facts of one owner stand to each other. Raises MemoristError where it cannot say."""

    is_local: bool
    """Whether it answers in milliseconds, so that a write may wait for it."""

    @property
    def name(self) -> str:
        """Names the judge in the history."""
        ...

    def judge(self, pairs: Sequence[tuple[Memory, Memory]]) -> list[Verdict]:
        """A verdict for each pair, in their order. The first of a pair is the later one, by when it was true."""
        ...


class FactReads(Protocol):
    """Chains of facts, and doubts between them."""

    def superseded(self, memory_id: str) -> list[Memory]:
        """The memories that this one replaced."""
        ...

    def retired(self, owner: OwnerFilter, before: Position | None, now: datetime, limit: int) -> list[Memory]:
        """Facts of a slice that another replaced, the last changed first, those before a position.

        The time of `before` is that of the last change. Anonymized and expired ones are left out.
        """
        ...

    def get_doubt(self, doubt_id: str) -> Doubt | None: ...

    def find_doubt(self, fact_id: str, other_id: str) -> Doubt | None: ...

    def doubts(
        self, owner: OwnerFilter, before_id: str | None, limit: int, now: datetime, *, status: DoubtStatus
    ) -> list[Doubt]:
        """Doubts of a slice, newest first, those before an id; open ones as far as both facts are current."""
        ...

    def count_open_doubts(self, owner: OwnerFilter, most: int, now: datetime) -> list[tuple[Owner, Owner, int]]:
        """How many doubts `list_doubts` would list of a slice, by whose the two facts are; `most` at most in all."""
        ...


class FactWrites(FactReads, Protocol):
    """The same in a transaction that writes."""

    def insert_doubt(self, doubt: Doubt) -> bool:
        """False where the two facts are linked already."""
        ...

    def settle_doubt(self, doubt_id: str, expected: DoubtStatus, status: DoubtStatus, now: datetime) -> bool:
        """Compare-and-set on the status. False where somebody else decided meanwhile."""
        ...

    def remove_doubt(self, doubt_id: str) -> bool:
        """False where it is not open, or was touched since it was made."""
        ...
