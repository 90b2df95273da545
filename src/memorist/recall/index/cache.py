"""The index in memory: for each user a shelf of arrays, loaded when it is first searched and kept up to date.

SQL is the truth. A shelf holds what `memory_index` holds for one user (or for nobody: what is shared), and before every
search it reads the rows that changed since, whichever process changed them. So a search costs what the user's own
memories cost, never the whole file. Shelves that were not searched for long are let go of.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from contextlib import ExitStack

from memorist.ports import Store
from memorist.recall.index.reading import caught_up
from memorist.recall.index.shelf import Shelf
from memorist.recall.index.view import View

_Key = tuple[str, str | None]
"""A tenant and a user, or nobody."""


class Shelves:
    """The shelves of all tenants and users, the least recently searched of which are dropped above a limit."""

    def __init__(self, store: Store, *, model: str, limit_bytes: int) -> None:
        self._store = store
        self._model = model
        self._limit_bytes = limit_bytes
        self._lock = threading.Lock()
        self._shelves: OrderedDict[_Key, Shelf] = OrderedDict()
        self._sizes: dict[_Key, int] = {}
        self._total = 0

    def are_loaded(self, tenant: str, users: Iterable[str | None]) -> bool:
        """Whether a look at them reads only what changed."""
        return all(self._shelf((tenant, user)).is_loaded for user in users)

    def look(self, tenant: str, user: str | None) -> View:
        """A user's shelf as it is now. Raises StoreError."""
        return self.look_at(tenant, [user])[0]

    def look_at(self, tenant: str, users: Sequence[str | None]) -> list[View]:
        """The shelves of some users at one moment. Raises StoreError."""
        shelves = [self._shelf((tenant, user)) for user in users]
        with ExitStack() as held:
            # Before any connection is taken, and in one order: whoever has a connection waits for nobody.
            for shelf in sorted(shelves, key=lambda shelf: shelf.user or ""):
                held.enter_context(shelf.lock)
            views = caught_up(self._store, tenant, shelves)
        for user, shelf in zip(users, shelves, strict=True):
            self._weigh((tenant, user), shelf)
        return views

    def forget(self, tenant: str, users: Iterable[str | None]) -> None:
        """Drop the shelves of some users: they are read again when they are needed."""
        with self._lock:
            for key in [(tenant, user) for user in users]:
                if key in self._shelves:
                    self._drop(key)

    def size_bytes(self) -> int:
        return self._total

    def _shelf(self, key: _Key) -> Shelf:
        with self._lock:
            shelf = self._shelves.get(key)
            if shelf is None:
                shelf = self._shelves[key] = Shelf(key[1], self._model)
            self._shelves.move_to_end(key)
            return shelf

    def _weigh(self, key: _Key, shelf: Shelf) -> None:
        """Note how large a shelf is now, and drop others where all together are too large."""
        with self._lock:
            if self._shelves.get(key) is shelf:
                size = shelf.size_bytes()
                self._total += size - self._sizes.get(key, 0)
                self._sizes[key] = size
            while len(self._shelves) > 1 and self._total > self._limit_bytes:
                self._drop(next(iter(self._shelves)))

    def _drop(self, key: _Key) -> None:
        del self._shelves[key]
        self._total -= self._sizes.pop(key, 0)
