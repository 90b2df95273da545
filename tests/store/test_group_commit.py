"""Concurrent writers share a commit, and nothing else: not their errors, not their results."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from memorist.bootstrap import open_store
from memorist.errors import Conflict, MemoristError, StoreError
from memorist.memories import writing
from memorist.platform.values import Tenant
from memorist.store.group_commit import GroupCommit, QueuedWork
from memorist.store.sql_store import SqlStore
from memorist.testing import make_event, make_key, make_memory
from memorist.testing.clocks import START
from tests.support.stores import bare, checked

TENANT = "t"


@pytest.fixture
def store(sqlite_url: str) -> SqlStore:
    store = open_store(bare(sqlite_url))
    store.migrator.migrate(START)
    store.create_tenant(Tenant(TENANT, START))
    yield store
    store.close()


class Line:
    """Holds a first writer inside its transaction until the others stand in line behind it."""

    def __init__(self, store: SqlStore) -> None:
        self.queue = store.driver._queue
        self.inside = threading.Event()
        self.go_on = threading.Event()

    def first(self, _: object) -> str:
        self.inside.set()
        assert self.go_on.wait(30)
        return "first"

    def wait_for(self, waiting: int) -> None:
        while len(self.queue._waiting) < waiting:
            assert not self.go_on.wait(0.001)


def write_in_line(store: SqlStore, works: Sequence) -> list:
    """Run all works in one shared transaction; return their results or errors in order."""
    line = Line(store)
    with ThreadPoolExecutor(len(works) + 1) as threads:
        first = threads.submit(store.write, TENANT, line.first)
        assert line.inside.wait(30)
        futures = []
        for position, work in enumerate(works, start=1):
            futures.append(threads.submit(store.write, TENANT, work))
            line.wait_for(position)
        line.go_on.set()
        assert first.result(30) == "first"
        return [future.exception(30) or future.result() for future in futures]


def commits(store: SqlStore) -> list[str]:
    """Every COMMIT from now on."""
    seen: list[str] = []
    store.driver._writer.trace_v2(1, lambda event: seen.append(event["sql"]) if event.get("sql") == "COMMIT" else None)
    return seen


def test_waiting_writers_share_one_commit(store: SqlStore) -> None:
    seen = commits(store)
    memories = [make_memory(TENANT) for _ in range(20)]
    results = write_in_line(store, [lambda tx, m=memory: writing.insert(tx, m) for memory in memories])
    assert results == [True] * 20
    assert len(seen) == 2
    assert len(store.read(TENANT, lambda tx: tx.memories.get_many([memory.id for memory in memories]))) == 20


def test_sixteen_threads_need_far_fewer_commits_than_writes(store: SqlStore) -> None:
    seen = commits(store)

    def write(_: int) -> None:
        memory = make_memory(TENANT)
        store.write(TENANT, lambda tx: (writing.insert(tx, memory), tx.events.append([make_event(memory)])))

    with ThreadPoolExecutor(16) as threads:
        list(threads.map(write, range(800)))
    assert checked(store, TENANT) == "ok"
    print(f"{len(seen)} commits for 800 writes")
    assert 0 < len(seen) <= 800 / 2


def test_failing_job_does_not_hurt_its_neighbours(store: SqlStore) -> None:
    before, torn, after = make_memory(TENANT), make_memory(TENANT), make_memory(TENANT)

    def fail(tx) -> None:
        writing.insert(tx, torn)
        raise LookupError("only mine")

    results = write_in_line(
        store, [lambda tx: writing.insert(tx, before), fail, lambda tx: writing.insert(tx, after), lambda _: "last"]
    )
    assert [results[0], results[2], results[3]] == [True, True, "last"]
    assert isinstance(results[1], LookupError)
    found = store.read(TENANT, lambda tx: tx.memories.get_many([before.id, torn.id, after.id]))
    assert {memory.id for memory in found} == {before.id, after.id}


def test_each_error_reaches_its_own_caller(store: SqlStore) -> None:
    def fail(number: int):
        def work(_) -> None:
            raise LookupError(number)

        return work

    results = write_in_line(store, [fail(number) for number in range(10)])
    assert [error.args for error in results] == [(number,) for number in range(10)]


def test_database_error_of_one_job_is_translated_and_stays_its_own(store: SqlStore) -> None:
    key = make_key(TENANT)
    results = write_in_line(
        store,
        [*[lambda tx: tx.keys.insert(key)] * 2, lambda tx: writing.insert(tx, make_memory(TENANT))],
    )
    assert results[0] is None
    assert isinstance(results[1], Conflict)
    assert results[2] is True


def test_each_job_sees_what_those_before_it_wrote(store: SqlStore) -> None:
    memory = make_memory(TENANT)
    results = write_in_line(store, [lambda tx: writing.insert(tx, memory), lambda tx: tx.memories.get(memory.id)])
    assert results == [True, memory]


def test_many_threads_with_some_failures_keep_exactly_the_successes(store: SqlStore) -> None:
    def write(number: int) -> str | None:
        memory = make_memory(TENANT)

        def work(tx) -> str:
            writing.insert(tx, memory)
            tx.events.append([make_event(memory)])
            if number % 7 == 0:
                raise LookupError(number)
            return memory.id

        if number % 7 == 0:
            with pytest.raises(LookupError, match=f"^{number}$"):
                store.write(TENANT, work)
            return None
        return store.write(TENANT, work)

    with ThreadPoolExecutor(16) as threads:
        ids = [memory_id for memory_id in threads.map(write, range(300)) if memory_id]
    stored = store.driver.read(
        TENANT, lambda connection: connection.rows(store.statements["count_memories"], {"tenant": TENANT})
    )
    assert stored == [(len(ids),)]
    assert checked(store, TENANT) == "ok"


def test_failed_commit_is_acknowledged_to_nobody(store: SqlStore) -> None:
    memories = [make_memory(TENANT) for _ in range(5)]
    ids = [memory.id for memory in memories]

    def break_the_commit(_) -> None:
        store.driver._writer.set_commit_hook(lambda: True)

    results = write_in_line(
        store, [break_the_commit, *(lambda tx, m=memory: writing.insert(tx, m) for memory in memories)]
    )
    assert [isinstance(error, MemoristError) for error in results] == [True] * 6
    store.driver._writer.set_commit_hook(None)
    assert store.read(TENANT, lambda tx: tx.memories.get_many(ids)) == []
    assert store.write(TENANT, lambda tx: writing.insert(tx, memories[0])) is True


# The line itself, without a database


class Interrupted(BaseException):
    """Stands for a KeyboardInterrupt."""


def run_all(batch: Sequence[QueuedWork]) -> None:
    for job in batch:
        job.result = job.work()


def test_broken_commit_is_acknowledged_to_nobody() -> None:
    """Even where the commit and its undoing both fail, no caller is told that it was written."""
    inside, go_on = threading.Event(), threading.Event()
    broken = threading.Event()

    def commit(batch: Sequence[QueuedWork]) -> None:
        run_all(batch)
        if broken.is_set():
            raise OSError("the disk is gone")

    queue = GroupCommit(commit)

    def first() -> None:
        inside.set()
        go_on.wait(30)

    with ThreadPoolExecutor(5) as threads:
        leader = threads.submit(queue.submit, first)
        inside.wait(30)
        others = [threads.submit(queue.submit, lambda: "written") for _ in range(4)]
        while len(queue._waiting) < 4:
            assert not go_on.wait(0.001)
        broken.set()
        go_on.set()
        assert isinstance(leader.exception(30), OSError)
        assert [type(other.exception(30)) for other in others] == [OSError] * 4
    broken.clear()
    assert queue.submit(lambda: "written") == "written"


def test_interrupt_reaches_only_the_thread_that_leads() -> None:
    inside, go_on = threading.Event(), threading.Event()

    def interrupt() -> None:
        raise Interrupted

    queue = GroupCommit(run_all)

    def first() -> None:
        inside.set()
        go_on.wait(30)

    with ThreadPoolExecutor(3) as threads:
        leader = threads.submit(queue.submit, first)
        inside.wait(30)
        interrupted = threads.submit(queue.submit, interrupt)
        while len(queue._waiting) < 1:
            assert not go_on.wait(0.001)
        bystander = threads.submit(queue.submit, lambda: "written")
        while len(queue._waiting) < 2:
            assert not go_on.wait(0.001)
        go_on.set()
        leader.result(30)
        assert isinstance(interrupted.exception(30), Interrupted)
        assert isinstance(bystander.exception(30), StoreError)
    assert queue.submit(lambda: "next") == "next"


class InterruptedLock:
    """A lock on which waiting ends with an interrupt once `interrupt` is set."""

    def __init__(self, lock: threading.Lock, interrupt: threading.Event) -> None:
        self.lock, self.interrupt = lock, interrupt

    def acquire(self) -> bool:
        self.interrupt.wait(30)
        raise Interrupted

    def release(self) -> None:
        self.lock.release()


def take_turn(queue: GroupCommit, job: QueuedWork) -> None:
    """What `submit` does with a job that is in line already."""
    try:
        queue._take_turn(job)
    except BaseException:
        queue._step_out(job)
        raise


def test_writer_interrupted_as_it_takes_the_lead_leaves_the_line_moving(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = GroupCommit(run_all)

    def interrupted(_: QueuedWork) -> None:
        raise Interrupted

    with monkeypatch.context() as patch:
        patch.setattr(queue, "_lead", interrupted)
        with pytest.raises(Interrupted):
            queue.submit(lambda: "lost")
    assert queue.submit(lambda: "next") == "next"


@pytest.mark.parametrize("appointed", [False, True], ids=["in line", "just appointed to lead"])
def test_writer_interrupted_while_waiting_leaves_the_line_moving(appointed: bool) -> None:
    inside, go_on, interrupt = threading.Event(), threading.Event(), threading.Event()
    ran: list[str] = []
    queue = GroupCommit(run_all)

    def first() -> None:
        inside.set()
        go_on.wait(30)

    with ThreadPoolExecutor(3) as threads:
        leader = threads.submit(queue.submit, first)
        inside.wait(30)
        impatient = QueuedWork(lambda: ran.append("impatient"))
        impatient.wake = threading.Lock()
        impatient.wake.acquire()
        impatient.wake = InterruptedLock(impatient.wake, interrupt)
        with queue._mutex:
            queue._waiting.append(impatient)
        patient = threads.submit(queue.submit, lambda: ran.append("patient"))
        while len(queue._waiting) < 2:
            assert not go_on.wait(0.001)
        waiting = threads.submit(take_turn, queue, impatient)
        if appointed:
            go_on.set()
            leader.result(30)
            interrupt.set()
        else:
            interrupt.set()
            assert isinstance(waiting.exception(30), Interrupted)
            go_on.set()
        assert isinstance(waiting.exception(30), Interrupted)
        patient.result(30)
    assert ran == ["patient"]
    assert queue.submit(lambda: "next") == "next"
