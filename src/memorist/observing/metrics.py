"""The counters and histograms of one server, and their text for Prometheus."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, ProcessCollector
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric

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


class Metrics:
    """Each server has its own. What is looked up once is kept: a label is found again by a dictionary alone."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._timed = {what: self._made(family) for what, family in TIMED.items()}
        self._counted = {what: self._made(family) for what, family in COUNTED.items()}
        self._requests = self._made(REQUESTS)
        self._request_seconds = self._made(REQUEST_SECONDS)
        self._batches = self._made(MODEL_BATCH)
        self._known: dict[tuple[str | int, ...], Any] = {}

    def _made(self, family: Family) -> Any:
        if family.form is MetricForm.HISTOGRAM:
            return Histogram(family.name, family.help, family.labels, registry=self._registry, buckets=family.buckets)
        return Counter(family.name, family.help, family.labels, registry=self._registry)

    def timed(self, what: str, part: str) -> Callable[[float], None]:
        """What takes the seconds of a piece of work."""
        found: Callable[[float], None] | None = self._known.get((what, part))
        if found is None:
            family = self._timed[what]
            found = (family.labels(part) if TIMED[what].label else family).observe
            self._known[what, part] = found
        return found

    def count(self, what: str, part: str, by: float) -> None:
        family = self._counted[what]
        (family.labels(part) if COUNTED[what].label else family).inc(by)

    def batch(self, part: str, size: int) -> None:
        self._batches.labels(part).observe(size)

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        key = (route, method, status)
        found = self._known.get(key)
        if found is None:
            found = self._requests.labels(route, method, status), self._request_seconds.labels(route, method)
            self._known[key] = found
        found[0].inc()
        found[1].observe(seconds)

    def text(self, gauges: Gauges) -> tuple[bytes, str]:
        """Everything in the format of Prometheus, and its media type."""
        return generate_latest(_Whole(self._registry, gauges)), CONTENT_TYPE_LATEST


class _Whole(CollectorRegistry):
    """What was counted, and what is shown at this moment."""

    def __init__(self, counted: CollectorRegistry, gauges: Gauges) -> None:
        super().__init__()
        self._counted = counted
        self._gauges = gauges

    def collect(self) -> Iterator[Metric]:
        for metric in self._counted.collect():
            # When each was first counted is of no use to anybody, and as long as the rest.
            metric.samples = [one for one in metric.samples if not one.name.endswith("_created")]
            yield metric
        for what, values in self._gauges().items():
            family = SHOWN[what]
            kind = CounterMetricFamily if family.form is MetricForm.COUNTER else GaugeMetricFamily
            metric = kind(family.name, family.help, labels=family.labels)
            for label, value in values.items():
                metric.add_metric([label] if family.label else [], value)
            yield metric
