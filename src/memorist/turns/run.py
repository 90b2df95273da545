"""A turn that is worked on here: adds its events, each on disk before anybody sees it."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from typing import Any

from memorist.errors import MemoristError, TurnInterrupted
from memorist.models.values import Usage
from memorist.platform.values import Principal
from memorist.ports import Store, Writer
from memorist.times import Clock
from memorist.turns.values import COMPLETED, FAILED, Turn, TurnEvent, TurnStatus

LEASE = timedelta(seconds=10)
"""So long a turn is its process's after that said so."""


class Run:
    def __init__(
        self, store: Store, clock: Clock, tell: Callable[[str], None], principal: Principal, turn: Turn
    ) -> None:
        """`tell` wakes those who listen to a turn."""
        self.clock = clock
        self.principal = principal
        self.turn = turn
        self.stopped = threading.Event()
        self._store = store
        self._tell = tell
        self._stop: MemoristError | None = None
        self._complete: Callable[[], None] | None = None

    @property
    def seconds(self) -> float:
        return (self.clock.now() - self.turn.created_at).total_seconds()

    def stop(self, reason: MemoristError) -> None:
        self._stop = self._stop or reason
        self.stopped.set()

    def answered(self, complete: Callable[[], None]) -> None:
        """The whole answer was told: from now on nothing ends the turn before it is completed, but that another has
        taken it. `complete` does that with what is known then.
        """
        self._complete = complete

    def leave(self) -> None:
        """Complete the turn where its answer was told, though it is still learned from: the process ends."""
        if self._complete is not None:
            self._complete()

    def check(self) -> None:
        """Raises the reason why the turn is to be ended, where there is one."""
        if self._stop is not None and self._complete is None:
            raise self._stop

    def emit(self, event: str, data: Mapping[str, Any]) -> None:
        """Add an event. Raises TurnInterrupted where another has taken the turn, and as `check` does."""
        self.check()
        self._append(event, data)

    def complete(self, answer: str, usage: Usage, data: Mapping[str, Any], at: datetime) -> None:
        """`at` is when the answer was whole: what was learned from it is newer."""
        ended = replace(self.turn, status=TurnStatus.COMPLETED, answer=answer, usage=usage, completed_at=at)
        self._append(COMPLETED, data, ended)

    def fail(self, error: MemoristError, usage: Usage) -> None:
        ended = replace(
            self.turn, status=TurnStatus.FAILED, error=told(error), usage=usage, completed_at=self.clock.now()
        )
        self._append(FAILED, failure(self.turn.id, error), ended)

    def _append(self, event: str, data: Mapping[str, Any], ended: Turn | None = None) -> None:
        now = self.clock.now()

        def work(tx: Writer) -> bool:
            if not tx.turns.hold(self.turn.id, self.turn.runner, now + LEASE):
                return False
            # Counted here: others add events too, each while it holds the turn's row.
            tx.turns.append_event(self.turn.id, TurnEvent(tx.turns.last_event(self.turn.id) + 1, event, data, now))
            return ended is None or finished(tx, ended)

        if not self._store.write(self.principal.tenant, work):
            raise TurnInterrupted
        self._tell(self.turn.id)


def finished(tx: Writer, ended: Turn) -> bool:
    """Note how a turn ended, without the words that may repeat what was erased while it ran. False where it is over, or
    another has taken it.
    """
    is_over = tx.turns.finish(ended)
    if is_over and tx.turns.was_told_what_is_erased(ended.id):
        tx.erasure.empty_turn(ended.id, [])
    return is_over


def is_lost(turn: Turn, now: datetime) -> bool:
    """Whether a turn runs that nobody works on any more."""
    return turn.status is TurnStatus.RUNNING and turn.lease_until is not None and turn.lease_until <= now


def told(error: MemoristError) -> dict[str, str]:
    """An error as a turn tells it."""
    return {"code": error.code, "message": error.message}


def failure(turn_id: str, error: MemoristError) -> dict[str, Any]:
    return {"turn_id": turn_id, "status": str(TurnStatus.FAILED), "error": told(error)}


def spent(usage: Usage) -> dict[str, Any]:
    return asdict(usage)
