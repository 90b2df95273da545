"""An HTTP server on loopback that answers what it is told to, one script after the other."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Body = dict[str, Any]
Script = Callable[["Reply", Body], None]


@dataclass
class Request:
    path: str
    headers: dict[str, str]
    body: Body


@dataclass
class Reply:
    """What a script may do to answer."""

    handler: BaseHTTPRequestHandler

    def json(self, value: Any, status: int = 200, **headers: str) -> None:
        self.raw(json.dumps(value).encode(), status, **headers)

    def raw(self, body: bytes, status: int = 200, *, length: int | None = None, **headers: str) -> None:
        self.handler.send_response(status)
        self.handler.send_header("Content-Type", "application/json")
        self.handler.send_header("Content-Length", str(len(body) if length is None else length))
        self.handler.send_header("Connection", "close")
        for name, value in headers.items():
            self.handler.send_header(name.replace("_", "-"), value)
        self.handler.end_headers()
        self.handler.wfile.write(body)
        self.handler.wfile.flush()

    def hang_up(self) -> None:
        self.handler.connection.close()


@dataclass
class ScriptedServer:
    """`scripts` are used up one a request; when they are, `always` answers."""

    url: str
    always: Script
    scripts: list[Script] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)


@contextmanager
def scripted_server(always: Script) -> Iterator[ScriptedServer]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.requests.append(Request(self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            script = server.scripts.pop(0) if server.scripts else server.always
            self.close_connection = True
            try:
                script(Reply(self), body)
            except OSError:
                pass  # The client did not wait.

        def log_message(self, *_: Any) -> None: ...

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    server = ScriptedServer(f"http://127.0.0.1:{http.server_port}/v1", always)
    thread = threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        http.shutdown()
        http.server_close()
        thread.join()
