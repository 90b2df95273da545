"""How words, meaning and the reranker become one order. Pure.

docs/explanation/recall.md says what each choice was worth.
"""

from dataclasses import dataclass, replace

import numpy as np

from memorist.languages import is_english
from memorist.recall.ranking import (
    Counts,
    Links,
    Mask,
    Places,
    Scores,
    Threads,
    best,
    normalised,
    with_neighbours,
    with_threads,
)


@dataclass(frozen=True, slots=True)
class Fusion:
    """The weights of recall, chosen on the development halves of three benchmarks."""

    text: float = 0.3
    """The share of keywords in the first order; the rest is meaning."""

    foreign_text: float = 0.5
    """How much of that share keywords keep where the question is not English: fewer of their endings are cut, and
    fewer words agree. Meaning is not doubted then: cosines lie lower across languages."""

    near: float = 0.3
    """The cosine that the best row should reach. Below it meaning has found nothing near: its share falls, with the
    square of how far the best row comes, and keywords get it, lest the least strange outvotes a word that is there."""

    coverage: float = 0.25
    """What a row gains that contains all of the question's words, and others by the square of their share: a name or a
    number that is asked for exactly is meant exactly."""

    text_neighbours: float = 0.5
    vector_neighbours: float = 0.1
    """How much of the score of the turns right before and after it a turn gains: an answer is found by its question."""

    thread: float = 0.5
    """How much of the best score in its session or document a turn gains: a session that answers is on the subject."""

    vector_windows: float = 0.1
    reranker_windows: float = 1.0
    """A text of n windows shows its best, and the best of many is high by chance: this times ln n is taken off."""

    compared: int = 50
    tokens: float = 0.5
    """So many of the first are compared by their tokens, and what share that has in their order."""

    token_windows: float = 0.08
    """The same correction for tokens."""

    reranker: float = 0.55
    """The share of the reranker among the candidates that it reads."""

    apart: float = 4.0
    """How far apart the local one's best and worst must be to count in full: of few that it reads, it often says nearly
    the same."""

    first_apart: float = 0.5
    """The same of the first order: of a few memories all may fit about as well, and the reranker tells them apart."""

    pool: int = 40
    """How many candidates the local reranker reads at most."""

    asked_elsewhere: int = 20
    """How many another's is given: each is sent over the network, and may be paid for."""

    settled: int = 5
    close: float = 0.85
    """At first it reads so many, and others whose first score comes as close as this to the best one's."""

    convincing: float = 2.75
    """Where the local reranker says so much of one of them, it reads no more: the others seldom come up."""

    sure: float = 3.2
    """Where it says so much of one of the first two, these are enough: so it is for half of what is asked of
    conversations."""

    doubted: int = 16
    behind: float = 0.65
    """Else so many, and others whose first score is at least this share of the best one's."""

    def elsewhere(self) -> "Fusion":
        """Where another's reranker is asked, whose scores may be of any size."""
        return replace(self, pool=min(self.pool, self.asked_elsewhere), apart=0.0)

    def without_tokens(self) -> "Fusion":
        """Where nothing is known of most tokens the first order says less: more is read, and that counts more."""
        return replace(self, reranker=0.7, settled=6, close=0.8, behind=0.6, sure=3.5)


FUSION = Fusion()

ABLATIONS = {
    "words": replace(FUSION, text=0, coverage=0),
    "meaning": replace(FUSION, text=1, foreign_text=1),
    "neighbours": replace(FUSION, text_neighbours=0, vector_neighbours=0),
    "sessions": replace(FUSION, thread=0),
    "doubt in meaning": replace(FUSION, near=0),
    "exact wording": replace(FUSION, coverage=0),
    "window correction": replace(FUSION, vector_windows=0, token_windows=0),
    "tokens": replace(FUSION, compared=0),
}
"""The weights without each part of the first order, to measure what it is worth."""


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """What is ranked, whatever it says: which turn follows which, how long each is, and which of them count."""

    links: Links
    threads: Threads
    windows: Counts
    """How many vectors each row has; 0 while it waits for them."""

    long: Places
    """Those with several."""

    embedded: Mask | None
    """Those with any; None where all have."""

    live: Mask | None
    """What may be looked at; None where all may."""

    wanted: Mask | None
    """What may come back; None where all may."""

    @classmethod
    def of(
        cls, links: Links, threads: Threads, windows: Counts, live: Mask | None = None, wanted: Mask | None = None
    ) -> "Rows":
        return cls(links, threads, windows, np.flatnonzero(windows > 1), unless_all(windows > 0), live, wanted)

    def seen(self, scores: Scores) -> Scores:
        """The scores of what may be looked at, 0 for the rest."""
        return scores if self.live is None else np.where(self.live, scores, np.float32(0))


