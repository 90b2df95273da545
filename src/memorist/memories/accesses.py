"""Reads are noted in memory and written a second later in one batch, so that reading never waits for the disk.

Each counts, and of a recall the question is kept too. What was acknowledged is never in here: losing the last second of
it costs nobody a memory.
"""

import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields
from datetime import datetime
from functools import partial
from itertools import islice
from operator import attrgetter

from memorist.errors import MemoristError
from memorist.ids import new_id
from memorist.making import maker_of
from memorist.memories.values import Memory, PastRecall
from memorist.platform import acts
from memorist.platform.erased_names import subject_of
from memorist.platform.loop import Loop, do_each
from memorist.platform.values import Owner, OwnerFilter, Principal
from memorist.ports import Store, Writer
from memorist.secrets.logs import redacting_logger

_log = redacting_logger(__name__)

_FLUSH_SECONDS = 1.0
LONGEST_QUERY = 500
"""Characters of a question that are kept."""
_MOST_RECALLS = 2000
"""Recalled memories that wait to be written: at more than that in a second, some are not noted."""

_NAMES = [field.name for field in fields(Memory)]
_COUNT, _LAST = _NAMES.index("access_count"), _NAMES.index("last_accessed_at")
_values_of = attrgetter(*_NAMES)
_memory_of = maker_of(Memory)

_MOST_WRITTEN = 20_000
"""Memories whose written count is known here, so that a row that was read before counts as what it is now."""

_Reads = dict[str, tuple[int, datetime]]
_Counts = dict[tuple[str, str], int]
_Recalls = deque[PastRecall]
_Scored = tuple[Memory, float]


_NOTED: ContextVar[bool] = ContextVar("noted", default=True)


@contextmanager
def unnoted() -> Iterator[None]:
    """Within, what is recalled does not count as such: somebody tries, compares, or looks for it in a list."""
    token = _NOTED.set(False)
    try:
        yield
    finally:
        _NOTED.reset(token)


