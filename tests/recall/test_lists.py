"""Single steps of a search on a large shelf: each says what a plain calculation does."""

from pathlib import Path

import numpy as np
import pytest

from memorist.recall.index import lists, snapshot, vectors
from memorist.recall.index.arranging import arranged
from memorist.recall.index.columns import distinct, which_are
from memorist.recall.index.lists import Lists
from memorist.recall.index.shelf import Shelf
from memorist.recall.index.view import View
from memorist.recall.ranking import Scores
from tests.recall.index_rows import MODEL, Rows, assert_same, refreshed
from tests.support.models import word_vector

SIZE, ROWS = 96, 6000


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[View, Scores]:
    """A shelf in lists, and the vectors of its rows: some of two windows, and all with something in common."""
    rng, store = np.random.default_rng(2), Rows()
    common = rng.standard_normal(SIZE, dtype=np.float32)
    given = common + rng.standard_normal((ROWS, 2, SIZE), dtype=np.float32) * np.float32(1.5)
    given /= np.linalg.norm(given, axis=2, keepdims=True)
    for number in range(ROWS):
        windows = given[number, : 1 + (number % 7 == 0)]
        store.put(f"mem_{number:06}", ["tea"] * len(windows), vectors=vectors.pack(windows))
    return refreshed(_saved(store, tmp_path_factory.mktemp("saved") / "file"), store), given


def _saved(store: Rows, file: Path) -> Shelf:
    """In lists, as it comes from its file."""
    shelf = Shelf("ada", MODEL)
    refreshed(shelf, store)
    with file.open("wb") as out:
        snapshot.write(out, arranged(shelf.saved(), 1000), ["ada"])
    shelf.map(snapshot.read(file, ["ada"], writable="column."))
    return shelf


def _lists(view: View) -> Lists:
    assert view.matrix.lists is not None
    return view.matrix.lists


def _questions(count: int) -> list[Scores]:
    rng = np.random.default_rng(7)
    asked = rng.standard_normal((count, SIZE), dtype=np.float32)
    return list(asked / np.linalg.norm(asked, axis=1, keepdims=True))


@pytest.mark.parametrize("size", [0, 1, 50, 5000])
@pytest.mark.parametrize("count", [0, 1, 40])
def test_values_that_are_wanted_are_those_that_a_comparison_finds(size: int, count: int) -> None:
    rng = np.random.default_rng(size + count)
    for highest in (1, 60, 3000):
        values, wanted = rng.integers(-1, highest, size), rng.integers(0, highest, count)
        expected = np.flatnonzero(np.isin(values, wanted))
        assert which_are(values, wanted).tolist() == expected.tolist()
        assert which_are(values.astype(np.int32), np.append(wanted, -1)).tolist() == expected.tolist()
        assert distinct(values).tolist() == np.unique(values).tolist()


def test_windows_of_rows_are_found_whether_all_have_one_or_some_have_several(made: tuple[View, Scores]) -> None:
    view, _ = made
    places = view.matrix.places
    for rows in ([1, 2, 3, 10], [0, 1, 7, 8], [5], [], [3, ROWS + 5], [14, ROWS + 5]):
        windows, which = _lists(view).windows_of(np.array(rows, dtype=np.int64))
        assert sorted(zip(places[windows].tolist(), windows.tolist(), strict=True)) == [
            (row, window) for row in rows for window in np.flatnonzero(places == row).tolist()
        ]
        assert [rows[number] for number in which.tolist()] == places[windows].tolist()


def test_how_far_the_farthest_are_is_nearly_known(made: tuple[View, Scores]) -> None:
    view, given = made
    given = np.concatenate([given[:, 0], given[::7, 1]])
    offs = []
    for question in _questions(30):
        near = view.matrix.near(question)
        cosines = given @ question
        assert near.farthest.size > 16
        assert near.low >= cosines.min() - 0.01
        offs.append((near.low - cosines.min()) / (cosines.max() - cosines.min()))
    assert np.mean(offs) < 0.03


def test_vectors_of_the_farthest_lists_are_read_as_they_are_and_no_more_than_that(
    made: tuple[View, Scores], monkeypatch: pytest.MonkeyPatch
) -> None:
    view, given = made
    found = _lists(view)
    for question in _questions(5):
        order = found.nearest_first(question)
        for most in (1, 100, 1000, 100_000):
            monkeypatch.setattr(lists, "_READ", (most, most))
            windows, products = found.far(question, order)
            in_list = np.searchsorted(found.ends, windows, side="right")
            read = order[::-1][: len(distinct(in_list))]
            assert set(in_list.tolist()) == set(read.tolist())
            assert len(read) == 1 or windows.size <= most
            assert len(read) == min(32, order.size) or windows.size + found.size / 10 > most
            exact = (given @ question)[view.matrix.places[windows], view.matrix.firsts[windows]]
            assert products * view.matrix.scales[windows] == pytest.approx(exact, abs=0.01)


