"""The index in memory: for each user a shelf of arrays, loaded when it is first searched and kept up to date.

SQL is the truth. A shelf holds what `memory_index` holds for one user (or for nobody: what is shared), and before every
search it reads the rows that changed since, whichever process changed them. So a search costs what the user's own
memories cost, never the whole file. Shelves that were not searched for long are let go of.
"""

import bisect
import gc
import os
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache, partial
from itertools import accumulate, pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from memorist.memories.searchable import Standing
from memorist.ports import Reader, Store
from memorist.recall.index import vectors
from memorist.recall.ranking import Scores, rarity, saturated
from memorist.recall.values import IndexPage, IndexPlace, IndexRow

Array = NDArray[Any]
T = TypeVar("T")

_PAGE = 4096
_BLOCK = 8192
_WORTH_A_THREAD = 6
"""Blocks from which on a second thread saves more than it costs to wake it."""

_SMALLEST_BLOCK = 64
_COUNT_BITS = np.uint32(0xF)
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
# The rarity of a word that four of five memories contain: beside rarer ones it only costs time.
_TELLS_NOTHING = 0.22
_NEVER = np.iinfo(np.int64).max
_ALWAYS = np.iinfo(np.int64).min

_COLUMNS = {
    "agent": np.int32,
    "thread": np.intp,
    "kind": np.int32,
    "category": np.int32,
    "project": np.int32,
    "standing": np.int8,
    "event_time": np.int64,
    "created_at": np.int64,
    "expires_at": np.int64,
    "valid_from": np.int64,
    "valid_to": np.int64,
    "retired_at": np.int64,
    "change": np.int64,
    "digest": np.int64,
    "previous": np.int64,
    "linked": np.float32,
    "length": np.float32,
    "windows": np.int32,
}
# What an absent time stands for.
_ABSENT = {"expires_at": _NEVER, "valid_from": _ALWAYS, "valid_to": _NEVER, "retired_at": _NEVER}
_TEXTS = ("agent", "thread", "kind", "category", "project")
_STATES = (*_TEXTS, "standing", "event_time", "created_at", *_ABSENT, "change")


class Shelves:
    """The shelves of all tenants and users, the least recently searched of which are dropped above a limit."""

    def __init__(self, store: Store, *, model: str, limit_bytes: int) -> None:
        self._store = store
        self._model = model
        self._limit_bytes = limit_bytes
        self._lock = threading.Lock()
        self._shelves: OrderedDict[tuple[str, str | None], Shelf] = OrderedDict()
        self._sizes: dict[tuple[str, str | None], int] = {}
        self._total = 0

    def are_loaded(self, tenant: str, users: Iterable[str | None]) -> bool:
        """Whether a look at them reads only what changed."""
        return all(self._shelf((tenant, user)).is_loaded for user in users)

    def look(self, tenant: str, user: str | None) -> "View":
        """A user's shelf as it is now. Raises StoreError."""
        return self.look_at(tenant, [user])[0]

    def look_at(self, tenant: str, users: Sequence[str | None]) -> list["View"]:
        """The shelves of some users at one moment. Raises StoreError."""
        shelves = [self._shelf((tenant, user)) for user in users]
        with ExitStack() as held:
            # Before any connection is taken, and in one order: whoever has a connection waits for nobody.
            for shelf in sorted(shelves, key=lambda shelf: shelf.user or ""):
                held.enter_context(shelf.lock)
            views = _caught_up(self._store, tenant, shelves)
        for user, shelf in zip(users, shelves, strict=True):
            self._weigh((tenant, user), shelf)
        return views

    def _shelf(self, key: tuple[str, str | None]) -> "Shelf":
        with self._lock:
            shelf = self._shelves.get(key)
            if shelf is None:
                shelf = self._shelves[key] = Shelf(key[1], self._model)
            self._shelves.move_to_end(key)
            return shelf

    def forget(self, tenant: str, users: Iterable[str | None]) -> None:
        """Drop the shelves of some users: they are read again when they are needed."""
        with self._lock:
            for key in [(tenant, user) for user in users]:
                if key in self._shelves:
                    self._drop(key)

    def size_bytes(self) -> int:
        return self._total

    def _weigh(self, key: tuple[str, str | None], shelf: "Shelf") -> None:
        """Note how large a shelf is now, and drop others where all together are too large."""
        with self._lock:
            if self._shelves.get(key) is shelf:
                size = shelf.size_bytes()
                self._total += size - self._sizes.get(key, 0)
                self._sizes[key] = size
            while len(self._shelves) > 1 and self._total > self._limit_bytes:
                self._drop(next(iter(self._shelves)))

    def _drop(self, key: tuple[str, str | None]) -> None:
        del self._shelves[key]
        self._total -= self._sizes.pop(key, 0)


