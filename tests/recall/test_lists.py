"""Single steps of a search on a large shelf: each says what a plain calculation does."""

import numpy as np
import pytest

from memorist.recall.index import lists, snapshot, vectors
from memorist.recall.index.arranging import arranged
from memorist.recall.index.columns import distinct, which_are
from memorist.recall.index.lists import Lists
from memorist.recall.index.shelf import Shelf
from memorist.recall.index.view import View
from memorist.recall.ranking import Scores
from tests.recall.index_rows import MODEL, Rows, refreshed

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
    shelf = Shelf("ada", MODEL)
    refreshed(shelf, store)
    file = tmp_path_factory.mktemp("saved") / "file"
    with file.open("wb") as out:
        snapshot.write(out, arranged(shelf.saved(), 1000), ["ada"])
    shelf.map(snapshot.read(file, ["ada"], writable="column."))
    return refreshed(shelf, store), given


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


def test_what_fills_a_list_up_is_never_among_the_farthest(
    made: tuple[View, Scores], monkeypatch: pytest.MonkeyPatch
) -> None:
    view, _ = made
    monkeypatch.setattr(lists, "_FARTHEST", 10_000)
    question = np.full(SIZE, 0.1, dtype=np.float32)  # From which nothing differs in each bit.
    for far in (10, 500, 100_000):
        monkeypatch.setattr(lists, "_FAR", far)
        _, farthest = _lists(view).near(question)
        assert farthest.size == min(far, _lists(view).size)
        bits = np.unpackbits(_lists(view).sketches, axis=1, count=SIZE)
        differing = SIZE - bits.sum(axis=1, dtype=np.int64)
        assert sorted(differing[farthest]) == sorted(differing)[differing.size - farthest.size :]


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
