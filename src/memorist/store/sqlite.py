"""The SQLite driver (apsw): WAL, durable commits shared by concurrent writers, parallel readers, secure deletion."""

import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

import apsw

from memorist import errors
from memorist.store.backups import placed
from memorist.store.drivers import Connection, Parameters, Row, Values
from memorist.store.group_commit import GroupCommit, QueuedWork
from memorist.store.soundness import Soundness, identity_of
from memorist.store.sqlite_rows import held_by_rows
from memorist.store.statements import SqlStatement

T = TypeVar("T")

# Older versions can corrupt a WAL database when a checkpoint races a writer.
MINIMUM_SQLITE = (3, 51, 3)

_PRAGMAS = """
PRAGMA synchronous = FULL;
PRAGMA secure_delete = ON;
PRAGMA foreign_keys = ON;
PRAGMA temp_store = MEMORY;
PRAGMA cache_size = -16384;
"""

_STEPS_BETWEEN_LOOKS = 100
_STEPS_OF_LONG_READS = 10_000

_LEAST_ROOM = 64 * 1024
"""The index of the log, which whoever opens the file needs, takes 32 KiB at least."""
_LITTLE_ROOM = 100 * 1024**2

_BEYOND_REACH = (
    "Backups and exports that were made before. Restoring or importing them here applies the ledger of erased ids.",
    "Blocks that the disk or file system keeps of files that shrank, and its snapshots.",
)

# apsw's exception and what it means to a caller; the first match wins.
_MEANINGS: list[tuple[type[Exception], type[errors.MemoristError]]] = [
    (apsw.BusyError, errors.StoreBusy),
    (apsw.LockedError, errors.StoreBusy),
    (apsw.InterruptError, errors.StoreBusy),
    (apsw.ReadOnlyError, errors.StoreReadOnly),
    (apsw.FullError, errors.StoreFull),
    (apsw.CorruptError, errors.StoreCorrupt),
    (apsw.NotADBError, errors.StoreCorrupt),
    (apsw.ConstraintError, errors.Conflict),
    (apsw.CantOpenError, errors.StoreUnavailable),
    (apsw.IOError, errors.StoreUnavailable),
    (apsw.PermissionsError, errors.StoreUnavailable),
    (apsw.ConnectionClosedError, errors.StoreUnavailable),
    (apsw.Error, errors.StoreError),
]


