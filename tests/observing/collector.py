"""A collector of OpenTelemetry on loopback: takes OTLP over HTTP, and keeps the spans."""

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue

from tests.support.waiting import eventually


@dataclass(frozen=True)
class Received:
    """A span as it came."""

    name: str
    kind: int
    trace_id: str
    span_id: str
    parent_id: str
    facts: dict[str, Any]
    is_failed: bool
    resource: dict[str, Any]


@dataclass
class Collector:
    url: str
    spans: list[Received] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    def of(self, trace_id: str) -> dict[str, Received]:
        """The spans of a trace, by their names, of which the last counts."""
        return {span.name: span for span in list(self.spans) if span.trace_id == trace_id}

    def wait_for(self, trace_id: str, name: str) -> dict[str, Received]:
        """The spans of a trace, once the one of that name is there: the root comes last."""
        eventually(lambda: name in self.of(trace_id))
        return self.of(trace_id)

    def take(self, body: bytes) -> None:
        self.bodies.append(body)
        for group in ExportTraceServiceRequest.FromString(body).resource_spans:
            resource = {one.key: _value(one.value) for one in group.resource.attributes}
            for scope in group.scope_spans:
                self.spans += [
                    Received(
                        span.name,
                        span.kind,
                        span.trace_id.hex(),
                        span.span_id.hex(),
                        span.parent_span_id.hex(),
                        {one.key: _value(one.value) for one in span.attributes},
                        span.status.code == 2,
                        resource,
                    )
                    for span in scope.spans
                ]


def _value(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    return [_value(one) for one in value.array_value.values] if kind == "array_value" else getattr(value, kind or "")


@contextmanager
def collecting() -> Iterator[Collector]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            assert self.path == "/v1/traces"
            collector.take(gzip.decompress(body) if self.headers["Content-Encoding"] == "gzip" else body)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None: ...

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    collector = Collector(f"http://127.0.0.1:{http.server_port}")
    thread = threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield collector
    finally:
        http.shutdown()
        http.server_close()
        thread.join()