def _caught_up(store: Store, tenant: str, shelves: Sequence["Shelf"]) -> list["View"]:
    """The shelves, whose locks are held, with all that changed since they were last read."""
    for shelf in shelves:
        if not shelf.is_loaded:
            shelf.load(store, tenant)
    places = [shelf.place for shelf in shelves]
    watermarks: list[int] | None = None
    while True:
        # All of them each time, so that the last pages of all are of one moment.
        pages = store.read(tenant, partial(_changed_pages, places), snapshot=False)
        # The first ones: what changed after them is read again by the next look.
        watermarks = watermarks or [page.watermark for page in pages]
        for shelf, page in zip(shelves, pages, strict=True):
            shelf.take(page.rows)
        if all(len(page.rows) < _PAGE for page in pages):
            break
        places = [_after(place, page) for place, page in zip(places, pages, strict=True)]
    return [shelf.seen_until(watermark) for shelf, watermark in zip(shelves, watermarks, strict=True)]


class Shelf:
    """One user's rows. Written under its lock, read through views that later writes do not disturb."""

    def __init__(self, user: str | None, model: str) -> None:
        self.user = user
        self._model = model
        self.lock = threading.RLock()
        self._clear()

    def _clear(self) -> None:
        self._since: int | None = None
        self._ids: list[str] = []
        self._places: dict[str, int] = {}
        self._columns = {name: _Column(kind) for name, kind in _COLUMNS.items()}
        self._codes: dict[str, dict[str, int]] = {name: {"": 0} for name in _TEXTS}
        self._turns: dict[int, list[int]] = {}
        self._matrix = _Matrix()
        self._postings = _Postings()
        self._dead = 0

    def size_bytes(self) -> int:
        # About 300 bytes a row for its id and its places in the dictionaries.
        columns = sum(column.values.nbytes for column in self._columns.values())
        return columns + self._matrix.size_bytes() + self._postings.size_bytes() + 300 * len(self._ids)

    @property
    def is_loaded(self) -> bool:
        """Whether only what changed has to be read; not where it was never read, or has too many dead rows."""
        return self._since is not None and (self._dead <= 256 or self._dead * 4 <= len(self._ids))

    @property
    def place(self) -> IndexPlace:
        """How far what changed was read."""
        return IndexPlace(self.user, self._since or 0, "")

    def refresh(self, store: Store, tenant: str) -> "View":
        with self.lock:
            return _caught_up(store, tenant, [self])[0]

    def load(self, store: Store, tenant: str) -> None:
        """Everything anew, page by page: a transaction that is open for so long would keep others waiting."""
        self._clear()  # Also of what a load left that failed in its middle.
        # The watermark is read first: what changes during the load is read again.
        since = store.read(tenant, lambda tx: tx.index.watermark(self.user))

        def page(after: str) -> list[IndexRow]:
            return store.read(tenant, partial(_load_page, self.user, after))

        with _COLLECTOR.paused():
            rows = page("")
            while rows:
                # The database finds the next page while this one is taken in.
                following = _helpers().submit(page, rows[-1].memory_id) if len(rows) == _PAGE else None
                self._append(rows)
                rows = following.result() if following is not None else []
        self._postings.settle()
        self._since = since

    def take(self, rows: Sequence[IndexRow]) -> None:
        """Rows that changed. Those that were read before are known by their change."""
        self._take([row for row in rows if not self._knows(row)])
        self._postings.tidy()

    def seen_until(self, watermark: int) -> "View":
        self._since = watermark
        return self._view()

    def _knows(self, row: IndexRow) -> bool:
        place = self._places.get(row.memory_id)
        return place is not None and bool(self._columns["change"].values[place] == row.change)

    def _take(self, rows: Sequence[IndexRow]) -> None:
        digests = self._columns["digest"].values
        fresh = []
        for row in rows:
            place = self._places.get(row.memory_id)
            if place is None:
                fresh.append(row)
            elif digests[place] == row.digest:
                self._update(place, row)
            else:
                # Another text: its old place is dead, and it gets a new one.
                self._columns["standing"].values[place] = Standing.GONE
                self._dead += 1
                fresh.append(row)
        if fresh:
            self._append(fresh)

    def _update(self, place: int, row: IndexRow) -> None:
        for name in _STATES:
            self._columns[name].values[place] = self._all_encoded(name, [getattr(row, name)])[0]
        self._add_vectors([place], [row.model], [row.vectors])

    def _append(self, rows: Sequence[IndexRow]) -> None:
        start = len(self._ids)
        places = range(start, start + len(rows))
        given = dict(zip(IndexRow._fields, zip(*rows, strict=True), strict=True))  # Column by column.
        for name in _STATES:
            self._columns[name].extend(self._all_encoded(name, given[name]))
        self._columns["windows"].extend(np.zeros(len(rows)))
        self._columns["digest"].extend(given["digest"])
        self._ids += given["memory_id"]
        previous = self._chain(places, given["memory_id"])
        self._columns["previous"].extend(previous)
        self._columns["linked"].extend((previous >= 0) & (previous == np.array(places) - 1))
        self._places.update(zip(given["memory_id"], places, strict=True))
        self._columns["length"].extend(self._postings.add(start, given["terms"]))
        self._add_vectors(places, given["model"], given["vectors"])

    def _chain(self, places: Sequence[int], ids: Sequence[str]) -> Array:
        """For each of the new places the place of the turn before it, or -1.

        Turns are in the order of their ids, in whichever order they come: an edit or a vector may come after the next
        turn. What stood before and after the old place of an edited text does so for its new one.
        """
        threads = self._columns["thread"].values[places[0] : places[-1] + 1]
        chain = np.full(len(places), -1, dtype=np.int64)
        known = _Links(self._columns["previous"], self._columns["linked"])
        order = np.argsort(threads, kind="stable")
        for run in np.split(order, np.flatnonzero(np.diff(threads[order])) + 1):
            if not threads[run[0]]:
                continue
            turns = self._turns.setdefault(int(threads[run[0]]), [])
            arriving = run.tolist()
            if (turns and self._ids[turns[-1]] >= ids[arriving[0]]) or not _ascends([ids[one] for one in arriving]):
                for one in arriving:
                    self._chain_late(places[0], one, turns, ids[one], chain, known)
                continue
            chain[run[0]] = turns[-1] if turns else -1
            chain[run[1:]] = run[:-1] + places[0]
            turns.extend((run + places[0]).tolist())
        return chain

    def _chain_late(
        self, first: int, one: int, turns: list[int], memory_id: str, chain: Array, known: "_Links"
    ) -> None:
        """Put a turn where it belongs among those of its thread, some of which may come after it."""
        place = first + one
        at = self._place_in(turns, memory_id)
        if at < len(turns) and self._ids[turns[at]] == memory_id:
            known.link(turns[at], -1)
            turns[at] = place
        else:
            turns.insert(at, place)
        chain[one] = turns[at - 1] if at else -1
        if at + 1 < len(turns):
            following = turns[at + 1]
            if following >= first:
                chain[following - first] = place
            else:
                known.link(following, place)

    def _place_in(self, turns: list[int], memory_id: str) -> int:
        return bisect.bisect_left(turns, memory_id, key=self._ids.__getitem__)

    def _add_vectors(self, places: Sequence[int], models: Sequence[str], packed: Sequence[bytes | None]) -> None:
        windows = self._columns["windows"].values
        made: list[int] = []
        taken: list[bytes] = []
        for place, model, one in zip(places, models, packed, strict=True):
            if model != self._model:
                if windows[place]:
                    windows[place] = 0  # Put back among those that wait; its old vectors are not looked at.
                    self._matrix.drop(place)
            elif one and not windows[place]:
                made.append(place)
                taken.append(one)
        fitting = self._matrix.fitting(taken)
        if len(fitting) < len(taken):
            made, taken = [made[place] for place in fitting], [taken[place] for place in fitting]
        if made:
            windows[made] = self._matrix.add(made, taken)

    def _all_encoded(self, name: str, values: Sequence[Any]) -> Sequence[int]:
        if name in _TEXTS:
            codes = self._codes[name]
            for value in dict.fromkeys(values):
                codes.setdefault(value, len(codes))
            return list(map(codes.__getitem__, values))
        if name in _ABSENT:
            absent = _ABSENT[name]
            return [absent if value is None else value for value in values]
        return values

    def _view(self) -> "View":
        size = len(self._ids)
        return View(
            user=self.user,
            size=size,
            ids=self._ids,
            places=self._places,
            codes=self._codes,
            columns={name: column.values[:size] for name, column in self._columns.items()},
            matrix=self._matrix.view(),
            postings=self._postings.view(),
            words=self._postings.words,
        )


