"""A server on loopback that fails as it is told to: each request takes one step of the script."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Step = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class Seen:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Faulty:
    url: str
    script: list[Step] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)


def answer(body: Any, status: int = 200, **headers: str) -> Step:
    def step(handler: BaseHTTPRequestHandler) -> None:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(raw)))
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(raw)

    return step


def problem(status: int, code: str, **headers: str) -> Step:
    body = {"code": code, "detail": f"It is {code}.", "field": "content", "request_id": "req_1"}
    return answer(body, status, Content_Type="application/problem+json", **headers)


def hang_up(handler: BaseHTTPRequestHandler) -> None:
    """The request arrived, and no answer ever will."""
    handler.close_connection = True
    handler.connection.close()


def cut(handler: BaseHTTPRequestHandler) -> None:
    """An answer that ends before it is complete."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"tools": [')
    handler.close_connection = True


def silence(faulty: Faulty) -> Step:
    """No answer until the test is over."""
    return lambda _: faulty.released.wait(30) and None


def events(text: str) -> Step:
    """A stream of events that ends after these."""

    def step(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.end_headers()
        handler.wfile.write(text.encode())
        handler.close_connection = True

    return step


@contextmanager
def faulty_server() -> Iterator[Faulty]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_one(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            server.seen.append(Seen(self.command, self.path, headers, body))
            try:
                server.script.pop(0)(self)
            except OSError:
                pass  # The client did not wait.

        do_GET = do_POST = do_PATCH = do_DELETE = handle_one

        def log_message(self, *_: Any) -> None: ...

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    server = Faulty(f"http://127.0.0.1:{http.server_port}")
    thread = threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        http.shutdown()
        http.server_close()
        thread.join()
