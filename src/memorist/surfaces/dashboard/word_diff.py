"""Which words of two texts differ: side by side, or laid over each other."""

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import NamedTuple

_TOKEN = re.compile(r"\w+(?:['’]\w+)*|\s+|[^\w\s]")
# A word with the blanks after it: laid over each other, texts are read in one line.
_WORD = re.compile(r"\w+(?:['’]\w+)*\s*|[^\w\s]\s*|\s+")
# Comparing grows with the square of their number, and a page has many pairs.
_MOST_TOKENS = 1200
_MOST_WORDS = 800


# Side by side


class DiffPiece(NamedTuple):
    text: str
    differs: bool


def side_by_side(before: str, after: str) -> tuple[list[DiffPiece], list[DiffPiece]]:
    """Both texts in pieces that the other one has as well, or not. Very long texts are each one piece.

    Joined, the pieces are the text again.
    """
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    if len(old) > _MOST_TOKENS or len(new) > _MOST_TOKENS:
        return [DiffPiece(before, differs=False)], [DiffPiece(after, differs=False)]
    matcher = SequenceMatcher(None, [one.casefold() for one in old], [one.casefold() for one in new], autojunk=False)
    left: list[DiffPiece] = []
    right: list[DiffPiece] = []
    for tag, start, end, other_start, other_end in matcher.get_opcodes():
        left.append(DiffPiece("".join(old[start:end]), tag != "equal"))
        right.append(DiffPiece("".join(new[other_start:other_end]), tag != "equal"))
    return _joined(left), _joined(right)


def _joined(pieces: Iterable[DiffPiece]) -> list[DiffPiece]:
    """Differing pieces with only blanks between them are one, and blanks at its ends are left out of it."""
    runs: list[DiffPiece] = []
    for piece in pieces:
        if piece.differs and len(runs) > 1 and runs[-2].differs and not runs[-1].text.strip():
            gap = runs.pop()
            runs[-1] = DiffPiece(runs[-1].text + gap.text + piece.text, differs=True)
        elif piece.text:
            runs.append(piece)
    found: list[DiffPiece] = []
    for run in runs:
        for piece in _without_blank_ends(run):
            if found and found[-1].differs == piece.differs:
                found[-1] = DiffPiece(found[-1].text + piece.text, piece.differs)
            elif piece.text:
                found.append(piece)
    return found


def _without_blank_ends(piece: DiffPiece) -> Iterable[DiffPiece]:
    if not piece.differs:
        return (piece,)
    words = piece.text.strip()
    before, _, after = piece.text.partition(words) if words else (piece.text, "", "")
    return DiffPiece(before, differs=False), DiffPiece(words, differs=True), DiffPiece(after, differs=False)


# Over each other


class Overlaid(NamedTuple):
    """A part of two texts laid over each other: `same` in both, `del` of the older one, `ins` of the newer one."""

    op: str
    text: str


def overlaid(before: str, after: str) -> tuple[Overlaid, ...]:
    """Two texts laid over each other, word by word. Of long ones only what they begin and end with is compared."""
    old, new = _WORD.findall(before), _WORD.findall(after)
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    pieces = [Overlaid("same", "".join(old[:start]))]
    pieces += _compared(old[start : len(old) - end], new[start : len(new) - end])
    pieces.append(Overlaid("same", "".join(old[len(old) - end :])))
    return tuple(piece for piece in pieces if piece.text)


def _compared(old: list[str], new: list[str]) -> list[Overlaid]:
    if max(len(old), len(new)) > _MOST_WORDS:
        return [Overlaid("del", "".join(old)), Overlaid("ins", "".join(new))]
    # A word that is followed by another blank is the same word.
    matcher = SequenceMatcher(None, [one.strip() for one in old], [one.strip() for one in new], autojunk=False)
    pieces: list[Overlaid] = []
    for tag, start, stop, new_start, new_stop in matcher.get_opcodes():
        if tag == "equal":
            pieces.append(Overlaid("same", "".join(new[new_start:new_stop])))
        else:
            pieces += [Overlaid("del", "".join(old[start:stop])), Overlaid("ins", "".join(new[new_start:new_stop]))]
    return pieces
