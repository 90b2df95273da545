"""Local models compute for a few at a time; those who wait come in turn, a batch of one user, then one of another."""

import os
import threading
from collections import OrderedDict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Whose = tuple[str, str] | None
"""A tenant and a user; None is what works in the background, which is one among them."""

WHOSE: ContextVar[Whose] = ContextVar("whose", default=None)
"""For whom this thread or task asks models."""


class FairShare:
    def __init__(self, places: int) -> None:
        self._lock = threading.Lock()
        self._free = places
        self._waiting: OrderedDict[Whose, deque[threading.Event]] = OrderedDict()

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
