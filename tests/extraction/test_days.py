"""Days that only the speaker knows get their dates, and what only sounds like one gets none."""

import time
from datetime import UTC, date, datetime

import pytest

from memorist.learning.extractors.days import dated, names_a_coming_day
from memorist.learning.extractors.kinds import Vocabulary
from memorist.learning.extractors.local import extract_locally
from memorist.learning.extractors.transcripts import Utterance
from memorist.models.tagger import LocalTagger

WEDNESDAY = date(2026, 11, 18)


@pytest.mark.parametrize(
    "text",
    [
        "User has not smoked in three months.",
        "User lost 10 kg in two months.",
        "User wrote their first novel in three weeks.",
        "In three weeks User wrote a novel.",
        "User learned to drive in 2 weeks and their wife in a month.",
        "User's book club meets on the last Friday of every month.",
        "User spends the last week of December in the Alps.",
        "User has been a vegetarian for the last year.",
        "User has been sleeping badly over the past month.",
        "User lives on the 12th floor.",
        "User plays tennis every week on Monday.",
        "User works on Monday mornings.",
        "User flies on Friday, 20 November.",
        "User was born on the 3rd of May.",
        "User is ill on Wednesday.",
        # Nobody knows which of them is meant: a verb tells when something was arranged, not when it is.
        "User has got a dentist appointment on the 12th.",
        "User has got tickets for the opera on Saturday.",
        "User got tickets for the opera on Saturday.",
        "User has booked a table for two on Saturday.",
        "User was invited to a wedding on Saturday.",
        "User has been asked to give a talk on Tuesday.",
        "User signed up for a race on Sunday.",
        "User has yoga on Monday and on Thursday.",
        "User works from home on Friday.",
        "User's birthday is on the 12th.",
        "User was born on the 3rd.",
        "User has never been to Rome in ten years.",
        "I haven't had a drink in two weeks.",
        "User didn't have a drink in two weeks.",
        "User learned to read in two weeks.",
        "User went to Rome for the first time in ten years.",
        "User has moved three times in two years.",
        "The house was built in two years.",
        "User got everything done in one day.",
        "There are 30 days in a month.",
    ],
)
def test_what_is_no_moment_has_no_date(text: str) -> None:
    assert dated(text, WEDNESDAY) == text
    assert not names_a_coming_day(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("User is moving in two weeks.", "User is moving in two weeks (around 2 December 2026)."),
        ("User has an exam in three weeks.", "User has an exam in three weeks (around 9 December 2026)."),
        ("User is scheduled for it in two weeks.", "User is scheduled for it in two weeks (around 2 December 2026)."),
        ("User quit and is moving in a month.", "User quit and is moving in a month (around December 2026)."),
        ("User moved last year.", "User moved last year (2025)."),
        # What is over is the arranging.
        (
            "User just booked a flight to Oslo in three weeks.",
            "User just booked a flight to Oslo in three weeks (around 9 December 2026).",
        ),
        (
            "User was told that they need surgery in two weeks.",
            "User was told that they need surgery in two weeks (around 2 December 2026).",
        ),
        ("User decided to move in two months.", "User decided to move in two months (around January 2027)."),
        (
            "User just got invited to a wedding in two weeks.",
            "User just got invited to a wedding in two weeks (around 2 December 2026).",
        ),
        ("User wants to read it in two weeks.", "User wants to read it in two weeks (around 2 December 2026)."),
        (
            "User lost their job and has an interview in two weeks.",
            "User lost their job and has an interview in two weeks (around 2 December 2026).",
        ),
        (
            "User learned that they need surgery in two weeks.",
            "User learned that they need surgery in two weeks (around 2 December 2026).",
        ),
        (
            "User has an exam in two weeks and lost the book.",
            "User has an exam in two weeks (around 2 December 2026) and lost the book.",
        ),
        ("In two days! I lost it.", "In two days (20 November 2026)! I lost it."),
        (
            "In two weeks User has an exam about a book they read.",
            "In two weeks (around 2 December 2026) User has an exam about a book they read.",
        ),
        ("It will be finished in two weeks.", "It will be finished in two weeks (around 2 December 2026)."),
        ("User finished it. It is in a week.", "User finished it. It is in a week (around 25 November 2026)."),
        (
            "In three weeks User will have finished.",
            "In three weeks (around 9 December 2026) User will have finished.",
        ),
    ],
)
def test_what_is_a_moment_has_its_date(text: str, expected: str) -> None:
    assert dated(text, WEDNESDAY) == expected


@pytest.mark.parametrize(
    "piece",
    [
        "on Monday and on Tuesday and ",
        "had fun on Friday ",
        "in two weeks ",
        "the last week ",
        "wrote it in two weeks ",
        "have not in a year ",
        "will be finished really ",
    ],
)
def test_the_days_of_a_long_message_take_no_longer(piece: str) -> None:
    text = f"I work {piece * (12_000 // len(piece))}"
    started = time.process_time()
    dated(text, WEDNESDAY)
    names_a_coming_day(text)
    assert time.process_time() - started < 2


def test_the_days_of_an_answer_have_dates() -> None:
    asked = Utterance("assistant", "When is your dentist appointment?")
    answer = Utterance("user", "Tomorrow at nine.", None, datetime(2026, 11, 18, 9, tzinfo=UTC))
    found = extract_locally([asked, answer], Vocabulary.COMPANION, LocalTagger())
    assert [one.content for one in found] == [
        'Asked "When is your dentist appointment?", User said: Tomorrow (19 November 2026) at nine.'
    ]
