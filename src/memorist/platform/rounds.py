"""Which tenants a background worker looks at next: those it was told of, and the others a few at a time.

Looking at every tenant each second costs a server of ten thousand tenants more than its work does. What this process
writes is told of; the rounds are for what a process that is gone left behind, and for what becomes due by itself.
"""

import threading

from memorist.ports import Store

AT_A_TIME = 100


class Rounds:
    """Safe to use from many threads; `take` is the worker's alone."""

    def __init__(self, store: Store, *, at_a_time: int = AT_A_TIME) -> None:
        self._store = store
        self._at_a_time = at_a_time
        self._lock = threading.Lock()
        self._told: set[str] = set()
        self._known: set[str] = set()
        self._everybody = False
        self._is_first = False
        self._round: list[str] = []

    def tell(self, tenant: str) -> None:
        """There is something to do for it now."""
        with self._lock:
            self._known.add(tenant)
            self._told.add(tenant)

    def tell_of_everybody(self) -> None:
        """Look after all tenants that there are from now on, and at all of them the next time."""
        with self._lock:
            self._everybody = True
            self._is_first = True
            self._round = []

    def take(self) -> list[str]:
        """Whom to look at now. Raises StoreError; what was told of is not lost by it."""
        with self._lock:
            begins = not self._round
            everybody = self._everybody
        listed = {tenant.id for tenant in self._store.list_tenants()} if begins and everybody else set()
        with self._lock:
            if begins:
                self._known |= listed
                self._round = sorted(self._known)
            count = len(self._round) if self._is_first else self._at_a_time
            now, self._round = self._round[:count], self._round[count:]
            told, self._told = self._told, set()
            self._is_first = False
        return sorted(told.union(now))
