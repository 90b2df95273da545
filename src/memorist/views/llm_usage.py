"""What language models were asked, how long they took and what that cost, by day."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from statistics import quantiles

from memorist.platform import access
from memorist.platform.values import Principal, SpentDay
from memorist.ports import Store
from memorist.times import Clock
from memorist.turns.values import TurnFigures

_TURNS = 5000
"""Turns that are looked at: the newest."""


@dataclass(frozen=True, slots=True)
class TurnDay:
    """A day's turns (UTC): how many, how many failed, half and most of them took how long, and what they cost.

    `unpriced` are those with a call of which nobody knows the price.
    """

    day: date
    turns: int = 0
    failed: int = 0
    median_s: float | None = None
    most_s: float | None = None
    """What 95 of 100 took no longer than."""
    tokens: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0


class LlmUsage:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def turns(self, principal: Principal, days: int) -> list[TurnDay]:
        """The caller's turns of each of the last days, or everybody's for an admin of everybody."""
        wanted = self._days(days)
        parts = access.followed_slices(principal)
        since = _midnight(wanted[0])
        found = self._store.read(
            principal.tenant, lambda tx: [one for part in parts for one in tx.turns.figures(part, since, _TURNS)]
        )
        return [
            _turn_day(day, [one for one in found if one.created_at.astimezone(UTC).date() == day]) for day in wanted
        ]

    def calls(self, principal: Principal, days: int) -> list[SpentDay]:
        """What all calls of the tenant took on each of the last days. Raises Forbidden."""
        access.require(principal, access.Action.ADMINISTER)
        wanted = [_midnight(day) for day in self._days(days)]
        found = self._store.read(principal.tenant, lambda tx: {one.day: one for one in tx.spending.days(wanted[0])})
        return [found.get(day, SpentDay(day, 0, 0, 0, 0, 0.0, 0.0, 0.0)) for day in wanted]

    def _days(self, days: int) -> list[date]:
        today = self._clock.now().astimezone(UTC).date()
        return [today - timedelta(days=back) for back in reversed(range(days))]


def _turn_day(day: date, turns: Sequence[TurnFigures]) -> TurnDay:
    took = [(one.completed_at - one.created_at).total_seconds() for one in turns if one.completed_at is not None]
    parts = quantiles(took, n=20, method="inclusive") if len(took) > 1 else took * 19
    return TurnDay(
        day,
        len(turns),
        sum(one.status == "failed" for one in turns),
        parts[9] if parts else None,
        parts[18] if parts else None,
        sum(one.usage.input_tokens + one.usage.output_tokens for one in turns),
        sum(one.usage.cost_usd or 0.0 for one in turns),
        sum(one.usage.cost_usd is None for one in turns),
    )


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time.min, UTC)
