"""What a store keeps for recall."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Protocol

from memorist.memories.values import AskedCount, Memory, PastRecall, Row
from memorist.platform.values import OwnerFilter
from memorist.recall.values import Embedded, IndexCounts, IndexMark, IndexPage, IndexPosition, IndexRow, Unembedded


class IndexReads(Protocol):
    """What is searched."""

    def turn_before(self, memory: Memory) -> Memory | None:
        """The message before this one in its session."""
        ...

    def load(self, user: str | None, after_id: str, limit: int) -> list[IndexRow]:
        """What is searched of a user's memories, or of those of no user, in id order."""
        ...

    def follow(self, positions: Sequence[IndexPosition], limit: int) -> list[IndexPage]:
        """For each position up to `limit` rows whose change and id come after it, in that order; all of one moment."""
        ...

    def watermark(self, user: str | None) -> int:
        """Whatever is seen later has a greater change than this, and nothing else is seen later."""
        ...

    def marks(self, user: str | None, memory_ids: Sequence[str]) -> list[IndexMark]:
        """The states of those of these memories that are the user's."""
        ...

    def newest(self, user: str | None, until: int, limit: int) -> list[IndexMark]:
        """The states of those that changed last, up to a change."""
        ...

    def size(self, user: str | None) -> int:
        """How many rows a user has."""
        ...

    def largest(self) -> int:
        """How many rows the user has who has most."""
        ...

    def users(self, limit: int) -> list[str | None]:
        """Users that have memories, None standing for those of no user."""
        ...

    def newest_users(self, limit: int) -> list[str | None]:
        """Whose memories are the newest, as far as a bounded number of them tells, the newest first."""
        ...

    def entries(self, users: Sequence[str | None]) -> dict[str | None, list[str]]:
        """The ids of some users' memories that only the user reads, by user."""
        ...

    def tokens(self, memory_ids: Sequence[str], model: str) -> dict[str, bytes]:
        """What a model made of the tokens of these memories, by id: of those where it made anything of them."""
        ...

    def count(self, model: str, same: Sequence[str] = ()) -> IndexCounts:
        """How far the index is for a model; the vectors of the `same` ones are as good as its own."""
        ...

    def has_any_of(self, models: Sequence[str]) -> bool:
        """Whether rows have vectors of these models."""
        ...

    def has_waiting(self) -> bool:
        """Whether rows wait for vectors."""
        ...

    def latest_claim(self) -> datetime | None:
        """Until when rows that wait for vectors are claimed, the last of them; None where none ever was."""
        ...

    def waiting(self, now: datetime, limit: int, *, longest: int | None = None) -> list[Unembedded]:
        """Rows that wait for vectors and that nobody has claimed, the newest first; with `longest`, only those whose
        texts have at most so many bytes.
        """
        ...


class IndexWrites(IndexReads, Protocol):
    """The same in a transaction that writes."""

    def claim_waiting(
        self, rows: Sequence[tuple[str, str]], now: datetime, until: datetime, held: datetime | None = None
    ) -> list[str]:
        """Claim rows, named by user ('' for nobody) and id, as far as they wait for vectors and nobody else has claimed
        them; with `held`, also those that were claimed until that moment. Returns the ids of those that are nobody
        else's until then.
        """
        ...

    def release_claims(self, until: datetime | None = None, *, longest: int | None = None) -> None:
        """Let anybody take what was claimed until a moment or, without one, whatever was claimed by whomever; with
        `longest`, only texts of at most so many bytes.
        """
        ...

    def claim_of(
        self, models: Sequence[str], after: tuple[str, str], now: datetime, until: datetime, limit: int
    ) -> list[tuple[str, str]]:
        """Users ('' for nobody) and ids of rows with vectors of these models, in the store's order after one of them,
        nobody else's until then.
        """
        ...

    def give_back(self, claimed: Sequence[tuple[str, str]]) -> None:
        """Let anybody take these."""
        ...

    def save_vectors(self, embedded: Iterable[Embedded]) -> int:
        """Returns how many were kept: a text that changed meanwhile waits again."""
        ...

    def renew(self, embedded: Iterable[Embedded], models: Sequence[str]) -> int:
        """Keep the vectors that one of `models` made, as those of the model that is named now, with the tokens that it
        made: nothing that was read changes. Returns how many, without those whose text changed meanwhile.
        """
        ...

    def unindex(self, model: str, limit: int, same: Sequence[str] = ()) -> int:
        """Let some rows wait for new vectors, which have those of another model than this and the `same`. Returns how
        many.
        """
        ...

    def unindexed(self, limit: int) -> list[Memory]:
        """Memories that are in no index, since they were written before there was one."""
        ...

    def insert(self, rows: Iterable[Row]) -> None:
        """Put memories into the index, as far as they are not there."""
        ...


class PastRecallReads(Protocol):
    """What memories were recalled for."""

    def of(self, memory_id: str, limit: int) -> list[PastRecall]:
        """What a memory was recalled for, newest first."""
        ...

    def asked(self, owner: OwnerFilter, limit: int, most: int) -> list[PastRecall]:
        """What a slice asked last, newest first: of each answer its first memory, among `most` recalls of the newest
        memories.
        """
        ...

    def back(self, owner: OwnerFilter, before: tuple[datetime, str], since: datetime, limit: int) -> list[PastRecall]:
        """What a slice's user, or everybody, was told before a moment and an id, and not before another moment: the
        newest first, those of one answer in any order.
        """
        ...

    def count_asked(self, owner: OwnerFilter, since: datetime, most: int) -> list[AskedCount]:
        """How often each agent of a slice asked on each day since then, among as many."""
        ...


class PastRecallWrites(PastRecallReads, Protocol):
    """The same in a transaction that writes."""

    def insert(self, recalls: Iterable[PastRecall]) -> None:
        """Note what memories were recalled for, as far as they exist; in a transaction that added to their accesses."""
        ...

    def trim(self, memory_ids: Collection[str], keep: int) -> None:
        """Keep the newest few of each memory, at least one."""
        ...
