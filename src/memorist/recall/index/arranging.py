"""Arranges a large shelf for its file: vectors in lists of what lies near each other, and turns by their threads."""

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Any, Literal, TypeVar

import numpy as np

from memorist.recall.index import turns, vectors
from memorist.recall.index.columns import Array, with_room
from memorist.recall.index.lists import Centres, centres, sample_of, sketch_of
from memorist.recall.index.postings import counts_of, impacts_of, places_of, settled
from memorist.recall.index.snapshot import READ, Snapshot
from memorist.recall.ranking import Scores

T = TypeVar("T")

_CHUNK = 8192
_ENTRIES = 1 << 18
_OF_WINDOW = 8
"""Beside its sketch, bytes that a window takes more where it is in a list: a factor, and its number by row."""

_OF_ROW = 12
"""As a row does: where its windows begin, which follows it, and its place in its thread."""

_GROWN = 2
"""Lists are made anew, not only added to, once there are so many times the vectors."""


class _Hurried(Exception):
    """There is no time for lists now."""


def arranged(saved: Snapshot, least: int, is_hurried: Callable[[], bool] = lambda: False) -> Snapshot:
    """The same rows as a file has them: their terms in one run, and their vectors in lists where there are enough of
    them. That takes seconds to minutes; it has none soon after somebody is in a hurry.
    """
    saved = settled(saved)
    if saved.facts["matrix"]["windows"] < least:
        return saved
    try:
        return _listed(saved, least, is_hurried)
    except _Hurried:
        return saved


def _listed(saved: Snapshot, least: int, is_hurried: Callable[[], bool]) -> Snapshot:
    before = _Vectors(saved, is_hurried)
    if np.count_nonzero(before.places >= 0) < least:
        return saved  # Most lost theirs, and wait for new ones.
    middle = before.centres()
    labels = before.labels(middle)
    order = np.lexsort((before.numbers, before.places, labels))
    order = order[before.places[order] >= 0]
    places = before.places[order]
    rows = int(saved.facts["ids"]["rows"])
    mean = before.mean()
    lists: dict[str, Array] = {
        "centres": middle.steps,
        "mean": mean,
        "ends": np.cumsum(np.bincount(labels[order], minlength=len(middle.steps))).astype(np.int64),
        "windows": np.argsort(places, kind="stable").astype(np.int32),
        "starts": np.concatenate([[0], np.cumsum(np.bincount(places, minlength=rows))]).astype(np.int32),
    }
    columns: dict[str, Array] = {
        "scales": before.scales[order],
        "places": places,
        "starts": np.arange(order.size, dtype=np.int64),
        "firsts": before.numbers[order].astype(np.int32),
    }
    arrays: dict[str, Sequence[Array]] = {
        **saved.arrays,
        READ: _Picked(before.blocks, order),
        **{f"lists.{name}": [array] for name, array in lists.items()},
        "lists.sketches": _Sketched(before.blocks, order, before.scales, mean, 0),
        "lists.factors": _Sketched(before.blocks, order, before.scales, mean, 1),
        **{f"column.{name}": with_room(array) for name, array in columns.items()},
        "term.impacts": [_impacts(saved)],
        **turns.arranged(*(saved.arrays[f"column.{name}"][0] for name in ("previous", "thread"))),
    }
    told = {
        **saved.facts["matrix"],
        "windows": order.size,
        "groups": order.size,
        "single": True,
        "whole": bool((np.diff(lists["starts"]) <= 1).all()),
        "in_order": False,
        "centres": middle.facts,
    }
    return Snapshot({**saved.facts, "matrix": told}, arrays)


