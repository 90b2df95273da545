"""Turns of the companion API: asked as JSON, answered whole or as server-sent events that can be read again."""

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from fastapi import APIRouter, Header, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from memorist.errors import InvalidField
from memorist.ingestion.service import Message
from memorist.surfaces.http.bodies import JsonBody
from memorist.surfaces.http.callers import caller, core_of
from memorist.surfaces.http.lists import Cursor, Limit, listed
from memorist.surfaces.http.responses import Json, whole
from memorist.surfaces.http.retries import IdempotencyKey, replay_headers
from memorist.surfaces.http.routes import BadRequestRoute
from memorist.surfaces.http.texts import Content, EventNumber, Identifier, TurnId
from memorist.times import to_iso
from memorist.turns.listening import Listener
from memorist.turns.service import MAX_MESSAGES
from memorist.turns.values import Turn, TurnEvent


class _Route(BadRequestRoute):
    words: ClassVar = {"session": "context.session_id"}


router = APIRouter(prefix="/v1/turns", tags=["companion"], route_class=_Route)

_EVENTS = "text/event-stream"
_POLL_SECONDS = 0.25
_HEARTBEAT_SECONDS = 15.0
_SEND_SECONDS = 30.0
_MOST_EVENTS = 1000

_STREAMED: dict[int | str, dict[str, Any]] = {200: {"content": {_EVENTS: {"schema": {"type": "string"}}}}}


class TurnMessage(JsonBody):
    role: Literal["user", "assistant", "system"]
    content: Content


class TurnContext(JsonBody):
    include_memory: bool = Field(True, description="Whether the model is told what is remembered of the user.")
    session_id: Identifier | None = Field(None, description="The conversation that the messages are of.")


class NewTurn(JsonBody):
    messages: list[TurnMessage] = Field(
        max_length=MAX_MESSAGES,
        json_schema_extra={"minItems": 1},
        description="The conversation so far, ending with the user's message.",
    )
    context: TurnContext | None = None
    stream: bool = Field(False, description="Answer with events, as `Accept: text/event-stream` asks for.")


class TurnResult(BaseModel):
    answer: str


class TurnProblem(BaseModel):
    code: str
    message: str


class TurnRow(BaseModel):
    id: str
    status: Literal["running", "completed", "failed"]
    session_id: str
    created_at: str
    completed_at: str | None
    result: TurnResult | None
    error: TurnProblem | None
    input_tokens: int
    output_tokens: int
    cost_usd: float | None


class TurnList(BaseModel):
    data: list[TurnRow]
    next_cursor: str | None
    has_more: bool


class TurnEventRow(BaseModel):
    id: int
    event: str
    data: dict[str, Any]
    created_at: str


class TurnEventList(BaseModel):
    data: list[TurnEventRow]
    has_more: bool


@router.post(
    "",
    status_code=201,
    response_model=TurnRow,
    responses={201: {"content": {_EVENTS: {"schema": {"type": "string"}}}}},
    summary="Take a turn",
)
async def take_turn(request: Request, new: NewTurn, idempotency_key: IdempotencyKey = None) -> Response:
    """The messages, with what is remembered, go to the language model; its answer is stored and learned from.

    Answers when the turn is over, `failed` turns too; or at once with a stream of its events. A client that goes away
    has half a minute to come back by `GET /v1/turns/{id}/events`; then the turn is ended.
    """
    principal = caller(request, source="companion")
    turns = core_of(request).turns
    turn = await asyncio.to_thread(
        turns.start,
        principal,
        [Message(one.role, one.content) for one in new.messages],
        include_memory=new.context is None or new.context.include_memory,
        session=None if new.context is None else new.context.session_id,
        idempotency_key=idempotency_key,
    )
    headers = {"Location": f"{router.prefix}/{turn.id}", **replay_headers(turn.replayed)}
    woken, wake = _alarm()
    listener = await asyncio.to_thread(turns.listen, principal, turn.id, 0, wake=wake)
    if new.stream or _wants_events(request):
        return TurnStream(listener, woken, 201, headers)
    return TurnAnswer(listener, woken, lambda: turns.get(principal, turn.id), headers)


