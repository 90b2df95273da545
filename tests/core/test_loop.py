"""The background loop: it works, waits, is woken, survives whatever fails, and ends when it is told to."""

import logging
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from memorist.bootstrap import open_core
from memorist.core import Core
from memorist.errors import MemoristError, StoreUnavailable
from memorist.platform import loop as loops_module
from memorist.platform.loop import Loop, TenantLoop, unexpected_is_logged
from tests.support.stores import bare

SOON = 20
NEVER = 3600.0


class Waits(threading.Event):
    """An event that is never waited for: it notes how long that would have been, and is set as the test says."""

    def __init__(self, rounds: int, end: Callable[[], None]) -> None:
        super().__init__()
        self.seconds: list[float] = []
        self._rounds = rounds
        self._end = end

    def wait(self, timeout: float | None = None) -> bool:
        self.seconds.append(timeout or 0)
        if len(self.seconds) > self._rounds:
            self._end()
        return True


@pytest.fixture
def loops() -> Iterator[list[Loop]]:
    made: list[Loop] = []
    yield made
    for loop in made:
        loop.close()


def waits_of(loop: Loop, rounds: int) -> list[float]:
    """How long a loop waits before each of its rounds."""
    ended = threading.Event()

    def end() -> None:
        loop.stop()
        ended.set()

    waits = loop._woken = Waits(rounds, end)
    loop.start()
    assert ended.wait(SOON)
    loop.close()
    return waits.seconds[:rounds]


def test_loop_works_at_once_and_when_it_is_woken(loops: list[Loop]) -> None:
    worked = threading.Semaphore(0)
    loop = Loop("test", lambda: worked.release(), NEVER)
    loops.append(loop)
    loop.start()
    assert worked.acquire(timeout=SOON)
    loop.wake()
    assert worked.acquire(timeout=SOON)
    loop.close()
    assert not loop.is_alive


def test_loop_that_is_told_so_waits_first() -> None:
    assert waits_of(Loop("test", lambda: None, 5, at_once=False), 2) == [5, 5]
    assert waits_of(Loop("test", lambda: None, 5), 2) == [0, 5]


def test_work_says_when_it_is_done_again() -> None:
    asked = iter([1.5, None, 0.25])
    assert waits_of(Loop("test", lambda: next(asked), 5), 4) == [0, 1.5, 5, 0.25]


def test_failures_are_waited_for_longer_up_to_a_bound() -> None:
    outcomes = iter([True, True, True, True, False, True])

    def work() -> None:
        if next(outcomes):
            raise StoreUnavailable("It is away.")

    assert waits_of(Loop("test", work, 1, 3), 7) == [0, 2, 4, 8, 8, 1, 2]


@pytest.mark.parametrize("error", [StoreUnavailable("It is away."), ZeroDivisionError("a secret")])
def test_loop_survives_any_failure_and_tells_of_it_once(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    def work() -> None:
        raise error

    with caplog.at_level(logging.WARNING):
        waits_of(Loop("test", work, 0), 5)
    told = [record for record in caplog.records if "is done again" in record.getMessage()]
    assert len(told) == 1


def test_one_that_fails_keeps_no_other_from_it() -> None:
    done: list[str] = []

    def work(name: str) -> None:
        if name == "b":
            raise MemoristError("no")
        done.append(name)

    loop = Loop("test", lambda: None, NEVER)
    assert loop.each(["a", "b", "c"], work) == ["b"]
    assert done == ["a", "c"]
    loop.close()
    assert loop.each(["d"], work) == []
    assert done == ["a", "c"]


def test_first_and_last_are_done_on_the_thread_in_this_order(loops: list[Loop]) -> None:
    done: list[str] = []
    worked = threading.Event()

    def work() -> None:
        done.append("work")
        worked.set()

    loop = Loop("test", work, NEVER, last=lambda: done.append("last"))
    loops.append(loop)
    loop.start(first=lambda: done.append("first"))
    assert worked.wait(SOON)
    loop.close()
    assert done == ["first", "work", "last"]


def test_nothing_starts_without_a_background_or_after_the_end() -> None:
    loop = Loop("test", lambda: pytest.fail("it worked"), 0, background=False)
    loop.start()
    assert not loop.is_alive
    ended = Loop("test", lambda: pytest.fail("it worked"), 0)
    ended.close()
    ended.start()
    assert not ended.is_alive


def test_loop_ends_in_the_middle_of_its_work(loops: list[Loop]) -> None:
    began = threading.Event()

    def work() -> None:
        began.set()
        assert loop.rest(NEVER)

    loop = Loop("test", work, NEVER)
    loops.append(loop)
    loop.start()
    assert began.wait(SOON)
    loop.close()
    assert not loop.is_alive


def test_tenant_is_worked_for_soon_and_again_where_that_failed(core: Core, tenant: str, loops: list[Loop]) -> None:
    outcomes = iter([StoreUnavailable("It is away."), None])
    done = threading.Event()

    def work(told: str) -> None:
        assert told == tenant
        error = next(outcomes, None)
        if error is not None:
            raise error
        done.set()

    loop = TenantLoop("test", core.store, work, 0.001, 1)
    loops.append(loop)
    loop.tell(tenant)
    assert done.wait(SOON)


def test_tenant_that_fails_is_put_off_while_others_have_work(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []
    seconds = 0.0

    def work(tenant: str) -> None:
        tried.append(tenant)
        if tenant == "bad":
            raise StoreUnavailable
        loop.again(tenant)

    monkeypatch.setattr(loops_module, "time", SimpleNamespace(monotonic=lambda: seconds))
    loop = TenantLoop("test", lambda _after, _limit: [], work, 1, 2, background=False, spare=lambda: True)
    loop.tell("bad")
    loop.tell("good")
    tries: list[float] = []
    while seconds < 14:
        tried.clear()
        assert loop._go_round() == 0, "others go on at once"
        tries += [seconds] * tried.count("bad")
        assert "good" in tried
        seconds += 0.5
    assert tries == [0, 2, 6, 10]
    tried.clear()
    loop.tell("bad")
    loop._go_round()
    assert "bad" in tried, "there is something new to do"


def test_only_errors_of_our_own_leave_and_say_no_more_than_they_should(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(StoreUnavailable), unexpected_is_logged("it"):
        raise StoreUnavailable
    assert not caplog.records
    with pytest.raises(MemoristError, match="ZeroDivisionError") as caught, unexpected_is_logged("it"):
        raise ZeroDivisionError("a secret")
    assert "a secret" not in caught.value.message
    assert "it failed unexpectedly" in caplog.text


def test_core_without_a_background_starts_no_thread(core_at_rest: Core) -> None:
    tenant = core_at_rest.identity.create_tenant("resting")[0].id
    before = threading.active_count()
    core_at_rest.start()
    core_at_rest.jobs.wake(tenant)
    assert threading.active_count() == before


@pytest.fixture
def core_at_rest(sqlite_url: str) -> Iterator[Core]:
    core = open_core(bare(sqlite_url), background=False)
    yield core
    core.close()
