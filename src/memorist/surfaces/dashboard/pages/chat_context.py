"""What memory put into a prompt, line by line: from which memories, and which share of the budget each line takes."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from memorist.composing.values import LaidOut
from memorist.memories.values import Memory
from memorist.surfaces.dashboard.wording import say
from memorist.views.turn_stories import INJECTED, TurnStory

_LONGEST = 300


@dataclass(frozen=True, slots=True)
class ContextLine:
    """`ids` are the memories that it is of and that are still there; `percent` is its share of the budget."""

    heading: str
    text: str
    ids: tuple[str, ...]
    tokens: int
    percent: float


@dataclass(frozen=True, slots=True)
class ShownContext:
    """All lines, by their headings; `around` are the tokens of the headings and of the fence."""

    parts: tuple[tuple[str, tuple[ContextLine, ...]], ...]
    tokens: int
    budget: int
    around: int
    text: str = ""
    """To the letter, where it is known: a turn keeps no text of memories."""
    degraded: bool = False

    @property
    def percent(self) -> float:
        return _share(self.tokens, self.budget)


def of_layout(laid_out: LaidOut) -> ShownContext:
    composed, budget = laid_out.composed, laid_out.budget
    lines = [
        ContextLine(one.heading, one.text, one.ids, one.tokens, _share(one.tokens, budget)) for one in laid_out.lines
    ]
    return _shown(lines, composed.tokens, budget, composed.fenced, degraded=composed.degraded)


def of_turn(story: TurnStory) -> ShownContext | None:
    """None while nothing was told yet, and where the event no longer says what."""
    told = next((event.data for event in story.events if event.event == INJECTED), {})
    if "lines" not in told:
        return None
    return _shown([_line(one, told["budget"], story) for one in told["lines"]], told["tokens"], told["budget"])


def _line(told: dict[str, Any], budget: int, story: TurnStory) -> ContextLine:
    there = [story.told[one] for one in told["ids"] if one in story.told]
    text = " / ".join(map(_glimpse, there)) or say("No longer there.")
    tokens = told["tokens"]
    return ContextLine(told["heading"], text, tuple(one.id for one in there), tokens, _share(tokens, budget))


def _glimpse(memory: Memory) -> str:
    text = " ".join((memory.description or memory.content if memory.name else memory.content).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"


def _shown(
    lines: Iterable[ContextLine], tokens: int, budget: int, text: str = "", *, degraded: bool = False
) -> ShownContext:
    lines = list(lines)
    parts = tuple((heading, tuple(group)) for heading, group in groupby(lines, lambda one: one.heading))
    return ShownContext(parts, tokens, budget, max(0, tokens - sum(one.tokens for one in lines)), text, degraded)


def _share(tokens: int, budget: int) -> float:
    return round(min(100.0, 100 * tokens / max(1, budget)), 1)
