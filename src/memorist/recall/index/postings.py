"""Which rows contain a word, and how well each row fits all words of a question."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memorist.recall.index.columns import Array, Column, distinct
from memorist.recall.index.snapshot import Snapshot
from memorist.recall.ranking import Scores, rarity, saturated

_COUNT_BITS = np.uint32(0xF)
_COUNT = np.uint64(4)
_ENTRY = np.uint64(32)
_PLACE = np.uint32(4)
_MOST_ROWS = 1 << 28
"""What the place of a row in an entry has room for."""

_TELLS_NOTHING = 0.22
"""The rarity of a word that four of five memories contain: beside rarer ones it only costs time."""

Terms = NDArray[np.uint32]
Places = NDArray[np.int32]
Entries = NDArray[np.uint32]
"""The place of a row, and in the last four bits how often it has the term: ascending where the places do."""

Impacts = NDArray[np.uint8]
"""What each entry of a term counts in its row, of the most that one can."""

Sums = NDArray[np.uint16]
_SORTED_FAST = np.uint32
"""Many processors sort numbers of 16 bits one by one, and larger ones several at a time."""

_MOST = 2.2
"""The most that BM25 gives for one term, before rarity."""

_LOOKED_THROUGH = 32_768
"""Entries of its rare words that a question looks through on a large shelf."""

_SHARE = 4
"""Of a shelf that is larger, entries for one in so many of its rows."""

_SAMPLED = 16_384
_SPARE = 1.2
_LIKELY = 8192
_ONE_IN = 384
"""Rows of these that are compared by meaning, too: at least, and one in so many of the shelf's."""

_LOOKED_INTO = 8192
_FREQUENT = 4
"""Rows in which words are looked for that are too frequent to be looked through, at least, and how many words."""


class TermRun(NamedTuple):
    """Terms in their order, each once, and the entries of each by place."""

    terms: Terms
    starts: NDArray[np.int64]
    """Where the entries of each term begin, and one more at the end."""

    entries: Entries

    @classmethod
    def none(cls) -> "TermRun":
        return cls(np.zeros(0, dtype=np.uint32), np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.uint32))

    @classmethod
    def of(cls, terms: Terms, places: Places) -> "TermRun":
        """Terms of rows, in any order, as `words.pack` makes them."""
        # Sorted as one number each, which is several times faster than an order.
        both = (terms & ~_COUNT_BITS).astype(np.uint64) << _ENTRY
        both |= places.astype(np.uint64) << _COUNT
        both |= terms & _COUNT_BITS
        both.sort()
        sorted_terms = (both >> _ENTRY).astype(np.uint32)
        firsts = np.flatnonzero(np.diff(sorted_terms, prepend=~sorted_terms[:1]))
        return cls(sorted_terms[firsts], np.append(firsts, terms.size), both.astype(np.uint32))

    @property
    def nbytes(self) -> int:
        return self.terms.nbytes + self.starts.nbytes + self.entries.nbytes

    def bounds(self, term: int) -> slice:
        """The entries of a term, by its hash."""
        number = int(np.searchsorted(self.terms, np.uint32(term)))
        if number == self.terms.size or self.terms[number] != term:
            return slice(0, 0)
        return slice(int(self.starts[number]), int(self.starts[number + 1]))

    def with_later(self, later: "TermRun") -> "TermRun":
        """Both in one, where all rows of the other came after those of this one: so nothing has to be sorted."""
        if not later.entries.size or not self.entries.size:
            return later if later.entries.size else self
        terms = distinct(np.concatenate([self.terms, later.terms]))
        counts = np.zeros(terms.size + 1, dtype=np.int64)
        for run in (self, later):
            counts[1 + np.searchsorted(terms, run.terms)] += np.diff(run.starts)
        # Behind those of the same term here, and behind what came before it there.
        behind = self.starts[np.searchsorted(self.terms, later.terms, side="right")]
        at = np.repeat(behind, np.diff(later.starts)) + np.arange(later.entries.size)
        is_earlier = np.ones(self.entries.size + later.entries.size, dtype=bool)
        is_earlier[at] = False
        entries = np.empty(is_earlier.size, dtype=np.uint32)
        entries[at], entries[is_earlier] = later.entries, self.entries
        return TermRun(terms, np.cumsum(counts), entries)


_ARRAYS = tuple(f"term.{name}" for name in TermRun._fields)
"""What the arrays of a run are called in a file."""


def places_of(entries: Entries) -> Places:
    found: Places = (entries >> _PLACE).view(np.int32)
    return found


