"""A proxy before PostgreSQL. As every one does that lends connections in turn, it gives them numbers of its own."""

import re
import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from psycopg.conninfo import conninfo_to_dict

# Which process serves a connection, and what is needed to cancel what it does.
_NUMBER = re.compile(rb"(?<=K\x00\x00\x00\x0c)....", re.DOTALL)


@contextmanager
def proxied(url: str) -> Iterator[str]:
    """The address of a database by way of a proxy."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_accept, args=(listener, url), daemon=True).start()
        try:
            given = conninfo_to_dict(url)
            yield f"postgresql://{given['user']}@127.0.0.1:{listener.getsockname()[1]}/{given['dbname']}"
        finally:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)


def _accept(listener: socket.socket, url: str) -> None:
    with suppress(OSError):
        while True:
            threading.Thread(target=_serve, args=(listener.accept()[0], url), daemon=True).start()


def _serve(client: socket.socket, url: str) -> None:
    """Forward what comes until either side has ended."""
    with client, _connected(url) as server, suppress(OSError):
        while True:
            for source in select.select([client, server], [], [])[0]:
                sent = source.recv(65536)
                if not sent:
                    return
                (server if source is client else client).sendall(_NUMBER.sub(b"\x7f\x7f\x7f\x7f", sent))


def _connected(url: str) -> socket.socket:
    given = conninfo_to_dict(url)
    host, port = str(given["host"]), int(given.get("port") or 5432)
    if not host.startswith("/"):
        return socket.create_connection((host, port))
    server = socket.socket(socket.AF_UNIX)
    server.connect(f"{host}/.s.PGSQL.{port}")
    return server
