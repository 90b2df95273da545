"""Moments as options: a date, or a time in UTC unless it names an offset."""

from datetime import datetime

from memorist.errors import InvalidField
from memorist.times import from_iso

MOMENT = "TIME"


def moment(field: str, text: str | None) -> datetime | None:
    """What an option says. Raises InvalidField."""
    if text is None:
        return None
    try:
        return from_iso(text)
    except (ValueError, OverflowError) as error:
        raise InvalidField.of(
            field, f"must be a date or time such as 2026-05-02 or 2026-05-02T14:30, not {text[:60]!r}."
        ) from error
