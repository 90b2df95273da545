"""The counters and histograms of one server, and their text for Prometheus."""

import threading
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, ProcessCollector
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from memorist.observing.families import (
    COUNTED,
    MODEL_BATCH,
    REQUEST_SECONDS,
    REQUESTS,
    SHOWN,
    TIMED,
    Family,
    MetricForm,
)

Gauges = Callable[[], Mapping[str, Mapping[str, float]]]
"""Values by the words of `families.SHOWN`, and by their label, which is '' where there is none."""

_PENDING = 1000


class Distribution:
    """How many values lie in each bucket. To take one is an append; they are sorted in by the thousand, which costs
    less than a lock and a search for each."""

    __slots__ = ("_bounds", "_counts", "_lock", "_pending", "_sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0
        self._pending: deque[float] = deque()
        self._lock = threading.Lock()

    def take(self, value: float) -> None:
        pending = self._pending
        pending.append(value)
        if len(pending) >= _PENDING:
            self.counts()

    def counts(self) -> tuple[list[int], float]:
        """How many values each bucket has, the last those above all bounds, and their sum."""
        with self._lock:
            bounds, counts, take = self._bounds, self._counts, self._pending.popleft
            total = self._sum
            # Those that come meanwhile are for the next time.
            for _ in range(len(self._pending)):
                value = take()
                counts[bisect_left(bounds, value)] += 1
                total += value
            self._sum = total
            return list(counts), total


class Metrics:
    """Each server has its own."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._counted = {what: self._counter(family) for what, family in COUNTED.items()}
        self._timed: dict[tuple[str, str], Distribution] = {}
        self._batches: dict[str, Distribution] = {}
        self._requests: dict[tuple[str, str, int], Distribution] = {}
        for what, family in TIMED.items():
            if not family.label:
                self.timed(what, "")

    def _counter(self, family: Family) -> Any:
        return Counter(family.name, family.help, family.labels, registry=self._registry)

    def timed(self, what: str, part: str) -> Callable[[float], None]:
        """What takes the seconds of a piece of work."""
        found = self._timed.get((what, part))
        if found is None:
            found = self._timed.setdefault((what, part), Distribution(TIMED[what].buckets))
        return found.take

    def count(self, what: str, part: str, by: float) -> None:
        family = self._counted[what]
        (family.labels(part) if COUNTED[what].label else family).inc(by)

    def batch(self, part: str, size: int) -> None:
        found = self._batches.get(part)
        if found is None:
            found = self._batches.setdefault(part, Distribution(MODEL_BATCH.buckets))
        found.take(size)

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        found = self._requests.get((route, method, status))
        if found is None:
            found = self._requests.setdefault((route, method, status), Distribution(REQUEST_SECONDS.buckets))
        found.take(seconds)

    def text(self, gauges: Gauges) -> tuple[bytes, str]:
        """Everything in the format of Prometheus, and its media type."""
        return generate_latest(_Whole(self._registry, lambda: self._collected(gauges()))), CONTENT_TYPE_LATEST

    def _collected(self, gauges: Mapping[str, Mapping[str, float]]) -> Iterator[Metric]:
        yield from self._of_requests()
        yield _histogram(MODEL_BATCH, (((part,), one.counts()) for part, one in list(self._batches.items())))
        timed = list(self._timed.items())
        for what, family in TIMED.items():
            yield _histogram(
                family, (((part,) if part else (), one.counts()) for (known, part), one in timed if known == what)
            )
        for what, values in gauges.items():
            family = SHOWN[what]
            kind = CounterMetricFamily if family.form is MetricForm.COUNTER else GaugeMetricFamily
            metric = kind(family.name, family.help, labels=family.labels)
            for label, value in values.items():
                metric.add_metric([label] if family.label else [], value)
            yield metric

    def _of_requests(self) -> Iterator[Metric]:
        answered = CounterMetricFamily(REQUESTS.name, REQUESTS.help, labels=REQUESTS.labels)
        seconds: dict[tuple[str, ...], tuple[list[int], float]] = {}
        for (route, method, status), one in list(self._requests.items()):
            counts, total = one.counts()
            answered.add_metric([route, method, str(status)], sum(counts))
            others, so_far = seconds.get((route, method), ([0] * len(counts), 0.0))
            seconds[route, method] = [one + more for one, more in zip(counts, others, strict=True)], total + so_far
        yield answered
        yield _histogram(REQUEST_SECONDS, seconds.items())


def _histogram(family: Family, found: Iterable[tuple[tuple[str, ...], tuple[list[int], float]]]) -> Metric:
    metric = HistogramMetricFamily(family.name, family.help, labels=family.labels)
    bounds = [*(str(float(bound)) for bound in family.buckets), "+Inf"]
    for labels, (counts, total) in found:
        metric.add_metric(labels, list(zip(bounds, accumulate(counts), strict=True)), total)
    return metric


class _Whole(CollectorRegistry):
    """What was counted, and what is collected at this moment."""

    def __init__(self, counted: CollectorRegistry, collected: Callable[[], Iterator[Metric]]) -> None:
        super().__init__()
        self._counted = counted
        self._collected = collected

    def collect(self) -> Iterator[Metric]:
        for metric in self._counted.collect():
            # When each was first counted is of no use to anybody, and as long as the rest.
            metric.samples = [one for one in metric.samples if not one.name.endswith("_created")]
            yield metric
        yield from self._collected()
