"""One user's rows in memory, as arrays."""

import sys
import threading
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from memorist.memories.searchable import Standing
from memorist.recall.index.chains import Chains
from memorist.recall.index.columns import ABSENT, KINDS, STATES, TEXTS, Array, Column, distinct
from memorist.recall.index.matrix import Matrix
from memorist.recall.index.postings import Postings
from memorist.recall.index.row_ids import RowIds
from memorist.recall.index.snapshot import Snapshot
from memorist.recall.index.turns import TurnOrder
from memorist.recall.index.view import View
from memorist.recall.values import IndexMark, IndexPosition, IndexRow

_EMPTY = 9000
"""About the bytes of a shelf without rows: those of a million users who have no memories would be many."""

_NEWEST = 64
"""Rows by which a file is recognised as one of this database: whose history is another has other ones."""


class Shelf:
    """One user's rows. Written under its lock, read through views that later writes do not disturb."""

    def __init__(self, user: str | None, *models: str, limit_bytes: int = sys.maxsize) -> None:
        """Vectors of these models are looked at, which are the same. Above the limit the oldest rows lose theirs, and
        are found by their words alone.
        """
        self.user = user
        self._models = models
        self.limit_bytes = limit_bytes
        self.lock = threading.RLock()
        self.clear()

    def clear(self) -> None:
        """Forget all rows, so that they are loaded anew."""
        self._since: int | None = None
        self._ids = RowIds()
        self._columns = {name: Column(kind) for name, kind in KINDS.items()}
        self._codes: dict[str, dict[str, int]] = {name: {"": 0} for name in TEXTS}
        self._chains = Chains(self._ids, self._columns)
        self._matrix = Matrix()
        self._postings = Postings()
        self._turns: TurnOrder | None = None
        self._without: Array | None = None
        self._dead = 0
        self.unsaved = 0
        """Rows that came or changed since it was last saved."""
        self._leaves_out = False
        """Whether vectors came of another length than those before: then everything is read anew."""
        self.file_number: int | None = None
        """What the system calls the file that it is."""
        self.is_cut = False
        """Whether rows lost their vectors, since there was no memory for them."""

    def size_bytes(self) -> int:
        columns = sum(column.size_bytes for column in self._columns.values())
        return _EMPTY + columns + self._matrix.size_bytes() + self._postings.size_bytes() + self._ids.size_bytes()

    @property
    def is_loaded(self) -> bool:
        """Whether only what changed has to be read; not where it was never read, has too many dead rows, or leaves out
        new vectors.
        """
        return (
            self._since is not None and not self._leaves_out and (self._dead <= 256 or self._dead * 4 <= len(self._ids))
        )

    @property
    def position(self) -> IndexPosition:
        """How far what changed was read."""
        return IndexPosition(self.user, self._since or 0)

    @property
    def is_new(self) -> bool:
        """Whether nothing was ever read."""
        return self._since is None

    @property
    def size(self) -> int:
        """Rows, each counted once."""
        return len(self._ids) - self._dead

    def lacks_lists(self, least: int) -> bool:
        """Whether it has that many vectors, and a question looks at all of them."""
        has_lists = self._turns is not None and self._matrix.has_lists
        return not has_lists and self._matrix.windows >= least and self._matrix.kept() >= least

    def loaded(self, watermark: int) -> None:
        """Called once all rows were added that there were at the watermark."""
        self._postings.settle()
        self._ids.settle()
        self._since = watermark
        self._leaves_out = False
        self.unsaved = len(self._ids)

    # As a file

    def saved(self) -> Snapshot:
        """What it is now; later changes do not disturb it."""
        parts = {"ids": self._ids.saved(), "matrix": self._matrix.saved(), "postings": self._postings.saved()}
        facts = {name: part.facts for name, part in parts.items()}
        facts["shelf"] = {
            "since": self._since,
            "dead": self._dead,
            "codes": {name: list(codes) for name, codes in self._codes.items()},
            "newest": self._newest(),
        }
        arrays = {name: array for part in parts.values() for name, array in part.arrays.items()}
        return Snapshot(facts, arrays | {f"column.{name}": column.saved() for name, column in self._columns.items()})

    def map(self, saved: Snapshot) -> list[list[Any]]:
        """Be what a file says. Returns id, change and digest of what had changed last."""
        self.clear()
        told = saved.facts["shelf"]
        self._ids = RowIds.of(Snapshot(saved.facts["ids"], saved.arrays))
        self._matrix = Matrix.of(Snapshot(saved.facts["matrix"], saved.arrays, saved.rows))
        self._postings = Postings.of(Snapshot(saved.facts["postings"], saved.arrays))
        for name, column in self._columns.items():
            column.map(saved.arrays[f"column.{name}"][0], len(self._ids))
        self._codes = {name: {text: number for number, text in enumerate(told["codes"][name])} for name in TEXTS}
        self._chains = Chains(self._ids, self._columns, known=len(self._codes["thread"]))
        if "turns.starts" in saved.arrays:
            self._turns = TurnOrder.of({name: pieces[0] for name, pieces in saved.arrays.items()})
            self._without = np.flatnonzero(self._columns["windows"].values[: len(self._ids)] == 0)
        self._dead = told["dead"]
        self._since = told["since"]
        self.file_number = saved.file_number
        newest: list[list[Any]] = told["newest"]
        return newest

    def has(self, mark: IndexMark) -> bool:
        """Whether it has this state of a memory."""
        place = self._ids.place_of(mark.memory_id)
        columns = (self._columns[name].values for name in ("change", "digest"))
        return place is not None and tuple(int(values[place]) for values in columns) == (mark.change, mark.digest)

    def _newest(self) -> list[list[Any]]:
        changes = self._columns["change"].values[: len(self._ids)]
        last = np.argsort(changes, kind="stable")[-_NEWEST * 4 :].tolist()
        current = [place for place in last if self._ids.place_of(self._ids[place]) == place]
        digests = self._columns["digest"].values
        return [[self._ids[place], int(changes[place]), int(digests[place])] for place in current[-_NEWEST:]]

    # Rows

    def take(self, rows: Sequence[IndexRow]) -> None:
        """Rows that changed. Those that were read before are known by their change."""
        places = self._ids.places_of([row.memory_id for row in rows]).tolist()
        changes = self._columns["change"].values
        new = [
            (row, place) for row, place in zip(rows, places, strict=True) if place < 0 or changes[place] != row.change
        ]
        self._take(new)
        self.unsaved += len(new)
        self._postings.tidy()
        self._fit()

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
            turns=self._turns,
            without=self._without,
        )

    def _take(self, rows: Sequence[tuple[IndexRow, int]]) -> None:
        digests = self._columns["digest"].values
        fresh, known = [], {}
        for row, place in rows:
            if place < 0:
                fresh.append(row)
            elif digests[place] == row.digest:
                known[place] = row
            else:
                # Another text: its old place is dead, and it gets a new one.
                self._columns["standing"].values[place] = Standing.GONE
                self._dead += 1
                fresh.append(row)
        if known:
            self._update(sorted(known), [known[place] for place in sorted(known)])
        if fresh:
            self.append(fresh)

    def _update(self, places: Sequence[int], rows: Sequence[IndexRow]) -> None:
        for name in STATES:
            self._columns[name].values[places] = self._all_encoded(name, [getattr(row, name) for row in rows])
        self._add_vectors(places, [row.model for row in rows], [row.vectors for row in rows])

    def append(self, rows: Sequence[IndexRow]) -> None:
        """Rows that are not there yet, or whose old place is dead."""
        start = len(self._ids)
        places = range(start, start + len(rows))
        given = dict(zip(IndexRow._fields, zip(*rows, strict=True), strict=True))  # Column by column.
        for name in STATES:
            self._columns[name].extend(self._all_encoded(name, given[name]))
        for name in ("windows", "vectors"):
            self._columns[name].extend(np.zeros(len(rows)))
        self._columns["digest"].extend(given["digest"])
        self._ids.extend(given["memory_id"])
        self._chains.add(places, self._columns["thread"].values[start : start + len(rows)])
        self._postings.add(given["terms"])
        self._add_vectors(places, given["model"], given["vectors"])
        self._fit()

    def _fit(self) -> None:
        """Let go of vectors where there is no memory for them."""
        excess = self.size_bytes() - self.limit_bytes
        if excess > 0:
            # Some more than is needed, so that the next few rows find room.
            gone = self._matrix.let_go(excess + self.limit_bytes // 16)
            self._columns["windows"].values[gone] = 0
            self.is_cut = self.is_cut or gone.size > 0

    def _add_vectors(self, places: Sequence[int], models: Sequence[str], packed: Sequence[bytes | None]) -> None:
        """Those of rows whose places ascend. Others than a row had are made of other words of the message before."""
        windows, checksums = self._columns["windows"].values, self._columns["vectors"].values
        lost: list[int] = []
        made: dict[int, bytes] = {}
        for place, model, one in zip(places, models, packed, strict=True):
            if model not in self._models:
                if windows[place]:
                    lost.append(place)
            elif one and not (windows[place] and checksums[place] == zlib.crc32(one)):
                made[place] = one
                if windows[place]:
                    lost.append(place)
        if lost:
            self._put_back(lost)
        fitting = self._matrix.fitting(list(made.values()))
        if len(fitting) < len(made):
            self._leaves_out = True
            given = list(made.items())
            made = dict(given[number] for number in fitting)
        if made:
            at, taken = list(made), list(made.values())
            windows[at] = self._matrix.add(at, taken)
            checksums[at] = list(map(zlib.crc32, taken))

    def _put_back(self, places: Sequence[int]) -> None:
        """Among the rows that wait: their old vectors are not looked at."""
        self._columns["windows"].values[places] = 0
        self._matrix.drop(places)
        if self._without is not None:
            self._without = distinct(np.concatenate([self._without, places]))

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
