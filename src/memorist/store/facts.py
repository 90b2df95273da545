"""Chains of facts and doubts between them, as rows."""

from datetime import datetime
from typing import Any

from memorist.facts.values import Doubt, DoubtStatus
from memorist.memories.values import Memory, Position
from memorist.platform.values import Owner, OwnerFilter
from memorist.store.rows import LATEST, NEWEST_ID, memory_from_row, owner_of, slice_parameters
from memorist.store.tenant_statements import TenantStatements
from memorist.times import from_micros, to_micros


class FactStatements(TenantStatements):
    """What keeps one tenant's facts true, inside a transaction."""

    __slots__ = ()

    def superseded(self, memory_id: str) -> list[Memory]:
        return [memory_from_row(row) for row in self._rows("list_superseded", id=memory_id)]

    def retired(self, owner: OwnerFilter, before: Position | None, now: datetime, limit: int) -> list[Memory]:
        rows = self._rows(
            "list_retired",
            before_time=LATEST if before is None else to_micros(before.created_at),
            before_id=NEWEST_ID if before is None else before.id,
            now=to_micros(now),
            limit=limit,
            **slice_parameters(owner),
        )
        return [memory_from_row(row) for row in rows]

    def get_doubt(self, doubt_id: str) -> Doubt | None:
        rows = self._rows("get_doubt", id=doubt_id)
        return _doubt(rows[0]) if rows else None

    def find_doubt(self, fact_id: str, other_id: str) -> Doubt | None:
        rows = self._rows("find_doubt", fact_id=fact_id, other_id=other_id)
        return _doubt(rows[0]) if rows else None

    def doubts(
        self, owner: OwnerFilter, before_id: str | None, limit: int, now: datetime, *, status: DoubtStatus
    ) -> list[Doubt]:
        rows = self._rows(
            "list_doubts",
            before_id=before_id or NEWEST_ID,
            limit=limit,
            now=to_micros(now),
            status=status,
            **slice_parameters(owner),
        )
        return [_doubt(row) for row in rows]

    def count_open_doubts(self, owner: OwnerFilter, most: int, now: datetime) -> list[tuple[Owner, Owner, int]]:
        rows = self._rows("count_open_doubts", most=most, now=to_micros(now), **slice_parameters(owner))
        return [(owner_of(*row[:2]), owner_of(*row[2:4]), int(row[4])) for row in rows]

    def insert_doubt(self, doubt: Doubt) -> bool:
        inserted = self._run(
            "insert_doubt",
            id=doubt.id,
            user_id=doubt.owner.user or "",
            agent_id=doubt.owner.agent or "",
            fact_id=doubt.fact_id,
            other_id=doubt.other_id,
            reason=doubt.reason,
            judge=doubt.judge,
            status=doubt.status,
            created_at=to_micros(doubt.created_at),
            updated_at=to_micros(doubt.updated_at),
        )
        return inserted == 1

    def settle_doubt(self, doubt_id: str, expected: DoubtStatus, status: DoubtStatus, now: datetime) -> bool:
        return self._run("settle_doubt", id=doubt_id, expected=expected, status=status, now=to_micros(now)) == 1

    def remove_doubt(self, doubt_id: str) -> bool:
        return self._run("remove_doubt", id=doubt_id) == 1


def _doubt(row: tuple[Any, ...]) -> Doubt:
    id_, user, agent, fact_id, other_id, reason, judge, status, created_at, updated_at = row
    return Doubt(
        id_, owner_of(user, agent), fact_id, other_id, reason, judge, from_micros(created_at),
        from_micros(updated_at), DoubtStatus(status),
    )  # fmt: skip
