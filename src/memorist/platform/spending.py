"""What a tenant's turns have cost in each month (UTC): counted call by call, and kept whatever is erased."""

from collections.abc import Sequence
from datetime import datetime

from memorist.models.values import Usage
from memorist.platform import acts
from memorist.ports import Reader, Store
from memorist.times import Clock


class Spending:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def add(self, tenant: str, calls: Sequence[Usage]) -> None:
        """Count calls that were answered, before anything else is done with the answers. Raises StoreError.

        What came of them may be undone or tried again, and whoever does that may die; the money is gone all the same.
        Calls of an unknown price count nothing.
        """
        cost = sum(call.cost_usd or 0.0 for call in calls)
        if cost:
            month = _month(self._clock.now())
            with acts.aside():
                self._store.write(tenant, lambda tx: tx.spending.add(month, cost))

    def this_month(self, tx: Reader) -> float:
        """In dollars."""
        return tx.spending.spent(_month(self._clock.now()))


def _month(moment: datetime) -> datetime:
    return moment.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
