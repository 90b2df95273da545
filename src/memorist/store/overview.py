"""Counts for an overview, and who there is, as rows."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from memorist.memories.values import Kind, Status
from memorist.platform.values import JobStatus, Owner, OwnerFilter, SignIn, SignInKind
from memorist.store.rows import key_from_row
from memorist.store.tenant_statements import TenantStatements
from memorist.times import from_micros, to_micros
from memorist.views.values import KindCount, OwnerCount

# By whether a slice has any user, and any agent: each breadth has an index that it is counted in.
_DAYS = {
    (True, True): "count_days_of_tenant",
    (True, False): "count_days_of_agent",
    (False, True): "count_days_of_user",
    (False, False): "count_days_of_owner",
}


class OverviewStatements(TenantStatements):
    """What one tenant has, counted, inside a transaction."""

    __slots__ = ()

    def count_kinds(self, owner: OwnerFilter, now: datetime) -> list[KindCount]:
        statement = "count_kinds_of_tenant" if owner.any_user else "count_kinds_of_user"
        rows = self._rows(statement, now=to_micros(now), **_slice(owner))
        return [KindCount(Status(status), Kind(kind), int(count)) for status, kind, count in rows]

    def count_days(self, owner: OwnerFilter, since: datetime, days: int) -> list[int]:
        rows = self._rows(_DAYS[owner.any_user, owner.any_agent], since=to_micros(since), days=days, **_slice(owner))
        return [count for _, count in sorted(rows)]

    def count_waiting(self, owner: OwnerFilter, most: int) -> int:
        rows = self._rows("count_waiting", user_id=_slice(owner)["user_id"], most=most)
        return int(rows[0][0])

    def count_jobs(self, owner: OwnerFilter, most: int) -> dict[JobStatus, int]:
        done = int(self._rows("count_jobs_done", most=most, **_slice(owner))[0][0])
        rows = self._rows("count_jobs_not_done", most=most, **_slice(owner))
        return dict.fromkeys(JobStatus, 0) | {JobStatus.DONE: done} | {JobStatus(one): int(n) for one, n in rows}

    def count_open_doubts(self, owner: OwnerFilter, most: int) -> int:
        return int(self._rows("count_open_doubts", most=most, **_slice(owner))[0][0])

    def list_owners(self, after: Owner, limit: int, most: int) -> list[OwnerCount]:
        found = []
        for user, agent in self._owners_after(after, limit):
            count, newest = self._rows("count_of_owner", user_id=user, agent_id=agent, most=most)[0]
            newest_at = None if newest is None else from_micros(newest)
            found.append(OwnerCount(Owner(user or None, agent or None), int(count), newest_at))
        return found

    def _owners_after(self, after: Owner, limit: int) -> Iterator[tuple[str, str]]:
        user, agent = after.user or "", after.agent or ""
        for _ in range(limit):
            rows = self._rows("next_owner", user_id=user, agent_id=agent)
            if not rows:
                return
            user, agent = rows[0]
            yield user, agent

    def list_sessions(self, now: datetime, limit: int) -> list[SignIn]:
        rows = self._rows("list_sessions", now=to_micros(now), limit=limit)
        return [
            SignIn(SignInKind(kind), key_from_row(tuple(key)), from_micros(created_at), from_micros(expires_at))
            for kind, created_at, expires_at, *key in rows
        ]

    def list_session_ids(self, owner: Owner, session: str, limit: int) -> list[str]:
        rows = self._rows(
            "list_session_ids",
            user_id=owner.user or "",
            agent_id=owner.agent or "",
            session_id=session,
            limit=limit,
        )
        return [row[0] for row in rows]

    def list_chunk_ids(self, owner: Owner, document_id: str, limit: int) -> list[str]:
        rows = self._rows(
            "list_chunk_ids",
            user_id=owner.user or "",
            agent_id=owner.agent or "",
            document_id=document_id,
            limit=limit,
        )
        return [row[0] for row in rows]


def _slice(owner: OwnerFilter) -> dict[str, Any]:
    return {
        "user_id": None if owner.any_user else owner.user or "",
        "agent_id": None if owner.any_agent else owner.agent or "",
    }
