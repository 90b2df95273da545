"""The last stage: how many of the ranked come back, with scores that mean the same for every question."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from memorist.memories.values import Memory
from memorist.platform.tokens import count_tokens
from memorist.recall.explanation import explain
from memorist.recall.ranked import Ranked
from memorist.recall.ranking import Scores, assumed_cosines, confidence
from memorist.recall.values import Hit

MOST_OF_A_BUDGET = 200
"""So many come back at most where tokens are counted."""

_HALF = np.float32(0.5)
_MOST_SURE = 5
"""As sure as the surest of so many is the answer as a whole."""


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    ranked: Ranked
    shown: Sequence[float]
    """The score of each that was ranked, in their order."""

    hits: tuple[Hit, ...]


def answer(ranked: Ranked, overlay: Callable[[Memory], Memory]) -> Answer:
    """`overlay` adds to a memory what is known of it and not written yet."""
    scored, asked = ranked.pool.scored, ranked.pool.scored.candidates.asked
    budget = asked.question.budget_tokens
    most = asked.question.top_k if budget is None else MOST_OF_A_BUDGET
    shown = _shown(ranked)
    hits: list[Hit] = []
    tokens = 0
    for place, score in zip(ranked.places.tolist(), shown, strict=True):
        if score < asked.least or len(hits) == most:
            break
        memory = ranked.pool.memory_at(place)
        excerpt = scored.excerpt(place, memory)
        if budget is not None:
            tokens += count_tokens(excerpt)
            if tokens > budget and hits:
                break
        explanation = explain(ranked, place) if asked.question.explain else None
        hits.append(Hit(overlay(memory), score, excerpt, explanation))
    return Answer(ranked, shown, tuple(hits))


def _shown(ranked: Ranked) -> list[float]:
    """Scores from 0 to 1 that mean the same for every question: how sure the best one is, and the rest below it.

    The ranking's own scores only compare: the least of them is 0, be it as good as the others. So what is sure by
    itself counts at least half of that. What the reranker did not read has a place where it may still be good, which
    says nothing of how good it is: it comes no closer to the best than in the first order, and nor does what follows.
    """
    if not ranked.places.size:
        return []
    places = ranked.places.tolist()
    sure = _confidence(ranked)
    highest = float(ranked.scores[0])
    share = ranked.scores / np.float32(highest) if highest > 0 else np.ones_like(ranked.scores)
    if ranked.judged is not None:
        most = [1.0 if place in ranked.judged else ranked.first[place] for place in places]
        share = np.minimum(share, np.minimum.accumulate(np.array(most, dtype=np.float32)))
    itself = sure * np.array([ranked.about[place] for place in places], dtype=np.float32)
    counted = np.maximum(sure[:_MOST_SURE].max() * share, itself * _HALF)
    # A memory is no worse than those that rank behind it.
    shown = np.maximum.accumulate(counted[::-1])[::-1]
    return [round(max(0.0, min(1.0, score)), 4) for score in shown.tolist()]


def _confidence(ranked: Ranked) -> Scores:
    scored, places = ranked.pool.scored, ranked.places
    tells = scored.candidates.tells
    if not scored.candidates.asks:
        return np.zeros(places.size, dtype=np.float32)
    # That a memory has the words of every question says nothing about it.
    coverages = scored.words.coverage[places] * np.float32(tells)
    has_vector = scored.meaning.is_known & (scored.candidates.rows.windows[places] > 0)
    cosines = np.where(has_vector, scored.meaning.cosines[places], assumed_cosines(coverages))
    sure = confidence(cosines, coverages)
    # What the reranker says of a question that names nothing is noise.
    if ranked.judged is None or not ranked.is_local or not tells:
        return sure
    was_read = np.array([place in ranked.judged for place in places.tolist()])
    judged = np.array([ranked.judged.get(place, 0.0) for place in places.tolist()], dtype=np.float32)
    return np.where(was_read, confidence(cosines, coverages, judged), sure)
