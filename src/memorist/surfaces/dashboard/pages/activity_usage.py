"""Usage: what language models were asked, how long they took and what that cost, and requests, day by day."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

from starlette.responses import Response

from memorist.audit.values import NotedDay
from memorist.observing.reading import Between, Look, routes
from memorist.platform import access
from memorist.platform.values import SpentDay
from memorist.surfaces.dashboard.pages.charts import DayBars, draw_days
from memorist.surfaces.dashboard.rendering import dollars
from memorist.surfaces.dashboard.routing import Pages
from memorist.surfaces.dashboard.visits import Visit
from memorist.surfaces.dashboard.wording import number, say, to_say
from memorist.views.llm_usage import TurnDay

pages = Pages()

_DAYS = 30
_REQUESTS = "memorist_http_request"
_STARTED = "process_start_time_seconds"


@dataclass(frozen=True, slots=True)
class UsageChart:
    """A chart under a heading, with the name of its figure."""

    id: str
    title: str
    name: str
    chart: DayBars


@pages.get("/activity/usage")
def show(visit: Visit) -> Response:
    usage = visit.core.llm_usage
    turns = usage.turns(visit.principal, _DAYS)
    calls = usage.calls(visit.principal, _DAYS) if visit.is_admin else []
    noted = visit.core.audit.count_days(visit.principal, _DAYS) if visit.is_admin else []
    return visit.page(
        "activity_usage.html",
        section="activity",
        tab="usage",
        own=_of_turns(turns) if any(one.turns for one in turns) else [],
        tenant=_of_calls(calls) if any(one.calls or one.cost_usd for one in calls) else [],
        unpriced=sum(one.unpriced for one in calls) or sum(one.unpriced for one in turns),
        requests=_of_requests(noted) if any(one.entries for one in noted) else None,
        level=visit.settings.audit,
        days=_DAYS,
    )


@pages.get("/activity/usage/times")
def show_times(visit: Visit) -> Response:
    """How long requests took since the server began, as its metrics tell: for those who may read these."""
    access.require(visit.principal, access.Action.ADMINISTER)
    found = visit.core.watch.exposition(visit.core.census.here)
    if found is None:
        return visit.part("parts/activity_times.html", routes=None)
    text, now = found[0].decode(), visit.core.clock.now().timestamp()
    look = Look.of(text, now, _REQUESTS)
    since = Look.of(text, now, _STARTED).before_it_began()
    told = [
        {
            **one,
            "asked": int(look.one("memorist_http_request_seconds_count", route=one["route"], method=one["method"])),
            "times": [_seconds((one[share] or 0.0) / 1000) for share in ("p50_ms", "p95_ms")],
        }
        for one in routes(Between(since, look))
    ]
    return visit.part("parts/activity_times.html", routes=told, since=datetime.fromtimestamp(since.at, UTC))


def _of_turns(turns: Sequence[TurnDay]) -> list[UsageChart]:
    days = [one.day for one in turns]
    waits = [(one.median_s or 0.0, _both(one.median_s, one.most_s)) for one in turns]
    failed, slowest = sum(one.failed for one in turns), max(one.most_s or 0.0 for one in turns)
    told = say(
        "Bars are each day’s median. On the slowest day 95 of 100 took at most {seconds}.", seconds=_seconds(slowest)
    )
    return [
        _counts(
            ("turns", say("Turns a day"), say("Turns")),
            days,
            [one.turns for one in turns],
            to_say("{count} in {days} days; {failed} failed."),
            failed=number(failed),
        ),
        UsageChart("waits", say("How long a turn took"), say("Median, and 95 of 100"), draw_days(days, waits, told)),
        _costs("costs", say("Cost of turns a day"), days, [one.cost_usd for one in turns]),
    ]


def _of_calls(calls: Sequence[SpentDay]) -> list[UsageChart]:
    days = [one.day.date() for one in calls]
    means = [one.seconds / one.calls if one.calls else 0.0 for one in calls]
    waits = [(mean, _both(mean or None, one.slowest)) for mean, one in zip(means, calls, strict=True)]
    slowest = _seconds(max(one.slowest for one in calls))
    told = say("Bars are each day’s average. The slowest call took {seconds}.", seconds=slowest)
    return [
        _counts(
            ("calls", say("Calls of language models a day"), say("Calls")),
            days,
            [one.calls for one in calls],
            to_say("{count} in {days} days, with {tokens} tokens."),
            tokens=number(sum(one.input_tokens + one.output_tokens for one in calls)),
        ),
        UsageChart(
            "latency", say("How long a call took"), say("On average, and the slowest"), draw_days(days, waits, told)
        ),
        _costs("spent", say("Cost of calls a day"), days, [one.cost_usd for one in calls]),
    ]


def _of_requests(noted: Sequence[NotedDay]) -> UsageChart:
    return _counts(
        ("requests", say("Requests a day"), say("Requests")),
        [one.day.date() for one in noted],
        [one.entries for one in noted],
        to_say("{count} in {days} days, today {today}."),
        today=number(noted[-1].entries),
    )


def _counts(
    heading: tuple[str, str, str], days: Sequence[date], counts: Sequence[int], words: str, **values: str
) -> UsageChart:
    """A chart of how many there were; `words` say it of all days, and `heading` is its id, title and name."""
    told = say(words, count=number(sum(counts)), days=len(days), **values)
    return UsageChart(*heading, draw_days(days, [(one, number(one)) for one in counts], told))


def _costs(id_: str, title: str, days: Sequence[date], costs: Sequence[float]) -> UsageChart:
    words = say("{cost} in {days} days.", cost=dollars(sum(costs)), days=len(days))
    return UsageChart(id_, title, say("Dollars"), draw_days(days, [(one, dollars(one)) for one in costs], words))


def _both(one: float | None, other: float | None) -> str:
    return "–" if one is None or other is None else f"{_seconds(one)}, {_seconds(other)}"


def _seconds(value: float) -> str:
    return f"{number(value, 1)} s" if value >= 0.1 or not value else f"{number(1000 * value)} ms"
