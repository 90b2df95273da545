"""The arithmetic of ranking: BM25, neighbours, normalised scores, the best of many. Pure numpy, no I/O."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float32]
Places = NDArray[np.intp]
"""Places of rows in the index: their numbers."""

Counts = NDArray[np.integer[Any]]
Mask = NDArray[np.bool_]

_K1 = np.float32(1.2)
_B = np.float32(0.75)
_RUN = 64


def rarity(documents: int, containing: int) -> float:
    """The weight of a term that some of the documents contain."""
    return math.log(1 + (documents - containing + 0.5) / (containing + 0.5))


def saturated(counts: Scores, lengths: Scores, mean_length: float) -> Scores:
    """BM25's weight of a term that occurs so often in texts so long, before rarity."""
    norm = _K1 * (np.float32(1) - _B + _B * lengths / np.float32(max(1.0, mean_length)))
    return (counts * (_K1 + np.float32(1)) / (counts + norm)).astype(np.float32, copy=False)


def with_neighbours(scores: Scores, links: "Links", weight: float) -> Scores:
    """Each turn gains a share of the scores of the turns right before and after it."""
    if weight == 0 or scores.size < 2:
        return scores
    share = np.float32(weight)
    gained = scores.copy()
    given = links.beside * scores[:-1]
    given *= share
    gained[1:] += given
    np.multiply(links.beside, scores[1:], out=given)
    given *= share
    gained[:-1] += given
    if links.apart.size:
        gained[links.apart] += share * scores[links.before]
        gained[links.before] += share * scores[links.apart]
    return gained


@dataclass(frozen=True, slots=True)
class Links:
    """Which turn comes right before which, by place."""

    beside: Scores
    """For each place but the first: 1 where the turn before is the place right before, else 0."""

    apart: Places
    """The few places whose turn before lies elsewhere, and where: no two have the same, so none is written twice."""

    before: Places

    @classmethod
    def of(cls, previous: Places, linked: Scores) -> "Links":
        """From the place of the turn before each, or -1, and 1 where that is the place right before."""
        apart = np.flatnonzero((previous >= 0) & (linked == 0))
        return cls(linked[1:], apart, previous[apart])


@dataclass(frozen=True, slots=True)
class Threads:
    """Which session or document each row is a turn of, by number; 0 stands for none."""

    numbers: Places
    starts: Places
    """Where each run of rows of one thread begins: they mostly lie together."""

    alone: Mask | None
    """Rows of no thread, each of which is one of its own; None where there are none."""

    @classmethod
    def of(cls, numbers: Places) -> "Threads":
        starts = np.flatnonzero(np.diff(numbers, prepend=-1))
        alone = numbers == 0 if (numbers[starts] == 0).any() else None
        return cls(numbers, starts, alone)


def with_threads(scores: Scores, threads: Threads, weight: float) -> Scores:
    """Each turn gains a share of the best score in its session or document: where one turn answers, others belong."""
    if weight == 0 or not scores.size:
        return scores
    # First the best of each run, then of the few runs of each thread.
    of_runs = threads.numbers[threads.starts]
    greatest = np.zeros(int(of_runs.max()) + 1, dtype=np.float32)
    np.maximum.at(greatest, of_runs, np.maximum.reduceat(scores, threads.starts))
    around = greatest.take(threads.numbers)
    if threads.alone is not None:
        around[threads.alone] = scores[threads.alone]
    around *= np.float32(weight)
    around += scores
    around /= np.float32(1 + weight)
    return around


def normalised(scores: Scores, among: Mask | None = None) -> Scores:
    """From 0 to 1 between the least and the greatest score among those that count."""
    counted = scores if among is None else scores[among]
    if counted.size == 0:
        return scores
    low, high = counted.min(), counted.max()
    spread: Scores = scores - low
    spread *= np.float32(1) / max(high - low, np.float32(1e-9))
    return spread


def best(scores: Scores, count: int) -> Places:
    """The places of the greatest scores, greatest first; equal ones in the order of their places."""
    places = np.arange(scores.size) if scores.size <= 2 * count else np.flatnonzero(scores >= _bound(scores, count))
    order = np.lexsort((places, -scores[places]))[:count]
    return places[order]


def _bound(scores: Scores, count: int) -> np.float32:
    """A score that at least `count` reach. Of many, the greatest of each run tell: their count-th greatest is one."""
    if scores.size > _RUN * count:
        scores = scores[: scores.size // _RUN * _RUN].reshape(-1, _RUN).max(axis=1)
    bound: np.float32 = np.partition(scores, scores.size - count)[scores.size - count]
    return bound


def assumed_cosines(coverages: Scores) -> Scores:
    """How near rows are taken to be that have no vector: as near as rows mostly are that share so many words."""
    assumed: Scores = np.minimum(np.float32(0.1) + np.float32(0.85) * coverages, np.float32(0.6))
    return assumed


def confidence(cosines: Scores, coverages: Scores, judged: Scores | None = None) -> Scores:
    """How sure it is, from 0 to 1, that each candidate answers: by meaning, by words and, where it read them, by the
    local reranker.

    Normalised scores only say which is best; this says whether the best is any good. Fitted to questions asked of the
    conversation that they are about, and of another one.
    """
    if judged is None:
        odds = 10.5 * cosines + 6.7 * coverages - 6.1
    else:
        odds = 7.6 * cosines + 3.4 * coverages + 0.48 * judged - 2.8
    sure: Scores = (1 / (1 + np.exp(-odds))).astype(np.float32)
    return sure
