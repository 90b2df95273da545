"""The indexer: gives every memory its vectors, at once for a small local batch, in the background otherwise.

A row waits in the database itself (`model = ''`), written with the memory in one transaction: what is interrupted is
found again by the next process, and several processes share the work.
"""

import atexit
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from itertools import islice

import numpy as np

from memorist.errors import MemoristError, ModelError
from memorist.memories import writing
from memorist.memories.searchable import as_turn, is_turn, searchable
from memorist.memories.values import Memory
from memorist.models import passages
from memorist.models.port import Embedder
from memorist.platform.rounds import Rounds
from memorist.ports import Reader, Store, Writer
from memorist.recall.index import vectors
from memorist.recall.values import Embedded, IndexCounts
from memorist.secrets.logs import redacting_logger
from memorist.times import Clock

_log = redacting_logger(__name__)

_CLAIM = 32
_CLAIMED_FOR = timedelta(seconds=60)
_POLL_SECONDS = 1.0
_MOST_DOUBLINGS = 5
_INLINE_WORDS = 3 * passages.WINDOW_WORDS
"""What a write waits for at most, however few memories it has: tens of milliseconds of a local model."""
_AT_ONCE = _CLAIM
_AT_ONCE_REMOTE = 64
"""Windows that are embedded before the indexer looks whether it is to stop; as many as short messages are claimed."""
_UNINDEX_BATCH = 2000
_ADOPT_BATCH = 500
_NO_MODEL = "none"
_COUNTING_SHARE = 20
"""Counting reads the whole index: so many times as long as it takes is worked before it is done again."""
_LONG_WORD = 24
"""Characters: what has more of them than so many long words is not counted, which takes a while itself."""
_MOST_WINDOWS = 4096
"""A memory shows this many windows to meaning search at most; keywords see all of it."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a tenant's index is."""

    model: str | None
    total: int
    waiting: int

    @property
    def done(self) -> int:
        return self.total - self.waiting


