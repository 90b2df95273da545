"""The two clients. Each only carries requests; what is asked and what the answers mean is said in `memorist.verbs`."""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping
from typing import Any, Self, TypeVar, cast
from urllib.parse import urlsplit

import httpx2

from memorist.addresses import is_loopback
from memorist.caller_headers import caller_headers
from memorist.client.affinity import Affinity
from memorist.client.exchange import Outcome, Retries, Send, Wait, error_of, exchange
from memorist.client.streams import Following, LineSplitter, following
from memorist.errors import InvalidField, InvalidSetting, ServerUnavailable, Unauthenticated
from memorist.platform.values import Principal
from memorist.trust import trusting
from memorist.verbs import AsyncVerbs, Verbs, keeping
from memorist.verbs.kinds import Lines, Stream, Verb
from memorist.version import __version__

T = TypeVar("T")
C = TypeVar("C", httpx2.Client, httpx2.AsyncClient)

_DEFAULT_URL = "http://127.0.0.1:8377"
_CONNECT_SECONDS = 10.0
_RETRIES = Retries()
_WHOLE = "application/vnd.memorist+json, application/json;q=0.9, */*;q=0.1"


def _connection(
    url: str | None,
    api_key: str | None,
    user: str | None,
    agent: str | None,
    session: str | None,
    timeout: float,
    ca_file: str | None,
) -> dict[str, Any]:
    """What both clients hand to the library that carries their requests."""
    address = _address(url or os.environ.get("MEMORIST_URL") or _DEFAULT_URL)
    key = (api_key or os.environ.get("MEMORIST_API_KEY") or "").strip()
    if not key:
        raise Unauthenticated("An API key is needed: as api_key, or in MEMORIST_API_KEY.")
    headers = caller_headers(key, user=user, agent=agent, session=session)
    headers += [(b"User-Agent", f"memorist-client/{__version__}".encode()), (b"Accept", _WHOLE.encode())]
    trusted = ca_file or os.environ.get("MEMORIST_CA_FILE")
    return {
        "verify": trusting(trusted) if trusted and address.startswith("https://") else True,
        "base_url": address,
        "headers": headers,
        **_manner(address),
        "timeout": httpx2.Timeout(timeout, connect=min(timeout, _CONNECT_SECONDS)),
    }


def _address(url: str) -> str:
    """Without a slash at its end. Raises InvalidSetting, which does not quote it."""
    if not url.startswith(("http://", "https://")):
        raise InvalidSetting("The address of a server begins with http:// or https://.", field="url")
    try:
        named = httpx2.URL(url).userinfo
    except httpx2.InvalidURL:
        raise InvalidSetting("The host or the port in the address of a server is none.", field="url") from None
    # They would be sent in place of the key, and be in every message that names the address.
    if named:
        raise InvalidSetting("The address of a server holds no name and no password.", field="url")
    return url.rstrip("/")


def _opened(http: C) -> C:
    """Raises ServerUnavailable where the client was closed."""
    if http.is_closed:
        raise ServerUnavailable("The client was closed.")
    return http


def _manner(address: str) -> dict[str, Any]:
    """On this machine no proxy is asked, and no certificates are read, which takes longer than a call."""
    parts = urlsplit(address)
    is_here = parts.scheme == "http" and is_loopback(parts.hostname or "")
    return {"trust_env": False, "verify": False} if is_here else {}


def _request(step: Send) -> dict[str, Any]:
    """As JSON in UTF-8: half the size of escapes, for most of the world's texts."""
    headers = [(name.encode(), value.encode()) for name, value in step.headers.items()]
    content = None
    if step.body is not None:
        headers.append((b"Content-Type", b"application/json"))
        content = _encoded(step.body)
    return {"method": step.method, "url": step.path, "params": step.query, "headers": headers, "content": content}


def _encoded(body: Mapping[str, Any]) -> bytes:
    """Raises InvalidField, naming what is no JSON."""
    encoded = _as_json(body)
    if encoded is None:
        odd = [name for name, value in body.items() if _as_json(value) is None]
        raise InvalidField.of(odd[0] if odd else "body", "must be plain JSON without NaN, infinity or cycles.")
    return encoded


