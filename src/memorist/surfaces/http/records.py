"""All memories in one list: whatever API wrote them, with every field that the library shows."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel
from starlette.responses import Response

from memorist.memories.records import memory_to_record
from memorist.memories.values import Kind, Memory, Order, Status
from memorist.surfaces.http.callers import caller, core_of
from memorist.surfaces.http.responses import Json

router = APIRouter(prefix="/v1/records", tags=["all memories"])

KindName = Literal["fact", "chat_message", "tool_output", "document_chunk"]
StatusName = Literal["active", "archived", "soft_deleted", "hard_delete_pending", "purged"]
OrderName = Literal["newest", "importance"]

# What the store compares texts by is nobody's business outside of it.
_INTERNAL = ("content_hash", "dedup_key")


class MemoryRecord(BaseModel):
    id: str
    user: str | None
    agent: str | None
    session: str | None
    project: str | None
    kind: str
    category: str | None
    name: str | None
    description: str | None
    content: str
    excerpt: str | None
    importance: int
    confidence: float | None
    relevance: float | None
    meta: dict[str, Any] | None
    source_ref: str | None
    trust: str
    status: str
    retention: str
    superseded_by: str | None
    created_at: str
    updated_at: str
    event_time: str | None
    valid_from: str | None
    valid_to: str | None
    archive_at: str | None
    retention_expires_at: str | None
    expires_at: str | None
    deleted_at: str | None
    hard_delete_at: str | None
    anonymized_at: str | None
    access_count: int
    last_accessed_at: str | None
    version: str


class MemoryRecords(BaseModel):
    data: list[MemoryRecord]
    next_cursor: str | None
    has_more: bool


@router.get("", response_model=MemoryRecords, summary="List memories of every kind")
def list_records(
    request: Request,
    agent: Annotated[str | None, Query(description="See what this agent sees, instead of all of yours.")] = None,
    named: Annotated[bool, Query(description="Only memories that have a name.")] = False,
    kind: Annotated[KindName | None, Query(description="Only memories of this kind.")] = None,
    category: Annotated[str | None, Query(description="Only memories of this category.")] = None,
    project: Annotated[str | None, Query(description="Only memories of this project.")] = None,
    session: Annotated[str | None, Query(description="Only memories of this session.")] = None,
    status: Annotated[StatusName, Query(description="Where they stand in their life.")] = "active",
    order: Annotated[OrderName, Query(description="What comes first; `importance` is for named memories.")] = "newest",
    limit: Annotated[int, Query(ge=1, le=100, description="How many rows a page has.")] = 20,
    cursor: Annotated[str | None, Query(description="`next_cursor` of the page before.")] = None,
) -> Response:
    """Yours and those that are shared with you, whichever API wrote them, in the fields of the library. `version` goes
    back as `If-Match`, in quotes.
    """
    page = core_of(request).memories.list(
        caller(request, source="records"),
        agent=agent,
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
    rows = [_encode(memory) for memory in page.items]
    return Json({"data": rows, "next_cursor": page.next_cursor, "has_more": page.next_cursor is not None})


def _encode(memory: Memory) -> dict[str, Any]:
    record = {name: value for name, value in memory_to_record(memory).items() if name not in _INTERNAL}
    return {**record, "version": memory.version}
