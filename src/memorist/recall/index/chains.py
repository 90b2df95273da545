"""Which turn comes right before which in its session or document."""

import bisect
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from memorist.recall.index.columns import Array, Column
from memorist.recall.index.row_ids import RowIds


class Chains:
    """For each place that of the turn before it, or -1, and 1 where that is the place right before.

    Turns are in the order of their ids, in whichever order they come: an edit or a vector may come after the next turn.
    What stood before and after the old place of an edited text does so for its new one.
    """

    def __init__(self, ids: RowIds, columns: Mapping[str, Column], known: int = 0) -> None:
        """`ids` by place, and the column `thread`, grow before `add` is called. Of the first so many threads there may
        be turns, which are looked for when one is added to.
        """
        self._ids = ids
        self._threads = columns["thread"]
        self._previous = columns["previous"]
        self._linked = columns["linked"]
        self._known = known
        self._turns: dict[int, list[int]] = {}

    def add(self, places: range, threads: Array) -> None:
        """Chain new places, of which `threads` says the thread of each by number; 0 stands for none."""
        first = places[0]
        chain = np.full(len(places), -1, dtype=np.int64)
        relinked: dict[int, int] = {}
        order = np.argsort(threads, kind="stable")
        for run in np.split(order, np.flatnonzero(np.diff(threads[order])) + 1):
            if not threads[run[0]]:
                continue
            turns = self._turns_of(int(threads[run[0]]), first)
            arriving = (run + first).tolist()
            if self._come_last(turns, arriving):
                chain[run[0]] = turns[-1] if turns else -1
                chain[run[1:]] = run[:-1] + first
                turns.extend(arriving)
                continue
            for place in arriving:
                self._insert(place, turns, chain, first, relinked)
        self._previous.extend(chain)
        self._linked.extend((chain >= 0) & (chain == np.array(places) - 1))
        if relinked:
            self._relink(relinked)

    def _turns_of(self, thread: int, first: int) -> list[int]:
        turns = self._turns.get(thread)
        if turns is None:
            there = np.flatnonzero(self._threads.values[:first] == thread).tolist() if thread < self._known else []
            # Of a text that was edited the last place counts.
            turns = self._turns[thread] = sorted(
                dict(zip(map(self._ids.__getitem__, there), there, strict=True)).values(), key=self._ids.__getitem__
            )
        return turns

    def _come_last(self, turns: Sequence[int], arriving: Sequence[int]) -> bool:
        ids = [self._ids[place] for place in (*turns[-1:], *arriving)]
        return all(earlier < later for earlier, later in pairwise(ids))

    def _insert(self, place: int, turns: list[int], chain: Array, first: int, relinked: dict[int, int]) -> None:
        """Put a turn where it belongs among those of its thread, some of which may come after it."""
        memory_id = self._ids[place]
        position = bisect.bisect_left(turns, memory_id, key=self._ids.__getitem__)
        if position < len(turns) and self._ids[turns[position]] == memory_id:
            relinked[turns[position]] = -1
            turns[position] = place
        else:
            turns.insert(position, place)
        chain[place - first] = turns[position - 1] if position else -1
        if position + 1 < len(turns):
            following = turns[position + 1]
            if following >= first:
                chain[following - first] = place
            else:
                relinked[following] = place

    def _relink(self, before: dict[int, int]) -> None:
        """Change earlier places, on copies: views that were given out know nothing of new ones."""
        previous, linked = self._previous.copied(), self._linked.copied()
        for place, earlier in before.items():
            previous[place] = earlier
            linked[place] = earlier >= 0 and earlier == place - 1
