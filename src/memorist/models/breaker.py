"""A breaker: what just failed is not asked again for a while, so that nobody else waits for it."""

import threading
from time import monotonic

_OPEN_S = 30.0


class Breaker:
    """Closed until `failed`. Then open for a while; after that one caller may try, and the others still may not."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open_until = 0.0

    def lets_through(self) -> bool:
        with self._lock:
            now = monotonic()
            if now < self._open_until:
                return False
            if self._open_until:
                self._open_until = now + _OPEN_S
            return True

    def failed(self) -> None:
        with self._lock:
            self._open_until = monotonic() + _OPEN_S

    def worked(self) -> None:
        with self._lock:
            self._open_until = 0.0
