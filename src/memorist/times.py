"""Times: aware UTC datetimes inside, integer microseconds in the store, ISO-8601 with Z at the doors."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Protocol

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_micros(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    return _EPOCH + timedelta(0, 0, micros)


def optional_micros(moment: datetime | None) -> int | None:
    return None if moment is None else to_micros(moment)


def optional_moment(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)


def to_iso(moment: datetime) -> str:
    """Always UTC and always six decimals, so that texts sort as times do."""
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    return moment.isoformat(timespec="microseconds")[:-6] + "Z"


def to_iso_millis(moment: datetime) -> str:
    """The same with three decimals, for APIs that show times so."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


def from_iso(text: str) -> datetime:
    """An aware UTC datetime; a time without an offset is taken as UTC. Raises ValueError or OverflowError."""
    return from_iso_with_offset(text).astimezone(UTC)


def from_iso_with_offset(text: str) -> datetime:
    """The same with the offset that it was written with: where it was said, it was that day and hour."""
    moment = datetime.fromisoformat(text)
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    moment.astimezone(UTC)  # What lies beyond the years of UTC is no time.
    return moment


def offset_minutes(moment: datetime) -> int:
    """How far the clock of who wrote a time is ahead of UTC."""
    return (moment.utcoffset() or timedelta(0)) // timedelta(minutes=1)


def with_offset(moment: datetime, minutes: object) -> datetime:
    """A time as the clock showed it that is so far ahead of UTC; as it is where that is no offset."""
    if not isinstance(minutes, int) or isinstance(minutes, bool) or abs(minutes) >= 24 * 60:
        return moment
    try:
        return moment.astimezone(timezone(timedelta(minutes=minutes)))
    except OverflowError:
        return moment


class Clock(Protocol):
    def now(self) -> datetime: ...


class SystemClock:
    """The clock of the machine."""

    def now(self) -> datetime:
        return datetime.now(UTC)  # noqa: TID251
