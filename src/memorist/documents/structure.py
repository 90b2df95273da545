"""What every kind of document becomes: one text, and the blocks that it is made of."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

# A path is kept with every chunk, so that a heading without end would be stored over and over.
MAX_HEADING = 200

BLANK_LINE = re.compile(r"\n[^\S\n]*+\n\s*+")


class Shape(Enum):
    """Where a block is cut, if it must be."""

    HEADING = auto()
    PROSE = auto()
    LINES = auto()
    """Code, a list, a table: a line says more as a whole than a sentence."""


@dataclass(frozen=True, slots=True)
class Block:
    """A heading, paragraph, list, table or listing: `text[start:end]`, below the headings of its path."""

    start: int
    end: int
    heading_path: tuple[str, ...] = ()
    shape: Shape = Shape.PROSE


@dataclass(frozen=True, slots=True)
class ExtractedText:
    """The text of a document. Its blocks are in order and hold every character that is no white space."""

    text: str
    blocks: tuple[Block, ...]


class Outline:
    """The headings above what is being read."""

    def __init__(self) -> None:
        self._open: list[tuple[int, str]] = []
        self.path: tuple[str, ...] = ()

    def enter(self, level: int, heading: str) -> None:
        """Leave every section of this level or deeper, and begin this one."""
        while self._open and self._open[-1][0] >= level:
            self._open.pop()
        if title := " ".join(heading.split())[:MAX_HEADING].rstrip():
            self._open.append((level, title))
        self.path = tuple(title for _, title in self._open)


def paragraphs(text: str, path: tuple[str, ...] = (), offset: int = 0) -> list[Block]:
    """The blocks that blank lines part, for a text that stands at this offset of the whole."""
    return [Block(offset + start, offset + end, path) for start, end in spans(text, BLANK_LINE, 0, len(text))]


def spans(text: str, breaks: re.Pattern[str], start: int, end: int) -> Iterator[tuple[int, int]]:
    """The pieces of `text[start:end]` between breaks, without white space around them."""
    for match in breaks.finditer(text, start, end):
        yield from stripped(text, start, match.end())
        start = match.end()
    yield from stripped(text, start, end)


def stripped(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The span without white space around it; nothing where it is all white space."""
    piece = text[start:end]
    if bare := piece.lstrip():
        yield end - len(bare), end - len(bare) + len(bare.rstrip())
