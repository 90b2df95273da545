"""Traces for a collector that speaks OTLP over HTTP: the extra `otel`.

A span is a few numbers here until it is over; only then it becomes what OpenTelemetry's SDK sends, from a thread of its
own. Whether a trace is to be sent at all is decided once, where it begins.
"""

import os
import random
import re
import threading
import time
from collections.abc import Callable
from functools import cached_property
from typing import Any

from memorist.errors import InvalidSetting
from memorist.version import __version__
from memorist.watching import TRACE, Facts, Trace

try:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.sdk.trace.sampling import Decision
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import (
        NonRecordingSpan,
        SpanContext,
        SpanKind,
        Status,
        StatusCode,
        TraceFlags,
        set_span_in_context,
    )
except ImportError as error:
    raise InvalidSetting(
        "Traces need OpenTelemetry: install `memorist[otel]`, or unset MEMORIST_OTLP_URL.", field="otlp_url"
    ) from error

_TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?")
_SAMPLED = TraceFlags(TraceFlags.SAMPLED)
_SCOPE = InstrumentationScope("memorist", __version__)
_PATH = "/v1/traces"

# What begins a trace where there is none: the rest is only told as a part of one.
_ROOTS = frozenset({"job", "sweep", "turn"})
_NAMES = {"stage": "recall", "transaction": "store"}

_SHORTEST_NS = 200_000
"""What took less is not told by itself: its parent's time has it. A part never takes longer than the whole."""

_LAST_CHANCE_S = 2.0
TRACES_A_SECOND = 50
"""So many begin here at most, unless a sampler is named: what a busy server is slowed by stays the same, however many
ask. Where a caller began the trace, that decides."""

_OK, _FAILED = Status(StatusCode.UNSET), Status(StatusCode.ERROR)


def open_tracing(url: str) -> "Tracing":
    """Sends to that collector; the variables OTEL_* say the rest."""
    url = url.rstrip("/")
    return Tracing(OTLPSpanExporter(endpoint=url if url.endswith(_PATH) else url + _PATH))


class Tracing:
    def __init__(self, exporter: Any) -> None:
        ours = Resource({"service.name": "memorist", "service.version": __version__})
        told = ours.merge(OTELResourceDetector().detect())
        # Whoever names a sampler decides; the provider reads the environment for it, and the processor for its queue.
        self._few = None if os.environ.get("OTEL_TRACES_SAMPLER") else FewASecond(TRACES_A_SECOND)
        self._provider = TracerProvider(resource=_Resource(told.attributes, told.schema_url))
        self._exporter = exporter
        self._processor = BatchSpanProcessor(exporter)
        self._provider.add_span_processor(self._processor)

    def begin(self, what: str, part: str, facts: Facts | None) -> "Span | None":
        """A part of the trace that is under way, or the root of one; None where there is none to be part of."""
        parent = TRACE.get()
        if parent is None:
            if what not in _ROOTS:
                return None
            parent = self._root(None)
        if not parent.is_sampled:
            return None
        if what == "model":
            told = facts or {}
            name = f"{told.get('gen_ai.operation.name', part)} {told.get('gen_ai.request.model', '')}".rstrip()
            kind = SpanKind.INTERNAL if told.get("memorist.model.is_local") else SpanKind.CLIENT
            return Span(self, name, parent, kind, facts)
        return Span(self, f"{_NAMES.get(what, what)} {part}".rstrip(), parent, SpanKind.INTERNAL, facts)

    def enter(self, traceparent: str) -> "Span":
        """A request's span, in the caller's trace where it names one; from here on it is under way."""
        span = Span(self, "request", self._root(traceparent), SpanKind.SERVER, None)
        span.enter()
        return span

    def _root(self, traceparent: str | None) -> Trace:
        """Of which trace something new is: its parent's id is 0 where nobody began it."""
        known = _TRACEPARENT.fullmatch(traceparent) if traceparent else None
        trace_id, span_id = (int(known[1], 16), int(known[2], 16)) if known else (0, 0)
        if not trace_id or not span_id:
            trace_id, span_id, parent = random.getrandbits(128) or 1, 0, None
        else:
            flags = TraceFlags(int(known[3], 16) & TraceFlags.SAMPLED) if known else _SAMPLED
            parent = set_span_in_context(NonRecordingSpan(SpanContext(trace_id, span_id, True, flags)))
        if parent is None and self._few is not None:
            return Trace(trace_id, span_id, self._few.take())
        decided = self._provider.sampler.should_sample(parent, trace_id, "memorist")
        return Trace(trace_id, span_id, decided.decision is Decision.RECORD_AND_SAMPLE)

    def send(self, span: "Span", ended: int, failure: str | None) -> None:
        facts = span.facts if failure is None else {**span.facts, "error.type": failure}
        self._processor.on_end(
            ReadableSpan(
                span.name,
                _context(span.trace),
                _context(span.parent) if span.parent.span_id else None,
                self._provider.resource,
                facts,
                kind=span.kind,
                status=_OK if failure is None else _FAILED,
                start_time=span.started,
                end_time=ended,
                instrumentation_scope=_SCOPE,
            )
        )

    def close(self) -> None:
        """Send what is left, and wait for a collector that does not answer no longer than a moment."""
        patience = threading.Timer(_LAST_CHANCE_S, self._exporter.shutdown)
        patience.start()
        try:
            self._provider.shutdown()
        finally:
            patience.cancel()


class FewASecond:
    """Lets the first so many of each second through."""

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._clock = clock
        self._second = -1
        self._left = 0

    def take(self) -> bool:
        second = int(self._clock())
        if second != self._second:
            self._second, self._left = second, self._most
        self._left -= 1
        return self._left >= 0


class _Resource(Resource):
    """Who sends the spans. The SDK asks for its hash once a span, and would write it down as JSON each time."""

    @cached_property
    def _hash(self) -> int:
        return super().__hash__()

    def __hash__(self) -> int:
        return self._hash


class Span:
    """A piece of work that is under way."""

    __slots__ = ("_before", "_failure", "_tracing", "facts", "kind", "name", "parent", "started", "trace")

    def __init__(self, tracing: Tracing, name: str, parent: Trace, kind: SpanKind, facts: Facts | None) -> None:
        self._tracing = tracing
        self._failure: str | None = None
        self.name = name
        self.parent = parent
        self.kind = kind
        self.facts: dict[str, Any] = dict(facts or {})
        self.trace = Trace(parent.trace_id, random.getrandbits(64) or 1, parent.is_sampled)
        self.started = time.time_ns()
        self._before = TRACE.get()

    def enter(self) -> None:
        self._before = TRACE.get()
        TRACE.set(self.trace)

    def leave(self) -> None:
        # Not by a token: whoever closes a stream may do so elsewhere.
        TRACE.set(self._before)

    def answered(self, route: str, method: str, status: int) -> None:
        self.name = f"{method} {route}"
        self.facts |= {"http.request.method": method, "http.route": route, "http.response.status_code": status}
        if status >= 500:
            self._failure = str(status)

    def end(self, kind: type[BaseException] | None) -> None:
        self.leave()
        ended = time.time_ns()
        if not self.trace.is_sampled:
            return
        if ended - self.started >= _SHORTEST_NS or self.kind is not SpanKind.INTERNAL or not self.parent.span_id:
            self._tracing.send(self, ended, self._failure if kind is None else kind.__name__)


def _context(trace: Trace) -> SpanContext:
    return SpanContext(trace.trace_id, trace.span_id, False, _SAMPLED)
