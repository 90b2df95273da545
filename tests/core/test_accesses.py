"""Reads are counted: at once for whoever asks here, durably when written, and never at the cost of a read."""

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from memorist.bootstrap import open_core
from memorist.core import Core
from memorist.errors import StoreUnavailable
from memorist.memories.values import Memory
from memorist.platform.values import Principal
from memorist.recall.values import Question
from memorist.testing import StepClock
from tests.support.jobs import read_memory
from tests.support.processes import in_process
from tests.support.stores import bare, unwritable

Remember = Callable[..., Memory]


@pytest.fixture
def background() -> bool:
    """The background thread stays asleep: each test says when counts are written."""
    return False


def in_database(core: Core, memory: Memory) -> int:
    found = core.store.read(memory.tenant, lambda tx: tx.memories.get(memory.id))
    assert found is not None
    return found.access_count


def test_each_read_shows_every_read_so_far(core: Core, ada: Principal, remember: Remember) -> None:
    memory = remember(ada)
    assert [core.memories.get(ada, memory.id).access_count for _ in range(3)] == [1, 2, 3]
    assert core.memories.list(ada).items[0].access_count == 3
    assert in_database(core, memory) == 0


def test_read_notes_when_it_was(core: Core, ada: Principal, clock: StepClock, remember: Remember) -> None:
    memory = remember(ada)
    before = clock.now()
    read = core.memories.get(ada, memory.id)
    assert before < read.last_accessed_at < clock.now()


def test_listing_is_no_read(core: Core, ada: Principal, remember: Remember) -> None:
    remember(ada)
    core.memories.list(ada)
    assert core.memories.list(ada).items[0].access_count == 0


def test_refused_read_is_not_counted(core: Core, ada: Principal, bob: Principal, remember: Remember) -> None:
    memory = remember(ada)
    with pytest.raises(Exception, match="no memory"):
        core.memories.get(bob, memory.id)
    core.accesses.flush()
    assert in_database(core, memory) == 0


def test_written_counts_are_neither_lost_nor_doubled(core: Core, ada: Principal, remember: Remember) -> None:
    memory = remember(ada)
    for expected in (1, 2, 3):
        assert core.memories.get(ada, memory.id).access_count == expected
        core.accesses.flush()
        assert in_database(core, memory) == expected
    core.accesses.flush()
    assert in_database(core, memory) == 3


def test_writing_counts_makes_nobody_count_again(core: Core, ada: Principal, remember: Remember) -> None:
    memory = remember(ada)
    told: list[str] = []
    core.store.on_write(told.append)
    core.memories.get(ada, memory.id)
    core.accesses.flush()
    core.audit.flush()
    assert in_database(core, memory) == 1
    assert told == []


def test_counts_of_many_threads_add_up(core: Core, ada: Principal, remember: Remember) -> None:
    memory = remember(ada)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: core.memories.get(ada, memory.id), range(200)))
    core.accesses.flush()
    assert in_database(core, memory) == 200


def test_each_of_many_reads_during_flushes_has_its_own_number(core: Core, ada: Principal, remember: Remember) -> None:
    memory = remember(ada)
    done = threading.Event()

    def keep_flushing() -> None:
        while not done.is_set():
            core.accesses.flush()

    flushing = threading.Thread(target=keep_flushing)
    flushing.start()
    try:
        with ThreadPoolExecutor(8) as threads:
            counts = list(threads.map(lambda _: core.memories.get(ada, memory.id).access_count, range(2000)))
    finally:
        done.set()
        flushing.join()
    assert sorted(counts) == list(range(1, 2001))


def test_row_that_was_read_before_a_flush_counts_what_it_wrote(core: Core, ada: Principal, remember: Remember) -> None:
    row = remember(ada)
    core.memories.get(ada, row.id)
    core.accesses.flush()
    assert core.accesses.overlay(row).access_count == 1
    assert core.memories.get(ada, row.id).access_count == 2


