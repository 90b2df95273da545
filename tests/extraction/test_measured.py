"""The published figures of the local extractor hold."""

import pytest

from memorist_bench.extraction import HALVES, compare, conversations, measure_extraction, similarity


@pytest.fixture(scope="module")
def measured() -> dict[str, dict[str, float]]:
    return measure_extraction()


@pytest.mark.parametrize("half", HALVES)
def test_precision_and_recall_hold(measured: dict[str, dict[str, float]], half: str) -> None:
    assert measured[half]["precision"] >= 0.9
    assert measured[half]["recall"] >= 0.8


@pytest.mark.parametrize("half", HALVES)
def test_nothing_comes_of_nothing(measured: dict[str, dict[str, float]], half: str) -> None:
    assert measured[half]["nothing_to_keep"] >= 5
    assert measured[half]["found_in_nothing"] == 0


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
    compared = compare(conversation)
    assert len(compared.matched) + len(compared.missed) == len(conversation.expected)
