"""Recall: what matters for a question, by keyword and by meaning, reranked; and why.

Both arms score every row that the caller may see; their scores, with a share of the neighbouring turns', are normalised
and added; the first of that order are read again by the reranker. See docs/explanation/recall.md.
"""

import threading
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache, partial
from itertools import accumulate
from typing import Any

import numpy as np

from memorist import words
from memorist.context.tokens import count_tokens
from memorist.errors import InvalidField, ModelError
from memorist.ids import parse_id
from memorist.memories.accesses import AccessLog
from memorist.memories.searchable import Standing, as_turn, is_turn, repeats, searchable, standing
from memorist.memories.values import Kind, Memory
from memorist.models import passages
from memorist.models.port import Embedder, Reranker
from memorist.platform import access, validation
from memorist.platform.redaction import Redaction
from memorist.platform.values import OwnerFilter, Principal
from memorist.ports import Store
from memorist.recall.index.indexing import Indexer
from memorist.recall.index.shelves import Array, Shelves, View, wording
from memorist.recall.ranking import (
    FUSION,
    Fusion,
    Links,
    Places,
    Scores,
    Threads,
    assumed_cosines,
    best,
    confidence,
    normalised,
    share_of_meaning,
    with_neighbours,
    with_threads,
)
from memorist.recall.values import Hit, Question, Recalled, Scope, Weights
from memorist.secrets.logs import redacting_logger
from memorist.times import Clock, to_micros

_log = redacting_logger(__name__)

_SPARE = 4
"""Candidates beyond those asked for, in place of rows that changed since they were indexed."""

_BUDGET_CANDIDATES = 200

_MOST_AT_ONCE = 32
"""Questions whose words are looked up beside their embedding; others wait for their turn."""

_MOST_TERMS = 512
"""A question of ten thousand characters may have thousands of words, and each costs a search."""


