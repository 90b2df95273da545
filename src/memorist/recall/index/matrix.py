"""The vectors of a shelf as one matrix of bytes, and the comparison of a question with all of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memorist.recall.index import vectors
from memorist.recall.index.columns import Array, Column, distinct, which_are
from memorist.recall.index.helpers import helpers
from memorist.recall.index.lists import BareSketches, Lists, Sketches
from memorist.recall.index.snapshot import READ, Snapshot
from memorist.recall.ranking import Scores

_BLOCK = 8192
_SMALLEST_BLOCK = 64
_UNKNOWN = np.float32(-2)
_FARTHEST = 32
"""Of the vectors of the farthest lists, how many of their rows count as such."""

_PIECE = 16_384
"""Rows whose sketches are held at once, a byte for each of their bits."""

WORTH_A_THREAD = 6
"""Blocks from which on a second thread saves more than it costs to wake it."""


class Matrix:
    """Vectors in blocks, so that growing copies nothing. A group is windows of one row, one after the other: all that
    it has, but where vectors are in lists each is a group of its own.
    """

    def __init__(self) -> None:
        self._blocks: list[vectors.Steps] = []
        self._mapped = 0
        self._used = 0
        self._scales = Column(np.float32)
        self._places = Column(np.int64)
        self._starts = Column(np.int64)
        self._firsts = Column(np.int32)
        self._groups = 0
        self._windows = 0
        self._single = True
        self._whole = True
        self._in_order = True
        self._dimensions = 0
        self._lists: Lists | None = None

    @property
    def windows(self) -> int:
        return self._windows

    def kept(self) -> int:
        """Windows of rows that did not lose theirs."""
        counts = np.diff(self._starts.values[: self._groups], append=self._windows)
        return int(counts[self._places.values[: self._groups] >= 0].sum())

    @property
    def has_lists(self) -> bool:
        return self._lists is not None

    def size_bytes(self) -> int:
        columns = self._named().values()
        own = self._blocks[self._mapped :]
        return sum(block.nbytes for block in own) + sum(column.size_bytes for column in columns)

    def saved(self) -> Snapshot:
        facts: dict[str, Any] = {
            "windows": self._windows,
            "groups": self._groups,
            "single": self._single,
            "whole": self._whole,
            "in_order": self._in_order,
            "dimensions": self._dimensions,
        }
        blocks = self.view().blocks or (np.zeros((0, self._dimensions), dtype=np.int8),)
        arrays = {f"column.{name}": column.saved() for name, column in self._named().items()}
        if self._lists is not None:
            facts["centres"] = self._lists.centres.facts
            arrays |= {f"lists.{name}": [array] for name, array in self._lists.arrays().items()}
        return Snapshot(facts, {READ: blocks, **arrays})

    @classmethod
    def of(cls, saved: Snapshot) -> "Matrix":
        """The vectors of a file."""
        made = cls()
        made._windows, made._groups = saved.facts["windows"], saved.facts["groups"]
        made._single, made._in_order = saved.facts["single"], saved.facts["in_order"]
        made._whole, made._dimensions = saved.facts["whole"], saved.facts["dimensions"]
        whole = saved.arrays[READ][0]
        made._blocks = [whole[start : start + _BLOCK] for start in range(0, len(whole), _BLOCK)]
        made._mapped = len(made._blocks)
        made._used = len(made._blocks[-1]) if made._blocks else 0
        for name, column in made._named().items():
            column.map(saved.arrays[f"column.{name}"][0], made._windows if name == "scales" else made._groups)
        if "centres" in saved.facts:
            given = {name: saved.arrays[f"lists.{name}"][0] for name in ("centres", *Lists.NAMES)}
            made._lists = Lists.of(given, saved.facts["centres"], saved.rows[READ])
        return made

    def _named(self) -> dict[str, Column]:
        return {"scales": self._scales, "places": self._places, "starts": self._starts, "firsts": self._firsts}

    def fitting(self, packed: Sequence[bytes]) -> Sequence[int]:
        """Which vectors are as long as the others: behind one address there may be another model one day."""
        if not packed:
            return ()
        self._dimensions = self._dimensions or vectors.dimensions(packed[0])
        if vectors.are_alike(packed) and vectors.dimensions(packed[0]) == self._dimensions:
            return range(len(packed))
        return [number for number, one in enumerate(packed) if vectors.dimensions(one) == self._dimensions]

    def add(self, places: Sequence[int], packed: Sequence[bytes]) -> list[int]:
        """Append the windows of some rows. Returns how many each has."""
        found, scales, counts = vectors.unpack(packed)
        self._scales.extend(scales)
        self._places.extend(list(places))
        starts = self._windows + np.cumsum([0, *counts[:-1]])
        self._starts.extend(starts)
        self._firsts.extend(np.zeros(len(places)))
        # Rows come in their order, so that the first and the last tell of all between them.
        self._in_order = self._in_order and (places[0], places[-1]) == (self._groups, self._groups + len(places) - 1)
        self._groups += len(places)
        self._windows += len(found)
        self._single = self._single and len(found) == len(places)
        self._store(found)
        return counts

    def drop(self, places: Sequence[int]) -> None:
        """The vectors of some rows. Each call looks through all groups that are in no list, so that many go at once."""
        rows = np.array(places, dtype=np.int64)
        listed, found = 0, rows[:0]
        if self._lists is not None:
            listed, found = self._lists.size, self._lists.windows_of(rows)[0]  # In lists each window is a group.
        values = self._places.values[: self._groups]
        late = listed + which_are(values[listed:], rows)
        groups = np.concatenate([found[values[found] >= 0], late])
        if groups.size:
            self._in_order = False
            self._places.copied()[groups] = -1

    def let_go(self, wanted_bytes: int) -> Array:
        """Drop the oldest vectors, block by block, until so much memory is free: not those of a file, which take none.
        Returns the places of their rows.
        """
        own = self._blocks[self._mapped :]
        freed = list(accumulate((block.nbytes for block in own), initial=0))
        count = next((number for number, sum_ in enumerate(freed) if sum_ >= wanted_bytes), len(own))
        if not count:
            return np.zeros(0, dtype=np.int64)
        first = sum(map(len, self._blocks[: self._mapped]))
        last = min(self._windows, first + sum(map(len, own[:count])))
        starts, places, firsts = (one.values[: self._groups] for one in (self._starts, self._places, self._firsts))
        begin, end = np.searchsorted(starts, [first, last]).tolist()
        gone = places[begin:end]
        # The rest of a row whose first windows are gone is nobody's.
        rest = int(last < self._windows and (end == self._groups or bool(starts[end] > last)))
        self._starts.keep(np.concatenate([starts[:begin], [first] * rest, starts[end:] - (last - first)]).astype(int))
        self._places.keep(np.concatenate([places[:begin], [-1] * rest, places[end:]]).astype(int))
        self._firsts.keep(np.concatenate([firsts[:begin], [0] * rest, firsts[end:]]).astype(np.int32))
        scales = self._scales.values[: self._windows]
        self._scales.keep(np.concatenate([scales[:first], scales[last:]]))
        self._blocks = [*self._blocks[: self._mapped], *own[count:]]
        self._used = self._used if count < len(own) else len(self._blocks[-1]) if self._blocks else 0
        self._windows, self._groups = self._windows - (last - first), self._places.values.size
        self._in_order = False
        return gone[gone >= 0]

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

    def view(self) -> "MatrixView":
        blocks = [*self._blocks[:-1], self._blocks[-1][: self._used]] if self._blocks else []
        return MatrixView(
            tuple(blocks),
            self._scales.values[: self._windows],
            self._places.values[: self._groups],
            self._starts.values[: self._groups],
            self._firsts.values[: self._groups],
            self._single,
            self._whole,
            self._in_order,
            self._lists,
        )


@dataclass(frozen=True, slots=True)
class MatrixView:
    """The vectors at one moment."""

    blocks: tuple[vectors.Steps, ...]
    scales: Scores
    places: Array
    """The place of each group's row; -1 for a row that lost its vectors."""

    starts: Array
    firsts: Array
    """Which of its row's windows each group begins with."""

    single: bool
    """Whether each group is one window."""

    whole: bool
    """Whether each row is one group."""

    in_order: bool
    """Whether the groups are those of the first rows, one after the other."""

    lists: Lists | None = None

    def best(self, question: Scores, size: int) -> tuple[Scores, NDArray[np.int32]]:
        """For each of `size` rows its best window's cosine, and which window that is; 0 for a row without vectors."""
        if not self.places.size:
            return np.zeros(size, dtype=np.float32), np.zeros(size, dtype=np.int32)
        scores = self._products(question)
        best = scores if self.single else np.maximum.reduceat(scores, self.starts)
        which = self.firsts if self.single else self.firsts + self._which(scores, best)
        if self.in_order and best.size == size:
            return best, which
        # One more than there are rows: groups of rows that are gone write there.
        cosines = np.zeros(size + 1, dtype=np.float32)
        windows = np.zeros(size + 1, dtype=np.int32)
        if self.whole:
            cosines[self.places], windows[self.places] = best, which
        else:
            order = np.lexsort((-which, best))  # The best one of a row is written last.
            cosines[self.places[order]], windows[self.places[order]] = best[order], which[order]
        return cosines[:size], windows[:size]

    def first_at(self, place: int) -> Scores | None:
        """The vector of a row's first window; None where it has none."""
        listed = 0
        if self.lists is not None:
            windows, _ = self._windows_of(np.array([place]))
            window = windows[self.firsts[windows] == 0]
            if window.size:
                vector: Scores = self.lists.rows.read(window)[-1] * self.scales[window[-1]]
                return vector
            listed = self.lists.size  # In lists each window is a group.
        groups = listed + np.flatnonzero((self.places[listed:] == place) & (self.firsts[listed:] == 0))
        return self._vector(int(self.starts[groups[-1]])) if groups.size else None

    def _vector(self, window: int) -> Scores:
        inside = window
        for block in self.blocks:
            if inside < len(block):
                break
            inside -= len(block)
        vector: Scores = block[inside] * self.scales[window]
        return vector

    def near(self, question: Scores) -> "Near":
        """The rows of the nearest lists that are near a question by the sketches of their windows, and those in no list
        yet; and how far the farthest ones are.
        """
        assert self.lists is not None
        order = self.lists.nearest_first(question)
        far = helpers().submit(self._far, question, order)
        windows, cosines = self.lists.near(question, order)
        farthest, low = far.result()
        late = self._late(question)
        return Near(
            np.concatenate([self.places.take(windows), late.places]),
            np.concatenate([cosines, late.cosines]),
            farthest,
            min(low, float(late.cosines.min(initial=0))),
            late,
        )

    def _far(self, question: Scores, order: Array) -> tuple[Array, float]:
        """Places of rows that lie far away, and how near the farthest is."""
        assert self.lists is not None
        windows, lows = self.lists.far(question, order)
        places, lows = self.places.take(windows), lows * self.scales.take(windows)
        is_there = places >= 0
        if not is_there.all():
            places, lows = places[is_there], lows[is_there]
        return distinct(places[_least(lows, _FARTHEST)]), float(lows.min(initial=0))

    def sketched(self, places: Array) -> "Sketched":
        """The sketches of some rows, whose places ascend."""
        assert self.lists is not None
        windows, rows = self._windows_of(places)
        return Sketched(places, rows, self.lists.sketches_of(windows), self.firsts[windows])

    def barely_sketched(self, places: Array) -> "BarelySketched":
        """The same for `about`, which is faster and tells less exactly."""
        assert self.lists is not None
        windows, rows = self._windows_of(places)
        return BarelySketched(places, rows, self.lists.bare_sketches_of(windows))

    def about(self, question: Scores, near: "Near", of: "BarelySketched") -> "Cosines":
        """About how near some rows are, whichever window that is; those in no list as they are."""
        assert self.lists is not None
        found = Cosines.none(of.places.size)
        found.put_best(of.rows, self.lists.about(question, of.sketches))
        here = which_are(near.late.places, of.places)
        found.put_best(np.searchsorted(of.places, near.late.places[here]), near.late.cosines[here])
        return found

    def estimated(self, question: Scores, near: "Near", of: "Sketched") -> "Cosines":
        """About how near some rows are; those in no list as they are."""
        assert self.lists is not None
        places = of.places
        found = Cosines.none(places.size)
        found.put(of.rows, self.lists.estimated(question, of.sketches), of.numbers)
        late = near.late
        here = which_are(late.places, places)
        found.put(np.searchsorted(places, late.places[here]), late.cosines[here], late.numbers[here])
        return found

    def estimated_at(self, question: Scores, near: "Near", places: Array) -> "Cosines":
        """The same of rows whose sketches were not taken before; of many, piece by piece."""
        pieces = [places[start : start + _PIECE] for start in range(0, max(1, places.size), _PIECE)]
        parts = [self.estimated(question, near, self.sketched(piece)) for piece in pieces]
        if len(parts) == 1:
            return parts[0]
        return Cosines(np.concatenate([one.cosines for one in parts]), np.concatenate([one.windows for one in parts]))

    def compare(self, question: Scores, places: Array, which: Array, found: "Cosines") -> None:
        """Compare all windows of some rows that are in lists. `which` are their numbers among those that something is
        found of.
        """
        assert self.lists is not None
        windows, rows = self._windows_of(places)
        rows = which[rows]
        found.cosines[rows] = _UNKNOWN
        cosines = self._compared(question, self.lists.rows.read(windows)) * self.scales[windows]
        found.put(rows, cosines, self.firsts[windows])

    def _windows_of(self, places: Array) -> tuple[Array, Array]:
        """The windows of some rows that are in lists, and for each which of the rows it is of."""
        assert self.lists is not None
        windows, rows = self.lists.windows_of(places)
        current = self.places[windows] == places[rows]
        return (windows, rows) if current.all() else (windows[current], rows[current])

    def _compared(self, question: Scores, *parts: vectors.Steps) -> Scores:
        """How near a question is to the vectors of some parts, but for their scales."""
        asked, scale = vectors.quantised(question)
        found = [np.zeros(0, dtype=np.float32)]
        for steps in parts:
            if len(steps):
                found.append(np.empty(len(steps), dtype=np.float32))
                vectors.multiply([(asked, steps, found[-1])])
        return np.concatenate(found) * scale

    def _late(self, question: Scores) -> "Late":
        assert self.lists is not None
        listed = self.lists.size
        if listed == self.scales.size:
            return Late(self.places[:0], self.scales[:0], self.places[:0])
        groups = slice(listed, None)  # In lists each window is a group.
        counts = np.diff(self.starts[groups], append=self.scales.size)
        firsts = accumulate((len(block) for block in self.blocks), initial=0)
        late = [block for block, first in zip(self.blocks, firsts, strict=False) if first >= listed]
        products = self._compared(question, *late) * self.scales[listed:]
        numbers = np.arange(products.size) - np.repeat(self.starts[groups] - listed, counts)
        return Late(np.repeat(self.places[groups], counts), products, numbers)

    def _products(self, question: Scores) -> Scores:
        steps, scale = vectors.quantised(question)
        products = np.empty(self.scales.size, dtype=np.float32)
        ends = list(accumulate(map(len, self.blocks)))
        pieces = [
            (steps, block, products[end - len(block) : end]) for block, end in zip(self.blocks, ends, strict=True)
        ]
        if len(pieces) < WORTH_A_THREAD:
            vectors.multiply(pieces)
        else:
            other = helpers().submit(vectors.multiply, pieces[::2])
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


