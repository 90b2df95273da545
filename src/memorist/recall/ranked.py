"""The third stage: the candidates in their final order, which the reranker has its say in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from memorist.recall.fusion import Fusion, reordered
from memorist.recall.pool import Pool
from memorist.recall.ranking import Places, Scores


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
    judged: Mapping[int, float] | None = None
    """By place, what the reranker said of those that it read; None where it read none."""

    spread: Mapping[int, float] = field(default_factory=dict)
    """The same, from 0 for the worst to 1 for the best."""

    is_local: bool = False


def ranked(pool: Pool, order: Sequence[int], judgement: Judgement | None, fusion: Fusion) -> Ranked:
    """`order` are the places of the pool that may come back, of which the first were judged."""
    scored = pool.scored
    places = np.array(order, dtype=np.intp)
    first, weights = scored.scores[places], scored.candidates.weights[places]
    if judgement is None:
        return Ranked(pool, places, first * weights)
    windows = scored.candidates.rows.windows[places]
    found = reordered(places, first, weights, windows, judgement.scores, fusion)
    read = order[: judgement.scores.size]
    return Ranked(
        pool,
        found.places,
        found.scores,
        dict(zip(read, judgement.scores.tolist(), strict=True)),
        dict(zip(read, found.spread.tolist(), strict=True)),
        judgement.is_local,
    )