class Recall:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        accesses: AccessLog,
        indexer: Indexer,
        shelves: Shelves,
        embedder: Embedder | None,
        reranker: Reranker | None,
        *,
        redaction: Redaction,
        weights: Weights | None = None,
        min_score: float = 0.0,
        fusion: Fusion = FUSION,
    ) -> None:
        self._store = store
        self._clock = clock
        self._accesses = accesses
        self._indexer = indexer
        self._shelves = shelves
        self._embedder = embedder
        self._reranker = reranker
        self._redaction = redaction
        self._weights = weights or Weights()
        self._min_score = min_score
        # What counts as near was fitted to the local embedder; another one has cosines of its own.
        self._fusion = fusion if embedder is None or embedder.is_local else replace(fusion, near=0.0)
        self._is_warm = False

    def weighing(self, fusion: Fusion) -> "Recall":
        """The same recall with other weights, for measuring."""
        other = copy(self)
        other._fusion = fusion
        return other

    def load(self) -> None:
        """Get the models ready now rather than at the first question. Raises ModelError."""
        for model in (self._embedder, self._reranker):
            if model is not None:
                model.load()

    def recall(self, principal: Principal, question: Question) -> Recalled:
        """The memories that answer a question, best first. It always answers: a model that fails is done without.

        Raises InvalidField, Forbidden, NotFound (of `why_not`) or StoreError.
        """
        question = _validated(principal, question)
        # A question may quote a secret, and models are not always ours.
        question = replace(question, query=self._redaction.text(question.query))
        self._indexer.prepare(principal.tenant)
        now = self._clock.now()
        slices = access.visible_slices(principal)
        self._warm_up(question)
        users = self._users(principal, slices)
        opening = partial(self._open, principal, question, slices, users, now)
        if self._embedder is None or not self._shelves.are_loaded(principal.tenant, users):
            found = opening()
            vector = self._embed(question.query)
        else:
            # What takes longest begins at once; the other thread may take a moment to wake.
            opened = _beside().submit(opening)
            vector = self._embed(question.query)
            found = opened.result()
        pool, rows = self._candidates(found, vector)
        if any(_is_lost(rows.get(found.ids[place]), found) for place in pool):
            # Rows were erased or given away, here or in another process, and take others' places: read it all anew.
            self._shelves.forget(principal.tenant, [view.user for view in found.views])
            found = opening()
            pool, rows = self._candidates(found, vector)
        order = [place for place in pool if found.ids[place] in rows and _still_wanted(rows[found.ids[place]], found)]
        ranking = self._rank(question, found, order, rows)
        hits = self._hits(question, found, ranking, rows)
        self._accesses.record_recall(principal, question.query, hits, now)
        return Recalled(
            hits=hits,
            degraded=not found.by_meaning or found.waiting > 0,
            rerank_used=ranking.reranked is not None,
            why_not=None if question.why_not is None else self._why_not(principal, question, found, ranking, hits),
        )

    def forget(self, tenant: str, users: Iterable[str | None]) -> None:
        """Drop from memory what is searched of some users: it is read again when it is needed."""
        self._shelves.forget(tenant, users)

    def nearest_facts(self, memory: Memory, *, most: int, distance: float) -> list[Memory]:
        """The active facts of exactly the same owner that lie nearest to a memory, within a cosine distance.

        What has no vector yet, and everything where there are none, is near by the share of words in common.
        """
        self._indexer.prepare(memory.tenant)
        view = self._shelves.look(memory.tenant, memory.owner.user)
        now = self._clock.now()
        column = view.columns
        wanted = (column["standing"] == Standing.LIVE) & (column["expires_at"] > to_micros(now))
        wanted &= column["kind"] == view.code("kind", Kind.FACT)
        wanted &= column["agent"] == view.code("agent", memory.owner.agent)
        place = view.places.get(memory.id, -1)
        is_known = 0 <= place < view.size
        if is_known:
            wanted[place] = False
        if not wanted.any():
            return []
        terms = words.question_terms(memory.content)[:_MOST_TERMS]
        # Each word counts alike: what all facts have in common ("the user lives in") is what makes two of them near.
        closeness = np.zeros(view.size, dtype=np.float32)
        for term in terms:
            closeness[view.containing(words.hash_of(term))[0]] += np.float32(1 / len(terms))
        vector = view.vector_of(place) if is_known else None
        vector = self._embed(memory.content) if vector is None else vector
        if vector is not None and view.takes(vector):
            closeness = np.where(column["windows"] > 0, view.cosines(vector)[0], closeness)
        near = np.where(wanted & (closeness >= np.float32(1 - distance)), closeness, np.float32(-1))
        ids = [view.ids[one] for one in best(near, most).tolist() if near[one] >= 0]
        rows = {row.id: row for row in self._store.read(memory.tenant, lambda tx: tx.memories.get_many(ids))}
        found = [rows[memory_id] for memory_id in ids if memory_id in rows]
        return [row for row in found if row.is_current(now) and row.owner == memory.owner]

    # The steps

    def _open(
        self,
        principal: Principal,
        question: Question,
        slices: Sequence[OwnerFilter],
        users: Sequence[str | None],
        now: datetime,
    ) -> "_Search":
        """Everything that needs no vector: what changed is read, and the words are looked up."""
        views = [view for view in self._shelves.look_at(principal.tenant, users) if view.size]
        found = _Search(views, question, principal, slices, self._weights_of(question.scope), now)
        found.look_words_up(self._fusion)
        return found

    def _candidates(self, found: "_Search", vector: Scores | None) -> tuple[Places, dict[str, Memory]]:
        """The candidates in their first order, and their rows."""
        found.score(vector, self._fusion)
        pool = found.first(self._pool_size(found.question))
        return pool, self._read(found.principal, found, pool, with_turns=self._will_rerank(found.question))

    def _warm_up(self, question: Question) -> None:
        """Load the models beside the first shelf, which takes as long."""
        if not self._is_warm:
            self._is_warm = True
            models = (self._embedder, self._reranker if self._will_rerank(question) else None)
            # No daemon: a process that ends while a model is being loaded would be aborted.
            threading.Thread(target=_load_if_possible, args=models, name="memorist-warm-up").start()

    def _users(self, principal: Principal, slices: Sequence[OwnerFilter]) -> list[str | None]:
        if any(part.any_user for part in slices):
            return self._store.read(principal.tenant, lambda tx: tx.index.users())
        return list(dict.fromkeys(part.user for part in slices))

    def _weights_of(self, scope: Scope) -> Weights:
        if scope is Scope.ANY:
            return self._weights
        alone = {name: float(name == scope) for name in ("session", "user", "agent", "tenant", "history")}
        return Weights(**alone)

    def _embed(self, query: str) -> Scores | None:
        if self._embedder is None:
            return None
        try:
            vector: Scores = self._embedder.embed([query])[0]
        except ModelError as error:
            _log.warning("recall goes on by keyword alone: %s", error.message)
            return None
        return vector

    def _will_rerank(self, question: Question) -> bool:
        return question.enable_rerank and self._reranker is not None

    def _pool_size(self, question: Question) -> int:
        wanted = _BUDGET_CANDIDATES if question.budget_tokens is not None else question.top_k
        return max(wanted + _SPARE, self._fusion.pool if self._will_rerank(question) else 0)

    def _read(self, principal: Principal, found: "_Search", pool: Places, *, with_turns: bool) -> dict[str, Memory]:
        """The candidates as they are in the database now and, for the reranker, the turns around them."""
        wanted = dict.fromkeys(found.ids[place] for place in pool)
        if with_turns:
            for place in pool[: self._fusion.pool]:
                wanted.update(dict.fromkeys(found.ids[turn] for turn in found.turns_around(place) if turn >= 0))
        ids = list(wanted)
        found_now = self._store.read(principal.tenant, lambda tx: tx.memories.get_many(ids), snapshot=False)
        return {memory.id: memory for memory in found_now}

    def _rank(
        self, question: Question, found: "_Search", order: Sequence[int], rows: Mapping[str, Memory]
    ) -> "_Ranking":
        places = np.array(order, dtype=np.intp)
        weights = found.weights[places]
        first = found.scores[places]
        if self._reranker is None or not question.enable_rerank or not order:
            return _Ranking(places, first * weights, None)
        pool = places[: self._fusion.pool]
        try:
            judged = self._judge(self._reranker, question.query, found, pool, rows)
        except ModelError as error:
            _log.warning("recall goes on without its reranker: %s", error.message)
            return _Ranking(places, first * weights, None)
        share = np.float32(self._fusion.reranker)
        windows = np.maximum(found.windows[pool], 1).astype(np.float32)
        corrected: Scores = judged - np.float32(self._fusion.reranker_windows) * np.log(windows).astype(np.float32)
        spread = normalised(corrected)
        mixed = (share * spread + (1 - share) * normalised(first[: pool.size])) * weights[: pool.size]
        inside = best(mixed, pool.size)
        # What the reranker did not read stays behind what it read, in the order that it had.
        rest = first[pool.size :] * weights[pool.size :]
        behind = rest * (mixed.min() / max(float(rest.max()), 1e-9)) if rest.size else rest
        return _Ranking(
            np.concatenate([pool[inside], places[pool.size :]]),
            np.concatenate([mixed[inside], behind]),
            dict(zip(pool.tolist(), judged.tolist(), strict=True)),
            self._reranker.is_local,
            dict(zip(pool.tolist(), spread.tolist(), strict=True)),
        )

    def _judge(
        self, reranker: Reranker, query: str, found: "_Search", pool: Places, rows: Mapping[str, Memory]
    ) -> Scores:
        texts = []
        for place in pool.tolist():
            memory = rows[found.ids[place]]
            parts = searchable(memory)
            before, after = (
                rows.get(found.ids[turn]) if turn >= 0 and is_turn(memory) else None
                for turn in found.turns_around(place)
            )
            texts.append(
                passages.reranking_passage(
                    found.window_of(place, memory),
                    speaker=parts.speaker,
                    date=parts.date,
                    previous=parts.context or _turn(before, found),
                    following=_turn(after, found),
                )
            )
        return np.array(reranker.score(query, texts), dtype=np.float32)

    def _hits(
        self, question: Question, found: "_Search", ranking: "_Ranking", rows: Mapping[str, Memory]
    ) -> tuple[Hit, ...]:
        least = self._min_score if question.min_score is None else question.min_score
        scores = found.shown(ranking)
        hits: list[Hit] = []
        tokens = 0
        for place, score in zip(ranking.places.tolist(), scores, strict=True):
            if score < least or (question.budget_tokens is None and len(hits) == question.top_k):
                break
            memory = rows[found.ids[place]]
            excerpt = found.window_of(place, memory)
            if question.budget_tokens is not None:
                tokens += count_tokens(excerpt)
                if tokens > question.budget_tokens and hits:
                    break
            explanation = found.explain(place, ranking) if question.explain else None
            hits.append(Hit(self._accesses.overlay(memory), score, excerpt, explanation))
        return tuple(hits)

    def _why_not(
        self, principal: Principal, question: Question, found: "_Search", ranking: "_Ranking", hits: Sequence[Hit]
    ) -> dict[str, Any]:
        assert question.why_not is not None
        memory_id = parse_id("mem", question.why_not)
        memory = self._store.read(principal.tenant, lambda tx: tx.memories.get(memory_id))
        access.require_visible(principal, memory, memory_id)
        place = found.place_of(memory_id)
        rank = next((rank for rank, hit in enumerate(hits, start=1) if hit.memory.id == memory_id), None)
        if rank is not None:
            return {"id": memory_id, "recalled": True, "reason": f"It is number {rank} of the answer."}
        if place is None:
            return {
                "id": memory_id,
                "recalled": False,
                "reason": "It is not in the index. Run `memorist index rebuild`.",
            }
        assert memory is not None
        reason = _REPEATS if repeats(memory) else found.refusal(place)
        if reason is not None:
            return {"id": memory_id, "recalled": False, "reason": reason}
        explanation = found.explain(place, ranking)
        rank = explanation["first_stage"]["rank"]
        least = self._min_score if question.min_score is None else question.min_score
        shown = dict(zip(ranking.places.tolist(), found.shown(ranking), strict=True)).get(place)
        if shown is not None and shown < least:
            reason = f"Its score {shown:.3f} is below the least that counts, {least:.3f}."
        else:
            number = explanation.get("final_rank") or rank
            reason = f"Others fit better: it is number {number}, and {len(hits)} came back."
        return {"id": memory_id, "recalled": False, "reason": reason, "explanation": explanation}


