"""What is saved of a shelf is what a process that begins would read, or it is thrown away."""

import errno
import os
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorist.recall.index import arranging, row_ids, saving, snapshot
from memorist.recall.index.arranging import arranged
from memorist.recall.index.cache import Shelves
from memorist.recall.index.saving import Saving
from memorist.recall.index.shelf import Shelf
from memorist.recall.index.snapshot_folder import SnapshotFolder
from tests.recall.index_rows import MODEL, Rows, assert_same, refreshed, text
from tests.support.models import word_vector

ROWS = 300


class Process:
    """What one process has over a store and a folder."""

    def __init__(self, store: Rows, folder: SnapshotFolder, *, limit_bytes: int = 1 << 30, model: str = MODEL) -> None:
        self.saving = Saving(store, folder, model)  # type: ignore[arg-type]
        self.shelves = Shelves(store, models=[model], limit_bytes=limit_bytes, saving=self.saving)  # type: ignore[arg-type]

    def look(self, user: str | None = "ada") -> Any:
        return self.shelves.look("t", user)

    def end(self) -> None:
        """Ends once what it saves is saved."""
        self.shelves.finish_saving()
        self.shelves.close()


@pytest.fixture(params=[1 << 30, 100], ids=["plain", "listed"])
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> SnapshotFolder:
    return SnapshotFolder(tmp_path / "shelves", 1 << 30, smallest=10, listed_from=request.param)


@pytest.fixture
def store() -> Rows:
    made = Rows()
    rng = random.Random(1)
    for number in range(ROWS):
        made.put(f"mem_{number:06}", text(rng, rng.choice((1, 1, 3))), thread=rng.choice(("", "s1", "s2")))
    return made


@pytest.fixture
def file(folder: SnapshotFolder, store: Rows) -> Path:
    """A file that one process saved."""
    process = Process(store, folder)
    process.look()
    process.end()
    (found,) = folder.path.iterdir()
    return found


def is_restored(store: Rows, folder: SnapshotFolder) -> bool:
    """Whether a new process, which must say what the store does, read no row that it need not."""
    loads = store.loads
    process = Process(store, folder)
    assert_same(process.look(), store)
    process.end()
    return store.loads == loads


def test_next_process_reads_the_file_and_what_changed_since(folder: SnapshotFolder, store: Rows, file: Path) -> None:
    assert is_restored(store, folder)
    rng = random.Random(2)
    for number in range(0, ROWS + 40, 20):
        row = store.rows.get(f"mem_{number:06}")
        store.put(f"mem_{number:06}", text(rng), thread="s1" if row is None else row.thread)
    assert is_restored(store, folder)
    assert file.stat().st_mode & 0o777 == 0o600
    assert folder.path.stat().st_mode & 0o777 == 0o700


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([1 << 30, 20]))
def test_saved_shelf_goes_on_as_the_one_that_was_not(
    tmp_path_factory: pytest.TempPathFactory, seed: int, listed_from: int
) -> None:
    rng = random.Random(seed)
    store, shelf, number = Rows(), Shelf("ada", MODEL), 0
    folder = tmp_path_factory.mktemp("saved")
    for round_ in range(4):
        path = folder / f"{round_}"  # Never the same: what is mapped must not change.
        for _ in range(rng.choice((1, 30, 90))):
            if rng.random() < 0.6 or not store.rows:
                number += 1
                memory_id = f"mem_{number:06}"
            else:
                memory_id = rng.choice(sorted(store.rows))
            thread = store.rows[memory_id].thread if memory_id in store.rows else rng.choice(("", "s1", "s2"))
            keeps = memory_id in store.rows and rng.random() < 0.5
            windows = store.texts[memory_id] if keeps else text(rng, rng.choice((1, 1, 2)))
            store.put(memory_id, windows, embedded=rng.random() < 0.7, thread=thread)
        refreshed(shelf, store)
        with path.open("wb") as out:
            snapshot.write(out, arranged(shelf.saved(), listed_from), ["whose"])
        shelf = Shelf("ada", MODEL)
        shelf.map(snapshot.read(path, ["whose"], writable="column."))
        assert_same(refreshed(shelf, store), store)


