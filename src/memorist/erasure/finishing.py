"""Finishes what is due in the background."""

import threading
from collections.abc import Callable

from memorist.errors import MemoristError
from memorist.secrets.logs import redacting_logger

_log = redacting_logger(__name__)


class Finisher:
    def __init__(self, finish: Callable[[], object]) -> None:
        self._finish = finish
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()

    def start(self, every_s: float) -> None:
        """Finish what is due now and then, until closed."""
        self._thread = threading.Thread(target=self._run, args=(every_s,), name="memorist-erasure", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self, every_s: float) -> None:
        while True:
            try:
                self._finish()
            except MemoristError as error:
                _log.warning("an erasure is finished later: %s", error.message)
            except Exception:
                _log.exception("an erasure failed and is tried again later")
            if self._stopping.wait(every_s):
                return
