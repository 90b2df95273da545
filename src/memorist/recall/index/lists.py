"""Vectors in lists of what lies near each other, so that a question is compared with some of them only.

The lists are made when a large shelf is saved: the file has the vectors list by list, and a sketch of each, one bit a
dimension. A question looks at the sketches of the nearest lists. How near it is to a vector is told by the sketch well
enough to choose, together with the words of its row, which few vectors are read. These are read from the file, not
mapped: a question needs others each time, and they would stay in this process's memory.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numkong
import numpy as np

from memorist.recall.index import vectors
from memorist.recall.index.columns import Array
from memorist.recall.index.snapshot import SavedRows
from memorist.recall.ranking import Scores

PROBED = 24
"""A question looks into one list in so many: questions lie apart from what answers them, so that few would not do."""

_LOOKED_AT = (32_768, 131_072)
"""Sketches in these lists at least and at most, where there are so many."""

COMPARED = (8_192, 16_384)
"""Sketches of these lists that are looked at more closely, at least and at most; of those that differ alike some more,
but not any number.
"""

_TIMES = 2
"""So many times as many at most: texts that are alike have the same sketch, and there may be any number of them."""

_FARTHEST = 32
_READ = (8_192, 24_576)
"""The farthest lists, as long as these have no more vectors: all of them are read, which list by list takes no longer
than to choose some.
"""

_ONE_IN = 128
"""Between these least and most numbers, one in so many of all vectors."""

_MUCH = 0.98
"""Of what a question is in a dimension on the average: so four steps are told apart with the least error."""

_SAMPLE = 16
_OF_SAMPLE = 64
"""One distance in so many tells which are least, as long as there are so many of these."""

_ROUNDS = 5
_SAMPLED = 16
"""Vectors of a list by which its centre is found."""

_CHUNK = 512
_OF_ROOT = 4
_FEWEST = 16
_MOST = 16_384
_SEED = 20_240_117


@dataclass(frozen=True, slots=True)
class Centres:
    """What is in the middle of each list."""

    steps: vectors.Steps
    scale: float
    """What all are to be multiplied with."""

    made_of: int
    """How many vectors there were when they were made."""

    @property
    def facts(self) -> dict[str, Any]:
        return {"scale": self.scale, "made_of": self.made_of}

    def products(self, question: Scores) -> Scores:
        """How near each list is."""
        steps, scale = vectors.quantised(question)
        found = np.empty(len(self.steps), dtype=np.float32)
        vectors.multiply([(steps, self.steps, found)])
        return found * (np.float32(self.scale) * scale)

    def nearest(self, found: vectors.Steps) -> Array:
        """The list of each vector."""
        packed = numkong.dots_pack(np.ascontiguousarray(self.steps))
        nearest = np.empty(len(found), dtype=np.int32)
        for start in range(0, len(found), _CHUNK):
            part = np.ascontiguousarray(found[start : start + _CHUNK])
            nearest[start : start + len(part)] = np.asarray(numkong.dots_packed(part, packed)).argmax(axis=1)
        return nearest


def how_many(size: int) -> int:
    """Lists for so many vectors: a power of two, about four times the root. The finer they are, the fewer vectors a
    question has to look at, as long as it is compared with the middles of all.
    """
    return int(min(_MOST, max(_FEWEST, 2 ** round(np.log2(_OF_ROOT * max(1, size) ** 0.5)))))


def sample_of(size: int) -> Array:
    """Which of so many vectors the centres are made of."""
    wanted = min(size, how_many(size) * _SAMPLED)
    return np.sort(np.random.default_rng(_SEED).choice(size, wanted, replace=False))


def centres(sample: vectors.Steps, scales: Scores, made_of: int) -> Iterator[Centres]:
    """By k-means on the sphere: better ones from round to round."""
    count = min(how_many(made_of), len(sample))
    rng = np.random.default_rng(_SEED)
    means: Scores = _floats(sample, scales, rng.choice(len(sample), count, replace=False))
    made = _quantised(means, made_of)
    for _ in range(_ROUNDS):
        labels = made.nearest(sample)
        means, sizes = _sums(sample, scales, labels, count)
        lost = np.flatnonzero(sizes == 0)
        if lost.size:
            means[lost] = _floats(sample, scales, rng.choice(len(sample), lost.size, replace=False))
        made = _quantised(means, made_of)
        yield made


def _floats(sample: vectors.Steps, scales: Scores, which: Array) -> Scores:
    return sample[which].astype(np.float32) * scales[which, np.newaxis]


def _quantised(means: Scores, made_of: int) -> Centres:
    means = means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), np.float32(1e-9))
    scale = max(float(np.abs(means).max()), 1e-9) / 127
    return Centres(np.rint(means / np.float32(scale)).astype(np.int8), scale, made_of)


def _sums(sample: vectors.Steps, scales: Scores, labels: Array, count: int) -> tuple[Scores, Array]:
    sums = np.zeros((count, sample.shape[1]), dtype=np.float32)
    order = np.argsort(labels, kind="stable")
    for start in range(0, order.size, _CHUNK):
        part = order[start : start + _CHUNK]
        begins = np.flatnonzero(np.diff(labels[part], prepend=-1))
        sums[labels[part[begins]]] += np.add.reduceat(_floats(sample, scales, part), begins)
    return sums, np.bincount(labels, minlength=count)


@dataclass(frozen=True, slots=True, eq=False)
class Lists:
    """The first vectors of a matrix, list by list. A window is the number of a vector."""

    centres: Centres
    ends: Array
    """Where each list ends."""

    windows: Array
    """The windows by the place of their row."""

    starts: Array
    """Where those of each place begin, and one more at the end."""

    mean: Scores
    """What all vectors have in common: a sketch says where one is above it."""

    sketches: Array
    factors: Scores
    """What turns the product with a sketch into one with its vector."""

    rows: SavedRows

    NAMES: ClassVar = ("ends", "windows", "starts", "mean", "sketches", "factors")

    @classmethod
    def of(cls, given: Mapping[str, Array], facts: Mapping[str, Any], rows: SavedRows) -> "Lists":
        """Those of a file."""
        centres = Centres(given["centres"], facts["scale"], facts["made_of"])
        ends, windows, starts, mean, sketches, factors = (given[name] for name in cls.NAMES)
        return cls(centres, ends, windows, starts, mean, sketches, factors, rows)

    def arrays(self) -> dict[str, Array]:
        return {"centres": self.centres.steps, **{name: getattr(self, name) for name in self.NAMES}}

    @property
    def size(self) -> int:
        """How many vectors are in lists."""
        return int(self.ends[-1])

    def nearest_first(self, question: Scores) -> Array:
        """The numbers of the lists that are not empty: all vectors of one may be gone."""
        order = np.argsort(-self.centres.products(question))
        return order[self._begins()[order] < self.ends[order]]

    def near(self, question: Scores, order: Array) -> tuple[Array, Scores]:
        """The windows of the nearest lists that differ least by their sketches, and about how near each is."""
        asked, step = _asked(question)
        first = self._first(order, -(-order.size // PROBED), _LOOKED_AT)
        windows, distances = self._least(asked, first, self._share(COMPARED))
        return windows, self._cosines(question, step, distances, self.factors.take(windows))

    def far(self, question: Scores, order: Array) -> tuple[Array, Scores]:
        """The windows of the farthest lists, and how near each is but for its scale: they tell how far the farthest
        rows are.
        """
        ranges = self._ranges(self._first(order[::-1], _FARTHEST, (0, self._share(_READ))))
        asked, scale = vectors.quantised(question)
        windows = np.concatenate([np.arange(*one) for one in ranges])
        found, at = np.empty(windows.size, dtype=np.float32), 0
        for begin, end in ranges:
            vectors.multiply([(asked, self.rows.read_run(begin, end), found[at : at + end - begin])])
            at += end - begin
        return windows, found * scale

    def _first(self, order: Array, lists: int, sketches: tuple[int, int]) -> Array:
        """The first of some lists: so many, more where these have fewer sketches than are wanted at least, and fewer
        where they have more than are wanted at most.
        """
        sizes = np.cumsum(self.ends[order] - self._begins()[order])
        least, most = np.searchsorted(sizes, sketches, side="right").tolist()
        return order[: max(1, least, min(lists, most))]

    def _share(self, among: tuple[int, int]) -> int:
        least, most = among
        return max(least, min(most, self.size // _ONE_IN))

    def _ranges(self, lists: Array) -> list[tuple[int, int]]:
        """Where some lists begin and end."""
        return list(zip(self._begins()[lists].tolist(), self.ends[lists].tolist(), strict=True))

    def _begins(self) -> Array:
        return np.concatenate([[0], self.ends[:-1]])

    def about(self, question: Scores, sketches: "BareSketches") -> Scores:
        """About how near a question is to some windows, as `near` says it."""
        asked, step = _asked(question)
        return self._cosines(question, step, _distances(asked, sketches.bits), sketches.factors)

    def _cosines(self, question: Scores, step: np.float32, distances: Array, factors: Scores) -> Scores:
        cosines = np.float32(3 * question.size) - 2 * distances.astype(np.float32)
        cosines *= factors * step
        cosines += np.float32(question @ self.mean)
        return cosines

    def _least(self, asked: Array, lists: Array, most: int) -> tuple[Array, Array]:
        """About so many windows of some lists whose sketches differ least from a question, and by how much."""
        ranges = self._ranges(lists)
        ends = np.cumsum([end - begin for begin, end in ranges])
        distances = _distances(asked, np.concatenate([self.sketches[begin:end] for begin, end in ranges]))
        numbers = _nearest(distances, most)
        offsets = np.repeat(self.ends[lists] - ends, np.diff(np.searchsorted(numbers, ends), prepend=0))
        return numbers + offsets, distances[numbers]

    def bare_sketches_of(self, windows: Array) -> "BareSketches":
        return BareSketches(self.sketches.take(windows, axis=0), self.factors.take(windows))

    def sketches_of(self, windows: Array) -> "Sketches":
        bits = np.unpackbits(self.sketches.take(windows, axis=0), axis=1, count=self.mean.size)
        return Sketches(windows, bits.view(np.int8), self.factors.take(windows))

    def estimated(self, question: Scores, sketches: "Sketches") -> Scores:
        """About how near a question is to some windows, by their sketches."""
        if not sketches.windows.size:
            return np.zeros(0, dtype=np.float32)
        asked, scale = vectors.quantised(question)
        products = np.empty(sketches.windows.size, dtype=np.float32)
        vectors.multiply([(asked, sketches.bits, products)])
        # A bit that is not set stands for -1.
        products = (2 * products - np.float32(asked.sum(dtype=np.int32))) * scale
        products *= sketches.factors
        return products + np.float32(question @ self.mean)

    def windows_of(self, places: Array) -> tuple[Array, Array]:
        """The windows of some rows, and for each which of the rows it is of; of later rows there are none here."""
        known = np.flatnonzero(places < self.starts.size - 1)
        here = places[known]
        begins = self.starts.take(here)
        counts = self.starts.take(here + 1) - begins
        if counts.max(initial=0) <= 1:  # As most are.
            has_one = np.flatnonzero(counts)
            return self.windows.take(begins[has_one]).astype(np.int64), known[has_one]
        which = np.repeat(np.arange(known.size), counts)
        offsets = np.arange(which.size) - np.repeat(np.cumsum(counts) - counts, counts)
        return self.windows[begins[which] + offsets].astype(np.int64), known[which]


@dataclass(frozen=True, slots=True, eq=False)
class Sketches:
    """Those of some windows, a byte for each bit: all that can be done before there is a question's vector."""

    windows: Array
    bits: vectors.Steps
    factors: Scores