def test_saved_shelf_takes_hardly_any_memory_of_its_own(folder: SnapshotFolder, store: Rows) -> None:
    process = Process(store, folder)
    process.look()
    before = process.shelves.size_bytes()
    process.end()
    empty = Shelf("ada", MODEL).size_bytes()
    assert process.shelves.size_bytes() - empty < (before - empty) / 50
    assert_same(process.look(), store)


@pytest.mark.parametrize("is_same_history", [True, False])
def test_process_that_read_all_rows_takes_over_what_another_saved(
    folder: SnapshotFolder, store: Rows, is_same_history: bool
) -> None:
    same_folder = SnapshotFolder(folder.path, 1 << 30, smallest=ROWS * 2, listed_from=folder.listed_from)
    late, first = Process(store, same_folder), Process(store, folder)
    late.look()
    before = late.shelves.size_bytes()
    store.put("mem_later", ["the last pelican"])
    first.look()
    first.end()
    (file,) = folder.path.iterdir()
    number, loads = file.stat().st_ino, store.loads
    if not is_same_history:
        store.rows["mem_later"] = store.rows["mem_later"]._replace(digest=7)
    same_folder.smallest = 10
    late.look()
    late.shelves.finish_saving()
    if is_same_history:
        assert late.shelves.size_bytes() < before / 2
        assert (file.stat().st_ino, store.loads) == (number, loads)
    assert_same(late.look(), store)
    late.end()


def test_views_are_not_disturbed_by_saving(folder: SnapshotFolder, store: Rows) -> None:
    process = Process(store, folder)
    view = process.look()
    question = word_vector("tea by the river")
    before = view.cosines(question)[0].copy()
    process.end()
    assert (view.cosines(question)[0] == before).all()
    assert_same(view, store)


def test_a_shelf_above_the_limit_keeps_its_vectors_where_it_is_saved(folder: SnapshotFolder, store: Rows) -> None:
    process = Process(store, folder, limit_bytes=1)
    assert_same(process.look(), store)
    process.end()
    assert_same(process.look(), store)


def test_what_changed_much_is_saved_again(folder: SnapshotFolder, store: Rows, file: Path) -> None:
    first = file.stat().st_ino
    for number in range(5):
        store.put(f"new_{number:06}", ["tea"])
    assert is_restored(store, folder)
    assert file.stat().st_ino == first
    for number in range(ROWS):
        store.put(f"newer_{number:06}", ["tea"])
    assert is_restored(store, folder)
    assert file.stat().st_ino != first
    assert is_restored(store, folder)


def damaged(file: Path, change: Callable[[bytearray], bytearray]) -> None:
    content = change(bytearray(file.read_bytes()))
    file.unlink()  # What is mapped must not change.
    file.write_bytes(content)


def flip(at: float) -> Callable[[bytearray], bytearray]:
    def change(content: bytearray) -> bytearray:
        content[int(at * (len(content) - 1))] ^= 0x10
        return content

    return change


@pytest.mark.parametrize("at", [0.0, 0.3, 0.6, 0.98, 1.0])
def test_damaged_file_is_thrown_away_and_made_anew(
    folder: SnapshotFolder, store: Rows, file: Path, at: float, caplog: pytest.LogCaptureFixture
) -> None:
    damaged(file, flip(at))
    assert not is_restored(store, folder)
    assert "thrown away" in caplog.text
    assert is_restored(store, folder)


@pytest.mark.parametrize("length", [0, 10, 5000])
def test_file_that_is_cut_short_is_thrown_away(folder: SnapshotFolder, store: Rows, file: Path, length: int) -> None:
    damaged(file, lambda content: content[:length])
    assert not is_restored(store, folder)
    assert is_restored(store, folder)


@pytest.mark.usefixtures("file")
def test_file_of_another_format_is_thrown_away(
    folder: SnapshotFolder, store: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "FORMAT", snapshot.FORMAT + 1)
    assert not is_restored(store, folder)
    assert is_restored(store, folder)


def test_file_of_another_user_or_model_is_not_read(folder: SnapshotFolder, store: Rows, file: Path) -> None:
    others = [folder.file_of("t", "bob", MODEL), folder.file_of("t2", "ada", MODEL), folder.file_of("t", "ada", "m2")]
    for other in others:
        other.write_bytes(file.read_bytes())
    loads = store.loads
    for tenant, user, model in (("t", "bob", MODEL), ("t2", "ada", MODEL), ("t", "ada", "m2")):
        process = Process(store, folder, model=model)
        process.shelves.look(tenant, user)
        process.end()
    assert store.loads == loads + 3


