"""Numbers for what changes in the index, so that whoever has read up to one has missed nothing below it.

The users of a tenant share a few counters. A transaction takes its number where it ends, and keeps the counter until it
has committed: so what has a number is seen before anything with a greater one is. That holds on every database, through
every node of a cluster, and whatever other transactions are open. To take it any earlier would let two transactions
wait for each other.
"""

import time
import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from memorist.store.drivers import Connection
from memorist.store.statements import SqlStatement

COUNTERS = 256
"""Counters of a tenant: few enough to be read at once, enough that its users hardly ever wait for each other."""

Change = Callable[[int], object]
T = TypeVar("T")


def counter_of(user: str) -> int:
    """The counter of a user, '' for nobody. No name is kept for it."""
    return zlib.crc32(user.encode()) % COUNTERS


class IndexChanges:
    """What one transaction changes in the index, kept until its end."""

    __slots__ = ("_alike", "_connection", "_statements", "_tenant", "_waiting")

    def __init__(self, connection: Connection, tenant: str, statements: Mapping[str, SqlStatement]) -> None:
        self._connection = connection
        self._tenant = tenant
        self._statements = statements
        self._waiting: dict[int, list[Change]] = {}
        self._alike: dict[tuple[str, Callable[..., object]], list[Any]] = {}

    def later(self, user: str, change: Change) -> None:
        """Make a change among a user's rows at the end, after those that came before it; it is given its number."""
        self._waiting.setdefault(counter_of(user), []).append(change)

    def together(self, user: str, item: T, change: Callable[[str, list[T], int], object]) -> None:
        """The same once for all items of a user that are to be changed alike."""
        key = (user, change)
        if key not in self._alike:
            items = self._alike[key] = []
            self.later(user, lambda number: change(user, items, number))
        self._alike[key].append(item)

    def numbers(self, users: Iterable[str]) -> dict[str, int]:
        """Numbers for changes that are made now."""
        by_counter = {counter: self._next(counter) for counter in sorted({counter_of(user) for user in users})}
        return {user: by_counter[counter_of(user)] for user in users}

    def make(self) -> None:
        """Make those that wait."""
        waiting, self._waiting, self._alike = self._waiting, {}, {}
        # In the order of the counters, so that two transactions never wait for each other.
        for counter in sorted(waiting):
            number = self._next(counter)
            for change in waiting[counter]:
                change(number)

    def _next(self, counter: int) -> int:
        # The first number is the time, so that those of a tenant that was erased do not come again.
        first = time.time_ns() // 1000
        parameters = {"tenant": self._tenant, "counter": counter, "first": first}
        number: int = self._connection.rows(self._statements["next_change"], parameters)[0][0]
        return number
