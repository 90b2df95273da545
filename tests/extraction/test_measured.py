"""What is published of the local extractor and the local judge holds, where the labelled files are at hand."""

import json
import os
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memorist.facts.values import Ruling
from memorist.memories.values import Memory
from memorist.models.tagger import LocalTagger
from memorist.platform.values import Owner
from memorist_bench.extraction import HALVES, compare, conversations, measure_extraction, similarity
from memorist_bench.knowledge import measure_knowledge, measure_languages, measure_pairs
from tests.facts.judges import local_judge

LABELLED = "MEMORIST_LABELLED"
"""A folder with conversations and pairs of facts that nobody here wrote, to measure on."""

TAGGER = LocalTagger()

_OTHER = 37
"""So far from each other two pairs tell of different matters."""


@pytest.fixture(scope="module")
def measured() -> dict[str, dict[str, float]]:
    return measure_extraction(TAGGER)


@pytest.mark.parametrize("half", HALVES)
def test_the_built_in_conversations_are_read_no_worse_than_they_were(measured: dict[str, Any], half: str) -> None:
    """They label few of the facts that they hold: precision is a lower bound, and says nothing by itself."""
    assert measured[half]["precision"] >= 0.5
    assert measured[half]["recall"] >= 0.6


def test_other_languages_are_read_no_worse_than_they_were() -> None:
    """Our own conversations, of which a quarter has nothing to keep: before its sentences had vectors the tagger kept
    .94 of what must be, and .57 of what it kept was right.
    """
    found = measure_languages(TAGGER)
    assert len(found) == 1 + 12
    assert found["all"]["recall_3"] >= 0.9
    assert found["all"]["precision"] >= 0.7
    assert all(one["recall_3"] >= 0.7 for one in found.values())


def labelled(name: str) -> Path:
    path = Path(os.environ.get(LABELLED, "")) / name
    if not os.environ.get(LABELLED) or not path.exists():
        pytest.skip(f"NOT MEASURED: {LABELLED} names no folder with {name}")
    return path


def test_unseen_conversations_are_understood() -> None:
    found, lines = measure_knowledge(labelled("facts-dev.json"), TAGGER)
    assert found["recall_3"] >= 0.85
    assert found["recall_2"] >= 0.75
    assert found["precision"] >= 0.85
    assert len(lines) == found["memories"]


def test_unseen_contradictions_are_noticed() -> None:
    found, _ = measure_pairs(labelled("pairs-dev.json"))
    outcomes = found["outcomes"]
    assert outcomes["contradicts"]["retired"] >= 0.6
    assert outcomes["contradicts"]["retired"] + outcomes["contradicts"]["doubt"] >= 0.85
    both = [outcomes["compatible"], outcomes["refines"]]
    assert all(one["retired"] <= 0.03 for one in both)
    assert outcomes["compatible"]["doubt"] <= 0.12
    assert outcomes["same"]["merged"] >= 0.75


def test_unseen_facts_of_other_matters_stay() -> None:
    pairs = json.loads(labelled("pairs-dev.json").read_text())
    others = [*pairs[_OTHER:], *pairs[:_OTHER]]
    strangers = [(_fact(one["newer"]), _fact(other["older"])) for one, other in zip(pairs, others, strict=True)]
    rulings = Counter(verdict.ruling for verdict in local_judge().judge(strangers))
    assert rulings[Ruling.CONTRADICTS] <= 0.02 * len(pairs)
    assert rulings[Ruling.UNSURE] <= 0.05 * len(pairs)


def _fact(content: str) -> Memory:
    now = datetime(2026, 5, 20, tzinfo=UTC)
    return Memory("mem_1", "t", content, "", "", now, now, Owner("ada"))


def test_there_are_enough_conversations_of_every_subject() -> None:
    found = [one for half in HALVES for one in conversations(half)]
    assert len(found) >= 40
    assert len({one.name for one in found}) == len(found)
    subjects = [one.subject for one in found]
    for subject in ("coding", "health", "travel", "support", "family", "finance", "nothing"):
        assert subjects.count(subject) >= 3, subject
    assert all(bool(one.expected) != (one.subject == "nothing") or one.name == "grandma" for one in found)


def test_a_memory_matches_by_its_words_and_each_counts_once() -> None:
    assert similarity("prefers tabs over spaces", "User prefers tabs, never spaces.") == 0.75
    assert similarity("lives in Rome", "User lives in Paris.") == 0.5
    conversation = next(one for one in conversations("tune") if one.name == "new-service")
    compared = compare(conversation, TAGGER)
    assert len(compared.matched) + len(compared.missed) == len(conversation.expected)
