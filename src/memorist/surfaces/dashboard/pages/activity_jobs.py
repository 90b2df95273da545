"""Jobs: what is done later, what failed and why, to be tried again or dropped; and how far the index is."""

from typing import Any

from starlette.responses import Response

from memorist.learning.outcomes import EXTRACTING, outcome_of
from memorist.platform.paging import Page
from memorist.platform.values import Job, JobStatus
from memorist.surfaces.dashboard.pages.home import up_to
from memorist.surfaces.dashboard.routing import Pages
from memorist.surfaces.dashboard.visits import HOME, Toast, Visit
from memorist.surfaces.dashboard.wording import say

pages = Pages()

_ADDRESS = f"{HOME}/activity/jobs"
_JOBS = 10
_READ = 5
_ALL_JOBS = 100


@pages.get("/activity/jobs")
def show(visit: Visit) -> Response:
    waiting = visit.core.overview.waiting(visit.principal)
    index = {
        "on": visit.core.embedder is not None,
        "waiting": up_to(waiting.vectors) if waiting.vectors else "",
        "lag": visit.core.indexer.lag,
        "failure": visit.core.indexer.failure if visit.is_admin else None,
    }
    counts = {status: up_to(waiting.jobs[status]) for status in JobStatus}
    return visit.page("activity_jobs.html", section="activity", tab="jobs", index=index, counts=counts, **_work(visit))


@pages.post("/activity/jobs/retry")
def retry_all(visit: Visit) -> Response:
    dead = visit.core.jobs.list(visit.principal, status=JobStatus.DEAD, limit=_ALL_JOBS).items
    for job in dead:
        visit.core.jobs.retry(visit.principal, job.id)
    return _after(visit, Toast(say("{count} are tried again now.", count=len(dead))))


@pages.post("/activity/jobs/{id}/retry")
def retry(visit: Visit) -> Response:
    visit.core.jobs.retry(visit.principal, visit.path("id"))
    return _after(visit, Toast(say("It is tried again now.")))


@pages.post("/activity/jobs/{id}/drop")
def drop(visit: Visit) -> Response:
    visit.core.jobs.drop(visit.principal, visit.path("id"))
    return _after(visit, Toast(say("Dropped: it will not be done."), tone="warn"))


def _after(visit: Visit, toast: Toast) -> Response:
    if visit.is_partial:
        return visit.part("parts/work.html", toast=toast, **_work(visit))
    return visit.redirect(_ADDRESS, toast=toast)


def _work(visit: Visit) -> dict[str, Any]:
    nothing: Page[Job] = Page((), None)
    dead, waiting, read = nothing, nothing, nothing
    if visit.principal.user is not None or visit.is_admin:
        cursor = visit.query.get("cursor") or None
        dead = visit.core.jobs.list(visit.principal, status=JobStatus.DEAD, limit=_JOBS, cursor=cursor)
        waiting = visit.core.jobs.list(visit.principal, status=JobStatus.WAITING, limit=_JOBS)
        read = visit.core.jobs.list(visit.principal, status=JobStatus.DONE, kind=EXTRACTING, limit=_READ)
    return {"dead": dead, "waiting": waiting, "read": read, "what": _what, "outcome": outcome_of}


def _what(job: Job) -> str:
    known = {"extract": say("Find what is worth remembering"), "judge": say("Compare a new fact with those before")}
    return known.get(job.kind, job.kind)
