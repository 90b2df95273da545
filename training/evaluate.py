"""Measures an embedder and a reranker on benchmark files: `python -m training.evaluate FILE… [--weights FOLDER]`.

The figures are of the models inside Memorist's own ranking (ranker.py), not of a benchmark's questions answered.
"""

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memorist.recall.fusion import FUSION, Fusion
from memorist.recall.ranking import Places, Scores, best
from training.data import Conversation, cut_into_units, load_benchmark, write_out
from training.ranker import METRICS, Ranker, measure


class Embedder(Protocol):
    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]: ...


class Reranker(Protocol):
    def score(self, query: str, passages: Sequence[str]) -> Sequence[float]: ...


@dataclass
class Judged:
    """What the models said of one conversation, so that fusions can be compared without running them again."""

    conversation: Conversation
    dense: Scores
    window_counts: NDArray[np.int64]
    pools: list[Places]
    reranker: list[Scores]


def judge(
    conversation: Conversation, embedder: Embedder, reranker: Reranker | None, fusion: Fusion, form: str = "reranked"
) -> Judged:
    units = cut_into_units([conversation])
    messages = np.array([unit.message for unit in units])
    starts = np.searchsorted(messages, np.arange(len(conversation.messages)))
    questions = [question.text for question in conversation.questions]
    vectors = embedder.embed([write_out([conversation], unit, "embedded") for unit in units])
    by_unit = embedder.embed(questions) @ vectors.T
    dense = np.maximum.reduceat(by_unit, starts, axis=1).astype(np.float32)
    ends = np.append(starts[1:], len(units))
    ranker = Ranker(conversation, ends - starts)
    pools = [best(ranker.first(text, row, fusion), fusion.pool) for text, row in zip(questions, dense, strict=True)]
    scores: list[Scores] = []
    if reranker is not None:
        for number, pool in enumerate(pools):
            # Of a long message only its best window is read again.
            fitting = [starts[m] + int(by_unit[number, starts[m] : ends[m]].argmax()) for m in pool]
            passages = [write_out([conversation], units[unit], form) for unit in fitting]
            scores.append(np.asarray(reranker.score(questions[number], passages), dtype=np.float32))
    return Judged(conversation, dense, ends - starts, pools, scores)


def summarize(judged: Sequence[Judged], fusion: Fusion, by_category: bool = False) -> dict[str, dict[str, float]]:
    """Mean figures of `first` (no reranker), of `dense` alone, and of `reranked` where there are its scores."""
    collected: dict[str, list[dict[str, float]]] = defaultdict(list)
    for case in judged:
        ranker = Ranker(case.conversation, case.window_counts)
        for number, question in enumerate(case.conversation.questions):
            dense = case.dense[number]
            first = ranker.first(question.text, dense, fusion)
            orders = {"dense": best(dense, dense.size), "first": best(first, first.size)}
            if case.reranker:
                pool = case.pools[number][: fusion.pool]
                orders["reranked"] = ranker.reranked(first, pool, case.reranker[number][: len(pool)], fusion)
            for name, order in orders.items():
                figures = measure(order, question.evidence)
                collected[name].append(figures)
                if by_category and name == list(orders)[-1]:
                    collected[f"{name} {question.category}"].append(figures)
    return {
        name: {metric: round(float(np.mean([row[metric] for row in rows])), 4) for metric in METRICS}
        for name, rows in collected.items()
    }


def evaluate(
    files: Sequence[Path],
    embedder: Embedder,
    reranker: Reranker | None,
    fusion: Fusion,
    form: str = "reranked",
    save: Path | None = None,
    by_category: bool = False,
) -> dict[str, dict[str, dict[str, float]]]:
    report = {}
    for path in files:
        started = time.monotonic()
        judged = [judge(conversation, embedder, reranker, fusion, form) for conversation in load_benchmark(path)]
        name = path.name.split(".")[0]
        report[name] = summarize(judged, fusion, by_category)
        if save is not None:
            _save(judged, save / f"{name}.npz")
        for stage, figures in report[name].items():
            print(f"{name:18} {stage:10}", " ".join(f"{metric} {value:.3f}" for metric, value in figures.items()))
        print(f"{name:18} took {time.monotonic() - started:.0f} s", flush=True)
    return report


def _save(judged: Sequence[Judged], path: Path) -> None:
    arrays = {}
    for number, case in enumerate(judged):
        arrays[f"dense{number}"] = case.dense.astype(np.float16)
        if case.reranker:
            arrays[f"pool{number}"] = np.stack(case.pools).astype(np.int16)
            arrays[f"reranker{number}"] = np.stack(case.reranker)
    np.savez_compressed(path, **arrays)


def read_scores(conversations: Sequence[Conversation], path: Path) -> list[Judged]:
    """What `evaluate` has saved of a file's conversations."""
    judged = []
    with np.load(path) as arrays:
        for number, conversation in enumerate(conversations):
            messages = [unit.message for unit in cut_into_units([conversation])]
            counts = np.bincount(messages, minlength=len(conversation.messages))
            dense = arrays[f"dense{number}"].astype(np.float32)
            reranked_too = f"pool{number}" in arrays
            pools = list(arrays[f"pool{number}"].astype(np.intp)) if reranked_too else []
            scores = list(arrays[f"reranker{number}"]) if reranked_too else []
            judged.append(Judged(conversation, dense, counts, pools, scores))
    return judged


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument(
        "--weights", type=Path, help="trained parts to measure at full precision, instead of the shipped"
    )
    parser.add_argument("--no-rerank", action="store_true")
    parser.add_argument("--pool", type=int, default=FUSION.pool)
    parser.add_argument("--by-category", action="store_true")
    parser.add_argument("--json", type=Path, help="write the figures here as well")
    arguments = parser.parse_args()
    embedder: Embedder
    reranker: Reranker
    if arguments.weights:
        from training.torch_models import load_embedder, load_reranker

        embedder = load_embedder(arguments.weights)
        reranker = load_reranker(arguments.weights)
    else:
        from memorist.models.embedder import LocalEmbedder
        from memorist.models.reranker import LocalReranker

        embedder, reranker = LocalEmbedder(), LocalReranker()
    report = evaluate(
        arguments.files,
        embedder,
        None if arguments.no_rerank else reranker,
        replace(FUSION.without_tokens(), pool=arguments.pool),
        by_category=arguments.by_category,
    )
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