@dataclass(frozen=True, slots=True)
class _Ranking:
    """The candidates in their final order, their scores, and what the reranker said of those it read."""

    places: Places
    scores: Scores
    reranked: Mapping[int, float] | None
    is_local: bool = False
    spread: Mapping[int, float] = field(default_factory=dict)
    """What the reranker said, from 0 for the worst to 1 for the best of those that it read."""


@dataclass(slots=True)
class _Search:
    """One question over some shelves. Places count through all of them."""

    views: Sequence[View]
    question: Question
    principal: Principal
    slices: Sequence[OwnerFilter]
    class_weights: Weights
    now: datetime
    ids: "_Ids" = field(init=False)
    checks: dict[str, Array] = field(init=False)
    live: Array = field(init=False)
    wanted: Array = field(init=False)
    weights: Scores = field(init=False)
    windows: Array = field(init=False)
    previous: Array = field(init=False)
    links: Links = field(init=False)
    threads: Threads = field(init=False)
    following: Array | None = field(init=False, default=None)
    scores: Scores = field(init=False)
    cosines: Scores = field(init=False)
    which: Array = field(init=False)
    texts: Scores = field(init=False)
    coverages: Scores = field(init=False)
    by_text: Scores = field(init=False)
    bonus: Scores = field(init=False)
    long: Array = field(init=False)
    parts: tuple[Scores, Scores] = field(init=False)
    waiting: int = field(init=False)
    by_meaning: bool = field(init=False)

    def __post_init__(self) -> None:
        self.ids = _Ids(self.views)
        visible = _joined([self._visible(view) for view in self.views], bool)
        column = {name: _joined([view.columns[name] for view in self.views]) for name in _FILTERED}
        self.checks = {"visible": visible} | self._in_time(column)
        self.live = _all(self.checks.values(), visible.size)
        self.weights = _joined([self._class_weights(view) for view in self.views], np.float32)
        self.checks |= {"scope": self.weights > 0} | self._asked_for(column)
        self.wanted = _all(self.checks.values(), visible.size)
        self.windows = _joined([view.columns["windows"] for view in self.views])
        self.previous = _chained(self.views)
        self.threads = Threads.of(_numbered(self.views))
        self.links = Links.of(self.previous, _joined([view.columns["linked"] for view in self.views], np.float32))
        self.waiting = int(np.count_nonzero(self.wanted & (self.windows == 0)))

    # What is searched

    def _visible(self, view: View) -> Array:
        agents = view.columns["agent"]
        mine = [part for part in self.slices if part.any_user or part.user == view.user]
        if any(part.any_agent for part in mine):
            return np.ones(view.size, dtype=bool)
        return _is_any(agents, [view.code("agent", part.agent) for part in mine])

    def _in_time(self, column: Mapping[str, Array]) -> dict[str, Array]:
        """Rows that may be shown at all: by default those that hold now, or those of the moment that is asked for."""
        question, now = self.question, to_micros(self.now)
        checks = {"unexpired": column["expires_at"] > now}
        if question.as_of is None and question.known_at is None:
            checks["live"] = column["standing"] == Standing.LIVE
            return checks
        checks["kept"] = column["standing"] != Standing.GONE
        if question.as_of is not None:
            moment = to_micros(question.as_of)
            checks["true_then"] = (column["valid_from"] <= moment) & (column["valid_to"] > moment)
        if question.known_at is not None:
            moment = to_micros(question.known_at)
            checks["known_then"] = (column["created_at"] <= moment) & (column["retired_at"] > moment)
        return checks

    def _asked_for(self, column: Mapping[str, Array]) -> dict[str, Array]:
        question = self.question
        checks: dict[str, Array] = {}
        if question.source_kinds is not None:
            checks["kind"] = self._is_one_of("kind", question.source_kinds)
        if question.category is not None:
            checks["category"] = self._is_one_of("category", [question.category])
        if question.project is not None:
            checks["project"] = self._is_one_of("project", [validation.project(question.project)])
        if question.after is not None:
            checks["after"] = column["event_time"] >= to_micros(question.after)
        if question.before is not None:
            checks["before"] = column["event_time"] < to_micros(question.before)
        return checks

    def _is_one_of(self, name: str, values: Sequence[str]) -> Array:
        return _joined(
            [_is_any(view.columns[name], [view.code(name, value) for value in values]) for view in self.views], bool
        )

    def _class_weights(self, view: View) -> Scores:
        """What each row counts by its class: this session, the user's, the agent's, the tenant's, or said before."""
        weights = self.class_weights
        of_kind = np.full(len(view.codes["kind"]), weights.history, dtype=np.float32)
        for kind, weight in ((Kind.FACT, weights.user), (Kind.DOCUMENT_CHUNK, weights.tenant)):
            if view.code("kind", kind) >= 0:
                of_kind[view.code("kind", kind)] = weight
        found = of_kind.take(view.columns["kind"])
        if self.principal.session is not None:
            # Only turns have a session for their thread.
            found[view.columns["thread"] == view.code("thread", self.principal.session)] = weights.session
        if view.user is None:
            shared = view.columns["kind"] == view.code("kind", Kind.FACT)
            of_nobody = view.columns["agent"] == view.code("agent", None)
            found[shared & of_nobody] = weights.tenant
            found[shared & ~of_nobody] = weights.agent
        return found

    # How it scores

    def look_words_up(self, fusion: Fusion) -> None:
        """Score every row by its words."""
        worded = wording(self.views, [words.hash_of(term) for term in self._terms()])
        self.texts = self._seen(_joined([one.bm25 for one in worded], np.float32))
        self.coverages = _joined([one.coverage for one in worded], np.float32)
        near = with_neighbours(self.texts, self.links, fusion.text_neighbours)
        self.by_text = normalised(near, _unless_all(self.wanted))
        self.bonus = np.float32(fusion.coverage) * (self.coverages * self.coverages)
        self.long = np.flatnonzero(self.windows > 1)

    def score(self, vector: Scores | None, fusion: Fusion) -> None:
        """Score every row by its words, which were looked up, and by its meaning where there are vectors."""
        by_text, long = self.by_text, self.long
        self.by_meaning = vector is not None and all(view.takes(vector) for view in self.views)
        if vector is None or not self.by_meaning:
            self.cosines = np.zeros(self.texts.size, dtype=np.float32)
            self.which = np.zeros(self.texts.size, dtype=np.int32)
            self.parts = by_text, self.cosines
            self.scores = self._with_threads(by_text, fusion)
            return
        found = [view.cosines(vector) for view in self.views]
        self.cosines = _joined([cosines for cosines, _ in found], np.float32)
        self.which = _joined([which for _, which in found], np.int32)
        corrected = self.cosines
        if long.size:
            corrected = self.cosines.copy()
            corrected[long] -= np.float32(fusion.vector_windows) * np.log(self.windows[long].astype(np.float32))
        near = with_neighbours(self._seen(corrected), self.links, fusion.vector_neighbours)
        embedded = _unless_all(self.windows > 0)
        by_vector = normalised(near, _unless_all(self.wanted if embedded is None else self.wanted & embedded))
        by_meaning = by_vector
        if embedded is not None:
            by_vector = np.where(embedded, by_vector, np.float32(0))
            # What waits for its vectors is judged by its words alone, and is found by them beside those that have
            # theirs.
            by_meaning = np.where(embedded, by_vector, by_text)
        self.parts = by_text, by_vector
        share = share_of_meaning(fusion, self._best_cosine())
        mixed = np.float32(1 - share) * by_text
        mixed += np.float32(share) * by_meaning
        self.scores = self._with_threads(mixed, fusion)

    def _best_cosine(self) -> float:
        wanted = _unless_all(self.wanted)
        cosines = self.cosines if wanted is None else self.cosines[wanted]
        return float(cosines.max(initial=0))

    def _with_threads(self, scores: Scores, fusion: Fusion) -> Scores:
        scores = self._seen(scores + self.bonus)
        return with_threads(normalised(scores, _unless_all(self.wanted)), self.threads, fusion.thread)

    def _seen(self, scores: Scores) -> Scores:
        """The scores of what may be looked at, 0 for the rest."""
        live = _unless_all(self.live)
        return scores if live is None else np.where(live, scores, np.float32(0))

    def _terms(self) -> list[str]:
        return words.question_terms(self.question.query)[:_MOST_TERMS]

    def first(self, count: int) -> Places:
        """The places of the best candidates."""
        weighted = self.scores * self.weights
        if _unless_all(self.wanted) is not None:
            weighted[~self.wanted] = -1
        places = best(weighted, count)
        return places[self.wanted[places]]

    def shown(self, ranking: _Ranking) -> list[float]:
        """Scores from 0 to 1 that mean the same for every question: how sure the best one is, and the rest below it.

        The ranking's own scores only compare: the least of them is 0, be it as good as the others. So what is sure by
        itself counts at least half of that.
        """
        if not ranking.places.size:
            return []
        coverages = self.coverages[ranking.places]
        has_vector = self.by_meaning & (self.windows[ranking.places] > 0)
        cosines = np.where(has_vector, self.cosines[ranking.places], assumed_cosines(coverages))
        sure = confidence(cosines, coverages)
        if ranking.reranked is not None and ranking.is_local:
            read = np.array([place in ranking.reranked for place in ranking.places.tolist()])
            judged = np.array([ranking.reranked.get(place, 0.0) for place in ranking.places.tolist()], dtype=np.float32)
            with_reranker = confidence(cosines, coverages, judged)
            sure = np.where(read, with_reranker, sure)
        highest = float(ranking.scores[0])
        share = ranking.scores / np.float32(highest) if highest > 0 else np.ones_like(ranking.scores)
        counted = np.maximum(sure[:5].max() * share, sure * np.float32(0.5))
        # A memory is no worse than those that rank behind it.
        shown = np.maximum.accumulate(counted[::-1])[::-1]
        return [round(max(0.0, min(1.0, score)), 4) for score in shown.tolist()]

    # What surrounds it

    def turns_around(self, place: int) -> tuple[int, int]:
        """The places of the turns before and after; -1 for none, or for one that may not be shown."""
        if self.following is None:
            self.following = np.full(self.previous.size, -1, dtype=np.int64)
            later = np.flatnonzero(self.previous >= 0)
            self.following[self.previous[later]] = later
        before, after = int(self.previous[place]), int(self.following[place])
        return (
            before if before >= 0 and self.live[before] else -1,
            after if after >= 0 and self.live[after] else -1,
        )

    def window_of(self, place: int, memory: Memory) -> str:
        """The part of a text that fits the question best; all of a short one."""
        windows = searchable(memory).windows()
        if len(windows) == 1:
            return memory.content
        if self.windows[place]:
            return windows[min(int(self.which[place]), len(windows) - 1)]
        # Found by its words alone, so shown where they stand.
        wanted = set(self._terms())
        return max(windows, key=lambda window: len(wanted.intersection(words.terms(window))))

    def place_of(self, memory_id: str) -> int | None:
        offset = 0
        for view in self.views:
            place = view.places.get(memory_id)
            if place is not None and place < view.size:
                return offset + place
            offset += view.size
        return None

    def refusal(self, place: int) -> str | None:
        """Why a row was not even a candidate; None where it was."""
        return next((_REFUSALS[name] for name, passed in self.checks.items() if not passed[place]), None)

    def explain(self, place: int, ranking: _Ranking) -> dict[str, Any]:
        """Each arm's rank and score, the weights, and what the reranker made of it."""
        by_text, by_vector = self.parts
        weighted = self.scores * self.weights
        explanation: dict[str, Any] = {
            "text": {
                "rank": self._rank_of(self.texts, place) if self.texts[place] > 0 else None,
                "bm25": round(float(self.texts[place]), 4),
                "coverage": round(float(self.coverages[place]), 4),
                "with_neighbours": round(float(by_text[place]), 4),
            },
            "vector": {
                "rank": self._rank_of(self.cosines, place) if self.windows[place] else None,
                "cosine": round(float(self.cosines[place]), 4) if self.windows[place] else None,
                "with_neighbours": round(float(by_vector[place]), 4),
                "window": int(self.which[place]),
                "windows": int(self.windows[place]),
            },
            "first_stage": {"rank": self._rank_of(weighted, place), "score": round(float(self.scores[place]), 4)},
            "weight": round(float(self.weights[place]), 4),
        }
        order = ranking.places.tolist()
        if place in order:
            explanation["final_rank"] = order.index(place) + 1
        if ranking.reranked is not None and place in ranking.reranked:
            judged = ranking.reranked[place]
            rank = 1 + sum(other > judged for other in ranking.reranked.values())
            normal = round(ranking.spread[place], 4)
            explanation["reranker"] = {"rank": rank, "score": round(judged, 4), "normalised": normal}
        return explanation

    def _rank_of(self, scores: Scores, place: int) -> int:
        return 1 + int(np.count_nonzero(scores[self.wanted] > scores[place]))


