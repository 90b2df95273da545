"""The ranker that the models are measured in: BM25 and vectors, with neighbours, then the reranker. Pure numpy."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float32]


@dataclass(frozen=True)
class Fusion:
    text: float = 0.35
    text_neighbours: float = 0.5
    dense_neighbours: float = 0.1
    reranker: float = 0.5
    pool: int = 50
    dense_windows: float = 0.06
    reranker_windows: float = 1.5
    """A message of n windows shows its best, and the best of many is high by chance: this times ln n is taken off."""


def words_of(text: str) -> list[str]:
    """Lower-case words, plural and past endings cut off: enough of a stemmer to compare rankers with."""
    return [re.sub(r"(?<=[a-z]{3})(?:ing|ed|es|s)$", "", word) for word in re.findall(r"\w+", text.lower())]


class Bm25:
    def __init__(self, texts: Sequence[str], k1: float = 1.2, b: float = 0.75) -> None:
        counted = [Counter(words_of(text)) for text in texts]
        sizes = np.array([sum(counts.values()) for counts in counted], dtype=np.float32)
        self.count = len(texts)
        self.norm = k1 * (1 - b + b * sizes / max(1.0, float(sizes.mean())))
        self.k1 = k1
        self.postings: dict[str, list[tuple[int, int]]] = {}
        for document, counts in enumerate(counted):
            for word, times in counts.items():
                self.postings.setdefault(word, []).append((document, times))

    def scores(self, query: str) -> Scores:
        total = np.zeros(self.count, dtype=np.float32)
        for word in set(words_of(query)):
            found = self.postings.get(word, [])
            rarity = math.log(1 + (self.count - len(found) + 0.5) / (len(found) + 0.5))
            for document, times in found:
                total[document] += rarity * times * (self.k1 + 1) / (times + self.norm[document])
        return total


def add_neighbours(scores: Scores, sessions: Sequence[str], weight: float) -> Scores:
    """Each message gains a share of the scores of the messages right before and after it in its session."""
    together = np.array([left == right for left, right in pairwise(sessions)], dtype=np.float32)
    raised = scores.copy()
    raised[..., 1:] += weight * scores[..., :-1] * together
    raised[..., :-1] += weight * scores[..., 1:] * together
    return raised


def min_max(scores: Scores) -> Scores:
    low, high = scores.min(-1, keepdims=True), scores.max(-1, keepdims=True)
    return (scores - low) / np.maximum(high - low, 1e-9)


def first_stage(
    text: Scores, dense: Scores, sessions: Sequence[str], window_counts: NDArray[np.int64], fusion: Fusion
) -> Scores:
    dense = dense - fusion.dense_windows * np.log(window_counts).astype(np.float32)
    text = min_max(add_neighbours(text, sessions, fusion.text_neighbours))
    dense = min_max(add_neighbours(dense, sessions, fusion.dense_neighbours))
    return min_max(fusion.text * text + (1 - fusion.text) * dense)


def reranked(first: Scores, pool: NDArray[np.int64], judged: Scores, fusion: Fusion) -> NDArray[np.int64]:
    """The order of one question's messages: the pool by both scores, then the rest as the first stage had it."""
    mixed = fusion.reranker * min_max(judged) + (1 - fusion.reranker) * min_max(first[pool])
    rest = np.argsort(-first, kind="stable")[len(pool) :]
    return np.concatenate([pool[np.argsort(-mixed, kind="stable")], rest])


METRICS = ("recall@1", "recall@5", "recall@10", "recall@50", "any@5", "mrr")


def measure(order: NDArray[np.int64], evidence: Sequence[int]) -> dict[str, float]:
    found = np.isin(order, np.array(evidence))
    ranks = np.flatnonzero(found)
    recall = {f"recall@{k}": float(found[:k].sum()) / len(evidence) for k in (1, 5, 10, 50)}
    return recall | {"any@5": float(found[:5].any()), "mrr": 1.0 / (1 + int(ranks[0])) if len(ranks) else 0.0}
