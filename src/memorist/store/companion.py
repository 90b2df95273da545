"""A user's memories by category, newest first."""

from datetime import datetime

from memorist.memories.values import Memory, Position
from memorist.platform.values import OwnerFilter
from memorist.store.rows import memory_from_row
from memorist.store.tenant_statements import TenantStatements
from memorist.times import to_micros

# After every row in the order of the list: later than any time.
_FIRST = {"after_time": 2**62, "after_id": "~"}


class CompanionStatements(TenantStatements):
    __slots__ = ()

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
        place = _FIRST if after is None else {"after_time": to_micros(after.created_at), "after_id": after.id}
        rows = self._rows(
            "list_category_of_user",
            user_id=owner.user or "",
            agent_id=None if owner.any_agent else owner.agent or "",
            category=category,
            now=to_micros(now),
            since=-1 if since is None else to_micros(since),
            limit=limit,
            **place,
        )
        return [memory_from_row(row) for row in rows]
