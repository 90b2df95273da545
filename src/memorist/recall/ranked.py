"""The third stage: the candidates in their final order, which the reranker has its say in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from memorist.memories.searchable import speaker_of
from memorist.recall.fusion import Fusion, reordered
from memorist.recall.meant import ABOUT_ANOTHER, ABOUT_ANOTHER_UNREAD, NEAR, NEAR_UNREAD, about_whom, newer_first
from memorist.recall.pool import Pool
from memorist.recall.ranking import Places, Scores, best


@dataclass(frozen=True, slots=True, eq=False)
class Judgement:
    """What a reranker said of the first candidates, in their order."""

    scores: Scores
    is_local: bool
    """Whether it is the reranker that confidence was fitted to."""


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """Candidates in their final order, best first."""

    pool: Pool
    places: Places
    scores: Scores
    first: Mapping[int, float]
    """By place, how close each comes to the best in the first order."""

    about: Mapping[int, float]
    """By place, what each counts for whom it is about."""

    judged: Mapping[int, float] | None = None
    """By place, what the reranker said of those that it read; None where it read none."""

    spread: Mapping[int, float] = field(default_factory=dict)
    """The same, from 0 for the worst to 1 for the best."""

    is_local: bool = False


def ranked(pool: Pool, order: Sequence[int], judgement: Judgement | None, fusion: Fusion) -> Ranked:
    """`order` are the places of the pool that may come back, of which the first were judged."""
    scored = pool.scored
    places = np.array(order, dtype=np.intp)
    texts = [pool.memory_at(place).content for place in order]
    speakers = [speaker_of(pool.memory_at(place)) for place in order]
    first = scored.scores[places]
    share = ABOUT_ANOTHER_UNREAD if judgement is None else ABOUT_ANOTHER
    about = about_whom(scored.candidates.asked.question.query, texts, speakers, share)
    weights = scored.candidates.weights[places] * about
    weighted = first * weights
    shares = weighted / np.float32(max(float(weighted.max(initial=0)), 1e-9))
    said = dict(zip(order, shares.tolist(), strict=True)), dict(zip(order, about.tolist(), strict=True))
    if judgement is None:
        found = best(weighted, weighted.size)
        near = np.full(weighted.size, NEAR_UNREAD, dtype=np.float32)
        return Ranked(pool, *_newer_first(pool, places[found], weighted[found], near), *said)
    windows = scored.candidates.rows.windows[places]
    reread = reordered(places, first, weights, windows, judgement.scores, fusion)
    read = order[: judgement.scores.size]
    # What was not read differs by the rest alone.
    near = np.where(np.isin(reread.places, read), NEAR, NEAR_UNREAD * (1 - fusion.reranker)).astype(np.float32)
    return Ranked(
        pool,
        *_newer_first(pool, reread.places, reread.scores, near),
        *said,
        dict(zip(read, judgement.scores.tolist(), strict=True)),
        dict(zip(read, reread.spread.tolist(), strict=True)),
        judgement.is_local,
    )


def _newer_first(pool: Pool, places: Places, scores: Scores, near: Scores) -> tuple[Places, Scores]:
    """Places that are in order, and their scores, which fall as before."""
    if not places.size:
        return places, scores
    memories = [pool.memory_at(place) for place in places.tolist()]
    texts = [memory.content for memory in memories]
    order = newer_first(scores, texts, [memory.event_time or memory.created_at for memory in memories], near)
    return places[order], scores
