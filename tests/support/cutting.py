"""A door before a server that passes everything on, and cuts what it is told to while it flows."""

import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Cutting:
    """`cut()` breaks every connection over which a request with `path` came; `requests` are the heads of those."""

    def __init__(self, behind: tuple[str, int], path: bytes) -> None:
        self.requests: list[bytes] = []
        self._behind = behind
        self._path = path
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[tuple[socket.socket, bool]] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def cut(self) -> int:
        chosen = [client for client, is_followed in self._open if is_followed]
        for client in chosen:
            _end(client)
        return len(chosen)

    def close(self) -> None:
        _end(self._listener)
        for client, _ in list(self._open):
            _end(client)
        for thread in self._threads:
            thread.join()
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                thread = threading.Thread(target=self._pass_on, args=(client,))
                self._threads.append(thread)
                thread.start()

    def _pass_on(self, client: socket.socket) -> None:
        """Until either side ends; then both do."""
        here = (client, False)
        self._open.append(here)
        with client, socket.create_connection(self._behind) as server, suppress(OSError):
            while True:
                for one in select.select([client, server], [], [])[0]:
                    piece = one.recv(65536)
                    if not piece:
                        self._open.remove(here)
                        return
                    if one is client and self._path in piece.split(b"\r\n", 1)[0]:
                        self.requests.append(piece)
                        self._open.remove(here)
                        here = (client, True)
                        self._open.append(here)
                    (server if one is client else client).sendall(piece)


@contextmanager
def cutting(url: str, path: str) -> Iterator[Cutting]:
    host, port = url.removeprefix("http://").split(":")
    door = Cutting((host, int(port)), path.encode())
    try:
        yield door
    finally:
        door.close()


def _end(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
