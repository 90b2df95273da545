"""What a tenant's calls of language models took on each day (UTC): counted one by one, and kept whatever is erased."""

from collections.abc import Sequence
from datetime import UTC, datetime

from memorist.models.values import CallUsage, Usage
from memorist.platform import acts
from memorist.platform.values import SpentDay
from memorist.ports import Reader, Store
from memorist.times import Clock


class Spending:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def add(self, tenant: str, calls: Sequence[Usage], *, budgeted: bool = True) -> None:
        """Count calls that were answered, before anything else is done with the answers. Raises StoreError.

        What came of them may be undone or tried again, and whoever does that may die; the money is gone all the same.
        Calls of an unknown price cost nothing. `budgeted`: they count towards the budget of turns.
        """
        if calls:
            spent = _of_day(_midnight(self._clock.now()), calls)
            with acts.aside():
                self._store.write(tenant, lambda tx: tx.spending.add(spent, budgeted=budgeted))

    def this_month(self, tx: Reader) -> float:
        """In dollars."""
        return tx.spending.spent(_midnight(self._clock.now()).replace(day=1))


def _of_day(day: datetime, calls: Sequence[Usage]) -> SpentDay:
    took = [call.seconds for call in calls if isinstance(call, CallUsage)]
    return SpentDay(
        day,
        len(calls),
        sum(call.cost_usd is None for call in calls),
        sum(call.input_tokens for call in calls),
        sum(call.output_tokens for call in calls),
        sum(call.cost_usd or 0.0 for call in calls),
        sum(took),
        max(took, default=0.0),
    )


def _midnight(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
