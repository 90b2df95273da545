"""Every metric there is: its name, what it tells, and by what it is told apart: never by who somebody is.

Plain data, which `/metrics`, the documentation and the tests of `ops/` read.
"""

from dataclasses import dataclass
from enum import StrEnum

_MOMENTS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_WHILES = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


class MetricForm(StrEnum):
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Family:
    """One metric. `label` is by what its values are told apart, where there is more than one."""

    name: str
    form: MetricForm
    help: str
    label: str = ""
    buckets: tuple[float, ...] = ()

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self.label.split())


def _timed(name: str, help: str, label: str = "", buckets: tuple[float, ...] = _MOMENTS) -> Family:
    return Family(f"memorist_{name}_seconds", MetricForm.HISTOGRAM, help, label, buckets)


def _counted(name: str, help: str, label: str = "") -> Family:
    return Family(f"memorist_{name}_total", MetricForm.COUNTER, help, label)


def _shown(name: str, help: str, label: str = "") -> Family:
    return Family(f"memorist_{name}", MetricForm.GAUGE, help, label)


REQUESTS = _counted(
    "http_requests", "Requests that were answered, by the template of their route.", "route method status"
)
REQUEST_SECONDS = _timed(
    "http_request", "Seconds until a request was answered; of a stream, until it began.", "route method"
)
MODEL_BATCH = Family(
    "memorist_model_batch_size",
    MetricForm.HISTOGRAM,
    "Texts, or pairs of them, that a model was given at once.",
    "part",
    _SIZES,
)

TIMED = {
    "recall": _timed("recall", "Seconds that recalls took."),
    "stage": _timed(
        "recall_stage", "Seconds that each stage of a recall took; `look` and `words` go on beside `embed`.", "stage"
    ),
    "remember": _timed(
        "remember", "Seconds until memories were stored, with their vectors where those are made at once."
    ),
    "transaction": _timed(
        "transaction", "Seconds from asking for a transaction until it was over, or durable.", "kind"
    ),
    "model": _timed("model", "Seconds that calls of models took.", "part", _WHILES),
    "job": _timed("job", "Seconds that attempts at jobs took.", "kind", _WHILES),
    "sweep": _timed("sweep", "Seconds that sweeps of a tenant took.", buckets=_WHILES),
    "turn": _timed("turn", "Seconds that turns took, with what was learned from them.", buckets=_WHILES),
}
"""What is timed, by the word that `Watch.timed` is given."""

COUNTED = {
    "degraded": _counted(
        "recalls_degraded",
        "Recalls of which some memories had no vectors yet, no embedder answered, or some users were left out.",
    ),
    "model failure": _counted("model_failures", "Calls of models that failed.", "part"),
    "llm tokens": _counted("llm_tokens", "Tokens of all calls of language models.", "direction"),
    "llm dollars": _counted(
        "llm_cost_usd", "Dollars that all calls of language models cost, where the price is known."
    ),
    "attempt": _counted(
        "job_attempts", "Attempts at jobs, by what came of them: done, waiting (for the next) or dead.", "outcome"
    ),
    "swept": _counted("swept", "Memories that sweeps moved, by the move.", "move"),
    "turn": _counted("turns", "Turns that ended, by how.", "status"),
    "turn tokens": _counted("turn_tokens", "Tokens that turns took, with what was learned from them.", "direction"),
    "turn dollars": _counted("turn_cost_usd", "Dollars that turns cost, where the price is known."),
}
"""What is counted, by the word that `Watch.count` is given."""

SHOWN = {
    "info": _shown("build_info", "Always 1: the version that runs.", "version"),
    "requests": _shown("http_requests_in_progress", "Requests that are being answered, streams too."),
    "models waiting": _shown("model_queue", "Batches that wait for their turn at the local models."),
    "waiting": _shown("index_waiting", "Memories that wait for their vectors."),
    "lag": _shown("index_lag_seconds", "For how long the oldest write of this process has waited for its vectors."),
    "jobs": _shown("jobs", "Jobs by their state; those that are done are kept for a week.", "state"),
    "jobs running": _shown("jobs_running", "Jobs that this process works on."),
    "turns running": _shown("turns_running", "Turns that this process works on."),
    "memories": _shown("memories", "Memories by their status.", "status"),
    "tenants": _shown("tenants", "Tenants that there are."),
    "bytes": _shown("database_bytes", "Size of the database."),
    "counted": _shown(
        "counted_age_seconds", "How long ago what lies in the database was counted: that is done now and then."
    ),
    "group_commit_waiting": _shown("group_commit_queue", "SQLite: writes that wait to be committed together."),
    "group_commit_batches": _counted("group_commits", "SQLite: transactions that were committed."),
    "group_commit_writes": _counted("group_commit_writes", "SQLite: writes that were in them."),
    "pool_size": _shown("pool_connections", "PostgreSQL: connections that are open."),
    "pool_idle": _shown("pool_idle", "PostgreSQL: connections that nobody uses."),
    "pool_waiting": _shown("pool_queue", "PostgreSQL: requests that wait for a connection."),
    "pool_requests": _counted("pool_requests", "PostgreSQL: times that a connection was asked for."),
    "pool_wait_seconds": _counted(
        "pool_wait_seconds", "PostgreSQL: seconds that were waited for connections, of all together."
    ),
    "pool_errors": _counted("pool_errors", "PostgreSQL: times that none came in time."),
}
"""What is looked up when somebody asks, by the word that the census and the store have for it."""

ALL = (REQUESTS, REQUEST_SECONDS, MODEL_BATCH, *TIMED.values(), *COUNTED.values(), *SHOWN.values())
