"""The terms of a shelf: few runs of what came since its file, and none of them left in the next one."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from memorist import words
from memorist.recall.index import postings, snapshot
from memorist.recall.index.arranging import arranged
from memorist.recall.index.postings import PostingLists
from memorist.recall.index.shelf import Shelf
from memorist.recall.index.view import View
from tests.recall.index_rows import MODEL, VOCABULARY, Rows, refreshed

_TERMS = [words.hash_of(words.terms(word)[0]) for word in (*VOCABULARY, "nowhere")]


def _put(store: Rows, rng: np.random.Generator, first: int, count: int) -> None:
    for number in range(first, first + count):
        chosen = rng.choice(VOCABULARY, 3, p=[0.4, 0.2, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05])
        store.put(f"mem_{number:06}", [" ".join(chosen)])


def _saved(shelf: Shelf, file: Path) -> Shelf:
    with file.open("wb") as out:
        snapshot.write(out, arranged(shelf.saved(), 500), ["ada"])
    mapped = Shelf("ada", MODEL)
    mapped.map(snapshot.read(file, ["ada"], writable="column."))
    return mapped


def _lists(view: View) -> PostingLists:
    assert isinstance(view.postings, PostingLists)
    return view.postings


def _assert_same(found: PostingLists, expected: PostingLists) -> None:
    """As a shelf says that read all rows at once, however many runs there are."""
    some = np.arange(0, expected.size, 3, dtype=np.int32)
    for term in _TERMS:
        assert found.how_many(term) == expected.how_many(term)
        for one, other in zip(found.containing(term), expected.containing(term), strict=True):
            assert np.array_equal(one, other)
        among, all_among = found.among(term, some), expected.among(term, some)
        assert among.documents == all_among.documents
        assert dict(zip(*among[:2], strict=True)) == dict(zip(*all_among[:2], strict=True))
        for most in (1, 7, 200, 10_000):
            for one, other in zip(found.last(term, most), expected.last(term, most), strict=True):
                assert np.array_equal(one, other)


def test_what_comes_bit_by_bit_is_found_as_what_came_at_once_in_few_runs() -> None:
    rng, store, shelf = np.random.default_rng(1), Rows(), Shelf("ada", MODEL)
    _put(store, rng, 0, 400)
    refreshed(shelf, store)
    number = 400
    for count in rng.integers(1, 12, 60).tolist():
        _put(store, rng, number, count)
        number += count
        found = _lists(refreshed(shelf, store))
        sizes = [run.entries.size for run in found.runs[1:]]
        assert all(2 * later < earlier for earlier, later in pairwise(sizes))
    _assert_same(found, _lists(refreshed(Shelf("ada", MODEL), store)))


def test_each_file_has_all_terms_in_one_run_and_what_each_counts(tmp_path: Path) -> None:
    rng, store, shelf = np.random.default_rng(2), Rows(), Shelf("ada", MODEL)
    _put(store, rng, 0, 3000)
    refreshed(shelf, store)
    for number in range(4):
        shelf = _saved(shelf, tmp_path / str(number))
        lists = _lists(refreshed(shelf, store))
        assert len(lists.runs) == 1
        assert lists.impacts is not None
        assert lists.impacts.size == lists.runs[0].entries.size
        _assert_same(lists, _lists(refreshed(Shelf("ada", MODEL), store)))
        _put(store, rng, 10_000 * (number + 1), 300)
        refreshed(shelf, store)


def test_terms_of_a_file_stay_the_file_however_much_comes(tmp_path: Path) -> None:
    """No recall sorts them, and they do not become this process's own."""
    rng, store, shelf = np.random.default_rng(3), Rows(), Shelf("ada", MODEL)
    _put(store, rng, 0, 1200)
    refreshed(shelf, store)
    shelf = _saved(shelf, tmp_path / "file")
    before = _lists(refreshed(shelf, store))
    _put(store, rng, 1200, 1200)
    after = _lists(refreshed(shelf, store))
    assert after.runs[0].entries is before.runs[0].entries
    assert after.impacts is before.impacts
    assert after.impacts is not None
    assert shelf._postings.size_bytes() < 8 * 3 * 1300 + after.lengths.nbytes * 2
    # What each counts depends on how long rows are; the files of both have the same.
    expected = _lists(refreshed(Shelf("ada", MODEL), store))
    for term in _TERMS:
        assert np.array_equal(after.containing(term).places, expected.containing(term).places)
        assert np.array_equal(after.last(term, 500)[0], expected.last(term, 500)[0])


def test_rows_that_fit_best_are_chosen_wherever_they_are_and_of_equals_the_last() -> None:
    rng = np.random.default_rng(1)
    for highest, share in ((60_000, 1.0), (60_000, 0.02), (3, 1.0), (3, 0.3), (1, 0.5), (1, 0.001), (0, 0.0)):
        fitting = rng.integers(0, highest + 1, 100_000).astype(np.uint16)
        fitting[rng.random(fitting.size) >= share] = 0
        fitting[-1] = 65_000
        chosen = postings._most(fitting, [np.flatnonzero(fitting == 1), np.flatnonzero(fitting > 1)], 4096)
        best = np.lexsort((np.arange(fitting.size), fitting))[-4096:]
        assert chosen.tolist() == sorted(place for place in best.tolist() if fitting[place])


