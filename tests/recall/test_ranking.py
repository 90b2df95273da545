"""The arithmetic of ranking, against what it says in words."""

import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorist.recall import fusion, ranking

scores = st.lists(st.floats(-10, 10, width=32), min_size=1, max_size=40).map(lambda v: np.array(v, dtype=np.float32))


@given(scores, st.integers(1, 50))
def test_best_are_the_greatest_in_order_and_ties_keep_their_places(values: np.ndarray, count: int) -> None:
    expected = sorted(range(values.size), key=lambda place: (-values[place], place))[:count]
    assert ranking.best(values, count).tolist() == expected


@given(scores)
def test_normalised_goes_from_nought_to_one_and_keeps_the_order(values: np.ndarray) -> None:
    found = ranking.normalised(values)
    assert found.min() >= 0
    assert found.max() <= 1
    assert (np.diff(found[np.argsort(values, kind="stable")]) >= -1e-6).all()


@given(scores, st.data())
def test_normalised_counts_only_those_that_count(values: np.ndarray, data: st.DataObject) -> None:
    among = np.array(data.draw(st.lists(st.booleans(), min_size=values.size, max_size=values.size)))
    found = ranking.normalised(values, among)
    assert np.isfinite(found).all()
    if among.any():
        assert found[among].min() >= 0
        assert found[among].max() <= 1


@given(scores, st.sampled_from([0.0, 0.1, 0.5]), st.randoms(use_true_random=False))
def test_a_turn_gains_a_share_of_those_around_it(values: np.ndarray, weight: float, rng: random.Random) -> None:
    """Whether the turn before lies right before it or elsewhere; threads are chains over shuffled places."""
    places = list(range(values.size))
    if rng.random() < 0.5:
        rng.shuffle(places)
    chains = [places[start : start + 4] for start in range(0, len(places), 4)]
    before = {later: earlier for chain in chains for earlier, later in pairwise(chain)}
    after = {earlier: later for later, earlier in before.items()}
    previous = np.array([before.get(place, -1) for place in range(values.size)])
    linked = (previous == np.arange(values.size) - 1).astype(np.float32) * (previous >= 0)
    found = ranking.with_neighbours(values, ranking.Links.of(previous, linked.astype(np.float32)), weight)
    for place in range(values.size):
        around = [turns[place] for turns in (before, after) if place in turns]
        assert found[place] == pytest.approx(values[place] + weight * sum(values[one] for one in around), abs=1e-4)


@given(scores, st.sampled_from([0.0, 0.2]), st.randoms(use_true_random=False))
def test_a_turn_gains_a_share_of_the_best_of_its_thread(values: np.ndarray, weight: float, rng: random.Random) -> None:
    values = np.abs(values)
    threads = np.array([rng.randint(0, 3) for _ in values], dtype=np.intp)
    found = ranking.with_threads(values, ranking.Threads.of(threads), weight)
    for place, thread in enumerate(threads.tolist()):
        around = values[threads == thread].max() if thread else values[place]
        assert found[place] == pytest.approx((values[place] + weight * around) / (1 + weight), abs=1e-4)


def test_nothing_has_no_threads() -> None:
    nothing = np.zeros(0, dtype=np.float32)
    assert ranking.with_threads(nothing, ranking.Threads.of(np.zeros(0, dtype=np.intp)), 0.5).size == 0


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_meaning_counts_less_the_farther_its_best_is(one: float, other: float) -> None:
    shares = [fusion.share_of_meaning(fusion.FUSION, cosine) for cosine in sorted((one, other))]
    assert 0 <= shares[0] <= shares[1] <= 1 - fusion.FUSION.text
    if min(one, other) >= fusion.FUSION.near:
        assert shares[0] == 1 - fusion.FUSION.text
    if max(one, other) <= 0:
        assert shares[1] == 0


def test_rare_terms_weigh_more() -> None:
    assert ranking.rarity(100, 1) > ranking.rarity(100, 50) > ranking.rarity(100, 100) > 0


@given(st.floats(-1, 1, width=32), st.floats(0, 3, width=32))
def test_confidence_is_between_nought_and_one(cosine: float, coverage: float) -> None:
    (sure,) = ranking.confidence(np.array([cosine], np.float32), np.array([coverage], np.float32))
    assert 0 <= sure <= 1


