"""What an agent is given, as values."""

from dataclasses import dataclass

BUDGET_TOKENS = 2500
LEAST_TOKENS = 100
MOST_TOKENS = 100_000


@dataclass(frozen=True, slots=True)
class Section:
    """What a profile's session begins with, fenced, and how many named memories are in it."""

    text: str
    count: int


@dataclass(frozen=True, slots=True)
class Composed:
    """A text for a prompt: alone, and as a fenced block that nothing inside can close; both empty where nothing is
    remembered. `ids` are the memories that are in it, in their order, `named` how many of them are listed by name.
    """

    text: str
    fenced: str
    tokens: int
    ids: tuple[str, ...]
    named: int = 0
    degraded: bool = False
    """Some memories were searched by keyword only, because they wait for their vectors."""

    @property
    def entries(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class ToldLine:
    """One line of what an agent is given: under which heading, of which memories, and how many tokens it takes."""

    heading: str
    text: str
    ids: tuple[str, ...]
    tokens: int


@dataclass(frozen=True, slots=True)
class LaidOut:
    """What an agent is given, line by line, and the tokens that it might have taken."""

    composed: Composed
    lines: tuple[ToldLine, ...]
    budget: int
