"""How a memory came to say what it says: versions with the words that changed, and lines of where it comes from."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from memorist.facts.values import FactVersion
from memorist.memories.values import Memory
from memorist.platform.values import Event
from memorist.surfaces.dashboard.pages.memory_views import spoken_by
from memorist.surfaces.dashboard.word_diff import Overlaid, overlaid
from memorist.surfaces.dashboard.wording import say

_MOST_VERSIONS = 20
_LONGEST_LINE = 1200
_AROUND_A_QUOTE = 400


@dataclass(frozen=True, slots=True)
class Version:
    """One text that a memory of a chain had, from a moment on; who wrote it, and why it replaced another."""

    memory: Memory
    title: str
    at: datetime
    pieces: tuple[Overlaid, ...]
    actor: str | None
    source: str | None
    reason: str | None
    judge: str | None


class SourceLine(NamedTuple):
    """A text around a source, cut where it is long; `quote` is the part of it that a fact was learned from."""

    memory: Memory
    before: str
    quote: str
    after: str
    is_cut: bool

    @property
    def speaker(self) -> str:
        return spoken_by(self.memory)


# Versions


def versions_of(chain: Sequence[FactVersion]) -> tuple[list[Version], int]:
    """What a chain of facts said, newest first, and how many older versions are left out."""
    # From its end: of two of the same moment, the one that replaced the other comes first.
    found = [version for link in reversed(chain) for version in reversed(_versions(link, chain))]
    found.sort(key=lambda version: version.at, reverse=True)
    return found[:_MOST_VERSIONS], max(0, len(found) - _MOST_VERSIONS)


def _versions(link: FactVersion, chain: Sequence[FactVersion]) -> list[Version]:
    memory = link.memory
    edits = [event for event in link.events if "content" in _before(event)]
    texts = [*(str(_before(event)["content"]) for event in edits), memory.content]
    created = next((event for event in link.events if event.event_type == "created"), None)
    title, below, retired = _beginning(link, chain)
    first = Version(
        memory,
        title,
        memory.created_at,
        (Overlaid("same", texts[0]),) if below is None else overlaid(below.content, texts[0]),
        None if created is None else created.actor,
        None if created is None else created.source,
        None if retired is None else retired.payload.get("reason"),
        None if retired is None else retired.payload.get("judge"),
    )
    return [first] + [
        Version(memory, say("Edited"), event.created_at, overlaid(old, new), event.actor, event.source, None, None)
        for event, old, new in zip(edits, texts, texts[1:], strict=False)
    ]


def _beginning(link: FactVersion, chain: Sequence[FactVersion]) -> tuple[str, Memory | None, Event | None]:
    """How a fact came into its chain, the one below that it is compared with, and what tells why one of the two went.

    The chain is in the order of when its facts hold, so that what replaced a fact may also stand below it.
    """
    below = chain[: chain.index(link)]
    refuting = next((one for one in below if one.memory.id == link.memory.superseded_by), None)
    if refuting is not None:
        return say("Retired: the one below holds"), refuting.memory, _last(link, "superseded")
    replaced = next((one for one in reversed(below) if one.memory.superseded_by == link.memory.id), None)
    if replaced is not None:
        return say("Took the place of the one below"), replaced.memory, _last(replaced, "superseded")
    return say("Remembered"), None, None


def _before(event: Event) -> dict[str, object]:
    before = event.payload.get("before") if event.event_type == "updated" else None
    return before if isinstance(before, dict) else {}


def _last(link: FactVersion, event_type: str) -> Event | None:
    return next((event for event in reversed(link.events) if event.event_type == event_type), None)


# Lines


def line_of(memory: Memory, quote: str | None = None) -> SourceLine:
    """What was said, with what was quoted of it where that stands in it word for word."""
    text = memory.content
    at = text.find(quote) if quote else -1
    if quote is None or at < 0:
        return SourceLine(memory, text[:_LONGEST_LINE], "", "", len(text) > _LONGEST_LINE)
    before, quoted, after = text[:at], quote[:_LONGEST_LINE], text[at + len(quote) :]
    is_cut = len(text) > _LONGEST_LINE
    if is_cut:
        before = "…" + before[-_AROUND_A_QUOTE:] if len(before) > _AROUND_A_QUOTE else before
        after = after[:_AROUND_A_QUOTE]
    return SourceLine(memory, before, quoted, after, is_cut)
