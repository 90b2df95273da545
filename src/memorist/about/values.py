"""A profile of a person, as values."""

import re
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from memorist.memories.values import Memory

_WORDS = re.compile(r"\w+")

USER = "User"
"""Who is meant where a fact names nobody that it tells of."""

OTHER = "other"
"""The topic of what has none, or whose topic nobody has read yet."""

SLOTS = {
    "identity": "Name and identity",
    "home": "Home",
    "work": "Work",
    "study": "Study",
    "relation": "Family and people",
    "pet": "Pets",
    "health": "Health",
    "diet": "Diet",
    "taste": "Tastes",
    "goal": "Goals",
    "plan": "Plans",
    "habit": "Routines",
    "possession": "Possessions",
    "instruction": "Instructions",
    "project": "Projects",
    "decision": "Decisions",
    OTHER: "Other",
}
"""What a profile is made of, in its order. Events are in the timeline alone."""

TIMELINE = ("event", "plan")


@dataclass(frozen=True, slots=True)
class ProfileLine:
    """One fact as a profile has it. `person` is of whom it tells, `date` when it was said or happened."""

    memory_id: str
    text: str
    topic: str
    person: str
    date: datetime
    day: str | None
    """The day, month or year that the text names, as far as it does: `2027-05-08`, `2027-05` or `2027`."""
    importance: float
    """From 0 to 1; 1 where somebody stated it."""
    stated: int
    sources: tuple[str, ...]
    """The messages it was found in, and what it is said to come from."""
    excerpt: str | None = None


def sources_of(memory: Memory) -> tuple[str, ...]:
    """The messages that a fact was found in, and what it is said to come from."""
    named = [*(memory.meta_texts("sources") or ()), memory.meta_text("message_id"), memory.source_ref]
    return tuple(dict.fromkeys(source for source in named if source is not None))


@dataclass(frozen=True, slots=True)
class ProfileSlot:
    """Lines of one topic, the newest and most important first, and how many more there are."""

    topic: str
    heading: str
    lines: tuple[ProfileLine, ...]
    more: int


@dataclass(frozen=True, slots=True)
class PersonProfile:
    """What is known of one person: how many facts, those of each topic, and events and plans by their dates."""

    person: str
    facts: int
    slots: tuple[ProfileSlot, ...]
    timeline: tuple[ProfileLine, ...]
    earlier: int
    """How many events and plans were before those of the timeline."""


@dataclass(frozen=True, slots=True)
class Mention:
    """Somebody or something that facts name: what it is called to be (`sister`), in how many facts, and which."""

    name: str
    relation: str | None
    facts: int
    lines: tuple[ProfileLine, ...]


@dataclass(frozen=True, slots=True)
class ReplacedFact:
    """A fact that was retired or merged lately, and what stands in its place now; None where nothing does."""

    at: datetime
    memory_id: str
    text: str
    by_id: str | None
    by_text: str | None
    reason: str
    was_merged: bool = False
    """Whether the other says the same, or more: nothing is untrue now."""


@dataclass(frozen=True, slots=True)
class OpenDoubt:
    """Two facts that may contradict each other, or say the same, until somebody decides."""

    id: str
    at: datetime
    newer_id: str
    newer: str
    older_id: str
    older: str
    reason: str


@dataclass(frozen=True, slots=True)
class WrittenProfile:
    """What a language model wrote of the same facts: which one, and when. The facts count, not this."""

    text: str
    model: str
    at: datetime


@dataclass(frozen=True, slots=True)
class About:
    """What is known of the one who was asked for or, where nobody was, of the user and of all who speak."""

    person: str | None
    people: tuple[PersonProfile, ...]
    mentioned: tuple[Mention, ...]
    more_mentioned: int
    replaced: tuple[ReplacedFact, ...]
    more_replaced: int
    new: tuple[ProfileLine, ...]
    more_new: int
    doubts: tuple[OpenDoubt, ...]
    more_doubts: int
    written: WrittenProfile | None = None
    """Where it was asked for."""


# Names


class NamedKind(StrEnum):
    PERSON = "person"
    PLACE = "place"
    PROJECT = "project"
    THING = "thing"


@dataclass(frozen=True, slots=True)
class NamedThing:
    """Somebody or something that facts name or tell of, and these facts, the newest first."""

    key: str
    name: str
    kind: NamedKind
    relation: str | None
    lines: tuple[ProfileLine, ...]


@dataclass(frozen=True, slots=True)
class NameGraph:
    """All that some facts name, by key, what most of them name first; and how many facts name each two together."""

    things: dict[str, NamedThing]
    links: dict[str, Counter[str]]
    facts: int
    is_whole: bool
    """Whether all facts were read, or the newest alone."""

    def find(self, name: str) -> NamedThing | None:
        return self.things.get(key_of(name))

    def search(self, text: str) -> list[NamedThing]:
        """What has every word of a text in its name, what most facts name first."""
        words = text.casefold().split()
        return [one for one in self.things.values() if all(word in one.key for word in words)]

    def neighbours(self, key: str) -> list[tuple[NamedThing, int]]:
        """What is named together with something, and in how many facts, the most first."""
        found = self.links.get(key, Counter()).items()
        return sorted(((self.things[other], count) for other, count in found), key=lambda one: (-one[1], one[0].key))

    def together(self, key: str, other: str) -> tuple[ProfileLine, ...]:
        """The facts that name both."""
        ids = {line.memory_id for line in self.things[other].lines} if other in self.things else set()
        return tuple(line for line in self.things[key].lines if line.memory_id in ids)


def key_of(name: str) -> str:
    return " ".join(_WORDS.findall(name.casefold()))
