"""`memorist jobs list`, `show`, `run`, `retry` and `drop`."""

import json
from typing import Annotated

import typer

from memorist.facts.records import job_record
from memorist.learning.outcomes import outcome_of
from memorist.platform.values import Job, JobStatus
from memorist.surfaces.cli.answers import answer, answer_page
from memorist.surfaces.cli.door import opened, whose
from memorist.surfaces.cli.flags import ANYWHERE, IDENTITY, STORE, AllUsers, Cursor, Flags, Limit, new_group, with_flags
from memorist.surfaces.cli.speaking import speaking
from memorist.surfaces.cli.terminal import counted, minute, print_card, print_json

JobId = Annotated[str, typer.Argument(metavar="ID", help="Id of the job, as job_….")]


@with_flags(*ANYWHERE, *IDENTITY)
def list_(
    flags: Flags,
    status: Annotated[JobStatus | None, typer.Option(help="Only these; dead ones need somebody.")] = None,
    kind: Annotated[str | None, typer.Option(metavar="NAME", help="Only these, such as judge.")] = None,
    limit: Limit = 20,
    cursor: Cursor = None,
    all_users: AllUsers = False,
) -> None:
    """List jobs, newest first, with what went wrong, was found and was dropped. Done ones are kept for a week."""
    with speaking(flags, whose(all_users), reads=True) as memory:
        page = memory.jobs(status=status, kind=kind, limit=limit, cursor=cursor)
    columns = ["id", "kind", *(["user"] if all_users else []), "status", "attempts", "run_at", "outcome"]

    def row(job: Job) -> list[str]:
        outcome = "; ".join(filter(None, (job.error, outcome_of(job))))
        shown = {**job_record(job), "run_at": minute(job.run_at), "outcome": outcome}
        return ["" if shown[column] is None else str(shown[column]) for column in columns]

    whole = ["id", "kind", "status", "attempts", "run_at"]
    answer_page(flags, page, job_record, columns, row, whole=whole, empty="There are no jobs.")


@with_flags(*ANYWHERE, *IDENTITY)
def show(flags: Flags, job_id: JobId, all_users: AllUsers = False) -> None:
    """Show one job: what it was asked, and what came of it."""
    with speaking(flags, whose(all_users), reads=True) as memory:
        job = memory.get_job(job_id)
    record = job_record(job)
    if flags.as_json:
        print_json(record)
        return
    body = json.dumps({"payload": record.pop("payload"), "result": record.pop("result")}, indent=2, ensure_ascii=False)
    record["outcome"] = outcome_of(job) or None
    print_card({name: str(value) for name, value in record.items() if value is not None}, body)


@with_flags(*STORE, *IDENTITY)
def run(flags: Flags) -> None:
    """Do all jobs of the tenant that are due, here and now. A running server does them by itself."""
    with opened(flags) as door:
        door.everybody()
        done = door.core.jobs.run_due(door.holder().tenant)
    told = f"{counted(done, 'job was', 'jobs were')} due. `memorist jobs list` shows how they went."
    answer(flags, {"run": done}, remark=told)


@with_flags(*ANYWHERE, *IDENTITY)
def retry(flags: Flags, job_id: JobId, all_users: AllUsers = False) -> None:
    """Make a job due now; a dead one gets all its attempts again. A server does it, or `memorist jobs run`."""
    with speaking(flags, whose(all_users)) as memory:
        job = memory.retry_job(job_id)
    answer(flags, job_record(job), job.id, remark="It is due now.")


@with_flags(*ANYWHERE, *IDENTITY)
def drop(flags: Flags, job_id: JobId, all_users: AllUsers = False) -> None:
    """Remove a job: what it was to do is not done."""
    with speaking(flags, whose(all_users)) as memory:
        job = memory.drop_job(job_id)
    answer(flags, job_record(job), job.id, remark="Dropped.")


app = new_group({"list": list_, "show": show, "run": run, "retry": retry, "drop": drop})
