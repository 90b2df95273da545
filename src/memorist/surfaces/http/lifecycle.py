"""The lifecycle API: memories that age, expire, are archived, deleted and restored, with the events of each step."""

from datetime import timedelta
from typing import Annotated, Any, ClassVar, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from memorist.memories.values import Draft, Governor, Memory, Retention, Status
from memorist.platform import validation
from memorist.platform.validation import MAX_QUERY, MAX_TOP_K
from memorist.platform.values import Event, Principal
from memorist.recall.values import Question
from memorist.surfaces.http.bodies import JsonBody
from memorist.surfaces.http.callers import caller, core_of
from memorist.surfaces.http.erasure import begun
from memorist.surfaces.http.lists import Cursor, Limit
from memorist.surfaces.http.responses import Json
from memorist.surfaces.http.retries import IdempotencyKey, replay_headers
from memorist.surfaces.http.routes import DialectRoute
from memorist.surfaces.http.texts import Content, JsonObject, MemoryId, QueryText, Whole, within
from memorist.times import to_iso


class _Route(DialectRoute):
    words: ClassVar = {"meta": "metadata", "ttl": "ttl_minutes"}


router = APIRouter(prefix="/memory", tags=["lifecycle"], route_class=_Route)

_TIMES = (
    "created_at", "updated_at", "archive_at", "retention_expires_at", "hard_delete_at", "expires_at", "deleted_at",
)  # fmt: skip
StatusName = Literal["active", "archived", "soft_deleted", "hard_delete_pending"]
_MOST_MINUTES = validation.MAX_TTL / timedelta(minutes=1)


class NewLifecycleMemory(JsonBody):
    content: Content = Field(description="The text to remember.")
    ttl_minutes: Annotated[float, Field(gt=0, le=_MOST_MINUTES, allow_inf_nan=False)] | None = Field(
        None, description="How long it lives, in minutes; fractions are allowed. Absent: as long as the policy says."
    )
    metadata: JsonObject | None = Field(None, description="Anything else to keep with it.")


class MemoryQuery(JsonBody):
    query: QueryText = Field(description=f"What to look for, up to {MAX_QUERY:,} characters.")
    top_k: Annotated[Whole, within(1, MAX_TOP_K)] = Field(5, description="How many rows to return at most.")
    min_score: Annotated[float, Field(ge=0, le=1)] | None = Field(
        None, description="Leave out rows that score below this. Absent: as the server is set."
    )


class LifecycleRow(BaseModel):
    id: str
    content: str
    metadata: dict[str, Any] | None
    retention_status: str
    created_at: str
    updated_at: str
    archive_at: str | None
    retention_expires_at: str | None
    hard_delete_at: str | None
    expires_at: str | None
    deleted_at: str | None


class LifecycleRows(BaseModel):
    items: list[LifecycleRow]
    next_cursor: str | None
    has_more: bool


class AddedMemory(LifecycleRow):
    was_new: bool


class FoundMemory(LifecycleRow):
    score: float


class FoundMemories(BaseModel):
    items: list[FoundMemory]
    total: int


class LifecycleEventRow(BaseModel):
    event_type: str
    source: str
    actor: str | None
    payload: dict[str, Any]
    created_at: str


class LifecycleEventList(BaseModel):
    events: list[LifecycleEventRow]


@router.post("/add", status_code=201, response_model=AddedMemory, summary="Remember a text for a time")
def add_memory(request: Request, new: NewLifecycleMemory, idempotency_key: IdempotencyKey = None) -> Response:
    """It ages as the tenant's policy says and, with `ttl_minutes`, ends to the second. A text that is there already
    with the same `ttl_minutes` and `metadata` is not stored again (`was_new` is false), and its `expires_at` is counted
    from now; where one of them differs, it is a row of its own.
    """
    # However little it is, it is above 0.
    ttl = None if new.ttl_minutes is None else max(timedelta(minutes=new.ttl_minutes), timedelta.resolution)
    draft = Draft(new.content, meta=new.metadata, retention=Retention.POLICY, ttl=ttl, governed_by=Governor.LIFECYCLE)
    [result] = core_of(request).facts.remember_all(
        _caller(request), [draft], idempotency_key=idempotency_key, later=True
    )
    headers = {"Location": f"{router.prefix}/{result.memory.id}", **replay_headers(result.replayed)}
    return Json({**encode(result.memory), "was_new": result.was_new}, 201, headers)


