"""Who waits for a model comes in turn by whose they are, however many others came before."""

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memorist.models.embedder import LocalEmbedder
from memorist.models.encoder import _in_order
from memorist.models.fair_share import (
    AT_LEISURE,
    BACKGROUND,
    COMPUTING,
    FairShare,
    Whose,
    background_threads,
    cores,
    in_background,
)
from tests.support.waiting import eventually


def test_one_user_does_not_stand_behind_all_that_another_has_asked() -> None:
    share = FairShare(1)
    done: list[Whose] = []

    def compute(whose: Whose) -> None:
        with share.taking(whose):
            done.append(whose)

    eve, ada = ("t", "eve"), ("t", "ada")
    with share.taking(eve):
        threads = []
        for whose in (eve, eve, eve, ada, None, ada):
            threads.append(threading.Thread(target=compute, args=(whose,)))
            threads[-1].start()
            waits = len(threads)
            eventually(lambda waits=waits: sum(map(len, share._waiting.values())) == waits)
    for thread in threads:
        thread.join(10)
    assert done == [eve, ada, None, eve, ada, eve]
    assert share._free == 1


def test_as_many_as_there_are_threads_compute_at_once() -> None:
    share = FairShare(2)
    with share.taking(None), share.taking(("t", "ada")):
        assert share._free == 0
    assert share._free == 2


@pytest.mark.parametrize(("waiting", "each"), [(1, 8), (2, 4), (3, 2), (4, 2), (5, 1), (8, 1)])
def test_who_is_alone_gets_many_threads_and_who_is_one_of_many_a_few(waiting: int, each: int) -> None:
    share = FairShare(8)
    got: list[int] = []
    all_have = threading.Barrier(waiting)

    def compute() -> None:
        with share.taking(None, (1, 2, 4, 8)) as count:
            got.append(count)
            all_have.wait(10)

    threads = [threading.Thread(target=compute) for _ in range(waiting)]
    with share.taking(("t", "ada"), (1, 2, 4, 8)) as count:
        assert count == 8
        for thread in threads:
            thread.start()
        eventually(lambda: share.waiting == waiting)
    for thread in threads:
        thread.join(10)
    assert (got, share._free, share._holders) == ([each] * waiting, 8, 0)


def test_who_is_interrupted_while_waiting_takes_no_place_along() -> None:
    share = FairShare(1)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with share.taking(None):
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            with pytest.raises(KeyboardInterrupt), share.taking(("t", "ada")):
                pytest.fail("there was no place")
    finally:
        signal.signal(signal.SIGALRM, before)
    assert (share.waiting, share._free, share._holders) == (0, 1, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing says so")
@pytest.mark.parametrize(("said", "most"), [("50000 100000", 1), ("150000 100000", 2), ("max 100000", 10**6)])
def test_container_computes_with_what_it_may_have(tmp_path: Path, said: str, most: int) -> None:
    (tmp_path / "cpu.max").write_text(f"{said}\n")
    assert cores(tmp_path / "cpu.max") == min(most, cores(tmp_path / "nothing"))


@pytest.mark.parametrize("whose", [BACKGROUND, AT_LEISURE])
def test_what_nobody_waits_for_takes_no_place_of_those_who_wait(embedder: LocalEmbedder, whose: Whose) -> None:
    texts = [f"the {number}th of many texts, none of them short" for number in range(200)]
    with ExitStack() as taken:
        while COMPUTING._free:
            taken.enter_context(COMPUTING.taking(None))
        with in_background(whose):
            vectors = embedder.embed(texts)
    assert (vectors * embedder.embed(texts)).sum(1) == pytest.approx(np.ones(len(texts)), abs=0.01)


def test_what_has_time_is_computed_one_after_another() -> None:
    asked: list[Future[int]] = []

    class Threads(ThreadPoolExecutor):
        def submit(self, *given: Any, **named: Any) -> Future[Any]:
            assert all(one.done() for one in asked)
            asked.append(super().submit(*given, **named))
            return asked[-1]

    with Threads(4) as threads:
        assert list(_in_order(threads, 1, lambda batch: batch[0], [[number] for number in range(6)])) == [*range(6)]


def test_what_was_begun_is_finished_though_the_threads_take_nothing_more() -> None:
    threads = ThreadPoolExecutor(2)
    threads.shutdown()
    assert list(_in_order(threads, 2, lambda batch: batch[0], [[1], [2], [3]])) == [1, 2, 3]


def test_program_that_closes_nothing_ends_quietly(tmp_path: Path) -> None:
    ending = f"""
from memorist import Memorist
Memorist.open({str(tmp_path)!r}).user("ada").add_document("Notes", "Tulips bloom in spring. " * 200)
"""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMORIST_")}
    environment = kept | {"XDG_CONFIG_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", ending], capture_output=True, text=True, timeout=120, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has priorities of threads")
def test_threads_of_the_background_give_way_and_others_do_not() -> None:
    def priority() -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    before = priority()
    assert background_threads().submit(priority).result(10) == max(before, 10)
    assert priority() == before
