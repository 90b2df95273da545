"""Lines under headings, each memory once, within a budget of tokens. Pure."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from memorist.composing.values import ToldLine
from memorist.context.section import fence, one_line, shortened
from memorist.platform.tokens import count_tokens

_MARGIN = 1  # The end of a line.


@dataclass(frozen=True, slots=True)
class Line:
    """`ids` are the memories that it tells of, none where they are gone; the date is when it was said or happened."""

    text: str
    ids: tuple[str, ...] = ()
    date: datetime | None = None
    sources: tuple[str, ...] = ()
    """The messages that it was found in."""
    about: str | None = None
    """What to look at where it tells of no memory that is in use."""

    def __str__(self) -> str:
        day = f"({self.date:%Y-%m-%d}) " if self.date is not None else ""
        return f"- {day}{shortened(one_line(self.text))}"


class Sheet:
    """Headings keep the order in which they were named when the sheet was made; lines the one in which they came."""

    def __init__(self, budget_tokens: int, headings: Sequence[str]) -> None:
        self.budget = budget_tokens
        self._around = count_tokens(fence("x", reads_by_name=True))
        self._budget = self._left = budget_tokens - self._around
        self._lowest = 0.0
        self._lines: dict[str, list[Line]] = {heading: [] for heading in headings}
        self._notes: dict[str, str] = {}
        self._ids: dict[str, None] = {}
        self._texts: set[str] = set()
        self._told: dict[str, int] = {}

    @contextmanager
    def leaving(self, share: float, note: str = "") -> Iterator[None]:
        """Within, that share of the whole is left for what comes later, and room for a note."""
        self._lowest = share * self._budget + (count_tokens(note) + _MARGIN if note else 0)
        yield
        self._lowest = 0.0

    def at_most(self, tokens: int) -> int:
        """What comes from here on has no more room than a sheet of so many tokens, and shares are of what is left.
        Returns how much less that is.
        """
        cut = max(0, self._left - (tokens - self._around))
        self._budget = self._left = self._left - cut
        return cut

    def has(self, memory_id: str | None) -> bool:
        return memory_id in self._ids

    def tells(self, memory_id: str, length: int) -> bool:
        """Whether a line says what is said in that message: it was found there, and there is little else in it."""
        return length <= 2 * self._told.get(memory_id, -length)

    def add(self, heading: str, line: Line, *, always: bool = False) -> bool:
        """Whether it is there now: it may have been there before, and it may not fit. `always` asks for no room."""
        text = " ".join(line.text.casefold().split())
        if text in self._texts or (line.ids and all(one in self._ids for one in line.ids)):
            return True
        cost = self._cost(heading, str(line))
        if not always:
            if self._left - cost < self._lowest:
                return False
            self._left -= cost
        self._lines[heading].append(line)
        self._texts.add(text)
        self._told |= {source: len(text) for source in line.sources}
        self._ids |= dict.fromkeys(line.ids)
        return True

    def note(self, heading: str, text: str) -> None:
        """Say something after the lines under a heading that is no memory, where there is room."""
        cost = self._cost(heading, text)
        if cost <= self._left:
            self._left -= cost
            self._notes[heading] = text

    def _cost(self, heading: str, text: str) -> int:
        of_heading = 0 if self._lines[heading] else count_tokens(heading) + _MARGIN
        return count_tokens(text) + _MARGIN + of_heading

    def newest_first(self, headings: Sequence[str]) -> None:
        """Put the lines under some headings in the order of their dates."""
        for heading in headings:
            self._lines[heading].sort(key=lambda line: (line.date or datetime.max, line.ids), reverse=True)

    @property
    def ids(self) -> tuple[str, ...]:
        shown = (line for lines in self._lines.values() for line in lines)
        return tuple(dict.fromkeys(one for line in shown for one in line.ids))

    @property
    def lines(self) -> tuple[ToldLine, ...]:
        """All that it says, with what each line takes."""
        return tuple(
            ToldLine(heading.removeprefix("## "), str(line)[2:], line.ids or _one(line.about), count_tokens(str(line)))
            for heading, lines in self._lines.items()
            for line in lines
        )

    def text(self) -> str:
        parts = []
        for heading, lines in self._lines.items():
            told = [*map(str, lines), *([self._notes[heading]] if heading in self._notes else [])]
            if told:
                parts.append("\n".join([*([heading] if heading else []), *told]))
        return "\n".join(parts)


def _one(memory_id: str | None) -> tuple[str, ...]:
    return () if memory_id is None else (memory_id,)
