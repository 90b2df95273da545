"""The core as one object: what every surface is given."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from memorist.core.accesses import AccessLog
from memorist.core.context import Context
from memorist.core.idempotency import Idempotency
from memorist.core.identity import Identity
from memorist.core.ingestion import Ingestion
from memorist.core.memories import Memories
from memorist.core.transfer import Transfer
from memorist.model import Memory, Weights
from memorist.ports import Clock, Embedder, Reranker, Store

if TYPE_CHECKING:  # Only those who search or embed pay for importing numpy.
    from memorist.core.indexing import Indexer
    from memorist.core.recall import Recall


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Options:
    """What the core can be told. The models are made when they are first needed; without them, keywords alone count."""

    embedder: Callable[[], Embedder | None] = lambda: None
    reranker: Callable[[], Reranker | None] = lambda: None
    weights: Weights = Weights()
    min_score: float = 0.0
    index_inline: int = 8
    index_memory_bytes: int = 512 << 20
    tool_output_preview: int = 4000


class _made_once(cached_property[T]):
    """A cached property that two threads asking first at the same time do not make twice."""

    if not TYPE_CHECKING:

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            with instance.making:
                return super().__get__(instance, owner)


class Core:
    """Owns the store: closing the core writes what is pending and closes it."""

    def __init__(self, store: Store, clock: Clock, options: Options | None = None) -> None:
        self.store = store
        self.clock = clock
        self.options = options or Options()
        self.making = threading.RLock()
        self.accesses = AccessLog(store)
        self.identity = Identity(store, clock, self.accesses)
        self.memories = Memories(store, clock, self.accesses, Idempotency(store, clock), self._index)
        self.ingestion = Ingestion(store, clock, self.memories, preview=self.options.tool_output_preview)
        self.context = Context(self.memories)
        self.transfer = Transfer(store, self._index)

    @_made_once
    def embedder(self) -> Embedder | None:
        return self.options.embedder()

    @_made_once
    def indexer(self) -> "Indexer":
        from memorist.core.indexing import Indexer

        return Indexer(self.store, self.clock, self.embedder, inline=self.options.index_inline)

    @_made_once
    def recall(self) -> "Recall":
        from memorist.core.recall import Recall
        from memorist.core.shelves import Shelves

        return Recall(
            self.store,
            self.clock,
            self.accesses,
            self.indexer,
            Shelves(self.store, model=self.indexer.model, limit_bytes=self.options.index_memory_bytes),
            self.embedder,
            self.options.reranker(),
            weights=self.options.weights,
            min_score=self.options.min_score,
        )

    def start(self) -> None:
        """For servers: get the models ready and index what waits, in the background, so that nobody waits for it."""
        if self.embedder is not None:
            self.indexer.start(warm=self.recall.load)

    def _index(self, tenant: str, memories: list[Memory]) -> None:
        if memories and self.embedder is not None:
            self.indexer.follow(tenant, memories)

    def close(self) -> None:
        if "indexer" in self.__dict__:
            self.indexer.close()
        self.accesses.close()
        self.store.close()
