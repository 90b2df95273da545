"""Durable single writes: the library against a bare apsw loop that leaves the same rows in a file like it."""

import os
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from bench.bare import BareStore, prepared_writes
from bench.results import Results, at_least, fact
from bench.texts import sentence
from memorist import Memorist

_TARGET = 0.7
_THREADS = 16
# Many short rounds: a disturbance by another process spoils a few of them, and the median does not see it.
_ROUNDS = 41
_WRITES = 160

Burst = Callable[[Sequence[int]], float]


def run() -> Results:
    with tempfile.TemporaryDirectory(prefix="memorist-bench-") as folder:
        results = {"flush of 4 KiB to this disk": fact(_flush_micros(Path(folder)), "µs")}
        for threads in (1, _THREADS):
            results |= _compare(Path(folder) / f"{threads}-threads", threads)
    return results


def _compare(folder: Path, threads: int) -> Results:
    bare = BareStore(folder / "bare.db")
    bare_write = bare.write if threads == 1 else bare.group_commit().write
    with Memorist.open(folder / "library") as library:
        ada = library.user("ada", agent="coder")

        def library_burst(numbers: Sequence[int]) -> float:
            texts = [sentence(number) for number in numbers]
            return _timed(ada.remember, texts, threads)

        def bare_burst(numbers: Sequence[int]) -> float:
            return _timed(bare_write, prepared_writes(numbers), threads)

        library_seconds, bare_seconds = _interleaved(library_burst, bare_burst)
    bare.close()
    ratios = [bare / library for library, bare in zip(library_seconds, bare_seconds, strict=True)]
    name = "1 thread" if threads == 1 else f"{threads} threads"
    return {
        f"{name}: library / bare": at_least(_TARGET, ratios),
        f"{name}: library": fact(_WRITES / median(library_seconds), "writes/s"),
        f"{name}: bare": fact(_WRITES / median(bare_seconds), "writes/s"),
    }


def _interleaved(first: Burst, second: Burst) -> tuple[list[float], list[float]]:
    """Seconds of each round of both, taking turns at who goes first; the round before the count warms up."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for round_number in range(_ROUNDS + 1):
        numbers = range(round_number * _WRITES, (round_number + 1) * _WRITES)
        order = (0, 1) if round_number % 2 else (1, 0)
        for contender in order:
            elapsed = (first, second)[contender](numbers)
            if round_number > 0:
                seconds[contender].append(elapsed)
    return seconds


def _timed(write: Callable[..., object], items: Sequence[object], threads: int) -> float:
    """Seconds to write every item, shared out to threads that start together."""
    if threads == 1:
        started = time.perf_counter()
        for item in items:
            write(item)
        return time.perf_counter() - started
    together = threading.Barrier(threads + 1)

    def work(share: Sequence[object]) -> None:
        together.wait()
        for item in share:
            write(item)

    workers = [threading.Thread(target=work, args=(items[part::threads],)) for part in range(threads)]
    for worker in workers:
        worker.start()
    together.wait()
    started = time.perf_counter()
    for worker in workers:
        worker.join()
    return time.perf_counter() - started


def _flush_micros(folder: Path) -> float:
    """What the disk itself takes; where it is almost nothing, everything else weighs more."""
    seconds = []
    with open(folder / "flush", "wb", buffering=0) as file:
        for _ in range(200):
            started = time.perf_counter()
            file.write(bytes(4096))
            os.fdatasync(file.fileno())
            seconds.append(time.perf_counter() - started)
    return median(seconds) * 1_000_000