class _Ids:
    """Ids by place, through all shelves."""

    __slots__ = ("_starts", "_views")

    def __init__(self, views: Sequence[View]) -> None:
        self._views = views
        self._starts = list(accumulate((view.size for view in views), initial=0))

    def __getitem__(self, place: int) -> str:
        number = bisect_right(self._starts, place) - 1
        return self._views[number].ids[place - self._starts[number]]


_FILTERED = ("standing", "event_time", "created_at", "expires_at", "valid_from", "valid_to", "retired_at")

_REPEATS = "It only repeats other memories, and those are found instead."
_REFUSALS = {
    "visible": "You may not see it with this agent.",
    "unexpired": "It is past its expiry.",
    "live": "It is archived, superseded or deleted: ask with `as_of` or `known_at` for the past.",
    "kept": "It is deleted.",
    "true_then": "It was not true at `as_of`.",
    "known_then": "It was not known at `known_at`.",
    "scope": "It is outside the scope, or its class has the weight 0.",
    "kind": "It is of another kind.",
    "category": "It is of another category.",
    "project": "It is of another project.",
    "after": "It is from before `after`.",
    "before": "It is not from before `before`.",
}


def _validated(principal: Principal, question: Question) -> Question:
    validation.text("query", question.query, longest=validation.MAX_QUERY)
    _whole("top_k", question.top_k, 1, validation.MAX_TOP_K)
    scope = validation.choice("scope", question.scope, Scope)
    if scope is Scope.USER and principal.user is None:
        raise InvalidField(
            "scope user needs a user: use a user's key, or name one with X-Memorist-User.", field="scope"
        )
    if scope is Scope.AGENT and principal.agent is None:
        raise InvalidField(
            "scope agent needs an agent, and none is named here: use scope user, or name one with --agent or "
            "X-Memorist-Agent.",
            field="scope",
        )
    if question.budget_tokens is not None:
        _whole("budget_tokens", question.budget_tokens, 1, validation.MAX_BUDGET_TOKENS)
    if question.min_score is not None:
        validation.fraction("min_score", question.min_score)
    kinds = question.source_kinds
    if kinds is not None:
        kinds = tuple(validation.choice("source_kinds", kind, Kind) for kind in kinds)
    return replace(
        question,
        scope=scope,
        source_kinds=kinds or None,
        as_of=_moment("as_of", question.as_of),
        known_at=_moment("known_at", question.known_at),
        after=_moment("after", question.after),
        before=_moment("before", question.before),
    )


