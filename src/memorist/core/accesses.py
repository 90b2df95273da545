"""Reads are counted in memory and written a second later in one batch, so that reading never waits for the disk.

What was acknowledged is never in here: losing the last second of counts costs nobody a memory.
"""

import threading
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import fields
from datetime import datetime
from functools import partial
from operator import attrgetter, methodcaller

from memorist.errors import MemoristError
from memorist.model import Memory
from memorist.ports import Store, Writer
from memorist.secrets.logs import redacting_logger

_log = redacting_logger(__name__)

_FLUSH_SECONDS = 1.0

_all_but_reads = attrgetter(*[field.name for field in fields(Memory)][:-3])

_Reads = dict[str, tuple[int, datetime]]


class AccessLog:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._reads: dict[str, _Reads] = defaultdict(dict)
        self._flushing: dict[str, _Reads] = {}
        self._key_uses: dict[str, dict[str, datetime]] = defaultdict(dict)
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()

    def record_read(self, memory: Memory, now: datetime) -> Memory:
        """Count a read, and return the memory with every read so far."""
        with self._lock:
            reads = self._reads[memory.tenant]
            count, _ = reads.get(memory.id, (0, now))
            reads[memory.id] = (count + 1, now)
            self._ensure_thread()
        return self.overlay(memory)

    def record_key(self, tenant: str, key_id: str, now: datetime) -> None:
        with self._lock:
            self._key_uses[tenant][key_id] = now
            self._ensure_thread()

    def overlay(self, memory: Memory) -> Memory:
        """The memory with the reads that are not written yet."""
        for pending in (self._flushing, self._reads):
            entry = pending.get(memory.tenant, {}).get(memory.id)
            if entry is not None:
                # The two are the last stored fields; `replace` takes twice as long, and every read comes through here.
                values = (*_all_but_reads(memory), memory.access_count + entry[0], entry[1])
                memory = Memory(*values)
        return memory

    def forget(self, tenant: str, memory_ids: Iterable[str]) -> None:
        """Drop what was counted of memories that were erased."""
        with self._lock:
            reads = self._reads.pop(tenant, {})
            for memory_id in memory_ids:
                reads.pop(memory_id, None)
            if reads:
                self._reads[tenant] = reads

    def flush(self) -> None:
        """Write what has been counted. Raises StoreError, keeping nothing: counts are best effort."""
        with self._lock:
            self._flushing, self._reads = self._reads, defaultdict(dict)
            key_uses, self._key_uses = self._key_uses, defaultdict(dict)
        try:
            for tenant, reads in self._flushing.items():
                self._store.write(tenant, partial(_write_reads, reads))
            for tenant, uses in key_uses.items():
                self._store.write(tenant, methodcaller("touch_keys", uses))
        finally:
            self._flushing = {}

    def close(self) -> None:
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
        self._flush_quietly()

    def _ensure_thread(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="memorist-accesses", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while not self._stopping.wait(_FLUSH_SECONDS):
            self._flush_quietly()

    def _flush_quietly(self) -> None:
        if not self._reads and not self._key_uses:
            return
        try:
            self.flush()
        except MemoristError as error:
            _log.warning("reads were not counted: %s", error.message)


def _write_reads(reads: _Reads, tx: Writer) -> None:
    tx.add_accesses(reads)
    # A good moment for it: answers quote memories, and should not outlive their time where nobody repeats a request.
    tx.drop_expired_idempotency(max(at for _, at in reads.values()))
