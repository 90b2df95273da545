"""What every request passes on its way in and out: its key, an id, a limit, its turn, and no exception beyond it."""

import asyncio
import re
from collections.abc import Mapping
from functools import partial

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memorist.addresses import is_loopback
from memorist.audit.service import AuditLog
from memorist.core import Core
from memorist.errors import Invalid, MemoristError, PayloadTooLarge, UnsupportedEncoding
from memorist.ids import new_id
from memorist.models.fair_share import WHOSE
from memorist.platform import access
from memorist.platform.acts import ACT, OK, CurrentAct
from memorist.platform.values import Principal
from memorist.secrets.logs import redacting_logger
from memorist.settings import Settings
from memorist.surfaces.http.callers import FOR_ANYBODY, KNOWN, SHARE, affinity, bearer, shared_with
from memorist.surfaces.http.fairness import Failures, Fairness, Holding, Share
from memorist.surfaces.http.problems import BY_STATUS, meant_by, problem
from memorist.surfaces.http.request_log import RequestLog, route_of
from memorist.surfaces.http.tls import lasting
from memorist.surfaces.http.uploads import Uploads

_log = redacting_logger("memorist.http")

OPEN = frozenset({"/", "/healthz", "/readyz", "/docs", "/openapi.json"})
"""What is shown to anybody. The dashboard has sessions of its own; all else, also what is not there, takes a key."""
METRICS = "/metrics"
"""Likewise, to whom the setting `metrics` says."""
_FORWARDED = frozenset({b"forwarded", b"via", b"x-real-ip"})
_FORWARDED_AS = b"x-forwarded-"
_REQUEST_ID = re.compile(rb"[A-Za-z0-9_.:-]{1,64}")
_SECURITY_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
]
_SAID_ONCE = frozenset(
    {b"authorization", b"idempotency-key", b"x-memorist-agent", b"x-memorist-session", b"x-memorist-user"}
)
"""Who asks, for whom, and under which key for retries: of two that differ nobody knows which one is meant."""
_LONGEST_NAME = 128
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Boundary:
    def __init__(self, app: ASGIApp, core: Core, settings: Settings, *, dashboard: str, sign_in: str) -> None:
        """`dashboard` and `sign_in`: where the pages with sessions of their own are, and the form that takes a key."""
        self._dashboard = f"{dashboard}/"
        self._sign_in = sign_in
        self._takes_files = frozenset({f"{dashboard}/documents/upload", f"{dashboard}/transfer/upload"})
        self._app = app
        self._core = core
        self._metrics = settings.metrics
        self._body_limit = settings.body_limit
        self._uploads = Uploads(max(settings.upload_limit, settings.body_limit))
        self._fairness = Fairness(settings)
        self._failures = Failures(settings.failed_key_delay_s)
        self._added = [*_SECURITY_HEADERS, *lasting(settings)]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(scope, receive, send, self._body_limit, self._failures, self._core.audit)
        exchange.added = self._added
        ACT.set(exchange.act)
        with self._core.watch.request(exchange.traceparent) as watched:
            try:
                await self._handle(exchange, scope, receive)
            except MemoristError as error:
                exchange.act.fail(error)
                await problem(error, exchange.request_id)(scope, receive, exchange.send)
            except Exception as error:  # noqa: BLE001 - The server's top.
                _log.exception("unexpected error", extra={"fields": {"request_id": exchange.request_id}})
                if exchange.status == 0:
                    await problem(meant_by(error), exchange.request_id)(scope, receive, exchange.send)
            finally:
                exchange.taken.end()
                exchange.end_act()
                exchange.log.write(exchange.request_id, exchange.status, watched)

    async def _handle(self, exchange: "_Exchange", scope: Scope, receive: Receive) -> None:
        path: str = scope["path"]
        scope["state"][SHARE] = Share(self._fairness, exchange.taken)
        is_page = path in OPEN or path.startswith("/docs/")
        is_open = is_page or (path == METRICS and self._shows_metrics(exchange))
        if path == METRICS:
            scope["state"][FOR_ANYBODY] = self._metrics == "open"
        if is_open or f"{path}/".startswith(self._dashboard):
            exchange.act.door = "dashboard"
            exchange.shows_key = path == self._sign_in
            if path in self._takes_files:
                # It is read once somebody is found to be signed in.
                exchange.body_limit = self._uploads.limit
            if scope["method"] == "HEAD" and is_page:
                # Whoever watches asks with it. The server sends no body, as the request that it has is still a HEAD.
                scope = {**scope, "method": "GET"}
            await self._app(scope, exchange.receive, exchange.send)
            return
        if exchange.ambiguous is not None:
            raise Invalid(
                f"The header {exchange.ambiguous} is sent twice, with different values. Send one.",
                field=exchange.ambiguous,
            )
        # Before anything of the body is read.
        holder = await self._known(exchange.secret)
        scope["state"][KNOWN] = exchange.act.principal = holder
        self._failures.forgive(exchange.address)
        user = shared_with(holder, exchange.user)
        whose = (exchange.user or (holder.user or "").encode())[:_LONGEST_NAME]
        exchange.added = [*self._added, (b"x-memorist-affinity", affinity(holder.tenant, whose))]
        await self._fairness.enter(holder, user, exchange.taken)
        WHOSE.set((holder.tenant, user or ""))
        if exchange.is_encoded:
            raise UnsupportedEncoding
        announced = exchange.announced_length
        is_small = announced is not None and announced <= self._body_limit
        takes_large = not is_small and self._uploads.accepts(scope)
        if (announced or 0) > (self._uploads.limit if takes_large else self._body_limit):
            raise PayloadTooLarge
        if takes_large:
            access.require(holder, access.Action.WRITE)
            async with self._uploads.gathered(receive) as gathered:
                await self._app(scope, gathered, exchange.send)
        else:
            await self._app(scope, exchange.receive, exchange.send)

    def _shows_metrics(self, exchange: "_Exchange") -> bool:
        """Whether no key is asked for. What a proxy passes on does not come from this machine."""
        is_near = not exchange.is_forwarded and is_loopback(exchange.address)
        return self._metrics == "open" or (self._metrics == "local" and is_near and exchange.secret is None)

    async def _known(self, secret: str | None) -> Principal:
        """Who holds the valid key or token. Raises Unauthenticated or StoreError."""
        if self._core.store.instant_reads:
            return self._core.identity.authenticate(secret)
        return await asyncio.to_thread(self._core.identity.authenticate, secret)


