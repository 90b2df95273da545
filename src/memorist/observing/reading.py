"""What two looks at a server's `/metrics` say of the time between them: rates, percentiles, and what there is now."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

_ROUTES = 10
_Labels = frozenset[tuple[str, str]]
# Prometheus's own parser takes five times as long, and somebody waits for the page that reads this.
_SAMPLE = re.compile(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)(?: -?\d+)?")
_LABEL = re.compile(r'\b(\w+)="((?:[^"\\]|\\.)*)",?')
_ESCAPED = {r"\\": "\\", r"\"": '"', r"\n": "\n"}


@dataclass(frozen=True, slots=True)
class Look:
    """The values of one moment, by name and then by labels."""

    at: float
    values: Mapping[str, Mapping[_Labels, float]]

    @classmethod
    def of(cls, text: str, at: float, beginning: str = "") -> "Look":
        """What a text tells; with `beginning`, of the names alone that begin so. Raises ValueError where it is not
        Prometheus's.
        """
        values: dict[str, dict[_Labels, float]] = {}
        for line in text.split("\n"):
            if line.startswith(beginning) and line[:1] not in ("", "#"):
                name, labels, value = _sample(line)
                values.setdefault(name, {})[labels] = value
        return cls(at, values)

    def before_it_began(self) -> "Look":
        """The moment when the server started, and had done nothing."""
        return Look(self.one("process_start_time_seconds"), {})

    def one(self, name: str, **labels: str) -> float:
        return self.of_name(name).get(frozenset(labels.items()), 0.0)

    def by(self, name: str, label: str) -> dict[str, float]:
        """The sum of a metric's values for each value of a label."""
        found: dict[str, float] = {}
        for labels, value in self.of_name(name).items():
            key = dict(labels).get(label, "")
            found[key] = found.get(key, 0.0) + value
        return found

    def of_name(self, name: str) -> Mapping[_Labels, float]:
        return self.values.get(name, {})


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
        return sum(rise for _, rise in self._rises(name, labels))

    def rate(self, name: str, **labels: str) -> float:
        return round(self.more(name, **labels) / self.seconds, 3)

    def timed(self, name: str, **labels: str) -> dict[str, float | None]:
        """How often something was done, and what so many of a hundred took no longer than: None where it was not."""
        counts: dict[float, float] = {}
        for found, rise in self._rises(f"{name}_bucket", labels):
            bound = float(dict(found)["le"])
            counts[bound] = counts.get(bound, 0.0) + rise
        buckets = sorted(counts.items())
        shares = {"p50_ms": 0.5, "p95_ms": 0.95, "p99_ms": 0.99}
        return {
            "per_second": self.rate(f"{name}_count", **labels),
            **{share: _milliseconds(buckets, part) for share, part in shares.items()},
        }

    def _rises(self, name: str, labels: Mapping[str, str]) -> Iterator[tuple[_Labels, float]]:
        wanted, before = frozenset(labels.items()), self.before.of_name(name)
        for key, value in self.after.of_name(name).items():
            if wanted <= key:
                earlier = before.get(key, 0.0)
                yield key, value - earlier if earlier <= value else value


def _sample(line: str) -> tuple[str, _Labels, float]:
    found = _SAMPLE.fullmatch(line)
    if found is None:
        raise ValueError(f"This is no line of Prometheus: {line[:80]}")
    name, labels, value = found.groups()
    return name, frozenset((key, _unescaped(text)) for key, text in _LABEL.findall(labels or "")), float(value)


def _unescaped(text: str) -> str:
    return re.sub(r"\\.", lambda sign: _ESCAPED.get(sign[0], sign[0]), text) if "\\" in text else text


def _milliseconds(buckets: Sequence[tuple[float, float]], share: float) -> float | None:
    """So many took no longer than this, as the buckets of a histogram tell, each with all below it."""
    if not buckets or not buckets[-1][1]:
        return None
    rank = share * buckets[-1][1]
    for (low, below), (high, upto) in pairwise([(0.0, 0.0), *buckets]):
        if upto >= rank:
            within = low if high == float("inf") else low + (high - low) * (rank - below) / max(upto - below, 1e-9)
            return round(1000 * within, 3)
    return None


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
    counts = found.after.of_name("memorist_http_request_seconds_count")
    known = [(found.more("memorist_http_request_seconds_count", **dict(labels)), dict(labels)) for labels in counts]
    asked = [one for _, one in sorted(known, key=lambda one: (-one[0], one[1]["route"]))]
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
