"""Counts for an overview, and who there is, as rows."""

from collections.abc import Iterator
from datetime import date, datetime, timedelta

from memorist.memories.values import Kind, Status
from memorist.platform.values import Owner, OwnerFilter
from memorist.store.rows import owner_of, slice_parameters
from memorist.store.tenant_statements import TenantStatements
from memorist.times import optional_moment, to_micros
from memorist.views.values import DayCount, KindCount, OwnerCount

_EPOCH = date(1970, 1, 1)


class OverviewStatements(TenantStatements):
    """What one tenant has, counted, inside a transaction."""

    __slots__ = ()

    def count_kinds(self, owner: OwnerFilter, now: datetime) -> list[KindCount]:
        statement = "count_kinds_of_tenant" if owner.any_user else "count_kinds_of_user"
        rows = self._rows(statement, now=to_micros(now), **slice_parameters(owner))
        return [KindCount(Status(status), Kind(kind), int(count)) for status, kind, count in rows]

    def count_facts(self, owner: OwnerFilter, now: datetime) -> int:
        return int(self._rows("count_facts_of_user", now=to_micros(now), **slice_parameters(owner))[0][0])

    def count_days(self, owner: OwnerFilter) -> list[DayCount]:
        statement = "count_days_of_tenant" if owner.any_user else "count_days_of_user"
        rows = self._rows(statement, **slice_parameters(owner))
        return [DayCount(_EPOCH + timedelta(days=day), Kind(kind), int(count)) for day, kind, count in rows]

    def count_waiting(self, owner: OwnerFilter, most: int) -> int:
        rows = self._rows("count_waiting", user_id=slice_parameters(owner)["user_id"], most=most)
        return int(rows[0][0])

    def list_owners(self, after: Owner, limit: int, most: int) -> list[OwnerCount]:
        found = []
        for user, agent in self._owners_after(after, limit):
            count, newest = self._rows("count_of_owner", user_id=user, agent_id=agent, most=most)[0]
            newest_at = optional_moment(newest)
            found.append(OwnerCount(owner_of(user, agent), int(count), newest_at))
        return found

    def count_rows(self) -> dict[str, int]:
        return {table: int(count) for table, count in self._rows("count_rows")}

    def count_dated_after(self, moment: datetime) -> tuple[int, datetime | None]:
        count, last = self._rows("count_dated_after", moment=to_micros(moment))[0]
        return int(count), optional_moment(last)

    def _owners_after(self, after: Owner, limit: int) -> Iterator[tuple[str, str]]:
        user, agent = after.user or "", after.agent or ""
        for _ in range(limit):
            rows = self._rows("next_owner", user_id=user, agent_id=agent)
            if not rows:
                return
            user, agent = rows[0]
            yield user, agent
