"""Copies of an SQLite database as files: checked before they are trusted, and put in place in one step."""

import os
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import apsw

from memorist import errors

_BESIDE = ("-wal", "-shm", "-journal")
_LEFT_BEHIND_S = 86_400.0
"""A draft that was not written to for so long is nobody's, whatever process has its number now."""
_GONE_S = 3600.0
"""One of a process that is not to be seen here: nobody copies for so long without writing."""
_own: set[str] = set()
"""The drafts that this process is at."""


@contextmanager
def placed(target: Path, *, replaces: bool = True) -> Iterator[Path]:
    """A new file beside the target, which replaces it when the block is done, and is gone where it fails. Where the
    target is a link, what it leads to is replaced. Where it is not there, and `replaces` says so, nothing is replaced.

    Only its owner can read it. What a process left that was killed an hour ago or earlier is removed first. Raises
    StoreUnavailable, also where the target is a pipe, a device or a folder, and Conflict where it was made meanwhile
    and is not to be replaced.
    """
    if target.exists() and not target.is_file():
        # A pipe or a device would be removed, /dev/null for everybody on the machine.
        raise errors.StoreUnavailable(f"{target} is no file, and is never replaced. Choose another name.")
    target = target.resolve()
    # Not a name that anything else uses, so that two that are made at once do not meet.
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _remove_left_behind(target)
        if not replaces:
            _remove_beside(target)  # Not later: then they may be those of a database that was made meanwhile.
        _own.add(str(draft))
        draft.unlink(missing_ok=True)
        draft.touch(mode=0o600)
        yield draft
        with draft.open("rb") as file:
            os.fsync(file.fileno())
        if replaces:
            _remove_beside(target)
            draft.replace(target)
        else:
            _put(draft, target)
        _sync_folder(target.parent)
    except OSError as error:
        raise errors.StoreUnavailable(f"{target} cannot be written: {error.strerror or error}.") from error
    finally:
        with suppress(OSError):  # Where it could not be made, there is nothing to remove.
            draft.unlink(missing_ok=True)
            _remove_beside(draft)
        _own.discard(str(draft))


def _put(draft: Path, target: Path) -> None:
    try:
        os.link(draft, target)
    except OSError as error:
        if isinstance(error, FileExistsError) or target.exists():
            told = f"A database was made at {target} meanwhile. Replace it with --force."
            raise errors.Conflict(told) from error
        draft.replace(target)  # Not every file system has links.


def copy_checked(backup: Path, copy: Path) -> None:
    """Copy a backup that is sound. Raises StoreUnavailable where there is none, StoreCorrupt where it is not sound."""
    try:
        with closing(apsw.Connection(str(backup), flags=apsw.SQLITE_OPEN_READONLY)) as source:
            found = [str(row[0]) for row in source.execute("PRAGMA integrity_check")]
            if found != ["ok"]:
                raise errors.StoreCorrupt(f"{backup} is damaged: {'; '.join(found[:5])}.")
            if not source.execute("SELECT 1 FROM sqlite_schema WHERE name = 'schema_migrations'").fetchall():
                raise errors.StoreCorrupt(f"{backup} is no Memorist database.")
            with closing(apsw.Connection(str(copy))) as target, target.backup("main", source, "main") as running:
                running.step(-1)
    except apsw.CantOpenError as error:
        raise errors.StoreUnavailable(f"{backup} cannot be read.") from error
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise errors.StoreCorrupt(f"{backup} is no Memorist database, or is damaged.") from error
    except apsw.Error as error:
        raise errors.StoreError(f"{backup} cannot be copied. (SQLite says: {error})") from error


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Keep every process from opening a database. Raises StoreBusy where one has it open. A file that is no database is
    nobody's.
    """
    with ExitStack() as opened:
        try:
            connection = opened.enter_context(closing(apsw.Connection(str(path))))
            connection.execute("PRAGMA journal_mode = DELETE").fetchall()
            connection.execute("BEGIN EXCLUSIVE")
        except (apsw.BusyError, apsw.LockedError) as error:
            raise errors.StoreBusy(f"A process uses {path}. Stop it first, such as the server.") from error
        except apsw.Error:
            pass
        yield


def into_one_file(path: Path) -> None:
    """Take a database out of the write-ahead mode, which only who is alone with it can do. Raises apsw.Error."""
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("PRAGMA journal_mode = DELETE").fetchall()


def _remove_left_behind(target: Path) -> None:
    """Remove the drafts of processes that are gone: of this file, and of those that differ from it in numbers alone, as
    backups of another day do."""
    name = re.sub(r"\d+", r"\\d+", re.escape(target.name))
    draft = re.compile(rf"(\.{name}\.(\d+))(?:{'|'.join(_BESIDE)})?")
    found = [match for file in target.parent.iterdir() if (match := draft.fullmatch(file.name))]
    for one, process in {match[1]: int(match[2]) for match in found}.items():
        if _is_left_behind(target.with_name(one), process):
            with suppress(OSError):  # Another user's: no reason to make none.
                target.with_name(one).unlink(missing_ok=True)
                _remove_beside(target.with_name(one))


def _is_left_behind(draft: Path, process: int) -> bool:
    """A process that is not here, or has the number of this one, may live in another container."""
    if str(draft) in _own:
        return False
    patience = _GONE_S
    with suppress(ProcessLookupError, OverflowError):
        with suppress(PermissionError):  # Another user's, and alive.
            os.kill(process, 0)
        patience = _GONE_S if process == os.getpid() else _LEFT_BEHIND_S
    last = 0.0
    for ending in ("", *_BESIDE):
        with suppress(FileNotFoundError):
            last = max(last, draft.with_name(draft.name + ending).stat().st_mtime)
    return last < time.time() - patience


def _remove_beside(path: Path) -> None:
    for ending in _BESIDE:
        path.with_name(path.name + ending).unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
