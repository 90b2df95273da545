"""The agent tools API: the tools themselves, and what an agent saw: messages, tool outputs and documents."""

import base64
import binascii
from typing import Annotated, Any, ClassVar
from urllib.parse import quote

from fastapi import APIRouter, Body, Query, Request
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticCustomError
from starlette.responses import Response

from memorist import tools
from memorist.errors import InvalidField
from memorist.ingestion.service import Message
from memorist.ingestion.values import TEXT_PARTS, UTC_OFFSET, Document, NotText, joined_text
from memorist.memories.values import Memory
from memorist.platform import access, validation
from memorist.platform.values import Owner, Principal
from memorist.surfaces.http.bodies import JsonBody, one_of
from memorist.surfaces.http.callers import caller, core_of
from memorist.surfaces.http.lists import Cursor, Limit, listed
from memorist.surfaces.http.responses import Json, whole
from memorist.surfaces.http.retries import IdempotencyKey, replay_headers
from memorist.surfaces.http.routes import DialectRoute
from memorist.surfaces.http.texts import (
    ANY_TEXT,
    JSON_VALUE,
    Base64,
    DocumentText,
    Identifier,
    JsonObject,
    Line,
    MediaType,
    Name,
    SessionWanted,
    text_schema,
)
from memorist.times import to_iso
from memorist.tools import Moment, MomentThere


class _Route(DialectRoute):
    words: ClassVar = {"session": "session_id"}


router = APIRouter(prefix="/v1", tags=["agent tools"], route_class=_Route)

# Ids of sessions and documents are the caller's own words, and may hold slashes: their paths say `:path`.

_SAID = text_schema(longest=validation.MAX_CONTENT)


def _joined_text(content: object) -> object:
    """The text of a content that comes in parts; anything else as it is."""
    try:
        return joined_text(content)
    except NotText as error:
        raise PydanticCustomError("content_part", "{said}", {"said": str(error)}) from error


Text = Annotated[
    str,
    BeforeValidator(_joined_text),
    WithJsonSchema(
        {
            "anyOf": [
                _SAID,
                {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["type", "text"],
                        "properties": {"type": {"enum": list(TEXT_PARTS)}, "text": ANY_TEXT},
                    },
                    "contains": {"properties": {"text": _SAID}},
                },
            ]
        }
    ),
]


def _joined_if_text(content: object) -> object:
    """The text of parts of which all are text; anything else as it is."""
    try:
        return _joined_text(content) if content else content
    except PydanticCustomError:
        return content


Output = Annotated[
    Any,
    BeforeValidator(_joined_if_text),
    WithJsonSchema({"anyOf": [text_schema(longest=validation.MAX_TOOL_OUTPUT, empty=True), *JSON_VALUE["anyOf"][2:]]}),
]


class NewMessage(JsonBody):
    role: Identifier = Field(description="Who speaks: `user`, `assistant`, `system`, `tool` or any other word.")
    content: Text = Field(description="What was said. Parts are joined with line breaks.")
    name: Name | None = Field(None, description="The speaker's name, where the role does not tell.")
    event_time: MomentThere | None = Field(None, description="When it was said. Absent: now.")
    meta: JsonObject | None = Field(None, description="Anything else to keep with it.")


class NewMessages(JsonBody):
    messages: list[NewMessage] = Field(
        min_length=1, max_length=validation.MAX_BATCH, description="In the order in which they were said."
    )
    extract: bool = Field(True, description="Find facts in them, in the background.")


class MessageRow(BaseModel):
    id: str
    role: str
    content: str
    name: str | None
    event_time: str | None
    meta: dict[str, Any]
    created_at: str


class MessageList(BaseModel):
    data: list[MessageRow]
    next_cursor: str | None
    has_more: bool


class StoredMessages(BaseModel):
    ids: list[str]
    session_id: str
    count: int


class NewToolOutput(JsonBody):
    tool_call_id: Line = Field(description="The id of the call, as the model gave it.")
    tool_name: Name
    content: Output = Field(
        description="What the tool returned: a text, or parts of it, which are joined; other JSON is kept as JSON text."
    )
    event_time: Moment | None = Field(None, description="When it returned. Absent: now.")


