"""What somebody says of themselves outright is learned, however briefly, each thing by itself. With a real model."""

import pytest

from memorist.learning.extractors.kinds import Vocabulary
from memorist.learning.extractors.local import extract_locally
from memorist.learning.extractors.plain import (
    answers,
    claim_spans,
    is_a_bare_answer,
    is_plainly_told,
    stands_alone,
)
from memorist.learning.extractors.transcripts import Utterance
from memorist.models.tagger import LocalTagger

TAGGER = LocalTagger()


def learned(*said: str) -> list[str]:
    """What is learned of messages, to each of which the assistant answers."""
    messages = [one for text in said for one in (Utterance("user", text), Utterance("assistant", "Got it."))]
    return [one.content for one in extract_locally(messages[:-1], Vocabulary.FACTS, TAGGER)]


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


def test_whom_the_next_message_calls_she_is_named() -> None:
    assert learned("My sister Ana called. She moved to Lima.", "She works as a vet there") == [
        "User's sister Ana called. She moved to Lima.",
        "User's sister Ana called. She works as a vet there.",
    ]


def test_nobody_is_named_where_the_message_before_names_none() -> None:
    assert learned("The weather is bad here.", "She works as a vet in Lima")[-1] == "User: She works as a vet in Lima."


def test_what_an_assistant_says_is_quoted_to_an_answer_alone() -> None:
    assert learned("we use node 18", "bumped to node 22 as well")[-1] == "User: bumped to node 22 as well."
    asked = [Utterance("assistant", "So you are vegetarian."), Utterance("user", "Yes, since 2019.")]
    found = extract_locally(asked, Vocabulary.FACTS, TAGGER)
    assert [one.content for one in found] == ['To "So you are vegetarian.", User said: Yes, since 2019.']
    assert answers("Absolutely, Ada!")
    assert is_a_bare_answer("Absolutely, Ada!")
    assert not is_a_bare_answer("Yes, since 2019.")
    assert not answers("Now I live in Bonn.")


def test_an_order_tells_of_the_user_in_the_third_person() -> None:
    assert learned("dont ever suggest restaurants with pork, im muslim") == [
        "Don't ever suggest restaurants with pork, the user is muslim."
    ]
    assert learned("please always answer in English, I hate translations") == [
        "Please always answer in English, the user hates translations."
    ]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("was diagnosed with ADHD last spring", "User was diagnosed with ADHD last spring."),
        ("did my ACL on thursday, surgery in may", "User did their ACL on thursday, surgery in may."),
        ("sold the Golf yesterday, got 2k for it", "User sold the Golf yesterday, got 2k for it."),
    ],
)
def test_what_only_begins_like_a_question_or_ends_in_a_pronoun_is_learned(said: str, expected: str) -> None:
    assert learned(said) == [expected]


@pytest.mark.parametrize("said", ["did it rain in Leeds?", "I decided to do it", "was it you", "I got rid of it"])
def test_what_says_nothing_by_itself_is_not_learned(said: str) -> None:
    assert learned(said) == []


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            "my rent is 950 a month, I earn about 2800 after tax",
            ["User's rent is 950 a month.", "User earns about 2800 after tax."],
        ),
        (
            "I have two kids and my wife is a teacher at the primary school",
            ["User has two kids.", "User's wife is a teacher at the primary school."],
        ),
        (
            "- I work at Tesco but my dream is to open a bakery",
            ["User works at Tesco.", "User's dream is to open a bakery."],
        ),
    ],
)
def test_what_is_told_of_two_things_is_two_facts(said: str, expected: list[str]) -> None:
    assert learned(said) == expected


@pytest.mark.parametrize(
    "said",
    [
        "I was ill last week, I think it was the fish.",
        "If I get the job in Rome, I will move to Italy.",
        "I quit my job because my boss is awful and I want to travel the world.",
        "When I was young I lived in Spain, my parents had a bar there.",
        "I have a sister, but I never see her.",
    ],
)
def test_what_needs_the_rest_of_its_sentence_stays_in_it(said: str) -> None:
    assert claim_spans(said) == [(0, len(said))]


def test_items_after_one_that_tells_twice_keep_their_heading() -> None:
    said = learned("About me:\n- I have two kids and my wife is a teacher at the primary school\n- vegan since 2019")
    assert said[-1] == "User: About me: Vegan since 2019."