@dataclass(frozen=True, slots=True)
class View:
    """A shelf at one moment. Rows are numbered from 0; `columns` has one value for each."""

    user: str | None
    size: int
    ids: Sequence[str]
    places: dict[str, int]
    codes: dict[str, dict[str, int]]
    columns: dict[str, Array]
    matrix: "_MatrixView"
    postings: "_PostingsView"
    words: float
    """How many words all rows have together."""

    def code(self, column: str, value: str | None) -> int:
        """The number that stands for a text in a column; -1 where no row has it."""
        return self.codes[column].get(value or "", -1)

    def takes(self, question: Scores) -> bool:
        """Whether a question's vector can be compared with those of the rows."""
        return not self.matrix.blocks or self.matrix.blocks[0].shape[1] == question.size

    def cosines(self, question: Scores) -> tuple[Scores, NDArray[np.int32]]:
        """For each row its best window's cosine, and which window that is; 0 for a row without vectors."""
        return self.matrix.best(question, self.size)

    def vector_of(self, row: int) -> Scores | None:
        """The vector of a row's first window; None while it waits for one."""
        return self.matrix.first_of(row) if self.columns["windows"][row] else None

    def containing(self, term: int) -> tuple[NDArray[np.int32], Scores]:
        """The rows that contain a term, by its hash, and how often each does."""
        return self.postings.find(term)


