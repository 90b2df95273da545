"""What an extracted memory is: one list of kinds, and the words that two published APIs have for them. Pure."""

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum

from memorist.memories.values import Trust

LONGEST_CONTENT = 500
"""Characters of a memory: one of the published APIs takes no more."""


class StatementKind(StrEnum):
    """What a statement is."""

    GOAL = "goal"
    PREFERENCE = "preference"
    INSIGHT = "insight"
    FACT = "fact"
    DECISION = "decision"
    SOLUTION = "solution"
    CONVENTION = "convention"
    COMMITMENT = "commitment"
    SUMMARY = "summary"


class Vocabulary(StrEnum):
    """Whose categories are written."""

    COMPANION = "companion"
    CODING = "coding"
    FACTS = "facts"
    """Those of the agent tools, which have none."""


_CATEGORIES: dict[Vocabulary, dict[StatementKind, str]] = {
    Vocabulary.COMPANION: {
        StatementKind.GOAL: "goal",
        StatementKind.COMMITMENT: "goal",
        StatementKind.PREFERENCE: "preference",
        StatementKind.CONVENTION: "preference",
        StatementKind.INSIGHT: "insight",
        StatementKind.FACT: "history",
        StatementKind.DECISION: "history",
        StatementKind.SOLUTION: "history",
        StatementKind.SUMMARY: "history",
    },
    Vocabulary.CODING: {
        StatementKind.GOAL: "fact",
        StatementKind.COMMITMENT: "fact",
        StatementKind.PREFERENCE: "preference",
        StatementKind.CONVENTION: "pattern",
        StatementKind.INSIGHT: "fact",
        StatementKind.FACT: "fact",
        StatementKind.DECISION: "decision",
        StatementKind.SOLUTION: "solution",
        StatementKind.SUMMARY: "summary",
    },
}


def category_of(found: StatementKind, vocabulary: Vocabulary) -> str | None:
    return _CATEGORIES[vocabulary][found] if vocabulary in _CATEGORIES else None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory that was found. `excerpt` stands, word for word, in message number `source` of what was read."""

    found: StatementKind
    content: str
    excerpt: str
    confidence: float
    source: int
    trust: Trust = Trust.USER
    topic: str = ""
    """What it is about, such as `home` or `health`; empty where nobody said."""
    about: str = ""
    """Of whom it tells: a speaker's name, or `User`."""
    importance: float | None = None
    quoted: int | None = None
    """The number of another message whose words it repeats."""


class Dropped(StrEnum):
    """Why something that was found is not remembered."""

    SHAPE = "not an object"
    KIND = "unknown kind"
    NO_CONTENT = "no content"
    LONG = "content too long"
    CONFIDENCE = "no confidence from 0 to 1"
    NO_EXCERPT = "no excerpt"
    SHORT_EXCERPT = "excerpt too short"
    NOT_SAID = "excerpt not found"
    OF_OTHERS = "words of a tool or of others"
    OF_AGENT = "not for an assistant to say"
    TWICE = "said twice"
    TOO_MANY = "one of too many"
    LONG_ENTRY = "too long for an entry"
    KNOWN = "known already"
    SETTLED = "decided by somebody meanwhile"


@dataclass(frozen=True, slots=True)
class Findings:
    """What was found in a conversation, and how much was dropped for which reason."""

    candidates: list[Candidate]
    dropped: Counter[str] = field(default_factory=Counter)
