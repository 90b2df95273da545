"""The day that a text names."""

from datetime import date

import pytest

from memorist.about.days import day_in, day_near


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("User flies to Rome tomorrow (8 May 2027).", "2027-05-08"),
        ("User flies on 2027-05-08.", "2027-05-08"),
        ("User flies on May 8th, 2027.", "2027-05-08"),
        ("User moves in May 2027.", "2027-05"),
        ("User moves in 2 months (around May 2027).", "2027-05"),
        ("User moved last year (2026).", "2026"),
        ("User was born in 1990.", "1990"),
        ("User ran last week (the week before 8 May 2027).", None),
        ("User was born on 31 February 1990.", None),
        ("User runs 2027 meters.", None),
        ("User plans to invest in 1000 shares of the bakery.", None),
        ("User plans to invest in 2000 shares of the bakery.", None),
        ("User runs in 1500 metre races.", None),
        ("User runs in 1900-metre races.", None),
        ("In 1990 User moved to Kiel.", "1990"),
        ("User may move.", None),
    ],
)
def test_day_is_read_as_far_as_it_is_named(text: str, day: str | None) -> None:
    assert day_in(text) == day


@pytest.mark.parametrize(
    ("text", "ahead", "day"),
    [
        ("User is flying to Lisbon on 12 December for a week.", True, "2026-12-12"),
        ("User is flying to Lisbon on January 3rd.", True, "2027-01-03"),
        ("User moves on the 2nd of November.", True, "2026-11-02"),
        ("User flew to Lisbon on 12 August.", False, "2026-08-12"),
        ("The concert is on 12 December.", False, None),
        ("User leaves the week after the 12th of December.", True, None),
        ("User wants to march 20 kilometres.", True, None),
        ("User moved on 2 November.", False, "2026-11-02"),
        ("User marries on 29 February.", True, "2028-02-29"),
        ("User marries on 31 February.", True, None),
        ("User leaves the week after 12 December.", True, None),
        ("User leaves in December.", True, None),
        ("User was there on 12 December 2020.", True, None),
    ],
)
def test_a_day_without_a_year_is_the_next_or_the_last_one(text: str, ahead: bool, day: str | None) -> None:
    assert day_near(text, date(2026, 11, 2), ahead=ahead) == day
