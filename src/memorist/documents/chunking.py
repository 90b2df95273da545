"""Chunks of a document: exact pieces of its text that begin and end where its structure does, overlapping a little."""

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from memorist.documents.structure import BLANK_LINE, Block, ExtractedText, Shape, spans, stripped

# A long paragraph: enough to be understood alone, and short enough to be about one thing.
CHUNK_WORDS = 168
# About a sentence or two, so that what a cut parts is still found together in one of the chunks.
OVERLAP_WORDS = 30

# A character of an unspaced script counts as a word. Very long runs of others, and of white space, count as several,
# so that a chunk of few words is short in characters as well.
_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3001-\u30ff\u3400-\u9fff\uac00-\ud7af\uff01-\uff60"
    r"\U00020000-\U0003ffff"
)
_WORD = re.compile(rf"[{_UNSPACED}]|[^\s{_UNSPACED}]{{1,24}}|\s{{24}}")

# A stop before a small letter mostly ends an abbreviation.
_SENTENCE = re.compile(rf"[.!?…।؟][\"'”’»)\]]{{0,3}}\s++(?![a-z])|[。！？][」』”’）]{{0,3}}|{BLANK_LINE.pattern}")
_LINE = re.compile(r"\n")
_BREAKS = {
    Shape.HEADING: (_SENTENCE, _LINE),
    Shape.PROSE: (_SENTENCE, _LINE),
    Shape.LINES: (_LINE, _SENTENCE),
}


@dataclass(frozen=True, slots=True)
class Chunk:
    """`text` is `extracted.text[start:end]`; the path names the headings above its last words, outermost first."""

    text: str
    heading_path: tuple[str, ...]
    position: int
    start: int
    end: int


def chunk(extracted: ExtractedText, *, words: int = CHUNK_WORDS, overlap: int = OVERLAP_WORDS) -> list[Chunk]:
    """Chunks of at most `words` and the overlap, in order, holding every character that is no white space.

    None crosses a heading, save that headings without text of their own stand before the section below them.
    """
    if not 0 <= overlap < words:
        raise ValueError("overlap must be at least 0 and smaller than words")
    cutter = _Cutter(extracted.text, words, overlap)
    return [
        Chunk(extracted.text[start:end], section[-1].heading_path, position, start, end)
        for position, (section, (start, end)) in enumerate(
            (section, span) for section in _sections(extracted.blocks) for span in cutter.cut(section)
        )
    ]


def _sections(blocks: Iterable[Block]) -> Iterator[list[Block]]:
    """The blocks below one heading together."""
    section: list[Block] = []
    for block in blocks:
        if section and not _continues(section[-1], block):
            yield section
            section = []
        section.append(block)
    if section:
        yield section


def _continues(last: Block, block: Block) -> bool:
    if block.shape is not Shape.HEADING:
        return block.heading_path == last.heading_path
    # A heading alone says nothing; it joins the first section below it, whose path names it.
    return last.shape is Shape.HEADING and block.heading_path[: len(last.heading_path)] == last.heading_path


class _Cutter:
    def __init__(self, text: str, size: int, overlap: int) -> None:
        self._text = text
        self._size = size
        self._overlap = overlap
        self._words = array("Q", (match.start() for match in _WORD.finditer(text)))

    def cut(self, section: list[Block]) -> Iterator[tuple[int, int]]:
        """The spans of a section's chunks, each but the first repeating the end of the one before."""
        packed = list(self._pack(section))
        yield packed[0][:2]
        for (earlier, _, shape), (start, end, _) in pairwise(packed):
            room = min(self._overlap, self._size + self._overlap - self._count(start, end))
            yield from stripped(self._text, self._repeat_from(earlier, start, room, _BREAKS[shape]), end)

    def _pack(self, section: list[Block]) -> Iterator[tuple[int, int, Shape]]:
        """Spans of as many whole blocks as fit, or of as much of a large one, with the shape of their last block."""
        pieces = (
            (*piece, block.shape)
            for block in section
            for piece in self._pieces(block.start, block.end, _BREAKS[block.shape])
        )
        start, end, shape = next(pieces)
        for left, right, next_shape in pieces:
            # A beginning that the next chunk would repeat anyway stays with what follows: a heading, a lead-in.
            is_short = self._count(start, end) <= self._overlap
            if self._count(start, right) > (self._size + self._overlap if is_short else self._size):
                yield start, end, shape
                start = left
            end, shape = right, next_shape
        yield start, end, shape

    def _pieces(self, start: int, end: int, breaks: tuple[re.Pattern[str], ...]) -> Iterator[tuple[int, int]]:
        """The span whole where it fits, else cut at the first of the breaks; what is still too large at the next."""
        if self._count(start, end) <= self._size:
            yield start, end
        elif breaks:
            for left, right in spans(self._text, breaks[0], start, end):
                yield from self._pieces(left, right, breaks[1:])
        else:
            while self._count(start, end) > self._size:
                cut = self._last_cut(start)
                yield from stripped(self._text, start, cut)
                start = cut
            yield from stripped(self._text, start, end)

    def _last_cut(self, start: int) -> int:
        """Where the words that fit a chunk end: before a word, or where none begins nearby, in the midst of one."""
        last = bisect_left(self._words, start) + self._size
        for at in self._words[last : last - self._size // 2 : -1]:
            if self._text[at - 1].isspace():
                return at
        return self._words[last]

    def _repeat_from(self, earlier: int, start: int, room: int, breaks: tuple[re.Pattern[str], ...]) -> int:
        """Where the last `room` words before `start` begin, moved on to a sentence or a line where one begins there."""
        first = self._words[max(bisect_left(self._words, start) - room, 0)] if room > 0 else start
        # The break before that word counts as well.
        search = max(earlier, first - 3)
        for pattern in breaks:
            for match in pattern.finditer(self._text, search, start):
                if first <= match.end() < start:
                    return match.end()
        return first

    def _count(self, start: int, end: int) -> int:
        return bisect_left(self._words, end) - bisect_left(self._words, start)
