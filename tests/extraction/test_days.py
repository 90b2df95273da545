"""Days that only the speaker knows get their dates, and what only sounds like one gets none."""

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
        ("User starts their new job on Monday.", "User starts their new job on Monday (23 November 2026)."),
        ("User met Tom on Monday.", "User met Tom on Monday (16 November 2026)."),
        ("User's exam is on the 12th.", "User's exam is on the 12th (12 December 2026)."),
        ("User's exam was on the 12th.", "User's exam was on the 12th (12 November 2026)."),
    ],
)
def test_what_is_a_moment_has_its_date(text: str, expected: str) -> None:
    assert dated(text, WEDNESDAY) == expected


def test_the_last_day_of_all_has_none_after_it() -> None:
    assert dated("User's exam is on the 12th.", date.max) == "User's exam is on the 12th."


def test_the_days_of_an_answer_have_dates() -> None:
    asked = Utterance("assistant", "When is your dentist appointment?")
    answer = Utterance("user", "Tomorrow at nine.", None, datetime(2026, 11, 18, 9, tzinfo=UTC))
    found = extract_locally([asked, answer], Vocabulary.COMPANION, LocalTagger())
    assert [one.content for one in found] == [
        'Asked "When is your dentist appointment?", User said: Tomorrow (19 November 2026) at nine.'
    ]
