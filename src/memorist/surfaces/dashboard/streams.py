"""A turn's events, as a page follows them: server-sent, until the turn is over or its visitor is gone."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress

from starlette.responses import Response, StreamingResponse

from memorist.errors import InvalidField, MemoristError
from memorist.secrets.logs import redacting_logger
from memorist.surfaces.dashboard import rendering
from memorist.surfaces.dashboard.visits import Visit
from memorist.surfaces.dashboard.wording import say
from memorist.turns.listening import Listener
from memorist.turns.values import TurnEvent

_log = redacting_logger("memorist.dashboard")

_POLL_SECONDS = 0.25
_HEARTBEAT_SECONDS = 15.0
_RETRY_MILLISECONDS = 1000


def turn_stream(visit: Visit, turn_id: str) -> Response:
    """The events after the one that the browser names. Raises NotFound, InvalidId or InvalidField.

    A browser comes back whenever a stream ends; 204 tells it that there is nothing more to come back for.
    """
    after = _position(visit)
    with visit.core.turns.listen(visit.principal, turn_id, after) as listener:
        is_all = not listener.read() and listener.is_over
    if is_all:
        response = Response(status_code=204)
    else:
        # Proxies that gather small pieces would keep events back.
        headers = {"X-Accel-Buffering": "no"}
        response = StreamingResponse(_follow(visit, turn_id, after), headers=headers, media_type="text/event-stream")
    rendering.protect(response)
    return response


def _position(visit: Visit) -> int:
    given = visit.request.headers.get("last-event-id") or visit.query.get("after", "")
    if not given:
        return 0
    if not given.isascii() or not given.isdigit() or len(given) > 12:
        raise InvalidField(say("The position must be the number of an event."), field="after")
    return int(given)


async def _follow(visit: Visit, turn_id: str, after: int) -> AsyncIterator[str]:
    woken = asyncio.Event()
    loop = asyncio.get_running_loop()

    def wake() -> None:
        with suppress(RuntimeError):  # The server has stopped.
            loop.call_soon_threadsafe(woken.set)

    yield f"retry: {_RETRY_MILLISECONDS}\n\n"
    told_at = loop.time()
    try:
        with await asyncio.to_thread(visit.core.turns.listen, visit.principal, turn_id, after, wake=wake) as listener:
            while not listener.is_over:
                woken.clear()
                found = await asyncio.to_thread(_read, visit, listener)
                if found:
                    yield "".join(map(_sent, found))
                    told_at = loop.time()
                elif loop.time() - told_at > _HEARTBEAT_SECONDS:
                    yield ": still here\n\n"
                    told_at = loop.time()
                elif not listener.is_over:
                    with suppress(TimeoutError):
                        await asyncio.wait_for(woken.wait(), _POLL_SECONDS)
    except MemoristError as error:
        # The browser comes back and is told by a status, which cannot be sent any more.
        _log.info("a turn's stream ended: %s", error.message)


def _read(visit: Visit, listener: Listener) -> list[TurnEvent]:
    """What is new. Raises Unauthenticated where the visitor signed out, or the key was revoked."""
    visit.core.sign_ins.find(visit.session_token)
    return listener.read()


def _sent(event: TurnEvent) -> str:
    data = json.dumps(event.data, ensure_ascii=False, separators=(",", ":"))
    return f"id: {event.seq}\nevent: {event.event}\ndata: {data}\n\n"
