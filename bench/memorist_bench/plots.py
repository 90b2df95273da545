"""Draws what `memorist bench` printed: `python -m memorist_bench.plots`.

It reads bench/results/*.json, which hold what the command printed, one object a line, and writes docs/images/*.svg.
Nothing is computed here but ratios.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[1] / "results"
IMAGES = Path(__file__).parents[2] / "docs" / "images"

Result = dict[str, Any]

_STYLE = """\
  <style>
    .back { fill: #ffffff; }
    .axis { stroke: #57606a; stroke-width: 1; fill: none; }
    .grid { stroke: #d0d7de; stroke-width: 1; }
    .first { stroke: #1d4ed8; fill: #1d4ed8; }
    .second { stroke: #0f8f6e; fill: #0f8f6e; }
    .line { stroke-width: 2; fill: none; }
    .bar { stroke: none; }
    text { fill: #1f2328; stroke: none; }
    .soft { fill: #57606a; font-size: 12px; }
    .mid { text-anchor: middle; }
    .end { text-anchor: end; }
    @media (prefers-color-scheme: dark) {
      .back { fill: #0d1117; }
      .axis { stroke: #8b949e; }
      .grid { stroke: #30363d; }
      .first { stroke: #6ea8fe; fill: #6ea8fe; }
      .second { stroke: #4fc8a6; fill: #4fc8a6; }
      text { fill: #e6edf3; }
      .soft { fill: #9da7b1; }
    }
  </style>
"""
_LEFT, _TOP, _WIDTH, _HEIGHT = 60, 60, 640, 260
_AXES = f'  <path class="axis" d="M{_LEFT} {_TOP} V{_TOP + _HEIGHT} H{_LEFT + _WIDTH}"/>'


def main() -> None:
    for name, drawing in drawings().items():
        (IMAGES / name).write_text(drawing, "utf-8")
        print(IMAGES / name)


def drawings() -> dict[str, str]:
    """Every picture by the name of its file."""
    return {
        "recall-speed.svg": draw_speed(read("recall-speed.json")),
        "recall-frontier-x86.svg": draw_frontier(read("recall-frontier-x86.json"), "x86"),
        "recall-frontier-arm.svg": draw_frontier(read("recall-frontier-arm.json"), "ARM"),
    }


def read(name: str) -> list[Result]:
    return [json.loads(line) for line in (RESULTS / name).read_text("utf-8").splitlines() if line]


def draw_speed(results: Sequence[Result]) -> str:
    """Recall and the floor in query embeddings, over the memories of one user."""
    shown = sorted((one for one in results if one["users"] == 1), key=lambda one: one["memories"])
    sizes = [one["memories"] for one in shown]
    series = {
        "recall without reranking": [one["recall_ms_p50"] / one["embed_ms_p50"] for one in shown],
        "one embedding and the bare searches": [one["floor_ms"] / one["embed_ms_p50"] for one in shown],
    }
    highest = math.ceil(max(value for values in series.values() for value in values))
    low, high = math.log10(sizes[0]), math.log10(sizes[-1])
    xs = [_LEFT + _WIDTH * (0.04 + 0.92 * (math.log10(size) - low) / (high - low)) for size in sizes]
    lines = list(_frame("Recall in query embeddings, by memories of one user", highest, series))
    for style, values in zip(("first", "second"), series.values(), strict=True):
        points = [(x, _y(value, highest)) for x, value in zip(xs, values, strict=True)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        lines.append(f'  <polyline class="line {style}" style="fill:none" points="{path}"/>')
        for (x, y), value in zip(points, values, strict=True):
            lines.append(f'  <circle class="{style}" cx="{x:.1f}" cy="{y:.1f}" r="4"/>')
            lines.append(f'  <text class="mid" x="{x:.1f}" y="{y - 10:.1f}">{value:.1f}</text>')
    for x, size in zip(xs, sizes, strict=True):
        lines.append(f'  <text class="soft mid" x="{x:.1f}" y="{_TOP + _HEIGHT + 20}">{size:,}</text>')
    told = "; ".join(
        f"{name}: " + ", ".join(f"{value:.1f} at {size:,}" for size, value in zip(sizes, values, strict=True))
        for name, values in series.items()
    )
    return _document("How long recall takes", f"In query embeddings, by memories of one user. {told}.", lines)


def draw_frontier(results: Sequence[Result], machine: str) -> str:
    """What is found, by how long a recall takes in query embeddings: without the reranker, then with more time. What
    takes longer and finds no more is left out.
    """
    (result,) = results
    points: list[Result] = []
    for one in sorted(result["frontier"], key=lambda one: float(one["recall_ms_p50"] / one["embed_ms_p50"])):
        if all(one["mrr"] > sooner["mrr"] or one["recall@5"] > sooner["recall@5"] for sooner in points):
            points.append(one)
    times = [one["recall_ms_p50"] / one["embed_ms_p50"] for one in points]
    series = {"recall@5": [one["recall@5"] for one in points], "mean reciprocal rank": [one["mrr"] for one in points]}
    lowest = math.floor(min(map(min, series.values())) * 20) / 20
    highest = math.ceil(max(map(max, series.values())) * 20) / 20
    longest = math.log(times[-1] / times[0])
    xs = [_LEFT + _WIDTH * (0.04 + 0.92 * math.log(one / times[0]) / longest) for one in times]
    # What is written beside two points must not run together.
    are_close = [following - x < 48 for x, following in zip(xs, [*xs[1:], math.inf], strict=True)]
    lines = list(_head(f"What is found on {result['name']}, by time in query embeddings ({machine})", series))
    for step in range(round((highest - lowest) * 20) + 1):
        value = lowest + step / 20
        y = _y(value - lowest, highest - lowest)
        lines.append(f'  <path class="grid" d="M{_LEFT} {y:.1f} H{_LEFT + _WIDTH}"/>')
        lines.append(f'  <text class="soft end" x="{_LEFT - 8}" y="{y + 4:.1f}">{value:.2f}</text>')
    lines.append(_AXES)
    for style, values in zip(("first", "second"), series.values(), strict=True):
        ys = [_y(value - lowest, highest - lowest) for value in values]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys, strict=True))
        lines.append(f'  <polyline class="line {style}" style="fill:none" points="{path}"/>')
        for x, y, value, is_close in zip(xs, ys, values, are_close, strict=True):
            lines.append(f'  <circle class="{style}" cx="{x:.1f}" cy="{y:.1f}" r="4"/>')
            lines.append(f'  <text class="mid" x="{x:.1f}" y="{y + (20 if is_close else -10):.1f}">{value:.3f}</text>')
    for x, one, is_close in zip(xs, times, are_close, strict=True):
        y = _TOP + _HEIGHT + (34 if is_close else 20)
        lines.append(f'  <text class="soft mid" x="{x:.1f}" y="{y}">{one:.1f}</text>')
    told = "; ".join(
        f"{name}: " + ", ".join(f"{value:.3f} at {one:.1f}" for one, value in zip(times, values, strict=True))
        for name, values in series.items()
    )
    return _document("What is found, by time", f"By how many query embeddings a recall takes. {told}.", lines)


def _head(title: str, series: Iterable[str]) -> Iterator[str]:
    yield f'  <text x="{_LEFT}" y="24" font-weight="600">{title}</text>'
    for number, (style, name) in enumerate(zip(("first", "second"), series, strict=True)):
        x = _LEFT + 260 * number
        yield f'  <rect class="bar {style}" x="{x}" y="36" width="12" height="12"/>'
        yield f'  <text class="soft" x="{x + 18}" y="46">{name}</text>'


def _frame(title: str, highest: float, series: Mapping[str, Sequence[float]]) -> Iterator[str]:
    yield from _head(title, series)
    for value in range(int(highest) + 1):
        y = _y(value, highest)
        yield f'  <path class="grid" d="M{_LEFT} {y:.1f} H{_LEFT + _WIDTH}"/>'
        yield f'  <text class="soft end" x="{_LEFT - 8}" y="{y + 4:.1f}">{value}</text>'
    yield _AXES


def _y(value: float, highest: float) -> float:
    return _TOP + _HEIGHT - _HEIGHT * 0.92 * value / highest


def _document(title: str, description: str, lines: Sequence[str]) -> str:
    width, height = _LEFT + _WIDTH + 20, _TOP + _HEIGHT + 40
    body = "\n".join(lines)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-labelledby="title text" font-family="system-ui, -apple-system, \'Segoe UI\', sans-serif" '
        f'font-size="14">\n  <title id="title">{title}</title>\n  <desc id="text">{description}</desc>\n'
        f'{_STYLE}  <rect class="back" width="{width}" height="{height}"/>\n{body}\n</svg>\n'
    )


if __name__ == "__main__":
    main()
