"""Files that commands write: none is replaced unasked, and what is half written does not stay."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from memorist.errors import Conflict
from memorist.settings import Settings

# As a shell reports a program that ended by SIGTERM.
_TERMINATED = 143

_BESIDE = ("", "-wal", "-shm", "-journal")


def require_free(settings: Settings, path: Path, *, force: bool) -> None:
    """Raises Conflict where a file is there and is not to be replaced, or is one of the database's own."""
    own = settings.sqlite_path()
    if own is not None and any(_is_same(path, own.with_name(own.name + ending)) for ending in _BESIDE):
        raise Conflict(f"{path} belongs to the database itself. Choose another name.")
    if path.exists() and not force:
        raise Conflict(f"{path} exists. Choose another name, or replace it with --force.")


def _is_same(path: Path, own: Path) -> bool:
    # Also by way of a link, or where the one that is named is not there at the moment.
    return path.resolve() == own.resolve() or (path.exists() and own.exists() and path.samefile(own))


@contextmanager
def ended_in_order() -> Iterator[None]:
    """Let a SIGTERM unwind the block, as Ctrl-C does, so that what is temporary goes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: Any) -> None:
        sys.exit(_TERMINATED)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
