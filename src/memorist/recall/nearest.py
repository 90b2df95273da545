"""The facts nearest to a memory, among which one may say the same or the opposite."""

from collections.abc import Callable
from datetime import datetime

import numpy as np

from memorist import words
from memorist.memories.searchable import Standing
from memorist.memories.values import Kind, Memory
from memorist.recall.index.columns import Array, distinct
from memorist.recall.index.part import PartOfShelf
from memorist.recall.index.view import View
from memorist.recall.joining import is_any
from memorist.recall.question import terms_of
from memorist.recall.ranking import Mask, Scores, best
from memorist.times import to_micros

_MOST_OF_OTHERS = 50
_FEW = 4096
_SHARE = 16
"""Of a large shelf so many facts, or one row in so many, are all looked at; of more those that lie near."""

_SPARE = 4
"""So many times as many as are wanted are compared as they are: sketches tell only about how near one is."""


def nearest(
    view: View,
    memory: Memory,
    now: datetime,
    embed: Callable[[str], Scores | None],
    *,
    most: int,
    distance: float,
) -> list[str]:
    """The ids of the active facts of the same agent that lie nearest to a memory, within a cosine distance, and then of
    a few others: of no agent or, where it is of none itself, of any.

    What has no vector yet, and everything where there are none, is near by the share of words in common.
    """
    place = view.place_of(memory.id)
    wanted = _facts(view, now)
    if memory.owner.agent is not None:
        wanted &= is_any(view.columns["agent"], [view.code("agent", one) for one in (memory.owner.agent, None)])
    if place is not None:
        wanted[place] = False
    if not wanted.any():
        return []
    has_one = place is not None and view.columns["windows"][place] > 0
    vector = view.matrix.first_at(place) if place is not None and has_one else None
    vector = embed(memory.content) if vector is None else vector
    if vector is not None and not view.takes(vector):
        vector = None
    if vector is not None and view.is_large:
        view, wanted = _narrowed(view, wanted, memory, vector, most)
    closeness = _in_common(view, memory.content)
    if vector is not None:
        closeness = np.where(view.columns["windows"] > 0, view.cosines(vector)[0], closeness)
    near = np.where(wanted & (closeness >= np.float32(1 - distance)), closeness, np.float32(-1))
    is_own = _own(view, memory)
    own, others = np.where(is_own, near, np.float32(-1)), np.where(is_own, np.float32(-1), near)
    places = [*(one for one in best(own, most).tolist() if own[one] >= 0)]
    places += [one for one in best(others, _MOST_OF_OTHERS).tolist() if others[one] >= 0]
    return [view.ids[one] for one in places]


def _narrowed(view: View, wanted: Mask, memory: Memory, vector: Scores, most: int) -> tuple[View, Mask]:
    """Of a large shelf's facts those among which the nearest are, compared as they are, and which of these count."""
    near = view.matrix.near(vector)
    facts = np.flatnonzero(wanted)
    if facts.size > max(_FEW, view.size // _SHARE):
        # What came since, or has no vector, may lie anywhere: it does not tell that enough were looked at.
        listed = _counted(wanted, near.places[: near.places.size - near.late.places.size])
        if np.count_nonzero(_own(view, memory)[listed]) < most:
            return view, wanted
        facts = _counted(wanted, np.concatenate([near.places, view.waiting()]))
    found = view.matrix.estimated_at(vector, near, facts)
    part = PartOfShelf.of(view, facts, found)
    is_own = _own(part, memory)
    counts: Mask = part.columns["windows"] == 0
    for ones in (is_own, ~is_own):
        first = best(np.where(ones, found.known(), np.float32(-1)), _SPARE * max(most, _MOST_OF_OTHERS))
        part.compare(vector, np.sort(first))
        counts[first] = True
    return part, counts


def _counted(wanted: Mask, places: Array) -> Array:
    """Those of some rows that count, ascending; one that is gone has no place."""
    places = distinct(places[places >= 0])
    return places[wanted[places]]


def _own(view: View, memory: Memory) -> Mask:
    """Which are of the same agent."""
    is_own: Mask = view.columns["agent"] == view.code("agent", memory.owner.agent)
    return is_own


def _facts(view: View, now: datetime) -> Mask:
    column = view.columns
    wanted: Mask = (column["standing"] == Standing.LIVE) & (column["expires_at"] > to_micros(now))
    wanted &= column["kind"] == view.code("kind", Kind.FACT)
    return wanted


def _in_common(view: View, content: str) -> Scores:
    """Each word counts alike: what all facts have in common ("the user lives in") is what makes two of them near."""
    terms = terms_of(content)
    closeness = np.zeros(view.size, dtype=np.float32)
    for term in terms:
        closeness[view.postings.containing(words.hash_of(term))[0]] += np.float32(1 / len(terms))
    return closeness