def test_sketches_tell_about_how_near_the_windows_of_the_nearest_lists_are(made: tuple[View, Scores]) -> None:
    view, given = made
    errors = []
    for question in _questions(30):
        windows, cosines = _lists(view).near(question, _lists(view).nearest_first(question))
        assert windows.size >= 300
        exact = (given @ question)[view.matrix.places[windows], view.matrix.firsts[windows]]
        errors.append(cosines - exact)
        # Sketches that were taken before there was a question tell the same.
        assert _lists(view).about(question, _lists(view).bare_sketches_of(windows)) == pytest.approx(cosines, abs=1e-5)
    errors = np.concatenate(errors)
    assert abs(errors.mean()) < 0.01
    assert errors.std() < 0.08


def test_of_texts_that_are_alike_only_some_are_looked_at() -> None:
    rng = np.random.default_rng(1)
    distances = np.concatenate([np.full(100_000, 40), rng.integers(0, 40, 100), rng.integers(41, 200, 100_000)])
    found = lists._nearest(distances, 300)
    assert found.size == 600
    assert set(range(100_000, 100_100)) <= set(found.tolist())
    assert (distances[found] <= 40).all()
    assert (np.diff(found) > 0).all()
    few = lists._nearest(rng.integers(0, 200, 5000), 300)
    assert 300 <= few.size <= 600


def _some(count: int) -> Rows:
    store = Rows()
    for number in range(0, 2 * count, 2):
        store.put(f"mem_{number:06}", [f"tea {number}"] * (1 + (number % 10 == 0)), thread=f"s{number // 100}")
    return store


def test_vectors_of_rows_that_wait_again_go_from_lists_and_from_what_came_since(tmp_path: Path) -> None:
    store = _some(1500)
    shelf = _saved(store, tmp_path / "file")
    for number in range(10_000, 10_300):
        store.put(f"mem_{number:06}", [f"an owl {number}"] * 2)
    before = refreshed(shelf, store)
    places = before.matrix.places.copy()
    gone = ["mem_000010", "mem_000012", "mem_010005", "mem_010007"]
    for memory_id in gone:
        store.put(memory_id, store.texts[memory_id], embedded=False, thread=store.rows[memory_id].thread)
    after = refreshed(shelf, store)
    assert (before.matrix.places == places).all(), "a view is not disturbed"
    lost = np.isin(places, [before.place_of(memory_id) for memory_id in gone])
    assert (after.matrix.places == np.where(lost, -1, places)).all()
    assert_same(after, store)


def test_what_is_changed_of_a_file_counts_as_memory(tmp_path: Path) -> None:
    store = _some(1500)
    shelf = _saved(store, tmp_path / "file")
    refreshed(shelf, store)
    before = shelf.size_bytes()
    store.put("mem_000010", store.texts["mem_000010"], embedded=False, thread="s0")
    refreshed(shelf, store)
    places = shelf._matrix._places
    assert shelf.size_bytes() >= before + places.values.nbytes
    before = shelf.size_bytes()
    store.put("mem_000013", ["an oak"], thread="s0")  # Comes between two that there are.
    refreshed(shelf, store)
    assert shelf.size_bytes() >= before + shelf._columns["previous"].values.nbytes


def test_where_there_is_no_memory_the_vectors_of_a_file_stay(tmp_path: Path) -> None:
    store = _some(1500)
    shelf = _saved(store, tmp_path / "file")
    shelf.limit_bytes = 1
    refreshed(shelf, store)
    assert not shelf.is_cut
    assert_same(refreshed(shelf, store), store)
    shelf.limit_bytes = shelf.size_bytes() + 650_000
    for start in range(10_000, 10_900, 100):
        for number in range(start, start + 100):
            store.put(f"mem_{number:06}", [f"an owl {number}", f"an oak {number}", "salt"] * 2)
        view = refreshed(shelf, store)
    assert shelf.is_cut
    assert view.is_large
    embedded = view.columns["windows"] > 0
    assert embedded[:1500].all()
    assert not embedded[1500:1600].any()
    late = np.flatnonzero(embedded[1500:]) + 1500
    assert late.size
    assert late[-1] == view.size - 1
    question = word_vector("an owl 10899 by the river")
    cosines = view.cosines(question)[0]
    assert not cosines[~embedded].any()
    for place in [*range(0, 1500, 50), *late.tolist()]:
        expected = max(float(word_vector(one) @ question) for one in store.texts[view.ids[place]])
        assert cosines[place] == pytest.approx(expected, abs=0.01)
    found = view.matrix.near(question).places
    assert np.isin(found[found >= 0], np.flatnonzero(embedded)).all()
