"""How a whole database stands, for its operator: counts over all tenants, which name nobody."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from memorist.platform.values import JobStatus, OwnerFilter
from memorist.ports import Reader, Store

TOLERANCE = timedelta(minutes=5)
"""How far two clocks may be apart before it matters."""
OVERDUE = timedelta(hours=1)
"""How long a job may be due before nobody is thought to do it."""

_EVERYBODY = OwnerFilter(any_user=True, any_agent=True)
_MOST = 10_000


@dataclass(frozen=True, slots=True)
class StoreCondition:
    """Sums over all tenants. `dated_ahead` counts what is dated after now, `last_date` is the last such time."""

    tenants: int
    rows: Counter[str]
    jobs: Counter[str]
    overdue: int
    """Tenants with a job that was to be done long ago."""
    dated_ahead: int
    last_date: datetime | None
    index_models: Counter[str]
    """How many tenants have vectors of each model; '' and `none` are those without any."""
    largest_index: int
    """How many memories the user has who has most."""


def condition_of(store: Store, now: datetime) -> StoreCondition:
    """Reads every tenant. Raises StoreError; the database must be migrated."""
    rows: Counter[str] = Counter()
    jobs: Counter[str] = Counter()
    models: Counter[str] = Counter()
    overdue = ahead = largest = 0
    last: datetime | None = None
    tenants = store.list_tenants()
    for tenant in tenants:
        counted, states, is_overdue, (later, newest), most = store.read(tenant.id, partial(_look, now))
        rows.update(counted)
        jobs.update({str(status): count for status, count in states.items()})
        overdue += is_overdue
        ahead += later
        largest = max(largest, most)
        last = max(filter(None, (last, newest)), default=None)
        models[store.index_model(tenant.id) or ""] += 1
    return StoreCondition(len(tenants), rows, jobs, overdue, ahead, last, models, largest)


def count_lacking(store: Store, model: str, same: Sequence[str]) -> int:
    """How many memories have vectors of one of the `same` models, which are this one's, and lack its tokens. Raises
    StoreError.
    """
    tenants = [tenant.id for tenant in store.list_tenants() if store.index_model(tenant.id) in same]
    return sum(store.read(tenant, lambda tx: tx.index.count(model, same)).kept for tenant in tenants)


def _look(
    now: datetime, tx: Reader
) -> tuple[dict[str, int], dict[JobStatus, int], bool, tuple[int, datetime | None], int]:
    return (
        tx.overview.count_rows(),
        tx.jobs.count(_EVERYBODY, _MOST),
        tx.jobs.has_due(now - OVERDUE),
        tx.overview.count_dated_after(now + TOLERANCE),
        tx.index.largest(),
    )
