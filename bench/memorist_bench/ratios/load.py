"""A load generator that costs little: plain sockets, requests encoded once, one in flight for each connection."""

import itertools
import selectors
import socket
import time
from collections.abc import Iterator, Sequence

CONNECTIONS = 16
_LENGTH = b"content-length: "
_END_OF_HEAD = b"\r\n\r\n"


class LoadConnection:
    def __init__(self, port: int, requests: Iterator[bytes]) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._requests = requests
        self._received = b""

    def send(self) -> None:
        self.socket.sendall(next(self._requests))

    def receive(self) -> bytes | None:
        """Take what has come; the status of the answer where it is complete. Raises RuntimeError where it cannot be."""
        data = self.socket.recv(65536)
        if not data:
            raise RuntimeError("the server closed a connection")
        self._received += data
        head = self._received.find(_END_OF_HEAD)
        if head < 0:
            return None
        at = self._received.lower().index(_LENGTH) + len(_LENGTH)
        length = int(self._received[at : self._received.index(b"\r", at)])
        if len(self._received) < head + len(_END_OF_HEAD) + length:
            return None
        status = self._received[9:12]
        self._received = b""
        return status

    def succeed(self) -> bool:
        """Whether the answer is complete. Raises RuntimeError unless it is a 200."""
        status = self.receive()
        if status not in (None, b"200"):
            raise RuntimeError(f"the server answered {status!r}")
        return status is not None


def burst(port: int, requests: Sequence[bytes], seconds: float, at_once: int = CONNECTIONS) -> float:
    """Ask over and over for some seconds, on so many connections. Returns answers a second.

    What is under way at the end is waited for: otherwise the next who is measured would pay for it.
    """
    with selectors.DefaultSelector() as selector:
        connections = [
            LoadConnection(port, itertools.cycle([*requests[first:], *requests[:first]])) for first in range(at_once)
        ]
        try:
            for connection in connections:
                selector.register(connection.socket, selectors.EVENT_READ, connection)
            rate = _ask(selector, connections, seconds)
            _wait_for(selector, at_once)
            return rate
        finally:
            for connection in connections:
                connection.socket.close()


def _ask(selector: selectors.BaseSelector, connections: Sequence[LoadConnection], seconds: float) -> float:
    answers = 0
    started = now = time.perf_counter()
    for connection in connections:
        connection.send()
    while now < started + seconds:
        for key, _ in selector.select():
            if key.data.succeed():
                answers += 1
                key.data.send()
        now = time.perf_counter()
    return answers / (now - started)


def _wait_for(selector: selectors.BaseSelector, answers: int) -> None:
    while answers:
        for key, _ in selector.select():
            answers -= key.data.succeed()
