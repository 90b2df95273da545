"""Figures with their targets, and how they are shown."""

from dataclasses import asdict, dataclass
from statistics import median
from typing import Any


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value. Without a target it is there for information."""

    value: float
    unit: str = "x"
    target: str | None = None
    met: bool | None = None
    low: float | None = None
    high: float | None = None


Results = dict[str, Figure]


def fact(value: float, unit: str) -> Figure:
    return Figure(_rounded(value), unit)


def at_least(target: float, values: list[float], unit: str = "x") -> Figure:
    """The median of several rounds, which should reach the target."""
    return _judged(values, unit, f">= {target:g}", median(values) >= target)


def at_most(target: float, values: list[float], unit: str = "x") -> Figure:
    """The median of several rounds, which should stay within the target."""
    return _judged(values, unit, f"<= {target:g}", median(values) <= target)


def to_json(results: Results) -> dict[str, Any]:
    return {
        name: {key: value for key, value in asdict(figure).items() if value is not None}
        for name, figure in results.items()
    }


def to_table(benchmark: str, results: Results) -> str:
    rows = [_cells(name, figure) for name, figure in results.items()]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  " + "  ".join([row[0].ljust(widths[0]), row[1].rjust(widths[1]), *_padded(row[2:], widths[2:])]).rstrip()
        for row in rows
    ]
    return "\n".join([benchmark, *lines])


def _padded(cells: list[str], widths: list[int]) -> list[str]:
    return [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]


def _cells(name: str, figure: Figure) -> list[str]:
    spread = "" if figure.low is None else f"({figure.low:g} to {figure.high:g})"
    target = "" if figure.target is None else f"target {figure.target}: {'met' if figure.met else 'MISSED'}"
    return [name, f"{figure.value:,.6g}", figure.unit, spread, target]


def _judged(values: list[float], unit: str, target: str, met: bool) -> Figure:
    spread = (_rounded(min(values)), _rounded(max(values))) if len(values) > 1 else (None, None)
    return Figure(_rounded(median(values)), unit, target, met, *spread)


def _rounded(value: float) -> float:
    """Three digits are more than any of this repeats."""
    return float(f"{value:.3g}") if abs(value) < 1000 else float(round(value))