class StoredToolOutput(BaseModel):
    id: str
    tool_output_key: str
    preview: str
    truncated: bool


_NO_PDF = {"not": {"type": "string", "pattern": "^application/pdf"}}


class NewDocument(JsonBody):
    model_config = ConfigDict(json_schema_extra=one_of("content", "content_base64", media_type=_NO_PDF))

    title: Line = Field(description="One line. Without `document_id` it names the document that is replaced.")
    content: DocumentText | None = Field(None, description="The text. Either this or `content_base64`.")
    content_base64: Base64 | None = Field(None, description="The bytes of the file, for a PDF.")
    media_type: MediaType = Field(
        "text/plain", description="`text/plain`, `text/markdown`, `text/html` or `application/pdf`."
    )
    document_id: Identifier | None = Field(
        None, description="Your own name for it; a document of that name is replaced. Absent: one is made."
    )
    shared: bool | None = Field(
        None,
        description="true: for everybody in the tenant, where its policy lets users do that. Absent: with a service or "
        "admin key true, with a user's false.",
    )


class DocumentRow(BaseModel):
    document_id: str
    title: str
    media_type: str
    chunks: int
    shared: bool
    created_at: str
    updated_at: str


class StoredDocumentRow(DocumentRow):
    was_new: bool
    changed: bool


class WholeDocument(DocumentRow):
    content: str


class DocumentList(BaseModel):
    data: list[DocumentRow]
    next_cursor: str | None
    has_more: bool


class ToolList(BaseModel):
    tools: list[dict[str, Any]]


@router.get("/tools", response_model=ToolList, summary="The tools, as a model takes them")
def list_tools(
    request: Request,
    format: Annotated[tools.Format, Query(description="Whose shape the schemas have.")] = "openai",
) -> Response:
    """`tools` goes into a request to the model as it is."""
    _caller(request)
    return Json({"tools": tools.schemas(format)})


