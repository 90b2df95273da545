"""The native door: memories of every kind in the model's own words, with every field and every option of recall."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from memorist.codec import to_record
from memorist.memories.fields import EDITABLE
from memorist.memories.values import Draft, Kind, Memory, Order, Remembered, Status
from memorist.platform.validation import MAX_BATCH
from memorist.platform.values import Event, Principal
from memorist.recall.values import Question, Recalled
from memorist.surfaces.http.bodies import JsonBody
from memorist.surfaces.http.callers import caller, core_of, promptly
from memorist.surfaces.http.etags import IfMatch, expected_version, unchanged, versioned
from memorist.surfaces.http.lists import Cursor, Limit
from memorist.surfaces.http.responses import Json
from memorist.surfaces.http.retries import IdempotencyKey, replay_headers
from memorist.surfaces.http.routes import DirectRoute
from memorist.surfaces.http.schemas import AsChanges, AsRecord, record_of
from memorist.surfaces.http.texts import Identifier, MemoryId, Wanted

router = APIRouter(prefix="/v1/records", tags=["native"])
# Matched after every other route below the prefix: its path looks like theirs.
direct = APIRouter(prefix=router.prefix, tags=["native"], route_class=DirectRoute)

KindName = Literal["fact", "chat_message", "tool_output", "document_chunk"]
StatusName = Literal["active", "archived", "soft_deleted", "hard_delete_pending", "purged"]
OrderName = Literal["newest", "importance"]
NewRecord = Annotated[Draft, AsRecord()]

MemoryRecord = record_of(Memory)
RememberedRecord = record_of(Remembered)
RecalledRecord = record_of(Recalled)


class NewRecords(JsonBody):
    records: list[NewRecord] = Field(max_length=MAX_BATCH)


class RememberedRecords(BaseModel):
    data: list[RememberedRecord]  # type: ignore[valid-type]


class MemoryRecords(BaseModel):
    data: list[MemoryRecord]  # type: ignore[valid-type]
    next_cursor: str | None
    has_more: bool


class EventRecords(BaseModel):
    data: list[record_of(Event)]  # type: ignore[valid-type]


@router.post("", status_code=201, response_model=RememberedRecord, summary="Remember")
def create_record(
    request: Request, new: Annotated[NewRecord, Body()], idempotency_key: IdempotencyKey = None
) -> Response:
    """One memory. `was_new` is false where its owner already has that fact in that category, a conflict (409) where
    they have another of that name.
    """
    [result] = core_of(request).memories.remember(source(request), [new], idempotency_key=idempotency_key)
    headers = {"Location": f"{router.prefix}/{result.memory.id}", **replay_headers(result.replayed)}
    return versioned(to_record(result), result.memory, 201, headers)


@router.post("/batch", status_code=201, response_model=RememberedRecords, summary="Remember many")
def create_records(request: Request, new: NewRecords, idempotency_key: IdempotencyKey = None) -> Response:
    """Up to 1,000 memories in one transaction, all or none."""
    results = core_of(request).memories.remember(source(request), new.records, idempotency_key=idempotency_key)
    return Json({"data": to_record(results)}, 201, replay_headers(any(one.replayed for one in results)))


@router.post("/recall", response_model=RecalledRecord, summary="Recall")
def recall_records(request: Request, question: Annotated[Question, AsRecord(), Body()]) -> Response:
    """The memories that answer a question, best first."""
    return Json(to_record(core_of(request).recall.recall(source(request), question)))


@router.get("", response_model=MemoryRecords, summary="List memories of every kind")
def list_records(
    request: Request,
    agent: Annotated[Identifier | None, Query(description="See what this agent sees.")] = None,
    every_agent: Annotated[bool, Query(description="See what all of your agents keep, too.")] = False,
    named: Annotated[bool, Query(description="Only memories that have a name.")] = False,
    kind: Annotated[KindName | None, Query(description="Only memories of this kind.")] = None,
    category: Annotated[Wanted | None, Query(description="Only memories of this category.")] = None,
    project: Annotated[Wanted | None, Query(description="Only memories of this project.")] = None,
    session: Annotated[Wanted | None, Query(description="Only memories of this session.")] = None,
    status: Annotated[StatusName, Query(description="Where they stand in their life.")] = "active",
    order: Annotated[OrderName, Query(description="What comes first; `importance` is for named memories.")] = "newest",
    limit: Limit = 20,
    cursor: Cursor = None,
) -> Response:
    """Yours and those that are shared with you, whichever API wrote them; of no agent but the one that is named.
    `version` goes back as `If-Match`, in
    quotes.
    """
    page = core_of(request).memories.list(
        source(request),
        agent=agent,
        every_agent=every_agent,
        named=named,
        kind=None if kind is None else Kind(kind),
        category=category,
        project=project,
        session=session,
        status=Status(status),
        order=Order(order),
        limit=limit,
        cursor=cursor,
    )
    more = {"next_cursor": page.next_cursor, "has_more": page.next_cursor is not None}
    return Json({"data": to_record(page.items), **more})


@direct.get(
    "/{memory_id}",
    response_model=MemoryRecord,
    responses={
        200: {"headers": {"ETag": {"schema": {"type": "string"}, "description": "The version of the memory."}}},
        304: {"description": "The version that If-None-Match names is still the current one."},
    },
    summary="Read one memory in full",
)
async def read_record(request: Request, memory_id: MemoryId) -> Response:
    """An archived one too; the read is counted. With `If-None-Match`, 304 where it did not change."""
    memory = await promptly(request, lambda: core_of(request).memories.get(source(request), memory_id))
    return unchanged(request, memory) or _record(memory)


@router.patch("/{memory_id}", response_model=MemoryRecord, summary="Edit a memory")
def edit_record(
    request: Request,
    memory_id: MemoryId,
    changes: Annotated[dict[str, Any], AsChanges(Memory, EDITABLE), Body()],
    idempotency_key: IdempotencyKey = None,
    if_match: IfMatch = None,
) -> Response:
    """Only the fields that are sent change; null takes a value away."""
    return _record(
        core_of(request).memories.edit(
            source(request),
            memory_id,
            changes,
            expected_version=expected_version(if_match),
            idempotency_key=idempotency_key,
        )
    )


@router.delete("/{memory_id}", response_model=MemoryRecord, summary="Forget a memory")
def forget_record(
    request: Request, memory_id: MemoryId, idempotency_key: IdempotencyKey = None, if_match: IfMatch = None
) -> Response:
    """Gone from every list at once; `hard_delete_at` says until when it can be restored."""
    return _record(
        core_of(request).memories.forget(
            source(request), memory_id, expected_version=expected_version(if_match), idempotency_key=idempotency_key
        )
    )


@router.post("/{memory_id}/archive", response_model=MemoryRecord, summary="Take a memory out of recall")
def archive_record(request: Request, memory_id: MemoryId) -> Response:
    """Still readable by its id. 409 where it is not active."""
    return _record(core_of(request).retention.archive(source(request), memory_id))


@router.post("/{memory_id}/restore", response_model=MemoryRecord, summary="Bring a memory back")
def restore_record(request: Request, memory_id: MemoryId) -> Response:
    """One that is archived, or deleted and not past its `hard_delete_at`; 409 otherwise."""
    return _record(core_of(request).retention.restore(source(request), memory_id))


@router.get("/{memory_id}/events", response_model=EventRecords, summary="The history of a memory")
def list_events(request: Request, memory_id: MemoryId) -> Response:
    """Oldest first; of one that is deleted for those who may restore it. What happened to one that is purged is told to
    admins, without a text or a name; of an entry of the companion nothing is.
    """
    return Json({"data": to_record(core_of(request).memories.events(source(request), memory_id))})


def source(request: Request) -> Principal:
    """Whom a request of this door acts as."""
    return caller(request, source="records")


def _record(memory: Memory) -> Response:
    return versioned(to_record(memory), memory)