def test_confidence_grows_with_either_sign() -> None:
    neither, meaning, words = ranking.confidence(
        np.array([0.0, 0.7, 0.0], np.float32), np.array([0.0, 0.0, 1.0], np.float32)
    )
    assert neither < 0.05 < min(meaning, words)


@given(st.integers(1, 3000), st.integers(1, 300), st.integers(0, 2**32))
@settings(max_examples=30)
def test_best_of_many_are_those_of_a_plain_sort(size: int, count: int, seed: int) -> None:
    values = np.random.default_rng(seed).integers(0, 50, size).astype(np.float32)
    expected = sorted(range(size), key=lambda place: (-values[place], place))[:count]
    assert ranking.best(values, count).tolist() == expected


def test_row_without_a_vector_is_judged_by_its_words() -> None:
    shared = np.array([0, 0.2, 0.5, 1], dtype=np.float32)
    sure = ranking.confidence(ranking.assumed_cosines(shared), shared)
    assert sure.tolist() == sorted(sure.tolist())
    assert sure[1] < 0.2
    assert sure[2] > 0.8
    # As one that has a vector and is about the same.
    assert sure[2] == pytest.approx(ranking.confidence(np.array([0.52], dtype=np.float32), shared[2:3])[0], abs=0.05)


def test_what_was_not_read_goes_before_what_the_reranker_thinks_little_of() -> None:
    places = np.arange(100, 130)
    first = np.linspace(1, 0.1, 30, dtype=np.float32)
    ones, windows = np.ones(30, np.float32), np.ones(30, np.int32)
    judged = np.array([-6, 5, -6, -6], dtype=np.float32)
    after = fusion.reordered(places, first, ones, windows, judged, fusion.FUSION)
    order = after.places.tolist()
    assert order[:2] == [101, 100]
    assert order.index(104) == order.index(103) + 1  # equal in the reranker's eyes: as they were
    doubtful = fusion.reordered(
        places, first, np.where(np.arange(30) == 3, np.float32(0.7), ones), windows, judged, fusion.FUSION
    )
    assert doubtful.places.tolist().index(104) < doubtful.places.tolist().index(103)
    assert order[fusion.FUSION.pool :] == places[fusion.FUSION.pool :].tolist()
    assert (np.diff(after.scores) <= 0).all()
    assert after.spread.size == judged.size


def test_reranker_that_hardly_tells_two_apart_leaves_them_as_they_were() -> None:
    first = np.linspace(1, 0.1, 30, dtype=np.float32)
    ones, windows = np.ones(30, np.float32), np.ones(30, np.int32)

    def order(judged: list[float], weights: fusion.Fusion = fusion.FUSION) -> list[int]:
        said = np.array(judged, dtype=np.float32)
        return fusion.reordered(np.arange(30), first, ones, windows, said, weights).places.tolist()

    assert order([3.0, 3.1])[:2] == [0, 1]
    assert order([-2.0, 3.1])[:2] == [1, 0]
    assert order([-2.0, 3.1, 3.0])[-1] == 29
    # Another's scores may lie between 0 and 1, and only compare.
    assert order([0.3, 0.4], fusion.FUSION.elsewhere())[:2] == [1, 0]
    assert order([3.0]) == order([]) == list(range(30))


def test_of_a_few_that_fit_alike_the_reranker_says_which_is_better() -> None:
    ones = np.ones(2, np.float32)

    def order(first: list[float], judged: list[float]) -> list[int]:
        scores, said = np.array(first, dtype=np.float32), np.array(judged, dtype=np.float32)
        return fusion.reordered(np.arange(2), scores, ones, ones.astype(np.int32), said, fusion.FUSION).places.tolist()

    assert order([0.67, 0.66], [2.9, 3.9]) == [1, 0]
    assert order([0.9, 0.3], [2.9, 3.9]) == [0, 1]


def test_what_the_reranker_says_is_spread_from_the_best() -> None:
    first, ones = np.linspace(1, 0.7, 4, dtype=np.float32), np.ones(4, np.float32)

    def spread(judged: list[float]) -> list[float]:
        said = np.array(judged, dtype=np.float32)
        return fusion.reordered(np.arange(4), first, ones, ones.astype(np.int32), said, fusion.FUSION).spread.tolist()

    assert spread([4, -6]) == [1, 0]
    assert spread([4, 3, 2]) == pytest.approx([1, 0.75, 0.5])
    assert spread([2]) == [1]
