"""How a memory came to say what it says: versions with the words that changed, and lines of where it comes from."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher
from typing import NamedTuple

from memorist.model import Event, FactVersion, Memory

_TOKEN = re.compile(r"\w+(?:['’]\w+)*\s*|[^\w\s]\s*|\s+")
# Comparing grows with the square of their number.
_MOST_TOKENS = 800
_MOST_VERSIONS = 20
_LONGEST_LINE = 1200
_AROUND_A_QUOTE = 400


class Piece(NamedTuple):
    """A part of two texts laid over each other: `same` in both, `del` of the older one, `ins` of the newer one."""

    op: str
    text: str


@dataclass(frozen=True, slots=True)
class Version:
    """One text that a memory of a chain had, from a moment on; who wrote it, and why it took another's place."""

    memory: Memory
    title: str
    at: datetime
    pieces: tuple[Piece, ...]
    actor: str | None
    source: str | None
    reason: str | None
    judge: str | None


class Line(NamedTuple):
    """A text around a source, cut where it is long; `quote` is the part of it that a fact was learned from."""

    memory: Memory
    before: str
    quote: str
    after: str
    is_cut: bool


# Versions


def versions_of(chain: Sequence[FactVersion]) -> tuple[list[Version], int]:
    """What a chain of facts said, newest first, and how many older versions are left out."""
    found = [version for link in chain for version in _versions(link, chain)]
    found.sort(key=lambda version: version.at, reverse=True)
    return found[:_MOST_VERSIONS], max(0, len(found) - _MOST_VERSIONS)


def _versions(link: FactVersion, chain: Sequence[FactVersion]) -> list[Version]:
    memory = link.memory
    edits = [event for event in link.events if "content" in _before(event)]
    texts = [*(str(_before(event)["content"]) for event in edits), memory.content]
    created = next((event for event in link.events if event.event_type == "created"), None)
    older = next((one for one in reversed(chain) if one.memory.superseded_by == memory.id), None)
    retired = None if older is None else _last(older, "superseded")
    first = Version(
        memory,
        "Remembered" if older is None else "Took the place of the one below",
        memory.created_at,
        (Piece("same", texts[0]),) if older is None else word_diff(older.memory.content, texts[0]),
        None if created is None else created.actor,
        None if created is None else created.source,
        None if retired is None else retired.payload.get("reason"),
        None if retired is None else retired.payload.get("judge"),
    )
    return [first] + [
        Version(memory, "Edited", event.created_at, word_diff(old, new), event.actor, event.source, None, None)
        for event, old, new in zip(edits, texts, texts[1:], strict=False)
    ]


def _before(event: Event) -> dict[str, object]:
    before = event.payload.get("before") if event.event_type == "updated" else None
    return before if isinstance(before, dict) else {}


def _last(link: FactVersion, event_type: str) -> Event | None:
    return next((event for event in reversed(link.events) if event.event_type == event_type), None)


def word_diff(before: str, after: str) -> tuple[Piece, ...]:
    """Two texts laid over each other, word by word. Of long ones only what they begin and end with is compared."""
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    pieces = [Piece("same", "".join(old[:start]))]
    pieces += _compared(old[start : len(old) - end], new[start : len(new) - end])
    pieces.append(Piece("same", "".join(old[len(old) - end :])))
    return tuple(piece for piece in pieces if piece.text)


def _compared(old: list[str], new: list[str]) -> list[Piece]:
    if max(len(old), len(new)) > _MOST_TOKENS:
        return [Piece("del", "".join(old)), Piece("ins", "".join(new))]
    # A word that is followed by another blank is the same word.
    matcher = SequenceMatcher(None, [one.strip() for one in old], [one.strip() for one in new], autojunk=False)
    pieces: list[Piece] = []
    for tag, start, stop, new_start, new_stop in matcher.get_opcodes():
        if tag == "equal":
            pieces.append(Piece("same", "".join(new[new_start:new_stop])))
        else:
            pieces += [Piece("del", "".join(old[start:stop])), Piece("ins", "".join(new[new_start:new_stop]))]
    return pieces


# Lines


def line_of(memory: Memory, quote: str | None = None) -> Line:
    """What was said, with what was quoted of it where that stands in it word for word."""
    text = memory.content
    at = text.find(quote) if quote else -1
    if quote is None or at < 0:
        return Line(memory, text[:_LONGEST_LINE], "", "", len(text) > _LONGEST_LINE)
    before, quoted, after = text[:at], quote[:_LONGEST_LINE], text[at + len(quote) :]
    is_cut = len(text) > _LONGEST_LINE
    if is_cut:
        before = "…" + before[-_AROUND_A_QUOTE:] if len(before) > _AROUND_A_QUOTE else before
        after = after[:_AROUND_A_QUOTE]
    return Line(memory, before, quoted, after, is_cut)