@router.get("", response_model=TurnList, summary="List turns")
def list_turns(
    request: Request,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> Response:
    """Newest first."""
    page = core_of(request).turns.list(caller(request, source="companion"), limit=limit, cursor=cursor)
    return whole(request, page) or listed(page, encode)


@router.get("/{turn_id}", response_model=TurnRow, summary="Read a turn")
def read_turn(request: Request, turn_id: TurnId) -> Response:
    """How it stands, and what came of it."""
    turn = core_of(request).turns.get(caller(request, source="companion"), turn_id)
    return whole(request, turn) or Json(encode(turn))


@router.get("/{turn_id}/events", response_model=TurnEventList, responses=_STREAMED, summary="The events of a turn")
async def read_events(
    request: Request,
    turn_id: TurnId,
    last_event_id: Annotated[
        EventNumber | None, Header(description="The `id` of the last event that was received: go on after it.")
    ] = None,
    after: Annotated[
        EventNumber | None, Query(description="The same, for clients that cannot send the header.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=_MOST_EVENTS, description="How many events are listed.")] = _MOST_EVENTS,
) -> Response:
    """As server-sent events where they are asked for, until the turn is over; as a list of those so far otherwise."""
    position = _position(last_event_id or after)
    principal = caller(request, source="companion")
    core = core_of(request)
    if _wants_events(request):
        request.state.share.follow(principal)
        woken, wake = _alarm()
        listener = await asyncio.to_thread(core.turns.listen, principal, turn_id, position, wake=wake)
        return TurnStream(listener, woken, 200)
    found = await asyncio.to_thread(core.turns.events, principal, turn_id, position, limit=limit + 1)
    return Json({"data": [encode_event(event) for event in found[:limit]], "has_more": len(found) > limit})


class _Following(Response, ABC):
    """Follows a turn until it is over or the client is gone."""

    def __init__(
        self, listener: Listener, woken: asyncio.Event, status: int, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status_code=status, headers={"X-Accel-Buffering": "no", **(headers or {})})
        del self.headers["content-length"]
        self._listener = listener
        self._woken = woken

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        tasks = [asyncio.create_task(self._respond(send)), asyncio.create_task(_until_gone(receive))]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._listener.close()
            for task in tasks:
                task.cancel()
            outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        if isinstance(outcomes[0], Exception):
            raise outcomes[0]

    @abstractmethod
    async def _respond(self, send: Send) -> None: ...

    async def _next(self) -> list[TurnEvent]:
        """What is new; nothing where nothing came for a moment."""
        self._woken.clear()
        found = await asyncio.to_thread(self._listener.read)
        if not found and not self._listener.is_over:
            try:
                await asyncio.wait_for(self._woken.wait(), _POLL_SECONDS)
            except TimeoutError:
                pass
        return found


class TurnStream(_Following):
    media_type = _EVENTS

    async def _respond(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        quiet = 0.0
        loop = asyncio.get_running_loop()
        last = loop.time()
        while not self._listener.is_over:
            found = await self._next()
            quiet = loop.time() - last
            if found:
                await self._send(send, "".join(map(_sse, found)))
                last = loop.time()
            elif quiet > _HEARTBEAT_SECONDS:
                await self._send(send, ": still here\n\n")
                last = loop.time()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send(self, send: Send, piece: str) -> None:
        message = {"type": "http.response.body", "body": piece.encode(), "more_body": True}
        await asyncio.wait_for(send(message), _SEND_SECONDS)


class TurnAnswer(_Following):
    """The whole turn as JSON once it is over."""

    def __init__(self, listener: Listener, woken: asyncio.Event, read: Any, headers: Mapping[str, str]) -> None:
        super().__init__(listener, woken, 201)
        self._read = read
        self._more = headers

    async def _respond(self, send: Send) -> None:
        while not self._listener.is_over:
            await self._next()
        turn: Turn = await asyncio.to_thread(self._read)
        answer = Json(encode(turn), 201, self._more)
        await send({"type": "http.response.start", "status": 201, "headers": answer.raw_headers})
        await send({"type": "http.response.body", "body": answer.body})


def encode(turn: Turn) -> dict[str, Any]:
    """A turn in the words of this API."""
    return {
        "id": turn.id,
        "status": str(turn.status),
        "session_id": turn.session,
        "created_at": to_iso(turn.created_at),
        "completed_at": None if turn.completed_at is None else to_iso(turn.completed_at),
        "result": None if turn.answer is None else {"answer": turn.answer},
        "error": turn.error,
        "input_tokens": turn.usage.input_tokens,
        "output_tokens": turn.usage.output_tokens,
        "cost_usd": turn.usage.cost_usd,
    }


def encode_event(event: TurnEvent) -> dict[str, Any]:
    return {"id": event.seq, "event": event.event, "data": event.data, "created_at": to_iso(event.created_at)}


def _sse(event: TurnEvent) -> str:
    data = json.dumps(event.data, ensure_ascii=False, separators=(",", ":"))
    return f"id: {event.seq}\nevent: {event.event}\ndata: {data}\n\n"


def _wants_events(request: Request) -> bool:
    return _EVENTS in request.headers.get("accept", "")


def _position(given: str | None) -> int:
    if given is None or given == "":
        return 0
    if not given.isascii() or not given.isdigit() or len(given) > 12:
        raise InvalidField.of("Last-Event-ID", "must be the id of an event of this turn.")
    return int(given)


def _alarm() -> tuple[asyncio.Event, Any]:
    woken = asyncio.Event()
    loop = asyncio.get_running_loop()

    def wake() -> None:
        try:
            loop.call_soon_threadsafe(woken.set)
        except RuntimeError:
            pass  # The server has stopped.

    return woken, wake


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