def test_few_rows_far_above_the_rest_do_not_hide_the_next_ones() -> None:
    fitting = np.arange(200_000).astype(np.uint16) % 50
    fitting[::12] = 60_000  # All of a sample that is taken at equal steps.
    assert postings._most(fitting, [np.arange(fitting.size)], 30_000).size == 30_000
    assert postings._most(fitting, [np.zeros(0, dtype=np.intp)], 10).size == 0


def test_sums_tell_about_how_well_a_row_fits_however_many_words_are_asked_for() -> None:
    rng, store = np.random.default_rng(4), Rows()
    known = [f"word{number}x" for number in range(400)]
    for number in range(600):
        store.put(f"mem_{number:06}", [" ".join(rng.choice(known, rng.integers(3, 30)))], embedded=False)
    lists = _lists(refreshed(Shelf("ada", MODEL), store))
    for count in (1, 5, 60, 400):
        terms = [words.hash_of(words.terms(word)[0]) for word in known[:count]]
        found, exact = postings.likely([lists], terms, 0), postings.wording([lists], terms)[0].bm25
        said = found.said(np.arange(lists.size)).bm25
        assert np.abs(said - exact).max() < 0.02 * exact.max()
        assert found.places.tolist() == np.flatnonzero(exact).tolist()  # Each once, ascending.


def test_some_rows_fit_as_they_do_among_all_whatever_was_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, store = np.random.default_rng(5), Rows()
    _put(store, rng, 0, 2000)
    lists = _lists(refreshed(Shelf("ada", MODEL), store))
    some = np.sort(rng.choice(2000, 300, replace=False))
    exact = postings.wording([lists], _TERMS)[0]
    for most in (10, 300, 900, 100_000):
        monkeypatch.setattr(postings, "_LOOKED_THROUGH", most)
        monkeypatch.setattr(postings, "_LIKELY", 200)
        monkeypatch.setattr(postings, "_LOOKED_INTO", 800)
        found = postings.likely([lists], _TERMS, 0)
        assert 0 < found.places.size <= 200
        assert len(found.looked_up) < len(VOCABULARY) or most == 100_000
        fitting = postings.wording([postings.PostingsAt.of(lists, some, found)], _TERMS)[0]
        assert fitting.bm25 == pytest.approx(exact.bm25[some], rel=1e-5)
        assert fitting.coverage == pytest.approx(exact.coverage[some], rel=1e-5)


def test_frequent_word_costs_no_more_entries_than_the_bound_and_a_rare_one_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = Rows()
    for number in range(4000):
        store.put(f"mem_{number:06}", [f"{'owl' if number % 50 == 0 else 'oak'} {'tea' if number % 5 else 'salt'}"])
    lists = _lists(refreshed(Shelf("ada", MODEL), store))
    owl, oak, tea, salt = (words.hash_of(words.terms(word)[0]) for word in ("owl", "oak", "tea", "salt"))
    monkeypatch.setattr(postings, "_LOOKED_THROUGH", 500)
    monkeypatch.setattr(postings, "_SHARE", 8)
    for asked, looked_through in {
        (owl,): 80,
        (salt,): 500,  # Of 800, the last ones.
        (owl, salt): 80,  # The frequent one is looked for in the rows of the rare one.
        (owl, tea): 80,
        (oak, tea, salt): 500,
    }.items():
        found = postings.likely([lists], asked, 0)
        assert found.looked_through == looked_through
        assert found.places.size <= looked_through


def test_entry_takes_five_bytes_of_a_file_however_often_its_term_is_there(tmp_path: Path) -> None:
    rng, store, shelf = np.random.default_rng(6), Rows(), Shelf("ada", MODEL)
    _put(store, rng, 0, 3000)
    refreshed(shelf, store)
    lists = _lists(refreshed(_saved(shelf, tmp_path / "file"), store))
    assert lists.impacts is not None
    (run,) = lists.runs
    assert run.terms.size == len(np.unique(run.terms)) < 20
    assert run.entries.nbytes + lists.impacts.nbytes == 5 * run.entries.size


def test_words_too_frequent_to_be_looked_through_count_in_rows_that_have_rarer_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = Rows()
    for number in range(3000):
        store.put(f"mem_{number:06}", [f"{'owl' if number % 5 == 0 else 'oak'} {'tea' if number % 2 else 'salt'}"])
    lists = _lists(refreshed(Shelf("ada", MODEL), store))
    terms = [words.hash_of(words.terms(word)[0]) for word in ("owl", "tea")]
    monkeypatch.setattr(postings, "_LOOKED_THROUGH", 700)
    monkeypatch.setattr(postings, "_LIKELY", 300)
    found = postings.likely([lists], terms, 0)
    assert found.looked_up == {terms[0]}
    assert found.places.tolist() == [number for number in range(3000) if number % 5 == 0 and number % 2]
