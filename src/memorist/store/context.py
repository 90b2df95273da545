"""What agents are given: a companion's entries, and the candidates of a coding assistant's search."""

from collections.abc import Iterator
from datetime import datetime

from memorist.context.values import MAX_ENTRY, ChunkCandidate, ChunkQuery
from memorist.memories.values import Memory, Position
from memorist.platform.values import SEALED_TEXT, OwnerFilter
from memorist.store.rows import memory_from_row, slice_parameters
from memorist.store.tenant_statements import TenantStatements
from memorist.times import to_micros

_BEFORE_ALL = (2**62, "~")

# After every row in the order of the list: later than any time.
_FIRST = {"after_time": 2**62, "after_id": "~"}


class ContextStatements(TenantStatements):
    """What one tenant's agents are given, inside a transaction."""

    __slots__ = ()

    def find_chunks(self, query: ChunkQuery, now: datetime, page: int) -> Iterator[list[ChunkCandidate]]:
        position = _BEFORE_ALL
        owner = query.owner
        while True:
            rows = self._rows(
                "find_chunks_of_tenant" if owner.any_user else "find_chunks_of_user",
                **slice_parameters(owner),
                now=to_micros(now),
                category=query.category,
                # A project has no line break: between two of them it is found whole.
                projects=None if query.projects is None else "\n" + "".join(f"{one}\n" for one in query.projects),
                min_relevance=query.min_relevance,
                pattern=query.pattern,
                after_time=position[0],
                after_id=position[1],
                limit=page,
            )
            if rows:
                yield [ChunkCandidate(*row) for row in rows]
            if len(rows) < page:
                return
            position = (rows[-1][0], rows[-1][1])

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
        position = _FIRST if after is None else {"after_time": to_micros(after.created_at), "after_id": after.id}
        found: list[Memory] = []
        while True:
            rows = self._rows(
                "list_category_of_user",
                **slice_parameters(owner),
                category=category,
                longest=MAX_ENTRY,
                sealed=SEALED_TEXT,
                now=to_micros(now),
                since=-1 if since is None else to_micros(since),
                limit=limit,
                **position,
            )
            page = [memory_from_row(row) for row in rows]
            # How long an encrypted text is shows only here.
            found += [memory for memory in page if len(memory.content) <= MAX_ENTRY]
            if len(rows) < limit or len(found) >= limit:
                return found[:limit]
            position = {"after_time": to_micros(page[-1].created_at), "after_id": page[-1].id}
