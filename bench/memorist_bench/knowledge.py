"""What is learned from labelled conversations, and what becomes of labelled facts: files in two published shapes.

Conversations: `{"name", "cases": [{"id", "messages": [{"id", "speaker", "role", "time", "text"}], "facts": […]}]}`; a
fact has `content`, `about`, `kind`, `evidence` (ids of messages), `keys` (words with alternatives divided by `|`) and
`importance` (3 must be kept, 2 should be, 1 may be). Pairs: `[{"older", "newer", "label"}]`.
"""

import json
import lzma
import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from memorist.bootstrap import open_core
from memorist.core import Core
from memorist.learning.extractors.kinds import Vocabulary
from memorist.learning.extractors.local import extract_locally
from memorist.learning.extractors.transcripts import Utterance
from memorist.memories.values import Memory
from memorist.models.port import Tagger
from memorist.platform.values import Principal, Role
from memorist.settings import Settings
from memorist.words import question_terms, terms

OUTCOMES = ("retired", "doubt", "merged", "kept")
LABELS = ("contradicts", "compatible", "refines", "same")

# A key of which an alternative is a date or a time is not required: it may be told in many ways.
_OF_TIME = re.compile(
    r"\d|\b(?:last|next|this|week|weekend|month|year|today|tomorrow|yesterday|ago|(?:mon|tues|wednes|thurs|fri|satur|sun)day|"
    r"january|february|march|april|may|june|july|august|september|october|november|december)\b"
)
# What shared words alone would say, beside the judge.
_SHARED_WORDS = 0.5


# Conversations


