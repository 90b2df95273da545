"""Recall: what matters for a question, by keyword and by meaning, reranked; and why.

Both arms score every row that the caller may see; their scores, with a share of the neighbouring turns', are normalised
and added; the first of that order are read again by the reranker. Each stage is a frozen value of its own:
`Candidates -> Scored -> Ranked -> Answer`. See docs/explanation/recall.md.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from copy import copy
from dataclasses import replace
from functools import cache, partial
from typing import Any, TypeVar

from memorist.memories.accesses import AccessLog
from memorist.memories.entries import note_reading
from memorist.memories.governance import are_compared
from memorist.memories.values import Memory
from memorist.models.port import Embedder, Reranker
from memorist.platform import access
from memorist.platform.redaction import Redaction
from memorist.platform.values import Principal
from memorist.ports import Reader, Store
from memorist.recall.answer import MOST_OF_A_BUDGET, Answer, answer
from memorist.recall.candidates import candidates
from memorist.recall.explanation import why_not
from memorist.recall.fusion import FUSION, Fusion, in_language_of, worth_reading
from memorist.recall.index.cache import Shelves
from memorist.recall.index.indexer import Indexer
from memorist.recall.index.tokens import AskedTokens
from memorist.recall.models import EmbeddedQuestion, Models
from memorist.recall.narrowing import Opened
from memorist.recall.nearest import nearest
from memorist.recall.pool import Pool, ids_to_read
from memorist.recall.question import Asked, validated
from memorist.recall.ranked import Ranked, ranked
from memorist.recall.ranking import Scores
from memorist.recall.reading import ReadingPace, TimedReading
from memorist.recall.scored import Scored, Worded, scored, worded
from memorist.recall.values import Question, Recalled, Shortfall, Weights
from memorist.times import Clock
from memorist.watching import Watch, carried

_SPARE = 4
"""Candidates beyond those asked for, for rows that changed since they were indexed."""

_MOST_USERS = 256
"""Users whose memories are looked at where an admin asks for nobody."""

_MOST_AT_ONCE = 32
"""Questions whose words are looked up beside their embedding; others wait for their turn."""

T = TypeVar("T")


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
        budget_ms: float = 0,
        fusion: Fusion = FUSION,
        watch: Watch | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._accesses = accesses
        self._indexer = indexer
        self._shelves = shelves
        self._models = Models(embedder, reranker, ReadingPace(budget_ms / 1000))
        self._redaction = redaction
        self._watch = watch or Watch()
        self._weights = weights or Weights()
        self._min_score = min_score
        # What counts as near was fitted to the local embedder; another one has cosines of its own.
        self._fusion = fusion if embedder is None or embedder.is_local else replace(fusion, near=0.0)

    def weighing(
        self,
        fusion: Fusion | None = None,
        *,
        weights: Weights | None = None,
        words: float | None = None,
        budget_ms: float | None = None,
    ) -> "Recall":
        """The same recall, for measuring and comparing, with other weights: of the classes, and the share of words; or
        with another budget.
        """
        other = copy(self)
        other._fusion = fusion or (self._fusion if words is None else replace(self._fusion, text=words))
        other._weights = weights or self._weights
        if budget_ms is not None:
            other._models = self._models.at_pace(ReadingPace(budget_ms / 1000))
        return other

    def load(self) -> None:
        """Get the models ready now rather than at the first question. Raises ModelError."""
        self._models.load()

    def forget(self, tenant: str, users: Iterable[str | None]) -> None:
        """Drop from memory what is searched of some users: it is read again when it is needed."""
        self._shelves.forget(tenant, users)

    def lacks_memory(self, principal: Principal) -> bool:
        """Whether some memories are found by their words alone, since there is no room for their vectors."""
        return self._shelves.lacks_memory(principal.tenant, principal.user)

    def finish_saving(self) -> None:
        """Wait for what is being saved for the next process: large scopes are searched faster then."""
        self._shelves.finish_saving()

    def close(self) -> None:
        """Finish what is saved for the next process."""
        self._shelves.close()

    def begin(self, what: str = "", ago_s: float = 0.0) -> TimedReading:
        """The budget of a question runs from here, or since so long ago: for those who do more for it than to recall.
        Within its block all is counted, and what follows the reading is learned from all that is done for the same,
        `what`.
        """
        return self._models.begin(what, ago_s)

    def recall(self, principal: Principal, question: Question, reading: TimedReading | None = None) -> Recalled:
        """The memories that answer a question, best first. It always answers: a model that fails is done without.
        `reading` is what `begin` gave to who ends it.

        Raises InvalidField, Forbidden, InvalidId or NotFound (of `why_not`), or StoreError.
        """
        with self._watch.timed("recall") as told, nullcontext(reading) if reading else self.begin() as begun:
            found = self._told(principal, self._ranked(self._gathered(principal, question, begun), begun))
            told.note({"memorist.recall.hits": len(found.hits), "memorist.recall.degraded": found.degraded})
        if found.degraded:
            self._watch.count("degraded")
        return found

    def both_ways(self, principal: Principal, question: Question, reading: TimedReading) -> Iterator[Recalled]:
        """To compare: what `recall` answers without the reranker, and then what it answers with it. The candidates of
        both are found once, which counts as one recall.
        """
        with self._watch.timed("recall") as told:
            pool = self._gathered(principal, replace(question, enable_rerank=True), reading)
            first = pool.of_first(_candidates_for(question))
            yield self._told(principal, ranked(first, first.still_wanted(), None, self._fusion))
            found = self._told(principal, self._ranked(pool, reading))
            told.note({"memorist.recall.hits": len(found.hits), "memorist.recall.degraded": found.degraded})
        if found.degraded:
            self._watch.count("degraded")
        yield found

    def _gathered(self, principal: Principal, question: Question, reading: TimedReading) -> Pool:
        """The candidates of a question that was not looked at yet. Raises InvalidField, Forbidden or StoreError."""
        question = validated(principal, question)
        self._models.warm_up(question)
        # A question may quote a secret, and models are not always ours.
        query = self._redaction.text(question.query)
        question = question if query == question.query else replace(question, query=query)
        self._indexer.prepare_to_search(principal.tenant)
        asked = Asked.of(principal, question, self._weights, self._min_score, self._clock.now())
        asked = self._looking_at(asked)
        return self._pool(asked, reading)

    def _told(self, principal: Principal, ranking: Ranked) -> Recalled:
        asked = ranking.pool.scored.candidates.asked
        question = asked.question
        with self._watch.timed("stage", "answer"):
            found = answer(ranking, self._accesses.overlay)
        scored = [(hit.memory, hit.score) for hit in found.hits]
        self._accesses.record_recall(principal, question.query, scored, asked.now)
        note_reading(self._store, principal, [hit.memory for hit in found.hits], asked.now)
        lacks = _shortfalls(ranking.pool.scored)
        return Recalled(
            hits=found.hits,
            degraded=bool(lacks),
            rerank_used=found.ranked.judged is not None,
            reranked=len(found.ranked.judged or ()),
            why_not=None if question.why_not is None else self._why_not(principal, question.why_not, found),
            degraded_by=lacks,
        )

    def nearest_facts(self, memory: Memory, *, most: int, distance: float, every: bool = False) -> list[Memory]:
        """The active facts of exactly the same owner that lie nearest to a memory, within a cosine distance; then a few
        that are of no agent of the same user or, where it is of none itself, of any.

        Only those that a judge compares with it, unless it is `every` one. What has no vector yet, and everything where
        there are none, is near by the share of words in common.
        """
        self._indexer.prepare(memory.tenant)
        view = self._shelves.look(memory.tenant, memory.owner.user)
        now = self._clock.now()
        embed = partial(_vector_of, self._models)
        ids = nearest(view, memory, now, embed, most=most, distance=distance)
        if not ids:
            return []
        rows = {row.id: row for row in self._memories(memory.tenant, ids)}
        found = [rows[memory_id] for memory_id in ids if memory_id in rows]
        return [row for row in found if row.is_current(now) and (every or are_compared(row, memory))]

    # The stages

    def _pool(self, asked: Asked, reading: TimedReading) -> Pool:
        """The first candidates, in their first order."""
        opening = partial(self._worded, asked)
        are_loaded = self._shelves.are_loaded(asked.principal.tenant, asked.users)
        if not are_loaded:
            reading.wait()
        if not self._models.can_embed or not are_loaded:
            found = opening()
            embedded = self._embed(asked)
        else:
            # What takes longest begins at once; the other thread may take a moment to wake.
            opened = _beside().submit(carried(opening))
            embedded = self._embed(asked)
            found = opened.result()
        pool = self._read(asked, found, embedded)
        if embedded.vector is not None and not pool.scored.meaning.is_known:
            self._indexer.doubt(asked.principal.tenant)
        if pool.is_outdated():
            # Rows that are gone stand where others would: read it all anew.
            self._shelves.forget(asked.principal.tenant, [view.user for view in pool.scored.candidates.views])
            pool = self._read(asked, opening(), embedded)
        return pool

    def _embed(self, asked: Asked) -> EmbeddedQuestion:
        with self._watch.timed("stage", "embed"):
            return self._models.embed(asked.question.query)

    def _looking_at(self, asked: Asked) -> Asked:
        """The question with whose memories are looked at, and what of them only somebody else reads."""
        tenant = asked.principal.tenant
        if any(part.any_user for part in asked.slices):
            found = self._store.read(tenant, _some_users)
            users = self._shelves.fitting(tenant, found[:_MOST_USERS])
            asked = replace(asked, users=users, leaves_out=len(users) < len(found))
        else:
            asked = replace(asked, users=list(dict.fromkeys(part.user for part in asked.slices)))
        if all(part.entries for part in asked.slices):
            return asked
        hidden = self._store.read(tenant, lambda tx: tx.index.entries(asked.users), snapshot=False)
        return replace(asked, hidden=hidden)

    def _worded(self, asked: Asked) -> Worded | Opened:
        """Everything that needs no vector: what changed is read, and the words are looked up."""
        with self._watch.timed("stage", "look"):
            views = [view for view in self._shelves.look_at(asked.principal.tenant, asked.users) if view.size]
        if any(view.is_large for view in views):
            return Opened(views, asked, self._begun)
        fusion = in_language_of(asked.question.query, self._fusion)
        return self._looked_up(lambda: worded(candidates(views, asked), fusion))

    def _begun(self, work: Callable[[], T]) -> Callable[[], T]:
        """Words are looked up in large scopes beside the embedding, and beside the look for what is near it."""
        return _beside().submit(carried(partial(self._looked_up, work))).result

    def _looked_up(self, work: Callable[[], T]) -> T:
        with self._watch.timed("stage", "words"):
            return work()

    def _read(self, asked: Asked, found: Worded | Opened, embedded: EmbeddedQuestion) -> Pool:
        fusion = in_language_of(asked.question.query, self._fusion)
        reranked = self._models.weights(self._fusion).pool if self._models.will_rerank(asked.question) else 0
        count = max(_candidates_for(asked.question), reranked)
        compared = 0 if embedded.tokens is None else fusion.compared
        with self._watch.timed("stage", "score"):
            if isinstance(found, Opened):
                found = found.narrowed(embedded.vector, fusion, max(count, compared))
            scores = scored(found, embedded.vector, fusion)
        if compared and embedded.tokens is not None:
            scores = self._compared(scores, embedded.tokens, fusion)
        places = scores.first(count)
        read = partial(self._memories, asked.principal.tenant)
        ids = ids_to_read(scores, places, reranked=reranked > 0)
        with self._watch.timed("stage", "read"):
            return Pool(scores, places, {memory.id: memory for memory in read(ids)}, read).of_different(count)

    def _memories(self, tenant: str, ids: Sequence[str]) -> Sequence[Memory]:
        return self._store.read(tenant, lambda tx: tx.memories.get_many(ids), snapshot=False)

    def _compared(self, scores: Scored, tokens: AskedTokens, fusion: Fusion) -> Scored:
        """The first candidates, after their tokens were compared with the question's, which runs no model."""
        with self._watch.timed("stage", "compare"):
            places = scores.first(fusion.compared)
            ids = scores.candidates.ids.at(places.tolist())
            tenant, model = scores.candidates.asked.principal.tenant, self._models.embeds_as
            kept = self._store.read(tenant, lambda tx: tx.index.tokens(ids, model), snapshot=False)
            return scores.compared(places, tokens.agreement([kept.get(one, b"") for one in ids]), fusion)

    def _ranked(self, pool: Pool, reading: TimedReading) -> Ranked:
        question = pool.scored.candidates.asked.question
        order = pool.still_wanted()
        judgement = None
        fusion = self._models.weights(self._fusion)
        first = order[: fusion.pool]
        fusion = fusion if pool.scored.knows_tokens(first) else fusion.without_tokens()
        if order and self._models.will_rerank(question):
            extent = worth_reading(pool.scored.weighted[first], fusion)
            with self._watch.timed("stage", "rerank"):
                judgement = self._models.judge(question.query, pool.passages(first), reading, extent)
        return ranked(pool, order, judgement, fusion)

    def _why_not(self, principal: Principal, memory_id: str, found: Answer) -> dict[str, Any]:
        memory = self._store.read(principal.tenant, lambda tx: tx.memories.get(memory_id))
        now = self._clock.now()
        is_there = memory is not None and access.is_shown(principal, memory, in_use=memory.is_in_use(now))
        memory = access.require_visible(principal, memory if is_there else None, memory_id)
        return why_not(found.ranked, found.shown, found.hits, memory)


def _candidates_for(question: Question) -> int:
    """How many are read where there is no reranker."""
    return _SPARE + (question.top_k if question.budget_tokens is None else MOST_OF_A_BUDGET)


def _some_users(tx: Reader) -> list[str | None]:
    """The users of a tenant; where they are too many, nobody and those whose memories are the newest, and one more."""
    found = tx.index.users(_MOST_USERS + 1)
    if len(found) <= _MOST_USERS:
        return found
    newest = tx.index.newest_users(_MOST_USERS)
    return list(dict.fromkeys([None, *newest, *found]))[: _MOST_USERS + 1]


def _shortfalls(scored: Scored) -> tuple[Shortfall, ...]:
    candidates = scored.candidates
    lacking = {
        Shortfall.MEANING: not scored.meaning.is_known,
        Shortfall.VECTORS: scored.meaning.is_known and candidates.waiting > 0,
        Shortfall.USERS: candidates.asked.leaves_out,
    }
    return tuple(what for what, lacks in lacking.items() if lacks)


def _vector_of(models: Models, text: str) -> Scores | None:
    return models.embed(text).vector


@cache
def _beside() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_MOST_AT_ONCE, thread_name_prefix="memorist-words")
