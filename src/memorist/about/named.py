"""Whom and what facts name, and which of them are named together. Pure."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from itertools import combinations

from memorist.about.lines import newest_first, person_of
from memorist.about.names import Named
from memorist.about.relations import told
from memorist.about.subjects import in_small_letters
from memorist.about.values import USER, NamedKind, NamedThing, NameGraph, ProfileLine, key_of
from memorist.memories.values import Memory
from memorist.platform import folding

_WORDS = re.compile(r"\w+")
_PLACE = re.compile(r"\b(?:in|to|near|from|visit(?:ed|s)?) $", re.IGNORECASE)
_PERSON = re.compile(r"\b(?:met|with|married|hired|asked|told|helped|called|loves|phoned) $", re.IGNORECASE)
_USER = key_of(USER)
_MOST_TOGETHER = 12
"""Of a fact that names more, the first are linked: a list of names says little of any two."""
_MOST_WORDS = 40
"""What has more is no name that others would write out."""
_LOOKED_BACK = 20


def graph_of(
    facts: Sequence[Memory],
    lines_of_facts: Sequence[ProfileLine],
    names_of: Callable[[Memory], Sequence[Named]],
    *,
    is_whole: bool,
) -> NameGraph:
    """What the facts name. A name that only begins sentences counts where another fact, or who speaks, has it, or where
    it does what people do and no fact has it in small letters.
    """
    small = in_small_letters(fact.content for fact in facts)
    spelled: dict[str, str] = {_USER: USER}
    relations: defaultdict[str, list[str]] = defaultdict(list)
    kinds: defaultdict[str, Counter[NamedKind]] = defaultdict(Counter)
    for fact in facts:
        for name, relation, is_guess in names_of(fact):
            if is_guess and name.casefold() in small:
                continue
            key = key_of(name)
            spelled.setdefault(key, name)
            kinds[key][NamedKind.PERSON if is_guess else _kind(fact.content, name, relation)] += 1
            if relation:
                relations[key].append(relation)
        person = person_of(fact)
        spelled.setdefault(key_of(person), person)
        kinds[key_of(person)][NamedKind.PERSON] += len(facts)
        if fact.project:
            name = _project_name(fact.project)
            spelled.setdefault(key_of(name), name)
            kinds[key_of(name)][NamedKind.PROJECT] += len(facts)
    spelled.pop("", None)
    longest: dict[str, int] = {}
    for words in map(str.split, spelled):
        longest[words[0]] = max(len(words), longest.get(words[0], 0))
    lines: defaultdict[str, list[ProfileLine]] = defaultdict(list)
    links: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for fact, line in zip(facts, lines_of_facts, strict=True):
        keys = _members(fact, spelled, longest)
        for key in keys:
            lines[key].append(line)
        for one, other in combinations(keys[:_MOST_TOGETHER], 2):
            links[one][other] += 1
            links[other][one] += 1
    ordered = sorted(lines, key=lambda key: (-len(lines[key]), key))
    things = {
        key: NamedThing(
            key,
            spelled[key],
            kinds[key].most_common(1)[0][0],
            told(relations.get(key, ())),
            tuple(newest_first(lines[key])),
        )
        for key in ordered
    }
    return NameGraph(things, dict(links), len(facts), is_whole)


def _members(fact: Memory, spelled: dict[str, str], longest: dict[str, int]) -> list[str]:
    """Whom a fact tells of, its project, and whom and what it names, each once; of names in names the longest.

    `longest` has how many words a name has at most that begins with a word.
    """
    found = [key_of(person_of(fact))]
    if fact.project:
        found.append(key_of(_project_name(fact.project)))
    words = _WORDS.findall(folding.fold(fact.content))
    at = 0
    while at < len(words):
        for size in range(min(longest.get(words[at], 0), _MOST_WORDS), 0, -1):
            key = " ".join(words[at : at + size])
            if key in spelled and key != _USER:
                found.append(key)
                at += size - 1
                break
        at += 1
    return [key for key in dict.fromkeys(found) if key]


def _kind(text: str, name: str, relation: str | None) -> NamedKind:
    """What a name is by the word before it: a guess, of which the most frequent counts."""
    at = max(text.find(name), 0)
    before = max(at - _LOOKED_BACK, 0)
    if relation or _PERSON.search(text, before, at):
        return NamedKind.PERSON
    return NamedKind.PLACE if _PLACE.search(text, before, at) else NamedKind.THING


def _project_name(project: str) -> str:
    """The last part of where a project is."""
    return project.rstrip("/").rsplit("/", 1)[-1]
