"""Jobs as rows."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from memorist.platform.values import Job, JobStatus, OwnerFilter, Principal, Role
from memorist.store.rows import NEWEST_ID, slice_parameters
from memorist.store.tenant_statements import TenantStatements
from memorist.times import from_micros, to_micros


class JobStatements(TenantStatements):
    """The jobs of one tenant, inside a transaction."""

    __slots__ = ()

    def get(self, job_id: str) -> Job | None:
        rows = self._rows("get_job", id=job_id)
        return self._job(rows[0]) if rows else None

    def has_due(self, now: datetime) -> bool:
        return bool(self._rows("any_due", now=to_micros(now)))

    def page(
        self, owner: OwnerFilter, before_id: str | None, limit: int, *, status: JobStatus | None, kind: str | None
    ) -> list[Job]:
        statement = "list_jobs" if status in (None, JobStatus.DONE) else "list_jobs_not_done"
        rows = self._rows(
            statement,
            before_id=before_id or NEWEST_ID,
            limit=limit,
            status=status,
            kind=kind,
            **slice_parameters(owner),
        )
        return [self._job(row) for row in rows]

    def count(self, owner: OwnerFilter, most: int) -> dict[JobStatus, int]:
        done = int(self._rows("count_jobs_done", most=most, **slice_parameters(owner))[0][0])
        rows = self._rows("count_jobs_not_done", most=most, **slice_parameters(owner))
        return dict.fromkeys(JobStatus, 0) | {JobStatus.DONE: done} | {JobStatus(one): int(n) for one, n in rows}

    def insert(self, job: Job) -> Job:
        while self._run("insert_job", **_parameters(job)) != 1:
            rows = self._rows("find_job", kind=job.kind, key=job.key or "")
            if rows:
                return self._job(rows[0])
            # Dropped between the two statements: the next try succeeds.
        return job

    def claim(self, now: datetime, until: datetime, limit: int) -> list[Job]:
        rows = self._rows("claim_jobs", now=to_micros(now), until=to_micros(until), limit=limit)
        return [self._job(row) for row in rows]

    def hold(self, job_id: str) -> bool:
        return self._run("hold_job", id=job_id) == 1

    def extend(self, job: Job, until: datetime) -> bool:
        known = {"id": job.id, "attempts": job.attempts, "updated_at": to_micros(job.updated_at)}
        return self._run("extend_job", until=to_micros(until), **known) == 1

    def finish(self, job: Job) -> bool:
        noted = self._run(
            "finish_job",
            id=job.id,
            status=job.status,
            attempts=job.attempts,
            run_at=to_micros(job.run_at),
            error=job.error,
            result=_encoded(job.result),
            updated_at=to_micros(job.updated_at),
        )
        return noted == 1

    def retry(self, job_id: str, now: datetime) -> bool:
        return self._run("retry_job", id=job_id, now=to_micros(now)) == 1

    def drop(self, job_id: str) -> bool:
        return self._run("drop_job", id=job_id) == 1

    def drop_done(self, before: datetime) -> int:
        return self._run("drop_done_jobs", before=to_micros(before))

    def _job(self, row: tuple[Any, ...]) -> Job:
        (
            id_, kind, key, user, agent, acting, payload, status, attempts, run_at, error, result, created_at,
            updated_at,
        ) = row  # fmt: skip
        said = json.loads(acting)
        principal = Principal(
            self._tenant, Role(said["role"]), user or None, agent or None, said["session"], None, said["source"],
            said["vouched"],
        )  # fmt: skip
        return Job(
            id_, kind, principal, json.loads(payload), from_micros(run_at), from_micros(created_at),
            from_micros(updated_at), key or None, JobStatus(status), attempts, error,
            None if result is None else json.loads(result),
        )  # fmt: skip


def _parameters(job: Job) -> dict[str, Any]:
    principal = job.principal
    acting = {
        "role": principal.role,
        "session": principal.session,
        "source": principal.source,
        "vouched": principal.agent_vouched,
    }
    return {
        "id": job.id,
        "kind": job.kind,
        "key": job.key or "",
        "user_id": principal.user or "",
        "agent_id": principal.agent or "",
        "acting": json.dumps(acting),
        "payload": _encoded(job.payload),
        "status": job.status,
        "attempts": job.attempts,
        "run_at": to_micros(job.run_at),
        "error": job.error,
        "result": _encoded(job.result),
        "created_at": to_micros(job.created_at),
        "updated_at": to_micros(job.updated_at),
    }


def _encoded(value: Mapping[str, Any] | None) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False)