class SqliteDriver:
    dialect = "sqlite"
    # Readers of a WAL database wait for nobody.
    instant_reads = True

    def __init__(self, path: Path, *, busy_timeout_ms: int, as_it_is: bool = False) -> None:
        """Open the file, making it and its folder where they are missing; `as_it_is`: change no byte of it by opening.

        Raises StoreError, also where it is another program's database.
        """
        require_sqlite(apsw.sqlite_lib_version())
        self.path = path
        self._busy_timeout_ms = busy_timeout_ms
        self._idle_readers: list[apsw.Connection] = []
        self._closed = threading.Event()
        # Upkeep runs between transactions on the writer, never inside somebody's.
        self._writing = threading.Lock()
        _make_private_file(path)
        file = identity_of(str(path))
        with _translated(self.path):
            self._writer = self._open()
            _require_ours(self._writer, path)
            if not as_it_is:
                self._switch_to_wal(file)
        self._soundness = Soundness(path)
        self._soundness.require()
        self._queue = GroupCommit(self._commit)
        self._write_connection = SqliteConnection(self._writer)

    # Transactions

    def read(
        self,
        tenant: str | None,  # noqa: ARG002
        work: Callable[[Connection], T],
        *,
        snapshot: bool = True,
        seconds: float | None = None,
    ) -> T:
        reader = self._take_reader()
        if seconds is not None:
            ends = time.monotonic() + seconds
            reader.set_progress_handler(lambda: time.monotonic() > ends, _STEPS_OF_LONG_READS)
        try:
            if not snapshot:
                return work(SqliteConnection(reader))
            reader.execute("BEGIN")
            try:
                return work(SqliteConnection(reader))
            finally:
                if reader.in_transaction:
                    reader.execute("COMMIT")
        except apsw.Error as error:
            raise _meaning_of(error, self.path) from error
        finally:
            if seconds is not None:
                reader.set_progress_handler(None)
            self._return_reader(reader)

    def write(self, tenant: str | None, work: Callable[[Connection], T]) -> T:  # noqa: ARG002
        try:
            return self._queue.submit(lambda: work(self._write_connection))
        except apsw.Error as error:
            raise _meaning_of(error, self.path) from error

    def exclusive(self, work: Callable[[Connection], T]) -> T:
        # BEGIN IMMEDIATE already keeps every other process from writing.
        return self.write(None, work)

    def _commit(self, batch: Sequence[QueuedWork]) -> None:
        with self._writing:
            self._require_open()
            self._soundness.require()
            try:
                self._writer.execute("BEGIN IMMEDIATE")
                self._run_all(batch)
                self._writer.execute("COMMIT")
            except BaseException:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise

    def _run_all(self, batch: Sequence[QueuedWork]) -> None:
        try:
            for job in batch:
                job.result = job.work()
        except Exception:
            if len(batch) == 1 or not self._writer.in_transaction:
                raise
            # Again, each behind a savepoint of its own. Not at first: failures are rare, and savepoints cost every job.
            self._writer.execute("ROLLBACK")
            self._writer.execute("BEGIN IMMEDIATE")
            for job in batch:
                self._run_in_savepoint(job)

    def _run_in_savepoint(self, job: QueuedWork) -> None:
        self._writer.execute("SAVEPOINT job")
        try:
            job.result = job.work()
        except Exception as error:
            # A full disk or a failed read ends the whole transaction, not only this job.
            if not self._writer.in_transaction:
                raise
            self._writer.execute("ROLLBACK TO job")
            job.error = error
        self._writer.execute("RELEASE job")

    # Connections

    def _take_reader(self) -> apsw.Connection:
        try:
            return self._idle_readers.pop()
        except IndexError:
            with _translated(self.path):
                reader = self._open()
                reader.execute("PRAGMA query_only = ON")
            return reader

    def _return_reader(self, reader: apsw.Connection) -> None:
        if self._closed.is_set():
            reader.close()
        else:
            self._idle_readers.append(reader)

    def _require_open(self) -> None:
        if self._closed.is_set():
            raise errors.StoreUnavailable("This store was closed. Open it again.")

    def _open(self) -> apsw.Connection:
        self._require_open()
        connection = apsw.Connection(str(self.path))
        connection.set_busy_timeout(self._busy_timeout_ms)
        # Some of them answer, and apsw goes on to the next statement only when an answer was fetched.
        connection.execute(_PRAGMAS).fetchall()
        return connection

    def _switch_to_wal(self, file: tuple[int, int] | None) -> None:
        """Raises StoreBusy where another file has the name by now: its log must not be taken for this one's."""
        # Two processes that open a new file at once compete for this; the busy timeout does not apply to it.
        deadline = time.monotonic() + self._busy_timeout_ms / 1000
        while True:
            if identity_of(str(self.path)) != file:
                raise errors.StoreBusy(f"{self.path} was replaced while it was being opened. Open it again.")
            try:
                self._writer.execute("PRAGMA journal_mode = WAL").fetchall()
                return
            except apsw.BusyError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)  # noqa: TID251
            except apsw.ReadOnlyError:
                # Still readable: a write will say what is wrong.
                return

    def close(self) -> None:
        """Raises StoreError where the log could not be put into the file; nothing is lost, the next to open it does."""
        self._closed.set()
        with _translated(self.path), self._writing:
            while self._idle_readers:
                self._idle_readers.pop().close()
            self._writer.close()

    # What SqlStore asks beyond transactions

    def encode_list(self, values: Sequence[str]) -> str:
        return json.dumps(list(values))

    def prepare_migration(self, sql: str) -> str:
        return sql

    def checkpoint(self) -> None:
        """Move everything out of the write-ahead log and empty it, so that erased bytes are in no file.

        Raises StoreBusy where somebody's long read keeps it from being emptied.
        """
        with _translated(self.path), self._writing:
            ((is_blocked, _, _),) = self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        if is_blocked:
            raise errors.StoreBusy(
                "A long read keeps the log from being emptied, so that erased text is still in it. Repeat this later."
            )

    def scrub(self, tenant: str, tables: Sequence[str], *, rewrite: bool) -> tuple[str, ...]:  # noqa: ARG002
        if rewrite:
            # `secure_delete` overwrites what is deleted, but not copies that rows left behind when they were moved to
            # another page before: only writing the file anew is sure to leave them out.
            with _translated(self.path), self._writing:
                self._writer.execute("VACUUM")
        self.checkpoint()
        return _BEYOND_REACH

    def files(self) -> list[Path]:
        self.checkpoint()
        beside = [self.path.with_name(self.path.name + ending) for ending in ("-wal", "-shm", "-journal")]
        return [file for file in (self.path, *beside) if file.exists()]

    def held_by_rows(self, pieces: Collection[bytes]) -> frozenset[bytes]:
        reader = self._take_reader()
        try:
            with _translated(self.path):
                return held_by_rows(reader, pieces)
        finally:
            self._return_reader(reader)

    def backup(self, path: Path) -> None:
        """Raises StoreUnavailable where the file cannot be written, StoreCorrupt where the copy is not sound."""
        source = self._take_reader()
        try:
            with placed(path) as draft:
                self._copy(source, draft)
        finally:
            self._return_reader(source)

    def _copy(self, source: apsw.Connection, target: Path) -> None:
        with _translated(target), closing(apsw.Connection(str(target))) as copy:
            with copy.backup("main", source, "main") as running:
                # In one step, which reads one state of the database and keeps no writer waiting.
                running.step(-1)
            copy.execute("PRAGMA journal_mode = DELETE").fetchall()
            found = [str(row[0]) for row in copy.execute("PRAGMA integrity_check")]
        if found != ["ok"]:
            raise errors.StoreCorrupt(f"The copy is not sound: {'; '.join(found[:5])}.")

    def health(self, thorough: bool) -> dict[str, str]:
        check = "integrity_check" if thorough else "quick_check"
        reader = self._take_reader()
        try:
            with _translated(self.path):
                found = [str(row[0]) for row in reader.execute(f"PRAGMA {check}")]
                broken_links = reader.execute("PRAGMA foreign_key_check").fetchall()
        finally:
            self._return_reader(reader)
        return {
            check: "; ".join(found[:5]),
            "foreign_key_check": "ok" if not broken_links else f"{len(broken_links)} rows point nowhere",
        }

    def require_sound(self) -> None:
        self._soundness.require()

    def trouble(self) -> str:
        """All tenants are in one file, and on one disk."""
        try:
            free = shutil.disk_usage(_folder_of(self.path)).free
        except OSError:
            return ""
        return "" if free >= _LITTLE_ROOM else "The disk that the database is on is nearly full."

    def advice(self) -> list[str]:
        return []

    def examine(self, seconds: float) -> str:
        """What is wrong with the file, as far as can be told in that time; then nothing more is written to it."""
        ends = time.monotonic() + seconds
        try:
            with _translated(self.path), closing(self._open()) as connection:
                connection.set_progress_handler(lambda: time.monotonic() > ends, _STEPS_BETWEEN_LOOKS)
                found = [str(row[0]) for row in connection.execute("PRAGMA quick_check(5)")]
        except errors.StoreCorrupt as error:
            found = [str(error.__cause__ or error)]
        except errors.StoreError:
            found = ["ok"]  # It is large, or busy: what was read of it is sound.
        damage = "" if found == ["ok"] else "; ".join(found)
        if damage:
            self._soundness.found(damage)
        return damage

    def describe(self) -> dict[str, str | int]:
        return {
            "engine": "SQLite",
            "version": apsw.sqlite_lib_version(),
            "minimum_version": ".".join(map(str, MINIMUM_SQLITE)),
            "place": str(self.path),
            "size_bytes": sum(file.stat().st_size for file in (self.path, self._log_file()) if file.exists()),
        }

    def queues(self) -> dict[str, float]:
        queue = self._queue
        return {
            "group_commit_waiting": queue.waiting,
            "group_commit_batches": queue.batches,
            "group_commit_writes": queue.writes,
        }

    def _log_file(self) -> Path:
        return self.path.with_name(self.path.name + "-wal")


