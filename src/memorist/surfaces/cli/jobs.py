"""`memorist jobs list`, `show`, `run`, `retry` and `drop`."""

import json
from typing import Annotated

import typer

from memorist.facts.records import job_record
from memorist.platform.values import JobStatus
from memorist.surfaces.cli.door import opened, reading
from memorist.surfaces.cli.flags import IDENTITY, PLACE, Flags, new_group, register, with_flags
from memorist.surfaces.cli.terminal import (
    counted,
    minute,
    note,
    print_card,
    print_json,
    print_json_page,
    print_line,
    print_table,
)

JobId = Annotated[str, typer.Argument(metavar="ID", help="Id of the job, as job_….")]
AllUsers = Annotated[bool, typer.Option("--all-users", help="Those of the whole tenant (operator and admin keys).")]


@with_flags(*PLACE, *IDENTITY)
def list_(
    flags: Flags,
    status: Annotated[JobStatus | None, typer.Option(help="Only these; dead ones need somebody.")] = None,
    kind: Annotated[str | None, typer.Option(metavar="NAME", help="Only these, such as judge.")] = None,
    limit: Annotated[int, typer.Option(metavar="N", help="Most on one page, 1 to 100.")] = 20,
    cursor: Annotated[str | None, typer.Option(metavar="CURSOR", help="Go on where a page ended.")] = None,
    all_users: AllUsers = False,
) -> None:
    """List jobs, newest first. Those that were done in the background are kept for a week."""
    with reading(flags) as door:
        principal = door.everybody() if all_users else door.caller()
        page = door.core.jobs.list(principal, status=status, kind=kind, limit=limit, cursor=cursor)
    if flags.as_json:
        print_json_page(map(job_record, page.items), page.next_cursor)
        return
    if not page.items:
        note("There are no jobs.")
        return
    columns = ["id", "kind", *(["user"] if all_users else []), "status", "attempts", "run_at", "error"]
    shown = [{**job_record(job), "run_at": minute(job.run_at)} for job in page.items]
    rows = [["" if one[column] is None else str(one[column]) for column in columns] for one in shown]
    print_table(columns, rows, whole=["id", "kind", "status", "attempts", "run_at"])
    if page.next_cursor:
        note(f"There are more: --cursor {page.next_cursor} goes on.")


@with_flags(*PLACE, *IDENTITY)
def show(flags: Flags, job_id: JobId, all_users: AllUsers = False) -> None:
    """Show one job: what it was asked, and what came of it."""
    with reading(flags) as door:
        job = door.core.jobs.get(door.everybody() if all_users else door.caller(), job_id)
    record = job_record(job)
    if flags.as_json:
        print_json(record)
        return
    body = json.dumps({"payload": record.pop("payload"), "result": record.pop("result")}, indent=2, ensure_ascii=False)
    print_card({name: str(value) for name, value in record.items() if value is not None}, body)


@with_flags(*PLACE, *IDENTITY)
def run(flags: Flags) -> None:
    """Do all jobs of the tenant that are due, here and now. A running server does them by itself."""
    with opened(flags) as door:
        door.everybody()
        done = door.core.jobs.run_due(door.holder().tenant)
    if flags.as_json:
        print_json({"run": done})
    else:
        note(f"{counted(done, 'job was', 'jobs were')} due. `memorist jobs list` shows how they went.")


@with_flags(*PLACE, *IDENTITY)
def retry(flags: Flags, job_id: JobId, all_users: AllUsers = False) -> None:
    """Make a job due now; a dead one gets all its attempts again. A server does it, or `memorist jobs run`."""
    with opened(flags) as door:
        job = door.core.jobs.retry(door.everybody() if all_users else door.caller(), job_id)
    if flags.as_json:
        print_json(job_record(job))
        return
    print_line(job.id)
    note("It is due now.")


@with_flags(*PLACE, *IDENTITY)
def drop(flags: Flags, job_id: JobId, all_users: AllUsers = False) -> None:
    """Remove a job: what it was to do is not done."""
    with opened(flags) as door:
        job = door.core.jobs.drop(door.everybody() if all_users else door.caller(), job_id)
    if flags.as_json:
        print_json(job_record(job))
        return
    print_line(job.id)
    note("Dropped.")


app = new_group()
register(app, "list", list_)
register(app, "show", show)
register(app, "run", run)
register(app, "retry", retry)
register(app, "drop", drop)
