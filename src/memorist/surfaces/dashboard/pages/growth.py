"""The plot of what was written each day, as numbers for a template to draw."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

WIDTH = 600
HEIGHT = 120
_GAP = 4
_LEAST = 2.0
"""A day with a single memory is to be seen, whatever the others have."""


@dataclass(frozen=True, slots=True)
class GrowthBar:
    x: float
    y: float
    width: float
    height: float
    day: str
    count: int


@dataclass(frozen=True, slots=True)
class Plot:
    """Bars in a picture of WIDTH and HEIGHT, and the same in words."""

    bars: tuple[GrowthBar, ...]
    most: int
    first: str
    last: str
    words: str
    width: int = WIDTH
    height: int = HEIGHT


def draw(days: Sequence[tuple[date, int]]) -> Plot:
    most = max(count for _, count in days)
    step = WIDTH / len(days)
    bars = []
    for index, (day, count) in enumerate(days):
        height = max(_LEAST, HEIGHT * count / most) if count else 0.0
        x, y = index * step + _GAP / 2, HEIGHT - height
        bars.append(GrowthBar(round(x, 2), round(y, 2), round(step - _GAP, 2), round(height, 2), _spoken(day), count))
    return Plot(tuple(bars), most, _spoken(days[0][0]), _spoken(days[-1][0]), _words(days, most))


def _words(days: Sequence[tuple[date, int]], most: int) -> str:
    total = sum(count for _, count in days)
    if not total:
        return f"Nothing was written in the last {len(days)} days."
    busiest = next(day for day, count in days if count == most)
    return (
        f"Memories written each day over the last {len(days)} days: {total:,} in all, "
        f"most on {_spoken(busiest)} ({most:,}), today {days[-1][1]:,}."
    )


def _spoken(day: date) -> str:
    return f"{day.day} {day:%B}"
