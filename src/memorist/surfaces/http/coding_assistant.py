"""The coding-assistant API: memory chunks of a project, searched by substring, and loaded when a session starts."""

from typing import Annotated, Any, ClassVar, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from memorist.context.chunks import MAX_FOUND, MAX_RECENT, relevance_of
from memorist.context.section import fenced_chunks, format_chunks
from memorist.core import Core
from memorist.errors import InvalidField, InvalidId
from memorist.ids import to_uuid
from memorist.learning.transcript_files import short_enough
from memorist.memories.fields import project_of
from memorist.memories.values import Memory
from memorist.platform.values import Principal
from memorist.surfaces.http.bodies import JsonBody, one_of
from memorist.surfaces.http.callers import caller, core_of
from memorist.surfaces.http.responses import Json
from memorist.surfaces.http.retries import IdempotencyKey, replay_headers
from memorist.surfaces.http.routes import BadRequestRoute
from memorist.surfaces.http.texts import (
    Content,
    EmptyIdentifier,
    EmptyLine,
    EmptyQuery,
    Excerpt,
    MemoryId,
    Transcript,
    Wanted,
)
from memorist.times import to_iso_millis


class _Route(BadRequestRoute):
    words: ClassVar = {
        "category": "chunkType",
        "excerpt": "sourceExcerpt",
        "min_relevance": "minRelevance",
        "project": "projectPath",
        "relevance": "relevanceScore",
        "session": "sessionId",
        "transcript_path": "transcriptPath",
    }


router = APIRouter(prefix="/api/memory", tags=["coding assistant"], route_class=_Route)

ChunkType = Literal["decision", "fact", "solution", "pattern", "preference", "summary"]


class NewChunk(JsonBody):
    content: Content = Field(description="The memory text.")
    chunkType: ChunkType
    sessionId: EmptyIdentifier | None = Field(None, description="The assistant's session that it comes from.")
    projectPath: EmptyLine | None = Field(None, description="The project that it is about.")
    sourceExcerpt: Excerpt | None = Field(None, description="What was said, word for word.")
    relevanceScore: float = Field(1.0, ge=0, le=1)


class TranscriptBody(JsonBody):
    model_config = ConfigDict(json_schema_extra=one_of("transcript", "transcriptPath", none=(None, "")))

    transcript: Transcript | None = Field(
        None, description="The conversation itself. Exactly one of this and `transcriptPath`."
    )
    transcriptPath: Wanted | None = Field(
        None, description="A file on the server, below a folder of MEMORIST_TRANSCRIPT_ROOTS."
    )
    sessionId: EmptyIdentifier | None = Field(None, description="The assistant's session that it is of.")
    projectPath: EmptyLine | None = Field(None, description="The project that it is about.")


class ChunkRow(BaseModel):
    id: str
    sessionId: str | None
    projectPath: str | None
    chunkType: str
    content: str
    sourceExcerpt: str | None
    relevanceScore: float
    accessCount: int
    lastAccessedAt: str | None
    createdAt: str


class FoundChunks(BaseModel):
    data: list[ChunkRow]


class LoadedChunks(BaseModel):
    memories: list[ChunkRow]
    formatted: str
    fenced: str


class LoadedContext(BaseModel):
    data: LoadedChunks


class Stored(BaseModel):
    data: ChunkRow
    wasNew: bool


class ExtractedChunks(BaseModel):
    data: list[ChunkRow]
    message: str
    waiting: int


class Success(BaseModel):
    success: bool


class Deleted(BaseModel):
    data: Success


@router.get("/search", response_model=FoundChunks, summary="Search memories by text")
def search(
    request: Request,
    query: Annotated[EmptyQuery, Query(description="Text to find in `content` or `sourceExcerpt`, in any case.")] = "",
    projectPath: Annotated[Wanted | None, Query(description="Only this project.")] = None,
    chunkType: Annotated[ChunkType | None, Query(description="Only this type.")] = None,
    minRelevance: Annotated[float, Query(ge=0, le=1, description="Only from this relevance on.")] = 0.0,
    limit: Annotated[int, Query(ge=1, description=f"Most memories; {MAX_FOUND} at most.")] = 20,
) -> Response:
    """Newest first. `%` and `_` stand for themselves. Every memory that is found counts as accessed."""
    found = core_of(request).chunks.search(
        _caller(request),
        query,
        project=projectPath,
        category=chunkType,
        min_relevance=minRelevance,
        limit=min(limit, MAX_FOUND),
    )
    return Json({"data": [encode(memory) for memory in found]})


