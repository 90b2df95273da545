"""Charts, as numbers for a template to draw: how memories grew, by kind, recalls of each day, and anything by day."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import accumulate

from memorist.memories.kinds import KINDS
from memorist.memories.values import AskedCount, Kind
from memorist.surfaces.dashboard import wording
from memorist.surfaces.dashboard.wording import day_of_this_year, number, say, say_n
from memorist.views.values import DayCount

WIDTH = 600
HEIGHT = 120
RECALL_DAYS = 30
_GAP = 4
_FEWEST, _MOST = 7, 45
"""Columns: a young store is shown by days, an older one by as many days at a time as fit."""
_LEAST = 2.0
"""A column with a single memory is to be seen, whatever the others have."""
_MOST_AGENTS = 6


@dataclass(frozen=True, slots=True)
class ColumnPart:
    """A piece of a column: of a kind, or of all."""

    name: str
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class PlotColumn:
    """What there was on its last day, or happened in its days."""

    x: float
    width: float
    label: str
    counts: tuple[int, ...]
    parts: tuple[ColumnPart, ...]


@dataclass(frozen=True, slots=True)
class Plot:
    """Columns in a picture of WIDTH and HEIGHT, and the same in words."""

    columns: tuple[PlotColumn, ...]
    names: tuple[str, ...]
    first: str
    last: str
    words: str
    width: int = WIDTH
    height: int = HEIGHT


def draw_growth(days: Sequence[DayCount], today: date) -> Plot:
    """How many memories of each kind there were, of those that are still kept, from the first day on."""
    first = min((one.day for one in days), default=today)
    age = max((today - first).days + 1, _FEWEST)
    step = -(-age // _MOST)
    ends = [today - timedelta(days=step * back) for back in reversed(range(-(-age // step)))]
    kinds = [kind for kind in KINDS if any(one.kind is kind for one in days)]
    written = Counter[tuple[Kind, int]]()
    for one in days:
        written[one.kind, max(0, (today - one.day).days) // step] += one.memories
    each = [[written[kind, back] for back in reversed(range(len(ends)))] for kind in kinds]
    counts = list(zip(*map(accumulate, each), strict=True)) or [()] * len(ends)
    names = tuple(say(KINDS[kind].many) for kind in kinds)
    now = ", ".join(
        f"{number(count)} {say(KINDS[kind].one if count == 1 else KINDS[kind].many)}"
        for count, kind in zip(counts[-1], kinds, strict=True)
    )
    lately = sum(one.memories for one in days if one.day > today - timedelta(days=7))
    words = say("Nothing is kept yet.")
    if days:
        since = _spoken(first, today)
        words = say("Since {day}: {now}; {lately} in the last 7 days.", day=since, now=now, lately=number(lately))
    return _plot(ends, counts, tuple(kind.value for kind in kinds), names, words, today)


def draw_recalls(asked: Sequence[AskedCount], today: date) -> Plot:
    """How many questions memory answered on each of the last days."""
    days = [today - timedelta(days=back) for back in reversed(range(RECALL_DAYS))]
    by_day = Counter[date]()
    for one in asked:
        by_day[one.day] += one.questions
    total = sum(by_day[day] for day in days)
    words = say_n(
        "{n} recall in the last {days} days, today {today}.",
        "{n} recalls in the last {days} days, today {today}.",
        total,
        days=RECALL_DAYS,
        today=number(by_day[today]),
    )
    return _plot(days, [[by_day[day]] for day in days], ("all",), (say("recalls"),), words, today)


@dataclass(frozen=True, slots=True)
class DayBar:
    """A day's bar, with its value in words."""

    x: float
    width: float
    y: float
    height: float
    label: str
    shown: str


@dataclass(frozen=True, slots=True)
class DayBars:
    """A figure of each day in a picture of WIDTH and HEIGHT, and the same in words."""

    bars: tuple[DayBar, ...]
    words: str
    width: int = WIDTH
    height: int = HEIGHT


def draw_days(days: Sequence[date], figures: Sequence[tuple[float, str]], words: str) -> DayBars:
    """`figures` are the value of each day, and the same in words."""
    tallest = max((value for value, _ in figures), default=0) or 1
    step = WIDTH / len(days)
    bars = []
    for index, (day, (value, shown)) in enumerate(zip(days, figures, strict=True)):
        height = round(min(max(_LEAST, HEIGHT * value / tallest), HEIGHT), 2) if value else 0.0
        x = round(index * step + _GAP / 2, 2)
        bars.append(DayBar(x, round(step - _GAP, 2), HEIGHT - height, height, _spoken(day, days[-1]), shown))
    return DayBars(tuple(bars), words)


@dataclass(frozen=True, slots=True)
class AgentUse:
    """What an agent used: how often it asked, and how many memories it was given; with a share of the most."""

    agent: str | None
    questions: int
    memories: int
    percent: float


def agents_used(asked: Sequence[AskedCount]) -> list[AgentUse]:
    """Which agents asked most, those first."""
    sums: dict[str | None, tuple[int, int]] = {}
    for one in asked:
        questions, memories = sums.get(one.agent, (0, 0))
        sums[one.agent] = questions + one.questions, memories + one.memories
    first = sorted(sums.items(), key=lambda item: (-item[1][0], item[0] or ""))[:_MOST_AGENTS]
    return [AgentUse(name, *both, round(100 * both[0] / first[0][1][0], 1)) for name, both in first]


def _plot(
    ends: Sequence[date],
    counts: Sequence[Sequence[int]],
    classes: Sequence[str],
    names: tuple[str, ...],
    words: str,
    today: date,
) -> Plot:
    tallest = max(sum(one) for one in counts) or 1
    step = WIDTH / len(ends)
    columns = tuple(
        PlotColumn(
            round(index * step + _GAP / 2, 2),
            round(step - _GAP, 2),
            _spoken(end, today),
            tuple(count),
            _parts(dict(zip(classes, count, strict=True)), tallest),
        )
        for index, (end, count) in enumerate(zip(ends, counts, strict=True))
    )
    return Plot(columns, names, _spoken(ends[0], today), _spoken(ends[-1], today), words)


def _parts(counts: Mapping[str, int], tallest: int) -> tuple[ColumnPart, ...]:
    parts = []
    top = float(HEIGHT)
    for name, count in counts.items():
        height = min(max(_LEAST, HEIGHT * count / tallest), top) if count else 0.0
        top -= height
        parts.append(ColumnPart(name, round(top, 2), round(height, 2)))
    return tuple(parts)


def _spoken(day: date, today: date) -> str:
    return day_of_this_year(day) if day.year == today.year else wording.day(day)
