"""The stream of changes as server-sent events."""

import asyncio
import json
import math
import time
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from memorist.errors import MemoristError
from memorist.ids import to_uuid
from memorist.platform.feed import LONGEST_WAIT, QUIET, Follower
from memorist.platform.values import Change
from memorist.secrets.logs import redacting_logger
from memorist.surfaces.http.callers import caller, caller_now, core_of
from memorist.surfaces.http.texts import FeedPosition
from memorist.times import to_iso

router = APIRouter(prefix="/v1", tags=["events"])

_log = redacting_logger("memorist.http")

HEARTBEAT_SECONDS = 15.0
# A client that takes nothing for so long is let go of; it can come back, and go on where it was.
_SEND_SECONDS = 30.0
_RETRY_MILLISECONDS = 2000


@router.get(
    "/events/stream",
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
    response_class=Response,
    summary="Follow changes",
)
async def stream(
    request: Request,
    last_event_id: Annotated[
        FeedPosition | None, Header(description="The `id` of the last event that was received: go on after it.")
    ] = None,
    after: Annotated[
        FeedPosition | None, Query(description="The same, for clients that cannot send the header.")
    ] = None,
    wait: Annotated[
        float | None,
        Query(
            ge=0,
            le=LONGEST_WAIT,
            allow_inf_nan=False,
            description="End with an event `quiet` when there was no change for so many seconds. Absent: never.",
        ),
    ] = None,
) -> Response:
    """Server-sent events: one for each change of a memory that the caller may see, without its text."""
    request.state.share.follow(caller(request, source="events"))
    woken = asyncio.Event()
    loop = asyncio.get_running_loop()
    follower = await asyncio.to_thread(
        core_of(request).feed.follow,
        lambda: caller_now(request, source="events"),
        last_event_id or after,
        wake=lambda: loop.call_soon_threadsafe(woken.set),
    )
    return EventStream(follower, woken, wait)


class EventStream(Response):
    """Sends until the client is gone, the key is revoked or the server stops. Whatever ends it can be resumed."""

    media_type = "text/event-stream"

    def __init__(self, follower: Follower, woken: asyncio.Event, wait: float | None) -> None:
        # Proxies that gather small pieces would keep events back.
        super().__init__(headers={"X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._follower = follower
        self._woken = woken
        self._wait = wait

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        tasks = [asyncio.create_task(self._send_all(send)), asyncio.create_task(_until_gone(receive))]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._follower.close()
            for task in tasks:
                task.cancel()
            outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        if isinstance(outcomes[0], Exception):
            raise outcomes[0]

    async def _send_all(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        try:
            async for piece in self._pieces():
                message = {"type": "http.response.body", "body": piece.encode(), "more_body": True}
                await asyncio.wait_for(send(message), _SEND_SECONDS)
        except TimeoutError:
            return
        except MemoristError as error:
            # The client comes back and is told by a status, which cannot be sent any more.
            _log.info("a stream of changes ended: %s", error.message)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _pieces(self) -> AsyncIterator[str]:
        follower = self._follower
        yield f"retry: {_RETRY_MILLISECONDS}\nid: {follower.position}\n: following\n\n"
        if follower.is_lost:
            yield f'event: resync\ndata: {{"type":"resync","resource":"memory"}}\nid: {follower.position}\n\n'
        said_at = time.monotonic()
        while not follower.closed:
            self._woken.clear()
            is_quiet = self._left(said_at) == 0
            # What other processes wrote is noticed a moment later, so that the last look asks the store.
            found = await asyncio.to_thread(follower.read, fresh=is_quiet)
            if found:
                said_at = time.monotonic()
                yield "".join(map(_event, found))
            elif follower.is_behind:
                continue
            elif is_quiet:
                yield f'event: {QUIET}\ndata: {{"type":"{QUIET}","resource":"memory"}}\nid: {follower.position}\n\n'
                return
            else:
                try:
                    await asyncio.wait_for(self._woken.wait(), min(HEARTBEAT_SECONDS, self._left(said_at)))
                except TimeoutError:
                    if self._left(said_at):
                        # Without data it is no event, but the client notes the id.
                        yield f"id: {follower.position}\n: still here\n\n"

    def _left(self, said_at: float) -> float:
        """Seconds until it is over, unless something is told meanwhile."""
        return math.inf if self._wait is None else max(0.0, said_at + self._wait - time.monotonic())


def encode(change: Change) -> dict[str, str]:
    """A change in the words of this API."""
    return {
        "type": "resource_change",
        "resource": "memory",
        "action": change.action,
        "id": str(to_uuid(change.memory_id)),
        "at": to_iso(change.at),
    }


def _event(change: Change) -> str:
    data = json.dumps(encode(change), separators=(",", ":"))
    return f"event: resource_change\nid: {change.position}\ndata: {data}\n\n"


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