class SqliteConnection:
    """Runs statements on one apsw connection."""

    __slots__ = ("_connection",)

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def rows(self, statement: SqlStatement, parameters: Parameters) -> list[Row]:
        return self._connection.execute(statement.sql, parameters).fetchall()

    def rows_of_each(self, statement: SqlStatement, parameters: Sequence[Parameters]) -> list[list[Row]]:
        if self._connection.in_transaction:
            return [self.rows(statement, one) for one in parameters]
        self._connection.execute("BEGIN")
        try:
            return [self.rows(statement, one) for one in parameters]
        finally:
            self._connection.execute("COMMIT")

    def run(self, statement: SqlStatement, parameters: Parameters | Values) -> int:
        self._connection.execute(statement.sql, parameters)
        return self._connection.changes()

    def run_many(self, statement: SqlStatement, parameters: Sequence[Parameters | Values]) -> int:
        before = self._connection.total_changes()
        self._connection.executemany(statement.sql, parameters)
        return self._connection.total_changes() - before

    def script(self, sql: str) -> None:
        self._connection.execute(sql).fetchall()


def require_sqlite(version: str) -> None:
    """Raises StoreUnavailable where the SQLite library is too old to trust with durable data."""
    if tuple(int(part) for part in version.split(".")[:3]) < MINIMUM_SQLITE:
        wanted = ".".join(map(str, MINIMUM_SQLITE))
        raise errors.StoreUnavailable(f"SQLite {version} is too old: {wanted} or newer is needed. Upgrade `apsw`.")


