"""The vectors of a shelf as one matrix of bytes, and the comparison of a question with all of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from memorist.recall.index import vectors
from memorist.recall.index.columns import Array, Column
from memorist.recall.index.helpers import helpers
from memorist.recall.index.snapshot import Snapshot
from memorist.recall.ranking import Scores

_BLOCK = 8192
_SMALLEST_BLOCK = 64
WORTH_A_THREAD = 6
"""Blocks from which on a second thread saves more than it costs to wake it."""


class Matrix:
    """Vectors in blocks, so that growing copies nothing. A group is the windows of one row, one after the other."""

    def __init__(self) -> None:
        self._blocks: list[vectors.Steps] = []
        self._mapped = 0
        self._used = 0
        self._scales = Column(np.float32)
        self._places = Column(np.int64)
        self._starts = Column(np.int64)
        self._groups = 0
        self._windows = 0
        self._single = True
        self._in_order = True
        self._dimensions = 0

    def size_bytes(self) -> int:
        columns = (self._scales, self._places, self._starts)
        own = self._blocks[self._mapped :]
        return sum(block.nbytes for block in own) + sum(column.size_bytes for column in columns)

    def saved(self) -> Snapshot:
        facts = {
            "windows": self._windows,
            "groups": self._groups,
            "single": self._single,
            "in_order": self._in_order,
            "dimensions": self._dimensions,
        }
        blocks = self.view().blocks or (np.zeros((0, self._dimensions), dtype=np.int8),)
        columns = {f"column.{name}": column.saved() for name, column in self._named().items()}
        return Snapshot(facts, {"vectors": blocks, **columns})

    @classmethod
    def of(cls, saved: Snapshot) -> "Matrix":
        """The vectors of a file."""
        made = cls()
        made._windows, made._groups = saved.facts["windows"], saved.facts["groups"]
        made._single, made._in_order = saved.facts["single"], saved.facts["in_order"]
        made._dimensions = saved.facts["dimensions"]
        whole = saved.arrays["vectors"][0]
        made._blocks = [whole[start : start + _BLOCK] for start in range(0, len(whole), _BLOCK)]
        made._mapped = len(made._blocks)
        made._used = len(made._blocks[-1]) if made._blocks else 0
        for name, column in made._named().items():
            column.map(saved.arrays[f"column.{name}"][0], made._windows if name == "scales" else made._groups)
        return made

    def _named(self) -> dict[str, Column]:
        return {"scales": self._scales, "places": self._places, "starts": self._starts}

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
        # Rows come in their order, so that the first and the last tell of all between them.
        self._in_order = self._in_order and (places[0], places[-1]) == (self._groups, self._groups + len(places) - 1)
        self._groups += len(places)
        self._windows += len(found)
        self._single = self._single and len(found) == len(places)
        self._store(found)
        return counts

    def drop(self, place: int) -> None:
        groups = np.flatnonzero(self._places.values[: self._groups] == place)
        if groups.size:
            self._in_order = False
            values = self._places.values.copy()
            values[groups] = -1
            self._places.values = values

    def let_go(self, wanted_bytes: int) -> Array:
        """Drop the oldest vectors, block by block, until so much memory is free. Returns the places of their rows."""
        freed, count = 0, 0
        while count < len(self._blocks) and freed < wanted_bytes:
            freed += 0 if count < self._mapped else self._blocks[count].nbytes
            count += 1
        windows = min(self._windows, sum(map(len, self._blocks[:count])))
        group = int(np.searchsorted(self._starts.values[: self._groups], windows))
        gone = self._places.values[:group]
        starts, places = self._starts.values[group : self._groups] - windows, self._places.values[group : self._groups]
        if windows < self._windows and (not starts.size or starts[0]):
            # The rest of a row whose first windows are gone is nobody's.
            starts, places = np.insert(starts, 0, 0), np.insert(places, 0, -1)
        self._blocks, self._mapped = self._blocks[count:], max(0, self._mapped - count)
        self._used = self._used if self._blocks else 0
        self._scales.keep(self._scales.values[windows : self._windows].copy())
        self._starts.keep(starts.copy())
        self._places.keep(places.copy())
        self._windows, self._groups = self._windows - windows, places.size
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
            self._single,
            self._in_order,
        )


@dataclass(frozen=True, slots=True)
class MatrixView:
    """The vectors at one moment."""

    blocks: tuple[vectors.Steps, ...]
    scales: Scores
    places: Array
    """The place of each group's row; -1 for a row that lost its vectors."""

    starts: Array
    single: bool
    """Whether each group is one window."""

    in_order: bool
    """Whether the groups are those of the first rows, one after the other."""

    def best(self, question: Scores, size: int) -> tuple[Scores, NDArray[np.int32]]:
        """For each of `size` rows its best window's cosine, and which window that is; 0 for a row without vectors."""
        # One more than there are rows: groups of rows that are gone write there.
        windows = np.zeros(size + 1, dtype=np.int32)
        if not self.places.size:
            return np.zeros(size, dtype=np.float32), windows[:size]
        scores = self._products(question)
        best = scores if self.single else np.maximum.reduceat(scores, self.starts)
        if not self.single:
            windows[self.places] = self._which(scores, best)
        if self.in_order and best.size == size:
            return best, windows[:size]
        cosines = np.zeros(size + 1, dtype=np.float32)
        cosines[self.places] = best
        return cosines[:size], windows[:size]

    def first_at(self, place: int) -> Scores | None:
        """The vector of a row's first window; None where it has none."""
        groups = np.flatnonzero(self.places == place)
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
