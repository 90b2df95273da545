"""Arrays of several shelves as one: places count through all of them."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from memorist.recall.index.columns import Array
from memorist.recall.index.view import View
from memorist.recall.ranking import Links, Mask, Threads


class Ids:
    """Ids by place, through all shelves."""

    __slots__ = ("_starts", "_views")

    def __init__(self, views: Sequence[View]) -> None:
        self._views = views
        self._starts = list(accumulate((view.size for view in views), initial=0))

    def __getitem__(self, place: int) -> str:
        if len(self._views) == 1:  # As mostly.
            return self._views[0].ids[place]
        shelf = bisect_right(self._starts, place) - 1
        return self._views[shelf].ids[place - self._starts[shelf]]

    def at(self, places: Sequence[int]) -> list[str]:
        """Several at once."""
        if len(self._views) == 1:
            return self._views[0].ids.at(places)
        return [self[place] for place in places]

    def place_of(self, memory_id: str) -> int | None:
        for start, view in zip(self._starts, self._views, strict=False):
            place = view.place_of(memory_id)
            if place is not None:
                return start + place
        return None


def column(views: Sequence[View], name: str, kind: Any = None) -> Array:
    return joined([view.columns[name] for view in views], kind)


def joined(parts: Sequence[Array], kind: Any = None) -> Array:
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=kind or np.int64)


def is_any(values: Array, codes: Sequence[int]) -> Mask:
    """Where a column has one of a few codes."""
    found = np.zeros(values.size, dtype=bool)
    for code in codes:
        found |= values == code
    return found


def all_of(masks: Iterable[Mask], size: int) -> Mask:
    together = np.ones(size, dtype=bool)
    for mask in masks:
        together &= mask
    return together


def threads(views: Sequence[View]) -> Threads:
    parts = []
    offset = 0
    for view in views:
        numbers = view.columns["thread"]
        parts.append(numbers if offset == 0 else np.where(numbers > 0, numbers + offset, 0))
        offset += len(view.codes["thread"])
    return Threads.of(joined(parts).astype(np.intp, copy=False))


def previous_turns(views: Sequence[View]) -> Array:
    """For each place that of the turn before it, or -1."""
    parts = []
    offset = 0
    for view in views:
        previous = view.columns["previous"]
        parts.append(previous if offset == 0 else np.where(previous >= 0, previous + offset, -1))
        offset += view.size
    return joined(parts)


def links(views: Sequence[View], previous: Array) -> Links:
    return Links.of(previous, column(views, "linked", np.float32))
