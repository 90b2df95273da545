"""What a connection may cost before anybody knows who is at its other end: bytes, headers, seconds and descriptors.

A connection over a limit is told so in words and then cut. Where connections run out, the one that has waited longest
makes room, or where none waits one with a request of somebody who is not known.
"""

import asyncio
import os
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from itertools import chain
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from memorist.addresses import network_of
from memorist.errors import HeadersTooLarge, Invalid, MemoristError, RequestTimeout, ServerBusy
from memorist.ids import new_id
from memorist.secrets.logs import redacting_logger
from memorist.settings import Settings
from memorist.surfaces.http.callers import KNOWN
from memorist.surfaces.http.problems import problem
from memorist.surfaces.http.tls import Tls, TlsGate

_log = redacting_logger("memorist.http")

MOST_HEADERS = 100
_DRAINED_BYTES = 4 << 20
"""What is read, and thrown away, of what a client still sends after its answer, so that it comes to read that."""
_DRAINED_SECONDS = 2.0
_MOST_CONNECTIONS = 4096
_FEWEST_CONNECTIONS = 8
_MOST_DESCRIPTORS = 65_536


@dataclass(frozen=True, slots=True)
class Limits:
    header_bytes: int
    header_seconds: float
    body_seconds: float
    idle_seconds: float
    connections: int
    connections_of_a_peer: int

    @classmethod
    def of(cls, settings: Settings) -> "Limits":
        """Those of the settings. A number of connections that is left open follows from the descriptors there are."""
        connections = settings.connections or _affordable_connections()
        of_a_peer = settings.connections_per_peer or max(1, connections * 3 // 4)
        return cls(
            settings.header_limit,
            settings.header_timeout_s,
            settings.body_timeout_s,
            settings.idle_timeout_s,
            connections,
            min(of_a_peer, connections),
        )


class Connections:
    """All open connections of a server: it counts them, ends those whose time is over, and makes room."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        # In the order in which they began to wait: whose turn it is to make room is found first.
        self._open: dict[GuardedProtocol, None] = {}
        self._peers: Counter[str] = Counter()
        self._handshakes: dict[TlsGate, None] = {}
        self._watch: asyncio.TimerHandle | None = None

    def protocol(self, tls: Tls | None = None) -> Any:
        """What makes the protocol of each connection, for the server to call."""
        plain = type("Protocol", (GuardedProtocol,), {"shared": self})
        return plain if tls is None else lambda **given: self._gate(plain(**given), tls)

    def _gate(self, behind: "GuardedProtocol", tls: Tls) -> TlsGate:
        gate = TlsGate(behind, behind.loop, tls, self.limits.header_seconds)
        gate.on_made = lambda: self.shakes_hands(gate)
        gate.on_lost = behind.on_secured = lambda: self.shook_hands(gate)
        return gate

    def shakes_hands(self, gate: TlsGate) -> None:
        """One that is not encrypted yet; of too many, the one that has taken longest makes room."""
        self._handshakes[gate] = None
        if len(self._handshakes) > max(_FEWEST_CONNECTIONS, self.limits.connections // 4):
            longest = next(iter(self._handshakes))
            self.shook_hands(longest)
            longest.give_up()

    def shook_hands(self, gate: TlsGate) -> None:
        self._handshakes.pop(gate, None)

    def admit(self, protocol: "GuardedProtocol") -> bool:
        """Whether there is room for one more; another may have been ended for it."""
        is_crowded = self._peers[protocol.peer] >= self.limits.connections_of_a_peer
        is_full = len(self._open) >= self.limits.connections
        if (is_crowded or is_full) and not self._make_room(protocol.peer if is_crowded else None):
            return False
        self._open[protocol] = None
        self._peers[protocol.peer] += 1
        if self._watch is None:
            self._watch_on(protocol.loop)
        return True

    def began_to_wait(self, protocol: "GuardedProtocol") -> None:
        if protocol in self._open:
            del self._open[protocol]
            self._open[protocol] = None

    def forget(self, protocol: "GuardedProtocol") -> None:
        if protocol in self._open:
            del self._open[protocol]
            self._peers[protocol.peer] -= 1
            if not self._peers[protocol.peer]:
                del self._peers[protocol.peer]

    def _make_room(self, peer: str | None) -> bool:
        """End the connection that has waited longest, of that peer or of all where none is given; where none waits, one
        whose sender nobody knows yet.
        """
        waiting = (one for one in self._open if one.is_waiting and peer in (None, one.peer))
        unknown = (one for one in self._open if one.is_unknown and peer in (None, one.peer))
        longest = next(chain(waiting, unknown), None)
        if longest is None:
            return False
        self.forget(longest)
        longest.transport.abort()
        return True

    def _watch_on(self, loop: asyncio.AbstractEventLoop) -> None:
        # One look at all of them now and then is cheaper than a timer for each request.
        shortest = min(self.limits.header_seconds, self.limits.body_seconds, self.limits.idle_seconds)
        self._watch = loop.call_later(min(1.0, shortest / 4), self._end_late, loop)

    def _end_late(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for protocol in list(self._open):
            protocol.end_if_late(now)
        self._watch = None
        if self._open:
            self._watch_on(loop)


class _Stage(Enum):
    IDLE = auto()
    """Between requests."""
    HEAD = auto()
    BODY = auto()
    WHOLE = auto()
    """The request is here, and its answer is not out."""
    CUT = auto()


class GuardedProtocol(HttpToolsProtocol):
    """uvicorn's protocol within limits."""

    shared: Connections

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        # Its lines would quote addresses, which may name people; the boundary logs every request.
        self.access_log = False
        self._limits = self.shared.limits
        self._stage = _Stage.HEAD
        self._head = 0  # Bytes of the request line and the headers that were read.
        self._unread = 0  # Bytes since the parser last made something of them.
        self._drained = 0  # Bytes that were thrown away.
        self._unsent = 0
        self._refusal: MemoristError | None = None
        self._since = self.loop.time()
        self._ends = self._since  # When all of a body is to be here, of who is not known.
        self.peer = ""
        self.on_secured: Callable[[], None] = lambda: None

    @property
    def is_waiting(self) -> bool:
        """Whether no request is at work here, so that ending it costs nobody an answer."""
        return not self.pipeline and (self.cycle is None or self.cycle.response_complete)

    @property
    def is_unknown(self) -> bool:
        """Whether a request comes of somebody who has shown no valid key, and is not signed in."""
        return self._stage is _Stage.BODY and not self.pipeline and KNOWN not in self.cycle.scope["state"]

    def end_if_late(self, now: float) -> None:
        """Cut the connection where it has taken too long for what it is at."""
        elapsed = now - self._since
        unsent = self.transport.get_write_buffer_size()
        if unsent:
            if unsent != self._unsent:
                self._since, self._unsent = now, unsent
            elif elapsed > self._limits.body_seconds:
                self.transport.abort()
        elif self._stage is _Stage.IDLE and elapsed > self._limits.idle_seconds:
            self.transport.close()
        elif self._stage is _Stage.HEAD and self.is_waiting and elapsed > self._limits.header_seconds:
            if self._head or self._unread:
                self._refuse(RequestTimeout())
            else:
                self.transport.close()
        elif self._stage is _Stage.BODY:
            self._end_slow_body(now, elapsed)
        elif self._stage is _Stage.CUT and elapsed > _DRAINED_SECONDS:
            self.transport.abort()

    def _end_slow_body(self, now: float, elapsed: float) -> None:
        if self.cycle.response_complete:
            if elapsed > _DRAINED_SECONDS:
                self.transport.abort()
        elif self.flow.read_paused or self.cycle.waiting_for_100_continue:
            self._since = now  # It waits for us.
        elif elapsed > self._limits.body_seconds or (self.is_unknown and now > self._ends):
            self._refuse(RequestTimeout())

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.on_secured()
        super().connection_made(transport)
        self.peer = network_of(self.client[0]) if self.client else ""
        if not self.shared.admit(self):
            self._refuse(ServerBusy("Too many connections are open. Close those that are not used, and try again."))
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self.shared.forget(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._stage is _Stage.CUT:
            self._drain(len(data))
            return
        if self._stage is _Stage.IDLE:
            self._enter(_Stage.HEAD)
        self._unread += len(data)
        before = self._unread
        super().data_received(data)
        # A header without an end, a trailer, or what may stand beside the length of a chunk.
        if self._unread == before > self._limits.header_bytes and self._refusal is None:
            self._refuse(HeadersTooLarge())

    def send_400_response(self, msg: str) -> None:
        # What a callback raises reaches the parser only, which then merely says that it failed.
        self._refuse(self._refusal or Invalid(f"{msg} It is no HTTP/1.1."))

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head, self._unread = len("GET  HTTP/1.1\r\n"), 0
        if self._stage is not _Stage.HEAD:
            self._enter(_Stage.HEAD)

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self._unread = 0
        self._head += len(url)
        if self._head > self._limits.header_bytes:
            self._refuse_head()

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        self._unread = 0
        self._head += len(name) + len(value) + 4
        if self._head > self._limits.header_bytes or len(self.headers) > MOST_HEADERS:
            self._refuse_head()

    def on_headers_complete(self) -> None:
        self._unread = 0
        self._enter(_Stage.BODY)
        self._ends = self._since + self._limits.body_seconds
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._unread = 0
        super().on_body(body)
        if self.cycle.response_complete:
            self._drain(len(body))
        else:
            self._since = self.loop.time()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._unread = 0
        self._enter(_Stage.IDLE if self.is_waiting else _Stage.WHOLE)

    def on_response_complete(self) -> None:
        """As the original, without its timer for each: idle connections are looked after in one go."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        else:
            self.shared.began_to_wait(self)
            self._enter(_Stage.IDLE if self._stage is _Stage.WHOLE else self._stage)

    def _enter(self, stage: _Stage) -> None:
        self._stage = stage
        self._since = self.loop.time()

    def _refuse_head(self) -> None:
        """Raises HeadersTooLarge, through the parser."""
        self._refusal = HeadersTooLarge()
        raise self._refusal

    def _drain(self, size: int) -> None:
        self._drained += size
        if self._drained > _DRAINED_BYTES:
            self.transport.abort()

    def _refuse(self, error: MemoristError) -> None:
        """Say what is wrong, unless an answer is under way, and hear no more; what is at work is ended."""
        self._enter(_Stage.CUT)
        self._refusal = error
        _log.info("a connection was cut", extra={"fields": {"code": error.code}})
        is_answering = self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete
        if is_answering or self.transport.is_closing():
            self.transport.abort()
            return
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        response = problem(error, new_id("req"), headers={"Connection": "close"})
        lines = [b"%s: %s\r\n" % header for header in response.raw_headers]
        self.transport.write(b"".join([STATUS_LINE[response.status_code], *lines, b"\r\n", bytes(response.body)]))
        if self.transport.can_write_eof():
            self.transport.write_eof()


def _affordable_connections() -> int:
    """Half of the descriptors that are left: the rest is for the database and for files."""
    if sys.platform == "win32":
        return _MOST_CONNECTIONS
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _MOST_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    left = (_MOST_DESCRIPTORS if soft == resource.RLIM_INFINITY else soft) - len(os.listdir("/dev/fd"))
    return max(_FEWEST_CONNECTIONS, min(_MOST_CONNECTIONS, left // 2))
