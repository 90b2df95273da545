"""How fast recall and ingestion are with so many memories, beside what cannot be saved, in one run on one machine."""

import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from statistics import median
from typing import Any

import numpy as np

from memorist import words
from memorist.core import Core
from memorist.errors import MemoristError
from memorist.ingestion.service import Message
from memorist.memories.values import Draft, Kind, Memory, Retention
from memorist.models import passages
from memorist.models.port import Embedder
from memorist.platform.values import Principal, Role
from memorist.ports import Writer
from memorist.recall.index.cache import Shelves
from memorist.recall.index.columns import Array
from memorist.recall.index.embedding import Window, embedded_one, windows_of
from memorist.recall.ranking import Scores
from memorist.recall.values import Embedded, Question
from memorist.settings import Settings
from memorist_bench.agreement import first_ten_same
from memorist_bench.metrics import milliseconds
from memorist_bench.quality import Report
from memorist_bench.texts import InventedTurn, conversation, questions

SAMPLE = 2_000
"""So many memories are stored and embedded as a client would have it; the others get synthetic vectors."""

_TURNS = 20
_BURST = 5
_ROUND = 10
_SESSIONS_AT_ONCE = 250
_SAMPLED_USERS = 10
_NOISE = 0.5
_REST_SECONDS = 0.15
_COLD_QUESTIONS = 20
_COLD_SECONDS = 600
_CLIENTS = (1, 8)

Session = tuple[int, Sequence[InventedTurn]]
"""Its number, and what was said in it."""


