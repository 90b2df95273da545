"""The one way to wait for what another thread or process does, where it tells nobody."""

import threading
import time
from collections.abc import Callable

SOON = 150.0
_BETWEEN_LOOKS_S = 0.01


def eventually(is_so: Callable[[], object], *, within: float = SOON) -> None:
    """Look again and again until it is so. Fails after `within` seconds, which only a broken test ever waits."""
    deadline = time.monotonic() + within
    never = threading.Event()
    while not is_so():
        assert time.monotonic() < deadline, f"it did not happen within {within:g} seconds"
        never.wait(_BETWEEN_LOOKS_S)
