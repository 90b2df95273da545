"""Times: aware UTC inside, integers in the store, ISO-8601 with Z at the doors."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.testing import FrozenClock, StepClock
from memorist.times import (
    SystemClock,
    from_iso,
    from_iso_with_offset,
    from_micros,
    offset_minutes,
    to_iso,
    to_micros,
    with_offset,
)

moments = st.datetimes(timezones=st.just(UTC))


@given(moments)
def test_microseconds_and_back_is_the_same_moment(moment: datetime) -> None:
    assert from_micros(to_micros(moment)) == moment


@given(moments)
def test_text_and_back_is_the_same_moment(moment: datetime) -> None:
    assert from_iso(to_iso(moment)) == moment
    assert from_iso(to_iso(moment)).tzinfo is UTC


@given(moments, moments)
def test_texts_and_numbers_sort_as_times_do(one: datetime, two: datetime) -> None:
    assert (one < two) == (to_iso(one) < to_iso(two)) == (to_micros(one) < to_micros(two))


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-01-02T03:04:05Z", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("2026-01-02T03:04:05.6+02:00", datetime(2026, 1, 2, 1, 4, 5, 600_000, tzinfo=UTC)),
        ("2026-01-02", datetime(2026, 1, 2, tzinfo=UTC)),
        ("2026-01-02T03:04:05", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
    ],
)
def test_text_of_any_offset_is_taken_as_utc(text: str, moment: datetime) -> None:
    assert from_iso(text) == moment


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "2026-01-02T25:00:00Z", "1767322800"])
def test_other_text_is_no_time(text: str) -> None:
    with pytest.raises(ValueError):
        from_iso(text)


def test_time_of_another_zone_is_shown_in_utc() -> None:
    moment = datetime(2026, 1, 2, 3, tzinfo=timezone(timedelta(hours=-5)))
    assert to_iso(moment) == "2026-01-02T08:00:00.000000Z"


def test_system_clock_is_aware_and_moves() -> None:
    clock = SystemClock()
    assert clock.now().tzinfo is UTC
    assert clock.now() <= clock.now()


def test_frozen_clock_moves_only_when_told() -> None:
    clock = FrozenClock()
    before = clock.now()
    assert clock.now() == before
    assert clock.advance(timedelta(hours=1)) == clock.now() == before + timedelta(hours=1)


def test_step_clock_never_shows_the_same_time_twice() -> None:
    clock = StepClock()
    moments = [clock.now() for _ in range(100)]
    assert moments == sorted(set(moments))


def test_the_offset_that_a_time_was_written_with_is_told_and_given_back() -> None:
    there = from_iso_with_offset("2026-05-02T08:00:00+05:30")
    assert offset_minutes(there) == 330
    assert with_offset(there.astimezone(UTC), 330).isoformat() == "2026-05-02T08:00:00+05:30"
    assert offset_minutes(from_iso_with_offset("2026-05-02T08:00:00")) == 0


@pytest.mark.parametrize("minutes", [1440, -1440, "60", None, 1.5])
def test_what_is_no_offset_changes_nothing(minutes: object) -> None:
    moment = datetime(2026, 5, 2, tzinfo=UTC)
    assert with_offset(moment, minutes) is moment


def test_a_time_at_the_end_of_all_years_keeps_its_own_clock() -> None:
    last = datetime(9999, 12, 31, 23, tzinfo=UTC)
    assert with_offset(last, 120) is last
    with pytest.raises(OverflowError):
        from_iso_with_offset("0001-01-01T00:00:00+09:00")
