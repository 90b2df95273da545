"""Other processes, forked from a clean server, so that they share no thread, connection or lock with the tests."""

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.synchronize import Barrier
from typing import Any

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["tests.support.jobs"])

_barrier: Barrier


def in_processes(count: int, job: Callable[..., Any], *arguments: Any, within: float = 120) -> list[Any]:
    """Run `job(number, *arguments)` in that many processes, which all begin at the same moment, and take no longer than
    `within` seconds.
    """
    barrier = CONTEXT.Barrier(count, timeout=60)
    with ProcessPoolExecutor(count, CONTEXT, _join, (barrier,)) as processes:
        futures = [processes.submit(_begin_together, job, number, *arguments) for number in range(count)]
        return [future.result(timeout=within) for future in futures]


def in_process(job: Callable[..., Any], *arguments: Any) -> Any:
    """Run `job(*arguments)` in another process and return its result, or raise its error."""
    with ProcessPoolExecutor(1, CONTEXT) as processes:
        return processes.submit(job, *arguments).result(timeout=120)


def _join(barrier: Barrier) -> None:
    global _barrier
    _barrier = barrier


def _begin_together(job: Callable[..., Any], number: int, *arguments: Any) -> Any:
    _barrier.wait()
    return job(number, *arguments)
