"""The arrays in memory give what a plain calculation over the rows gives, however they came there."""

import random
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorist import words
from memorist.errors import StoreUnavailable
from memorist.recall.index import reading, row_ids, vectors
from memorist.recall.index.cache import Shelves
from memorist.recall.index.matrix import WORTH_A_THREAD, Matrix
from memorist.recall.index.postings import wording
from memorist.recall.index.shelf import Shelf
from memorist.recall.values import IndexRow
from tests.recall.index_rows import MODEL, Rows, assert_same, by_id, places_in, refreshed, text
from tests.support.models import DIMENSIONS, word_vector
from tests.support.waiting import SOON


@settings(max_examples=25)
@given(st.integers(0, 2**32))
def test_shelf_says_what_the_rows_say_after_any_changes(seed: int) -> None:
    rng = random.Random(seed)
    store = Rows()
    shelf = Shelf("ada", MODEL)
    number = 0
    for _ in range(rng.randint(1, 12)):
        for _ in range(rng.choice((1, 3, 30))):
            known = sorted(store.rows)
            step = rng.choice(("new", "new", "text", "vectors", "state", "unindex"))
            if step == "new" or not known:
                number += 1
                store.put(
                    f"mem_{number:06}",
                    text(rng, rng.choice((1, 1, 1, 2, 5))),
                    embedded=rng.random() < 0.7,
                    thread=rng.choice(("", "s1", "s2")),
                )
                continue
            memory_id = rng.choice(known)
            row = store.rows[memory_id]
            if step == "text":
                store.put(memory_id, text(rng, rng.choice((1, 2))), embedded=rng.random() < 0.5, thread=row.thread)
            elif step == "vectors":
                store.put(memory_id, store.texts[memory_id], embedded=True, thread=row.thread)
            elif step == "unindex":
                store.put(memory_id, store.texts[memory_id], embedded=False, thread=row.thread)
            else:
                store.put(
                    memory_id,
                    store.texts[memory_id],
                    embedded=row.model == MODEL,
                    thread=row.thread,
                    standing=rng.choice((0, 1, 2)),
                    category=rng.choice(("", "goal")),
                )
        assert_same(refreshed(shelf, store), store)
    assert_same(refreshed(Shelf("ada", MODEL), store), store)


def test_views_are_not_disturbed_by_what_comes_later() -> None:
    rng = random.Random(1)
    store = Rows()
    shelf = Shelf("ada", MODEL)
    for number in range(50):
        store.put(f"mem_{number:06}", text(rng), thread="s")
    view = refreshed(shelf, store)
    question = word_vector("tea by the river")
    before = view.cosines(question)[0].copy(), wording([view.postings], [words.hash_of("tea")])[0].bm25.copy()
    chain = view.columns["previous"].copy()
    for number in range(50, 400):
        store.put(f"mem_{number:06}", text(rng), thread="s")
    for number in range(0, 50, 7):
        store.put(f"mem_{number:06}", text(rng), thread="s")
    refreshed(shelf, store)
    assert view.size == 50
    assert (view.cosines(question)[0] == before[0]).all()
    assert (wording([view.postings], [words.hash_of("tea")])[0].bm25 == before[1]).all()
    assert (view.columns["previous"] == chain).all()


def test_shelf_of_many_dead_rows_is_read_anew() -> None:
    rng = random.Random(2)
    store = Rows()
    shelf = Shelf("ada", MODEL)
    for number in range(300):
        store.put(f"mem_{number:06}", text(rng))
    refreshed(shelf, store)
    for round_ in range(3):
        for number in range(300):
            store.put(f"mem_{number:06}", [f"round {round_} {number}"])
        view = refreshed(shelf, store)
    assert store.loads > 1
    assert view.size < 1200
    assert_same(refreshed(shelf, store), store)


