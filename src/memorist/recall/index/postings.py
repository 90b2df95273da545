"""Which rows contain a word, and how well each row fits all words of a question."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memorist.recall.index.columns import Array, Column
from memorist.recall.index.snapshot import Snapshot
from memorist.recall.ranking import Scores, rarity, saturated

_COUNT_BITS = np.uint32(0xF)
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_TELLS_NOTHING = 0.22
"""The rarity of a word that four of five memories contain: beside rarer ones it only costs time."""

Terms = NDArray[np.uint32]
Containing = NDArray[np.int32]
"""The places of the rows that contain something."""


class Postings:
    """The terms of all rows, as `words.pack` makes them: a sorted part, and a short tail of what was added since."""

    def __init__(self) -> None:
        self._sorted: Terms = np.zeros(0, dtype=np.uint32)
        self._sorted_places: Containing = np.zeros(0, dtype=np.int32)
        self._is_mapped = False
        self._tails: list[tuple[Terms, Containing]] = []
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
    places: Containing
    tail: tuple[Terms, Containing] | None
    lengths: Scores
    """How many words each row has."""

    words: float
    """How many words all rows have together."""

    @property
    def size(self) -> int:
        return self.lengths.size

    def containing(self, term: int) -> tuple[Containing, Scores]:
        """The places of the rows that contain a term, by its hash, and how often each does."""
        first = np.searchsorted(self.terms, np.uint32(term), side="left")
        last = np.searchsorted(self.terms, np.uint32(term | int(_COUNT_BITS)), side="right")
        found, places = self.terms[first:last], self.places[first:last]
        if self.tail is not None:
            here = np.flatnonzero((self.tail[0] & ~_COUNT_BITS) == term)
            if here.size:
                found = np.concatenate([found, self.tail[0][here]])
                places = np.concatenate([places, self.tail[1][here]])
        return places, (found & _COUNT_BITS).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Wording:
    """How well each row fits a question's words: by BM25, and by the share of them that it contains."""

    bm25: Scores
    coverage: Scores


def wording(shelves: Sequence[PostingLists], terms: Sequence[int]) -> list[Wording]:
    """The wording of each shelf; a term is as rare as it is on all of them together."""
    documents = sum(lists.size for lists in shelves)
    mean = sum(lists.words for lists in shelves) / max(1, documents)
    found = [[lists.containing(term) for lists in shelves] for term in terms]
    sizes = [sum(places.size for places, _ in of_term) for of_term in found]
    weights = [rarity(documents, size) for size in sizes]
    occurring = max((weight for weight, size in zip(weights, sizes, strict=True) if size), default=0.0)
    telling = [
        number for number, weight in enumerate(weights) if weight >= _TELLS_NOTHING or occurring <= 4 * _TELLS_NOTHING
    ]
    rare = np.array([weights[number] for number in telling], dtype=np.float32)
    everything = max(sum(weights), 1e-9)
    return [
        _wording_of(lists, [found[number][shelf] for number in telling], rare, everything, mean)
        for shelf, lists in enumerate(shelves)
    ]


def _wording_of(
    lists: PostingLists, found: Sequence[tuple[Containing, Scores]], rare: Scores, everything: float, mean: float
) -> Wording:
    """All terms at once: a row gains from each term that it contains."""
    if not any(places.size for places, _ in found):
        return Wording(np.zeros(lists.size, np.float32), np.zeros(lists.size, np.float32))
    places = np.concatenate([places for places, _ in found])
    counts = np.concatenate([counts for _, counts in found])
    weights = np.repeat(rare, [places.size for places, _ in found])
    gained = weights * saturated(counts, lists.lengths.take(places), mean)
    return Wording(
        np.bincount(places, gained, lists.size).astype(np.float32),
        np.bincount(places, weights / np.float32(everything), lists.size).astype(np.float32),
    )
