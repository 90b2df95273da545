"""Sentences in nine languages that state a secret, and look-alikes: one part to develop on, one to report.

Statements are written one by one. Look-alikes are sentences written one by one that are filled with changing values.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

from memorist_bench.ordinary_texts import look_alike
from memorist_bench.secret_samples import filled

HALVES = {"develop": 1400, "report": 600}
"""How many look-alikes are made for each half."""

_FOLDER = Path(__file__).parent / "secret_texts"
_SECRET = re.compile("⟦(.*?)⟧", re.DOTALL)
_ESCAPE = re.compile(r"\\(n|u[0-9a-f]{4})")


class StatedSecret(NamedTuple):
    language: str
    text: str
    secret: str


class LookAlike(NamedTuple):
    language: str
    text: str


def statements(half: str) -> list[StatedSecret]:
    """Those of one half, with random parts made up."""
    random = Random(f"statements {half}")
    return [_statement(language, filled(line, random)[0]) for language, line in _lines(f"statements_{half}")]


def look_alikes(half: str) -> list[LookAlike]:
    """Different texts of one half, each sentence about as often as any other."""
    random = Random(f"look-alikes {half}")
    lines = list(_lines(f"ordinary_{half}"))
    found: dict[LookAlike, None] = {}
    while True:
        for language, line in lines:
            found[LookAlike(language, look_alike(line, random))] = None
            if len(found) == HALVES[half]:
                return list(found)


def _statement(language: str, line: str) -> StatedSecret:
    text = _ESCAPE.sub(lambda match: "\n" if match[1] == "n" else chr(int(match[1][1:], 16)), line)
    (secret,) = _SECRET.findall(text)
    return StatedSecret(language, _SECRET.sub(lambda match: match[1], text), secret)


def _lines(name: str) -> Iterator[tuple[str, str]]:
    language = ""
    for line in (_FOLDER / f"{name}.txt").read_text("utf-8").splitlines():
        if line.startswith("# "):
            language = line.removeprefix("# ")
        else:
            yield language, line