def test_load_that_fails_in_its_middle_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_PAGE", 7)
    rng = random.Random(4)
    store = Rows()
    for number in range(20):
        store.put(f"mem_{number:06}", text(rng), thread="s")
    load = store.load

    def fails(user: str | None, after: str, limit: int) -> list[IndexRow]:
        if after:
            raise StoreUnavailable
        return load(user, after, limit)

    monkeypatch.setattr(store, "load", fails)
    both = Shelves(store, models=[MODEL], limit_bytes=10**9)  # type: ignore[arg-type]
    with pytest.raises(StoreUnavailable):
        both.look("t", "ada")
    monkeypatch.setattr(store, "load", load)
    assert_same(both.look("t", "ada"), store)


def test_shelves_are_loaded_before_the_transaction_that_reads_what_changed() -> None:
    """A connection that waits for a long load is one that others cannot have."""
    store = Rows()
    store.put("mem_000001", ["tea"])
    both = Shelves(store, models=[MODEL], limit_bytes=10**9)  # type: ignore[arg-type]
    open_now: list[int] = []
    read, load = store.read, store.load
    depth = 0

    def counted(tenant: str, work: Callable[[Any], Any], **more: Any) -> Any:
        nonlocal depth
        depth += 1
        try:
            return read(tenant, work, **more)
        finally:
            depth -= 1

    def loading(*arguments: Any) -> list[IndexRow]:
        open_now.append(depth)
        return load(*arguments)

    store.read, store.load = counted, loading  # type: ignore[method-assign]
    assert not both.are_loaded("t", ["ada", None])
    assert [view.size for view in both.look_at("t", ["ada", None])] == [1, 1]
    assert both.are_loaded("t", ["ada", None])
    assert set(open_now) == {1}


@pytest.mark.parametrize("changes", [False, True])
def test_look_that_waits_for_the_database_keeps_nobody_waiting_and_overtakes_nobody(changes: bool) -> None:
    store = Rows()
    store.put("mem_000001", ["tea"])
    shelves = Shelves(store, models=[MODEL], limit_bytes=10**9)  # type: ignore[arg-type]
    shelves.look_at("t", ["ada", None])
    read = store.read

    def slow(tenant: str, work: Callable[[Any], Any], **more: Any) -> Any:
        """While its answer is on its way, others look, and see what is newer."""
        store.read = read  # type: ignore[method-assign]
        answer = read(tenant, work, **more)
        if changes:
            store.put("mem_000001", ["owl"])
        with ThreadPoolExecutor(1) as threads:
            assert_same(threads.submit(shelves.look, "t", None).result(SOON), store)
        return answer

    store.read = slow  # type: ignore[method-assign]
    for view in shelves.look_at("t", ["ada", None]):
        assert_same(view, store)


def test_pages_are_read_to_their_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_PAGE", 7)
    rng = random.Random(3)
    store = Rows()
    shelf = Shelf("ada", MODEL)
    for number in range(40):
        store.put(f"mem_{number:06}", text(rng), thread="s")
    assert_same(refreshed(shelf, store), store)
    for number in range(20, 70):
        store.put(f"mem_{number:06}", text(rng), thread="s")
    assert_same(refreshed(shelf, store), store)


def test_shelves_that_were_not_searched_for_long_are_let_go_of() -> None:
    rng = random.Random(4)
    store = Rows()
    for number in range(500):
        store.put(f"mem_{number:06}", text(rng))
    one = Shelves(store, models=[MODEL], limit_bytes=1 << 30)
    one.look("t", "ada")
    size = one.size_bytes()
    few = Shelves(store, models=[MODEL], limit_bytes=int(size * 3.5))
    for user in range(10):
        few.look("t", f"user-{user}")
    assert size <= few.size_bytes() <= size * 3.5
    loads = store.loads
    few.look("t", "user-9")
    assert store.loads == loads
    few.look("t", "user-0")
    assert store.loads == loads + 1