class Indexer:
    def __init__(self, store: Store, clock: Clock, embedder: Embedder | None, *, inline: int) -> None:
        """Up to `inline` short memories of one write are embedded before it returns. No embedder: keywords only."""
        self._store = store
        self._clock = clock
        self._embedder = embedder
        self._inline = inline if embedder is not None and embedder.is_local else 0
        self._prepared: set[str] = set()
        self._rounds = Rounds(store)
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._failed: str | None = None

    @property
    def model(self) -> str:
        """Names the vectors that are made now; '' where none are."""
        return "" if self._embedder is None else self._embedder.model_id

    @property
    def failure(self) -> str | None:
        """Why the last attempt to embed failed; None where it did not."""
        return self._failed

    # After a write

    def follow(self, tenant: str, memories: Sequence[Memory]) -> None:
        """Embed what was just written, or see to it that it is embedded soon. Never fails a write."""
        if self._embedder is None or not memories:
            return
        try:
            texts = self._few_words(tenant, memories)
            if texts is not None:
                # In this order: what was just written does not wait, and nobody is started to embed it as well.
                self._embed(tenant, memories, texts)
                self.prepare(tenant)
                return
        except MemoristError as error:
            self._note(error)
        self.start(tenant)
        self._wake.set()

    def _few_words(self, tenant: str, memories: Sequence[Memory]) -> list[list[str]] | None:
        """The texts to embed for what was written; None where that would take too long to wait for."""
        if len(memories) > self._inline or sum(len(one.content) for one in memories) > _INLINE_WORDS * _LONG_WORD:
            return None
        texts = self._store.read(tenant, partial(_texts, memories))
        words = sum(passages.count_words(text) for one in texts for text in one)
        return texts if words <= _INLINE_WORDS else None

    # Before a search

    def prepare(self, tenant: str) -> None:
        """Make sure that a tenant's rows are in the index, and wait for vectors where they have another model's."""
        if tenant in self._prepared:
            return
        known = self._store.index_model(tenant)
        if known is None:
            return
        if known == "":
            while self._store.write(tenant, lambda tx: writing.adopt(tx, _ADOPT_BATCH)) == _ADOPT_BATCH:
                pass
            self._store.set_index_model(tenant, self.model or _NO_MODEL)
        elif self.model and known != self.model:
            self._unindex(tenant, self.model)
            self._store.set_index_model(tenant, self.model)
        self._prepared.add(tenant)
        if self._embedder is not None and self._store.read(tenant, lambda tx: tx.index.has_waiting()):
            self._store.write(tenant, lambda tx: tx.index.release_claims())
            self.start(tenant)
            self._wake.set()

    def _unindex(self, tenant: str, model: str) -> None:
        while self._store.write(tenant, lambda tx: tx.index.unindex(model, _UNINDEX_BATCH)) == _UNINDEX_BATCH:
            pass

    # In the background

    def start(self, tenant: str | None = None, *, warm: Callable[[], None] = lambda: None) -> None:
        """Work in the background from now on: on one tenant, or on all that there are. `warm` runs there first."""
        if self._embedder is None or self._stopping.is_set():
            return
        with self._lock:
            if tenant is None:
                self._rounds.tell_of_everybody()
            else:
                self._rounds.tell(tenant)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, args=(warm,), name="memorist-indexer", daemon=True)
                self._thread.start()
                # A program that ends without closing must not be torn down in the middle of a computation.
                atexit.register(self.close)

    def close(self) -> None:
        self._stopping.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
            atexit.unregister(self.close)

    def _run(self, warm: Callable[[], None]) -> None:
        try:
            warm()
        except MemoristError as error:
            self._note(error)
        failures = 0
        while not self._stopping.is_set():
            self._wake.clear()
            failed = [tenant for tenant in self._next_tenants() if not self._catch_up(tenant)]
            for tenant in failed:
                self._rounds.tell(tenant)
            failures = min(failures + 1, _MOST_DOUBLINGS) if failed else 0
            self._wake.wait(_POLL_SECONDS * 2**failures)

    def _next_tenants(self) -> list[str]:
        try:
            return self._rounds.take()
        except MemoristError as error:
            self._note(error)
            return []

    def _catch_up(self, tenant: str) -> bool:
        """Embed all that waits. Returns whether that went well; what failed is tried again later."""
        try:
            self.prepare(tenant)
            while not self._stopping.is_set() and self._work_once(tenant):
                pass
        except MemoristError as error:
            self._note(error)
            return False
        except Exception:
            _log.exception("the indexer failed on tenant %s and goes on", tenant)
            return False
        return True

    def _work_once(self, tenant: str) -> int:
        """Embed the next few memories that wait. Returns how many there were."""
        now = self._clock.now()
        # Looked for before it is claimed: a claim is a write, and there is mostly nothing to do.
        if not self._store.read(tenant, lambda tx: tx.index.has_waiting(), snapshot=False):
            return 0
        until = now + _CLAIMED_FOR
        ids = self._store.write(tenant, lambda tx: tx.index.claim_waiting(now, until, _CLAIM))
        if ids:
            memories = self._store.read(tenant, lambda tx: tx.memories.get_many(ids))
            try:
                texts = self._store.read(tenant, partial(_texts, memories))
                if self._embed(tenant, memories, texts):
                    return len(ids)
            except ModelError:
                self._store.write(tenant, lambda tx: tx.index.release_claims(until))
                raise
            self._store.write(tenant, lambda tx: tx.index.release_claims(until))
        return 0

    def _embed(self, tenant: str, memories: Sequence[Memory], texts: Sequence[Sequence[str]]) -> bool:
        """Save the vectors of memories. False where the indexer was stopped in the middle of a long text: then none."""
        assert self._embedder is not None
        flat = [text for one in texts for text in one]
        vectors_of = []
        at_once = _AT_ONCE if self._embedder.is_local else _AT_ONCE_REMOTE
        for start in range(0, len(flat), at_once):
            if start and self._stopping.is_set():
                return False
            vectors_of += list(self._embedder.embed(flat[start : start + at_once]))
        rows = iter(vectors_of)
        made = []
        for memory, one in zip(memories, texts, strict=True):
            found = searchable(memory)
            packed = vectors.pack(np.stack(list(islice(rows, len(one)))))
            made.append(
                Embedded(memory.id, memory.owner.user, found.digest(), found.terms(), self._embedder.model_id, packed)
            )
        self._store.write(tenant, partial(_save, made))
        self._failed = None
        return True

    def _note(self, error: MemoristError) -> None:
        if self._failed != error.message:
            _log.warning("memories wait for their vectors: %s", error.message)
        self._failed = error.message

    # For those who wait

    def progress(self, tenant: str) -> Progress:
        """How far the index is. Without an embedder nothing waits."""
        counts: IndexCounts = self._store.read(tenant, lambda tx: tx.index.count(self.model))
        if self._embedder is None:
            return Progress(None, counts.total, 0)
        return Progress(self.model, counts.total, counts.waiting + counts.outdated)

    def finish(self, tenant: str) -> Iterator[Progress]:
        """Embed everything that waits, here and now, yielding the progress. Raises ModelError."""
        self.prepare(tenant)
        counted_at, progress, cost = self._count(tenant)
        yield progress
        while progress.waiting and self._embedder is not None:
            worked = self._work_once(tenant)
            if not worked:
                if self._failed is not None:
                    raise ModelError(self._failed)
                time.sleep(0.05)  # Others have claimed the rest.
            # Counting reads the whole index: it is done now and then, and in between what was done here is subtracted.
            if not worked or time.monotonic() - counted_at > max(1.0, _COUNTING_SHARE * cost):
                counted_at, progress, cost = self._count(tenant)
            else:
                progress = replace(progress, waiting=max(1, progress.waiting - worked))
            yield progress

    def _count(self, tenant: str) -> tuple[float, Progress, float]:
        """The progress, with when it was counted and how long that took."""
        before = time.monotonic()
        progress = self.progress(tenant)
        now = time.monotonic()
        return now, progress, now - before

    def rebuild(self, tenant: str) -> Iterator[Progress]:
        """Embed everything anew, while recall goes on with what is there. Raises ModelError."""
        self.prepare(tenant)
        self._unindex(tenant, "-")
        yield from self.finish(tenant)


def _texts(memories: Sequence[Memory], tx: Reader) -> list[list[str]]:
    """For each memory the texts to embed: one for each window, with what the models read beside it."""
    return [_windows(memory, tx.index.turn_before(memory) if is_turn(memory) else None) for memory in memories]


def _windows(memory: Memory, before: Memory | None) -> list[str]:
    found = searchable(memory)
    previous = found.context or ("" if before is None else as_turn(before))
    return [
        passages.embedding_passage(window, speaker=found.speaker, date=found.date, previous=previous)
        for window in found.windows()[:_MOST_WINDOWS]
    ]


def _save(made: Sequence[Embedded], tx: Writer) -> None:
    tx.index.save_vectors(made)
