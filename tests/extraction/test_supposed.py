"""What is only supposed says nothing of who supposes it."""

import pytest

from memorist.learning.extractors.kinds import Vocabulary
from memorist.learning.extractors.local import extract_locally
from memorist.learning.extractors.transcripts import Utterance
from memorist.models.tagger import LocalTagger

TAGGER = LocalTagger()


def found(*said: str) -> list[str]:
    messages = [Utterance("user", one) for one in said]
    return [one.content for one in extract_locally(messages, Vocabulary.FACTS, TAGGER)]


@pytest.mark.parametrize(
    "said",
    [
        "Let's say I'm a single mother of 3 in Ohio earning 40k. I rent a flat for 900. What could I get?",
        "lets assume im a nurse and i have two kids",
        "Suppose I have a mortgage of 300k at 5%. My salary is 80k.",
        "Ok, say I have two kids and I live in Ohio.",
        "Hypothetically, I work at a bank and I earn 90k.",
    ],
)
def test_a_supposition_and_what_follows_from_it_are_not_kept(said: str) -> None:
    assert found(said) == []


def test_what_is_said_for_real_after_it_is_kept() -> None:
    said = "Let's say I earn 200k and live in Rome. In reality I work at a school in Leeds."
    assert found(said) == ["In reality User works at a school in Leeds."]


def test_a_role_is_played_without_an_apostrophe_too() -> None:
    assert found("lets pretend im a pilot. I just got back from LA and I'm broke", "I owe Ross 200 bucks") == []


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (
            ["I have, let's say, a complicated relationship with my father."],
            ["User has, let's say, a complicated relationship with their father."],
        ),
        (["Let's say so. My son Leo is allergic to nuts."], ["User's son Leo is allergic to nuts."]),
        (["Imagine my surprise!", "I work nights in the ICU."], ["User works nights in the ICU."]),
    ],
)
def test_who_only_speaks_so_supposes_nothing(said: list[str], kept: list[str]) -> None:
    assert found(*said) == kept


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (
            "Please help me write a letter to my landlord. I have lived at 14 Elm Street for 9 years.",
            ["User has lived at 14 Elm Street for 9 years."],
        ),
        (
            "Draft a message to my sister. I'm allergic to her dogs.",
            ["User is allergic to her dogs."],
        ),
        # Whose letter it is nobody knows.
        ("Write a letter from a soldier. I live in a trench near Verdun.", []),
        ("Write a letter. I live in Rome.", []),
    ],
)
def test_a_letter_to_one_s_own_people_tells_of_who_has_it_written(said: str, kept: list[str]) -> None:
    assert found(said) == kept
