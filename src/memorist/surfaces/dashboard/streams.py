"""What a page follows, server-sent: a turn until it is over, and what happens until the visitor is gone."""

import asyncio
import json
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from contextvars import Context, copy_context
from typing import Any

from starlette.responses import Response, StreamingResponse

from memorist.errors import InvalidCursor, InvalidField, MemoristError
from memorist.platform.values import FeedPosition, Principal
from memorist.secrets.logs import redacting_logger
from memorist.surfaces.dashboard import rendering
from memorist.surfaces.dashboard.visits import Visit, as_chosen
from memorist.surfaces.dashboard.wording import say
from memorist.times import from_micros, to_micros
from memorist.turns.listening import Listener
from memorist.turns.values import TurnEvent
from memorist.views.activity import ActivityFilter, ActivityNews, FollowPosition

_log = redacting_logger("memorist.dashboard")

_POLL_SECONDS = 0.25
_HEARTBEAT_SECONDS = 15.0
_RETRY_MILLISECONDS = 1000
_LOOK_SECONDS = 1.0
_MOST_TOLD = 500
_POSITION = re.compile(r"(\d{1,18})-(\d{1,18})@(\d{1,17})", re.ASCII)


def turn_stream(visit: Visit, turn_id: str) -> Response:
    """The events after the one that the browser names. Raises NotFound, InvalidId or InvalidField.

    A browser comes back whenever a stream ends; 204 tells it that there is nothing more to come back for.
    """
    after = _position(visit)
    with visit.core.turns.listen(visit.principal, turn_id, after) as listener:
        is_all = not listener.read() and listener.is_over
    response = Response(status_code=204) if is_all else _streaming(visit, _follow(visit, turn_id, after))
    rendering.protect(response)
    return response


def _streaming(visit: Visit, pieces: AsyncIterator[str]) -> Response:
    """Raises TooManyRequests."""
    visit.request.state.share.follow(visit.principal)
    # Proxies that gather small pieces would keep events back.
    return StreamingResponse(pieces, headers={"X-Accel-Buffering": "no"}, media_type="text/event-stream")


def _waking() -> tuple[asyncio.Event, Callable[[], None]]:
    """An event of this loop, and what sets it from another thread."""
    woken = asyncio.Event()
    loop = asyncio.get_running_loop()

    def wake() -> None:
        with suppress(RuntimeError):  # The server has stopped.
            loop.call_soon_threadsafe(woken.set)

    return woken, wake


def _position(visit: Visit) -> int:
    given = visit.request.headers.get("last-event-id") or visit.query.get("after", "")
    if not given:
        return 0
    if not given.isascii() or not given.isdigit() or len(given) > 12:
        raise InvalidField(say("The position must be the number of an event."), field="after")
    return int(given)


async def _follow(visit: Visit, turn_id: str, after: int) -> AsyncIterator[str]:
    loop = asyncio.get_running_loop()
    woken, wake = _waking()
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


# What happens


def activity_stream(visit: Visit, wanted: ActivityFilter, words: Mapping[str, Any]) -> Response:
    """What happens after the position that the browser names, as entries of the page. Raises InvalidCursor."""
    position = _follow_position(visit.request.headers.get("last-event-id") or visit.query.get("after", ""))
    # The language of the page is that of this thread.
    happenings = _happenings(visit, wanted, position, {**words, "is_new": True}, copy_context())
    response = _streaming(visit, happenings)
    rendering.protect(response)
    return response


def position_text(position: FollowPosition) -> str:
    return f"{position.feed.change}-{position.feed.seq}@{to_micros(position.asked)}"


def _follow_position(text: str) -> FollowPosition:
    found = _POSITION.fullmatch(text)
    if found is None:
        raise InvalidCursor(say("That is no position of what happens: load the page again."))
    change, seq, asked = map(int, found.groups())
    return FollowPosition(FeedPosition(change, seq), from_micros(asked))


async def _happenings(
    visit: Visit, wanted: ActivityFilter, position: FollowPosition, words: dict[str, Any], context: Context
) -> AsyncIterator[str]:
    loop = asyncio.get_running_loop()
    woken, wake = _waking()
    told: deque[str] = deque(maxlen=_MOST_TOLD)
    yield f"retry: {_RETRY_MILLISECONDS}\n\n"
    told_at = loop.time()
    try:
        with await asyncio.to_thread(visit.core.feed.follow, lambda: _who(visit), wake=wake) as follower:
            while not follower.closed:
                woken.clear()
                pieces, position = await asyncio.to_thread(
                    context.run, _told_since, visit, wanted, position, told, words
                )
                if pieces or loop.time() - told_at > _HEARTBEAT_SECONDS:
                    yield pieces or ": still here\n\n"
                    told_at = loop.time()
                # Changes wake; what was recalled is looked for.
                with suppress(TimeoutError):
                    await asyncio.wait_for(woken.wait(), _LOOK_SECONDS)
    except MemoristError as error:
        _log.info("a stream of what happens ended: %s", error.message)


def _who(visit: Visit) -> Principal:
    """Raises Unauthenticated where the visitor signed out, or the key was revoked."""
    principal, _ = visit.core.sign_ins.find(visit.session_token)
    return as_chosen(visit.request, principal)[0]


def _told_since(
    visit: Visit, wanted: ActivityFilter, position: FollowPosition, told: deque[str], words: dict[str, Any]
) -> tuple[str, FollowPosition]:
    news = visit.core.activity.news(_who(visit), wanted, position, told)
    told.extend(one.id for one in news.items)
    return _entries(news, words), news.position


def _entries(news: ActivityNews, words: dict[str, Any]) -> str:
    """Only the last has the position: who comes back after a part of them is sent all of them again."""
    position = position_text(news.position)
    if news.is_cut:
        return f"id: {position}\nevent: cut\ndata: 1\n\n"
    entries = [
        json.dumps({"id": f"h-{one.id}", "html": rendering.render("parts/activity_entry.html", words | {"one": one})})
        for one in news.items
    ]
    pieces = [f"event: happening\ndata: {entry}\n\n" for entry in entries]
    return "".join([*pieces[:-1], *(f"id: {position}\n{piece}" for piece in pieces[-1:])])