def size_bytes(saved: Snapshot, least: int) -> int:
    """About what the file of a shelf will take: what lists add is known before they are made."""
    facts = saved.facts["matrix"]
    if facts["windows"] < least or "lists.sketches" in saved.arrays:
        return saved.size_bytes
    of_windows = int(facts["windows"]) * (int(facts["dimensions"]) // 8 + _OF_WINDOW)
    of_rows = int(saved.facts["ids"]["rows"]) * _OF_ROW
    return saved.size_bytes + of_windows + of_rows + sum(entries.size for entries in saved.arrays["term.entries"])


class _Vectors:
    """The vectors of a shelf, one by one, however they were arranged."""

    def __init__(self, saved: Snapshot, is_hurried: Callable[[], bool]) -> None:
        self._saved = saved
        self._is_hurried = is_hurried
        self.blocks = saved.arrays[READ]
        given = {name: saved.arrays[f"column.{name}"][0] for name in ("scales", "places", "starts", "firsts")}
        self.scales: Scores = given["scales"]
        counts = np.diff(given["starts"], append=self.scales.size)
        self.places = np.repeat(given["places"], counts)
        # Of a group, the windows come in their order.
        inside = np.arange(self.scales.size) - np.repeat(given["starts"], counts)
        self.numbers = np.repeat(given["firsts"], counts) + inside

    def centres(self) -> Centres:
        told = self._saved.facts["matrix"].get("centres")
        if told is not None and self.scales.size < _GROWN * told["made_of"]:
            return Centres(self._saved.arrays["lists.centres"][0], told["scale"], told["made_of"])
        sample = sample_of(self.scales.size)
        steps = np.concatenate(list(_Picked(self.blocks, sample)))
        *_, made = map(self._unhurried, centres(steps, self.scales[sample], self.scales.size))
        return made

    def mean(self) -> Scores:
        """What all have in common."""
        if "lists.mean" in self._saved.arrays:
            known: Scores = self._saved.arrays["lists.mean"][0]
            return known
        sample = sample_of(self.scales.size)
        steps = np.concatenate(list(_Picked(self.blocks, sample)))
        total = sum((part * scales[:, np.newaxis]).sum(axis=0) for part, scales in _parts(steps, self.scales[sample]))
        return np.asarray(total / max(1, sample.size), dtype=np.float32)

    def labels(self, middle: Centres) -> Array:
        """The list of each. What is in one stays there, while the centres stay."""
        known = np.zeros(0, dtype=np.int32)
        if middle.facts == self._saved.facts["matrix"].get("centres"):
            ends = self._saved.arrays["lists.ends"][0]
            known = np.repeat(np.arange(ends.size, dtype=np.int32), np.diff(ends, prepend=0))
        rest = _Picked(self.blocks, np.arange(known.size, self.scales.size))
        return np.concatenate([known, *(middle.nearest(self._unhurried(piece)) for piece in rest)])

    def _unhurried(self, one: T) -> T:
        if self._is_hurried():
            raise _Hurried
        return one


def _impacts(saved: Snapshot) -> Array:
    """What each entry of a term counts in its row."""
    entries, lengths = (saved.arrays[name][0] for name in ("term.entries", "column.lengths"))
    facts = saved.facts["postings"]
    found = np.empty(entries.size, dtype=np.uint8)
    for start in range(0, entries.size, _ENTRIES):
        part = entries[start : start + _ENTRIES]
        mean = facts["words"] / max(1, facts["rows"])
        found[start : start + part.size] = impacts_of(counts_of(part), lengths[places_of(part)], mean)
    return found


def _parts(steps: vectors.Steps, scales: Scores) -> Iterator[tuple[vectors.Steps, Scores]]:
    for start in range(0, len(steps), _CHUNK):
        yield steps[start : start + _CHUNK], scales[start : start + _CHUNK]


class _Picked(Sequence[Array]):
    """Some vectors of many blocks in another order, brought together piece by piece."""

    def __init__(self, blocks: Sequence[vectors.Steps], order: Array) -> None:
        self._blocks = blocks
        self._order = order
        self._ends = np.array(list(accumulate(map(len, blocks))))

    def __len__(self) -> int:
        return max(1, -(-self._order.size // _CHUNK))

    def __iter__(self) -> Iterator[Array]:
        return map(self.__getitem__, range(len(self)))

    def __getitem__(self, number: Any) -> Any:
        wanted = self._order[number * _CHUNK : (number + 1) * _CHUNK]
        found = np.empty((wanted.size, self._blocks[0].shape[1]), dtype=np.int8)
        of_block = np.searchsorted(self._ends, wanted, side="right")
        by_block = np.argsort(of_block, kind="stable")
        for run in np.split(by_block, np.flatnonzero(np.diff(of_block[by_block])) + 1):
            if run.size:
                block = int(of_block[run[0]])
                found[run] = self._blocks[block][wanted[run] - (self._ends[block] - len(self._blocks[block]))]
        return found


class _Sketched(_Picked):
    """Their sketches, or the factors of these."""

    def __init__(
        self, blocks: Sequence[vectors.Steps], order: Array, scales: Scores, mean: Scores, which: Literal[0, 1]
    ) -> None:
        super().__init__(blocks, order)
        self._scales = scales
        self._mean = mean
        self._which = which

    def __getitem__(self, number: Any) -> Any:
        wanted = self._order[number * _CHUNK : (number + 1) * _CHUNK]
        return sketch_of(super().__getitem__(number), self._scales[wanted], self._mean)[self._which]