@dataclass(frozen=True, slots=True, eq=False)
class ByWords:
    """How well each row fits the words of a question."""

    bm25: Scores
    coverage: Scores
    """The share of the question's words that it contains."""

    normal: Scores
    """By BM25, with the turns around it, from 0 to 1."""

    bonus: Scores
    """What it gains for its coverage."""


@dataclass(frozen=True, slots=True, eq=False)
class ByMeaning:
    """How near each row's best window is to a question; 0 for a row without vectors."""

    cosines: Scores
    windows: Counts
    """Which window that is."""

    normal: Scores
    """With the turns around it, from 0 to 1."""

    is_known: bool = True
    """False where there was no vector to compare with: then everything is 0."""

    @classmethod
    def unknown(cls, size: int) -> "ByMeaning":
        nothing = np.zeros(size, dtype=np.float32)
        return cls(nothing, np.zeros(size, dtype=np.int32), nothing, is_known=False)


def by_words(rows: Rows, bm25: Scores, coverage: Scores, fusion: Fusion) -> ByWords:
    bm25 = rows.seen(bm25)
    near = with_neighbours(bm25, rows.links, fusion.text_neighbours)
    bonus = np.float32(fusion.coverage) * (coverage * coverage)
    return ByWords(bm25, coverage, normalised(near, rows.wanted), bonus)


def by_meaning(rows: Rows, cosines: Scores, windows: Counts, fusion: Fusion) -> ByMeaning:
    corrected = cosines
    if rows.long.size:
        corrected = cosines.copy()
        counts = rows.windows[rows.long].astype(np.float32)
        corrected[rows.long] -= np.float32(fusion.vector_windows) * np.log(counts)
    near = with_neighbours(rows.seen(corrected), rows.links, fusion.vector_neighbours)
    normal = normalised(near, _both(rows.wanted, rows.embedded))
    if rows.embedded is not None:
        normal = np.where(rows.embedded, normal, np.float32(0))
    return ByMeaning(cosines, windows, normal)


def first_order(rows: Rows, words: ByWords, meaning: ByMeaning, fusion: Fusion) -> Scores:
    """Each row's score before the reranker, from 0 to 1: words and meaning, exact wording, and the thread around it."""
    mixed = _mixed(rows, words, meaning, fusion) if meaning.is_known else words.normal
    scores = normalised(rows.seen(mixed + words.bonus), rows.wanted)
    return with_threads(scores, rows.threads, fusion.thread)


def with_tokens(first: Scores, agreements: Scores, windows: Counts, fusion: Fusion) -> Scores:
    """First scores, of which a share becomes how well the tokens agree, over the range of those of which that is known;
    the others (NaN) gain what these do on the mean, lest they fall behind for being unknown.
    """
    known = ~np.isnan(agreements)
    if not known.any():
        return first
    counts = np.maximum(windows, 1).astype(np.float32)
    corrected: Scores = agreements - np.float32(fusion.token_windows) * np.log(counts).astype(np.float32)
    # Over the range of all, the only one that is known would fall behind those that were not even compared.
    low, high = first[known].min(), first[known].max()
    agreed = low + (high - low) * normalised(corrected, known)
    share = np.float32(fusion.tokens)
    gained = share * (agreed - first)
    mixed: Scores = first + np.where(known, gained, gained[known].mean(dtype=np.float32))
    return mixed


