"""Which rows contain a word, and how well each row fits all words of a question."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memorist.recall.index.columns import Array, Column, distinct
from memorist.recall.index.snapshot import Snapshot
from memorist.recall.ranking import Scores, rarity, saturated

_COUNT_BITS = np.uint32(0xF)
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_TELLS_NOTHING = 0.22
"""The rarity of a word that four of five memories contain: beside rarer ones it only costs time."""

Terms = NDArray[np.uint32]
Places = NDArray[np.int32]
_LOOKED_THROUGH = 32_768
"""Entries of its rare words that a question looks through on a large shelf."""

_SHARE = 8
"""Of a shelf that is larger, entries for one in so many of its rows."""

_SAMPLED = 8192
_LIKELY = 4096
"""Rows of these that are compared by meaning, too."""


class Postings:
    """The terms of all rows, as `words.pack` makes them: a sorted part, and a short tail of what was added since."""

    def __init__(self) -> None:
        self._sorted: Terms = np.zeros(0, dtype=np.uint32)
        self._sorted_places: Places = np.zeros(0, dtype=np.int32)
        self._is_mapped = False
        self._tails: list[tuple[Terms, Places]] = []
        self._tail_size = 0
        self._lengths = Column(np.float32)
        self._size = 0
        self._words = 0.0

    def size_bytes(self) -> int:
        own = 0 if self._is_mapped else self._sorted.nbytes + self._sorted_places.nbytes
        return own + 8 * self._tail_size + self._lengths.size_bytes

    def saved(self) -> Snapshot:
        lists = self.view()
        tail = lists.tail or (self._sorted[:0], self._sorted_places[:0])
        arrays: dict[str, list[Array]] = {
            "terms": [lists.terms],
            "term.places": [lists.places],
            "tail": [tail[0]],
            "tail.places": [tail[1]],
        }
        return Snapshot({"words": self._words, "rows": self._size}, {**arrays, "column.lengths": self._lengths.saved()})

    @classmethod
    def of(cls, saved: Snapshot) -> "Postings":
        """The terms of a file."""
        made = cls()
        given = {name: saved.arrays[name][0] for name in ("terms", "term.places", "tail", "tail.places")}
        made._sorted, made._sorted_places, made._is_mapped = given["terms"], given["term.places"], True
        made._tails, made._tail_size = [(given["tail"], given["tail.places"])], given["tail"].size
        made._words, made._size = saved.facts["words"], saved.facts["rows"]
        made._lengths.map(saved.arrays["column.lengths"][0], made._size)
        return made

    def add(self, packed: Sequence[bytes]) -> None:
        """Append the terms of the next rows."""
        terms = np.frombuffer(b"".join(packed), dtype="<u4")
        sizes = np.array([len(one) // 4 for one in packed])
        first = self._size
        places = np.repeat(np.arange(first, first + len(packed), dtype=np.int32), sizes)
        self._tails.append((terms, places))
        self._tail_size += terms.size
        lengths = np.bincount(places - first, weights=terms & _COUNT_BITS, minlength=len(packed))
        self._words += float(lengths.sum())
        self._lengths.extend(lengths.astype(np.float32))
        self._size += len(packed)

    def tidy(self) -> None:
        """Sort what was added into the rest once there is so much of it that it slows a search."""
        if self._tail_size > max(2048, self._sorted.size // 8):
            self.settle()

    def settle(self) -> None:
        """Sort what was added into the rest."""
        if self._tails:
            terms = np.concatenate([self._sorted, *(terms for terms, _ in self._tails)])
            places = np.concatenate([self._sorted_places, *(places for _, places in self._tails)])
            # Sorted as one number each, which is several times faster than sorting an order.
            both = terms.astype(np.uint64) << _HALF
            both |= places.astype(np.uint64)
            both.sort()
            self._sorted, self._sorted_places = (both >> _HALF).astype(np.uint32), (both & _LOW).astype(np.int32)
            self._tails, self._tail_size, self._is_mapped = [], 0, False

    def view(self) -> "PostingLists":
        if len(self._tails) > 1:
            terms, places = zip(*self._tails, strict=True)
            self._tails = [(np.concatenate(terms), np.concatenate(places))]
        return PostingLists(
            self._sorted,
            self._sorted_places,
            self._tails[0] if self._tails else None,
            self._lengths.values[: self._size],
            self._words,
        )


@dataclass(frozen=True, slots=True)
class PostingLists:
    """The terms of all rows at one moment."""

    terms: Terms
    places: Places
    tail: tuple[Terms, Places] | None
    lengths: Scores
    """How many words each row has."""

    words: float
    """How many words all rows have together."""

    @property
    def size(self) -> int:
        return self.lengths.size

    @property
    def documents(self) -> int:
        """The rows by which it is judged how rare a word is."""
        return self.lengths.size

    def containing(self, term: int) -> "Containing":
        """The rows that contain a term, by its hash."""
        first, last = self._bounds(term, 0, int(_COUNT_BITS))
        found, places = self.terms[first:last], self.places[first:last]
        if self.tail is not None:
            here = self._in_tail(self.tail, term)
            if here.size:
                found = np.concatenate([found, self.tail[0][here]])
                places = np.concatenate([places, self.tail[1][here]])
        return Containing(places, (found & _COUNT_BITS).astype(np.float32), places.size)

    def how_many(self, term: int) -> int:
        """How many rows contain a term."""
        first, last = self._bounds(term, 0, int(_COUNT_BITS))
        return last - first + (0 if self.tail is None else self._in_tail(self.tail, term).size)

    def last(self, term: int, most: int) -> "Containing":
        """Rows that contain a term, most often or last, so many at most."""
        first, last = self._bounds(term, 0, int(_COUNT_BITS))
        here = slice(max(first, last - most), last)
        found, places = self.terms[here], self.places[here]
        if self.tail is not None:
            late = self._in_tail(self.tail, term)[-most:]
            if late.size:
                found = np.concatenate([found, self.tail[0][late]])[-most:]
                places = np.concatenate([places, self.tail[1][late]])[-most:]
        return Containing(places, (found & _COUNT_BITS).astype(np.float32), last - first)

    def among(self, term: int, places: Array) -> "Containing":
        """Which of some rows, whose places ascend, contain a term: their numbers among these."""
        numbers, counts = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.float32)]
        for count, run in self._runs(term):
            at = np.searchsorted(run, places)
            at[at == run.size] = 0
            here = np.flatnonzero(run[at] == places) if run.size else at[:0]
            numbers.append(here)
            counts.append(np.full(here.size, count, dtype=np.float32))
        if self.tail is not None:
            here = self._in_tail(self.tail, term)
            at = np.searchsorted(places, self.tail[1][here])
            at[at == places.size] = 0
            is_one = places[at] == self.tail[1][here] if places.size else np.zeros(0, dtype=bool)
            numbers.append(at[is_one])
            counts.append((self.tail[0][here[is_one]] & _COUNT_BITS).astype(np.float32))
        return Containing(np.concatenate(numbers), np.concatenate(counts), self.how_many(term))

    def _bounds(self, term: int, least: int, most: int) -> tuple[int, int]:
        """From and to of the entries of a term that occurs so often."""
        first = np.searchsorted(self.terms, np.uint32(term | least), side="left")
        return int(first), int(np.searchsorted(self.terms, np.uint32(term | most), side="right"))

    def _runs(self, term: int) -> Iterator[tuple[int, Places]]:
        """For each number of occurrences the rows that have so many, ascending."""
        first, last = self._bounds(term, 0, int(_COUNT_BITS))
        counts = np.arange(1, int(_COUNT_BITS) + 1, dtype=np.uint32)
        ends = first + np.searchsorted(self.terms[first:last], counts | np.uint32(term), side="right")
        for count, end in zip(counts.tolist(), ends.tolist(), strict=True):
            if end > first:
                yield count, self.places[first:end]
                first = end

    def _in_tail(self, tail: tuple[Terms, Places], term: int) -> Array:
        return np.flatnonzero((tail[0] & ~_COUNT_BITS) == term)


@dataclass(frozen=True, slots=True, eq=False)
class PostingsAt:
    """The terms of some rows of a shelf, whose places ascend; a term is as rare as it is on the whole shelf."""

    whole: PostingLists
    at: Array
    lengths: Scores

    @classmethod
    def of(cls, whole: PostingLists, at: Array) -> "PostingsAt":
        return cls(whole, at, whole.lengths.take(at))

    @property
    def size(self) -> int:
        return self.at.size

    @property
    def documents(self) -> int:
        return self.whole.documents

    @property
    def words(self) -> float:
        return self.whole.words

    def containing(self, term: int) -> "Containing":
        return self.whole.among(term, self.at)

    def how_many(self, term: int) -> int:
        return self.whole.how_many(term)


class Containing(NamedTuple):
    """The rows that contain a term."""

    places: Places
    counts: Scores
    """How often each does."""

    documents: int
    """How many rows do, of all that count for how rare it is."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """What the terms of a question count."""

    telling: list[int]
    """Those that are worth looking for, by their number."""

    rare: Scores
    """What each of these counts."""

    everything: float
    """What all count together."""

    mean: float
    """How many words a row has."""

    @classmethod
    def of(cls, shelves: Sequence[PostingLists | PostingsAt], sizes: Sequence[int]) -> "Weighed":
        """`sizes` are how many rows contain each term, on all shelves together."""
        documents = sum(lists.documents for lists in shelves)
        mean = sum(lists.words for lists in shelves) / max(1, documents)
        weights = [rarity(documents, size) for size in sizes]
        occurring = max((weight for weight, size in zip(weights, sizes, strict=True) if size), default=0.0)
        telling = [
            number
            for number, weight in enumerate(weights)
            if weight >= _TELLS_NOTHING or occurring <= 4 * _TELLS_NOTHING
        ]
        rare = np.array([weights[number] for number in telling], dtype=np.float32)
        return cls(telling, rare, max(sum(weights), 1e-9), mean)


@dataclass(frozen=True, slots=True)
class Wording:
    """How well each row fits a question's words: by BM25, and by the share of them that it contains."""

    bm25: Scores
    coverage: Scores


