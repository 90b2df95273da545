"""Files that commands write: none is replaced unasked, and what is half written does not stay."""

import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from memorist.errors import Conflict, Invalid
from memorist.settings import Settings

# As a shell reports a program that ended by SIGTERM.
_TERMINATED = 143

STREAM = "-"
"""What names stdout where lines are written."""
_BESIDE = ("", "-wal", "-shm", "-journal")
_DEVICES = (Path("/dev"), Path("/dev/fd"))


def named(file: str, *, field: str = "file") -> Path:
    """The path of what is written as a whole, or not at all. Raises Invalid for what elsewhere means stdout: a reader
    would get a part of it, and not know.
    """
    if file == STREAM:
        raise Invalid("- is no name of a file, and this is not written to stdout. Name a file.", field=field)
    return Path(file)


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


def is_written_to(path: Path) -> bool:
    """Whether it is a pipe or a device, which is never replaced; /dev/stdout may lead to a file that a shell opened."""
    return path.parent in _DEVICES or (path.exists() and not path.is_file())


@contextmanager
def written(path: Path, mode: str = "w") -> Iterator[IO[Any]]:
    """What is written is the file's content once the block is done, for its owner alone to read; where it fails, what
    was there stays. Raises Invalid.
    """
    encoding = None if "b" in mode else "utf-8"
    try:
        if is_written_to(path):
            with path.open(mode.replace("w", "a"), encoding=encoding) as device:
                yield device
            return
        target = path.resolve()
        with tempfile.NamedTemporaryFile(
            mode, encoding=encoding, dir=target.parent, prefix=f".{target.name}-", delete=False
        ) as new:
            try:
                yield new
                new.flush()
                os.fsync(new.fileno())
                os.replace(new.name, target)
            except BaseException:
                os.unlink(new.name)
                raise
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Invalid(f"{path} cannot be written: {error.strerror}.", field="file") from error


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
