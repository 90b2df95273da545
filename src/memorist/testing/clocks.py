"""Clocks for tests: time moves when told to, and never by itself."""

import threading
from datetime import UTC, datetime, timedelta

START = datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)


class FrozenClock:
    """Stands still until `advance`."""

    def __init__(self, start: datetime = START) -> None:
        self._now = start
        self._lock = threading.Lock()

    def now(self) -> datetime:
        return self._now

    def advance(self, by: timedelta) -> datetime:
        """Move forward, or with a negative amount back. Returns the new time."""
        with self._lock:
            self._now += by
            return self._now


class StepClock(FrozenClock):
    """Moves one step each time it is read, so that no two moments are equal."""

    def __init__(self, start: datetime = START, step: timedelta = timedelta(milliseconds=1)) -> None:
        super().__init__(start)
        self._step = step

    def now(self) -> datetime:
        return self.advance(self._step)
