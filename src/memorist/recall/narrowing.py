"""Large shelves: of a million rows, the few thousand that a question may bring back, to be ranked as all are of others.

Words and meaning each name rows; the best of both together stay, with the turns around them, the rest of their threads,
and the farthest rows, since scores are normalised between the farthest and the nearest. How near each is, is at first
known by its sketch; the vectors of those that come first are read. Whether the lists of vectors found enough of what
was asked for is seen afterwards: if not, all rows that may come back are looked at.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from memorist import words
from memorist.memories.searchable import Standing
from memorist.recall import filters, joining
from memorist.recall.candidates import candidates
from memorist.recall.fusion import FUSION, Fusion, share_of_meaning
from memorist.recall.index.columns import Array, distinct
from memorist.recall.index.matrix import BarelySketched, Cosines, Near
from memorist.recall.index.part import PartOfShelf
from memorist.recall.index.postings import Likely, PostingLists, PostingsAt, Wording, likely, wording
from memorist.recall.index.view import View
from memorist.recall.question import Asked
from memorist.recall.ranking import Mask, Scores, best, normalised
from memorist.recall.scored import Worded, scored, worded

_ENOUGH = 128
"""If fewer rows that are named may come back, the lists were not made for such a question."""

_READ = 400
_NEAREST = 64
"""Rows whose vectors are read: at least, and `_TIMES` as many for each that is wanted; and those that look nearest, up
to which scores are normalised.
"""

_KEPT = 480
_TIMES = 4
_CLOSEST = 480
"""Rows that stay: at least, and for each that is wanted. Of the closest, turns next to their neighbours count, too."""

_NEAR = 1024
"""Of the windows that are nearest, those that fit best with their words."""

_NAMED = 3072
"""Of the rows that words name, likewise."""

_SPARE = 2
"""Of the best so many times as many are asked whether they may come back, before all are."""

_THREADS = 24
_OF_A_THREAD = 64
_FARTHEST = 32
_FULLEST = 32
"""Rows whose words fit best, with the turns around them: what words count is normalised up to the best."""

_WAITING = 512
_FEW = 4096
_ALL = 8192
"""Rows that are read as they are where all that may come back are looked at."""

_SHARE = 16
"""One row in so many is compared by itself as fast as all are together."""


class Opened:
    """Shelves of which some are large. Words name rows there while the question is embedded, and while what lies near
    is looked for.
    """

    def __init__(self, views: Sequence[View], asked: Asked, begin: "Begin | None" = None) -> None:
        """`begin` starts the look at words beside what goes on; without it that comes when it is needed."""
        self._views = views
        self._asked = asked
        all_of = [view.postings for view in views]
        terms = [words.hash_of(term) for term in asked.terms()]
        self._named = [
            (begin or _later)(partial(_Named.of, view, all_of, terms, number)) if view.is_large else None
            for number, view in enumerate(views)
        ]

    def narrowed(self, vector: Scores | None, fusion: Fusion, count: int) -> Worded:
        """`vector` is the question's; without one, or one of another length, words alone name rows. `count` are
        wanted.
        """
        if vector is not None and not all(view.takes(vector) for view in self._views):
            vector = None
        kept, enough = max(_KEPT, _TIMES * count), max(_ENOUGH, count)
        near = [view.matrix.near(vector) if view.is_large and vector is not None else None for view in self._views]
        narrowing = partial(_Narrowing, self._asked, vector=vector, fusion=fusion, most=kept, enough=enough)
        parts = [
            view if named is None else narrowing(view=view, named=named(), near=to_it).part()
            for view, named, to_it in zip(self._views, self._named, near, strict=True)
        ]
        found = worded(candidates(parts, self._asked), fusion)
        if vector is not None:
            _read_first(found, vector, fusion, max(_READ, _TIMES * count))
        return found


def _read_first(found: Worded, vector: Scores, fusion: Fusion, count: int) -> None:
    """Compare the rows that come first as they are, and the turns around them."""
    first = scored(found, vector, fusion).first(count)
    closest = first[: count // 4]
    following = found.candidates.following
    places = np.concatenate([first, found.candidates.previous[closest], following[closest]])
    start = 0
    for view in found.candidates.views:
        if isinstance(view, PartOfShelf):
            own = places[(places >= start) & (places < start + view.size)] - start
            nearest = _first_of(view.cosines(vector)[0], _NEAREST)
            # What lies nearest, with the turns around it, is what scores are normalised up to.
            around = np.concatenate([one[start + nearest] for one in (found.candidates.previous, following)]) - start
            view.compare(vector, distinct(np.concatenate([own, nearest, around[around >= 0], view.needed])))
        start += view.size


@dataclass(frozen=True, slots=True, eq=False)
class _Named:
    """Rows that words name, and what waits for its vectors: that is found by its words, and tells that it waits."""

    terms: Sequence[int]
    places: Array
    waiting: Array
    likely: Likely
    sketched: BarelySketched
    """Their sketches."""

    fitting: Wording
    """How well the words of each fit, with those of the turns around it."""

    fullest: Array
    """Those whose words fit best together with those of the turns around them."""

    most: float
    """How well the best of these fit."""

    @classmethod
    def of(cls, view: View, all_of: Sequence[PostingLists | PostingsAt], terms: Sequence[int], number: int) -> "_Named":
        """`view` is the shelf of that number among those with these terms."""
        found = likely(all_of, terms, number)
        waiting = view.waiting()
        waiting = waiting[view.columns["standing"][waiting] == Standing.LIVE][-_WAITING:]
        places = distinct(np.concatenate([found.places, waiting])) if waiting.size else found.places
        fitting = _fitting(view, found, places)
        fullest, most = places[_first_of(fitting.bm25, _FULLEST)], float(fitting.bm25.max(initial=0))
        return cls(terms, places, waiting, found, view.matrix.barely_sketched(places), fitting, fullest, most)


def _fitting(view: View, found: Likely, places: Array) -> Wording:
    """About how well the words of some rows fit, with those of the turns around them."""
    assert view.turns is not None
    said = found.said(places)
    around = np.zeros(places.size, dtype=np.float32)
    for beside in (view.columns["previous"].take(places), view.turns.after(places)):
        # One that there is none of takes the last row's for nothing.
        around += found.sums.take(beside, mode="wrap") * (beside >= 0)
    around *= np.float32(FUSION.text_neighbours * found.step)
    around += said.bm25
    return replace(said, bm25=around)


def _of_both(*parts: tuple[Array, Wording, Scores]) -> tuple[Array, Wording, Scores]:
    """Some rows and others together, ascending: how well their words fit, and how near the best window of each is."""
    places, cosines = (np.concatenate([part[number] for part in parts]) for number in (0, 2))
    order = np.argsort(places)
    places = places[order]
    is_first = np.ones(places.size, dtype=bool)
    np.not_equal(places[1:], places[:-1], out=is_first[1:])
    firsts = np.flatnonzero(is_first)
    said = Wording.joined([said for _, said, _ in parts]).at(order[firsts])
    return places[firsts], said, np.maximum.reduceat(cosines[order], firsts) if firsts.size else cosines


def _said(view: View, terms: Sequence[int], places: Array) -> Wording:
    return wording([PostingsAt.of(view.postings, places)], terms)[0]


Begin = Callable[[Callable[[], _Named]], Callable[[], _Named]]
"""Begins some work, and tells how to wait for what comes of it."""


def _later(work: Callable[[], _Named]) -> Callable[[], _Named]:
    return work


@dataclass(frozen=True, slots=True, eq=False)
class _Narrowing:
    asked: Asked
    view: View
    named: _Named
    vector: Scores | None
    near: Near | None
    fusion: Fusion
    most: int
    enough: int

    def part(self) -> View:
        if self.vector is None or self.near is None:
            return self._by_words()
        return self._by_both(self.vector, self.near)

    def _by_words(self) -> View:
        named = self.named
        chosen = self._chosen(named.places, named.likely.said(named.places), None, 0)
        if chosen.count >= self.enough:
            return PartOfShelf.of(self.view, self._around(chosen, None), likely=named.likely)
        wanted = self._few_that_are_wanted()
        if wanted is None:
            return self.view
        few = self._chosen(wanted, _said(self.view, named.terms, wanted), None, 0)
        few = replace(few, others=chosen.others)
        return PartOfShelf.of(self.view, self._with_all(wanted, self._around(few, None, self.most)))

    def _by_both(self, vector: Scores, near: Near) -> View:
        nearest = self._nearest(near)
        of_named = self.view.matrix.about(vector, near, self.named.sketched)
        named = self._of_named(of_named, near.low)
        places = near.places[nearest]
        places, said, cosines = _of_both(
            (self.named.places[named], self.named.fitting.at(named), of_named.known()[named]),
            (places, _fitting(self.view, self.named.likely, places), near.cosines[nearest]),
        )
        chosen = self._chosen(places, said, cosines, near.low)
        if chosen.count >= self.enough:
            return self._at(self._around(chosen, near), near, vector)
        wanted = self._few_that_are_wanted()
        if wanted is None:
            return self.view
        found = self.view.matrix.estimated_at(vector, near, wanted)
        few = self._chosen(wanted, _said(self.view, self.named.terms, wanted), found.known(), near.low)
        few = replace(few, others=chosen.others)
        places = self._with_all(wanted, self._around(few, near, self.most))
        # What is normalised among few is read as it is.
        return self._at(places, near, vector, places if places.size <= _ALL else wanted[:_ALL])

    def _nearest(self, near: Near) -> Array:
        """The numbers of windows that fit best by words and meaning together: what fits both a little may be among the
        best of neither.
        """
        scores = self._mixed(self.named.likely.said(near.places), near.cosines, near.low)
        scores[near.places < 0] = -1
        numbers = _first_of(scores, _NEAR)
        return numbers[near.places[numbers] >= 0]

    def _of_named(self, of_named: Cosines, low: float) -> Array:
        """The numbers of the rows that words name that fit best by both."""
        return _first_of(self._mixed(self.named.fitting, of_named.known(), low), _NAMED)

    def _mixed(self, said: Wording, cosines: Scores, low: float) -> Scores:
        """How well rows fit by words and meaning together. `low` is how near the farthest row is."""
        high = float(cosines.max(initial=0))
        share = share_of_meaning(self.fusion, high)
        mixed = (cosines - np.float32(low)) * np.float32(share / max(high - low, 1e-9))
        mixed += said.bm25 * np.float32((1 - share) / max(self.named.most, 1e-9))
        mixed += said.coverage**2 * np.float32(self.fusion.coverage)
        return mixed

    def _few_that_are_wanted(self) -> Array | None:
        """All rows that may come back; None where these are many."""
        wanted = np.flatnonzero(_wanted(self.view, self.asked)[1])
        return None if wanted.size > max(_FEW, self.view.size // _SHARE) else wanted

    def _with_all(self, wanted: Array, around: Array) -> Array:
        return distinct(np.concatenate([around, wanted, self._beside(wanted)]))

    def _chosen(self, places: Array, said: Wording, cosines: Scores | None, low: float) -> "_Chosen":
        """Of some rows those that fit best by words and meaning together. `low` is how near the farthest row is."""
        if cosines is None:
            scores = normalised(said.bm25) + np.float32(self.fusion.coverage) * said.coverage**2
        else:
            scores = self._mixed(said, cosines, low)
        # Mostly all may come back, and only the best have to be asked.
        first = np.sort(_first_of(scores, _SPARE * self.most))
        chosen = self._allowed(places[first], scores[first])
        return chosen if first.size == places.size or chosen.count >= self.most else self._allowed(places, scores)

    def _allowed(self, places: Array, scores: Scores) -> "_Chosen":
        """The best of those that may come back, and of those that may be looked at."""
        part = PartOfShelf.of(self.view, places)
        live, wanted = _wanted(part, self.asked)
        weighted = np.where(wanted, scores * filters.class_weights(part, self.asked), np.float32(-1))
        order = _first_of(weighted, self.most)
        order = order[best(weighted[order], self.most)]
        others = _first_of(np.where(live & ~wanted, scores, np.float32(-1)), self.most // 2)
        return _Chosen(
            places[order[wanted[order]]],
            places[others[(live & ~wanted)[others]]],
            int(np.count_nonzero(wanted)),
        )

    def _around(self, chosen: "_Chosen", near: Near | None, most_threads: int = _THREADS) -> Array:
        """What was chosen, with the rows that its scores depend on; ascending."""
        threads, turns = self.view.columns["thread"], self.view.turns
        assert turns is not None
        kept, others, asked_about = chosen.wanted, chosen.others, self._asked_about()
        first = np.concatenate([asked_about, kept[:most_threads]])
        farthest = self._farthest(near)
        nearest = kept[:0] if near is None else near.nearest(_NEAREST)
        parts = [
            kept,
            self._beside(kept),
            self._beside(self._beside(kept[:_CLOSEST])),
            others,
            self._beside(others),
            turns.of_threads(threads, distinct(threads[first]), _OF_A_THREAD),
            farthest,
            self._beside(farthest),
            nearest,
            self._beside(nearest),
            self.named.fullest,
            self._beside(self.named.fullest),
            asked_about,
            self._beside(asked_about),
            self._waiting(),
        ]
        return distinct(np.concatenate(parts))

    def _farthest(self, near: Near | None) -> Array:
        """Rows that hardly fit: by meaning, or any, where words alone count, since most have none of them."""
        if near is None:
            return np.arange(0, self.view.size, max(1, self.view.size // _FARTHEST))
        return near.farthest

    def _waiting(self) -> Array:
        """The last one that may come back and waits for its vectors, which tells that something does."""
        waiting = self.named.waiting
        return waiting[_wanted(PartOfShelf.of(self.view, waiting), self.asked)[1]][-1:] if waiting.size else waiting

    def _asked_about(self) -> Array:
        asked_about = self.asked.question.why_not
        place = None if asked_about is None else self.view.place_of(asked_about)
        return np.array([] if place is None else [place], dtype=np.int64)

    def _at(self, places: Array, near: Near, vector: Scores, needed: Array | None = None) -> View:
        found = self.view.matrix.estimated_at(vector, near, places)
        # None that lies far away may look as if it lay farther than the farthest.
        np.maximum(found.cosines, np.float32(near.low), out=found.cosines, where=found.cosines >= -1)
        if needed is None:
            # What lies farthest, with the turns around it, is what scores are normalised from.
            needed = np.concatenate([near.farthest, self._beside(near.farthest), self._asked_about()])
        return PartOfShelf.of(self.view, places, found, np.searchsorted(places, needed), self.named.likely)

    def _beside(self, places: Array) -> Array:
        assert self.view.turns is not None
        return self.view.turns.beside(self.view.columns["previous"], self.view.columns["thread"], places)


@dataclass(frozen=True, slots=True, eq=False)
class _Chosen:
    wanted: Array
    """Best first."""

    others: Array
    """What may not come back and still tells what its session is about."""

    count: int
    """How many may come back of all that were named."""


def _wanted(view: View, asked: Asked) -> tuple[Mask, Mask]:
    """What may be looked at, and what may come back."""
    live = joining.all_of(filters.may_be_shown([view], asked).values(), view.size)
    checks = [live, filters.class_weights(view, asked) > 0, *filters.are_asked_for([view], asked).values()]
    return live, joining.all_of(checks, view.size)


def _first_of(scores: Scores, count: int) -> Array:
    return np.argpartition(-scores, count)[:count] if scores.size > count else np.arange(scores.size)
