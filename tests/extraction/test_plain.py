"""What somebody says of themselves outright is learned, however briefly, each thing by itself. With a real model."""

import pytest

from memorist.learning.extractors.kinds import Vocabulary
from memorist.learning.extractors.local import extract_locally
from memorist.learning.extractors.plain import is_plainly_told, stands_alone
from memorist.learning.extractors.transcripts import Utterance
from memorist.models.tagger import LocalTagger

TAGGER = LocalTagger()


def learned(said: str) -> list[str]:
    return [one.content for one in extract_locally([Utterance("user", said)], Vocabulary.FACTS, TAGGER)]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("my favorite color is teal", ["User's favorite color is teal."]),
        ("My favourite food is ramen.", ["User's favourite food is ramen."]),
        ("favorite book: Dune", ["User: favorite book: Dune."]),
        ("You should always call me Boss.", ["User: You should always call me Boss."]),
        ("I don't have a car.", ["User does not have a car."]),
    ],
)
def test_plain_sentence_is_learned(said: str, expected: list[str]) -> None:
    assert learned(said) == expected


@pytest.mark.parametrize(
    "said",
    [
        "is my favorite color teal?",
        "My favorite part is the ending.",
        "If my favorite team is losing I go home.",
        "call me when you are done",
        "Call me crazy but I like it.",
        "I don't drink that.",
        "I don't speak for everyone",
        "maybe my favorite color is teal",
    ],
)
def test_what_is_no_plain_sentence_is_left_to_the_model(said: str) -> None:
    assert not is_plainly_told(said)


def test_each_of_several_plain_sentences_is_a_fact_of_its_own() -> None:
    assert learned("I'm a nurse in Leeds. My doctor is Dr. Lee. I can't do dairy.") == [
        "User is a nurse in Leeds.",
        "User's doctor is Dr. Lee.",
        "User cannot do dairy.",
    ]


@pytest.mark.parametrize(
    "said",
    ["I love it there.", "I quit last week.", "My wife hates them.", "She works at a bank.", "I do too."],
)
def test_sentence_that_needs_the_one_before_does_not_stand_alone(said: str) -> None:
    assert not stands_alone(said)