def test_shelves_of_users_without_memories_are_let_go_of_too() -> None:
    store = Rows()
    few = Shelves(store, models=[MODEL], limit_bytes=100_000)
    for number in range(300):
        assert few.look("t", f"user-{number}").size == 0
        assert few.size_bytes() <= 100_000
    loads = store.loads
    few.look("t", "user-299")
    assert store.loads == loads, "those searched last stay"
    few.look("t", "user-0")
    assert store.loads == loads + 1


def test_a_shelf_above_the_limit_is_kept_while_it_is_the_only_one() -> None:
    store = Rows()
    for number in range(100):
        store.put(f"mem_{number:06}", text(random.Random(number)))
    small = Shelves(store, models=[MODEL], limit_bytes=1)
    assert small.look("t", "ada").size == 100
    assert small.look("t", "bob").size == 100
    assert small.look("t", "ada").size == 100


def test_forgotten_shelves_are_read_anew() -> None:
    store = Rows()
    store.put("mem_1", ["tea"])
    all_shelves = Shelves(store, models=[MODEL], limit_bytes=1 << 30)
    assert set(places_in(all_shelves.look("t", "ada"))) == {"mem_1"}
    del store.rows["mem_1"]
    all_shelves.forget("t", ["bob", "ada", None])
    assert all_shelves.look("t", "ada").size == 0
    assert all_shelves.size_bytes() < 10_000


def test_vectors_of_another_model_are_not_looked_at() -> None:
    store = Rows()
    store.put("mem_1", ["tea"], model="another")
    store.put("mem_2", ["tea"])
    view = refreshed(Shelf("ada", MODEL), store)
    cosines = by_id(view, view.cosines(word_vector("tea"))[0])
    assert cosines["mem_1"] == 0
    assert cosines["mem_2"] == pytest.approx(1, abs=0.01)


def test_rows_that_wait_again_lose_their_vectors_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    store, shelf = Rows(), Shelf("ada", MODEL)
    for number in range(50):
        store.put(f"mem_{number:06}", [f"tea {number}"])
    refreshed(shelf, store)
    dropped: list[list[int]] = []
    drop = Matrix.drop

    def noted(self: Matrix, places: Sequence[int]) -> None:
        dropped.append(list(places))
        drop(self, places)

    monkeypatch.setattr(Matrix, "drop", noted)
    for number in reversed(range(40)):
        store.put(f"mem_{number:06}", [f"tea {number}"], embedded=False)
    assert_same(refreshed(shelf, store), store)
    assert dropped == [list(range(40))]
    # They come back in another order than they are in.
    for number in (0, *reversed(range(1, 39)), 39):
        store.put(f"mem_{number:06}", [f"tea {number}"])
    assert_same(refreshed(shelf, store), store)


def test_vectors_that_were_made_anew_take_the_place_of_the_old_ones() -> None:
    """What was said next is embedded anew where a message is changed, though its own text stays the same."""
    store, shelf = Rows(), Shelf("ada", MODEL)
    for memory_id in ("mem_1", "mem_2"):
        store.put(memory_id, ["tea"])
    refreshed(shelf, store)
    anew = vectors.pack(word_vector("river")[np.newaxis])
    store.put("mem_2", ["tea"], vectors=anew)
    view = refreshed(shelf, store)
    assert by_id(view, view.cosines(word_vector("river"))[0]) == pytest.approx({"mem_1": 0, "mem_2": 1}, abs=0.05)
    assert by_id(view, view.cosines(word_vector("tea"))[0]) == pytest.approx({"mem_1": 1, "mem_2": 0}, abs=0.05)
    store.put("mem_2", ["tea"], vectors=anew, category="goal")
    assert refreshed(shelf, store).matrix.scales.size == 3


def test_empty_shelf_answers() -> None:
    view = refreshed(Shelf("ada", MODEL), Rows())
    assert view.size == 0
    assert view.cosines(word_vector("tea"))[0].size == 0
    assert wording([view.postings], [words.hash_of("tea")])[0].bm25.size == 0


