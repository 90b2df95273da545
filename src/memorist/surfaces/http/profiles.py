"""The profile API: typed, named memories of (user, profile), and the memory section for a system prompt."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import PlainTextResponse, Response
from typing_extensions import TypedDict

from memorist.ids import known_id
from memorist.memories.values import Draft, Memory, Order
from memorist.platform import access
from memorist.platform.values import Owner, Principal
from memorist.surfaces.http.bodies import JsonBody
from memorist.surfaces.http.callers import caller, core_of, promptly
from memorist.surfaces.http.etags import IfMatch, expected_version, unchanged, versioned
from memorist.surfaces.http.lists import Cursor, Limit, listed
from memorist.surfaces.http.responses import Json
from memorist.surfaces.http.retries import IdempotencyKey, replay_headers
from memorist.surfaces.http.routes import DialectRoute, DirectRoute
from memorist.surfaces.http.texts import Content, EmptyLine, Identifier, Integer32, ProfileMemoryId, Slug
from memorist.times import to_iso

# What the core calls it, and what this API does.
_WORDS = {"category": "type", "content": "body", "agent": "profile_id"}


class _Route(DialectRoute):
    words = _WORDS
    refuses_unknown = True


class _DirectRoute(DirectRoute):
    refuses_unknown = True


router = APIRouter(prefix="/v1/memories", tags=["profile memory"], route_class=_Route)
# Matched before the other routes, in this order: the first because its path looks like an id, the second because it is
# asked most.
section = APIRouter(prefix=router.prefix, tags=["profile memory"], route_class=_Route)
direct = APIRouter(prefix=router.prefix, tags=["profile memory"], route_class=_DirectRoute)
routers = (section, direct, router)

MemoryType = Literal["user", "feedback", "project", "reference"]
Profile = Annotated[Identifier | None, Query(description="See what this profile sees.")]


class NewProfileMemory(JsonBody):
    type: MemoryType
    name: Slug = Field(description="A slug, unique in its profile.", examples=["feedback_no_db_mocking"])
    description: EmptyLine = Field("", description="One line, shown in the memory section.")
    body: Content = Field(description="The content, as Markdown.")
    importance: Integer32 = Field(0, description="An ordering hint: higher comes first.")
    profile_id: Identifier | None = Field(
        None, description="Absent: the caller's profile. null: shared by all profiles, for admin keys only."
    )


class MemoryChanges(TypedDict, total=False):
    """Any of these, none of them null but `profile_id`: that shares the row with all profiles, for admin keys only."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)  # type: ignore[misc]

    type: MemoryType
    name: Slug
    description: EmptyLine
    body: Content
    importance: Integer32
    profile_id: None


class ProfileMemoryRow(BaseModel):
    id: str
    user_id: str | None
    profile_id: str | None
    type: str | None
    name: str | None
    description: str | None
    body: str
    importance: int
    created_at: str
    updated_at: str
    last_accessed_at: str | None


class MemoryList(BaseModel):
    data: list[ProfileMemoryRow]
    next_cursor: str | None
    has_more: bool


class MemorySection(BaseModel):
    profile_id: str | None
    section: str
    count: int


@router.get("", response_model=MemoryList, summary="List memories")
def list_memories(
    request: Request,
    profile_id: Profile = None,
    name: Annotated[Slug | None, Query(description="Only memories of this name.")] = None,
    type: Annotated[MemoryType | None, Query(description="Only memories of this type.")] = None,
    sort: Annotated[Literal["importance", "created"], Query(description="What comes first.")] = "importance",
    limit: Limit = 20,
    cursor: Cursor = None,
) -> Response:
    """Your rows across all profiles or, with `profile_id`, what that profile sees. The most important come first."""
    page = core_of(request).memories.list(
        _caller(request),
        agent=profile_id,
        every_agent=True,
        named=True,
        name=name,
        category=type,
        order=Order.IMPORTANCE if sort == "importance" else Order.NEWEST,
        limit=limit,
        cursor=cursor,
    )
    return listed(page, encode)


