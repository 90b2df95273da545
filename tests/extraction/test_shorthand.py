"""What people leave out who type in a hurry is put back where a fact is told of them."""

import pytest

from memorist.learning.extractors.kinds import Vocabulary
from memorist.learning.extractors.local import extract_locally
from memorist.learning.extractors.third_person import USER_AT_HOME, told_of
from memorist.learning.extractors.transcripts import Utterance
from memorist.models.tagger import LocalTagger


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("im a nurse in the ICU", "User is a nurse in the ICU."),
        ("Im 34 and ive got two kids", "User is 34 and they have got two kids."),
        ("i dont eat meat", "User does not eat meat."),
        ("i cant do dairy", "User cannot do dairy."),
        ("i wont drive at night", "User will not drive at night."),
        ("btw im vegan", "User is vegan."),
        ("my brother says hes moving", "User's brother says he's moving."),
        ("please dont give me long answers", "Please don't give the user long answers."),
        # What is German, or whole.
        ("Im Juni ziehe ich nach Kiel um", "User: Im Juni ziehe ich nach Kiel um."),
        ("I'm a nurse, and I don't drive.", "User is a nurse, and they don't drive."),
    ],
)
def test_apostrophes_that_were_left_out_are_read(said: str, told: str) -> None:
    assert told_of(said, USER_AT_HOME) == told


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("just bought a used van", "User just bought a used van."),
        ("sold my old bike", "User sold their old bike."),
        ("quit smoking 3 weeks ago", "User quit smoking 3 weeks ago."),
        ("was diagnosed with asthma in May", "User was diagnosed with asthma in May."),
        ("moved out of the dorm into a studio", "User moved out of the dorm into a studio."),
        ("never smoked, drink once a month", "User never smoked, drink once a month."),
        ("cant eat gluten", "User cannot eat gluten."),
        ("haven't eaten meat since 2019", "User has not eaten meat since 2019."),
        ("playing the cello now", "User is playing the cello now."),
        ("Training for the marathon, goal is sub 4", "User is training for the marathon, goal is sub 4."),
    ],
)
def test_a_sentence_without_its_subject_is_the_speaker_s(said: str, told: str) -> None:
    assert told_of(said, USER_AT_HOME) == told


@pytest.mark.parametrize(
    "said",
    [
        "Quit apologizing so much.",
        "Running a business isn't easy.",
        "Learning a language takes years.",
        "Lost causes are my thing.",
        "Never commit to main.",
        "Got it, thanks.",
        "Tired of winter.",
        "Moved to Rome?",
    ],
)
def test_an_order_or_another_subject_gets_none(said: str) -> None:
    assert not told_of(said, USER_AT_HOME).startswith("User ")


def test_the_excerpt_keeps_the_words_as_they_were_typed() -> None:
    (one,) = extract_locally(
        [Utterance("user", "im a carpenter, dont need the basics")], Vocabulary.FACTS, LocalTagger()
    )
    assert one.content == "User is a carpenter, don't need the basics."
    assert one.excerpt == "im a carpenter, dont need the basics"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("ok for real now: I rent a flat in Leeds", "User rents a flat in Leeds."),
        ("no but seriously i'm a librarian", "User is a librarian."),
        ("ooh i already knit", "User already knits."),
        ("k so update i quit", "User quit."),
        ("Good news!! I passed the exam", "User passed the exam."),
        ("Fun fact: I was born on a ferry", "User was born on a ferry."),
    ],
)
def test_what_leads_into_a_statement_is_no_part_of_it(said: str, told: str) -> None:
    assert told_of(said, USER_AT_HOME) == told


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("In the book the narrator says I was born in 1775", "User: In the book the narrator says I was born in 1775."),
        ("my daughter came home and goes I'm pregnant", "User's daughter came home and goes \"I'm pregnant\"."),
        ("My boss was like I'm moving to Oslo", "User's boss was like \"I'm moving to Oslo\"."),
        ("the user has many posts", "User: the user has many posts."),
        # Their own words, and settings that nobody says.
        ("I was like I'm done with this job", "User was like they are done with this job."),
        ("On Sundays I bake", "On Sundays User bakes."),
    ],
)
def test_the_words_of_others_are_not_the_speaker_s(said: str, told: str) -> None:
    assert told_of(said, USER_AT_HOME) == told