def counts_of(entries: Entries) -> Scores:
    """How often each row has its term."""
    return (entries & _COUNT_BITS).astype(np.float32)


class Postings:
    """The terms of all rows, as `words.pack` makes them: a large run, and a few smaller ones of what came since, each
    less than half of the one before it.
    """

    def __init__(self) -> None:
        self._sorted = TermRun.none()
        self._impacts: Impacts | None = None
        self._is_mapped = False
        self._later: list[TermRun] = []
        self._added: list[tuple[Terms, Places]] = []
        self._later_size = 0
        self._lengths = Column(np.float32)
        self._size = 0
        self._words = 0.0

    def size_bytes(self) -> int:
        own = 0 if self._is_mapped else self._sorted.nbytes
        # What is not sorted yet counts as it will be, lest vectors be let go of for a moment's sake.
        added = sum(places.nbytes for _, places in self._added)
        return own + added + sum(run.nbytes for run in self._later) + self._lengths.size_bytes

    def saved(self) -> Snapshot:
        """Its runs as they are: `settled` makes one of them, which takes its time."""
        runs = self.view().runs
        return Snapshot(
            {"words": self._words, "rows": self._size},
            {
                **dict(zip(_ARRAYS, map(list, zip(*runs, strict=True)), strict=True)),
                "column.lengths": self._lengths.saved(),
            },
        )

    @classmethod
    def of(cls, saved: Snapshot) -> "Postings":
        """The terms of a file."""
        made = cls()
        made._sorted, made._is_mapped = TermRun(*(saved.arrays[name][0] for name in _ARRAYS)), True
        made._impacts = saved.arrays["term.impacts"][0] if "term.impacts" in saved.arrays else None
        made._words, made._size = saved.facts["words"], saved.facts["rows"]
        made._lengths.map(saved.arrays["column.lengths"][0], made._size)
        return made

    def add(self, packed: Sequence[bytes]) -> None:
        """Append the terms of the next rows."""
        terms = np.frombuffer(b"".join(packed), dtype="<u4")
        sizes = np.array([len(one) // 4 for one in packed])
        first = self._size
        places = np.repeat(np.arange(first, first + len(packed), dtype=np.int32), sizes)
        self._added.append((terms, places))
        assert self._size + len(packed) <= _MOST_ROWS
        self._later_size += terms.size
        lengths = np.bincount(places - first, weights=terms & _COUNT_BITS, minlength=len(packed))
        self._words += float(lengths.sum())
        self._lengths.extend(lengths.astype(np.float32))
        self._size += len(packed)

    def tidy(self) -> None:
        """Put what came since to the rest once there is much of it; not where the rest is a file's, of which the next
        one has both, and which would become this process's own.
        """
        if not self._is_mapped and self._later_size > max(2048, self._sorted.entries.size // 8):
            self.settle()

    def settle(self) -> None:
        """Put what came since to the rest."""
        if self._later_size:
            self._gather()
            self._sorted = _one_of([self._sorted, *self._later])
            self._later, self._later_size, self._is_mapped = [], 0, False
            self._impacts = None

    def _gather(self) -> None:
        """Sort what was added. Runs of about one size become one, so that there are few and each entry moves seldom."""
        if self._added:
            terms, places = zip(*self._added, strict=True)
            self._later.append(TermRun.of(np.concatenate(terms), np.concatenate(places)))
            self._added = []
        while len(self._later) > 1 and 2 * self._later[-1].entries.size >= self._later[-2].entries.size:
            self._later[-2:] = [self._later[-2].with_later(self._later[-1])]

    def view(self) -> "PostingLists":
        self._gather()
        return PostingLists(
            (self._sorted, *self._later),
            self._lengths.values[: self._size],
            self._words,
            self._impacts,
        )


def settled(saved: Snapshot) -> Snapshot:
    """What a shelf is at one moment, its runs of terms made one, as a file has them."""
    whole = _one_of([TermRun(*run) for run in zip(*(saved.arrays[name] for name in _ARRAYS), strict=True)])
    arrays: tuple[Array, ...] = (whole.terms, whole.starts, whole.entries)
    return replace(saved, arrays={**saved.arrays, **{name: [one] for name, one in zip(_ARRAYS, arrays, strict=True)}})


def _one_of(runs: Sequence[TermRun]) -> TermRun:
    """Of runs that came one after the other. The large first one is copied once."""
    first, *later = runs
    return first.with_later(reduce(TermRun.with_later, later, TermRun.none()))


@dataclass(frozen=True, slots=True)
class PostingLists:
    """The terms of all rows at one moment."""

    runs: tuple[TermRun, ...]
    """All rows of each come after those of the one before it."""

    lengths: Scores
    """How many words each row has."""

    words: float
    """How many words all rows have together."""

    impacts: Impacts | None = None
    """Beside the entries of the first run, where a file has them."""

    @property
    def size(self) -> int:
        return self.lengths.size

    @property
    def documents(self) -> int:
        """The rows by which it is judged how rare a word is."""
        return self.lengths.size

    def containing(self, term: int) -> "Containing":
        """The rows that contain a term, by its hash."""
        entries = _joined([run.entries[run.bounds(term)] for run in self.runs])
        return Containing(places_of(entries), counts_of(entries), entries.size)

    def how_many(self, term: int) -> int:
        """How many rows contain a term."""
        found = [run.bounds(term) for run in self.runs]
        return sum(here.stop - here.start for here in found)

    def last(self, term: int, most: int) -> tuple[Array, Impacts]:
        """Rows that contain a term, the last ones, so many at most, and what it counts in each."""
        found: list[tuple[Array, Impacts]] = []
        for number in range(len(self.runs) - 1, -1, -1):
            run = self.runs[number]
            here = run.bounds(term)
            here = slice(max(here.start, here.stop - most), here.stop)
            entries = run.entries[here]
            places = places_of(entries).astype(np.intp)
            known = None if number else self.impacts
            found.append((places, self.impacts_at(counts_of(entries), places) if known is None else known[here]))
            most -= places.size
        return _joined([places for places, _ in found[::-1]]), _joined([impacts for _, impacts in found[::-1]])

    def impacts_at(self, counts: Scores, places: Array) -> Impacts:
        """What a term counts in some rows that have it so often."""
        return impacts_of(counts, self.lengths.take(places), self.words / max(1, self.size))

    def among(self, term: int, places: Places) -> "Containing":
        """Which of some rows, whose places ascend, contain a term: their numbers among these."""
        numbers, counts, documents = [], [], 0
        for run in self.runs:
            there = run.entries[run.bounds(term)]
            documents += there.size
            if there.size:
                # The first entry that is none before a row's is the row's, if any is.
                at = np.searchsorted(there, places.astype(np.uint32) << _PLACE)
                at[at == there.size] = 0
                found = there[at]
                numbers.append(np.flatnonzero(places_of(found) == places))
                counts.append(counts_of(found[numbers[-1]]))
        if not numbers:
            return Containing(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32), documents)
        return Containing(_joined(numbers), _joined(counts), documents)


def _joined(parts: Sequence[Array]) -> Array:
    """One alone needs no copy."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


@dataclass(frozen=True, slots=True, eq=False)
class PostingsAt:
    """The terms of some rows of a shelf, whose places ascend; a term is as rare as it is on the whole shelf."""

    whole: PostingLists
    at: Places
    lengths: Scores
    likely: "Likely | None" = None

    @classmethod
    def of(cls, whole: "PostingLists | PostingsAt", at: Array, likely: "Likely | None" = None) -> "PostingsAt":
        """`whole` are those of all rows. `likely` spares a look at those that have none of its words."""
        assert isinstance(whole, PostingLists)
        return cls(whole, at.astype(np.int32), whole.lengths.take(at), likely)

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
        if self.likely is None or term not in self.likely.looked_up:
            return self.whole.among(term, self.at)
        fitting = np.flatnonzero(self.likely.sums.take(self.at))
        found = self.whole.among(term, self.at[fitting])
        return found._replace(places=fitting[found.places])

    def how_many(self, term: int) -> int:
        return self.whole.how_many(term)


class Containing(NamedTuple):
    """The rows that contain a term."""

    places: Array
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

    def at(self, numbers: Array) -> "Wording":
        return Wording(self.bm25[numbers], self.coverage[numbers])

    @classmethod
    def joined(cls, parts: "Sequence[Wording]") -> "Wording":
        return cls(np.concatenate([one.bm25 for one in parts]), np.concatenate([one.coverage for one in parts]))


def wording(shelves: Sequence[PostingLists | PostingsAt], terms: Sequence[int]) -> list[Wording]:
    """The wording of each shelf; a term is as rare as it is on all of them together."""
    found = [[lists.containing(term) for lists in shelves] for term in terms]
    weighed = Weighed.of(shelves, [sum(one.documents for one in of_term) for of_term in found])
    return [
        _wording_of(lists, [found[number][shelf] for number in weighed.telling], weighed)
        for shelf, lists in enumerate(shelves)
    ]


def impacts_of(counts: Scores, lengths: Scores, mean: float) -> Impacts:
    """What a term counts that is there so often, in rows so long."""
    counted = saturated(counts, lengths, mean)
    found: Impacts = np.rint(counted * np.float32(255 / _MOST)).astype(np.uint8)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Likely:
    """Rows of one large shelf that fit a question's words best."""

    places: Array
    """Ascending."""

    sums: Sums
    """About how well each row of the shelf fits, by the words that were looked up."""

    step: float
    """What one of them stands for."""

    everything: float
    """What all words count together."""

    looked_up: frozenset[int]
    """The words of which each entry is in the sums."""

    looked_through: int
    """How many entries that took."""

    def said(self, places: Array) -> Wording:
        """About how well some rows fit: frequent words were not looked up, where there are rarer ones."""
        fitting = self.sums.take(places) * np.float32(self.step)
        return Wording(fitting, np.minimum(fitting / np.float32(self.everything), np.float32(1)))


def likely(shelves: Sequence[PostingLists | PostingsAt], terms: Sequence[int], shelf: int) -> Likely:
    """Rows of one whole shelf: not those that have frequent words alone, where the question has rarer ones, so that a
    frequent word costs no more.
    """
    sizes = [[lists.how_many(term) for lists in shelves] for term in terms]
    weighed = Weighed.of(shelves, [sum(of_term) for of_term in sizes])
    telling = zip(weighed.telling, weighed.rare.tolist(), strict=True)
    rarest = sorted((size, terms[one], rare) for one, rare in telling if (size := sizes[one][shelf]))
    lists = shelves[shelf]
    assert isinstance(lists, PostingLists)
    sums = np.zeros(lists.size, dtype=np.uint16)
    most = np.iinfo(np.uint16).max - 2 * len(rarest)
    step = max(1e-9, _MOST * sum(rare for _, _, rare in rarest) / most)
    bound = left = max(_LOOKED_THROUGH, lists.size // _SHARE)
    most_likely, most_looked_into = (max(least, lists.size // _ONE_IN) for least in (_LIKELY, _LOOKED_INTO))
    count, looked_up, having = 0, set(), [np.zeros(0, dtype=np.intp)]
    for size, term, rare in rarest:
        if count and size > left:
            break
        places, impacts = lists.last(term, left)
        before = sums.take(places)
        sums[places] = before + _counted(impacts, rare / step)
        having.append(places[before == 0] if count else places)
        if size <= left:
            looked_up.add(term)
        left -= min(size, left)
        count += 1
    named = _most(sums, having, most_likely if count == len(rarest) else most_looked_into)
    for _, term, rare in rarest[count : count + _FREQUENT]:
        found = lists.among(term, named)
        here = named[found.places]
        sums[here] += _counted(lists.impacts_at(found.counts, here), rare / step)
    return Likely(
        _greatest(named, sums, most_likely), sums, step, weighed.everything, frozenset(looked_up), bound - left
    )


def _counted(impacts: Impacts, share: float) -> Sums:
    """At least one, so that what has a word at all is known by its sum."""
    counted: Sums = (impacts * np.float32(_MOST / 255 * share) + np.float32(1)).astype(np.uint16)
    return counted


def _most(sums: Sums, having: Sequence[Array], count: int) -> Array:
    """The rows that fit best, so many at most, ascending; of those that fit alike the last. `having` are those that
    have a word, each once, so that the others are not looked at.
    """
    places = np.concatenate(having)
    values = sums.take(places)
    sample = np.sort(values[:: max(1, values.size // _SAMPLED)].astype(_SORTED_FAST))
    # A sample only tells about where the bound lies, so that it is one for some more.
    rank = 1 + int(_SPARE * count * sample.size / max(1, values.size))
    while True:
        bound = max(1, int(sample[-rank])) if rank <= sample.size else 1
        found = np.sort(places[values >= bound])
        if found.size >= count or bound == 1:
            break
        rank *= 4
    return _greatest(found, sums, count)


def _greatest(places: Array, sums: Sums, count: int) -> Array:
    if places.size <= count:
        return places
    values = sums.take(places).astype(_SORTED_FAST)
    least = np.partition(values, values.size - count)[values.size - count]
    is_chosen = values > least
    alike = np.flatnonzero(values == least)
    is_chosen[alike[alike.size - (count - np.count_nonzero(is_chosen)) :]] = True
    chosen: Array = places[is_chosen]
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
