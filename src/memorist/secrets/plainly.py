"""A text as it is read: unseen characters gone, wide ones, dashes and quotation marks as the plain ones they stand for.

Secrets are sought in that text too, and taken out of the one that was written.
"""

import re
from bisect import bisect_right
from typing import NamedTuple

_UNSEEN = "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u206a-\u206f\ufe00-\ufe0f\ufeff"
_SPACES = "\u00a0\u202f\u3000"
_QUOTES = "\u201c\u201d\u201e\u300c\u300d\u300e\u300f"
_WIDE = "\uff01-\uff5e"
_OTHERS = re.compile(rf"[{_UNSEEN}{_QUOTES}{_WIDE}\u2013\u2014]|\u00ab[ {_SPACES}]?|[ {_SPACES}]?\u00bb|[{_SPACES}]")


class PlainText(NamedTuple):
    """The plain text, and its pieces: where each starts in it, and what it was made of in the text as written."""

    text: bytes
    starts: list[int]
    sources: list[tuple[int, int]]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where a part of the plain text stands in the text as written."""
        first, last = bisect_right(self.starts, start) - 1, bisect_right(self.starts, end - 1) - 1
        piece_start, piece_end = self.sources[last]
        return (
            self.sources[first][0] + start - self.starts[first],
            # What stands for one character is taken as a whole, what was copied only as far as the part goes.
            piece_end if last % 2 else piece_start + end - self.starts[last],
        )


def read_plainly(text: bytes) -> PlainText:
    """Every other piece is copied, and those between them are one character each, or none."""
    pieces: list[bytes] = []
    starts: list[int] = []
    sources: list[tuple[int, int]] = []
    size = at = end = 0

    def add(piece: bytes, length: int) -> None:
        nonlocal size, at
        pieces.append(piece)
        starts.append(size)
        sources.append((at, at + length))
        size += len(piece)
        at += length

    written = text.decode("utf-8", "surrogatepass")
    for match in _OTHERS.finditer(written):
        copied = written[end : match.start()].encode("utf-8", "surrogatepass")
        add(copied, len(copied))
        add(_plain(match.group()), len(match.group().encode()))
        end = match.end()
    rest = text[at:]
    add(rest, len(rest))
    return PlainText(b"".join(pieces), starts, sources)


def _plain(written: str) -> bytes:
    character = written.strip(f" {_SPACES}") or " "
    if "\uff01" <= character <= "\uff5e":
        return bytes((ord(character) - 0xFEE0,))
    if character in f"{_QUOTES}\u00ab\u00bb":
        return b'"'
    return b"-" if character in "\u2013\u2014" else b" " if character == " " else b""