@router.post("/query", response_model=FoundMemories, summary="Find memories")
def query_memories(request: Request, asked: MemoryQuery) -> Response:
    """By words and by meaning, best first. Only active rows that are not past their `expires_at`, swept or not."""
    question = Question(asked.query, asked.top_k, min_score=asked.min_score)
    found = core_of(request).recall.recall(_caller(request), question)
    items = [{**encode(hit.memory), "score": hit.score} for hit in found.hits]
    return Json({"items": items, "total": len(items)})


@router.get("", response_model=LifecycleRows, summary="List memories in one state")
def list_memories(
    request: Request,
    retention_status: Annotated[StatusName, Query(description="Where they stand in their life.")] = "active",
    limit: Limit = 20,
    cursor: Cursor = None,
) -> Response:
    """Newest first. Deleted rows are shown to those who may restore them."""
    status = Status(retention_status)
    page = core_of(request).memories.list(_caller(request), status=status, limit=limit, cursor=cursor)
    more = {"next_cursor": page.next_cursor, "has_more": page.next_cursor is not None}
    return Json({"items": [encode(memory) for memory in page.items], **more})


@router.get("/{memory_id}", response_model=LifecycleRow, summary="Read a memory by its id")
def read_memory(request: Request, memory_id: MemoryId) -> Response:
    """An archived one too; to its owner and to admins also one that is deleted, until it is purged: `retention_status`
    and `hard_delete_at` say what becomes of it. One that is past its `expires_at` is shown as a sweep leaves it.
    """
    return Json(encode(core_of(request).retention.read(_caller(request), memory_id)))


@router.post("/{memory_id}/archive", response_model=LifecycleRow, summary="Archive a memory")
def archive_memory(request: Request, memory_id: MemoryId) -> Response:
    """Out of every search from now on, and still readable by its id. 409 where it is not active."""
    return Json(encode(core_of(request).retention.archive(_caller(request), memory_id)))


@router.post("/{memory_id}/restore", response_model=LifecycleRow, summary="Restore a memory")
def restore_memory(request: Request, memory_id: MemoryId) -> Response:
    """For its owner or an admin: one that is archived, or deleted and not past its `hard_delete_at`; 409 otherwise, and
    where an active memory has the same text by now. Its time starts anew.
    """
    return Json(encode(core_of(request).retention.restore(_caller(request), memory_id)))


@router.get("/{memory_id}/events", response_model=LifecycleEventList, summary="What happened to a memory")
def list_events(request: Request, memory_id: MemoryId) -> Response:
    """Oldest first; of one that is deleted for those who may restore it. What happened to one that is purged is told to
    admins, without a text or a name; of an entry of the companion nothing is.
    """
    events = core_of(request).memories.events(_caller(request), memory_id)
    return Json({"events": [_event(event) for event in events]})


@router.delete("/user/purge", summary="Erase everything of yours")
def purge_user(request: Request) -> Response:
    """At once and for good, with every agent of the calling user, whatever the policy says. Answers with the receipt:
    what was removed from where, and the verification that it is gone; of very much, 202 with one that is not done yet.
    A key that is bound to an agent erases no other agent's (403).
    """
    return begun(request, core_of(request).erasure.purge_user(_caller(request), later=True))


@router.delete("/{memory_id}", response_model=LifecycleRow, summary="Delete a memory, recoverably")
def delete_memory(request: Request, memory_id: MemoryId, idempotency_key: IdempotencyKey = None) -> Response:
    """Gone from every search and list at once; `hard_delete_at` says until when it can be restored."""
    return Json(encode(core_of(request).retention.delete(_caller(request), memory_id, idempotency_key=idempotency_key)))


def encode(memory: Memory) -> dict[str, Any]:
    """A memory in the words of this API."""
    times = {name: getattr(memory, name) for name in _TIMES}
    return {
        "id": memory.id,
        "content": memory.content,
        "metadata": memory.meta,
        "retention_status": memory.status,
        **{name: None if moment is None else to_iso(moment) for name, moment in times.items()},
    }


def _event(event: Event) -> dict[str, Any]:
    return {
        "event_type": event.event_type,
        "source": event.source,
        "actor": event.actor,
        "payload": event.payload,
        "created_at": to_iso(event.created_at),
    }


def _caller(request: Request) -> Principal:
    return caller(request, source="lifecycle")
