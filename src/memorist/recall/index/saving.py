"""Saves large shelves to files in the background, and brings them back.

A shelf that was saved is its file from then on, mapped into memory, which all processes of a machine share: one that
finds another's file takes it over instead of writing its own. A file is written only of what the database holds at that
moment, and looked at again once it is in its place: whoever erases removes files after the rows are gone, so that of
two who meet one sees the other's work.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from memorist.errors import MemoristError
from memorist.ports import Store
from memorist.recall.index import snapshot
from memorist.recall.index.arranging import arranged, size_bytes
from memorist.recall.index.reading import is_known, is_whole
from memorist.recall.index.shelf import Shelf
from memorist.recall.index.snapshot import Snapshot, WrongSnapshot
from memorist.recall.index.snapshot_folder import SnapshotFolder, file_number
from memorist.secrets.logs import redacting_logger

_log = redacting_logger(__name__)

_WRITABLE = "column."
_SHARE = 32
"""A shelf is saved again once one in so many rows is new or changed: a process that begins reads those."""
Done = Callable[[bool], None]


class _NotWhole(Exception):
    """It has rows that the database has not."""


class Saving:
    def __init__(self, store: Store, folder: SnapshotFolder, model: str, *, background: bool = True) -> None:
        """Without `background` files are read, and none is written."""
        self._store = store
        self._folder = folder
        self._model = model
        self._lock = threading.Lock()
        self._too_large: set[tuple[str, str | None]] = set()
        self._busy: dict[tuple[str, str | None], float] = {}
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="memorist-saving") if background else None

    def takes(self, tenant: str, user: str | None) -> bool:
        """Whether a shelf will be saved once it is large."""
        is_open = self._worker is not None and self._folder.takes_files
        return is_open and (tenant, user) not in self._too_large

    def restore(self, tenant: str, shelf: Shelf) -> bool:
        """Whether a shelf, whose lock is held, was brought back and up to date. Raises StoreError."""
        saved = self._read(tenant, shelf.user)
        if saved is None:
            return False
        newest = shelf.map(saved)
        check = lambda tx: is_known(shelf, newest, tx) and is_whole(shelf, tx)  # noqa: E731
        if shelf.is_loaded and self._store.read(tenant, check):
            return True
        shelf.clear()
        self._folder.discard(self._folder.file_of(tenant, shelf.user, self._model))
        return False

    def consider(self, tenant: str, shelf: Shelf, done: Done) -> None:
        """Save a shelf soon, if that is worth it. `done` is told whether the shelf is what the database holds."""
        key = (tenant, shelf.user)
        if shelf.size < self._folder.smallest or not self.takes(*key):
            return
        if self._is_saved(tenant, shelf):
            return
        with self._lock:
            if self._worker is None or time.monotonic() < self._busy.get(key, 0):
                return
            self._busy[key] = float("inf")
            # Not after it: somebody may close meanwhile.
            self._worker.submit(self._save, tenant, shelf, done)

    def finish(self) -> None:
        """Wait for what is being saved."""
        with self._lock:
            waiting = None if self._worker is None else self._worker.submit(lambda: None)
        if waiting is not None:
            waiting.result()

    def close(self) -> None:
        """Finish the file that is being written, and begin no other."""
        with self._lock:
            worker, self._worker = self._worker, None
        if worker is not None:
            worker.shutdown(cancel_futures=True)

    def _save(self, tenant: str, shelf: Shelf, done: Done) -> None:
        try:
            done(self._saved(tenant, shelf))
        except FileNotFoundError:
            pass  # Somebody erased meanwhile.
        except OSError as error:
            self._folder.refuse(error.strerror or str(error))
        except MemoristError as error:
            _log.warning("the index is not saved now: %s", error.message)
        finally:
            with self._lock:
                self._busy[tenant, shelf.user] = time.monotonic() + self._folder.rest_s

    def _is_saved(self, tenant: str, shelf: Shelf) -> bool:
        """Whether a shelf is the file that there is, but for a little."""
        is_much = shelf.unsaved >= max(self._folder.smallest, shelf.size // _SHARE)
        is_whole_file = not is_much and not shelf.lacks_lists(self._folder.listed_from)
        return is_whole_file and shelf.file_number == self._file_number(tenant, shelf.user)

    def _file_number(self, tenant: str, user: str | None) -> int | None:
        return file_number(self._folder.file_of(tenant, user, self._model))

    def _take_over(self, tenant: str, shelf: Shelf) -> bool:
        """Let a shelf, whose lock is held, be what another process saved. Returns whether it is; if the file is wrong,
        the shelf has to be loaded anew.
        """
        is_anothers = self._file_number(tenant, shelf.user) not in (None, shelf.file_number)
        return is_anothers and self.restore(tenant, shelf)

    def _saved(self, tenant: str, shelf: Shelf) -> bool:
        """Save it. Returns whether it was what the database holds, before and after."""
        file = self._folder.file_of(tenant, shelf.user, self._model)
        with shelf.lock:
            if not shelf.is_loaded or shelf.is_cut:
                return True
            is_anothers = self._take_over(tenant, shelf)
            if not shelf.is_loaded or (is_anothers and self._is_saved(tenant, shelf)):
                return True
            if not self._store.read(tenant, partial(is_whole, shelf)):
                return False
            saved = shelf.saved()
        if size_bytes(saved, self._folder.listed_from) > self._folder.limit_bytes:
            self._too_large.add((tenant, shelf.user))
            _log.warning("the index of a user takes more than index_disk_mb, and is not saved: set it higher")
            return True
        # Who closes does not wait for lists: the next process makes them.
        saved = arranged(saved, self._folder.listed_from, lambda: self._worker is None)
        try:
            with self._folder.writing(file) as out:
                # Lists take minutes. Who erases from now on removes the draft.
                self._check(tenant, shelf)
                snapshot.write(out, saved, self._whose(tenant, shelf.user))
        except _NotWhole:
            return False
        del saved
        is_still_whole = False
        try:
            mapped = self._read(tenant, shelf.user)
            with shelf.lock:
                if mapped is not None:
                    shelf.map(mapped)
                is_still_whole = self._store.read(tenant, partial(is_whole, shelf))
        finally:
            if not is_still_whole:
                self._folder.discard(file)
        return is_still_whole

    def _check(self, tenant: str, shelf: Shelf) -> None:
        with shelf.lock:
            if shelf.is_loaded and not self._store.read(tenant, partial(is_whole, shelf)):
                raise _NotWhole

    def _read(self, tenant: str, user: str | None) -> Snapshot | None:
        file = self._folder.file_of(tenant, user, self._model)
        try:
            found = snapshot.read(file, self._whose(tenant, user), writable=_WRITABLE)
        except FileNotFoundError:
            return None
        except WrongSnapshot as error:
            _log.warning("a saved index is thrown away: %s", error)
            self._folder.discard(file)
            return None
        except OSError as error:
            self._folder.refuse(error.strerror or str(error))
            return None
        self._folder.touch(file)
        return found

    def _whose(self, tenant: str, user: str | None) -> list[str]:
        return [self._folder.file_of(tenant, user, self._model).name, self._model]
