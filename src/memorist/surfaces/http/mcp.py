"""MCP on the server: `POST /mcp`, with the same keys and headers as every other door.

Each request stands for itself: no session is kept, so that any process of several can answer any of them. The
protocol's library takes a second to import, so it is loaded for the first request.
"""

import asyncio
import ipaddress
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from memorist.core import Core
from memorist.errors import Forbidden
from memorist.surfaces.http.callers import caller
from memorist.surfaces.http.responses import Json
from memorist.surfaces.mcp import messages

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

# The boundary around all routes limits bodies; this is only the most that it can be told to let through.
_BODY_LIMIT = 1 << 30


class McpEndpoint:
    """The ASGI application behind `/mcp`."""

    def __init__(self, core: Core, allowed_hosts: frozenset[str]) -> None:
        self._core = core
        self._allowed_hosts = allowed_hosts
        self._wanted = asyncio.Event()
        self._ready: asyncio.Future[StreamableHTTPSessionManager] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Raises Forbidden for a page in a browser that is not ours, or as the headers demand."""
        request = Request(scope, receive)
        require_known_host(request, self._allowed_hosts)
        request.state.principal = caller(request, source="mcp")
        self._wanted.set()
        assert self._ready is not None
        manager = await asyncio.shield(self._ready)
        if request.method == "POST":
            body, receive = await _whole(receive)
            try:
                messages.parse(body)
            except messages.RefusedMessage as refused:
                await Json(refused.answer, 400)(scope, receive, send)
                return
        await manager.handle_request(scope, receive, send)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """What serves the protocol lives in a task of its own, from the first request until the server stops."""
        self._ready = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(self._run(self._ready))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _run(self, ready: "asyncio.Future[StreamableHTTPSessionManager]") -> None:
        await self._wanted.wait()
        manager = await asyncio.to_thread(_new_manager, self._core)
        async with manager.run():
            ready.set_result(manager)
            await asyncio.Event().wait()


def host_names(setting: str) -> frozenset[str]:
    """The names in the setting `allowed_hosts`."""
    return frozenset(name.strip().lower() for name in setting.split(",") if name.strip())


def require_known_host(request: Request, allowed: frozenset[str]) -> None:
    """Raises Forbidden where a browser was led here by a foreign page or under a foreign name (DNS rebinding).

    Only a name can be made to point here, not an address; only browsers send an origin.
    """
    hosts = [_host(f"//{value}") for value in request.headers.getlist("host")]
    if not hosts or not all(host in allowed or host == "localhost" or _is_address(host) for host in hosts):
        raise Forbidden(
            "The server does not know itself by the name in the Host header. MEMORIST_ALLOWED_HOSTS lists its names."
        )
    for origin in request.headers.getlist("origin"):
        host = _host(origin)
        if not host or not (host in hosts or host in allowed or host == "localhost" or _is_loopback(host)):
            raise Forbidden(
                "Pages of that origin may not use this server. MEMORIST_ALLOWED_HOSTS lists those that may."
            )


async def _whole(receive: Receive) -> tuple[bytes, Receive]:
    """A body, or what came of it before whoever sent it went away; and what receives it all once more."""
    read: deque[Message] = deque()
    while not read or read[-1].get("more_body"):
        read.append(await receive())
    body = b"".join(message.get("body", b"") for message in read)

    async def again() -> Message:
        return read.popleft() if read else await receive()

    return body, again


def _new_manager(core: Core) -> "StreamableHTTPSessionManager":
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from memorist.surfaces.mcp.server import StoredMemory, new_server

    def memory_of(context: Any) -> StoredMemory:
        return StoredMemory(core, lambda: context.request.state.principal)

    return StreamableHTTPSessionManager(
        new_server(memory_of), stateless=True, json_response=True, max_request_body_size=_BODY_LIMIT
    )


def _host(address: str) -> str:
    """The name in an address, in small letters; empty where there is none."""
    try:
        return (urlsplit(address).hostname or "").rstrip(".")
    except ValueError:
        return ""


def _is_address(host: str) -> bool:
    return next(_addresses(host), None) is not None


def _is_loopback(host: str) -> bool:
    return any(address.is_loopback for address in _addresses(host))


def _addresses(host: str) -> Iterator[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    try:
        yield ipaddress.ip_address(host)
    except ValueError:
        return