@router.post("/tools/{name}", summary="Run a tool")
def run_tool(
    request: Request,
    name: str,
    arguments: Annotated[dict[str, Any], Body(description="The arguments of the tool, as the model gave them.")],
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Answers with the tool's result, as the model is to read it.

    The body may also be a whole call: `{"name", "arguments"}`. A tenant among the arguments is ignored.
    """
    core, principal = core_of(request), _caller(request)
    with core.audit.acting("http", f"POST /v1/tools/{tools.get(name).name}", principal):
        outcome = tools.run(core, principal, name, arguments, idempotency_key=idempotency_key)
    return Json(outcome.result, 200, replay_headers(outcome.replayed))


@router.post(
    "/sessions/{session_id:path}/messages", status_code=201, response_model=StoredMessages, summary="Store messages"
)
def add_messages(
    request: Request, session_id: Identifier, new: NewMessages, idempotency_key: IdempotencyKey = None
) -> Response:
    """1 to 1,000 messages of a conversation, in their order, all or none. Each is a memory of its own."""
    messages = [Message(**dict(message)) for message in new.messages]
    stored = core_of(request).ingestion.add_messages(
        _caller(request, session_id), session_id, messages, extract=new.extract, idempotency_key=idempotency_key
    )
    ids = [one.memory.id for one in stored]
    answer = {"ids": ids, "session_id": session_id, "count": len(ids)}
    headers = replay_headers(stored[0].replayed)
    return whole(request, stored, 201, headers) or Json(answer, 201, headers)


@router.get("/sessions/{session_id:path}/messages", response_model=MessageList, summary="List messages of a session")
def list_messages(
    request: Request,
    session_id: SessionWanted,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> Response:
    """What was said in a conversation of yours, newest first, to whichever agent."""
    page = core_of(request).memories.turns(_caller(request), session_id, limit=limit, cursor=cursor)
    return whole(request, page) or listed(page, _message_row)


@router.post(
    "/sessions/{session_id:path}/tool-outputs",
    status_code=201,
    response_model=StoredToolOutput,
    summary="Store what a tool returned",
)
def add_tool_output(
    request: Request, session_id: Identifier, new: NewToolOutput, idempotency_key: IdempotencyKey = None
) -> Response:
    """Kept whole; recall searches and shows the preview. Show that to the model where `truncated` is true, with the
    key: `read_tool_output` brings back the rest.
    """
    stored = core_of(request).ingestion.add_tool_output(
        _caller(request, session_id), session_id, **dict(new), idempotency_key=idempotency_key
    )
    answer = {
        "id": stored.memory.id,
        "tool_output_key": stored.key,
        "preview": stored.preview,
        "truncated": stored.truncated,
    }
    headers = replay_headers(stored.replayed)
    return whole(request, stored, 201, headers) or Json(answer, 201, headers)


@router.post("/documents", status_code=201, response_model=StoredDocumentRow, summary="Store a document")
def add_document(request: Request, new: NewDocument) -> Response:
    """In place of the one with its `document_id` or, without an id, its title. Cut into chunks, which recall finds.

    `was_new` and `changed` tell what happened; sending the same document again changes nothing. The body, and so the
    document, is at most `body_limit` bytes.
    """
    content = _content(new)
    if new.content_base64 is not None:
        request.state.words = {"content": "content_base64"}
    stored = core_of(request).ingestion.add_document(
        _caller(request),
        title=new.title,
        content=content,
        media_type=new.media_type,
        document_id=new.document_id,
        shared=new.shared,
    )
    answer = {**_row(stored.document), "was_new": stored.was_new, "changed": stored.changed}
    headers = {"Location": f"{router.prefix}/documents/{quote(stored.document.id)}"}
    return whole(request, stored, 201, headers) or Json(answer, 201, headers)


@router.get("/documents", response_model=DocumentList, summary="List documents")
def list_documents(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=validation.MAX_DOCUMENT_PAGE, description="How many rows a page has.")] = 20,
    cursor: Cursor = None,
) -> Response:
    """Yours and those that are shared, by their ids, without their text."""
    page = core_of(request).ingestion.list_documents(_caller(request), limit=limit, cursor=cursor)
    return whole(request, page) or listed(page, _row)


@router.get("/documents/{document_id:path}", response_model=WholeDocument, summary="Read a document")
def read_document(request: Request, document_id: Identifier) -> Response:
    """With the text that its chunks were cut from."""
    document = core_of(request).ingestion.get_document(_caller(request), document_id)
    return whole(request, document) or Json({**_row(document), "content": document.content})


@router.delete("/documents/{document_id:path}", status_code=204, summary="Delete a document")
def delete_document(request: Request, document_id: Identifier) -> Response:
    """Gone with all of its chunks, from every recall, at once."""
    document = core_of(request).ingestion.forget_document(_caller(request), document_id)
    return whole(request, document) or Response(status_code=204)


def _content(new: NewDocument) -> str | bytes:
    if (new.content is None) == (new.content_base64 is None):
        raise InvalidField("content or content_base64 is needed, and not both.", field="content")
    if new.content_base64 is None:
        assert new.content is not None
        return new.content
    try:
        return base64.b64decode("".join(new.content_base64.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidField.of("content_base64", "is not Base64.") from error


def _message_row(memory: Memory) -> dict[str, Any]:
    told_apart = {UTC_OFFSET, *(name for name in ("role", "speaker") if memory.meta_text(name) is not None)}
    return {
        "id": memory.id,
        "role": memory.meta_text("role") or "user",
        "content": memory.content,
        "name": memory.meta_text("speaker"),
        "event_time": None if memory.event_time is None else to_iso(memory.event_time),
        "meta": {name: value for name, value in (memory.meta or {}).items() if name not in told_apart},
        "created_at": to_iso(memory.created_at),
    }


def _row(document: Document) -> dict[str, Any]:
    return {
        "document_id": document.id,
        "title": document.title,
        "media_type": document.media_type,
        "chunks": document.chunks,
        "shared": document.owner == Owner(),
        "created_at": to_iso(document.created_at),
        "updated_at": to_iso(document.updated_at),
    }


def _caller(request: Request, session: str | None = None) -> Principal:
    principal = caller(request, source="agent_tools")
    return principal if session is None else access.acting(principal, session=session)
