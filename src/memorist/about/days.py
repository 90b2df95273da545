"""The day that a text names, as far as it does. Pure."""

import re
from datetime import date, timedelta

_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_MONTH = "|".join(_MONTHS)
_ORDINAL = r"(?:st|nd|rd|th)?"
# "The week after 8 May" is not that day.
_DATE = re.compile(
    r"(?<!before )(?<!after )\b(?:(?P<iso>\d{4}-\d\d-\d\d)|"
    rf"(?P<day>\d{{1,2}}){_ORDINAL} (?P<month>{_MONTH}) (?P<year>\d{{4}})|"
    rf"(?P<month_first>{_MONTH}) (?P<day_after>\d{{1,2}}){_ORDINAL},? (?P<year_after>\d{{4}}))\b",
    re.IGNORECASE,
)
# In capitals alone: who plans to march 20 kilometres names no day.
_MONTH_NAME = "|".join(month.capitalize() for month in _MONTHS)
_WITHOUT_YEAR = re.compile(
    rf"(?<!before )(?<!after )(?<!before the )(?<!after the )"
    rf"\b(?:(?P<day>\d{{1,2}}){_ORDINAL} (?:of )?(?P<month>{_MONTH_NAME})|"
    rf"(?P<month_first>{_MONTH_NAME}) (?P<day_after>\d{{1,2}}){_ORDINAL})\b(?!,? \d{{4}})"
)
_LEAP = 8
"""So many years on there is every day of a calendar again."""
_LONG_AGO = timedelta(days=183)
"""What is said of a day so long ago without its year may as well be said of the next one."""
_YEARS = r"(?:1[89]|2[01])\d\d"
# Who invests in 2000 shares, or runs in 1900 metre races, names no year.
_MEASURE = (
    r"(?:m|km|k?g|miles?|feet|(?:kilo)?met(?:re|er)s?|gram(?:me)?s?|pounds?|lit(?:re|er)s?|calories|kcal|hours?|minutes?|steps?|"
    r"words?|pages?|pieces?|copies|units?|shares?|stocks?|bonds?|coins?|votes?|points?|people|euros?|dollars?|francs?|watts?)"
)
_ROUGH = re.compile(
    rf"\b(?:(?P<month>{_MONTH}) (?P<year>{_YEARS})|in (?P<alone>{_YEARS}))\b(?![ -]{_MEASURE}\b)", re.IGNORECASE
)
_YEAR = re.compile(r"\d{4}")
_IN_BRACKETS = re.compile(rf"\((?:around )?({_YEARS})\)")


def day_in(text: str) -> str | None:
    """The first date of a text as `2027-05-08`; else its month, `2027-05`, or year, `2027`."""
    if not _YEAR.search(text):
        return None  # As most texts: what follows takes its time.
    for match in _DATE.finditer(text):
        try:
            return _date_of(match).isoformat()
        except ValueError:
            continue  # There is no such day.
    without_dates = _DATE.sub("", text)
    if (rough := _ROUGH.search(re.sub(r"(?:before|after) \d{1,2} \w+ \d{4}", "", without_dates))) is not None:
        return rough["alone"] or f"{rough['year']}-{_number(rough['month']):02}"
    bracketed = _IN_BRACKETS.search(text)
    return None if bracketed is None else bracketed[1]


def day_near(text: str, said: date, *, ahead: bool) -> str | None:
    """The first date of a text that names no year: the next one from when it was `said`, or else the last one, unless
    that is long ago.
    """
    for match in _WITHOUT_YEAR.finditer(text):
        month = _number(match["month"] or match["month_first"])
        for years in range(_LEAP + 1):
            try:
                found = date(said.year + (years if ahead else -years), month, int(match["day"] or match["day_after"]))
            except ValueError:
                continue  # There is no such day that year.
            if found == said or (found > said) is ahead:
                return found.isoformat() if ahead or said - found < _LONG_AGO else None
    return None


def _date_of(match: re.Match[str]) -> date:
    if match["iso"]:
        return date.fromisoformat(match["iso"])
    month = match["month"] or match["month_first"]
    return date(int(match["year"] or match["year_after"]), _number(month), int(match["day"] or match["day_after"]))


def _number(month: str) -> int:
    return _MONTHS.index(month.lower()) + 1
