"""The core as one object: what every surface is given."""

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from memorist.core.accesses import AccessLog
from memorist.core.chunks import Chunks
from memorist.core.companion import Companion
from memorist.core.context import Context
from memorist.core.erasure import Erasure
from memorist.core.extraction import EXTRACTING, Extraction
from memorist.core.facts import JUDGING, Facts
from memorist.core.feed import Feed
from memorist.core.idempotency import Idempotency
from memorist.core.identity import Identity
from memorist.core.ingestion import Ingestion
from memorist.core.jobs import Jobs
from memorist.core.memories import Memories
from memorist.core.openings import Openings
from memorist.core.policies import Policies
from memorist.core.redaction import Redaction
from memorist.core.retention import Retention
from memorist.core.sign_ins import SignIns
from memorist.core.sources import Sources
from memorist.core.sweeper import Sweeper
from memorist.core.transcript_files import TranscriptFiles
from memorist.core.transcripts import Transcripts
from memorist.core.transfer import Transfer
from memorist.core.turns import Toolbox, TurnLimits, Turns
from memorist.model import Memory, Policy, Weights
from memorist.ports import Clock, Embedder, Judge, Llm, Reranker, Store

if TYPE_CHECKING:  # Only those who search or embed pay for importing numpy.
    from memorist.core.indexing import Indexer
    from memorist.core.recall import Recall


T = TypeVar("T")

_FINISH_ERASURES_EVERY_S = 3600.0


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
    judge: Callable[[], Judge | None] = lambda: None
    judge_top_k: int = 5
    judge_threshold: float = 0.7
    policy: Policy = Policy()
    sweep_interval_s: float = 0
    redact: bool = True
    session_hours: float = 168
    recall_history: int = 20
    transcript_roots: tuple[Path, ...] = ()
    llm: Callable[[], Llm | None] = lambda: None
    extractor: str = "auto"
    toolbox: Callable[["Core"], Toolbox | None] = lambda _: None
    turn_limits: TurnLimits = TurnLimits()


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
        self.redaction = Redaction(enabled=self.options.redact)
        self.identity = Identity(store, clock, self.accesses, self.redaction)
        self.sign_ins = SignIns(
            store, clock, self.identity, session_lifetime=timedelta(hours=self.options.session_hours)
        )
        self.policies = Policies(store, clock, self.options.policy)
        idempotency = Idempotency(store, clock, self.redaction)
        self.memories = Memories(
            store, clock, self.accesses, idempotency, self._index, self.policies.of, self.redaction
        )
        self.retention = Retention(
            store, clock, self.memories, self.policies, lambda principal, id: self.facts.restore(principal, id)
        )
        self.erasure = Erasure(store, clock, self.accesses, self.policies.of, self._forget)
        self.sweeper = Sweeper(store, clock, self.policies, self.erasure.purge_rows)
        self.ingestion = Ingestion(
            store, clock, self.memories, self.redaction, preview=self.options.tool_output_preview
        )
        self.context = Context(self.memories)
        self.companion = Companion(store, clock, self.memories, self.erasure)
        self.chunks = Chunks(store, clock, self.accesses, self.memories)
        self.openings = Openings(self.memories, self.chunks)
        self.feed = Feed(store)
        self.transcript_files = TranscriptFiles(self.options.transcript_roots)
        # What does each kind of job; looked up when one is done, so that nothing is made before it is needed.
        self.jobs = Jobs(
            store,
            clock,
            {JUDGING: lambda job: self.facts.judge(job), EXTRACTING: lambda job: self.extraction.work(job)},
            self.redaction,
        )
        self.facts = Facts(
            store,
            clock,
            self.memories,
            self.jobs,
            lambda: self.judge,
            lambda memory, **limits: self.recall.nearest_facts(memory, **limits),
            top_k=self.options.judge_top_k,
            threshold=self.options.judge_threshold,
        )
        sources = Sources(store, clock, self.memories, self.ingestion)
        self.transcripts = Transcripts(store, clock, sources, self.jobs, self.options.extractor)
        self.extraction = Extraction(
            store,
            clock,
            sources,
            self.facts,
            self.jobs,
            self.redaction,
            lambda: self.llm,
            self.options.extractor,
        )
        self.turns = Turns(
            store,
            clock,
            self.companion,
            self.extraction,
            Idempotency(store, clock, self.redaction),
            lambda: self.llm,
            lambda: self.options.toolbox(self),
            self.options.turn_limits,
            self.redaction,
        )
        self.transfer = Transfer(store, clock, self.redaction, self._index)

    @_made_once
    def embedder(self) -> Embedder | None:
        return self.options.embedder()

    @_made_once
    def llm(self) -> Llm | None:
        return self.options.llm()

    @_made_once
    def judge(self) -> Judge | None:
        return self.options.judge()

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
            redaction=self.redaction,
            weights=self.options.weights,
            min_score=self.options.min_score,
        )

    def start(self) -> None:
        """For servers: get the models ready, index what waits and do the jobs that are due, in the background."""
        if self.embedder is not None:
            self.indexer.start(warm=self.recall.load)
        self.jobs.start()
        self.turns.start_reaping()
        self.erasure.start(_FINISH_ERASURES_EVERY_S)
        if self.options.sweep_interval_s > 0:
            self.sweeper.start(self.options.sweep_interval_s)

    def _forget(self, tenant: str, users: Iterable[str | None]) -> None:
        """Drop what is kept in memory of users whose rows were erased."""
        if "recall" in self.__dict__:
            self.recall.forget(tenant, users)

    def _index(self, tenant: str, memories: list[Memory]) -> None:
        if memories and self.embedder is not None:
            self.indexer.follow(tenant, memories)

    def close(self) -> None:
        self.turns.close()
        self.feed.close()
        self.jobs.close()
        self.sweeper.close()
        self.erasure.close()
        if "indexer" in self.__dict__:
            self.indexer.close()
        self.accesses.close()
        self.store.close()
