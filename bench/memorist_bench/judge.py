"""How well the local judge tells contradictions, on labelled pairs of facts that come with Memorist."""

import json
from collections import Counter
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from memorist.facts.judges import ruling_of
from memorist.facts.plain.changes import change_of
from memorist.facts.values import Ruling
from memorist.models.port import Comparer
from memorist.models.values import DatedFact


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """Two facts and how the newer one stands to the older one."""

    half: str
    domain: str
    old: str
    new: str
    label: Ruling


def labelled_pairs() -> list[LabelledPair]:
    """The pairs that come with Memorist."""
    lines = files("memorist_bench").joinpath("judge_pairs.jsonl").read_text("utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    return [LabelledPair(**{**record, "label": Ruling(record["label"])}) for record in records]


def measure_judge(pairs: list[LabelledPair], comparer: Comparer) -> dict[str, Any]:
    """Precision and recall of `contradicts` for each half and for both, and every pair that was judged wrong."""
    compared = comparer.compare([(DatedFact(pair.old), DatedFact(pair.new)) for pair in pairs])
    ruled = [
        (pair, ruling_of(likely, change_of(pair.old, pair.new))) for pair, likely in zip(pairs, compared, strict=True)
    ]
    halves = {half: [one for one in ruled if one[0].half == half] for half in ("tune", "held")}
    wrong = [
        {"half": pair.half, "old": pair.old, "new": pair.new, "label": pair.label, "ruling": verdict.ruling}
        for pair, verdict in ruled
        if (pair.label is Ruling.CONTRADICTS) != (verdict.ruling is Ruling.CONTRADICTS)
    ]
    return {
        "halves": {name: _scores(part) for name, part in {**halves, "both": ruled}.items()},
        "false_alarms": [one for one in wrong if one["label"] is not Ruling.CONTRADICTS],
        "misses": [one for one in wrong if one["label"] is Ruling.CONTRADICTS],
    }


def _scores(ruled: list[Any]) -> dict[str, Any]:
    counts = Counter((pair.label, verdict.ruling) for pair, verdict in ruled)
    right = counts[Ruling.CONTRADICTS, Ruling.CONTRADICTS]
    alarms = sum(count for (_, ruling), count in counts.items() if ruling is Ruling.CONTRADICTS)
    contradictions = sum(count for (label, _), count in counts.items() if label is Ruling.CONTRADICTS)
    return {
        "pairs": len(ruled),
        "contradictions": contradictions,
        "precision": round(right / alarms, 4) if alarms else 0.0,
        "recall": round(right / contradictions, 4) if contradictions else 0.0,
        "unsure": sum(count for (_, ruling), count in counts.items() if ruling is Ruling.UNSURE),
    }
