"""The index in memory: for each user a shelf of arrays, loaded when it is first searched and kept up to date.

SQL is the truth. A shelf holds what `memory_index` holds for one user (or for nobody: what is shared), and before every
search it reads the rows that changed since, whichever process changed them. So a search costs what the user's own
memories cost, never the whole file. Shelves that were not searched for long are let go of, those that a search uses
never: one that is too large by itself gives up vectors instead.
"""

import sys
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

from memorist.ports import Store
from memorist.recall.index.reading import caught_up, glimpsed, locked
from memorist.recall.index.saving import Saving
from memorist.recall.index.shelf import Shelf
from memorist.recall.index.view import View
from memorist.secrets.logs import redacting_logger

_log = redacting_logger(__name__)

_READ_IN_SECONDS = 50_000
"""Memories from which on reading all of a user's takes seconds."""

_Key = tuple[str, str | None]
"""A tenant and a user, or nobody."""


class Shelves:
    """The shelves of all tenants and users, the least recently searched of which are dropped above a limit."""

    def __init__(
        self,
        store: Store,
        *,
        models: Sequence[str],
        limit_bytes: int,
        saving: Saving | None = None,
        lacks_folder: bool = False,
    ) -> None:
        """`models` are those whose vectors are looked at. `saving` keeps large shelves for the next process, and takes
        them out of this one's own memory; that it `lacks_folder` to be saved in is told where one is large.
        """
        self._saving = saving
        self._lacks_folder = lacks_folder
        self._store = store
        self._models = models
        self._limit_bytes = limit_bytes
        self._lock = threading.Lock()
        self._shelves: OrderedDict[_Key, Shelf] = OrderedDict()
        self._sizes: dict[_Key, int] = {}
        self._total = 0
        self._in_use: Counter[_Key] = Counter()
        self._told: set[str] = set()

    def are_loaded(self, tenant: str, users: Iterable[str | None]) -> bool:
        """Whether a look at them reads only what changed."""
        return all(self._shelf((tenant, user)).is_loaded for user in users)

    def look(self, tenant: str, user: str | None) -> View:
        """A user's shelf as it is now. Raises StoreError."""
        return self.look_at(tenant, [user])[0]

    def look_at(self, tenant: str, users: Sequence[str | None]) -> list[View]:
        """The shelves of some users at one moment. Raises StoreError."""
        keys = [(tenant, user) for user in users]
        with self._using(keys):
            shelves = [self._shelf(key) for key in keys]
            views = glimpsed(self._store, tenant, shelves)
            if views is None:
                restore = None if self._saving is None else partial(self._saving.restore, tenant)
                with locked(shelves):
                    views = caught_up(self._store, tenant, shelves, restore or (lambda _: False))
            self._weigh(dict(zip(keys, shelves, strict=True)))
        if self._saving is not None:
            for key, shelf in zip(keys, shelves, strict=True):
                self._saving.consider(tenant, shelf, partial(self._saved, key, shelf))
        return views

    def fitting(self, tenant: str, users: Sequence[str | None]) -> list[str | None]:
        """As many of these users, in their order, as there is memory to look at together: the first one at least.

        Raises StoreError.
        """
        fitting: list[str | None] = []
        total = 0
        keys = [(tenant, user) for user in users]
        with self._using(keys):
            for key in keys:
                is_loaded = self._shelf(key).is_loaded
                # What will hardly fit is not read in vain, again and again.
                if not is_loaded and fitting and total + total // len(fitting) > self._limit_bytes:
                    break
                if not is_loaded:
                    self.look_at(tenant, [key[1]])
                total += self._sizes.get(key, 0)
                if fitting and total > self._limit_bytes:
                    break
                fitting.append(key[1])
        return fitting

    def finish_saving(self) -> None:
        """Wait for what is being saved."""
        if self._saving is not None:
            self._saving.finish()

    def close(self) -> None:
        """Finish what is being saved, and save nothing more."""
        if self._saving is not None:
            self._saving.close()

    def forget(self, tenant: str, users: Iterable[str | None]) -> None:
        """Drop the shelves of some users: they are read again when they are needed."""
        with self._lock:
            for key in [(tenant, user) for user in users]:
                if key in self._shelves:
                    self._drop(key)

    def size_bytes(self) -> int:
        return self._total

    def lacks_memory(self, tenant: str, user: str | None) -> bool:
        """Whether some memories are found by their words alone, since there is no room for their vectors: of a user and
        of all in common, or of anybody.
        """
        with self._lock:
            mine = {(tenant, user), (tenant, None)} if user else {key for key in self._shelves if key[0] == tenant}
            return any(self._shelves[key].is_cut for key in mine & self._shelves.keys())

    def _shelf(self, key: _Key) -> Shelf:
        with self._lock:
            shelf = self._shelves.get(key)
            if shelf is None:
                shelf = self._shelves[key] = Shelf(key[1], *self._models, limit_bytes=self._limit_bytes)
            shelf.limit_bytes = self._limit(key)
            self._shelves.move_to_end(key)
            return shelf

    @contextmanager
    def _using(self, keys: Sequence[_Key]) -> Iterator[None]:
        """Let none of these be dropped meanwhile."""
        with self._lock:
            self._in_use.update(keys)
        try:
            yield
        finally:
            with self._lock:
                self._in_use -= Counter(keys)

    def _weigh(self, shelves: Mapping[_Key, Shelf]) -> None:
        """Note how large shelves are now, and drop others where all together are too large."""
        with self._lock:
            for key, shelf in shelves.items():
                if self._shelves.get(key) is shelf:
                    size = shelf.size_bytes()
                    self._total += size - self._sizes.get(key, 0)
                    self._sizes[key] = size
            for key in self._oldest():
                self._drop(key)
            is_over = self._total > self._limit_bytes
        limit = f"index_memory_mb is {self._limit_bytes >> 20}, and"
        if any(shelf.is_cut for shelf in shelves.values()):
            self._tell(f"{limit} of a user with more memories than fit, the oldest are found by their words alone")
        elif is_over and not any(self._limit(key) > self._limit_bytes for key in shelves):
            self._tell(f"{limit} what is searched at once takes more than that")
        if self._lacks_folder and any(shelf.size >= _READ_IN_SECONDS for shelf in shelves.values()):
            told = "the index of a user with many memories is read from the database by each process that begins"
            self._tell(told, "name a folder to save it in with index_folder")

    def _oldest(self) -> list[_Key]:
        """The first that nobody uses, as many as are too many: few, however many there are."""
        excess = self._total - self._limit_bytes
        found = []
        for key in self._shelves:
            if excess <= 0:
                break
            if not self._in_use[key]:
                found.append(key)
                excess -= self._sizes.get(key, 0)
        return found

    def _tell(self, what: str, advice: str = "set it higher") -> None:
        if what not in self._told:
            self._told.add(what)
            _log.warning("%s: %s", what, advice)

    def _saved(self, key: _Key, shelf: Shelf, is_whole: bool) -> None:
        """A shelf is its file now, or has rows that the database has not."""
        if not is_whole:
            self.forget(key[0], [key[1]])
        with self._using([key]):
            self._weigh({key: shelf})

    def _limit(self, key: _Key) -> int:
        """What one shelf may take: anything, where a file takes it over."""
        return sys.maxsize if self._saving is not None and self._saving.takes(*key) else self._limit_bytes

    def _drop(self, key: _Key) -> None:
        del self._shelves[key]
        self._total -= self._sizes.pop(key, 0)