@router.post("", status_code=201, response_model=ProfileMemoryRow, summary="Create a memory")
def create_memory(request: Request, new: NewProfileMemory, idempotency_key: IdempotencyKey = None) -> Response:
    """A name that exists in the profile is a conflict (409); change that row with PATCH."""
    principal = _caller(request)
    draft = Draft(
        content=new.body,
        category=new.type,
        name=new.name,
        description=new.description,
        importance=new.importance,
        owner=_owner(principal, new),
    )
    result = core_of(request).memories.remember(principal, [draft], idempotency_key=idempotency_key)[0]
    headers = {"Location": f"{router.prefix}/{result.memory.id}", **replay_headers(result.replayed)}
    return versioned(encode(result.memory), result.memory, 201, headers)


@section.get(
    "/section",
    response_model=MemorySection,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    summary="The memory section of a profile",
)
def memory_section(request: Request, profile_id: Profile = None) -> Response:
    """All descriptions of a profile, or of what is of none, as one fenced block for a system prompt; as plain text
    where that is accepted.
    """
    found = core_of(request).composer.section(_caller(request), profile_id)
    if "text/plain" in request.headers.get("accept", ""):
        return PlainTextResponse(found.text)
    return Json({"profile_id": profile_id, "section": found.text, "count": found.count})


@direct.get(
    "/{memory_id}",
    response_model=ProfileMemoryRow,
    responses={
        200: {"headers": {"ETag": {"schema": {"type": "string"}, "description": "The version of the memory."}}},
        304: {"description": "The version that If-None-Match names is still the current one."},
    },
    summary="Read a memory",
)
async def read_memory(request: Request, memory_id: ProfileMemoryId) -> Response:
    """The whole row; its `last_accessed_at` moves. With `If-None-Match`, 304 where it did not change."""
    memory_id = known_id("mem", memory_id)
    memory = await promptly(request, lambda: core_of(request).memories.get(_caller(request), memory_id))
    return unchanged(request, memory) or versioned(encode(memory), memory)


@router.patch("/{memory_id}", response_model=ProfileMemoryRow, summary="Change a memory")
def change_memory(
    request: Request,
    memory_id: ProfileMemoryId,
    changes: MemoryChanges,
    idempotency_key: IdempotencyKey = None,
    if_match: IfMatch = None,
) -> Response:
    """Only the fields that are sent change. What was said, returned by a tool or uploaded is kept verbatim (409). A row
    that all profiles share is changed by its user and by admins, not by an agent's key (403).
    """
    principal = _caller(request)
    memory_id = known_id("mem", memory_id)
    memory = core_of(request).memories.edit(
        principal,
        memory_id,
        _renamed({name: value for name, value in changes.items() if name != "profile_id"}),
        share="profile_id" in changes,
        expected_version=expected_version(if_match),
        idempotency_key=idempotency_key,
    )
    return versioned(encode(memory), memory)


@router.delete("/{memory_id}", status_code=204, summary="Delete a memory")
def delete_memory(
    request: Request, memory_id: ProfileMemoryId, idempotency_key: IdempotencyKey = None, if_match: IfMatch = None
) -> Response:
    """Gone from every list at once. One that all profiles share is not an agent's key's to delete (403)."""
    core_of(request).memories.forget(
        _caller(request),
        known_id("mem", memory_id),
        expected_version=expected_version(if_match),
        idempotency_key=idempotency_key,
    )
    return Response(status_code=204)


def encode(memory: Memory) -> dict[str, Any]:
    """A memory in the words of this API."""
    return {
        "id": memory.id,
        "user_id": memory.owner.user,
        "profile_id": memory.owner.agent,
        "type": memory.category,
        "name": memory.name,
        "description": memory.description,
        "body": memory.content,
        "importance": memory.importance,
        "created_at": to_iso(memory.created_at),
        "updated_at": to_iso(memory.updated_at),
        "last_accessed_at": None if memory.last_accessed_at is None else to_iso(memory.last_accessed_at),
    }


def _renamed(changes: Mapping[str, Any]) -> dict[str, Any]:
    core_names = {word: name for name, word in _WORDS.items()}
    return {core_names.get(name, name): value for name, value in changes.items()}


def _owner(principal: Principal, new: NewProfileMemory) -> Owner:
    access.require_user(principal)  # A row may be of no profile, and never of nobody.
    if "profile_id" not in new.model_fields_set:
        return access.usual_profile(principal)
    return Owner(principal.user, new.profile_id)


def _caller(request: Request) -> Principal:
    return caller(request, source="profiles")
