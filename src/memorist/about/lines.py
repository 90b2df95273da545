"""Facts as the lines of a profile, and lines in their order. Pure."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from memorist.about.days import day_in, day_near
from memorist.about.names import Named, folded_names, names_in
from memorist.about.relations import bearers
from memorist.about.subjects import in_small_letters
from memorist.about.values import (
    OTHER,
    SLOTS,
    TIMELINE,
    USER,
    Mention,
    PersonProfile,
    ProfileLine,
    ProfileSlot,
    sources_of,
)
from memorist.memories.governance import TESTED
from memorist.memories.values import Governor, Kind, Memory

_TOLD_BY = (Governor.COMPANION, Governor.AGENT_TOOLS, Governor.NATIVE)
_WORDS = re.compile(r"\w+")
_LISTED = 4
"""A list of all topics is this many times as long as the lines of one."""

T = TypeVar("T")


def is_of_profile(memory: Memory) -> bool:
    """Whether it is a fact that somebody told: no named memory, no chunk of a coding assistant, no bookkeeping."""
    is_told = memory.kind is Kind.FACT and memory.name is None and memory.governed_by in _TOLD_BY
    return is_told and memory.category != TESTED


def person_of(memory: Memory) -> str:
    return memory.meta_text("about") or USER


def line_of(memory: Memory, topic: str) -> ProfileLine:
    importance = memory.relevance if memory.relevance is not None else memory.confidence
    said = memory.event_time or memory.created_at
    day = day_in(memory.content)
    if day is None and topic in TIMELINE:
        day = day_near(memory.content, said.date(), ahead=topic == "plan")
    return ProfileLine(
        memory.id,
        memory.content,
        topic,
        person_of(memory),
        said,
        day,
        1.0 if importance is None else importance,
        max(memory.meta_whole("stated") or 1, 1),
        sources_of(memory),
        memory.excerpt,
    )


def profile_of(person: str, lines: Sequence[ProfileLine], limit: int, others: int | None = None) -> PersonProfile:
    """The slots that have lines, at most `limit` each, and the latest of the timeline, oldest first. What has no topic
    may have more lines than that: `others`.
    """
    slots = []
    for topic, heading in SLOTS.items():
        if found := ordered([line for line in lines if line.topic == topic]):
            most = limit if others is None or topic != OTHER else others
            slots.append(ProfileSlot(topic, heading, tuple(found[:most]), max(0, len(found) - most)))
    dated = sorted((line for line in lines if line.topic in TIMELINE), key=lambda line: (_day(line), line.memory_id))
    latest = tuple(dated[-_LISTED * limit :])
    return PersonProfile(person, len(lines), tuple(slots), latest, len(dated) - len(latest))


def ordered(lines: Sequence[ProfileLine]) -> list[ProfileLine]:
    """The newest and most important first: a line's rank is the sum of its ranks by date and by importance."""
    newest = newest_first(lines)
    by_date = _ranks(newest, lambda line: line.date)
    by_importance = _ranks(
        sorted(newest, key=lambda line: (line.importance, line.stated), reverse=True),
        lambda line: (line.importance, line.stated),
    )
    return sorted(newest, key=lambda line: by_date[line.memory_id] + by_importance[line.memory_id])


def newest_first(lines: Iterable[ProfileLine]) -> list[ProfileLine]:
    return sorted(lines, key=lambda line: (line.date, line.memory_id), reverse=True)


def first(lines: Sequence[T], limit: int) -> tuple[tuple[T, ...], int]:
    """The first of a list of all topics, and how many more there are."""
    most = _LISTED * limit
    return tuple(lines[:most]), max(0, len(lines) - most)


@dataclass(frozen=True, slots=True)
class Occurrences:
    """A name, what its bearer is said to be, and the lines that name it."""

    name: str
    relation: str | None
    lines: tuple[ProfileLine, ...]


def occurrences_in(
    lines: Sequence[ProfileLine], names_of: Callable[[str, str], Iterable[Named]] = names_in
) -> list[Occurrences]:
    """Whom and what the lines name, what most of them name first. Nobody is named in lines that tell of them. Where a
    name is that of several, as a brother and a colleague, each has the lines that say who is meant, and the others are
    nobody's. `names_of` finds names in a text that is about a person.
    """
    small = in_small_letters(line.text for line in lines)
    spelled: dict[str, str] = {}
    relations: dict[str, dict[str, str]] = {}
    by_word: dict[str, dict[str, ProfileLine]] = {}
    folded = {line.memory_id: line.text.casefold() for line in lines}
    for line in lines:
        for word in _WORDS.findall(folded[line.memory_id]):
            by_word.setdefault(word, {})[line.memory_id] = line
        for name, relation, is_guess in names_of(line.text, line.person):
            key = name.casefold()
            if is_guess and key in small:
                continue
            spelled.setdefault(key, name)
            if relation:
                relations.setdefault(key, {})[line.memory_id] = relation
    found: list[Occurrences] = []
    for key, name in spelled.items():
        near = by_word.get(_WORDS.findall(key)[0], {}).values()
        naming = tuple(
            line for line in near if line.person.casefold() != key and folded_names(folded[line.memory_id], key)
        )
        found += _bearers(name, relations.get(key, {}), naming)
    return sorted(found, key=lambda one: (-len(one.lines), one.relation is None, one.name.casefold()))


def _bearers(name: str, relations: Mapping[str, str], naming: Sequence[ProfileLine]) -> Iterator[Occurrences]:
    """Those who have a name, by what the lines that name it say of whom they mean."""
    meant = bearers(relations.values())
    words = [word for word in dict.fromkeys(meant.values()) if word]
    if len(words) < 2:
        yield Occurrences(name, next(iter(words), None), tuple(naming))
        return
    lines: dict[str | None, list[ProfileLine]] = {}
    for line in naming:
        said = relations.get(line.memory_id)
        lines.setdefault(None if said is None else meant[said], []).append(line)
    for word, of_one in lines.items():
        yield Occurrences(name, word, tuple(of_one))


def mentions_of(found: Sequence[Occurrences], limit: int) -> tuple[tuple[Mention, ...], int]:
    """The first of those that are named, with at most `limit` lines each, and how many more there are."""
    most = _LISTED * limit
    shown = (Mention(one.name, one.relation, len(one.lines), tuple(ordered(one.lines)[:limit])) for one in found[:most])
    return tuple(shown), max(0, len(found) - most)


def _day(line: ProfileLine) -> str:
    return line.day or f"{line.date:%Y-%m-%d}"


def _ranks(in_order: Sequence[ProfileLine], key: Callable[[ProfileLine], object]) -> dict[str, int]:
    """The rank of each line by its id; equal ones share theirs."""
    ranks: dict[str, int] = {}
    last: object = None
    rank = -1
    for line in in_order:
        if rank < 0 or key(line) != last:
            rank, last = rank + 1, key(line)
        ranks[line.memory_id] = rank
    return ranks
