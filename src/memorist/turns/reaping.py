"""Turns that are lost: their process no longer says that it works on them. Whoever looks first ends them."""

from collections.abc import Callable, Container
from dataclasses import replace
from datetime import datetime

from memorist.errors import TurnInterrupted
from memorist.ports import Store, Writer
from memorist.times import Clock
from memorist.turns.run import LEASE, failure, told
from memorist.turns.values import FAILED, Turn, TurnEvent, TurnStatus

_AT_ONCE = 200


class Reaper:
    def __init__(
        self, store: Store, clock: Clock, name: str, running: Container[str], tell: Callable[[str], None]
    ) -> None:
        """`running` are the turns that are worked on here; `tell` wakes those who listen to one."""
        self._store = store
        self._clock = clock
        self._name = name
        self._running = running
        self._tell = tell

    def reap(self, tenant: str) -> int:
        """End the turns of a tenant that nobody works on any more. Returns how many."""
        now = self._clock.now()
        lost = self._store.read(tenant, lambda tx: tx.turns.lost(now, _AT_ONCE), snapshot=False)
        # One that is worked on here is late, not lost.
        return sum(self._end(tenant, turn) for turn in lost if turn.id not in self._running)

    def _end(self, tenant: str, turn: Turn) -> bool:
        error = TurnInterrupted()
        now = self._clock.now()

        def work(tx: Writer) -> bool:
            if not tx.turns.take(turn.id, self._name, now, now + LEASE):
                return False
            ended = replace(turn, status=TurnStatus.FAILED, runner=self._name, error=told(error), completed_at=now)
            event = TurnEvent(tx.turns.last_event(turn.id) + 1, FAILED, failure(turn.id, error), now)
            tx.turns.append_event(turn.id, event)
            return tx.turns.finish(ended)

        ended = self._store.write(tenant, work)
        self._tell(turn.id)
        return ended


def is_lost(turn: Turn, now: datetime) -> bool:
    """Whether a turn runs that nobody works on any more."""
    return turn.status is TurnStatus.RUNNING and turn.lease_until is not None and turn.lease_until <= now
