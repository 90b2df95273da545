"""What a store finds for agents, and who writes down what they state."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Protocol

from memorist.context.values import ChunkCandidate, ChunkQuery
from memorist.memories.values import Draft, Memory, Position, Remembered
from memorist.platform.values import OwnerFilter, Principal


class Remember(Protocol):
    """Stores what somebody stated (`Memories.remember`)."""

    def __call__(
        self, principal: Principal, drafts: Sequence[Draft], *, idempotency_key: str | None = None
    ) -> list[Remembered]: ...


class ContextReads(Protocol):
    """What agents are given."""

    def find_chunks(self, query: ChunkQuery, now: datetime, page: int) -> Iterator[list[ChunkCandidate]]:
        """Pages of active, unexpired memories of a coding assistant's categories, newest first.

        Every memory is among them whose content or excerpt is not of ASCII alone, or fits `query.pattern` in any case.
        """
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
        """Current facts of a user in one category that are no longer than MAX_ENTRY, newest first: after a position in
        that order, newer than `since`.
        """
        ...
