"""Where the words stand that a language model quotes, however it wrote them. Pure.

What is found is a stretch of the message itself, word for word: case, punctuation, quotation marks and white space of
the model's own count for nothing. It may leave something out between dots, cut the last word, and go on where a clause
of the message ends.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil

from memorist.learning.extractors.sentences import GAP

# Thai, Japanese and Chinese put no spaces between words: there every sign counts as one.
_SIGN = r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
_LETTERS = rf"(?:(?!{_SIGN})[\w\u0300-\u036f])+"
_WORD = re.compile(rf"{_SIGN}|{_LETTERS}(?:['’ʼ]{_LETTERS})*|{GAP}+")
_APOSTROPHES = str.maketrans("", "", "'’ʼ")
_DOTS = re.compile(r"\.\.\.+|…|\[\s*\.\.\.?\s*\]")
_CLAUSE_ENDS = re.compile(r"[\"'”’*_\s]*(?:[.,;:!?…()\[\]—–。，、！？；]|-\s|\Z)")
_FEWEST_WORDS = 2
_LONGEST_WITH_DOTS = 500
# How much of what is quoted must stand there, from its beginning.
_SHARE = 2 / 3
_FEWEST_OF_A_PART = 3
# Of what is shorter another word may be meant.
_SHORTEST_CUT = 3
_FEWEST_BEFORE_A_CUT = 3


@dataclass(frozen=True, slots=True)
class Quote:
    """Words that stand one after the other, in pieces with something between them. With `ends`, at a clause's end."""

    pieces: tuple[Sequence[str], ...]
    ends: bool = False


@dataclass(frozen=True)
class Words:
    """The words of a text as they are compared, and where each stands in it."""

    text: str
    folded: list[str]
    spans: list[tuple[int, int]]

    @classmethod
    def of(cls, text: str) -> "Words":
        found = list(_WORD.finditer(text))
        return cls(text, [_folded(match[0]) for match in found], [match.span() for match in found])

    @cached_property
    def _joined(self) -> str:
        return f" {' '.join(self.folded)} "

    def find(self, quote: Quote) -> tuple[int, int] | None:
        """Where a quotation stands in the text."""
        at = 0
        spans = []
        for piece in quote.pieces:
            at = self._at(piece, at)
            if at < 0:
                return None
            first = self._joined.count(" ", 0, at)
            spans.append((self.spans[first][0], self.spans[first + len(piece) - 1][1]))
            at += 1
        start, end = spans[0][0], spans[-1][1]
        if len(spans) > 1 and end - start > _LONGEST_WITH_DOTS:
            return None
        is_whole = GAP not in self.text[start:end] and (not quote.ends or _CLAUSE_ENDS.match(self.text, end))
        return (start, end) if is_whole else None

    def _at(self, words: Sequence[str], start: int) -> int:
        wanted = f" {' '.join(words)}"
        at = self._joined.find(f"{wanted} ", start)
        if at < 0 and len(words[-1]) >= _SHORTEST_CUT and len(words) > _FEWEST_BEFORE_A_CUT:
            at = self._joined.find(wanted, start)
        return at


def quotes(excerpt: str) -> Iterator[Quote]:
    """What an excerpt may be meant to quote, the likeliest first; nothing where it has too few words."""
    words = _words(excerpt)
    if len(words) < _FEWEST_WORDS:
        return
    yield Quote((words,))
    pieces = tuple(piece for text in _DOTS.split(excerpt) if (piece := _words(text)))
    if len(pieces) > 1:
        yield Quote(pieces)
    fewest = max(_FEWEST_OF_A_PART, ceil(len(words) * _SHARE))
    for size in range(len(words) - 1, fewest - 1, -1):
        yield Quote((words[:size],), ends=True)


def _words(excerpt: str) -> list[str]:
    return Words.of(excerpt.replace(GAP, " ")).folded


def _folded(word: str) -> str:
    if word.startswith(GAP):
        return GAP
    # A sign may stand for a whole phrase, and a word is to stay one.
    return unicodedata.normalize("NFKC", word).translate(_APOSTROPHES).replace(" ", "").casefold()