def _as_json(value: Any) -> bytes | None:
    """None where it is none."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        return None
    return text.encode("utf-8", "surrogatepass")


class Client(Verbs):
    """What the holder of an API key can do on a server. Safe to share between threads; use it in a `with`.

    `url` and `api_key` default to MEMORIST_URL and MEMORIST_API_KEY. `user`, `agent` and `session` are for whom a
    service key acts. `timeout` is for each try, in seconds. What fails for a moment is tried again (`retries`).
    `ca_file`, or MEMORIST_CA_FILE: a PEM file of authorities that are trusted beside the system's.
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
        ca_file: str | None = None,
        retries: Retries = _RETRIES,
        sleep: Callable[[float], None] = time.sleep,  # noqa: TID251
    ) -> None:
        """Raises Unauthenticated, InvalidSetting or InvalidField; the server is not asked yet."""
        affinity = Affinity()
        self._http = httpx2.Client(
            **_connection(url, api_key, user, agent, session, timeout, ca_file),
            event_hooks={"request": [affinity.send], "response": [affinity.take]},
        )
        self._retries = retries
        self._sleep = sleep

    def stream(
        self, path: str, *, after: str | None = None, ends: Collection[str] = ()
    ) -> Iterator[httpx2.ServerSentEvent]:
        """The server-sent events of an address, resumed by the id of the last one until one that is named in `ends`.

        Raises the error that the server names, or ServerUnavailable when it stays away.
        """
        return self._follow(Following(self._retries, path, after=after, ends=ends))

    def close(self) -> None:
        """Let go of the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _do(self, verb: Verb[T]) -> T:
        steps = exchange(verb.there(), self._retries)
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
            return _opened(self._http).request(**_request(step))
        except httpx2.TransportError as error:
            return error

    def _stream(self, stream: Stream[T]) -> Iterator[T]:
        asked = stream.there()
        if isinstance(asked, Lines):
            yield from cast(Iterator[T], self._lines(asked))
            return
        for event in self._follow(following(self._retries, asked)):
            value = asked.decode(event)
            if value is not None:
                yield value

    def _lines(self, asked: Lines) -> Iterator[str]:
        splitter = LineSplitter()
        try:
            with _opened(self._http).stream("GET", asked.path, params=asked.query) as response:
                if not response.is_success:
                    response.read()
                    raise error_of(response)
                for piece in response.iter_bytes():
                    yield from splitter.feed(piece)
        except httpx2.TransportError as error:
            raise error_of(error) from error

    def _follow(self, following: Following) -> Iterator[httpx2.ServerSentEvent]:
        while not following.is_over:
            outcome: Outcome | None = None
            try:
                with _opened(self._http).sse(**following.request) as source:
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


class AsyncClient(AsyncVerbs):
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
        ca_file: str | None = None,
        retries: Retries = _RETRIES,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Raises Unauthenticated, InvalidSetting or InvalidField; the server is not asked yet."""
        affinity = Affinity()
        self._http = httpx2.AsyncClient(
            **_connection(url, api_key, user, agent, session, timeout, ca_file),
            event_hooks={"request": [affinity.send_awaited], "response": [affinity.take_awaited]},
        )
        self._retries = retries
        self._sleep = sleep

    @property
    def principal(self) -> Awaitable[Principal]:
        """Whom this acts as, to be awaited. Raises Unauthenticated once the API key is revoked."""
        return self._do(keeping.principal())

    def stream(
        self, path: str, *, after: str | None = None, ends: Collection[str] = ()
    ) -> AsyncIterator[httpx2.ServerSentEvent]:
        """The server-sent events of an address, resumed by the id of the last one until one that is named in `ends`.

        Raises the error that the server names, or ServerUnavailable when it stays away.
        """
        return self._follow(Following(self._retries, path, after=after, ends=ends))

    async def close(self) -> None:
        """Let go of the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _do(self, verb: Verb[T]) -> T:
        steps = exchange(verb.there(), self._retries)
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
            return await _opened(self._http).request(**_request(step))
        except httpx2.TransportError as error:
            return error

    async def _stream(self, stream: Stream[T]) -> AsyncIterator[T]:
        asked = stream.there()
        if isinstance(asked, Lines):
            async for line in self._lines(asked):
                yield cast(T, line)
            return
        async for event in self._follow(following(self._retries, asked)):
            value = asked.decode(event)
            if value is not None:
                yield value

    async def _lines(self, asked: Lines) -> AsyncIterator[str]:
        splitter = LineSplitter()
        try:
            async with _opened(self._http).stream("GET", asked.path, params=asked.query) as response:
                if not response.is_success:
                    await response.aread()
                    raise error_of(response)
                async for piece in response.aiter_bytes():
                    for line in splitter.feed(piece):
                        yield line
        except httpx2.TransportError as error:
            raise error_of(error) from error

    async def _follow(self, following: Following) -> AsyncIterator[httpx2.ServerSentEvent]:
        while not following.is_over:
            outcome: Outcome | None = None
            try:
                async with _opened(self._http).sse(**following.request) as source:
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
