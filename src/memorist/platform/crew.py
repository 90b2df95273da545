"""Some threads that do what they are given, none of which keeps a process from ending.

Python waits for those of its own pool, and one of them may wait for a language model that never answers.
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future


class Crew:
    def __init__(self, name: str, most: int) -> None:
        """`most` is how many threads there are at a time; what they have no time for yet waits its turn."""
        self._name = name
        self._most = most
        self._lock = threading.Lock()
        self._threads: set[threading.Thread] = set()
        self._waiting: deque[tuple[Future[None], Callable[[], None]]] = deque()

    def submit(self, work: Callable[[], None]) -> "Future[None]":
        """Raises RuntimeError where the system gives no thread, and there is none that will come to it."""
        promised: Future[None] = Future()
        with self._lock:
            self._waiting.append((promised, work))
            if len(self._threads) < self._most:
                thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                try:
                    thread.start()
                except RuntimeError:
                    if not self._threads:
                        self._waiting.pop()
                        raise
                else:
                    self._threads.add(thread)
        return promised

    def join(self, until: float) -> None:
        """Wait until everything is done, or until that time of the monotonic clock."""
        for thread in list(self._threads):
            thread.join(max(0.0, until - time.monotonic()))

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._threads.discard(threading.current_thread())
                    return
                promised, work = self._waiting.popleft()
            try:
                work()
            except BaseException as error:  # noqa: BLE001 - Whoever waits for it is told.
                promised.set_exception(error)
            else:
                promised.set_result(None)