@router.get("/context", response_model=LoadedContext, summary="What a session should begin with")
def context(
    request: Request,
    project: Annotated[
        Wanted | None, Query(description="Only this project path, and those of the folders above it.")
    ] = None,
    limit: Annotated[int, Query(ge=1, description=f"Most memories; {MAX_RECENT} at most.")] = 5,
) -> Response:
    """Of the newest memories the most relevant: as rows, as text grouped by type, and as that text in a fence."""
    request.state.words = {}  # Here the project has its own name.
    found = core_of(request).chunks.recent(_caller(request), project=project, limit=min(limit, MAX_RECENT))
    rows = [encode(memory) for memory in found]
    return Json({"data": {"memories": rows, "formatted": format_chunks(found), "fenced": fenced_chunks(found)}})


@router.post("/store", status_code=201, response_model=Stored, summary="Store a memory")
def store(request: Request, new: NewChunk, idempotency_key: IdempotencyKey = None) -> Response:
    """What is already there, of the same type and project, is not stored again: its row takes the score and, where they
    are sent, the session and the excerpt, and `wasNew` is false.
    """
    stored = core_of(request).chunks.remember(
        _caller(request),
        new.content,
        new.chunkType,
        session=new.sessionId,
        project=new.projectPath,
        excerpt=new.sourceExcerpt,
        relevance=new.relevanceScore,
        idempotency_key=idempotency_key,
    )
    answer = {"data": encode(stored.memory), "wasNew": stored.was_new}
    return Json(answer, 201, replay_headers(stored.replayed))


@router.post("/extract", response_model=ExtractedChunks, summary="Extract memories from a conversation")
def extract(request: Request, new: TranscriptBody) -> Response:
    """The conversation is stored first, then what is worth remembering of it: `data` is what is new.

    `waiting` counts parts that the language model could not read now: the local extractor read them, the model is
    asked again later, and nothing is lost.
    """
    core, principal = core_of(request), _caller(request)
    found = core.extraction.read_transcript(
        principal, _transcript(core, principal, new), session=new.sessionId, project=new.projectPath
    )
    rows = [encode(one.memory) for one in found.memories if one.was_new]
    return Json({"data": rows, "message": _message(len(rows), found.waiting), "waiting": found.waiting})


@router.delete("", response_model=Deleted, summary="Delete a memory without naming it")
def delete_nothing(request: Request) -> Response:
    """Always 400: the id is missing."""
    return delete(request, "")


@router.delete("/{id:path}", response_model=Deleted, summary="Delete a memory")
def delete(request: Request, id: MemoryId, idempotency_key: IdempotencyKey = None) -> Response:
    """Gone from every list at once. 400 where the id is missing or malformed, 404 where there is no such memory."""
    principal = _caller(request)
    if not id:
        raise InvalidId("The id is missing: DELETE /api/memory/ and the memory's UUID.")
    core_of(request).memories.forget(principal, id, idempotency_key=idempotency_key)
    return Json({"data": {"success": True}})


def encode(memory: Memory) -> dict[str, Any]:
    """A memory in the words of this API."""
    return {
        "id": str(to_uuid(memory.id)),
        "sessionId": memory.session or memory.meta_text("session_id"),
        "projectPath": project_of(memory),
        "chunkType": memory.category,
        "content": memory.content,
        "sourceExcerpt": memory.excerpt,
        "relevanceScore": relevance_of(memory),
        "accessCount": memory.access_count,
        "lastAccessedAt": None if memory.last_accessed_at is None else to_iso_millis(memory.last_accessed_at),
        "createdAt": to_iso_millis(memory.created_at),
    }


def _transcript(core: Core, principal: Principal, new: TranscriptBody) -> str:
    """What is to be read. An empty text is none: whoever sends it beside a path means the path."""
    sent, path = (new.transcript or "").strip(), new.transcriptPath or ""
    if sent and path:
        raise InvalidField(
            "transcript and transcriptPath cannot both be given: send the text or its path.", field="transcriptPath"
        )
    if path:
        return core.transcript_files.read(principal, path)
    if not sent:
        field = "transcript" if new.transcriptPath is None else "transcriptPath"
        raise InvalidField("transcript or transcriptPath is needed, and not empty.", field=field)
    return short_enough("transcript", new.transcript or "")


def _message(count: int, waiting: int) -> str:
    if count:
        return f"Extracted {count} {'memory' if count == 1 else 'memories'}"
    return "No memories extracted yet: it is tried again later" if waiting else "No memories worth extracting"


def _caller(request: Request) -> Principal:
    return caller(request, source="coding_assistant")