def _moment(name: str, value: datetime | None) -> datetime | None:
    return None if value is None else validation.moment(name, value)


def _whole(name: str, value: int, low: int, high: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise InvalidField(f"{name} must be a whole number from {low} to {high}.", field=name)


def _still_wanted(memory: Memory, found: _Search) -> bool:
    """Whether the row in the database is still what the index said it was: it may have changed since."""
    question = found.question
    if not access.can_see(found.principal, memory.owner) or memory.is_expired(found.now):
        return False
    now = standing(memory)
    return now is Standing.LIVE or (
        now is Standing.RETIRED and (question.as_of is not None or question.known_at is not None)
    )


def _is_lost(memory: Memory | None, found: _Search) -> bool:
    """Whether a shelf has a row that it will not hear of again."""
    return memory is None or not access.can_see(found.principal, memory.owner)


def _load_if_possible(*models: Embedder | Reranker | None) -> None:
    for model in models:
        if model is not None:
            with suppress(ModelError):  # Said where it is used.
                model.load()


@cache
def _beside() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_MOST_AT_ONCE, thread_name_prefix="memorist-words")


def _turn(memory: Memory | None, found: _Search) -> str:
    return "" if memory is None or not _still_wanted(memory, found) else as_turn(memory)


def _joined(parts: Sequence[Array], kind: Any = None) -> Array:
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=kind or np.int64)


def _is_any(column: Array, codes: Sequence[int]) -> Array:
    """Where a column has one of a few codes."""
    found = np.zeros(column.size, dtype=bool)
    for code in codes:
        found |= column == code
    return found


def _all(masks: Any, size: int) -> Array:
    together = np.ones(size, dtype=bool)
    for mask in masks:
        together &= mask
    return together


def _unless_all(mask: Array) -> Array | None:
    """The mask, or None where it leaves nothing out: then nothing needs to be copied."""
    return None if mask.all() else mask


def _numbered(views: Sequence[View]) -> Array:
    """Threads by number, through all shelves; 0 for none."""
    parts = []
    offset = 0
    for view in views:
        threads = view.columns["thread"]
        parts.append(threads if offset == 0 else np.where(threads > 0, threads + offset, 0))
        offset += len(view.codes["thread"])
    return _joined(parts).astype(np.intp, copy=False)


def _chained(views: Sequence[View]) -> Array:
    parts = []
    offset = 0
    for view in views:
        previous = view.columns["previous"]
        parts.append(previous if offset == 0 else np.where(previous >= 0, previous + offset, -1))
        offset += view.size
    return _joined(parts)
