"""The core as one object: what every surface is given."""

import threading
from collections.abc import Iterable, Sequence
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from memorist.audit.service import AuditLog
from memorist.context.chunks import Chunks
from memorist.context.section import Context
from memorist.errors import StoreCorrupt
from memorist.facts.port import Judge
from memorist.memories.accesses import AccessLog
from memorist.memories.policies import Policies
from memorist.memories.retention import RetentionService
from memorist.memories.service import Memories
from memorist.memories.values import Draft, Memory, Remembered
from memorist.models.port import Embedder, Llm, Reranker, Tagger
from memorist.options import Options
from memorist.platform.idempotency import Idempotency
from memorist.platform.identity import Identity
from memorist.platform.key_uses import KeyUses
from memorist.platform.redaction import Redaction
from memorist.platform.values import Job, Principal
from memorist.ports import Store
from memorist.times import Clock
from memorist.transfer.values import IMPORTING

if TYPE_CHECKING:  # A part is imported when it is made, so that a program pays only for what it uses.
    from memorist.about.service import Profiles
    from memorist.composing.service import Composer
    from memorist.context.companion import Companion
    from memorist.erasure.service import Erasure
    from memorist.facts.service import Facts
    from memorist.importers.service import Imports
    from memorist.ingestion.service import Ingestion
    from memorist.learning.service import Extraction
    from memorist.learning.sources import Sources
    from memorist.learning.transcript_files import TranscriptFiles
    from memorist.learning.transcripts import Transcripts
    from memorist.memories.bulk import Bulk
    from memorist.memories.sweeper import Sweeper
    from memorist.platform.backups import Backups
    from memorist.platform.feed import Feed
    from memorist.platform.jobs import Jobs
    from memorist.platform.loop import Loop
    from memorist.platform.sign_ins import SignIns
    from memorist.platform.user_tokens import UserTokens
    from memorist.recall.history import RecallHistory
    from memorist.recall.index.indexer import Indexer
    from memorist.recall.service import Recall
    from memorist.transfer.service import Transfer
    from memorist.turns.service import Turns
    from memorist.views.activity import Activity
    from memorist.views.browsing import Browsing
    from memorist.views.census import Census
    from memorist.views.coming import ComingMoves
    from memorist.views.conversations import Conversations
    from memorist.views.documents import DocumentViews
    from memorist.views.dossiers import Dossiers
    from memorist.views.installation import Installation
    from memorist.views.latest import Latest
    from memorist.views.llm_usage import LlmUsage
    from memorist.views.overview import Overview
    from memorist.views.redaction_log import RedactionLog
    from memorist.views.sample_data import SampleData
    from memorist.views.turn_stories import TurnStories


T = TypeVar("T")

