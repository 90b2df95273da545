"""Import and export: a file that is sent, looked through and then stored by a job; and memories taken along."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from starlette.responses import Response, StreamingResponse

from memorist.errors import InvalidField, MemoristError, NotFound
from memorist.importers import Source
from memorist.importers.service import OWN, ImportOutcome, outcome_from
from memorist.memories.kinds import KINDS
from memorist.memories.values import Kind
from memorist.platform import acts
from memorist.platform.values import Job
from memorist.secrets import redact
from memorist.surfaces.dashboard import rendering
from memorist.surfaces.dashboard.refusals import in_words
from memorist.surfaces.dashboard.routing import Pages
from memorist.surfaces.dashboard.visits import HOME, Toast, Visit
from memorist.surfaces.dashboard.wording import number, say, to_say
from memorist.transfer.service import chosen
from memorist.transfer.values import IMPORTING, Chosen

pages = Pages()

ADDRESS = f"{HOME}/transfer"
_NO_FILE_NAME = re.compile(r"[^A-Za-z0-9_.-]+")
_EARLIER = 5
_SHOWN = 20
_SOURCES = {
    OWN: "Memorist",
    Source.CHATGPT: "ChatGPT",
    Source.CLAUDE: "Claude",
    Source.MEM0: "mem0",
    Source.MCP_MEMORY: "MCP memory",
    Source.JSONL: to_say("JSON lines"),
}


@pages.get("/transfer")
def show(visit: Visit) -> Response:
    jobs = visit.core.jobs.list(visit.principal, kind=IMPORTING, limit=_EARLIER).items if _has_own(visit) else ()
    kinds = {kind: say(rules.many) for kind, rules in KINDS.items()}
    return visit.page(
        "transfer.html",
        section="transfer",
        sources={source: say(label) for source, label in _SOURCES.items()},
        earlier=[_told(job) for job in jobs],
        kinds=kinds,
    )


# Import


@pages.post("/transfer/upload")
def upload(visit: Visit) -> Response:
    """One file as it is: its bytes are the body, its name is in the address. What is in it is told; none is stored."""
    try:
        seen = visit.core.imports.take(
            visit.principal, visit.query.get("name", ""), visit.file, visit.query.get("source") or None
        )
    except MemoristError as error:
        acts.failed(error)
        message = redact(in_words(error)).text
        return visit.part("parts/transfer_preview.html", status=visit.site.status_of(error), error=message)
    label = say(_SOURCES[seen.outcome.source])
    return visit.part("parts/transfer_preview.html", error=None, seen=seen, outcome=seen.outcome, label=label)


@pages.post("/transfer/import")
def begin(visit: Visit) -> Response:
    job = visit.core.imports.begin(visit.principal, visit.text("upload"))
    return visit.redirect(f"{ADDRESS}/imports/{job.id}")


@pages.post("/transfer/drop")
def drop(visit: Visit) -> Response:
    visit.core.imports.drop(visit.principal, visit.text("upload"))
    return visit.redirect(ADDRESS, toast=Toast(say("The file is gone. Nothing was imported.")))


@pages.get("/transfer/imports/{id}")
def show_import(visit: Visit) -> Response:
    """How far it is, and what came of it; while it runs, the page asks again."""
    told = _told(_job(visit))
    if visit.is_partial:
        return visit.part("parts/transfer_run.html", shown=_SHOWN, **told)
    return visit.page("transfer_run.html", section="transfer", shown=_SHOWN, **told)


@pages.post("/transfer/imports/{id}/retry")
def retry(visit: Visit) -> Response:
    job = visit.core.jobs.retry(visit.principal, _job(visit).id)
    return visit.redirect(f"{ADDRESS}/imports/{job.id}")


@pages.get("/transfer/imports/{id}/report")
def report(visit: Visit) -> Response:
    """The same in words, as a file to keep."""
    told = _told(_job(visit))
    text = "\n".join([*_report_lines(told["name"], told["label"], told["outcome"]), ""])
    return _download(Response(text, media_type="text/plain; charset=utf-8"), "memorist-import", visit, "txt")


def _job(visit: Visit) -> Job:
    job = visit.core.jobs.get(visit.principal, visit.path("id"))
    if job.kind != IMPORTING:
        raise NotFound(say("There is no such import."))
    return job


def _told(job: Job) -> dict[str, Any]:
    outcome = outcome_from(job)
    label = say(_SOURCES.get(outcome.source, outcome.source))
    return {"job": job, "outcome": outcome, "name": str(job.payload.get("name", "")), "label": label}


def _report_lines(name: str, label: str, outcome: ImportOutcome) -> Iterator[str]:
    yield say("Import of {name}, an export of {label}", name=name, label=label)
    yield ""
    yield say("Stored: {count}", count=number(outcome.imported))
    yield say("Already there: {count}", count=number(outcome.already_there))
    yield say("Left out: {count}", count=number(outcome.left_out))
    for reason, count in outcome.reasons.items():
        yield f"  {number(count)}  {reason}"
    if outcome.skipped:
        yield ""
        yield say("Where they stand, the first {count}:", count=len(outcome.skipped))
        yield from (f"  {where}: {reason}" for where, reason in outcome.skipped)


def _has_own(visit: Visit) -> bool:
    """Whether there is somebody whose imports these would be."""
    return visit.principal.user is not None or visit.is_admin


# Export


@pages.get("/transfer/export")
def export(visit: Visit) -> Response:
    """Lines of JSON as `memorist import` reads them, sent while they are read."""
    lines = visit.core.transfer.export(visit.principal, _chosen(visit))
    response = StreamingResponse((f"{line}\n" for line in lines), media_type="application/x-ndjson")
    whose = visit.principal.user or visit.principal.tenant
    return _download(response, f"memorist-{_NO_FILE_NAME.sub('-', whose)[:60]}", visit, "jsonl")


def _chosen(visit: Visit) -> Chosen:
    """What the form says. Raises InvalidField."""
    given = visit.request.query_params.getlist("kind")
    unknown = set(given) - set(Kind)
    if unknown:
        raise InvalidField(say("Choose one of {kinds}.", kinds=", ".join(Kind)), field="kind")
    return chosen(given, _day(visit, "since"), _day(visit, "until", after=1))


def _day(visit: Visit, name: str, *, after: int = 0) -> datetime | None:
    """Where a day (UTC) begins, or one so many days after it. Raises InvalidField."""
    given = visit.query.get(name, "")
    try:
        return datetime.strptime(given, "%Y-%m-%d").replace(tzinfo=UTC) + timedelta(days=after) if given else None
    except (ValueError, OverflowError):
        raise InvalidField(say("Write a day such as 2027-05-08."), field=name) from None


def _download(response: Response, name: str, visit: Visit, ending: str) -> Response:
    file = f"{name}-{visit.core.clock.now():%Y-%m-%d}.{ending}"
    response.headers["Content-Disposition"] = f'attachment; filename="{file}"'
    rendering.protect(response)
    return response
