"""The part of a text that a list shows: plain words, and what was looked for in them."""

import re
from typing import NamedTuple

from memorist.platform import folding

_SHOWN = 420
_BEFORE = 120
# Marks of Markdown that say how a text looks, not what it says.
_MARKS = (
    (re.compile(r"^ {0,3}#{1,6} +", re.M), ""),
    (re.compile(r"\*\*([^*\n]+)\*\*"), r"\1"),
    (re.compile(r"`([^`\n]+)`"), r"\1"),
    (re.compile(r"\[([^\]\n]{1,500})\]\([^)\s]{1,500}\)"), r"\1"),
)


class SnippetPiece(NamedTuple):
    text: str
    is_found: bool


def snippet_of(text: str, asked: str, *, fuzzy: bool = False) -> tuple[SnippetPiece, ...]:
    """As much as a row can show, from a little before the first word that was asked for, each of them marked."""
    plain = _plain(text.strip())
    looked_for = _pattern(asked, fuzzy=fuzzy)
    first = looked_for.search(plain) if looked_for is not None else None
    start = 0 if first is None or first.start() < _SHOWN // 2 else first.start() - _BEFORE
    shown = plain[start : start + _SHOWN]
    shown = f"{'…' if start else ''}{shown.rstrip() + '…' if start + _SHOWN < len(plain) else shown}"
    return tuple(_pieces(shown, looked_for))


def _plain(text: str) -> str:
    for mark, words in _MARKS:
        text = mark.sub(words, text)
    return text


def _pattern(asked: str, *, fuzzy: bool) -> re.Pattern[str] | None:
    words = sorted(dict.fromkeys(folding.fold(asked).split()), key=len, reverse=True)
    sources = [one.pattern for one in folding.near_patterns(words)] if fuzzy else [re.escape(word) for word in words]
    return re.compile("|".join(sources), re.I) if sources else None


def _pieces(text: str, looked_for: re.Pattern[str] | None) -> list[SnippetPiece]:
    pieces, end = [], 0
    for match in looked_for.finditer(text) if looked_for is not None else ():
        if match.start() > end:
            pieces.append(SnippetPiece(text[end : match.start()], is_found=False))
        pieces.append(SnippetPiece(match[0], is_found=True))
        end = match.end()
    return [*pieces, SnippetPiece(text[end:], is_found=False)] if end < len(text) else pieces