def _least(values: Scores, count: int) -> Array:
    """The numbers of the least so many."""
    return np.argpartition(values, count)[:count] if values.size > count else np.arange(values.size)


@dataclass(frozen=True, slots=True, eq=False)
class Late:
    """The windows that are in no list, each with the place of its row, which is -1 for one that is gone."""

    places: Array
    cosines: Scores
    numbers: Array
    """Which window of its row each is."""


@dataclass(frozen=True, slots=True, eq=False)
class Sketched:
    """The windows of some rows that are in lists, as a question is compared with them at first."""

    places: Array
    """Of the rows."""

    rows: Array
    """Which of these each window is of."""

    sketches: Sketches
    numbers: Array
    """Which window of its row each is."""


@dataclass(frozen=True, slots=True, eq=False)
class BarelySketched:
    """The same, to be compared faster."""

    places: Array
    rows: Array
    sketches: BareSketches


@dataclass(frozen=True, slots=True, eq=False)
class Near:
    """What lies near a question: the place of each window's row, which is -1 for one that is gone, and about how near
    it is.
    """

    places: Array
    cosines: Scores
    farthest: Array
    """Places of rows that lie far away."""

    low: float
    """How near the farthest is."""

    late: Late

    def nearest(self, count: int) -> Array:
        """Places of the rows whose windows look nearest."""
        places = self.places[_least(-self.cosines, count)]
        found: Array = places[places >= 0]
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Cosines:
    """How near some rows are to a question, and by which of its windows each is."""

    cosines: Scores
    windows: NDArray[np.int32]

    @classmethod
    def none(cls, size: int) -> "Cosines":
        return cls(np.full(size, _UNKNOWN, dtype=np.float32), np.zeros(size, dtype=np.int32))

    def put(self, rows: Array, found: Scores, numbers: Array) -> None:
        """Note windows; of a row that has several, the best."""
        if numbers.any():
            order = np.lexsort((-numbers, found))  # The best one is written last.
            order = order[found[order] > self.cosines[rows[order]]]
            rows, found, numbers = rows[order], found[order], numbers[order]
        self.cosines[rows], self.windows[rows] = found, numbers

    def put_best(self, rows: Array, found: Scores) -> None:
        """Note the best of each row, whichever window that is."""
        np.maximum.at(self.cosines, rows, found)

    def known(self) -> Scores:
        """0 for a row that has no vectors."""
        return np.where(self.cosines == _UNKNOWN, np.float32(0), self.cosines)
