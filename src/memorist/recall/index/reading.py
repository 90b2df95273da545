"""Brings shelves up to date with the database, which is the truth."""

import gc
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from memorist.ports import Reader, Store
from memorist.recall.index.helpers import helpers
from memorist.recall.index.shelf import Shelf
from memorist.recall.index.view import View
from memorist.recall.values import IndexPage, IndexPosition, IndexRow

_PAGE = 4096


def glimpsed(store: Store, tenant: str, shelves: Sequence[Shelf]) -> list[View] | None:
    """The same as `caught_up` for shelves whose locks are not held: nobody waits for another's look at the database.
    None where that cannot be, as one is not loaded, too much has changed, or another has read meanwhile.
    """
    positions = [shelf.position for shelf in shelves]
    if not all(shelf.is_loaded for shelf in shelves):
        return None
    pages = store.read(tenant, partial(_changed_pages, positions), snapshot=False)
    with locked(shelves):
        if any(len(page.rows) == _PAGE for page in pages) or not all(shelf.is_loaded for shelf in shelves):
            return None
        if [shelf.position for shelf in shelves] != positions:
            return None
        for shelf, page in zip(shelves, pages, strict=True):
            shelf.take(page.rows)
        return [shelf.seen_until(page.watermark) for shelf, page in zip(shelves, pages, strict=True)]


@contextmanager
def locked(shelves: Sequence[Shelf]) -> Iterator[None]:
    """Hold their locks. Not for who has a connection: who has one waits for nobody."""
    with ExitStack() as held:
        # In one order, so that two never wait for each other.
        for shelf in sorted(shelves, key=lambda shelf: shelf.user or ""):
            held.enter_context(shelf.lock)
        yield


def caught_up(
    store: Store, tenant: str, shelves: Sequence[Shelf], restore: Callable[[Shelf], bool] = lambda _: False
) -> list[View]:
    """The shelves, whose locks are held, with all that changed since they were last read. Raises StoreError.

    `restore` brings back one that was saved, if it can.
    """
    for shelf in shelves:
        if not shelf.is_loaded and not (shelf.is_new and restore(shelf)):
            _load(shelf, store, tenant)
    positions = [shelf.position for shelf in shelves]
    watermarks: list[int] | None = None
    while True:
        # All of them each time, so that the last pages of all are of one moment.
        pages = store.read(tenant, partial(_changed_pages, positions), snapshot=False)
        # The first ones: what changed after them is read again by the next look.
        watermarks = watermarks or [page.watermark for page in pages]
        for shelf, page in zip(shelves, pages, strict=True):
            shelf.take(page.rows)
        if all(len(page.rows) < _PAGE for page in pages):
            break
        positions = [_after(position, page) for position, page in zip(positions, pages, strict=True)]
    return [shelf.seen_until(watermark) for shelf, watermark in zip(shelves, watermarks, strict=True)]


def is_known(shelf: Shelf, newest: Sequence[Sequence[Any]], tx: Reader) -> bool:
    """Whether a shelf that was saved is of this database, and of this history: a backup that was put in its place has
    another, even if its counter is past what the shelf has seen. `newest` is what had changed last.
    """
    since = shelf.position.change
    if tx.index.watermark(shelf.user) < since:
        return False
    found = {mark.memory_id: mark for mark in tx.index.marks(shelf.user, [row[0] for row in newest])}
    for memory_id, change, digest in newest:
        mark = found.get(memory_id)
        # What changed since is read again.
        if mark is None or (mark.change <= since and (mark.change, mark.digest) != (change, digest)):
            return False
    return all(map(shelf.has, tx.index.newest(shelf.user, since, len(newest))))


def is_whole(shelf: Shelf, tx: Reader) -> bool:
    """Bring a shelf up to date, and say whether it holds what the database does and nothing else: of what was erased,
    and of what another user has now, nobody is told.
    """
    watermark = tx.index.watermark(shelf.user)
    position, is_last = shelf.position, False
    while not is_last:
        (page,) = tx.index.follow([position], _PAGE)
        shelf.take(page.rows)
        position, is_last = _after(position, page), len(page.rows) < _PAGE
    shelf.seen_until(watermark)
    return tx.index.size(shelf.user) == shelf.size


def _load(shelf: Shelf, store: Store, tenant: str) -> None:
    """Everything anew, page by page: a transaction that is open for so long would keep others waiting."""
    shelf.clear()  # Also of what a load left that failed in its middle.
    # The watermark is read first: what changes during the load is read again.
    since = store.read(tenant, lambda tx: tx.index.watermark(shelf.user), snapshot=False)

    def page(after: str) -> list[IndexRow]:
        return store.read(tenant, partial(_load_page, shelf.user, after))

    with _COLLECTOR.paused():
        rows = page("")
        while rows:
            # The database finds the next page while this one is taken in.
            following = helpers().submit(page, rows[-1].memory_id) if len(rows) == _PAGE else None
            shelf.append(rows)
            rows = following.result() if following is not None else []
    shelf.loaded(since)


def _load_page(user: str | None, after: str, tx: Reader) -> list[IndexRow]:
    return tx.index.load(user, after, _PAGE)


def _changed_pages(positions: Sequence[IndexPosition], tx: Reader) -> list[IndexPage]:
    return tx.index.follow(positions, _PAGE)


def _after(position: IndexPosition, page: IndexPage) -> IndexPosition:
    return IndexPosition(position.user, page.rows[-1].change, page.rows[-1].memory_id) if page.rows else position


class _Collector:
    """Python's garbage collector, paused while shelves are loaded: that makes a million small objects, none of them
    garbage, and looking through them again and again would cost a fifth of the time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pauses = 0
        self._was_on = False

    @contextmanager
    def paused(self) -> Iterator[None]:
        with self._lock:
            if self._pauses == 0:
                self._was_on = gc.isenabled()
                gc.disable()
            self._pauses += 1
        try:
            yield
        finally:
            with self._lock:
                self._pauses -= 1
                if self._pauses == 0 and self._was_on:
                    gc.enable()


_COLLECTOR = _Collector()
