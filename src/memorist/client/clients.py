"""The two clients. Each only carries requests; what is asked and what the answers mean is said in `calls`."""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from functools import wraps
from inspect import signature
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, cast
from urllib.parse import quote

import httpx2

from memorist.client import calls, decoding, doors
from memorist.client.exchange import Call, Outcome, Retries, Send, Wait, exchange
from memorist.client.streams import Following, FollowingTurn
from memorist.client.values import RemoteDocument, RemoteMemory, RemoteTurnEvent
from memorist.errors import InvalidSetting, Unauthenticated
from memorist.ingestion.service import Message
from memorist.platform import validation
from memorist.platform.values import Change
from memorist.turns.values import COMPLETED, FAILED, STARTED
from memorist.version import __version__

P = ParamSpec("P")
T = TypeVar("T")

_DEFAULT_URL = "http://127.0.0.1:8377"
_CONNECT_SECONDS = 10.0
_LARGEST_PAGE = 100
_RETRIES = Retries()
_TURN_ENDS = frozenset({COMPLETED, FAILED})


def _connection(
    url: str | None, api_key: str | None, user: str | None, agent: str | None, session: str | None, timeout: float
) -> dict[str, Any]:
    """What both clients hand to the library that carries their requests."""
    address = url or os.environ.get("MEMORIST_URL") or _DEFAULT_URL
    if not address.startswith(("http://", "https://")):
        raise InvalidSetting("The address of a server begins with http:// or https://.", field="url")
    key = api_key or os.environ.get("MEMORIST_API_KEY")
    if not key:
        raise Unauthenticated("An API key is needed: as api_key, or in MEMORIST_API_KEY.")
    headers = {"Authorization": f"Bearer {key}", "User-Agent": f"memorist-client/{__version__}"}
    acting = {"User": user, "Agent": agent, "Session": session}
    encoded: list[tuple[bytes, bytes]] = [(name.encode(), value.encode()) for name, value in headers.items()]
    for name, value in acting.items():
        if value is not None:
            value = validation.identifier(name.lower(), value)
            encoded.append((f"X-Memorist-{name}".encode(), value.encode()))
    return {
        "base_url": address.rstrip("/"),
        "headers": encoded,
        "timeout": httpx2.Timeout(timeout, connect=min(timeout, _CONNECT_SECONDS)),
    }


