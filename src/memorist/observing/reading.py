"""What two looks at a server's `/metrics` say of the time between them: rates, percentiles, and what there is now."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

_ROUTES = 10
_Labels = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Look:
    """The values of one moment, by name and labels."""

    at: float
    values: Mapping[tuple[str, _Labels], float]

    @classmethod
    def of(cls, text: str, at: float) -> "Look":
        """Raises ValueError where the text is not Prometheus's."""
        found = (sample for family in text_string_to_metric_families(text) for sample in family.samples)
        return cls(at, {(one.name, frozenset(one.labels.items())): one.value for one in found})

    def before_it_began(self) -> "Look":
        """The moment when the server started, and had done nothing."""
        return Look(self.one("process_start_time_seconds"), {})

    def one(self, name: str, **labels: str) -> float:
        return self.values.get((name, frozenset(labels.items())), 0.0)

    def by(self, name: str, label: str) -> dict[str, float]:
        """The sum of a metric's values for each value of a label."""
        found: dict[str, float] = {}
        for (known, labels), value in self.values.items():
            if known == name:
                key = dict(labels).get(label, "")
                found[key] = found.get(key, 0.0) + value
        return found


@dataclass(frozen=True, slots=True)
class Between:
    """What happened from one look to the next."""

    before: Look
    after: Look

    @property
    def seconds(self) -> float:
        return max(self.after.at - self.before.at, 0.001)

    def more(self, name: str, **labels: str) -> float:
        """By how much values rose, of all that have these labels. A server that began anew began at nothing."""
        wanted = frozenset(labels.items())
        return sum(
            value - earlier if (earlier := self.before.values.get(key, 0.0)) <= value else value
            for key, value in self.after.values.items()
            if key[0] == name and wanted <= key[1]
        )

    def rate(self, name: str, **labels: str) -> float:
        return round(self.more(name, **labels) / self.seconds, 3)

    def milliseconds(self, name: str, share: float, **labels: str) -> float | None:
        """So many took no longer than this, as the buckets of a histogram tell; None where nothing happened."""
        bounds = {dict(labels)["le"] for known, labels in self.after.values if known == f"{name}_bucket"}
        counts = sorted((float(le), self.more(f"{name}_bucket", le=le, **labels)) for le in bounds)
        if not counts or not counts[-1][1]:
            return None
        rank = share * counts[-1][1]
        for (low, below), (high, upto) in pairwise([(0.0, 0.0), *counts]):
            if upto >= rank:
                within = low if high == float("inf") else low + (high - low) * (rank - below) / max(upto - below, 1e-9)
                return round(1000 * within, 3)
        return None

    def timed(self, name: str, **labels: str) -> dict[str, float | None]:
        return {
            "per_second": self.rate(f"{name}_count", **labels),
            "p50_ms": self.milliseconds(name, 0.5, **labels),
            "p95_ms": self.milliseconds(name, 0.95, **labels),
            "p99_ms": self.milliseconds(name, 0.99, **labels),
        }


def view(found: Between) -> dict[str, Any]:
    """What `memorist top` shows."""
    now = found.after
    return {
        "version": next(iter(now.by("memorist_build_info", "version")), ""),
        "seconds": round(found.seconds, 3),
        "requests": {
            "per_second": found.rate("memorist_http_requests_total"),
            "in_progress": int(now.one("memorist_http_requests_in_progress")),
            "routes": routes(found),
        },
        "recall": {
            **found.timed("memorist_recall_seconds"),
            "degraded_per_second": found.rate("memorist_recalls_degraded_total"),
            "stages": {
                stage: found.timed("memorist_recall_stage_seconds", stage=stage)
                for stage in now.by("memorist_recall_stage_seconds_count", "stage")
            },
        },
        "models": {
            part: found.timed("memorist_model_seconds", part=part)
            | {"failures": int(found.more("memorist_model_failures_total", part=part))}
            for part in now.by("memorist_model_seconds_count", "part")
        },
        "index": {
            "waiting": int(now.one("memorist_index_waiting")),
            "lag_s": round(now.one("memorist_index_lag_seconds"), 3),
        },
        "jobs": {state: int(count) for state, count in now.by("memorist_jobs", "state").items()}
        | {"running": int(now.one("memorist_jobs_running"))},
        "turns": {
            "per_second": found.rate("memorist_turns_total"),
            "running": int(now.one("memorist_turns_running")),
            "cost_usd": round(found.more("memorist_turn_cost_usd_total"), 6),
        },
        "store": {
            "queue": int(now.one("memorist_group_commit_queue") + now.one("memorist_pool_queue")),
            "bytes": int(now.one("memorist_database_bytes")),
            "memories": int(sum(now.by("memorist_memories", "status").values())),
        },
    }


def routes(found: Between) -> list[dict[str, Any]]:
    """Those that were asked for most."""
    known = [dict(labels) for name, labels in found.after.values if name == "memorist_http_request_seconds_count"]
    asked = sorted(known, key=lambda one: (-found.more("memorist_http_request_seconds_count", **one), one["route"]))
    return [
        {
            **one,
            **found.timed("memorist_http_request_seconds", **one),
            "failed": int(
                sum(
                    found.more("memorist_http_requests_total", status=status, **one)
                    for status in found.after.by("memorist_http_requests_total", "status")
                    if status >= "500"
                )
            ),
        }
        for one in asked[:_ROUTES]
    ]
