"""Facts that stay true: what replaced what, what is in doubt, and the jobs that judge and extract."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from memorist.codec import to_record
from memorist.facts.records import doubt_record, fact_record, job_record, version_record
from memorist.facts.service import FactScope
from memorist.facts.values import DoubtStatus
from memorist.memories.values import Remembered
from memorist.platform.values import JobStatus
from memorist.surfaces.http.bodies import JsonBody
from memorist.surfaces.http.callers import caller, core_of
from memorist.surfaces.http.lists import Cursor, Limit, listed
from memorist.surfaces.http.responses import Json, whole
from memorist.surfaces.http.retries import IdempotencyKey, replay_headers
from memorist.surfaces.http.schemas import record_of
from memorist.surfaces.http.texts import Content, DoubtId, JobId, MemoryId, Slug

router = APIRouter(prefix="/v1", tags=["facts"])

_SOURCE = "facts"


Decision = Literal["open", "confirmed", "refuted", "dismissed"]
JobState = Literal["waiting", "done", "dead"]


class NewFact(JsonBody):
    content: Content = Field(description="The fact, in a sentence.")
    scope: Literal["user", "agent"] = Field("user", description="Whom it is about.")


class FactRow(BaseModel):
    id: str
    content: str
    status: str
    valid_from: str | None
    valid_to: str | None
    superseded_by: str | None
    created_at: str


class VersionRow(FactRow):
    events: list[dict[str, Any]]


class History(BaseModel):
    data: list[VersionRow]


class DoubtRow(BaseModel):
    id: str
    status: str
    reason: str
    judge: str
    fact: FactRow
    other: FactRow
    created_at: str
    updated_at: str


class DoubtList(BaseModel):
    data: list[DoubtRow]
    next_cursor: str | None
    has_more: bool


class JobRow(BaseModel):
    id: str
    kind: str
    user: str | None
    agent: str | None
    status: str
    attempts: int
    run_at: str
    error: str | None
    payload: dict[str, Any]
    result: dict[str, Any] | None
    created_at: str
    updated_at: str


class JobList(BaseModel):
    data: list[JobRow]
    next_cursor: str | None
    has_more: bool


@router.post("/facts", status_code=201, response_model=record_of(Remembered), summary="Remember a fact")
def remember_fact(request: Request, new: NewFact, idempotency_key: IdempotencyKey = None) -> Response:
    """What it contradicts is retired; the same fact is stored once (`was_new` is false then)."""
    result = core_of(request).facts.remember(
        caller(request, source=_SOURCE), new.content, FactScope(new.scope), idempotency_key=idempotency_key
    )
    return Json(to_record(result), 201, replay_headers(result.replayed))


@router.get("/facts/in-doubt", response_model=DoubtList, summary="List facts in doubt")
def list_doubts(
    request: Request,
    status: Annotated[Decision, Query(description="Those not decided, or decided so.")] = "open",
    limit: Limit = 20,
    cursor: Cursor = None,
) -> Response:
    """Pairs of facts that may contradict each other, or say the same, newest first. `fact` is the newer one; both are
    recalled until somebody decides.
    """
    page = core_of(request).facts.in_doubt(
        caller(request, source=_SOURCE), status=DoubtStatus(status), limit=limit, cursor=cursor
    )
    return whole(request, page) or listed(page, doubt_record)


@router.post("/facts/in-doubt/{doubt_id}/confirm", response_model=DoubtRow, summary="Confirm a contradiction")
def confirm_doubt(request: Request, doubt_id: DoubtId) -> Response:
    """The newer fact holds: the older one is retired."""
    pair = core_of(request).facts.confirm(caller(request, source=_SOURCE), doubt_id)
    return whole(request, pair) or Json(doubt_record(pair))


@router.post("/facts/in-doubt/{doubt_id}/refute", response_model=DoubtRow, summary="Refute the newer fact")
def refute_doubt(request: Request, doubt_id: DoubtId) -> Response:
    """The older fact holds: the newer one is retired, as if it never held."""
    pair = core_of(request).facts.refute(caller(request, source=_SOURCE), doubt_id)
    return whole(request, pair) or Json(doubt_record(pair))


@router.post("/facts/in-doubt/{doubt_id}/dismiss", response_model=DoubtRow, summary="Dismiss a doubt")
def dismiss_doubt(request: Request, doubt_id: DoubtId) -> Response:
    """Both facts hold. The two are not judged again."""
    pair = core_of(request).facts.dismiss(caller(request, source=_SOURCE), doubt_id)
    return whole(request, pair) or Json(doubt_record(pair))


@router.get("/facts/{fact_id}/history", response_model=History, summary="What replaced what")
def read_history(request: Request, fact_id: MemoryId) -> Response:
    """The chain that a fact belongs to, oldest first: until when each held, and in `events` why and by whom it was
    replaced.
    """
    chain = core_of(request).facts.history(caller(request, source=_SOURCE), fact_id)
    return whole(request, chain) or Json({"data": [version_record(version) for version in chain]})


@router.post("/facts/{fact_id}/restore", response_model=FactRow, summary="Restore a retired fact")
def restore_fact(request: Request, fact_id: MemoryId) -> Response:
    """Active again, beside what took its place. The two are not judged again."""
    memory = core_of(request).facts.restore(caller(request, source=_SOURCE), fact_id)
    return whole(request, memory) or Json(fact_record(memory))


@router.get("/jobs", response_model=JobList, summary="List jobs")
def list_jobs(
    request: Request,
    status: Annotated[JobState | None, Query(description="Only these. `dead` ones need somebody.")] = None,
    kind: Annotated[Slug | None, Query(description="Only these, such as `judge`.")] = None,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> Response:
    """Your own, newest first; an admin key that acts for nobody sees all. Done ones are kept for a week."""
    page = core_of(request).jobs.list(
        caller(request, source=_SOURCE),
        status=None if status is None else JobStatus(status),
        kind=kind,
        limit=limit,
        cursor=cursor,
    )
    return whole(request, page) or listed(page, job_record)


@router.get("/jobs/{job_id}", response_model=JobRow, summary="Read a job")
def read_job(request: Request, job_id: JobId) -> Response:
    """With what it was asked, and what came of it."""
    job = core_of(request).jobs.get(caller(request, source=_SOURCE), job_id)
    return whole(request, job) or Json(job_record(job))


@router.post("/jobs/{job_id}/retry", response_model=JobRow, summary="Retry a job")
def retry_job(request: Request, job_id: JobId) -> Response:
    """Due now; a dead one gets all its attempts again."""
    job = core_of(request).jobs.retry(caller(request, source=_SOURCE), job_id)
    return whole(request, job) or Json(job_record(job))


@router.delete("/jobs/{job_id}", status_code=204, summary="Drop a job")
def drop_job(request: Request, job_id: JobId) -> Response:
    """What it was to do is not done."""
    job = core_of(request).jobs.drop(caller(request, source=_SOURCE), job_id)
    return whole(request, job) or Response(status_code=204)
