"""One user's rows in memory, as arrays."""

import sys
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from memorist.memories.searchable import Standing
from memorist.recall.index.chains import Chains
from memorist.recall.index.columns import ABSENT, KINDS, STATES, TEXTS, Column
from memorist.recall.index.matrix import Matrix
from memorist.recall.index.postings import Postings
from memorist.recall.index.row_ids import RowIds
from memorist.recall.index.view import View
from memorist.recall.values import IndexPosition, IndexRow


class Shelf:
    """One user's rows. Written under its lock, read through views that later writes do not disturb."""

    def __init__(self, user: str | None, model: str, *, limit_bytes: int = sys.maxsize) -> None:
        """Above the limit the oldest rows lose their vectors, and are found by their words alone."""
        self.user = user
        self._model = model
        self._limit_bytes = limit_bytes
        self.lock = threading.RLock()
        self.clear()

    def clear(self) -> None:
        """Forget all rows, so that they are loaded anew."""
        self._since: int | None = None
        self._ids = RowIds()
        self._columns = {name: Column(kind) for name, kind in KINDS.items()}
        self._codes: dict[str, dict[str, int]] = {name: {"": 0} for name in TEXTS}
        self._chains = Chains(self._ids, self._columns["previous"], self._columns["linked"])
        self._matrix = Matrix()
        self._postings = Postings()
        self._dead = 0
        self.is_cut = False
        """Whether rows lost their vectors, since there was no memory for them."""

    def size_bytes(self) -> int:
        columns = sum(column.values.nbytes for column in self._columns.values())
        return columns + self._matrix.size_bytes() + self._postings.size_bytes() + self._ids.size_bytes()

    @property
    def is_loaded(self) -> bool:
        """Whether only what changed has to be read; not where it was never read, or has too many dead rows."""
        return self._since is not None and (self._dead <= 256 or self._dead * 4 <= len(self._ids))

    @property
    def position(self) -> IndexPosition:
        """How far what changed was read."""
        return IndexPosition(self.user, self._since or 0)

    def loaded(self, watermark: int) -> None:
        """Called once all rows were added that there were at the watermark."""
        self._postings.settle()
        self._ids.settle()
        self._since = watermark

    def take(self, rows: Sequence[IndexRow]) -> None:
        """Rows that changed. Those that were read before are known by their change."""
        places = self._ids.places_of([row.memory_id for row in rows]).tolist()
        changes = self._columns["change"].values
        new = [
            (row, place) for row, place in zip(rows, places, strict=True) if place < 0 or changes[place] != row.change
        ]
        self._take(new)
        self._postings.tidy()

    def seen_until(self, watermark: int) -> View:
        self._since = watermark
        size = len(self._ids)
        return View(
            user=self.user,
            size=size,
            ids=self._ids,
            codes=self._codes,
            columns={name: column.values[:size] for name, column in self._columns.items()},
            matrix=self._matrix.view(),
            postings=self._postings.view(),
        )

    def _take(self, rows: Sequence[tuple[IndexRow, int]]) -> None:
        digests = self._columns["digest"].values
        fresh = []
        for row, place in rows:
            if place < 0:
                fresh.append(row)
            elif digests[place] == row.digest:
                self._update(place, row)
            else:
                # Another text: its old place is dead, and it gets a new one.
                self._columns["standing"].values[place] = Standing.GONE
                self._dead += 1
                fresh.append(row)
        if fresh:
            self.append(fresh)

    def _update(self, place: int, row: IndexRow) -> None:
        for name in STATES:
            self._columns[name].values[place] = self._all_encoded(name, [getattr(row, name)])[0]
        self._add_vectors([place], [row.model], [row.vectors])

    def append(self, rows: Sequence[IndexRow]) -> None:
        """Rows that are not there yet, or whose old place is dead."""
        start = len(self._ids)
        places = range(start, start + len(rows))
        given = dict(zip(IndexRow._fields, zip(*rows, strict=True), strict=True))  # Column by column.
        for name in STATES:
            self._columns[name].extend(self._all_encoded(name, given[name]))
        self._columns["windows"].extend(np.zeros(len(rows)))
        self._columns["digest"].extend(given["digest"])
        self._ids.extend(given["memory_id"])
        self._chains.add(places, self._columns["thread"].values[start : start + len(rows)])
        self._postings.add(given["terms"])
        self._add_vectors(places, given["model"], given["vectors"])
        self._fit()

    def _fit(self) -> None:
        excess = self.size_bytes() - self._limit_bytes
        if excess > 0 and self._matrix.size_bytes():
            # Some more than is needed, so that the next few rows find room.
            gone = self._matrix.let_go(excess + self._limit_bytes // 16)
            self._columns["windows"].values[gone] = 0
            self.is_cut = True

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
            made, taken = [made[number] for number in fitting], [taken[number] for number in fitting]
        if made:
            windows[made] = self._matrix.add(made, taken)

    def _all_encoded(self, name: str, values: Sequence[Any]) -> Sequence[int]:
        if name in TEXTS:
            codes = self._codes[name]
            for value in dict.fromkeys(values):
                codes.setdefault(value, len(codes))
            return list(map(codes.__getitem__, values))
        if name in ABSENT:
            absent = ABSENT[name]
            return [absent if value is None else value for value in values]
        return values