class AccessLog:
    def __init__(self, store: Store, *, recall_history: int = 0, background: bool = True) -> None:
        """`recall_history`: how many recalls of each memory are kept. Without `background` only `flush` writes."""
        self._store = store
        self._recall_history = recall_history
        self._lock = threading.Lock()
        self._one_flush = threading.Lock()
        self._reads: dict[str, _Reads] = defaultdict(dict)
        self._flushing: dict[str, _Reads] = {}
        # What counts will be when the flush that is under way is committed, and what they were after earlier ones.
        self._committing: _Counts = {}
        self._written: _Counts = {}
        self._recalls: dict[str, _Recalls] = {}
        self._flushing_recalls: dict[str, _Recalls] = {}
        self._is_failing = False
        self._loop = Loop("accesses", self._flush_quietly, _FLUSH_SECONDS, at_once=False, background=background)

    def record_read(self, memory: Memory, now: datetime) -> Memory:
        """Count a read, and return the memory with every read so far: of several at once each has its own number."""
        with self._lock:
            self._count(memory, now)
            self._loop.start()
            return self._overlaid(memory)

    def record_recall(self, principal: Principal, query: str, hits: Sequence[_Scored], now: datetime) -> None:
        """Count the reads of what was recalled, and note the question, which must hold no secret any more; not where
        they are `unnoted`.
        """
        if not _NOTED.get():
            return
        with self._lock:
            for memory, _ in hits:
                self._count(memory, now)
            if hits:
                self._loop.start()
            if self._recall_history and hits:
                waiting = self._recalls.setdefault(principal.tenant, deque(maxlen=_MOST_RECALLS))
                waiting.extend(_noted(principal, query, hits, now))

    def _count(self, memory: Memory, now: datetime) -> None:
        reads = self._reads[memory.tenant]
        count, _ = reads.get(memory.id, (0, now))
        reads[memory.id] = (count + 1, now)

    def overlay(self, memory: Memory) -> Memory:
        """The memory with the reads that are not written yet."""
        with self._lock:
            return self._overlaid(memory)

    def _overlaid(self, memory: Memory) -> Memory:
        key = (memory.tenant, memory.id)
        pending = [self._reads.get(memory.tenant, {}).get(memory.id)]
        flushing = self._flushing.get(memory.tenant, {}).get(memory.id)
        # The row may have been read after the flush was committed and before that was known here.
        if key not in self._committing or memory.access_count < self._committing[key]:
            pending.append(flushing)
        count = max(memory.access_count, self._written.get(key, 0)) + sum(one[0] for one in pending if one)
        times = [one[1] for one in (*pending, flushing) if one]
        if count == memory.access_count and not times:
            return memory
        # Much faster than `replace`, and every read comes through here.
        values = list(_values_of(memory))
        values[_COUNT] = count
        values[_LAST] = max([memory.last_accessed_at, *times] if memory.last_accessed_at else times, default=None)
        return _memory_of(*values)

    def recalls_of(self, memory: Memory) -> list[PastRecall]:
        """The recalls of a memory that are not written yet, newest first."""
        with self._lock:
            waiting = [pending.get(memory.tenant, ()) for pending in (self._recalls, self._flushing_recalls)]
            return [recall for queue in waiting for recall in reversed(queue) if recall.memory_id == memory.id]

    def forget(self, tenant: str, memory_ids: Iterable[str]) -> None:
        """Drop what was counted and noted of memories that were erased."""
        gone = set(memory_ids)
        with self._lock:
            reads = self._reads.pop(tenant, {})
            for memory_id in gone:
                reads.pop(memory_id, None)
                self._written.pop((tenant, memory_id), None)
            if reads:
                self._reads[tenant] = reads
            self._keep_recalls(tenant, lambda recall: recall.memory_id not in gone)

    def forget_asked(self, tenant: str, owner: OwnerFilter) -> None:
        """Drop what was noted of the questions of users and agents whose doings are erased."""
        with self._lock:
            self._keep_recalls(tenant, lambda recall: not owner.matches(Owner(recall.user, recall.agent)))

    def _keep_recalls(self, tenant: str, wanted: Callable[[PastRecall], bool]) -> None:
        # What is being written comes back where that fails.
        for waiting in (self._recalls, self._flushing_recalls):
            kept = [recall for recall in waiting.pop(tenant, ()) if wanted(recall)]
            if kept:
                waiting[tenant] = deque(kept, maxlen=_MOST_RECALLS)

    def flush(self) -> None:
        """Write what has been noted. Raises StoreError, keeping what could not be written for the next time."""
        with self._one_flush, acts.aside():
            self._flush()

    def _flush(self) -> None:
        with self._lock:
            self._flushing, self._reads = self._reads, defaultdict(dict)
            self._flushing_recalls, self._recalls = self._recalls, {}

        def work(tenant: str) -> None:
            reads, recalls = self._flushing[tenant], self._flushing_recalls.get(tenant, ())
            self._store.write(tenant, partial(self._write, tenant, reads, recalls), is_told=False)
            self._note_written(tenant)

        try:
            do_each([tenant for tenant, reads in self._flushing.items() if reads], work)
        finally:
            self._take_back()

    def _write(self, tenant: str, reads: _Reads, recalls: Sequence[PastRecall], tx: Writer) -> None:
        # Adding to the reads first locks the memories: none is erased while what it was recalled for is written.
        counts = tx.memories.add_accesses(reads)
        # A good moment: answers quote memories, and should not outlive their time where nobody repeats a request.
        tx.idempotency.drop_expired(max(at for _, at in reads.values()))
        if recalls:
            recalls = _of_nobody_erased(recalls, tx)
            tx.recalls.insert(recalls)
            tx.recalls.trim({recall.memory_id for recall in recalls}, self._recall_history)
        with self._lock:
            self._committing = {(tenant, memory_id): count for memory_id, count in counts.items()}

    def _note_written(self, tenant: str) -> None:
        with self._lock:
            for key, count in self._committing.items():
                self._written.pop(key, None)  # So that those written last stand last.
                self._written[key] = count
            for key in list(islice(self._written, max(0, len(self._written) - _MOST_WRITTEN))):
                del self._written[key]
            self._committing = {}
            del self._flushing[tenant]
            self._flushing_recalls.pop(tenant, None)

    def _take_back(self) -> None:
        """Put what could not be written with what came since."""
        with self._lock:
            for tenant, reads in self._flushing.items():
                for memory_id, (count, at) in reads.items():
                    more, last = self._reads[tenant].get(memory_id, (0, at))
                    self._reads[tenant][memory_id] = (count + more, last)
            for tenant, recalls in self._flushing_recalls.items():
                since = self._recalls.get(tenant, ())
                self._recalls[tenant] = deque((*recalls, *since), maxlen=_MOST_RECALLS)
            self._flushing, self._flushing_recalls, self._committing = {}, {}, {}

    def close(self) -> None:
        self._loop.close()
        self._flush_quietly()
        with self._lock:
            self._reads.clear()

    def _flush_quietly(self) -> None:
        if not self._reads:
            return
        try:
            self.flush()
            self._is_failing = False
        except MemoristError as error:
            if not self._is_failing:
                _log.warning("reads were not counted: %s", error.message)
            self._is_failing = True


def _noted(principal: Principal, query: str, hits: Sequence[_Scored], now: datetime) -> Iterator[PastRecall]:
    recall_id = new_id("rec")
    query = query[:LONGEST_QUERY]
    for rank, (memory, score) in enumerate(hits, start=1):
        yield PastRecall(
            memory.id, now, recall_id, principal.user, principal.agent, principal.source, query, rank, score
        )


def _of_nobody_erased(recalls: Sequence[PastRecall], tx: Writer) -> list[PastRecall]:
    """Without what users asked before their erasure, of which another process may have taken care."""
    purges = tx.ledger.purges_since(min(recall.at for recall in recalls))
    if not purges:
        return list(recalls)

    def is_erased(user: str, asked_at: datetime) -> bool:
        return any(at >= asked_at and subject_of(salt, user) == subject for salt, subject, at in purges)

    return [recall for recall in recalls if recall.user is None or not is_erased(recall.user, recall.at)]
