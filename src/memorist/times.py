"""Times: aware UTC datetimes inside, integer microseconds in the store, ISO-8601 with Z at the doors."""

from datetime import UTC, datetime, timedelta
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
    """An aware UTC datetime; a time without an offset is taken as UTC. Raises ValueError."""
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


class Clock(Protocol):
    def now(self) -> datetime: ...


class SystemClock:
    """The clock of the machine."""

    def now(self) -> datetime:
        return datetime.now(UTC)  # noqa: TID251