# Other histories


@pytest.mark.usefixtures("file")
def test_database_that_is_behind_the_file_is_read_anew(folder: SnapshotFolder, store: Rows) -> None:
    """As after a backup was put in its place."""
    for memory_id in sorted(store.rows)[-30:]:
        del store.rows[memory_id]
    assert not is_restored(store, folder)


@pytest.mark.parametrize("what", ["new", "edited", "other edited"])
def test_another_history_that_is_past_the_file_is_read_anew(folder: SnapshotFolder, store: Rows, what: str) -> None:
    rows, texts = dict(store.rows), dict(store.texts)
    for number in range(5):
        store.put("new" if what == "new" else "mem_000007", [f"a first history {number}"])
    Process(store, folder).end()
    process = Process(store, folder)
    process.look()
    process.end()
    # A backup takes the place of the database, and goes on, past what was saved.
    store.rows, store.texts, store._changes = rows, texts, iter(range(ROWS + 1, 10_000))
    for number in range(20):
        store.put("mem_000009" if what == "other edited" else "mem_000100", [f"another history {number}"])
        store.put("mem_000003", store.texts["mem_000003"], category="goal")
    assert not is_restored(store, folder)


# Erasure


@pytest.mark.usefixtures("file")
def test_file_with_a_row_that_is_gone_is_read_anew(folder: SnapshotFolder, store: Rows) -> None:
    """One that another machine erased."""
    del store.rows["mem_000005"]
    assert not is_restored(store, folder)
    assert is_restored(store, folder)


def test_shelf_with_a_row_that_is_gone_is_not_saved(folder: SnapshotFolder, store: Rows) -> None:
    process = Process(store, folder)
    with process.shelves._shelf(("t", "ada")).lock:
        process.look()
        del store.rows["mem_000005"]
    process.end()
    assert list(folder.path.iterdir()) == [] if folder.path.exists() else True
    assert_same(process.look(), store)