def _require_ours(connection: apsw.Connection, path: Path) -> None:
    """Raises StoreCorrupt where there are tables, and none of ours. A new file has none at all."""
    others, ours = connection.execute(
        "SELECT count(*), count(*) FILTER (WHERE name = 'schema_migrations') FROM sqlite_schema WHERE type = 'table'"
    ).fetchall()[0]
    if others and not ours:
        raise errors.StoreCorrupt(f"{path} is no Memorist database: it is another program's, and is left as it is.")


def _make_private_file(path: Path) -> None:
    """Make the file, where it is missing, readable by its owner only; the log files beside it follow its mode."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            path.touch(mode=0o600)
    except OSError as error:
        raise errors.StoreUnavailable(f"{path} cannot be made: {error.strerror}.") from error


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except apsw.Error as error:
        raise _meaning_of(error, path) from error


def _meaning_of(error: apsw.Error, path: Path) -> errors.MemoristError:
    meaning = next(meaning for kind, meaning in _MEANINGS if isinstance(error, kind))
    if isinstance(error, apsw.IOError | apsw.CantOpenError):
        meaning = _trouble_of_disk(_folder_of(path)) or meaning
    return meaning(f"{meaning().message} (SQLite says: {error})")


def _folder_of(path: Path) -> str:
    """Where the file is that a link leads to: SQLite puts its logs beside that one."""
    return os.path.dirname(os.path.realpath(path))


def _trouble_of_disk(folder: str) -> type[errors.StoreError] | None:
    """Why SQLite fails to read or open a file, where the disk is the reason: to read it makes a file, too."""
    try:
        disk = os.statvfs(folder)
    except OSError:
        return None
    if disk.f_flag & os.ST_RDONLY:
        return errors.StoreReadOnly
    return errors.StoreFull if disk.f_bavail * disk.f_frsize < _LEAST_ROOM else None