_FINISH_ERASURES_EVERY_S = 3600.0
_EXAMINED_FOR_S = 10.0
_INDEX_FIRST_S = 30.0


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

    def __init__(self, store: Store, clock: Clock, options: Options | None = None, *, background: bool = True) -> None:
        """Without `background` no thread starts by itself: what is to be done later is done when it is asked for."""
        self.store = store
        self.clock = clock
        self.options = options or Options()
        self.watch = self.options.watch
        self.making = threading.RLock()
        self._background = background
        self.accesses = AccessLog(store, recall_history=self.options.recall_history, background=background)
        self.audit = AuditLog(
            store, clock, level=self.options.audit, keep_days=self.options.audit_days, background=background
        )
        self.redaction = Redaction(enabled=self.options.redact)
        self.key_uses = KeyUses(store, background=background)
        self.identity = Identity(store, clock, self.key_uses.note, self.redaction)
        self.policies = Policies(store, clock, self.options.policy, self.options.observation_days)
        idempotency = Idempotency(store, clock, self.redaction)
        self.memories = Memories(
            store, clock, self.accesses, idempotency, self._index, self.policies.of, self.redaction, self.watch
        )
        self.retention = RetentionService(
            store, clock, self.memories, self.policies, lambda principal, id: self.facts.restore(principal, id)
        )
        self.context = Context(self.memories)
        self.chunks = Chunks(store, clock, self.accesses, self._remember_stated)

    # Models

    @_made_once
    def embedder(self) -> Embedder | None:
        return self.watch.model("embedder", self.options.embedder())

    @_made_once
    def reranker(self) -> Reranker | None:
        return self.watch.model("reranker", self.options.reranker())

    @_made_once
    def llm(self) -> Llm | None:
        return self.watch.model("llm", self.options.llm())

    @_made_once
    def extraction_llm(self) -> Llm | None:
        """The one that looks for memories; where none is set apart, the same as for everything else."""
        return self.watch.model("llm", self.options.extraction_llm()) or self.llm

    @_made_once
    def tagger(self) -> Tagger | None:
        return self.watch.model("tagger", self.options.tagger())

    @_made_once
    def judge(self) -> Judge | None:
        from memorist.facts.judges import AutoJudge, LlmJudge
        from memorist.platform.spending import Spending

        judge = self.options.judge()
        if isinstance(judge, AutoJudge | LlmJudge):
            judge.count_with(Spending(self.store, self.clock).add)
        return judge

    # Finding

    @_made_once
    def indexer(self) -> "Indexer":
        from memorist.recall.index.indexer import Indexer

        return Indexer(
            self.store,
            self.clock,
            self.embedder,
            inline=self.options.index_inline,
            background=self._background,
            is_brief=self.options.is_brief,
        )

    @_made_once
    def recall(self) -> "Recall":
        from memorist.recall.index.cache import Shelves
        from memorist.recall.index.saving import Saving
        from memorist.recall.service import Recall

        models, folder = self.indexer.models, self.options.index_folder
        saving = (
            None
            if folder is None or not folder.limit_bytes
            # What the first of them had saved stays good.
            else Saving(self.store, folder, models[0], background=self._background)
        )
        return Recall(
            self.store,
            self.clock,
            self.accesses,
            self.indexer,
            Shelves(
                self.store,
                models=models,
                limit_bytes=self.options.index_memory_bytes,
                saving=saving,
                lacks_folder=self.options.lacks_index_folder,
            ),
            self.embedder,
            self.reranker,
            redaction=self.redaction,
            weights=self.options.weights,
            min_score=self.options.min_score,
            budget_ms=self.options.recall_budget_ms,
            watch=self.watch,
        )

    @_made_once
    def recall_history(self) -> "RecallHistory":
        from memorist.recall.history import RecallHistory

        return RecallHistory(self.store, self.accesses, keep=self.options.recall_history)

    @_made_once
    def dossiers(self) -> "Dossiers":
        from memorist.views.dossiers import Dossiers

        return Dossiers(self.store, self.clock, self.accesses, self.policies)

    @_made_once
    def browsing(self) -> "Browsing":
        from memorist.views.browsing import Browsing

        return Browsing(self.store, self.clock, self.accesses, self.policies.of)

    @_made_once
    def conversations(self) -> "Conversations":
        from memorist.views.conversations import Conversations

        return Conversations(self.store, self.clock, self.memories, self.erasure)

    @_made_once
    def document_views(self) -> "DocumentViews":
        from memorist.views.documents import DocumentViews

        return DocumentViews(self.store, self.ingestion)

    @_made_once
    def activity(self) -> "Activity":
        from memorist.views.activity import Activity

        return Activity(self.store, self.clock)

    @_made_once
    def coming(self) -> "ComingMoves":
        from memorist.views.coming import ComingMoves

        return ComingMoves(self.store, self.clock, self.policies)

    @_made_once
    def llm_usage(self) -> "LlmUsage":
        from memorist.views.llm_usage import LlmUsage

        return LlmUsage(self.store, self.clock)

    @_made_once
    def latest(self) -> "Latest":
        from memorist.views.latest import Latest

        return Latest(self.store, self.clock, self.browsing)

    # Keeping and learning

    @_made_once
    def companion(self) -> "Companion":
        from memorist.context.companion import Companion

        return Companion(self.store, self.clock, self.memories, self.erasure, self.redaction, self._remember_stated)

    @_made_once
    def profiles(self) -> "Profiles":
        from memorist.about.service import Profiles
        from memorist.about.written import Writing
        from memorist.platform.spending import Spending

        writing = Writing(lambda: self.llm, self.redaction, Spending(self.store, self.clock), self.clock)
        return Profiles(self.store, self.clock, self.facts, lambda: self.tagger, writing, background=self._background)

    @_made_once
    def composer(self) -> "Composer":
        from memorist.composing.service import Composer

        return Composer(
            self.context,
            self.companion,
            self.profiles,
            self.chunks,
            lambda: self.recall,
            budget_tokens=self.options.context_tokens,
        )

    @_made_once
    def ingestion(self) -> "Ingestion":
        from memorist.ingestion.service import Ingestion

        return Ingestion(
            self.store,
            self.clock,
            self.memories,
            self.redaction,
            preview=self.options.tool_output_preview,
            learner=lambda: self.extraction,
        )

    @_made_once
    def sources(self) -> "Sources":
        from memorist.learning.sources import Sources

        return Sources(self.store, self.clock, self.memories, self.ingestion)

    @_made_once
    def transcripts(self) -> "Transcripts":
        from memorist.learning.transcripts import Transcripts

        return Transcripts(self.store, self.clock, self.sources, self.jobs, self.options.extractor)

    @_made_once
    def transcript_files(self) -> "TranscriptFiles":
        from memorist.learning.transcript_files import TranscriptFiles

        return TranscriptFiles(self.options.transcript_roots)

    @_made_once
    def facts(self) -> "Facts":
        from memorist.facts.service import Facts

        return Facts(
            self.store,
            self.clock,
            self.memories,
            self.jobs,
            lambda: self.judge,
            lambda memory, **limits: self.recall.nearest_facts(memory, **limits),
            top_k=self.options.judge_top_k,
            threshold=self.options.judge_threshold,
        )

    @_made_once
    def extraction(self) -> "Extraction":
        from memorist.learning.finding import Finder
        from memorist.learning.service import Extraction

        finder = Finder(
            self.facts,
            lambda: self.companion,
            lambda: self.extraction_llm,
            lambda: self.tagger,
            self.options.extractor,
            lambda: self.extraction_llm if self.extraction_llm is not self.llm else None,
            self.options.extraction_answer_tokens,
        )
        return Extraction(self.store, self.clock, self.sources, self.facts, self.jobs, self.redaction, finder)

    @_made_once
    def jobs(self) -> "Jobs":
        from memorist.facts.service import JUDGING
        from memorist.learning.outcomes import EXTRACTING
        from memorist.platform.jobs import Jobs

        # What does each kind of job; looked up when one is done, so that nothing is made before it is needed.
        work = {
            JUDGING: lambda job: self.facts.judge(job),
            EXTRACTING: lambda job: self.extraction.parts.work(job),
            IMPORTING: lambda job: self.imports.work(job),
        }
        return Jobs(
            self.store,
            self.clock,
            work,
            self.redaction,
            before=self._index_first,
            background=self._background,
            watch=self.watch,
        )

    @_made_once
    def turns(self) -> "Turns":
        from memorist.turns.service import Turns

        return Turns(
            self.store,
            self.clock,
            self.companion,
            self.composer,
            self.ingestion,
            self.extraction,
            Idempotency(self.store, self.clock, self.redaction),
            lambda: self.llm,
            lambda: self.options.toolbox(self),
            self.options.turn_limits,
            self.redaction,
            background=self._background,
            watch=self.watch,
        )

    @_made_once
    def turn_stories(self) -> "TurnStories":
        from memorist.views.turn_stories import TurnStories

        return TurnStories(self.store, self.clock, self.turns)

    # Letting go

    @_made_once
    def bulk(self) -> "Bulk":
        from memorist.memories.bulk import Bulk

        return Bulk(self.store, self.retention, self.memories)

    @_made_once
    def erasure(self) -> "Erasure":
        from memorist.erasure.running import Runs
        from memorist.erasure.service import Erasure

        kept = (self.options.backups, self.options.index_folder)
        elsewhere = tuple(one.holds for one in kept if one is not None and one.holds)
        runs = Runs(
            self.store,
            self.clock,
            self.accesses,
            self.policies.of,
            self._forget,
            lambda tenant, user: self.imports.forget(tenant, user),
            self._remove_saved,
            elsewhere,
        )
        return Erasure(self.store, self.clock, runs, at_once=self.options.purge_at_once)

    @_made_once
    def sweeper(self) -> "Sweeper":
        from memorist.memories.sweeper import Sweeper

        kept_for = timedelta(days=self.options.turn_events_days)
        return Sweeper(
            self.store, self.clock, self.policies, self.erasure, turn_events_kept_for=kept_for, watch=self.watch
        )

    # Looking after it

    @_made_once
    def feed(self) -> "Feed":
        from memorist.platform.feed import Feed

        return Feed(self.store, background=self._background)

    @_made_once
    def installation(self) -> "Installation":
        from memorist.views.installation import Installation

        parts = {
            "embedder": lambda: self.embedder,
            "reranker": lambda: self.reranker,
            "language model": lambda: self.llm,
            "judge": lambda: self.judge,
        }
        return Installation(self.store, parts, lambda: self.indexer.failure)

    @_made_once
    def census(self) -> "Census":
        from memorist.views.census import Census

        return Census(self.store, self.clock, self._at_work, lambda: self.embedder is not None)

    def _at_work(self) -> dict[str, float]:
        """What this process does now; what was never made does nothing."""
        made = self.__dict__
        return {
            "lag": self.indexer.lag if "indexer" in made else 0,
            "jobs running": self.jobs.running if "jobs" in made else 0,
            "turns running": self.turns.runner.running if "turns" in made else 0,
        }

    @_made_once
    def overview(self) -> "Overview":
        from memorist.views.overview import Overview

        return Overview(
            self.store, self.clock, self.policies, lambda: self.embedder is not None, background=self._background
        )

    @_made_once
    def sample_data(self) -> "SampleData":
        from memorist.views.sample_data import SampleData

        return SampleData(self.store, self.ingestion, self.facts, self.erasure)

    @_made_once
    def redaction_log(self) -> "RedactionLog":
        from memorist.views.redaction_log import RedactionLog

        return RedactionLog(self.store)

    @_made_once
    def sign_ins(self) -> "SignIns":
        from memorist.platform.sign_ins import SignIns

        lifetime = timedelta(hours=self.options.session_hours)
        return SignIns(self.store, self.clock, self.identity, session_lifetime=lifetime)

    @_made_once
    def user_tokens(self) -> "UserTokens":
        from memorist.platform.user_tokens import UserTokens

        return UserTokens(self.store, self.clock, self.identity, self.redaction)

    @_made_once
    def backups(self) -> "Backups | None":
        """Those on a schedule; None where there are to be none."""
        from memorist.platform.backups import Backups

        plan = self.options.backups
        return None if plan is None else Backups(self.store, self.clock, plan, background=self._background)

    @_made_once
    def examination(self) -> "Loop":
        from memorist.platform.loop import Loop

        return Loop("examination", self._examine, self.options.check_interval_s, background=self._background)

    def _examine(self) -> None:
        if damage := self.store.examine(_EXAMINED_FOR_S):
            raise StoreCorrupt(f"The database is damaged: {damage}. Nothing is written any more.")

    @_made_once
    def transfer(self) -> "Transfer":
        from memorist.transfer.service import Transfer

        return Transfer(self.store, self.clock, self.redaction, self.memories.rows, self._index)

    @_made_once
    def imports(self) -> "Imports":
        from memorist.importers.service import Imports

        return Imports(self.memories, self.transfer, self.jobs, self.options.uploads, background=self._background)

    def start(self, *, rounds: bool = True) -> None:
        """For servers: get the models ready, index what waits and do the jobs that are due, in the background.

        Without `rounds` only what is written here is seen to: another process of the machine looks after the rest.
        """
        if not self._background:
            return
        if self.embedder is not None:
            self.indexer.start(warm=self.recall.load, everybody=rounds)
        if not rounds:
            self.jobs.start(everybody=False)
            return
        self.imports.start()
        self.jobs.start()
        self.turns.start_reaping()
        self.erasure.start(_FINISH_ERASURES_EVERY_S)
        if self.options.sweep_interval_s > 0:
            self.sweeper.start(self.options.sweep_interval_s)
        if self.options.check_interval_s > 0:
            self.examination.start()
        if self.backups is not None:
            self.backups.start()

    def _remember_stated(
        self, principal: Principal, drafts: Sequence[Draft], *, idempotency_key: str | None = None
    ) -> list[Remembered]:
        """What another door than the agent tools' is told: where it contradicts a fact, somebody is asked, later."""
        return self.facts.remember_all(principal, drafts, idempotency_key=idempotency_key, later=True)

    def _index_first(self, job: Job) -> bool:
        """What was just said is found by its meaning before it is read for facts: both want the same cores."""
        return (
            job.kind == IMPORTING or "indexer" not in self.__dict__ or self.indexer.wait_for(job.tenant, _INDEX_FIRST_S)
        )

    def _forget(self, tenant: str, users: Iterable[str | None]) -> None:
        """Drop what is kept in memory, and in files beside the database, of users whose rows were erased."""
        users = list(users)
        self._remove_saved(tenant, users)
        if "recall" in self.__dict__:
            self.recall.forget(tenant, users)
        if "profiles" in self.__dict__:
            self.profiles.forget(tenant, users)
        if "indexer" in self.__dict__:
            self.indexer.look_again(tenant)

    def _remove_saved(self, tenant: str, users: Iterable[str | None] | None = None) -> None:
        if self.options.index_folder is not None:
            self.options.index_folder.remove(tenant, users)

    def _index(self, tenant: str, memories: list[Memory]) -> None:
        if memories and self.embedder is not None:
            self.indexer.follow(tenant, memories)

    def close(self) -> None:
        for name in ("indexer", "jobs"):
            if name in self.__dict__:
                getattr(self, name).let_go()
        before = ("backups", "examination", "imports", "turns", "feed", "jobs", "profiles", "overview")
        for name in (*before, "sweeper", "erasure", "indexer", "recall"):
            # What was never made has nothing to finish.
            if self.__dict__.get(name) is not None:
                getattr(self, name).close()
        self.accesses.close()
        self.key_uses.close()
        self.audit.close()
        self.store.close()
        self.watch.close()
