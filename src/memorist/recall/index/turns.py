"""The turns of a large shelf: which follows which, and which rows are of one thread, without looking at all rows."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from memorist.recall.index.columns import Array, distinct, which_are


@dataclass(frozen=True, slots=True, eq=False)
class TurnOrder:
    """Of the rows that a file had; of those that came since all are looked at, since they are few."""

    following: Array
    """The place of the turn after each, or -1."""

    by_thread: Array
    """Places, thread by thread."""

    starts: Array
    """Where each thread begins in them, by its number, and one more at the end."""

    @classmethod
    def of(cls, arrays: Mapping[str, Array]) -> "TurnOrder":
        return cls(arrays["turns.following"], arrays["turns.by_thread"], arrays["turns.starts"])

    def after(self, places: Array) -> Array:
        """The turn that the file has after each, or -1."""
        known = places < self.following.size
        return np.where(known, self.following.take(np.where(known, places, 0)), -1)

    def beside(self, previous: Array, threads: Array, places: Array) -> Array:
        """The turns right before and after some rows. `threads` has the number of each row's."""
        known = self.following.size
        listed = places[places < known]
        after = self.following[listed]
        # Of a text that was edited the next turn follows its new place.
        after = after[(after >= 0) & (previous[after] == listed)]
        late = known + which_are(previous[known:], places)
        before = previous[places]
        return np.concatenate([before[before >= 0], after, late, self._after_late(previous, threads, places)])

    def _after_late(self, previous: Array, threads: Array, places: Array) -> Array:
        """The turns of the file that follow what came since: a text that was edited, or one that came late."""
        late = places[places >= self.following.size]
        if not late.size:
            return late
        inside = self._listed(distinct(threads[late]), self.following.size)
        return inside[which_are(previous[inside], late)]

    def of_threads(self, threads: Array, numbers: Array, most: int) -> Array:
        """The rows of some threads, the last so many of each. `threads` has the number of each row's."""
        known = self.following.size
        listed = self._listed(numbers, most)
        late = known + which_are(threads[known:], numbers[numbers > 0])
        return np.concatenate([listed, late[-most * max(1, numbers.size) :]])

    def _listed(self, numbers: Array, most: int) -> Array:
        """The rows of some threads that the file had."""
        numbers = numbers[(numbers > 0) & (numbers < self.starts.size - 1)]
        ends = self.starts[numbers + 1]
        counts = np.minimum(ends - self.starts[numbers], most)
        which = np.repeat(np.arange(numbers.size), counts)
        offsets = np.arange(which.size) - np.repeat(np.cumsum(counts) - counts, counts)
        listed: Array = self.by_thread[ends[which] - 1 - offsets]
        return listed


def arranged(previous: Array, threads: Array) -> dict[str, list[Array]]:
    """The arrays for a file."""
    following = np.full(previous.size, -1, dtype=np.int32)
    later = np.flatnonzero(previous >= 0)
    following[previous[later]] = later
    starts = np.concatenate([[0], np.cumsum(np.bincount(threads))]).astype(np.int32)
    by_thread = np.argsort(threads, kind="stable").astype(np.int32)
    return {"turns.following": [following], "turns.by_thread": [by_thread], "turns.starts": [starts]}