def _mixed(rows: Rows, words: ByWords, meaning: ByMeaning, fusion: Fusion) -> Scores:
    # What waits for its vectors is judged by its words alone, and is found by them beside those that have theirs.
    normal = meaning.normal if rows.embedded is None else np.where(rows.embedded, meaning.normal, words.normal)
    cosines = meaning.cosines if rows.wanted is None else meaning.cosines[rows.wanted]
    share = share_of_meaning(fusion, float(cosines.max(initial=0)))
    mixed = np.float32(1 - share) * words.normal
    mixed += np.float32(share) * normal
    return mixed


def share_of_meaning(fusion: Fusion, best_cosine: float) -> float:
    """How much meaning counts in the first order, for a question whose best row is so near."""
    if not fusion.near or best_cosine >= fusion.near:
        return 1 - fusion.text
    return (1 - fusion.text) * float(max(0.0, best_cosine) / fusion.near) ** 2


def in_language_of(query: str, fusion: Fusion) -> Fusion:
    return fusion if is_english(query) else replace(fusion, text=fusion.text * fusion.foreign_text, near=0.0)


@dataclass(frozen=True, slots=True)
class Extent:
    """How many of a first order the reranker reads: at first, unless it is sure of one of the first two; and where it
    says less than `convincing` of all these."""

    at_first: int
    in_doubt: int
    convincing: float
    settled: int = 0
    """Where there is no time for so many, the first few are enough if one of them convinces."""

    sure: float = float("inf")


def worth_reading(first: Scores, fusion: Fusion) -> Extent:
    """How far to read in a first order, by its scores best first."""
    first = first[: fusion.pool]
    shares = first / max(float(first.max(initial=0)), 1e-9)

    def reaching(share: float, least: int) -> int:
        return max(int(np.count_nonzero(shares >= share)), min(least, first.size))

    return Extent(
        at_first=reaching(fusion.close, fusion.settled),
        in_doubt=reaching(fusion.behind, fusion.doubted),
        convincing=fusion.convincing,
        settled=min(fusion.settled, first.size),
        sure=fusion.sure,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Reordered:
    """An order after the reranker, best first."""

    places: Places
    scores: Scores
    spread: Scores
    """What the reranker said of those that it read, in the order in which it did, from 0 to 1 for the best."""


def reordered(
    places: Places, first: Scores, weights: Scores, windows: Counts, judged: Scores, fusion: Fusion
) -> Reordered:
    """The first order after the reranker, which read as many of the first as it judged.

    For each place in the first order `first` is its score there, `weights` what it counts, `windows` how many it has.
    """
    read = judged.size
    pool = max(read, min(fusion.pool, first.size))
    share = np.float32(fusion.reranker)
    counts = np.maximum(windows[:read], 1).astype(np.float32)
    corrected: Scores = judged - np.float32(fusion.reranker_windows) * np.log(counts).astype(np.float32)
    spread = _spread(corrected, fusion.apart)
    # What it did not read counts as the worst of what it read: that may fall behind it.
    said = np.full(pool, spread.min(initial=1), dtype=np.float32)
    said[:read] = spread
    mixed = (share * said + (1 - share) * _spread(first[:pool], fusion.first_apart)) * weights[:pool]
    inside = best(mixed, pool)
    # What it never reads stays behind all of these, in the order that it had.
    rest = first[pool:] * weights[pool:]
    behind = rest * (mixed.min() / max(float(rest.max()), 1e-9)) if rest.size else rest
    return Reordered(
        np.concatenate([places[:pool][inside], places[pool:]]), np.concatenate([mixed[inside], behind]), spread
    )


def _spread(scores: Scores, apart: float) -> Scores:
    """1 for the best, and 0 for the worst where it is so far apart; less far, it is nearer to 1."""
    if not scores.size:
        return scores
    spread: Scores = 1 - (scores.max() - scores) / np.float32(max(float(np.ptp(scores)), apart, 1e-9))
    return spread


def unless_all(mask: Mask) -> Mask | None:
    """The mask, or None where it leaves nothing out: then nothing needs to be copied."""
    return None if mask.all() else mask


def _both(one: Mask | None, other: Mask | None) -> Mask | None:
    if one is None or other is None:
        return one if other is None else other
    return unless_all(one & other)
