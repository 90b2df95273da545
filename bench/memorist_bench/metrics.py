"""How good a ranking is, and how long things take. Pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

CUTS = (1, 5, 10, 20)


@dataclass(frozen=True, slots=True)
class Answered:
    """What came back for a question, best first, and what should have."""

    ranked: Sequence[str]
    evidence: Collection[str]
    category: str

    def recall(self, cut: int) -> float:
        """The fraction of the evidence among the first."""
        return len(set(self.evidence).intersection(self.ranked[:cut])) / len(self.evidence)

    def reciprocal_rank(self) -> float:
        return next((1 / rank for rank, one in enumerate(self.ranked, start=1) if one in self.evidence), 0.0)


def quality(answers: Sequence[Answered]) -> dict[str, float | int]:
    """recall@k (the fraction of the evidence found), any@k (whether any was) and the mean reciprocal rank."""
    found: dict[str, float | int] = {}
    for cut in CUTS:
        found[f"recall@{cut}"] = _mean([answer.recall(cut) for answer in answers])
    for cut in CUTS:
        found[f"any@{cut}"] = _mean([float(answer.recall(cut) > 0) for answer in answers])
    return found | {"mrr": _mean([answer.reciprocal_rank() for answer in answers]), "questions": len(answers)}


def quality_by_category(answers: Sequence[Answered]) -> Mapping[str, dict[str, float | int]]:
    categories = sorted({answer.category for answer in answers})
    return {category: quality([answer for answer in answers if answer.category == category]) for category in categories}


def percentile(values: Sequence[float], percent: float) -> float:
    """The value below which so many percent of the values lie; between two neighbours in proportion."""
    ordered = sorted(values)
    at = (len(ordered) - 1) * percent / 100
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def milliseconds(seconds: Sequence[float], percent: float) -> float:
    return round(percentile(seconds, percent) * 1000, 3)


def _mean(values: Sequence[float]) -> float:
    return round(fmean(values), 4) if values else 0.0
