"""Local models compute for a few at a time; those who wait come in turn, a batch of one user, then one of another.

What nobody waits for is computed beside them, by threads that the system lets run when there is nothing else to do.
"""

import os
import sys
import threading
from collections import OrderedDict, deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache

Whose = tuple[str, str] | None
"""A tenant and a user; None is who uses the library or a command, one among them."""

BACKGROUND: Whose = ("", "")
"""Nobody, who waits for nothing."""

WHOSE: ContextVar[Whose] = ContextVar("whose", default=None)
"""For whom this thread or task asks models."""


class FairShare:
    def __init__(self, places: int) -> None:
        self._lock = threading.Lock()
        self._free = places
        self._waiting: OrderedDict[Whose, deque[threading.Event]] = OrderedDict()

    @property
    def waiting(self) -> int:
        with self._lock:
            return sum(map(len, self._waiting.values()))

    @contextmanager
    def place(self, whose: Whose) -> Iterator[None]:
        """Wait for a place, and keep it until the end."""
        with self._lock:
            turn = None
            if self._free:
                self._free -= 1
            else:
                turn = threading.Event()
                self._waiting.setdefault(whose, deque()).append(turn)
        if turn is not None:
            turn.wait()
        try:
            yield
        finally:
            self._pass_on()

    def _pass_on(self) -> None:
        with self._lock:
            if not self._waiting:
                self._free += 1
                return
            whose, turns = self._waiting.popitem(last=False)
            turns.popleft().set()
            if turns:
                self._waiting[whose] = turns  # Behind all others.


COMPUTING = FairShare(max(2, (os.cpu_count() or 1) // 2))
"""That of this process, for all of its local models."""

_THREADS = os.cpu_count() or 1
# The system gives it a tenth of what others get, where they want all.
_PRIORITY = 10


@contextmanager
def in_background() -> Iterator[None]:
    """Nobody waits for what models compute here."""
    before = WHOSE.set(BACKGROUND)
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
