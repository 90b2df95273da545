"""The one that watches a server: counts for `/metrics`, and makes traces where a collector is named."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar, cast

from memorist.models.fair_share import COMPUTING
from memorist.observing.metrics import Gauges, Metrics
from memorist.observing.models import WATCHED
from memorist.observing.siblings import Siblings, summed
from memorist.secrets.logs import redacting_logger
from memorist.settings import Settings
from memorist.watching import Facts, Watch, Watched

if TYPE_CHECKING:  # An extra, which only those who make traces have.
    from memorist.observing.tracing import Span, Tracing

_log = redacting_logger(__name__)

T = TypeVar("T")

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


def observer(settings: Settings) -> Watch:
    """Who watches as the settings say. Raises InvalidSetting where traces are asked for and the extra is missing."""
    metrics = Metrics() if settings.metrics != "off" else None
    tracing = None
    if settings.otlp_url:
        from memorist.observing.tracing import open_tracing

        tracing = open_tracing(settings.otlp_url)
    return Observer(metrics, tracing) if metrics or tracing else Watch()


class Observer(Watch):
    def __init__(self, metrics: Metrics | None, tracing: "Tracing | None" = None) -> None:
        self._metrics = metrics
        self._tracing = tracing
        self._siblings: Siblings | None = None
        self._takers: dict[tuple[str, str], Callable[[float], None]] = {}
        self.requests = 0
        """How many are being answered: counted on the event loop alone."""

    def timed(self, what: str, part: str = "", facts: Facts | None = None) -> Watched:
        take = self._takers.get((what, part))
        if take is None and self._metrics is not None:
            take = self._takers[what, part] = self._metrics.timed(what, part)
        failed = partial(self.count, "model failure", part) if what == "model" else None
        return _Work(take, failed, None if self._tracing is None else self._tracing.begin(what, part, facts))

    def request(self, traceparent: str) -> Watched:
        return _Request(self, self._metrics, None if self._tracing is None else self._tracing.enter(traceparent))

    def count(self, what: str, part: str = "", by: float = 1) -> None:
        if self._metrics is not None:
            self._metrics.count(what, part, by)

    def spent(self, what: str, input_tokens: int, output_tokens: int, dollars: float | None) -> None:
        self.count(f"{what} tokens", "input", input_tokens)
        self.count(f"{what} tokens", "output", output_tokens)
        self.count(f"{what} dollars", by=dollars or 0.0)

    def batch(self, part: str, size: int) -> None:
        if self._metrics is not None:
            self._metrics.batch(part, size)

    def model(self, part: str, model: T) -> T:
        return model if model is None else cast(T, WATCHED[part](self, part, cast(Any, model)))

    def exposition(self, gauges: Gauges) -> tuple[bytes, str] | None:
        if self._metrics is None:
            return None
        text, media_type = self._own_text(self._metrics, gauges)
        return (text if self._siblings is None else summed(text, self._siblings.texts())), media_type

    def share(self, folder: Path, number: int, gauges: Gauges) -> None:
        if (metrics := self._metrics) is None:
            return
        try:
            self._siblings = Siblings(folder, number, lambda: self._own_text(metrics, gauges)[0])
        except OSError as error:  # Such as a folder whose name is too long for a socket: it serves all the same.
            _log.warning("metrics are those of one process alone: %s", error)

    def _own_text(self, metrics: Metrics, gauges: Gauges) -> tuple[bytes, str]:
        own = {"requests": {"": float(self.requests)}, "models waiting": {"": float(COMPUTING.waiting)}}
        return metrics.text(lambda: {**gauges(), **own})

    def close(self) -> None:
        if self._siblings is not None:
            self._siblings.close()
        if self._tracing is not None:
            self._tracing.close()


class _Work(Watched):
    """Its seconds are counted; where it is part of a trace, it is a span as well."""

    __slots__ = ("_failed", "_span", "_started", "_take")

    def __init__(
        self, take: Callable[[float], None] | None, failed: Callable[[], None] | None, span: "Span | None"
    ) -> None:
        """`take` is given its seconds; `failed` is called where it fails."""
        self._take = take
        self._failed = failed
        self._span = span

    def __enter__(self) -> Watched:
        if self._span is not None:
            self._span.enter()
        self._started = perf_counter()
        return self

    def __exit__(self, kind: type[BaseException] | None = None, *_: object) -> None:
        if self._take is not None:
            self._take(perf_counter() - self._started)
        # Whoever stops listening to a stream has not failed.
        if kind is GeneratorExit:
            kind = None
        if kind is not None and self._failed is not None:
            self._failed()
        if self._span is not None:
            self._span.end(kind)

    def note(self, facts: Facts) -> None:
        if self._span is not None:
            self._span.facts.update(facts)

    def step_out(self) -> None:
        if self._span is not None:
            self._span.leave()

    def step_in(self) -> None:
        if self._span is not None:
            self._span.enter()


class _Request(Watched):
    __slots__ = ("_metrics", "_observer", "_span")

    def __init__(self, observer: Observer, metrics: Metrics | None, span: "Span | None") -> None:
        self._observer = observer
        self._metrics = metrics
        self._span = span

    def __enter__(self) -> Watched:
        self._observer.requests += 1
        return self

    def answered(self, route: str, method: str, status: int, seconds: float) -> None:
        if method not in _METHODS:
            method = "other"  # Anybody may invent one; there are only so many routes and statuses.
        if self._metrics is not None:
            self._metrics.request(route, method, status, seconds)
        if self._span is not None:
            self._span.answered(route, method, status)

    def __exit__(self, kind: type[BaseException] | None = None, *_: object) -> None:
        self._observer.requests -= 1
        if self._span is not None:
            self._span.end(kind)