def _body(step: Send) -> dict[str, Any]:
    """As JSON in UTF-8: half the size of escapes, for most of the world's texts."""
    headers = dict(step.headers)
    content = None
    if step.body is not None:
        headers["Content-Type"] = "application/json"
        content = json.dumps(step.body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(
            "utf-8", "surrogatepass"
        )
    return {"method": step.method, "url": step.path, "params": step.query, "headers": headers, "content": content}


def _blocking(describe: Callable[P, Call[T]]) -> Callable[Concatenate["Client", P], T]:
    """The method that makes a call and waits for its answer."""

    @wraps(describe)
    def call(self: "Client", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._run(describe(*args, **kwargs))

    return _as_method(call, describe)


def _awaitable(describe: Callable[P, Call[T]]) -> Callable[Concatenate["AsyncClient", P], Awaitable[T]]:
    """The method that makes a call and is awaited for its answer."""

    @wraps(describe)
    async def call(self: "AsyncClient", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._run(describe(*args, **kwargs))

    return _as_method(call, describe)


def _as_method(call: T, describe: Callable[..., Any]) -> T:
    """Show the answer itself in the signature, not that it is described."""
    described = signature(describe)
    answer = described.return_annotation
    cast(Any, call).__signature__ = described.replace(return_annotation=answer.__args__[0])
    return call


class Client:
    """What the holder of an API key can do on a server. Safe to share between threads; use it in a `with`.

    `url` and `api_key` default to MEMORIST_URL and MEMORIST_API_KEY. `user`, `agent` and `session` are for whom a
    service key acts. `timeout` is for each try, in seconds. What fails for a moment is tried again (`retries`).
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        api_key: str | None = None,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        timeout: float = 30.0,
        retries: Retries = _RETRIES,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Raises Unauthenticated, InvalidSetting or InvalidField; the server is not asked yet."""
        self._http = httpx2.Client(**_connection(url, api_key, user, agent, session, timeout))
        self._retries = retries
        self._sleep = sleep

    remember = _blocking(doors.remember)
    recall = _blocking(calls.recall)
    remember_fact = _blocking(calls.remember_fact)
    extract = _blocking(calls.extract)
    history = _blocking(calls.history)
    restore_fact = _blocking(calls.restore_fact)
    in_doubt = _blocking(calls.in_doubt)
    confirm_doubt = _blocking(calls.confirm_doubt)
    refute_doubt = _blocking(calls.refute_doubt)
    dismiss_doubt = _blocking(calls.dismiss_doubt)
    add_messages = _blocking(calls.add_messages)
    add_tool_output = _blocking(calls.add_tool_output)
    read_tool_output = _blocking(calls.read_tool_output)
    add_document = _blocking(calls.add_document)
    get_document = _blocking(calls.get_document)
    list_documents = _blocking(calls.list_documents)
    forget_document = _blocking(calls.forget_document)
    get = _blocking(calls.get)
    list = _blocking(calls.list)
    edit = _blocking(calls.edit)
    forget = _blocking(calls.forget)
    archive = _blocking(calls.archive)
    restore = _blocking(calls.restore)
    purge = _blocking(calls.purge)
    delete_tenant = _blocking(calls.delete_tenant)
    receipt = _blocking(calls.receipt)
    receipts = _blocking(calls.receipts)
    events = _blocking(calls.events)
    get_turn = _blocking(calls.get_turn)
    turns = _blocking(calls.turns)
    section = _blocking(calls.section)
    tools = _blocking(calls.tools)
    run_tool = _blocking(calls.run_tool)

    def iterate(self, **filters: Any) -> Iterator[RemoteMemory]:
        """Every memory that `list` shows page by page. Raises as it does."""
        return self._items(calls.list, filters)

    def iterate_documents(self) -> Iterator[RemoteDocument]:
        """Every document that `list_documents` shows page by page."""
        return self._items(calls.list_documents, {})

    def changes(self, *, after: str | None = None, wait: float | None = None) -> Iterator[Change]:
        """Every change of a memory that the key may see, as it happens: from now on, or after a position.

        Where the connection breaks it goes on where it was. Ends when none came for `wait` seconds; without `wait`,
        never. A change whose action is `resync` says that some may have been missed: read anew what you keep.
        Raises Unauthenticated, Forbidden or ServerUnavailable.
        """
        for event in self._follow(Following(self._retries, "/v1/events/stream", after=after, wait=wait)):
            change = decoding.streamed_change(event)
            if change is not None:
                yield change

    def turn(
        self,
        messages: Sequence[Message | Mapping[str, Any]],
        *,
        include_memory: bool = True,
        session: str | None = None,
    ) -> Iterator[RemoteTurnEvent]:
        """Ask the language model, with what is remembered, and learn from the exchange: its events as they come.

        `messages` is the conversation so far and ends with the user's. Where the connection breaks it goes on where it
        was, and the turn is taken once. Raises LlmNotConfigured, BudgetSpent, InvalidField or Forbidden.
        """
        body = decoding.turn_body(messages, include_memory, session)
        for event in self._follow(FollowingTurn(self._retries, body, started=STARTED, ends=_TURN_ENDS)):
            yield decoding.turn_event(event)

    def turn_events(self, turn_id: str, *, after: int = 0) -> Iterator[RemoteTurnEvent]:
        """The events of a turn after one of them, until it is over. Raises NotFound or InvalidId."""
        path = f"/v1/turns/{quote(turn_id, safe='')}/events"
        for event in self.stream(path, after=str(after) if after else None, ends=_TURN_ENDS):
            yield decoding.turn_event(event)

    def stream(
        self, path: str, *, after: str | None = None, ends: Collection[str] = ()
    ) -> Iterator[httpx2.ServerSentEvent]:
        """The server-sent events of an address, resumed by the id of the last one until one that is named in `ends`.

        Raises the error that the server names, or ServerUnavailable when it stays away.
        """
        return self._follow(Following(self._retries, path, after=after, ends=ends))

    def _follow(self, following: Following) -> Iterator[httpx2.ServerSentEvent]:
        while not following.is_over:
            outcome: Outcome | None = None
            try:
                with self._http.sse(**following.request) as source:
                    if not source.response.is_success:
                        source.response.read()
                        outcome = source.response
                    else:
                        for event in source:
                            if following.hear(event):
                                yield event
                            if following.is_over:
                                return
            except httpx2.TransportError as error:
                outcome = error
            pause = following.pause(outcome)
            if not following.is_over:
                self._sleep(pause)

    def close(self) -> None:
        """Let go of the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self, call: Call[T]) -> T:
        steps = exchange(call, self._retries)
        step = next(steps)
        try:
            while True:
                if isinstance(step, Wait):
                    self._sleep(step.seconds)
                    step = next(steps)
                else:
                    step = steps.send(self._send(step))
        except StopIteration as end:
            return cast(T, end.value)

    def _send(self, step: Send) -> Outcome:
        try:
            return self._http.request(**_body(step))
        except httpx2.TransportError as error:
            return error

    def _items(self, describe: Callable[..., Call[Any]], filters: Mapping[str, Any]) -> Iterator[Any]:
        cursor = None
        while True:
            page = self._run(describe(**{"limit": _LARGEST_PAGE, **filters, "cursor": cursor}))
            yield from page.items
            cursor = page.next_cursor
            if cursor is None:
                return


class AsyncClient:
    """A Client to be awaited: the same calls, on the event loop's own connections."""

    def __init__(
        self,
        url: str | None = None,
        *,
        api_key: str | None = None,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        timeout: float = 30.0,
        retries: Retries = _RETRIES,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Raises Unauthenticated, InvalidSetting or InvalidField; the server is not asked yet."""
        self._http = httpx2.AsyncClient(**_connection(url, api_key, user, agent, session, timeout))
        self._retries = retries
        self._sleep = sleep

    remember = _awaitable(doors.remember)
    recall = _awaitable(calls.recall)
    remember_fact = _awaitable(calls.remember_fact)
    extract = _awaitable(calls.extract)
    history = _awaitable(calls.history)
    restore_fact = _awaitable(calls.restore_fact)
    in_doubt = _awaitable(calls.in_doubt)
    confirm_doubt = _awaitable(calls.confirm_doubt)
    refute_doubt = _awaitable(calls.refute_doubt)
    dismiss_doubt = _awaitable(calls.dismiss_doubt)
    add_messages = _awaitable(calls.add_messages)
    add_tool_output = _awaitable(calls.add_tool_output)
    read_tool_output = _awaitable(calls.read_tool_output)
    add_document = _awaitable(calls.add_document)
    get_document = _awaitable(calls.get_document)
    list_documents = _awaitable(calls.list_documents)
    forget_document = _awaitable(calls.forget_document)
    get = _awaitable(calls.get)
    list = _awaitable(calls.list)
    edit = _awaitable(calls.edit)
    forget = _awaitable(calls.forget)
    archive = _awaitable(calls.archive)
    restore = _awaitable(calls.restore)
    purge = _awaitable(calls.purge)
    delete_tenant = _awaitable(calls.delete_tenant)
    receipt = _awaitable(calls.receipt)
    receipts = _awaitable(calls.receipts)
    events = _awaitable(calls.events)
    get_turn = _awaitable(calls.get_turn)
    turns = _awaitable(calls.turns)
    section = _awaitable(calls.section)
    tools = _awaitable(calls.tools)
    run_tool = _awaitable(calls.run_tool)

    def iterate(self, **filters: Any) -> AsyncIterator[RemoteMemory]:
        """Every memory that `list` shows page by page. Raises as it does."""
        return self._items(calls.list, filters)

    def iterate_documents(self) -> AsyncIterator[RemoteDocument]:
        """Every document that `list_documents` shows page by page."""
        return self._items(calls.list_documents, {})

    async def changes(self, *, after: str | None = None, wait: float | None = None) -> AsyncIterator[Change]:
        """Every change of a memory that the key may see, as `Client.changes` tells them."""
        async for event in self._follow(Following(self._retries, "/v1/events/stream", after=after, wait=wait)):
            change = decoding.streamed_change(event)
            if change is not None:
                yield change

    async def turn(
        self,
        messages: Sequence[Message | Mapping[str, Any]],
        *,
        include_memory: bool = True,
        session: str | None = None,
    ) -> AsyncIterator[RemoteTurnEvent]:
        """Ask the language model, with what is remembered, and learn from the exchange: its events as they come.

        `messages` is the conversation so far and ends with the user's. Where the connection breaks it goes on where it
        was, and the turn is taken once. Raises LlmNotConfigured, BudgetSpent, InvalidField or Forbidden.
        """
        body = decoding.turn_body(messages, include_memory, session)
        async for event in self._follow(FollowingTurn(self._retries, body, started=STARTED, ends=_TURN_ENDS)):
            yield decoding.turn_event(event)

    async def turn_events(self, turn_id: str, *, after: int = 0) -> AsyncIterator[RemoteTurnEvent]:
        """The events of a turn after one of them, until it is over. Raises NotFound or InvalidId."""
        path = f"/v1/turns/{quote(turn_id, safe='')}/events"
        async for event in self.stream(path, after=str(after) if after else None, ends=_TURN_ENDS):
            yield decoding.turn_event(event)

    def stream(
        self, path: str, *, after: str | None = None, ends: Collection[str] = ()
    ) -> AsyncIterator[httpx2.ServerSentEvent]:
        """The server-sent events of an address, resumed by the id of the last one until one that is named in `ends`.

        Raises the error that the server names, or ServerUnavailable when it stays away.
        """
        return self._follow(Following(self._retries, path, after=after, ends=ends))

    async def _follow(self, following: Following) -> AsyncIterator[httpx2.ServerSentEvent]:
        while not following.is_over:
            outcome: Outcome | None = None
            try:
                async with self._http.sse(**following.request) as source:
                    if not source.response.is_success:
                        await source.response.aread()
                        outcome = source.response
                    else:
                        async for event in source:
                            if following.hear(event):
                                yield event
                            if following.is_over:
                                return
            except httpx2.TransportError as error:
                outcome = error
            pause = following.pause(outcome)
            if not following.is_over:
                await self._sleep(pause)

    async def close(self) -> None:
        """Let go of the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _run(self, call: Call[T]) -> T:
        steps = exchange(call, self._retries)
        step = next(steps)
        try:
            while True:
                if isinstance(step, Wait):
                    await self._sleep(step.seconds)
                    step = next(steps)
                else:
                    step = steps.send(await self._send(step))
        except StopIteration as end:
            return cast(T, end.value)

    async def _send(self, step: Send) -> Outcome:
        try:
            return await self._http.request(**_body(step))
        except httpx2.TransportError as error:
            return error

    async def _items(self, describe: Callable[..., Call[Any]], filters: Mapping[str, Any]) -> AsyncIterator[Any]:
        cursor = None
        while True:
            page = await self._run(describe(**{"limit": _LARGEST_PAGE, **filters, "cursor": cursor}))
            for item in page.items:
                yield item
            cursor = page.next_cursor
            if cursor is None:
                return
