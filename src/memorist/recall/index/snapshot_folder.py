"""The folder with what was saved of shelves: which file is whose, how much of the disk they take, and how they go.

Whoever erases removes files here without reading one, so that this needs nothing that reads arrays.
"""

import hashlib
import os
import secrets
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from memorist.errors import StoreUnavailable
from memorist.secrets.logs import redacting_logger

_log = redacting_logger(__name__)

_ENDING = ".shelf"
_DRAFT = ".part"
_TRIED_AGAIN_S = 600.0
_LEFT_BEHIND_S = 3600.0
"""A draft of this age is of a process that ended in its middle."""


class SnapshotFolder:
    """A folder of one database. Files appear when they are complete; those used least lately make room for others."""

    def __init__(
        self,
        path: Path,
        limit_bytes: int,
        *,
        holds: str = "",
        smallest: int = 4096,
        listed_from: int = 200_000,
        rest_s: float = 60.0,
    ) -> None:
        """`smallest`: a shelf of fewer rows is read as fast. `listed_from`: one of fewer vectors is searched as fast
        without lists. `rest_s` lies between two files of one shelf. `holds` is what a receipt says of such folders that
        cannot be reached from here.
        """
        self.path = path
        self.limit_bytes = limit_bytes
        self.holds = holds
        self.smallest = smallest
        self.listed_from = listed_from
        self.rest_s = rest_s
        self._failed_at: float | None = None

    @property
    def takes_files(self) -> bool:
        """False for a while after something could not be written."""
        return self._failed_at is None or time.monotonic() - self._failed_at > _TRIED_AGAIN_S

    def file_of(self, tenant: str, user: str | None, model: str) -> Path:
        return self.path / f"{_prefix(tenant, user)}-{_short(model)}{_ENDING}"

    def refuse(self, why: str) -> None:
        """Note that something cannot be saved, and tell it unless that was told."""
        if self._failed_at is None:
            _log.warning("the index is not saved, so that a new process reads it anew: %s", why)
        self._failed_at = time.monotonic()

    @contextmanager
    def writing(self, file: Path) -> Iterator[BinaryIO]:
        """What is written is the file's content once the block is done, and nothing where it fails.

        Raises OSError; FileNotFoundError where somebody erased meanwhile.
        """
        draft = file.with_name(f"{file.stem}.{secrets.token_hex(4)}{_DRAFT}")
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o600)
            with open(handle, "wb") as opened:
                yield opened
                opened.flush()
                os.fsync(opened.fileno())
            draft.replace(file)
        finally:
            with suppress(OSError):
                draft.unlink(missing_ok=True)
        self._failed_at = None
        self._make_room(file)

    def touch(self, file: Path) -> None:
        """Note that a file was used."""
        with suppress(OSError):
            os.utime(file)

    def remove(self, tenant: str, users: Iterable[str | None] | None = None) -> None:
        """Remove what was saved of some users, or of all that a tenant has. Raises StoreUnavailable."""
        prefixes = [_short(tenant)] if users is None else [_prefix(tenant, user) for user in users]
        self._remove(file for file in self._files() if file.name.startswith(tuple(f"{one}-" for one in prefixes)))

    def clear(self) -> None:
        """Remove everything. Raises StoreUnavailable."""
        self._remove(self._files())

    def discard(self, file: Path) -> None:
        """Remove a file that is of no use, if that can be done."""
        with suppress(OSError):
            file.unlink(missing_ok=True)

    def _remove(self, files: Iterable[Path]) -> None:
        try:
            for file in files:
                file.unlink(missing_ok=True)
        except OSError as error:
            raise StoreUnavailable(f"A saved index cannot be removed: {error.strerror or error}.") from error

    def _files(self) -> list[Path]:
        """All files of ours, drafts too."""
        try:
            return [file for file in self.path.iterdir() if file.suffix in (_ENDING, _DRAFT)]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise StoreUnavailable(f"{self.path} cannot be read: {error.strerror or error}.") from error

    def _make_room(self, kept: Path) -> None:
        found = []
        for file in self._files():
            with suppress(OSError):
                found.append((file.stat().st_mtime, file.stat().st_size, file))
        total = sum(size for _, size, file in found if file.suffix == _ENDING)
        for used_at, size, file in sorted(found):
            if file.suffix == _DRAFT:
                if time.time() - used_at > _LEFT_BEHIND_S:
                    self.discard(file)
            elif total > self.limit_bytes and file != kept:
                self.discard(file)
                total -= size


def file_number(file: Path) -> int | None:
    """What the system calls a file, None where there is none: another number than one that is still in use means that
    the file was written anew.
    """
    try:
        return file.stat().st_ino
    except OSError:
        return None


def _prefix(tenant: str, user: str | None) -> str:
    # Nobody is not the user of an empty name.
    return f"{_short(tenant)}-{_short('nobody' if user is None else f'user {user}')}"


def _short(text: str) -> str:
    """Says nothing to whoever lists the folder."""
    return hashlib.sha256(text.encode()).hexdigest()[:20]