@dataclass(frozen=True, slots=True)
class Wording:
    """How well each row of a shelf fits a question's words: by BM25, and by the share of them that it contains."""

    bm25: Scores
    coverage: Scores


def wording(views: Sequence[View], terms: Sequence[int]) -> list[Wording]:
    """The wording of each shelf; a term is as rare as it is on all of them together."""
    documents = sum(view.size for view in views)
    mean = sum(view.words for view in views) / max(1, documents)
    places = [[view.containing(term) for view in views] for term in terms]
    sizes = [sum(rows.size for rows, _ in of_term) for of_term in places]
    weights = [rarity(documents, size) for size in sizes]
    occurring = max((weight for weight, size in zip(weights, sizes, strict=True) if size), default=0.0)
    telling = [
        number for number, weight in enumerate(weights) if weight >= _TELLS_NOTHING or occurring <= 4 * _TELLS_NOTHING
    ]
    rare = np.array([weights[number] for number in telling], dtype=np.float32)
    everything = max(sum(weights), 1e-9)
    return [
        _wording_of(view, [places[number][shelf] for number in telling], rare, everything, mean)
        for shelf, view in enumerate(views)
    ]


def _wording_of(
    view: View,
    found: Sequence[tuple[NDArray[np.int32], Scores]],
    rare: Scores,
    everything: float,
    mean: float,
) -> Wording:
    """All terms at once: a row gains from each term that it contains."""
    if not any(rows.size for rows, _ in found):
        return Wording(np.zeros(view.size, np.float32), np.zeros(view.size, np.float32))
    rows = np.concatenate([rows for rows, _ in found])
    counts = np.concatenate([counts for _, counts in found])
    weights = np.repeat(rare, [rows.size for rows, _ in found])
    gained = weights * saturated(counts, view.columns["length"].take(rows), mean)
    return Wording(
        np.bincount(rows, gained, view.size).astype(np.float32),
        np.bincount(rows, weights / np.float32(everything), view.size).astype(np.float32),
    )