def measure_speed(
    core: Core,
    settings: Settings,
    tenant: str,
    prefix: str,
    *,
    memories: int,
    users: int,
    questions: int,
    report: Report,
) -> dict[str, Any]:
    """Fill a tenant, then time everything in turns. Raises ModelError or StoreError."""
    size_before = _size_bytes(core)
    people, ingested = fill_tenant(core, tenant, prefix, memories, users, report)
    bytes_per_memory = (_size_bytes(core) - size_before) / memories
    sampled = people.sample()
    timings = _Timings(core, tenant, sampled, scope=-(-memories // users))
    timings.run(questions, report)
    at_once = {f"clients_{count}_ms_p95": timings.at_once(count, questions) for count in _CLIENTS}
    report("Comparing with all", 0, 1)
    same = first_ten_same(core, tenant, sampled[0], questions)
    report("Starting anew", 0, 1)
    cold_seconds, of_recall, rss_mb = _start_cold(settings, tenant, sampled)
    return {
        "memories": memories,
        "users": users,
        "questions": questions,
        "embedder": core.embedder.model_id if core.embedder else None,
        "reranker": timings.reranker,
        "synthetic_vectors": memories > ingested.count and bool(ingested.pool),
        **timings.figures(),
        **at_once,
        "first_ten_same": same,
        "budget_ms": settings.recall_budget_ms,
        "ingest_per_s": ingested.per_second,
        "embed_per_s": ingested.embedded_per_second,
        "rss_mb": rss_mb,
        "disk_bytes_per_memory": round(bytes_per_memory, 1),
        "cold_recall_s": round(cold_seconds, 3),
        "cold_recall_alone_s": round(of_recall, 3),
    }


def fill_tenant(
    core: Core, tenant: str, prefix: str, memories: int, users: int, report: Report
) -> "tuple[_People, _Ingested]":
    """Invented memories of so many users. Raises ModelError or StoreError."""
    people = _People(tenant, prefix, users, burst=max(1, min(_BURST, memories // (_TURNS * users))))
    sessions = _sessions(memories, users)
    ingested = _ingest(core, people, sessions, memories, report)
    for done in _fill(core, people, sessions, ingested.pool):
        report("Filling", ingested.count + done, memories)
    return people, ingested


@dataclass(frozen=True, slots=True)
class _People:
    """Whose memories they are: a few sessions are one user's, the next few the next one's, and so on in turns."""

    tenant: str
    prefix: str
    users: int
    burst: int

    def of_session(self, number: int) -> Principal:
        user = number // self.burst % self.users
        return Principal(self.tenant, Role.USER, f"{self.prefix}-{user}", source="benchmark")

    def sample(self) -> list[str]:
        numbers = random.Random(0).sample(range(self.users), min(self.users, _SAMPLED_USERS))
        return [f"{self.prefix}-{number}" for number in numbers]


def _sessions(memories: int, users: int) -> Iterator[Session]:
    """Sessions of 20 turns, fewer where everybody would otherwise not have one."""
    turns = max(1, min(_TURNS, memories // users))
    for number, start in enumerate(range(0, memories, turns)):
        yield number, conversation(number, min(turns, memories - start))


# Storing


@dataclass(frozen=True, slots=True)
class _Ingested:
    count: int
    per_second: float
    embedded_per_second: float | None
    pool: Sequence[Window]


def _ingest(core: Core, people: _People, sessions: Iterator[Session], memories: int, report: Report) -> _Ingested:
    """Store some sessions as a client does, and in turns give the same texts to the embedder alone."""
    count = 0
    rates: list[float] = []
    bare_rates: list[float] = []
    pool: list[Window] = []
    while count < min(SAMPLE, memories) and (batch := list(islice(sessions, _ROUND))):
        size = sum(len(turns) for _, turns in batch)
        seconds = _timed(lambda batch=batch: _store_sessions(core, people, batch))  # type: ignore[misc]
        rates.append(size / seconds)
        if core.embedder is not None:
            made, seconds = _embed_alone(core.embedder, batch)
            bare_rates.append(size / seconds)
            pool += made
        count += size
        report("Storing", count, memories)
    return _Ingested(
        count,
        round(median(rates), 1),
        round(median(bare_rates), 1) if bare_rates else None,
        pool,
    )


def _store_sessions(core: Core, people: _People, batch: Sequence[Session]) -> None:
    for number, turns in batch:
        messages = [Message(turn.role, turn.text, turn.speaker, turn.time) for turn in turns]
        core.ingestion.add_messages(people.of_session(number), f"s{number}", messages, extract=False)
    for _ in core.indexer.finish(people.tenant):
        pass


def _embed_alone(embedder: Embedder, batch: Sequence[Session]) -> tuple[list[Window], float]:
    """What is made of the passages that the indexer embeds for these sessions, and how long the embedder took."""
    texts = [text for _, turns in batch for text in passages_of(turns)]
    started = time.perf_counter()
    made = embedder.embed_tokens(texts)
    seconds = time.perf_counter() - started
    return windows_of(made), seconds


def passages_of(turns: Sequence[InventedTurn]) -> Iterator[str]:
    """What the embedder reads of each turn of a session."""
    before = ""
    for turn in turns:
        date = passages.spoken_date(turn.time)
        yield passages.embedding_passage(turn.text, speaker=turn.speaker, date=date, previous=before)
        before = passages.turn(turn.speaker, turn.text)


def _fill(core: Core, people: _People, sessions: Iterator[Session], pool: Sequence[Window]) -> Iterator[int]:
    """Store the rest with vectors near those of the pool, many sessions in one transaction. Yields how many so far."""
    noise = np.random.default_rng(0)
    done = 0
    while batch := list(islice(sessions, _SESSIONS_AT_ONCE)):
        prepared = [
            (principal := people.of_session(number), [_prepared(core, principal, number, turn) for turn in turns])
            for number, turns in batch
        ]
        written = list(chain.from_iterable(memories for _, memories in prepared))
        embedded = synthetic_vectors(core.indexer.model, written, pool, noise)

        def write(tx: Writer, prepared: Any = prepared) -> None:
            for principal, memories in prepared:
                core.memories.rows.insert_all(tx, principal, memories)

        core.store.write(people.tenant, write)
        # Afterwards: rows come into the index where a transaction ends.
        core.store.write(people.tenant, partial(save_vectors, embedded))
        done += len(written)
        yield done


def save_vectors(embedded: Sequence[Embedded], tx: Writer) -> None:
    tx.index.save_vectors(embedded)


def _prepared(core: Core, principal: Principal, number: int, turn: InventedTurn) -> Memory:
    draft = Draft(
        turn.text,
        Kind.CHAT_MESSAGE,
        meta={"role": turn.role, "speaker": turn.speaker},
        session=f"s{number}",
        retention=Retention.POLICY,
        event_time=turn.time,
    )
    return core.memories.prepare(principal, draft)


def synthetic_vectors(
    model: str, memories: Sequence[Memory], pool: Sequence[Window], noise: np.random.Generator
) -> list[Embedded]:
    """A vector for each memory, between one of the pool and one that all of its session share: what is said in one
    conversation lies nearer to each other than to the rest. The tokens are those of the first. Nothing without a pool.
    """
    if not pool:
        return []
    numbers = {session: number for number, session in enumerate(dict.fromkeys(memory.session for memory in memories))}
    vectors = np.stack([one.vector for one in pool])
    made, chosen = vectors_between(vectors, [numbers[memory.session] for memory in memories], noise)
    return [
        embedded_one(memory, [Window(vector, pool[one].tokens)], model)
        for memory, vector, one in zip(memories, made, chosen, strict=True)
    ]


def vectors_between(pool: Scores, sessions: Sequence[int] | Array, noise: np.random.Generator) -> tuple[Scores, Array]:
    """For each row, of the session of that number, a vector between one of the pool and the one that all of its session
    share; and which of the pool each is near.
    """
    topics = pool[noise.integers(len(pool), size=max(sessions) + 1)]
    chosen = noise.integers(len(pool), size=len(sessions))
    made = pool[chosen] + topics[np.asarray(sessions)]
    made += noise.standard_normal(made.shape, dtype=np.float32) * np.float32(_NOISE / pool.shape[1] ** 0.5)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    return made, chosen


def _size_bytes(core: Core) -> int:
    store: Any = core.store
    store.checkpoint()
    return int(store.driver.describe()["size_bytes"])


# Timing


class _Timings:
    """Everything that is timed, in turns, so that what else the machine does hits all alike."""

    def __init__(self, core: Core, tenant: str, users: Sequence[str], *, scope: int) -> None:
        self._core = core
        self._principals = {user: Principal(tenant, Role.USER, user) for user in users}
        # Shelves beside those of recall: the lists of words to look a question's words up in, and nothing else.
        shelves = Shelves(core.store, models=[""], limit_bytes=sys.maxsize)
        self._lists = {user: shelves.look(tenant, user).postings for user in users}
        self._embedder = core.embedder
        dimensions = self._embedder.embed(["x"]).shape[1] if self._embedder else 1
        self._matrix = np.random.default_rng(1).standard_normal((scope, dimensions), dtype=np.float32)
        reranker = core.options.reranker()
        self.reranker = reranker.model_id if reranker else None
        self._seconds: dict[str, list[float]] = {}

    def run(self, rounds: int, report: Report) -> None:
        asked = questions(0)
        users = list(self._principals)
        steps: list[tuple[str, Callable[[str, str], None]]] = [("floor", self._floor), ("recall", self._recall)]
        if self._embedder is not None:
            steps.append(("embed", self._embed))
        if self.reranker is not None:
            steps.append(("rerank", self._rerank))
        for user in users:
            # The first recall of a user loads the user's index.
            self._time("first", self._recall, user, next(asked))
        self._core.recall.finish_saving()
        for _, step in steps:
            step(users[0], next(asked))
        for number in range(rounds):
            turn = number % len(steps)
            for name, step in steps[turn:] + steps[:turn]:
                self._time(name, step, users[number % len(users)], next(asked))
            report("Recalling", number + 1, rounds)

    def at_once(self, clients: int, rounds: int) -> float:
        """The 95th percentile of recalls, reranked where there is a reranker, of so many who ask all the time."""
        asked = list(islice(questions(clients), clients * rounds))
        users = list(self._principals)

        def ask(client: int) -> list[float]:
            user = users[client % len(users)]
            return [_timed(partial(self._rerank, user, question)) for question in asked[client::clients]]

        with ThreadPoolExecutor(clients) as threads:
            return milliseconds(list(chain.from_iterable(threads.map(ask, range(clients)))), 95)

    def figures(self) -> dict[str, float | None]:
        return {
            "embed_ms_p50": self._figure("embed", 50),
            "floor_ms": self._figure("floor", 50),
            "recall_ms_p50": self._figure("recall", 50),
            "recall_ms_p95": self._figure("recall", 95),
            "rerank_ms_p50": self._figure("rerank", 50),
            "rerank_ms_p95": self._figure("rerank", 95),
            "first_recall_ms_p50": self._figure("first", 50),
        }

    def _figure(self, name: str, percent: float) -> float | None:
        return milliseconds(self._seconds[name], percent) if name in self._seconds else None

    def _time(self, name: str, step: Callable[[str, str], None], user: str, question: str) -> None:
        # The threads of the bare scan (BLAS) spin for up to a tenth of a second, waiting for more of it, and would take
        # a core from whatever is measured next.
        time.sleep(_REST_SECONDS)  # noqa: TID251
        self._seconds.setdefault(name, []).append(_timed(lambda: step(user, question)))

    def _embed(self, _: str, question: str) -> None:
        assert self._embedder is not None
        self._embedder.embed([question])

    def _floor(self, user: str, question: str) -> None:
        """One embedding, one comparison with every vector of the scope, one look into the list of each word."""
        if self._embedder is not None:
            _ = self._matrix @ self._embedder.embed([question])[0]
        lists = self._lists[user]
        for term in words.question_terms(question):
            lists.containing(words.hash_of(term))

    def _recall(self, user: str, question: str) -> None:
        self._core.recall.recall(self._principals[user], Question(question, enable_rerank=False))

    def _rerank(self, user: str, question: str) -> None:
        self._core.recall.recall(self._principals[user], Question(question))


def _timed(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _start_cold(settings: Settings, tenant: str, users: Sequence[str]) -> tuple[float, float, float]:
    """Seconds from the start of a fresh process to its first answer, how many of them that recall took, and the
    megabytes that the process then settles at.
    """
    asked = {
        "database": settings.database_url(),
        "tenant": tenant,
        "users": list(users),
        "queries": list(islice(questions(1), _COLD_QUESTIONS)),
    }
    started = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "memorist_bench.cold"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(asked))
        process.stdin.close()
        first = process.stdout.readline()
        seconds = time.perf_counter() - started
        rest = process.stdout.read()
        code = process.wait(_COLD_SECONDS)
    said, _, of_recall = first.strip().partition(" ")
    if code != 0 or said != "answered":
        raise MemoristError("A fresh process did not answer; its own words are above.")
    return seconds, float(of_recall), float(rest)
