"""The part of a text that a list shows: plain words, and what was looked for in them."""

import re
from typing import NamedTuple

from memorist.platform import folding

_SHOWN = 420
_BEFORE = 120
# So much of a long text is read for it: taking marks out of all of it would take long, and nobody else is served.
_READ = 4000
# Marks of Markdown that say how a text looks, not what it says.
_MARKS = (
    (re.compile(r"^ {0,3}#{1,6} +", re.M), ""),
    (re.compile(r"\*\*([^*\n]+)\*\*"), r"\1"),
    (re.compile(r"`([^`\n]+)`"), r"\1"),
    (re.compile(r"\[([^\[\]\n]{1,500}+)\]\([^)\s]{1,500}+\)"), r"\1"),
)


class SnippetPiece(NamedTuple):
    text: str
    is_found: bool


def snippet_of(text: str, asked: str, *, fuzzy: bool = False) -> tuple[SnippetPiece, ...]:
    """As much as a row can show, from a little before the first word that was asked for, each of them marked."""
    text = text.strip()
    looked_for = _pattern(asked, fuzzy=fuzzy)
    began = _begin(text, looked_for, _READ // 2) if len(text) > _READ else 0
    plain = _plain(text[began : began + _READ])
    start = _begin(plain, looked_for, _BEFORE)
    shown = plain[start : start + _SHOWN]
    is_more = start + _SHOWN < len(plain) or began + _READ < len(text)
    shown = f"{'…' if began or start else ''}{shown.rstrip() + '…' if is_more else shown}"
    return tuple(_pieces(shown, looked_for))


def _begin(text: str, looked_for: re.Pattern[str] | None, before: int) -> int:
    """Where to begin so that the first of what was looked for is shown, with so much before it."""
    first = looked_for.search(text) if looked_for is not None else None
    return 0 if first is None or first.start() < max(before, _SHOWN // 2) else first.start() - before


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