class _Column:
    """Values that are only ever added at the end; room is doubled when it runs out."""

    __slots__ = ("_used", "values")

    def __init__(self, kind: type) -> None:
        self.values: Array = np.zeros(0, dtype=kind)
        self._used = 0

    def extend(self, values: Sequence[float] | Array) -> None:
        wanted = self._used + len(values)
        if wanted > self.values.size:
            # Views keep the old array; its values were copied.
            grown = np.zeros(max(wanted, self._used * 3 // 2), dtype=self.values.dtype)
            grown[: self._used] = self.values[: self._used]
            self.values = grown
        self.values[self._used : wanted] = values
        self._used = wanted


class _Links:
    """Changes which turn comes before another, on copies: views that were given out know nothing of new places."""

    def __init__(self, previous: _Column, linked: _Column) -> None:
        self._previous = previous
        self._linked = linked
        self._copied = False

    def link(self, place: int, before: int) -> None:
        if not self._copied:
            self._previous.values, self._linked.values = self._previous.values.copy(), self._linked.values.copy()
            self._copied = True
        self._previous.values[place] = before
        self._linked.values[place] = before >= 0 and before == place - 1


class _Matrix:
    """Vectors in blocks, so that growing copies nothing. A group is the windows of one row, in one block."""

    def __init__(self) -> None:
        self._blocks: list[vectors.Steps] = []
        self._used = 0
        self._scales = _Column(np.float32)
        self._rows = _Column(np.int64)
        self._starts = _Column(np.int64)
        self._groups = 0
        self._group_of_row: dict[int, int] = {}
        self._windows = 0
        self._single = True
        self._in_order = True
        self._dimensions = 0

    def size_bytes(self) -> int:
        columns = (self._scales, self._rows, self._starts)
        return sum(block.nbytes for block in self._blocks) + sum(column.values.nbytes for column in columns)

    def fitting(self, packed: Sequence[bytes]) -> Sequence[int]:
        """Which vectors are as long as the others: behind one address there may be another model one day."""
        if not packed:
            return ()
        self._dimensions = self._dimensions or vectors.dimensions(packed[0])
        if vectors.are_alike(packed) and vectors.dimensions(packed[0]) == self._dimensions:
            return range(len(packed))
        return [place for place, one in enumerate(packed) if vectors.dimensions(one) == self._dimensions]

    def add(self, rows: Sequence[int], packed: Sequence[bytes]) -> list[int]:
        """Append the windows of some rows. Returns how many each has."""
        found, scales, counts = vectors.unpack(packed)
        self._scales.extend(scales)
        self._rows.extend(list(rows))
        starts = self._windows + np.cumsum([0, *counts[:-1]])
        self._starts.extend(starts)
        for offset, row in enumerate(rows):
            self._group_of_row[row] = self._groups + offset
        # Rows come in their order, so that the first and the last tell of all between them.
        self._in_order = self._in_order and (rows[0], rows[-1]) == (self._groups, self._groups + len(rows) - 1)
        self._groups += len(rows)
        self._windows += len(found)
        self._single = self._single and len(found) == len(rows)
        self._store(found)
        return counts

    def drop(self, row: int) -> None:
        group = self._group_of_row.pop(row, None)
        if group is not None:
            self._in_order = False
            values = self._rows.values.copy()
            values[group] = -1
            self._rows.values = values

    def _store(self, found: vectors.Steps) -> None:
        while len(found):
            if not self._blocks or self._used == len(self._blocks[-1]):
                rows = min(_BLOCK, max(_SMALLEST_BLOCK, len(found), sum(map(len, self._blocks)) // 2))
                self._blocks.append(np.empty((rows, found.shape[1]), dtype=np.int8))
                self._used = 0
            block = self._blocks[-1]
            taken = min(len(found), len(block) - self._used)
            block[self._used : self._used + taken] = found[:taken]
            self._used += taken
            found = found[taken:]

    def view(self) -> "_MatrixView":
        blocks = [*self._blocks[:-1], self._blocks[-1][: self._used]] if self._blocks else []
        return _MatrixView(
            tuple(blocks),
            self._scales.values[: self._windows],
            self._rows.values[: self._groups],
            self._starts.values[: self._groups],
            self._single,
            self._in_order,
        )


@dataclass(frozen=True, slots=True)
class _MatrixView:
    blocks: tuple[vectors.Steps, ...]
    scales: Scores
    rows: Array
    starts: Array
    single: bool
    """Whether each group is one window."""

    in_order: bool
    """Whether the groups are those of the first rows, one after the other."""

    def best(self, question: Scores, size: int) -> tuple[Scores, NDArray[np.int32]]:
        # One more than there are rows: groups of rows that are gone write there.
        windows = np.zeros(size + 1, dtype=np.int32)
        if not self.rows.size:
            return np.zeros(size, dtype=np.float32), windows[:size]
        scores = self._products(question)
        best = scores if self.single else np.maximum.reduceat(scores, self.starts)
        if not self.single:
            windows[self.rows] = self._which(scores, best)
        if self.in_order and best.size == size:
            return best, windows[:size]
        cosines = np.zeros(size + 1, dtype=np.float32)
        cosines[self.rows] = best
        return cosines[:size], windows[:size]

    def first_of(self, row: int) -> Scores | None:
        groups = np.flatnonzero(self.rows == row)
        if not groups.size:
            return None
        window = int(self.starts[groups[-1]])
        for block in self.blocks:
            if window < len(block):
                vector: Scores = block[window] * self.scales[int(self.starts[groups[-1]])]
                return vector
            window -= len(block)
        return None

    def _products(self, question: Scores) -> Scores:
        steps, scale = vectors.quantised(question)
        products = np.empty(self.scales.size, dtype=np.float32)
        ends = list(accumulate(map(len, self.blocks)))
        pieces = [
            (steps, block, products[end - len(block) : end]) for block, end in zip(self.blocks, ends, strict=True)
        ]
        if len(pieces) < _WORTH_A_THREAD:
            vectors.multiply(pieces)
        else:
            other = _helpers().submit(vectors.multiply, pieces[::2])
            vectors.multiply(pieces[1::2])
            other.result()
        products *= self.scales
        products *= scale
        return products

    def _which(self, scores: Scores, best: Scores) -> NDArray[np.int32]:
        lengths = np.diff(self.starts, append=scores.size)
        group_of = np.repeat(np.arange(best.size), lengths)
        hits = np.flatnonzero(scores == best[group_of])
        which = np.zeros(best.size, dtype=np.int32)
        # Backwards, so that of equal windows the first remains.
        which[group_of[hits[::-1]]] = (hits - self.starts[group_of[hits]])[::-1]
        return which


class _Postings:
    """Which rows contain a term: a sorted part, and a short tail of what was added since."""

    def __init__(self) -> None:
        self._sorted = np.zeros(0, dtype=np.uint32)
        self._sorted_rows = np.zeros(0, dtype=np.int32)
        self._tails: list[tuple[NDArray[np.uint32], NDArray[np.int32]]] = []
        self._tail_size = 0
        self.words = 0.0

    def size_bytes(self) -> int:
        return self._sorted.nbytes + self._sorted_rows.nbytes + 8 * self._tail_size

    def add(self, first_row: int, packed: Sequence[bytes]) -> NDArray[np.float32]:
        """Append the terms of rows. Returns how many words each row has."""
        terms = np.frombuffer(b"".join(packed), dtype="<u4")
        sizes = np.array([len(one) // 4 for one in packed])
        rows = np.repeat(np.arange(first_row, first_row + len(packed), dtype=np.int32), sizes)
        self._tails.append((terms, rows))
        self._tail_size += terms.size
        lengths = np.bincount(rows - first_row, weights=terms & _COUNT_BITS, minlength=len(packed))
        self.words += float(lengths.sum())
        return lengths.astype(np.float32)

    def tidy(self) -> None:
        """Sort what was added into the rest once there is so much of it that it slows a search."""
        if self._tail_size > max(2048, self._sorted.size // 8):
            self.settle()

    def settle(self) -> None:
        """Sort what was added into the rest."""
        if self._tails:
            terms = np.concatenate([self._sorted, *(terms for terms, _ in self._tails)])
            rows = np.concatenate([self._sorted_rows, *(rows for _, rows in self._tails)])
            # Sorted as one number each, which is several times faster than sorting places.
            both = terms.astype(np.uint64) << _HALF
            both |= rows.astype(np.uint64)
            both.sort()
            self._sorted, self._sorted_rows = (both >> _HALF).astype(np.uint32), (both & _LOW).astype(np.int32)
            self._tails, self._tail_size = [], 0

    def view(self) -> "_PostingsView":
        if len(self._tails) > 1:
            terms, rows = zip(*self._tails, strict=True)
            self._tails = [(np.concatenate(terms), np.concatenate(rows))]
        return _PostingsView(self._sorted, self._sorted_rows, self._tails[0] if self._tails else None)


@dataclass(frozen=True, slots=True)
class _PostingsView:
    terms: NDArray[np.uint32]
    rows: NDArray[np.int32]
    tail: tuple[NDArray[np.uint32], NDArray[np.int32]] | None

    def find(self, term: int) -> tuple[NDArray[np.int32], Scores]:
        first = np.searchsorted(self.terms, np.uint32(term), side="left")
        last = np.searchsorted(self.terms, np.uint32(term | int(_COUNT_BITS)), side="right")
        found, rows = self.terms[first:last], self.rows[first:last]
        if self.tail is not None:
            here = np.flatnonzero((self.tail[0] & ~_COUNT_BITS) == term)
            if here.size:
                found, rows = np.concatenate([found, self.tail[0][here]]), np.concatenate([rows, self.tail[1][here]])
        return rows, (found & _COUNT_BITS).astype(np.float32)


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


@cache
def _helpers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(min(4, os.cpu_count() or 1), thread_name_prefix="memorist-scan")


def _ascends(ids: Sequence[str]) -> bool:
    return all(earlier < later for earlier, later in pairwise(ids))


def _load_page(user: str | None, after: str, tx: Reader) -> list[IndexRow]:
    return tx.index.load(user, after, _PAGE)


def _changed_pages(places: Sequence[IndexPlace], tx: Reader) -> list[IndexPage]:
    return tx.index.follow(places, _PAGE)


def _after(place: IndexPlace, page: IndexPage) -> IndexPlace:
    return IndexPlace(place.user, page.rows[-1].change, page.rows[-1].memory_id) if page.rows else place
