"""The facts nearest to a memory, among which one may say the same or the opposite."""

from collections.abc import Callable
from datetime import datetime

import numpy as np

from memorist import words
from memorist.memories.searchable import Standing
from memorist.memories.values import Kind, Memory
from memorist.recall.index.view import View
from memorist.recall.question import terms_of
from memorist.recall.ranking import Mask, Scores, best
from memorist.times import to_micros

_MOST_OF_OTHERS = 50


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
    a few of other agents.

    What has no vector yet, and everything where there are none, is near by the share of words in common.
    """
    place = view.place_of(memory.id)
    wanted = _facts(view, now)
    if place is not None:
        wanted[place] = False
    if not wanted.any():
        return []
    closeness = _in_common(view, memory.content)
    has_one = place is not None and view.columns["windows"][place] > 0
    vector = view.matrix.first_at(place) if place is not None and has_one else None
    vector = embed(memory.content) if vector is None else vector
    if vector is not None and view.takes(vector):
        closeness = np.where(view.columns["windows"] > 0, view.cosines(vector)[0], closeness)
    near = np.where(wanted & (closeness >= np.float32(1 - distance)), closeness, np.float32(-1))
    is_own = view.columns["agent"] == view.code("agent", memory.owner.agent)
    own, others = np.where(is_own, near, np.float32(-1)), np.where(is_own, np.float32(-1), near)
    places = [*(one for one in best(own, most).tolist() if own[one] >= 0)]
    places += [one for one in best(others, _MOST_OF_OTHERS).tolist() if others[one] >= 0]
    return [view.ids[one] for one in places]


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
