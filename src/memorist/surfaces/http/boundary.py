"""What every request passes on its way in and out: an id, a size limit, a log line, and no exception beyond it."""

import logging
import re
import time

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memorist.errors import MemoristError, PayloadTooLarge
from memorist.ids import new_id
from memorist.secrets.logs import redacting_logger
from memorist.surfaces.http.problems import problem
from memorist.surfaces.http.uploads import Uploads

_log = redacting_logger("memorist.http")

_REQUEST_ID = re.compile(rb"[A-Za-z0-9_.:-]{1,64}")
_SLOW_SECONDS = 1.0
_SECURITY_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
]


class Boundary:
    def __init__(self, app: ASGIApp, *, body_limit: int, uploads: Uploads) -> None:
        self._app = app
        self._body_limit = body_limit
        self._uploads = uploads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(scope, receive, send, self._body_limit)
        try:
            await self._handle(exchange, scope, receive)
        except MemoristError as error:
            await problem(error, exchange.request_id)(scope, receive, exchange.send)
        except Exception:  # noqa: BLE001 - The server's top.
            _log.exception("unexpected error", extra={"fields": {"request_id": exchange.request_id}})
            if exchange.status == 0:
                await problem(MemoristError(), exchange.request_id)(scope, receive, exchange.send)
        finally:
            exchange.log()

    async def _handle(self, exchange: "_Exchange", scope: Scope, receive: Receive) -> None:
        announced = exchange.announced_length
        if announced is not None and announced <= self._body_limit:
            await self._app(scope, exchange.receive, exchange.send)
        elif await self._uploads.accepts(scope) and (announced or 0) <= self._uploads.limit:
            async with self._uploads.gathered(receive) as gathered:
                await self._app(scope, gathered, exchange.send)
        elif announced is not None:
            raise PayloadTooLarge
        else:
            await self._app(scope, exchange.receive, exchange.send)


class _Exchange:
    """One request and its response, as they pass."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, body_limit: int) -> None:
        self._scope = scope
        self._receive = receive
        self._send = send
        self._body_limit = body_limit
        self._received = 0
        self._started = time.perf_counter()
        self.status = 0
        self.announced_length: int | None = None
        self.request_id = ""
        for name, value in scope["headers"]:
            if name == b"content-length" and value.isdigit():
                self.announced_length = int(value[:20])
            elif name == b"x-request-id" and _REQUEST_ID.fullmatch(value):
                self.request_id = value.decode()
        self.request_id = self.request_id or new_id("req")
        scope.setdefault("state", {})["request_id"] = self.request_id

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request":
            self._received += len(message.get("body", b""))
            if self._received > self._body_limit:
                # Inside the framework's own reading of the body, only its own exception comes through.
                raise HTTPException(413)
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = [*message["headers"], (b"x-request-id", self.request_id.encode()), *_SECURITY_HEADERS]
            # Only files of ours that never change say otherwise.
            if not any(name == b"cache-control" for name, _ in headers):
                headers.append((b"cache-control", b"no-store"))
            message["headers"] = headers
        await self._send(message)

    def log(self) -> None:
        elapsed = time.perf_counter() - self._started
        level = self._level(elapsed)
        if _log.isEnabledFor(level):
            # The path without its query: a query may hold what somebody remembers.
            fields = {
                "request_id": self.request_id,
                "method": self._scope["method"],
                "path": self._scope["path"],
                "status": self.status,
                "ms": round(elapsed * 1000, 2),
            }
            _log.log(level, "request", extra={"fields": fields})

    def _level(self, elapsed: float) -> int:
        """Reads that went well are most of the traffic and the least of the news."""
        if self.status >= 500:
            return logging.ERROR
        quiet = self._scope["method"] in ("GET", "HEAD") and 200 <= self.status < 400 and elapsed < _SLOW_SECONDS
        return logging.DEBUG if quiet else logging.INFO
