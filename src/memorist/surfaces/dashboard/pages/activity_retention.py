"""Retention on a calendar: what time will bring, day by day, and to which memories."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, timedelta
from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response

from memorist.errors import InvalidField
from memorist.memories.policy import Move, Reach
from memorist.surfaces.dashboard.routing import Pages
from memorist.surfaces.dashboard.visits import HOME, Visit
from memorist.surfaces.dashboard.wording import number, say
from memorist.views.coming import MOST_A_DAY, ComingDay

pages = Pages()

_ADDRESS = f"{HOME}/activity/retention"
_OVERDUE = "overdue"
_ON_A_PAGE = 20
_MONTHS_AHEAD = 120


@dataclass(frozen=True, slots=True)
class CalendarCell:
    """A day of the calendar; `known` is None where it is over, or another month's."""

    day: date
    is_inside: bool
    is_today: bool
    known: ComingDay | None
    address: str


@pages.get("/activity/retention")
def show(visit: Visit) -> Response:
    today = visit.core.clock.now().astimezone(UTC).date()
    first = _month(visit.query.get("month", ""), today)
    chosen = visit.query.get("day", "")
    month = visit.core.coming.month(visit.principal, first)
    known = {one.day: one for one in month.days}
    return visit.page(
        "activity_retention.html",
        section="activity",
        tab="retention",
        month=month,
        first=first,
        months=_month_words(),
        weekdays=_weekday_words(),
        weeks=[
            [
                CalendarCell(day, day.month == first.month, day == today, known.get(day), _address(first, day))
                for day in week
            ]
            for week in _weeks(first)
        ],
        agenda=[(one, _address(first, one.day)) for one in month.days if one.total],
        is_preview=month.reach is not Reach.ALL,
        runs=bool(visit.settings.sweep_interval_s),
        earlier=_address(_shifted(first, -1)) if first > today.replace(day=1) else None,
        later=_address(_shifted(first, 1)) if _shifted(first, 1) <= _shifted(today, _MONTHS_AHEAD) else None,
        overdue=f"{_ADDRESS}?{urlencode({'month': f'{first:%Y-%m}', 'day': _OVERDUE})}",
        counted=_counted,
        in_words=_in_words,
        **_listed(visit, first, chosen, today),
    )


def _listed(visit: Visit, first: date, chosen: str, today: date) -> dict[str, Any]:
    """The memories of the day that is chosen."""
    if not chosen:
        return {"chosen": "", "steps": None, "more": None, "all_days": "", "will": {}, "would": {}}
    overdue = chosen == _OVERDUE
    day = today if overdue else _day(chosen)
    cursor = visit.query.get("cursor") or None
    page = visit.core.coming.day(visit.principal, day, overdue=overdue, limit=_ON_A_PAGE, cursor=cursor)
    kept = {"month": f"{first:%Y-%m}", "day": chosen}
    return {
        "chosen": chosen,
        "steps": page.items,
        "more": f"{_ADDRESS}?{urlencode(kept | {'cursor': page.next_cursor})}" if page.next_cursor else None,
        "all_days": _address(first),
        "will": _move_words(will=True),
        "would": _move_words(will=False),
    }


# Words


def _counted(total: int) -> str:
    return number(total) if total <= MOST_A_DAY else f"{number(MOST_A_DAY)}+"


def _in_words(counts: Mapping[Move, int]) -> str:
    texts = {
        Move.EXPIRED: say("{count} ended", count="{count}"),
        Move.ARCHIVED: say("{count} archived", count="{count}"),
        Move.DELETED: say("{count} deleted", count="{count}"),
        Move.HARD_DELETE_PENDING: say("{count} past recovery", count="{count}"),
        Move.PURGED: say("{count} erased", count="{count}"),
        Move.ANONYMIZED: say("{count} made anonymous", count="{count}"),
    }
    return ", ".join(texts[move].format(count=_counted(count)) for move, count in counts.items())


def _move_words(*, will: bool) -> dict[Move, str]:
    if will:
        return {
            Move.EXPIRED: say("reaches its end date"),
            Move.ARCHIVED: say("will be archived"),
            Move.DELETED: say("will be deleted, and can be restored for a while"),
            Move.HARD_DELETE_PENDING: say("can no longer be restored from then on"),
            Move.PURGED: say("will be erased"),
            Move.ANONYMIZED: say("will be made anonymous"),
        }
    return {
        Move.EXPIRED: say("reaches its end date"),
        Move.ARCHIVED: say("would be archived"),
        Move.DELETED: say("would be deleted"),
        Move.HARD_DELETE_PENDING: say("could no longer be restored"),
        Move.PURGED: say("would be erased"),
        Move.ANONYMIZED: say("would be made anonymous"),
    }


def _month_words() -> tuple[str, ...]:
    return (
        say("January"), say("February"), say("March"), say("April"), say("May"), say("June"), say("July"),
        say("August"), say("September"), say("October"), say("November"), say("December"),
    )  # fmt: skip


def _weekday_words() -> tuple[str, ...]:
    return (say("Mon"), say("Tue"), say("Wed"), say("Thu"), say("Fri"), say("Sat"), say("Sun"))


# Days


def _address(first: date, day: date | None = None) -> str:
    asked = {"month": f"{first:%Y-%m}"} | ({} if day is None else {"day": day.isoformat()})
    return f"{_ADDRESS}?{urlencode(asked)}"


def _month(said: str, today: date) -> date:
    """The first day of the month that is asked for, or of this one. Raises InvalidField."""
    first = _day(f"{said}-01", "month") if said else today.replace(day=1)
    if not today.replace(day=1) <= first <= _shifted(today, _MONTHS_AHEAD):
        raise InvalidField(say("Choose this month, or one of the next ten years."), field="month")
    return first


def _day(said: str, name: str = "day") -> date:
    """A day that is asked for. Raises InvalidField, also of the last day of all, which has no end."""
    try:
        return date.fromisoformat(said) + timedelta(days=1) - timedelta(days=1)
    except (ValueError, OverflowError):
        raise InvalidField(say("Write a day such as 2027-05-08."), field=name) from None


def _shifted(day: date, months: int) -> date:
    """The first day of another month."""
    number = day.year * 12 + day.month - 1 + months
    return date(number // 12, number % 12 + 1, 1)


def _weeks(first: date) -> list[list[date]]:
    start = first - timedelta(days=first.weekday())
    days = [start + timedelta(days=number) for number in range(42)]
    weeks = [days[number : number + 7] for number in range(0, 42, 7)]
    return [week for week in weeks if any(day.month == first.month for day in week)]
