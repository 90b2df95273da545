"""Local models compute with as many threads as there are cores; those who wait come in turn, a batch of one user, then
one of another. Who is alone gets many threads for a batch, and who is one of many a few, beside the others.

What nobody waits for is computed beside them, by threads that the system lets run when there is nothing else to do.
"""

import math
import os
import sys
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

Whose = tuple[str, str] | None
"""A tenant and a user; None is who uses the library or a command, one among them."""

BACKGROUND: Whose = ("", "")
"""Nobody, who waits for nothing."""

AT_LEISURE: Whose = ("", "at leisure")
"""Nobody, who is content with one thread: even threads that give way slow down what is computed beside them."""

WHOSE: ContextVar[Whose] = ContextVar("whose", default=None)
"""For whom this thread or task asks models."""

IS_ENDING: ContextVar[Callable[[], bool]] = ContextVar("is_ending", default=lambda: False)
"""Whether it was told to end: whoever told it waits until it does."""


_QUOTA = Path("/sys/fs/cgroup/cpu.max")
"""What a container may have, in Linux: microseconds of computing, and in how many."""


def cores(quota: Path = _QUOTA) -> int:
    """Those that this process may use: a container may have the time of a few of many."""
    if sys.platform != "linux":
        return os.cpu_count() or 1
    try:
        time, period = map(int, quota.read_text().split())
    except (OSError, ValueError):  # There is no limit, which is also said as "max".
        return len(os.sched_getaffinity(0))
    return max(1, min(math.ceil(time / period), len(os.sched_getaffinity(0))))


@dataclass(slots=True, eq=False)
class _Turn:
    sizes: Sequence[int]
    threads: int = 0
    """What it got, once it has come."""

    has_come: threading.Event = field(default_factory=threading.Event)


class FairShare:
    def __init__(self, threads: int) -> None:
        self._lock = threading.Lock()
        self._all = threads
        self._free = threads
        self._holders = 0
        self._waiting: OrderedDict[Whose, deque[_Turn]] = OrderedDict()

    @property
    def waiting(self) -> int:
        with self._lock:
            return self._count()

    @contextmanager
    def taking(self, whose: Whose, sizes: Sequence[int] = (1,)) -> Iterator[int]:
        """Wait for threads, and keep them until the end: of the sizes, which rise from 1, the largest that leaves
        an equal share to all who compute or wait now.
        """
        turn = _Turn(sizes)
        with self._lock:
            self._waiting.setdefault(whose, deque()).append(turn)
            self._hand_out()
        try:
            turn.has_come.wait()
            yield turn.threads
        finally:
            with self._lock:
                self._end(whose, turn)
                self._hand_out()

    def _end(self, whose: Whose, turn: _Turn) -> None:
        if turn.threads:
            self._free += turn.threads
            self._holders -= 1
            return
        # Whoever waited for it was interrupted, such as with Ctrl-C: nobody would give the threads back.
        self._waiting[whose].remove(turn)
        if not self._waiting[whose]:
            del self._waiting[whose]

    def _hand_out(self) -> None:
        while self._free and self._waiting:
            share = min(self._free, self._all // (self._holders + self._count()))
            whose, turns = self._waiting.popitem(last=False)
            turn = turns.popleft()
            if turns:
                self._waiting[whose] = turns  # Behind all others.
            turn.threads = max((size for size in turn.sizes if size <= share), default=1)
            self._free -= turn.threads
            self._holders += 1
            turn.has_come.set()

    def _count(self) -> int:
        return sum(map(len, self._waiting.values()))


COMPUTING = FairShare(cores())
"""That of this process, for all of its local models."""

_THREADS = cores()
# The system gives it a tenth of what others get, where they want all.
_PRIORITY = 10


@contextmanager
def in_background(whose: Whose = BACKGROUND) -> Iterator[None]:
    """Nobody waits for what models compute here."""
    before = WHOSE.set(whose)
    try:
        yield
    finally:
        WHOSE.reset(before)


@cache
def background_threads() -> ThreadPoolExecutor:
    """Those of this process, for all of its local models."""
    return ThreadPoolExecutor(_THREADS, thread_name_prefix="memorist-background", initializer=_give_way)


def _give_way() -> None:
    """Let every other thread go before this one. Linux knows priorities of threads; elsewhere they share."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _PRIORITY)
