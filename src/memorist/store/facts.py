"""Chains of facts and links between them, as rows."""

from datetime import datetime
from typing import Any

from memorist.facts.values import Doubt, DoubtStatus
from memorist.memories.values import Memory, Position
from memorist.platform.values import Owner, OwnerFilter
from memorist.store.rows import memory_from_row
from memorist.store.tenant_statements import TenantStatements
from memorist.times import from_micros, to_micros

# After every id in byte order.
_NEWEST = "~"
# After every time.
_LATEST = 2**62


class FactStatements(TenantStatements):
    """What keeps one tenant's facts true, inside a transaction."""

    __slots__ = ()

    def list_superseded(self, memory_id: str) -> list[Memory]:
        return [memory_from_row(row) for row in self._rows("list_superseded", id=memory_id)]

    def list_retired(self, owner: OwnerFilter, before: Position | None, now: datetime, limit: int) -> list[Memory]:
        rows = self._rows(
            "list_retired",
            before_time=_LATEST if before is None else to_micros(before.created_at),
            before_id=_NEWEST if before is None else before.id,
            now=to_micros(now),
            limit=limit,
            user_id=None if owner.any_user else owner.user or "",
            agent_id=None if owner.any_agent else owner.agent or "",
        )
        return [memory_from_row(row) for row in rows]

    def get_doubt(self, doubt_id: str) -> Doubt | None:
        rows = self._rows("get_doubt", id=doubt_id)
        return _doubt(rows[0]) if rows else None

    def find_doubt(self, fact_id: str, other_id: str) -> Doubt | None:
        rows = self._rows("find_doubt", fact_id=fact_id, other_id=other_id)
        return _doubt(rows[0]) if rows else None

    def list_doubts(self, owner: OwnerFilter, before_id: str | None, limit: int, *, status: DoubtStatus) -> list[Doubt]:
        rows = self._rows(
            "list_doubts",
            before_id=before_id or _NEWEST,
            limit=limit,
            status=status,
            user_id=None if owner.any_user else owner.user or "",
            agent_id=None if owner.any_agent else owner.agent or "",
        )
        return [_doubt(row) for row in rows]

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


def _doubt(row: tuple[Any, ...]) -> Doubt:
    id_, user, agent, fact_id, other_id, reason, judge, status, created_at, updated_at = row
    return Doubt(
        id_, Owner(user or None, agent or None), fact_id, other_id, reason, judge, from_micros(created_at),
        from_micros(updated_at), DoubtStatus(status),
    )  # fmt: skip
