"""What an extracted memory is: one list of kinds, and the words that two published APIs have for them. Pure."""

from dataclasses import dataclass
from enum import StrEnum

from memorist.memories.values import Trust


class Found(StrEnum):
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


_CATEGORIES: dict[Vocabulary, dict[Found, str]] = {
    Vocabulary.COMPANION: {
        Found.GOAL: "goal",
        Found.COMMITMENT: "goal",
        Found.PREFERENCE: "preference",
        Found.CONVENTION: "preference",
        Found.INSIGHT: "insight",
        Found.FACT: "history",
        Found.DECISION: "history",
        Found.SOLUTION: "history",
        Found.SUMMARY: "history",
    },
    Vocabulary.CODING: {
        Found.GOAL: "fact",
        Found.COMMITMENT: "fact",
        Found.PREFERENCE: "preference",
        Found.CONVENTION: "pattern",
        Found.INSIGHT: "fact",
        Found.FACT: "fact",
        Found.DECISION: "decision",
        Found.SOLUTION: "solution",
        Found.SUMMARY: "summary",
    },
}


def category_of(found: Found, vocabulary: Vocabulary) -> str:
    return _CATEGORIES[vocabulary][found]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory that was found. `excerpt` stands, word for word, in message number `source` of what was read."""

    found: Found
    content: str
    excerpt: str
    confidence: float
    source: int
    trust: Trust = Trust.USER
