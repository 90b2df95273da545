"""Those who follow a turn. While there is one, the turn goes on."""

import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta

from memorist.errors import StoreError
from memorist.platform import acts
from memorist.ports import Store
from memorist.times import Clock
from memorist.turns.run import is_lost
from memorist.turns.values import LAST, Turn, TurnEvent, TurnStatus

ATTENDED_FOR = timedelta(seconds=30)
"""So long a turn goes on after somebody listened."""
_PAGE = 200


class Listeners:
    """Who in this process waits for the events of which turn."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[str, set[Callable[[], None]]] = {}

    def tell(self, turn_id: str) -> None:
        """Wake those who listen to a turn."""
        with self._lock:
            waiting = list(self._waiting.get(turn_id, ()))
        for wake in waiting:
            wake()

    def add(self, turn_id: str, wake: Callable[[], None]) -> None:
        with self._lock:
            self._waiting.setdefault(turn_id, set()).add(wake)

    def remove(self, turn_id: str, wake: Callable[[], None]) -> None:
        with self._lock:
            waiting = self._waiting.get(turn_id, set())
            waiting.discard(wake)
            if not waiting:
                self._waiting.pop(turn_id, None)


class Listener:
    """Somebody who follows a turn. To be closed, or used in a `with`."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        reap: Callable[[str], int],
        listeners: Listeners,
        tenant: str,
        turn: Turn,
        after: int,
        wake: Callable[[], None],
    ) -> None:
        self.turn = turn
        self.position = after
        self.is_over = False
        self._store = store
        self._clock = clock
        self._reap = reap
        self._listeners = listeners
        self._tenant = tenant
        self._wake = wake
        self._attended_until = turn.attended_until
        self._is_running = turn.status is TurnStatus.RUNNING
        listeners.add(turn.id, wake)

    def __enter__(self) -> "Listener":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._listeners.remove(self.turn.id, self._wake)

    def read(self) -> list[TurnEvent]:
        """What is new. `is_over` once the last event was given out. Raises StoreError."""
        found, turn = self._store.read(
            self._tenant,
            lambda tx: (tx.turns.events(self.turn.id, self.position, _PAGE), tx.turns.get(self.turn.id)),
        )
        self._is_running = turn is not None and turn.status is TurnStatus.RUNNING
        if turn is not None and is_lost(turn, self._clock.now()):
            with suppress(StoreError):  # What was read is given out all the same, and the next read tries again.
                self._reap(self._tenant)
        else:
            self.attend()
        # Last, so that what is not given out because something was raised is read again.
        if found:
            self.position = found[-1].seq
            self.is_over = found[-1].event in LAST
        elif not self._is_running:
            self.is_over = True  # Erased meanwhile, or followed from its end.
        return found

    def attend(self) -> None:
        """Say that somebody listens, where the turn goes on for that."""
        if self._is_running:
            with suppress(StoreError):  # What was read is given out all the same, and the next read says it again.
                until = attend(self._store, self._clock, self._tenant, self.turn.id, self._attended_until)
                self._attended_until = until


def attend(store: Store, clock: Clock, tenant: str, turn_id: str, until: datetime | None) -> datetime:
    """Say that somebody listens to a turn, unless that was just said. `until` is what was said last; returns what is
    said now. Raises StoreError.
    """
    now = clock.now()
    if until is not None and until - now >= ATTENDED_FOR * 0.8:
        return until
    with acts.aside():
        store.write(tenant, lambda tx: tx.turns.attend(turn_id, now + ATTENDED_FOR))
    return now + ATTENDED_FOR