def test_rows_without_any_terms_are_taken() -> None:
    store = Rows()
    store.put("mem_1", ["!!!"])
    store.put("mem_2", ["???"], embedded=False)
    assert_same(refreshed(Shelf("ada", MODEL), store), store)


def test_a_word_that_all_have_counts_where_no_memory_has_a_rarer_one() -> None:
    store = Rows()
    for number in range(20):
        store.put(f"mem_{number:06}", ["tea" if number else "tea owl"])
    view = refreshed(Shelf("ada", MODEL), store)
    scores = wording([view.postings], [words.hash_of("tea")])[0].bm25
    assert (scores > 0).all()
    scores = wording([view.postings], [words.hash_of("tea"), words.hash_of("nowhere")])[0].bm25
    assert (scores > 0).all()
    scores = wording([view.postings], [words.hash_of("tea"), words.hash_of("owl")])[0].bm25
    assert scores.argmax() == view.place_of("mem_000000")


def test_a_shelf_of_many_blocks_is_compared_by_several_threads_alike() -> None:
    rng = np.random.default_rng(3)
    made = rng.standard_normal((60_000, 8)).astype(np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    matrix = Matrix()
    for start in range(0, len(made), 4096):
        rows = range(start, min(start + 4096, len(made)))
        matrix.add(rows, [vectors.pack(made[row : row + 1]) for row in rows])
    view = matrix.view()
    assert len(view.blocks) > WORTH_A_THREAD
    cosines, windows = view.best(made[17], len(made))
    assert np.abs(cosines - made @ made[17]).max() < 0.02
    assert cosines.argmax() == 17
    assert not windows.any()


def test_what_a_search_uses_is_not_dropped_however_large_it_is() -> None:
    """The user's shelf and the shared one, searched together, are over the limit: both stay."""
    store = Rows()
    for number in range(100):
        store.put(f"mem_{number:06}", text(random.Random(number)))
    few = Shelves(store, models=[MODEL], limit_bytes=1)
    few.look("t", "carol")
    few.look_at("t", ["ada", None])
    loads = store.loads
    for _ in range(3):
        assert few.are_loaded("t", ["ada", None])
        few.look_at("t", ["ada", None])
    assert store.loads == loads
    few.look_at("t", ["carol"])
    assert store.loads == loads + 1


@pytest.mark.parametrize("windows", [1, 3])
def test_of_what_does_not_fit_the_oldest_are_found_by_their_words_alone(
    windows: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(reading, "_PAGE", 64)
    monkeypatch.setattr(row_ids, "_FEW", 16)
    store = Rows()
    rng = random.Random(5)
    for number in range(1000):
        store.put(f"mem_{number:06}", text(rng, windows))
    whole = Shelves(store, models=[MODEL], limit_bytes=1 << 30)
    whole.look("t", "ada")
    limit = whole.size_bytes() - 1000 * DIMENSIONS * windows // 2
    small = Shelves(store, models=[MODEL], limit_bytes=limit)
    for round_ in range(2):
        view = small.look("t", "ada")
        embedded = view.columns["windows"] > 0
        assert 100 < np.count_nonzero(embedded) < 900
        assert embedded[-1]
        assert not embedded[:50].any()
        cosines = view.cosines(word_vector("tea by the river"))[0]
        for place in np.flatnonzero(embedded).tolist():
            expected = max(
                float(word_vector(one) @ word_vector("tea by the river")) for one in store.texts[view.ids[place]]
            )
            assert cosines[place] == pytest.approx(expected, abs=0.01)
        assert not cosines[~embedded].any()
        assert view.postings.size == view.size
        assert small.size_bytes() <= limit
        for number in range(50 * round_, 50 * round_ + 50):
            store.put(f"new_{number:06}", text(rng, windows))
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 1
    assert "index_memory_mb" in told[0]
