"""The second stage: every candidate's score, by its words and by its meaning."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isnan

import numpy as np

from memorist import words
from memorist.memories.searchable import text_of
from memorist.memories.values import Memory
from memorist.models import passages
from memorist.recall.candidates import Candidates
from memorist.recall.fusion import ByMeaning, ByWords, Fusion, by_meaning, by_words, first_order, with_tokens
from memorist.recall.index.postings import wording
from memorist.recall.index.tokens import MOST_WINDOWS
from memorist.recall.joining import joined
from memorist.recall.ranking import Places, Scores, best


@dataclass(frozen=True, slots=True, eq=False)
class Worded:
    """Candidates whose words were looked up: all that can be done before the question has its vector."""

    candidates: Candidates
    words: ByWords


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """Candidates with the score of each, by place."""

    candidates: Candidates
    words: ByWords
    meaning: ByMeaning
    scores: Scores
    agreements: Mapping[int, float] = field(default_factory=dict)
    """By place, how well the tokens of those that were compared agree with the question's."""

    @property
    def weighted(self) -> Scores:
        """The scores as their classes count."""
        return self.scores * self.candidates.weights

    def first(self, count: int) -> Places:
        """The places of the best candidates, best first."""
        wanted = self.candidates.wanted
        weighted = self.weighted
        if self.candidates.rows.wanted is not None:
            weighted[~wanted] = -1
        places = best(weighted, count)
        return places[wanted[places]]

    def compared(self, places: Places, agreements: Scores, fusion: Fusion) -> "Scored":
        """The same, after the tokens of some places were compared."""
        scores = self.scores.copy()
        windows = np.minimum(self.candidates.rows.windows[places], MOST_WINDOWS)
        scores[places] = with_tokens(scores[places], agreements, windows, fusion)
        found = dict(zip(places.tolist(), agreements.tolist(), strict=True))
        return replace(self, scores=scores, agreements={place: one for place, one in found.items() if not isnan(one)})

    def knows_tokens(self, places: Sequence[int]) -> bool:
        """Whether the tokens of most of these places were compared."""
        return 2 * sum(place in self.agreements for place in places) > len(places)

    def excerpt(self, place: int, memory: Memory) -> str:
        """The part of a text that fits the question best; all of a short one."""
        windows = passages.windows(text_of(memory))
        if len(windows) == 1:
            return memory.content
        if self.candidates.rows.windows[place]:
            return windows[min(int(self.meaning.windows[place]), len(windows) - 1)]
        # Found by its words alone, so shown where they stand.
        asked_for = set(self.candidates.asked.terms())
        return max(windows, key=lambda window: len(asked_for.intersection(words.terms(window))))


def worded(candidates: Candidates, fusion: Fusion) -> Worded:
    terms = [words.hash_of(term) for term in candidates.asked.terms()]
    found = wording([view.postings for view in candidates.views], terms)
    bm25 = joined([one.bm25 for one in found], np.float32)
    coverage = joined([one.coverage for one in found], np.float32)
    return Worded(candidates, by_words(candidates.rows, bm25, coverage, fusion))


def scored(found: Worded, vector: Scores | None, fusion: Fusion) -> Scored:
    """`vector` is the question's; without one, or one of another length, words alone count."""
    candidates = found.candidates
    meaning = ByMeaning.unknown(found.words.bm25.size)
    if vector is not None and all(view.takes(vector) for view in candidates.views):
        compared = [view.cosines(vector) for view in candidates.views]
        cosines = joined([cosines for cosines, _ in compared], np.float32)
        windows = joined([windows for _, windows in compared], np.int32)
        meaning = by_meaning(candidates.rows, cosines, windows, fusion)
    return Scored(candidates, found.words, meaning, first_order(candidates.rows, found.words, meaning, fusion))