class _Exchange:
    """One request and its response, as they pass."""

    def __init__(
        self, scope: Scope, receive: Receive, send: Send, body_limit: int, failures: Failures, audit: AuditLog
    ) -> None:
        self._receive = receive
        self._send = send
        self.body_limit = body_limit
        self._failures = failures
        self._received = 0
        self._audit = audit
        self.act = CurrentAct("http", partial(_where, scope))
        self.log = RequestLog(scope)
        self.taken = Holding()
        self.status = 0
        self.address: str = scope["client"][0] if scope["client"] else ""
        self.announced_length: int | None = None
        self.secret: str | None = None
        self.is_encoded = False
        """Whether the body is said to be compressed."""
        self.shows_key = False
        self.is_forwarded = False
        self.traceparent = ""
        self.user = b""
        """Whom the request says that it acts for, unchecked."""
        self.ambiguous: str | None = None
        """A header that says two things."""
        self.added = _SECURITY_HEADERS
        self.request_id = ""
        said: dict[bytes, bytes] = {}
        for name, value in scope["headers"]:
            if name in _SAID_ONCE and said.setdefault(name, value) != value:
                self.ambiguous = name.decode()
            if name == b"authorization":
                self.shows_key = True
                self.secret = bearer(value)
            elif name == b"content-length" and value.isdigit():
                self.announced_length = int(value[:20])
            elif name == b"content-encoding":
                self.is_encoded |= value.strip().lower() not in (b"", b"identity")
            elif name == b"x-memorist-user":
                self.user = value[:_LONGEST_NAME]
            elif name == b"x-request-id" and _REQUEST_ID.fullmatch(value):
                self.request_id = value.decode()
            elif name == b"traceparent":
                self.traceparent = value.decode("latin-1")
            elif name in _FORWARDED or name.startswith(_FORWARDED_AS):
                self.is_forwarded = True
        self.request_id = self.request_id or new_id("req")
        scope.setdefault("state", {})["request_id"] = self.request_id

    def end_act(self) -> None:
        """Note what was asked for and how it ended, once."""
        if self.status >= 400 and self.act.outcome == OK:
            self.act.fail(BY_STATUS.get(self.status, MemoristError)())
        self._audit.finish(self.act)

    async def receive(self) -> Message:
        # Inside the framework's own reading of the body, only its own exception comes through.
        if (self.announced_length or 0) > self.body_limit:
            raise HTTPException(413)
        message = await self._receive()
        if message["type"] == "http.request":
            self._received += len(message.get("body", b""))
            if self._received > self.body_limit:
                raise HTTPException(413)
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            if self.status == 401 and self.shows_key:
                await asyncio.sleep(self._failures.note(self.address))
            self._complete(message)
        elif not message.get("more_body"):
            # Before its end is sent: whoever has an answer finds it in the log.
            self.end_act()
        await self._send(message)

    def _complete(self, message: Message) -> None:
        headers = [*message["headers"], (b"x-request-id", self.request_id.encode()), *self.added]
        is_kept = False
        for name, value in headers:
            if name == b"cache-control":
                is_kept = True
            elif name == b"content-type" and value.startswith(b"text/event-stream"):
                # A stream lasts, and is no work while nothing happens.
                self.taken.leave()
                self.log.begins_to_stream()
                self.end_act()
        # Only files of ours that never change say otherwise.
        if not is_kept:
            headers.append((b"cache-control", b"no-store"))
        message["headers"] = headers


def _where(scope: Scope) -> tuple[str, Mapping[str, str]]:
    route, names = route_of(scope)
    return f"{scope['method'] if scope['method'] in _METHODS else 'other'} {route}", names