def wording(shelves: Sequence[PostingLists | PostingsAt], terms: Sequence[int]) -> list[Wording]:
    """The wording of each shelf; a term is as rare as it is on all of them together."""
    found = [[lists.containing(term) for lists in shelves] for term in terms]
    weighed = Weighed.of(shelves, [sum(one.documents for one in of_term) for of_term in found])
    return [
        _wording_of(lists, [found[number][shelf] for number in weighed.telling], weighed)
        for shelf, lists in enumerate(shelves)
    ]


def likely(shelves: Sequence[PostingLists], terms: Sequence[int], shelf: int) -> Array:
    """Rows of one large shelf that fit a question's words best, ascending: not those that have frequent words alone,
    where it has rarer ones, so that a frequent word costs no more.
    """
    sizes = [[lists.how_many(term) for lists in shelves] for term in terms]
    weighed = Weighed.of(shelves, [sum(of_term) for of_term in sizes])
    telling = zip(weighed.telling, weighed.rare.tolist(), strict=True)
    rarest = sorted((size, terms[one], rare) for one, rare in telling if (size := sizes[one][shelf]))
    lists = shelves[shelf]
    fitting = np.zeros(lists.size, dtype=np.float32)
    taken: list[Array] = []
    left = max(_LOOKED_THROUGH, lists.size // _SHARE)
    for size, term, rare in rarest:
        if taken and size > left:
            break
        found = lists.last(term, left)
        fitting[found.places] += np.float32(rare) * saturated(
            found.counts, lists.lengths.take(found.places), weighed.mean
        )
        taken.append(found.places)
        left -= min(size, left)
    # A row that has several of the words is there several times.
    places = _most(np.concatenate([np.zeros(0, dtype=np.int32), *taken]), fitting, _LIKELY * max(1, len(taken)))
    return _most(distinct(places), fitting, _LIKELY).astype(np.int64)


def _most(places: Array, fitting: Scores, count: int) -> Array:
    """About so many of some rows, those that fit best, in their order."""
    if places.size <= count:
        return places
    values = fitting.take(places)
    sample = values[:: max(1, places.size // _SAMPLED)]
    rank = sample.size - max(1, count * sample.size // places.size)
    # Of those that fit alike as the least of them there may be any number.
    bound = np.partition(sample, rank)[rank]
    above = np.flatnonzero(values > bound)
    if above.size > count:  # A sample only tells about where it lies.
        above = above[np.argpartition(-values[above], count)[:count]]
    alike = np.flatnonzero(values == bound)[-(count - above.size) :] if above.size < count else above[:0]
    chosen: Array = places[np.sort(np.concatenate([above, alike]))]
    return chosen


def _wording_of(lists: PostingLists | PostingsAt, found: Sequence[Containing], weighed: Weighed) -> Wording:
    """All terms at once: a row gains from each term that it contains."""
    if not any(one.places.size for one in found):
        return Wording(np.zeros(lists.size, np.float32), np.zeros(lists.size, np.float32))
    places = np.concatenate([one.places for one in found])
    counts = np.concatenate([one.counts for one in found])
    weights = np.repeat(weighed.rare, [one.places.size for one in found])
    gained = weights * saturated(counts, lists.lengths.take(places), weighed.mean)
    return Wording(
        np.bincount(places, gained, lists.size).astype(np.float32),
        np.bincount(places, weights / np.float32(weighed.everything), lists.size).astype(np.float32),
    )