@dataclass(frozen=True, slots=True, eq=False)
class BareSketches:
    """Those of some windows as the file has them, which are compared faster, and tell less exactly how near each is."""

    bits: Array
    factors: Scores


def sketch_of(steps: vectors.Steps, scales: Scores, mean: Scores) -> tuple[Array, Scores]:
    """The sketches of some vectors, and their factors."""
    apart = steps * scales[:, np.newaxis] - mean
    sketches = np.packbits(apart > 0, axis=1)
    squares = np.einsum("ij,ij->i", apart, apart)
    return sketches, squares / np.maximum(np.abs(apart).sum(axis=1), np.float32(1e-9))


def _asked(question: Scores) -> tuple[Array, np.float32]:
    """A question in two bits a dimension, and what the least of its four steps stands for: whether it is above 0 there,
    which counts twice, and whether it is by much. Not above the mean: that is in all vectors, whose sketches tell what
    they have beside it.
    """
    amounts = np.abs(question)
    is_above = question > 0
    is_much = amounts > np.float32(_MUCH) * np.sqrt(np.mean(question**2))
    steps = np.where(is_much, np.float32(3), np.float32(1))
    unit = np.float32(amounts @ steps / (steps @ steps))
    return np.packbits(np.stack([is_above, is_above == is_much]), axis=1), unit


def _distances(asked: Array, sketches: Array) -> Array:
    """By both rows of a question, of which the first counts twice. It is the question that is packed, lest each process
    have sketches of its own.
    """
    found = np.asarray(numkong.hammings_packed(sketches, numkong.hammings_pack(asked, dtype="uint1")))
    distances: Array = found[:, 0] * np.uint32(2)
    distances += found[:, 1]
    return distances


def _nearest(distances: Array, count: int) -> Array:
    """The numbers of about so many of the least distances."""
    if distances.size <= count:
        return np.arange(distances.size)
    bound = _bound(distances, count)
    nearest = np.flatnonzero(distances <= bound)
    if nearest.size > _TIMES * count:
        is_alike = distances[nearest] == bound
        nearer, alike = nearest[~is_alike], nearest[is_alike]
        nearest = np.sort(np.concatenate([nearer, alike[: max(0, _TIMES * count - nearer.size)]]))
    return nearest


def _bound(distances: Array, count: int) -> int:
    """The distance within which there are about so many."""
    step = max(1, min(_SAMPLE, count // _OF_SAMPLE))
    totals = np.cumsum(np.bincount(distances[::step]))
    return int(np.searchsorted(totals, count // step))
