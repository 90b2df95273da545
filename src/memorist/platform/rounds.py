"""Which tenants a background worker looks at next: those it was told of, and those that have work.

Looking at every tenant costs a server of a million tenants more than its work does. What this process writes is told
of; the store is asked for what a process that is gone left behind, and for what becomes due by itself.
"""

import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime

from memorist.platform.values import DueWork
from memorist.ports import Store

AT_A_TIME = 100
_MOST_AT_A_TIME = 100_000
_SHARE = 20
"""So many times as long as asking the store took, it is not asked again."""

FindDue = Callable[[str, int], list[str]]
"""Whose work is due, after a name, and how many at most."""


class Rounds:
    """Safe to use from many threads; `take` is the worker's alone."""

    def __init__(self, find_due: FindDue, *, at_a_time: int = AT_A_TIME, share: float = _SHARE) -> None:
        self._find_due = find_due
        self._at_a_time = at_a_time
        self._share = share
        self._lock = threading.Lock()
        self._told: set[str] = set()
        self._known: set[str] = set()
        self._everybody = False
        self._round: list[str] = []
        self._after = ""
        self._not_before = float("-inf")

    def tell(self, tenant: str) -> None:
        """There is something to do for it now."""
        with self._lock:
            if not self._everybody:
                self._known.add(tenant)
            self._told.add(tenant)

    def tell_of_everybody(self) -> None:
        """Look after all tenants that there are from now on."""
        with self._lock:
            self._everybody = True
            self._known = set()

    def leave_to_another(self) -> None:
        """Look after none but those it is told of, and once each: another process looks after all tenants."""
        self._find_due = lambda _after, _limit: []
        self.tell_of_everybody()

    def take(self) -> list[str]:
        """Whom to look at now. Raises StoreError; what was told of is not lost by it."""
        due = self._due() if self._everybody else self._next_known()
        with self._lock:
            told, self._told = self._told, set()
        return sorted(told.union(due))

    def _due(self) -> list[str]:
        """Some of those that have work, the next time those after them."""
        started = time.monotonic()
        if started < self._not_before:
            return []
        found = self._find_due(self._after, self._at_a_time)
        self._after = found[-1] if len(found) >= self._at_a_time else ""
        took = time.monotonic() - started
        self._not_before = started + took * self._share
        return found

    def _next_known(self) -> list[str]:
        """What was told of may become due once more by itself."""
        with self._lock:
            if not self._round:
                self._round = sorted(self._known)
            now, self._round = self._round[: self._at_a_time], self._round[self._at_a_time :]
        return now


def all_due(store: Store, work: DueWork, now: datetime) -> Iterator[str]:
    """Everybody whose work is due. Raises StoreError.

    What is due is found by its time, and so read anew for every part of the names: each part has ten times as many.
    """
    after, limit = "", AT_A_TIME
    while True:
        found = store.due_tenants(work, now, after=after, limit=limit)
        yield from found
        if len(found) < limit:
            return
        after, limit = found[-1], min(10 * limit, _MOST_AT_A_TIME)
