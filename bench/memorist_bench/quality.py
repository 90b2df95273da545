"""How well recall finds: a benchmark's messages are stored as any client would store them, its questions asked."""

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from memorist.core import Core
from memorist.ingestion.service import Message
from memorist.platform import validation
from memorist.platform.values import Principal, Role
from memorist.recall.values import Question
from memorist_bench.datasets import Benchmark, BenchmarkMessage, Case
from memorist_bench.metrics import CUTS, Answered, milliseconds, quality, quality_by_category

if TYPE_CHECKING:
    from memorist.models.port import Embedder
    from memorist.recall.service import Recall

_BATCH = 200

_EMBEDDED = 5
"""One in so many questions is embedded alone as well, to say how long that takes in the same run."""

FRONTIER = (4, 6, 8, 12, 18, 27)
"""Times for a recall, in embeddings of a question."""

Report = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and how much there is."""


def measure_recall(
    core: Core,
    tenant: str,
    prefix: str,
    benchmark: Benchmark,
    *,
    rerank: bool,
    by_category: bool,
    report: Report,
    ablation: bool = False,
    frontier: bool = False,
    budget_ms: float = 0,
) -> dict[str, Any]:
    """Store, index and ask; one user for each case, named with the prefix. Raises ModelError or StoreError.

    With `ablation`, ask again without each part of the first order, and without the reranker; with `frontier`, without
    the reranker and with more and more time for it. The reranker reads all that it may, unless `budget_ms` is its time.
    """
    from memorist.recall.fusion import ABLATIONS  # Here, because it imports numpy.

    users = {case.id: f"{prefix}-{index}" for index, case in enumerate(benchmark.cases)}
    total = sum(len(case.messages) for case in benchmark.cases)
    started = time.perf_counter()
    origins: dict[str, str] = {}
    for case in benchmark.cases:
        origins |= _store(core, Principal(tenant, Role.USER, users[case.id]), case)
        report("Storing", len(origins), total)
    for progress in core.indexer.finish(tenant):
        report("Indexing", progress.done, progress.total)
    stored_in = time.perf_counter() - started
    ask = partial(_ask, tenant, users, benchmark, origins, report, core.embedder)
    asked = ask(core.recall.weighing(budget_ms=budget_ms), rerank=rerank)
    reranker = core.options.reranker() if rerank else None
    result: dict[str, Any] = {
        "name": benchmark.name,
        **quality(asked.answers),
        "ingest_per_s": round(total / stored_in, 1),
        "recall_ms_p50": milliseconds(asked.seconds, 50) if asked.seconds else 0.0,
        "recall_ms_p95": milliseconds(asked.seconds, 95) if asked.seconds else 0.0,
        "embed_ms_p50": milliseconds(asked.embedding, 50) if asked.embedding else None,
        "read_p50": median(asked.read) if asked.read else 0,
        "read_mean": round(fmean(asked.read), 1) if asked.read else 0.0,
        "embedder": core.embedder.model_id if core.embedder else None,
        "reranker": reranker.model_id if reranker else None,
        "budget_ms": budget_ms,
    }
    if by_category:
        result["categories"] = quality_by_category(asked.answers)
    if ablation:
        result["without"] = {
            part: quality(ask(core.recall.weighing(fusion), rerank=False).answers) for part, fusion in ABLATIONS.items()
        }
    if frontier and result["embed_ms_p50"]:
        budgets = [embeddings * result["embed_ms_p50"] for embeddings in FRONTIER]
        result["frontier"] = [
            _point(ask(core.recall.weighing(budget_ms=budget or 0), rerank=budget is not None), budget)
            for budget in (None, *budgets, 0)
        ]
    return result


def _point(asked: "_Asked", budget_ms: float | None) -> dict[str, Any]:
    """How good and how long; without a budget there was no reranker."""
    return {
        "budget_ms": None if budget_ms is None else round(budget_ms, 1),
        **quality(asked.answers),
        "recall_ms_p50": milliseconds(asked.seconds, 50),
        "embed_ms_p50": milliseconds(asked.embedding, 50),
        "read_mean": round(fmean(asked.read), 1),
    }


def _store(core: Core, principal: Principal, case: Case) -> dict[str, str]:
    """Store a case's messages, session by session. Returns which message each memory holds."""
    origins: dict[str, str] = {}
    for session, messages in groupby(case.messages, key=lambda message: message.session):
        parts = [(message.id, part) for message in messages for part in _parts(message)]
        for start in range(0, len(parts), _BATCH):
            batch = parts[start : start + _BATCH]
            spoken = [part for _, part in batch]
            stored = core.ingestion.add_messages(principal, _identifier(session), spoken, extract=False)
            origins |= {one.memory.id: id_ for one, (id_, _) in zip(stored, batch, strict=True)}
    return origins


def _parts(message: BenchmarkMessage) -> Iterator[Message]:
    """The message; in pieces, where it is longer than a memory may be. One without text is not stored."""
    text = message.text.strip()
    for start in range(0, len(text), validation.MAX_CONTENT):
        piece = text[start : start + validation.MAX_CONTENT]
        if piece.strip():
            yield Message(message.role, piece, message.speaker, message.time)


@dataclass(frozen=True, slots=True)
class _Asked:
    answers: list[Answered]
    seconds: list[float]
    read: list[int]
    """How many candidates the reranker read."""

    embedding: list[float]
    """How long embedding a question alone takes, for some of them in between."""


def _ask(
    tenant: str,
    users: dict[str, str],
    benchmark: Benchmark,
    origins: dict[str, str],
    report: Report,
    embedder: "Embedder | None",
    recall: "Recall",
    *,
    rerank: bool,
) -> _Asked:
    asked = _Asked([], [], [], [])
    total = sum(len(case.questions) for case in benchmark.cases)
    for case in benchmark.cases:
        principal = Principal(tenant, Role.USER, users[case.id])
        for question in case.questions:
            wanted = Question(question.text, top_k=max(CUTS), enable_rerank=rerank, min_score=0.0)
            if not asked.answers:
                recall.recall(principal, wanted)  # Loads the models, which the first question would pay for.
            before = time.perf_counter()
            found = recall.recall(principal, wanted)
            asked.seconds.append(time.perf_counter() - before)
            asked.read.append(found.reranked)
            if embedder is not None and len(asked.answers) % _EMBEDDED == 0:
                before = time.perf_counter()
                embedder.embed([question.text])
                asked.embedding.append(time.perf_counter() - before)
            ranked = list(dict.fromkeys(origins[hit.memory.id] for hit in found.hits))
            asked.answers.append(Answered(ranked, question.evidence, question.category))
            report("Asking", len(asked.answers), total)
    return asked


def _identifier(name: str) -> str:
    return re.sub(r"[\s\x00-\x1f\x7f-\x9f]", "_", name)[: validation.MAX_IDENTIFIER] or "_"
