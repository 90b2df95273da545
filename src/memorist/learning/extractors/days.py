"""Days that only the one who speaks knows, with their dates beside them: "yesterday (8 June 2023)". Pure."""

import re
from datetime import date, timedelta

from memorist.learning.extractors.patterns import compiled
from memorist.learning.extractors.verbs import tells_how_long
from memorist.models.passages import spoken_date

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "a couple of": 2, "couple of": 2,
}  # fmt: skip
_DAY = "|".join(_WEEKDAYS)
# Not "on Monday" or "on the 12th": a sentence seldom tells which of them it means.
_RELATIVE = compiled(rf"""
    \b(?:(?P<day>the day before yesterday|the day after tomorrow|yesterday|today|tonight|tomorrow|last night|
    this (?:morning|afternoon|evening))|
    (?P<which>last|next|this|coming|past) (?P<unit>week|weekend|month|year|{_DAY})|
    (?P<count>\d{{1,3}}|a couple of|couple of|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)
    [ ](?P<span>day|week|month|year)s? ago|
    in (?P<later>\d{{1,3}}|a couple of|a(?! day)|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)
    [ ](?P<until>day|week|month|year)s?(?! ago))(?<=\w)\b(?! \()
""")
# "over the last month" is a time up to now, and "the last Friday of the month" one of many.
_THE = re.compile(r"\b(?:the|every|each)\s+\Z", re.IGNORECASE)
_OF = re.compile(r"\s+of\b", re.IGNORECASE)
# As much as "every " takes.
_LONGEST_THE = 12
_STEPS = {
    "the day before yesterday": -2, "yesterday": -1, "last night": -1, "tomorrow": 1, "the day after tomorrow": 2,
}  # fmt: skip
_COMING = frozenset({"today", "tonight", "tomorrow", "the day after tomorrow"})
_LENGTHS = {"day": 1, "week": 7, "month": 30, "year": 365}


def dated(text: str, said_on: date) -> str:
    """The text with the date of each day, week, month or year that it names from the day on which it was said.

    Where the words may mean another time, or none, they stay as they are.
    """
    return _RELATIVE.sub(lambda match: f"{match[0]}{_bracketed(match, said_on)}", text)


def names_a_coming_day(text: str) -> bool:
    """Whether a text names a day to come from the day on which it was said. What is past stays true."""
    return any(
        match["later"]
        or (match["day"] or "").lower() in _COMING
        or (match["which"] or "").lower() in ("next", "coming", "this")
        for match in _RELATIVE.finditer(text)
        if not _is_no_moment(match)
    )


def _bracketed(match: re.Match[str], said_on: date) -> str:
    return "" if _is_no_moment(match) else f" ({_date_of(match, said_on)})"


def _is_no_moment(match: re.Match[str]) -> bool:
    """Whether the words tell how long something took, or which one of many it is."""
    if match["later"]:
        return tells_how_long(match.string, match.start(), match.end())
    if not match["which"] or _OF.match(match.string, match.end()) is not None:
        return bool(match["which"])
    before = match.string[max(0, match.start() - _LONGEST_THE) : match.start()]
    return match["which"].lower() not in ("this", "coming") and _THE.search(before) is not None


def _date_of(match: re.Match[str], said_on: date) -> str:
    if match["day"]:
        return spoken_date(said_on + timedelta(days=_STEPS.get(match["day"].lower(), 0)))
    if match["which"]:
        return _of_unit(match["which"].lower(), match["unit"].lower(), said_on)
    count, unit, sign = (match["count"], match["span"], -1) if match["count"] else (match["later"], match["until"], 1)
    number = _NUMBERS.get(count.lower()) or int(count)
    then = _shifted(said_on, sign * number, unit.lower())
    return spoken_date(then) if unit.lower() == "day" else f"around {_roughly(then, unit.lower())}"


def _of_unit(which: str, unit: str, said_on: date) -> str:
    step = {"last": -1, "past": -1, "next": 1, "coming": 1}.get(which, 0)
    if unit in _WEEKDAYS:
        ahead = (_WEEKDAYS.index(unit) - said_on.weekday()) % 7
        days = ahead - 7 if step < 0 else ahead or 7 * step
        return spoken_date(said_on + timedelta(days=days))
    if unit == "year":
        return str(said_on.year + step)
    if unit == "month":
        return _roughly(_shifted(said_on, step, "month"), "month")
    side = {-1: "before", 0: "of", 1: "after"}[step]
    return f"the {unit} {side} {spoken_date(said_on)}"


def _shifted(day: date, count: int, unit: str) -> date:
    try:
        if unit == "year":
            return day.replace(year=day.year + count, day=min(day.day, 28))
        if unit == "month":
            months = day.year * 12 + day.month - 1 + count
            return date(months // 12, months % 12 + 1, min(day.day, 28))
        return day + timedelta(days=count * _LENGTHS[unit])
    except (ValueError, OverflowError):
        return day


def _roughly(day: date, unit: str) -> str:
    if unit == "year":
        return str(day.year)
    return spoken_date(day) if unit == "week" else spoken_date(day).split(" ", 1)[1]