def measure_knowledge(path: Path, tagger: Tagger) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Recall, precision and speed of the local extractor on a file of conversations, and all that it found."""
    cases = json.loads(path.read_bytes())["cases"]
    tagger.tag([])  # Loading it is not reading.
    started = time.perf_counter()
    found = [line for case in cases for line in _extracted(case, tagger)]
    seconds = time.perf_counter() - started
    result = _summary(cases, found)
    return result | {"messages_per_s": round(result["messages"] / seconds, 1)}, found


def measure_languages(tagger: Tagger) -> dict[str, dict[str, Any]]:
    """Recall and precision on our own conversations in other languages, by language, and of all together. A quarter of
    them have nothing to keep.
    """
    packed = (Path(__file__).parent / "languages" / "facts.json.xz").read_bytes()
    cases = json.loads(lzma.decompress(packed))["cases"]
    found = [line for case in cases for line in _extracted(case, tagger)]
    codes = dict.fromkeys(case["id"].partition(":")[0] for case in cases)
    of_each = {code: [case for case in cases if case["id"].startswith(f"{code}:")] for code in codes}
    return {code: _summary(some, found) for code, some in (of_each | {"all": cases}).items()}


def _summary(cases: Sequence[Mapping[str, Any]], found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """How well some conversations were read; `found` may be of others, too."""
    right = [_matched(case, [line for line in found if line["case"] == case["id"]]) for case in cases]
    facts = [
        (fact["importance"], hit)
        for case, (hits, _) in zip(cases, right, strict=True)
        for fact, hit in zip(case["facts"], hits, strict=True)
    ]
    useful = [one for _, matching in right for one in matching]
    return {
        "conversations": len(cases),
        "messages": sum(len(case["messages"]) for case in cases),
        "facts": len(facts),
        "memories": len(useful),
        "recall_3": _share([hit for importance, hit in facts if importance >= 3]),
        "recall_2": _share([hit for importance, hit in facts if importance >= 2]),
        "precision": _share(useful),
    }


def _extracted(case: Mapping[str, Any], tagger: Tagger) -> list[dict[str, Any]]:
    said = [
        Utterance(one["role"] or "other", one["text"], None if one["role"] else one["speaker"], _time(one["time"]))
        for one in case["messages"]
    ]
    return [
        {
            "case": case["id"],
            "about": one.about or "User",
            "content": one.content,
            "message": case["messages"][one.source]["id"],
            "kind": one.topic,
            "excerpt": one.excerpt,
        }
        for one in extract_locally(said, Vocabulary.COMPANION, tagger)
    ]


def _time(text: str | None) -> datetime | None:
    return None if not text else datetime.fromisoformat(text).replace(tzinfo=UTC)


def _matched(case: Mapping[str, Any], found: Sequence[Mapping[str, Any]]) -> tuple[list[bool], list[bool]]:
    """Which facts some memory matches, and which memories match some fact."""
    order = {message["id"]: number for number, message in enumerate(case["messages"])}
    pairs = [[_matches(fact, memory, order) for memory in found] for fact in case["facts"]]
    return [any(row) for row in pairs], [any(row[number] for row in pairs) for number in range(len(found))]


def _matches(fact: Mapping[str, Any], memory: Mapping[str, Any], order: Mapping[str, int]) -> bool:
    if fact["about"].casefold() != memory["about"].casefold():
        return False
    if not any(abs(order[one] - order[memory["message"]]) <= 1 for one in fact["evidence"]):
        return False
    text = memory["content"].lower()
    required = [key for key in fact["keys"] if not _OF_TIME.search(key)]
    return all(any(word in text for word in key.split("|")) for key in required)


def _share(found: Sequence[bool]) -> float:
    return round(sum(found) / max(1, len(found)), 3)


# Pairs of facts


def measure_pairs(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What becomes of the older of two facts that are stored one after the other, by its label."""
    pairs = json.loads(path.read_bytes())
    with TemporaryDirectory(prefix="memorist-bench-") as folder:
        core = open_core(Settings(data=Path(folder), judge_model="local"), background=False)
        try:
            _outcome(core, "warm", {"older": "User lives in Rome.", "newer": "User lives in Oslo."})
            started = time.perf_counter()
            outcomes = [_outcome(core, f"user-{number}", pair) for number, pair in enumerate(pairs)]
            seconds = time.perf_counter() - started
        finally:
            core.close()
    lines = [
        {"older": pair["older"], "newer": pair["newer"], "outcome": outcome}
        for pair, outcome in zip(pairs, outcomes, strict=True)
    ]
    labels = [pair["label"] for pair in pairs]
    result = {
        "pairs": len(pairs),
        "ms_per_fact": round(1000 * seconds / max(1, 2 * len(pairs)), 1),
        "outcomes": _outcomes(labels, outcomes),
        "shared_words_alone": _outcomes(labels, [_by_words(pair) for pair in pairs]),
    }
    return result, lines


def _outcome(core: Core, user: str, pair: Mapping[str, Any]) -> str:
    principal = Principal("default", Role.USER, user)
    older = core.facts.remember(principal, pair["older"]).memory
    newer = core.facts.remember(principal, pair["newer"]).memory
    core.jobs.run_due(principal.tenant)
    after: Memory = core.memories.get(principal, older.id)
    if after.superseded_by == newer.id:
        events = core.store.read(principal.tenant, lambda tx: tx.events.of([older.id]))
        return "merged" if any("merged" in event.payload for event in events) else "retired"
    return "doubt" if core.facts.in_doubt(principal).items else "kept"


def _by_words(pair: Mapping[str, Any]) -> str:
    older, newer = set(question_terms(pair["older"])), set(terms(pair["newer"]))
    return "retired" if older and len(older & newer) / len(older) >= _SHARED_WORDS else "kept"


def _outcomes(labels: Sequence[str], outcomes: Sequence[str]) -> dict[str, dict[str, float]]:
    counted = Counter(zip(labels, outcomes, strict=True))
    totals = Counter(labels)
    return {
        label: {outcome: round(counted[label, outcome] / totals[label], 3) for outcome in OUTCOMES}
        for label in LABELS
        if totals[label]
    }
