"""How much there is of everything, of all tenants together and of nobody by name: what `/metrics` shows."""

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from memorist.errors import MemoristError, StoreBusy
from memorist.platform.values import JobStatus, Tally
from memorist.ports import Store
from memorist.times import Clock
from memorist.version import __version__

_COUNTED_FOR_S = 10.0
_COUNTING_SHARE = 100
"""Counting reads much of the database: so many times as long as it took passes before it is done again."""

_LONGEST_S = 10.0
"""What takes longer to count is left out."""

Values = Mapping[str, Mapping[str, float]]
"""By what is counted, and by what that is told apart: '' where it is not."""


class Census:
    def __init__(
        self, store: Store, clock: Clock, at_work: Callable[[], Mapping[str, float]], embeds: Callable[[], bool]
    ) -> None:
        """`at_work` says what this process does at the moment, `embeds` whether anything waits for vectors at all."""
        self._store = store
        self._clock = clock
        self._at_work = at_work
        self._embeds = embeds
        self._counting = threading.Lock()
        self._counted: Values = {}
        self._counted_at = self._count_after = float("-inf")

    def values(self) -> Values:
        """What there is. Where the database cannot be asked, it is only what this process knows."""
        now = {"info": {__version__: 1.0}, **self.here()}
        # Whoever comes while another counts gets what was counted before.
        if time.monotonic() >= self._count_after and self._counting.acquire(blocking=False):
            try:
                self._count()
            except MemoristError:
                self._counted = {}
            finally:
                self._counting.release()
        if not self._counted:
            return now
        return {**now, **self._counted, "counted": {"": time.monotonic() - self._counted_at}}

    def here(self) -> Values:
        """What this process alone does and has at the moment."""
        return {**_single(self._at_work()), **_single(self._store.queues())}

    def _count(self) -> None:
        started = time.monotonic()
        counted: dict[str, Mapping[str, float]] = {"bytes": {"": float(self._store.describe()["size_bytes"])}}
        for what in Tally:
            none = dict.fromkeys(map(str, JobStatus), 0) if what is Tally.JOBS else {}
            if what is Tally.WAITING and not self._embeds():
                counted[what] = {"": 0}
                continue
            with suppress(StoreBusy):
                counted[what] = none | self._store.count_all(what, self._clock.now(), seconds=_LONGEST_S)
        self._counted = counted
        self._counted_at = time.monotonic()
        self._count_after = self._counted_at + max(_COUNTED_FOR_S, _COUNTING_SHARE * (self._counted_at - started))


def _single(values: Mapping[str, float]) -> dict[str, dict[str, float]]:
    return {name: {"": value} for name, value in values.items()}