def test_counts_that_could_not_be_written_are_written_later(
    core: Core, ada: Principal, remember: Remember, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = remember(ada)
    core.memories.get(ada, memory.id)

    def fail(*_: object, **__: object) -> None:
        raise StoreUnavailable

    with monkeypatch.context() as broken:
        broken.setattr(core.store, "write", fail)
        with pytest.raises(StoreUnavailable):
            core.accesses.flush()
    assert core.memories.get(ada, memory.id).access_count == 2
    core.accesses.flush()
    assert in_database(core, memory) == 2


def test_a_tenant_that_cannot_be_written_keeps_no_other_from_being_counted(
    core: Core, ada: Principal, remember: Remember
) -> None:
    everybody = [replace(ada, tenant=f"{ada.tenant}-{place}") for place in "abc"]
    for one in everybody:
        core.identity.create_tenant(one.tenant)
    memories = [remember(one, "the kettle is blue") for one in everybody]

    def noted() -> list[tuple[int, int]]:
        """How often each was read and recalled."""
        reads = [in_database(core, memory) for memory in memories]
        recalls = [core.store.read(one.tenant, lambda tx, id_=one.id: tx.recalls.of(id_, 10)) for one in memories]
        return list(zip(reads, map(len, recalls), strict=True))

    for number in (1, 0, 2):  # Whoever fails comes first.
        assert core.recall.recall(everybody[number], Question("kettle", min_score=0.0)).hits
    with unwritable(core.store, everybody[1].tenant), pytest.raises(StoreUnavailable):
        core.accesses.flush()
    assert noted() == [(1, 1), (0, 0), (1, 1)]
    core.accesses.flush()
    assert noted() == [(1, 1)] * 3


def test_closing_makes_counts_durable(database_url: str, core: Core, ada: Principal, remember: Remember) -> None:
    memory = remember(ada)
    other = open_core(bare(database_url), background=False)
    for _ in range(4):
        other.memories.get(ada, memory.id)
    other.close()
    assert in_database(core, memory) == 4


def test_another_process_sees_written_counts(core: Core, ada: Principal, database_url: str, remember: Remember) -> None:
    memory = remember(ada)
    read = core.memories.get(ada, memory.id)
    assert in_process(read_memory, database_url, ada, memory.id) == (0, None)
    core.accesses.flush()
    assert in_process(read_memory, database_url, ada, memory.id) == (1, read.last_accessed_at)


def test_counts_of_two_processes_add_up(core: Core, ada: Principal, database_url: str, remember: Remember) -> None:
    """Also when the later read is written first."""
    memory = remember(ada)
    other = open_core(bare(database_url), background=False)
    core.memories.get(ada, memory.id)
    core.memories.get(ada, memory.id)
    other.memories.get(ada, memory.id)  # By the machine's clock: later than the test's.
    other.close()
    core.accesses.flush()
    assert in_database(core, memory) == 3


def test_count_of_an_erased_memory_is_forgotten(core: Core, ada: Principal, remember: Remember) -> None:
    memory = remember(ada)
    core.memories.get(ada, memory.id)
    core.erasure.reset(ada)
    core.accesses.flush()
    assert core.store.read(ada.tenant, lambda tx: tx.memories.get(memory.id)) is None


def test_count_that_cannot_be_written_never_fails_the_close(
    database_url: str, core: Core, ada: Principal, remember: Remember, caplog: pytest.LogCaptureFixture
) -> None:
    memory = remember(ada)
    other = open_core(bare(database_url), background=False)
    other.memories.get(ada, memory.id)
    other.store.close()
    with caplog.at_level(logging.WARNING):
        other.close()
    assert "reads were not counted" in caplog.text
    assert in_database(core, memory) == 0


def test_background_thread_writes_counts_by_itself(
    database_url: str, core: Core, ada: Principal, remember: Remember, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memorist.memories.accesses._FLUSH_SECONDS", 0.001)
    written = threading.Event()
    memory = remember(ada)
    other = open_core(bare(database_url))
    flush = other.accesses.flush

    def flush_and_tell() -> None:
        flush()
        written.set()

    other.accesses.flush = flush_and_tell
    other.memories.get(ada, memory.id)
    assert written.wait(30)
    assert in_database(core, memory) == 1
    other.close()
