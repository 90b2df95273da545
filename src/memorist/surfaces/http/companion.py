"""The companion API: what is remembered of one user, added to and read, never changed; and findings about them."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import PlainTextResponse, Response

from memorist.context.companion import Category, Finding, FindingVerdict
from memorist.memories.governance import TESTED
from memorist.memories.values import Governor, Memory
from memorist.platform.values import Principal
from memorist.surfaces.http.bodies import JsonBody
from memorist.surfaces.http.callers import caller, core_of
from memorist.surfaces.http.lists import Cursor, Limit, listed
from memorist.surfaces.http.responses import Json, whole
from memorist.surfaces.http.retries import IdempotencyKey, replay_headers
from memorist.surfaces.http.routes import BadRequestRoute
from memorist.surfaces.http.texts import EntryText, Identifier, Integer64, Line, MemoryId, TurnId
from memorist.times import to_iso
from memorist.tools import Moment

router = APIRouter(prefix="/v1", tags=["companion"], route_class=BadRequestRoute)

CategoryName = Literal["goal", "insight", "preference", "history"]
ListedCategory = Literal["goal", "insight", "preference", "history", "tested_hypothesis"]
Verdict = Literal["validated", "conditional", "rejected"]


class NewEntry(JsonBody):
    text: EntryText = Field(description="The memory itself: a sentence or two, at most 500 characters.")
    category: CategoryName
    confidence: float = Field(1.0, ge=0, le=1, description="How certain it is that the user meant it so.")


class NewFinding(JsonBody):
    finding_id: Identifier = Field(description="Yours; the same finding is recorded once.")
    feature: Line = Field(description="What was looked at, such as `espressos_after_2pm`.")
    target: Line = Field(description="What it was held against, such as `deep_sleep_minutes`.")
    verdict: Verdict
    effect: Line | Integer64 | float = Field(
        description="How strong it is: a number, or your words, such as `ρ=-0.34, N=87`."
    )
    text: EntryText = Field(description="The hypothesis as a sentence, at most 500 characters.")
    source_turn_id: TurnId | None = Field(
        None, description="The turn that it was tested for, which then tells the verdict."
    )


class FindingMeta(BaseModel):
    finding_id: str
    feature: str
    target: str
    verdict: str
    effect: str | int | float


class Entry(BaseModel):
    id: str
    text: str
    category: str
    created_at: str
    source_turn_id: str | None
    confidence: float | None
    meta: FindingMeta | None


class Entries(BaseModel):
    data: list[Entry]
    next_cursor: str | None
    has_more: bool


class RecordedFinding(BaseModel):
    finding_id: str
    was_new: bool
    tested_hypothesis: Entry
    insight: Entry | None


class InjectedSummary(BaseModel):
    summary: str
    injected: str
    entries: int


@router.get("/memory", response_model=Entries, summary="List what is remembered of the user")
def list_entries(
    request: Request,
    category: Annotated[
        ListedCategory | None, Query(description="Only this category; `tested_hypothesis` goes with `include`.")
    ] = None,
    after: Annotated[Moment | None, Query(description="Only what was written after this time.")] = None,
    before: Annotated[Moment | None, Query(description="Only what was written before this time.")] = None,
    include: Annotated[Literal["tested_hypothesis"] | None, Query(description="Tested hypotheses too.")] = None,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> Response:
    """Newest first. Only the user's own, whatever the role of the key."""
    page = core_of(request).companion.list(
        _caller(request),
        category=category,
        after=after,
        before=before,
        include_tested=include == TESTED,
        limit=limit,
        cursor=cursor,
    )
    return whole(request, page) or listed(page, encode)


@router.post("/memory", status_code=201, response_model=Entry, summary="Remember something of the user")
def add_entry(request: Request, new: NewEntry, idempotency_key: IdempotencyKey = None) -> Response:
    """Entries are only ever added: to correct one, write a new one and delete the old one."""
    stored = core_of(request).companion.add(
        _caller(request),
        new.text,
        Category(new.category),
        confidence=new.confidence,
        idempotency_key=idempotency_key,
    )
    headers = replay_headers(stored.replayed)
    return whole(request, stored, 201, headers) or Json(encode(stored.memory), 201, headers)


@router.get(
    "/memory/summary",
    response_model=InjectedSummary,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    summary="What a turn would be told",
)
def summary(request: Request) -> Response:
    """What a model reads at the start of every turn: the newest 80 entries, as far as there is room for them, and what
    else is known of the user; as plain text where that is accepted.
    """
    found = core_of(request).composer.summary(_caller(request))
    if (told := whole(request, found)) is not None:
        return told
    if "text/plain" in request.headers.get("accept", ""):
        return PlainTextResponse(found.fenced)
    return Json({"summary": found.text, "injected": found.fenced, "entries": found.entries})


@router.delete("/memory/{memory_id}", status_code=204, summary="Erase a memory")
def erase_entry(request: Request, memory_id: MemoryId) -> Response:
    """At once and for good: no tombstone, no undo."""
    core_of(request).companion.erase(_caller(request), memory_id)
    return Response(status_code=204)


@router.post("/findings", status_code=201, response_model=RecordedFinding, summary="Record a tested hypothesis")
def add_finding(request: Request, new: NewFinding) -> Response:
    """One `tested_hypothesis` for each finding; a validated one is written as an `insight` too."""
    fields = new.model_dump() | {"verdict": FindingVerdict(new.verdict)}
    recorded = core_of(request).turns.record(_caller(request), Finding(**fields))
    return whole(request, recorded, 201) or Json(
        {
            "finding_id": new.finding_id,
            "was_new": recorded.was_new,
            "tested_hypothesis": encode(recorded.tested),
            "insight": None if recorded.insight is None else encode(recorded.insight),
        },
        201,
    )


def encode(memory: Memory) -> dict[str, Any]:
    """A memory in the words of this API."""
    finding: dict[str, Any] = {name: memory.meta_text(name) for name in FindingMeta.model_fields if name != "effect"}
    finding |= {"effect": memory.meta_value("effect")}
    is_finding = memory.category in (Category.INSIGHT, TESTED) and None not in finding.values()
    # What a turn learned is the companion's own; through another door anybody may name any source.
    source = memory.source_ref or "" if memory.governed_by is Governor.COMPANION else ""
    return {
        "id": memory.id,
        "text": memory.content,
        "category": memory.category,
        "created_at": to_iso(memory.created_at),
        "source_turn_id": source if source.startswith("turn_") else None,
        "confidence": memory.confidence,
        "meta": finding if is_finding else None,
    }


def _caller(request: Request) -> Principal:
    return caller(request, source="companion")
