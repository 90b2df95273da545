"""The day that a text names."""

import pytest

from memorist.about.days import day_in


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
        ("User may move.", None),
    ],
)
def test_day_is_read_as_far_as_it_is_named(text: str, day: str | None) -> None:
    assert day_in(text) == day
