"""Durable single writes: the library against a bare apsw loop that leaves the same rows in a file like it."""

import os
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from memorist import Memorist
from memorist_bench.ratios.bare import BareStore, bare_write
from memorist_bench.ratios.results import Results, at_least, fact
from memorist_bench.ratios.sentences import sentence

_TARGET = 0.7
_THREADS = 16
# Many short rounds: a disturbance by another process spoils a few of them, and the median does not see it.
_ROUNDS = 41
_WRITES = 160

Burst = Callable[[Sequence[str]], float]


def run() -> Results:
    with tempfile.TemporaryDirectory(prefix="memorist-bench-") as folder:
        results = {"flush of 4 KiB to this disk": fact(_flush_micros(Path(folder)), "µs")}
        for threads in (1, _THREADS):
            results |= _compare(Path(folder) / f"{threads}-threads", threads)
    return results


def _compare(folder: Path, threads: int) -> Results:
    """The library and a bare program, both from a text to a durable row; and, for information, a program that has
    nothing to do but the database's work, since it finds its ids, hashes and times made.
    """
    bare = BareStore(folder / "bare.db")
    write = bare.write if threads == 1 else bare.group_commit().write
    with Memorist.open(folder / "library") as library:
        remember = library.user("ada", agent="coder").remember
        contenders: dict[str, Burst] = {
            "library": lambda texts: _timed(remember, texts, threads),
            "bare": lambda texts: _timed(lambda text: write(bare_write(text)), texts, threads),
            "values made before": lambda texts: _timed(write, [bare_write(text) for text in texts], threads),
        }
        seconds = _interleaved(contenders)
    bare.close()
    name = "1 thread" if threads == 1 else f"{threads} threads"
    return {
        f"{name}: library / bare": at_least(_TARGET, _ratios(seconds["bare"], seconds["library"])),
        f"{name}: library / values made before": fact(
            median(_ratios(seconds["values made before"], seconds["library"])), "x"
        ),
        f"{name}: library": fact(_WRITES / median(seconds["library"]), "writes/s"),
        f"{name}: bare": fact(_WRITES / median(seconds["bare"]), "writes/s"),
    }


def _ratios(faster: Sequence[float], slower: Sequence[float]) -> list[float]:
    return [one / other for one, other in zip(faster, slower, strict=True)]


def _interleaved(contenders: dict[str, Burst]) -> dict[str, list[float]]:
    """Seconds of each contender's rounds, taking turns at who goes first; the round before the count warms up."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    order = list(contenders)
    for round_number in range(_ROUNDS + 1):
        order = order[1:] + order[:1]
        for index, name in enumerate(order):
            start = (round_number * len(order) + index) * _WRITES
            elapsed = contenders[name]([sentence(number) for number in range(start, start + _WRITES)])
            if round_number > 0:
                seconds[name].append(elapsed)
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