def test_erasure_while_the_file_is_written_leaves_none(
    folder: SnapshotFolder, store: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = snapshot.write

    def and_erase(*arguments: Any) -> None:
        write(*arguments)
        del store.rows["mem_000005"]  # And no file is there yet that could be removed.

    monkeypatch.setattr(snapshot, "write", and_erase)
    process = Process(store, folder)
    process.look()
    process.end()
    assert list(folder.path.iterdir()) == []


def test_draft_that_an_erasure_removes_does_not_appear(
    folder: SnapshotFolder, store: Rows, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    write = snapshot.write

    def and_remove(*arguments: Any) -> None:
        write(*arguments)
        assert len(list(folder.path.iterdir())) == 1
        folder.remove("t", ["ada"])

    monkeypatch.setattr(snapshot, "write", and_remove)
    process = Process(store, folder)
    process.look()
    process.end()
    assert list(folder.path.iterdir()) == []
    assert not caplog.records


def test_files_of_some_users_or_of_a_tenant_are_removed(folder: SnapshotFolder, store: Rows) -> None:
    keys = [("t", "ada"), ("t", None), ("t", "bob"), ("other", "ada")]
    for tenant, user in keys:
        process = Process(store, folder)
        process.shelves.look(tenant, user)
        process.end()
    names = {key: folder.file_of(*key, MODEL).name for key in keys}
    assert {one.name for one in folder.path.iterdir()} == set(names.values())
    folder.remove("t", ["ada", None])
    assert {one.name for one in folder.path.iterdir()} == {names["t", "bob"], names["other", "ada"]}
    folder.remove("t")
    assert {one.name for one in folder.path.iterdir()} == {names["other", "ada"]}
    folder.clear()
    assert list(folder.path.iterdir()) == []


# Two at once, and what goes wrong


def assert_next_process_makes_lists(store: Rows, folder: SnapshotFolder) -> None:
    following = Process(store, folder)
    assert not following.look().is_large
    following.shelves.finish_saving()
    assert following.look().is_large
    assert_same(following.look(), store)
    following.end()


def test_who_closes_does_not_wait_for_lists_and_the_next_process_makes_them(
    tmp_path: Path, store: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = SnapshotFolder(tmp_path / "shelves", 1 << 30, smallest=10, listed_from=100)
    began, closes = threading.Event(), threading.Event()
    wait_for = arranging.sample_of

    def waits(size: int) -> Any:
        began.set()
        assert closes.wait(60)
        return wait_for(size)

    monkeypatch.setattr(arranging, "sample_of", waits)
    process = Process(store, folder)
    process.look()
    assert began.wait(60)
    ended = threading.Thread(target=process.shelves.close)
    ended.start()
    while process.saving._worker is not None:
        ended.join(0.01)
    closes.set()
    ended.join()
    monkeypatch.undo()
    assert_next_process_makes_lists(store, folder)
    assert is_restored(store, folder)


def test_who_closes_while_lists_are_added_to_leaves_them_to_the_next_process(
    tmp_path: Path, store: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = SnapshotFolder(tmp_path / "shelves", 1 << 30, smallest=10, listed_from=100, rest_s=0)
    process = Process(store, folder)
    process.look()
    process.shelves.finish_saving()
    assert process.look().is_large
    for number in range(50):
        store.put(f"mem_9{number:05}", [f"an owl {number}"])
    shelf = process.shelves._shelf(("t", "ada"))
    with monkeypatch.context() as patched:
        patched.setattr(process.saving, "_worker", None)
        assert process.saving._saved("t", shelf)
    process.end()
    assert_next_process_makes_lists(store, folder)


def test_who_asks_while_somebody_closes_is_answered(folder: SnapshotFolder, store: Rows) -> None:
    process = Process(store, folder)
    held = process.saving._lock

    class _ClosesWhenItIsFree:
        def __enter__(self) -> None:
            held.acquire()

        def __exit__(self, *_: object) -> None:
            process.saving._lock = held
            held.release()
            process.shelves.close()

    process.saving._lock = _ClosesWhenItIsFree()  # type: ignore[assignment]
    assert_same(process.look(), store)
    assert process.saving._worker is None


def test_nothing_is_written_again_where_too_few_vectors_are_left_for_lists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = SnapshotFolder(tmp_path / "shelves", 1 << 30, smallest=10, listed_from=1 << 30, rest_s=0)
    store = Rows()
    for number in range(150):
        store.put(f"mem_{number:05}", [f"tea {number}"])
    process = Process(store, folder)
    process.look()
    for number in range(80):
        store.put(f"mem_{number:05}", [f"tea {number}"], embedded=False)
    process.look()
    process.shelves.finish_saving()
    process.look()
    process.shelves.finish_saving()
    folder.listed_from = 100

    def refused(*_: object) -> None:
        raise AssertionError("there is nothing to write")

    monkeypatch.setattr(folder, "writing", refused)
    assert not process.shelves._shelf(("t", "ada")).lacks_lists(100)
    process.look()
    process.end()


def test_what_is_erased_while_lists_are_made_is_not_written(
    tmp_path: Path, store: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = SnapshotFolder(tmp_path / "shelves", 1 << 30, smallest=10, listed_from=100)
    erased, written = min(store.rows), []
    sample_of, write = arranging.sample_of, snapshot.write

    def erases(size: int) -> Any:
        store.rows.pop(erased, None)
        folder.remove("t")
        return sample_of(size)

    def notes(*given: Any) -> None:
        written.append(given)
        write(*given)

    monkeypatch.setattr(arranging, "sample_of", erases)
    monkeypatch.setattr(snapshot, "write", notes)
    process = Process(store, folder)
    process.look()
    process.end()
    assert erased not in store.rows
    assert not written
    assert not list(folder.path.iterdir())


def test_two_processes_that_save_at_once_leave_one_whole_file(
    folder: SnapshotFolder, store: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    both_write = threading.Barrier(2)
    write = snapshot.write

    def together(*arguments: Any) -> None:
        both_write.wait(30)
        write(*arguments)
        both_write.wait(30)

    monkeypatch.setattr(snapshot, "write", together)
    processes = [Process(store, folder), Process(store, folder)]
    for process in processes:
        process.look()
    for process in processes:
        process.end()
        assert_same(process.look(), store)
    assert len(list(folder.path.iterdir())) == 1
    assert is_restored(store, folder)


def test_full_disk_is_told_once_and_recall_goes_on(
    folder: SnapshotFolder, store: Rows, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(snapshot, "write", full)
    process = Process(store, folder)
    for user in ("ada", "bob", "ada", None):
        assert_same(process.look(user), store)
    process.end()
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 1
    assert "No space left" in told[0]
    assert list(folder.path.iterdir()) == []


def test_folder_that_cannot_be_made_is_told_once(tmp_path: Path, store: Rows, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("no folder")
    process = Process(store, SnapshotFolder(tmp_path / "file" / "shelves", 1 << 30, smallest=10))
    for _ in range(3):
        assert_same(process.look(), store)
    process.end()
    assert len(caplog.records) == 1


def test_shelf_that_no_file_takes_gives_up_vectors_instead(
    tmp_path: Path, store: Rows, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(row_ids, "_FEW", 16)
    process = Process(store, SnapshotFolder(tmp_path / "shelves", 100, smallest=10), limit_bytes=1)
    assert_same(process.look(), store)
    process.end()
    view = process.look()
    assert not view.columns["windows"].any()
    assert np.count_nonzero(view.postings.lengths) == view.size
    assert "index_disk_mb" in caplog.text
    assert "index_memory_mb" in caplog.text


def test_whether_a_file_with_lists_has_room_is_known_before_they_are_made(
    tmp_path: Path, store: Rows, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    shelf = Shelf("ada", MODEL)
    refreshed(shelf, store)
    plain, expected = (arranging.size_bytes(shelf.saved(), least) for least in (1 << 30, 100))
    made = arranged(shelf.saved(), 100)
    assert plain == shelf.saved().size_bytes < expected
    assert expected == pytest.approx(made.size_bytes, rel=0.1)
    assert arranging.size_bytes(made, 100) == made.size_bytes

    def refused(*_: Any) -> None:
        raise AssertionError("they would not fit")

    monkeypatch.setattr(saving, "arranged", refused)
    small = SnapshotFolder(tmp_path / "shelves", (plain + expected) // 2, smallest=10, listed_from=100)
    process = Process(store, small)
    assert_same(process.look(), store)
    process.end()
    assert "index_disk_mb" in caplog.text
    assert not small.path.exists()


def test_file_keeps_two_handles_and_of_it_only_columns_can_be_written(file: Path) -> None:
    whose = [file.name, MODEL]
    before = len(os.listdir("/proc/self/fd"))
    found = snapshot.read(file, whose, writable="column.")
    assert len(os.listdir("/proc/self/fd")) == before + 2
    can_be = {name: array.flags.writeable for name, (array,) in found.arrays.items()}
    assert {name for name, is_writable in can_be.items() if is_writable} == {
        name for name in can_be if name.startswith("column.")
    }
    assert not all(can_be.values())


def test_files_used_least_lately_make_room(folder: SnapshotFolder, store: Rows, file: Path) -> None:
    small = SnapshotFolder(folder.path, int(file.stat().st_size * 2.5), smallest=10)
    os.utime(file, (1, 1))
    left_behind = file.with_suffix(".0a0a0a0a.part")
    left_behind.write_text("of a process that was killed")
    os.utime(left_behind, (1, 1))
    process = Process(store, small)
    for user in ("bob", "carol"):
        process.look(user)
        process.shelves.finish_saving()
    process.end()
    assert {one.name for one in folder.path.iterdir()} == {
        small.file_of("t", user, MODEL).name for user in ("bob", "carol")
    }


def test_small_shelves_are_not_saved(tmp_path: Path, store: Rows) -> None:
    folder = SnapshotFolder(tmp_path / "shelves", 1 << 30)
    process = Process(store, folder)
    process.look()
    process.end()
    assert not folder.path.exists()


def test_questions_leave_no_memory_behind_in_a_shelf_that_is_a_file(store: Rows, tmp_path: Path) -> None:
    folder = SnapshotFolder(tmp_path / "shelves", 1 << 30, smallest=10, listed_from=100)
    first = Process(store, folder)
    first.look("ada")
    first.end()
    process = Process(store, folder)
    view = process.look("ada")
    plain = process.shelves.size_bytes()
    assert view.matrix.near(word_vector("tea")).places.size
    process.look("ada")
    assert process.shelves.size_bytes() == plain
    process.end()
