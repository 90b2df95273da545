"""Two facts that sound alike and may tell of two things: "mother died in 2019", "father died in 2019". Pure.

Words that stand for each other in the same place (bought and sold, oldest and youngest) are near each other to any
model, so a model takes such facts for the same. To merge them would retire a true one.
"""

import re
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher

from memorist.facts.plain.wording import counted_words
from memorist.languages import is_english
from memorist.words import terms

_LONGEST_FACT = 2000
# Aligning takes the square of it, and what differs in more is said otherwise altogether.
_MOST_COMPARED = 100
# "left" for "arrived in", "rents out" for "owns": a word, and one that goes with it. More is said otherwise altogether.
_LONGEST_WORDS = 3
_FEWEST_SHARED = 2
# They say little by themselves: "is a teacher" and "works as a teacher" are the same.
_SMALL_WORDS = "is am are was were be been being has have had does do did really very"
_SMALL = frozenset(_SMALL_WORDS.split())
# The same in German, Spanish and French: as English words some of them would say much.
_SMALL_WORDS_ABROAD = """
bin bist ist sind war waren habe hast hat haben hatte hatten soy eres es somos son era fue estoy está están tengo tiene
tienen suis est sommes sont étais était ai avons ont avais avait
"""
_SMALL_ABROAD = frozenset(_SMALL_WORDS_ABROAD.split())
# Beside a verb: "went to Rome" is "visited Rome".
_PREPOSITIONS = frozenset({"to", "in", "at", "as", "of", "for"})
# Everyday words of one line mean the same, or so nearly that one line of the two is enough. No model that is at hand
# tells these from opposites: to the embedder sold and bought are nearer than lives and resides, and to the comparer
# both are the same. A language model is asked about the rest, where there is one.
_ALIKE = (
    "like likes liked love loves loved enjoy enjoys enjoyed adore adores adored",
    "live lives lived reside resides resided wohne wohnt lebe lebt habite vis vit vivo vive resido",
    "go goes went visit visits visited",
    "learn learns learned learning study studies studied studying",
    "buy buys bought purchase purchases purchased",
    "begin begins began start starts started",
    "want wants wanted wish wishes wished",
    "plan plans planned intend intends intended",
    "named called",
    "mother mom mum",
    "father dad",
    "child children kid kids",
    "job work",
    "big large",
    "ill sick",
    "flat apartment",
    "doctor physician",
)
_MEANING = {term: line for line in _ALIKE for word in line.split(" ") for term in terms(word)}
_DATE = re.compile(r" ?\([^()]{0,40}\d[^()]{0,20}\)")


def has_a_date(text: str) -> bool:
    """Whether a text has a date in brackets, as those have that were learned from what somebody said of a day."""
    return _DATE.search(text) is not None


def without_dates(text: str) -> str:
    """The text without its dates in brackets: what happens on one day need not be one matter."""
    return _DATE.sub("", text)


def has_another_word(older: str, newer: str) -> bool:
    """Whether two facts are equal but for a word in the place of another, or for two that changed places."""
    if max(len(older), len(newer)) > _LONGEST_FACT:
        return False
    old, new = counted_words(older), counted_words(newer)
    if Counter(old) == Counter(new):
        return not _is_turned(old, new)
    first, last = _shared_ends(old, new)
    shared = first + last
    old, new = old[first : len(old) - last], new[first : len(new) - last]
    if max(len(old), len(new)) > _MOST_COMPARED:
        return False
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    shared += sum(block.size for block in matcher.get_matching_blocks())
    small = _SMALL if is_english(f"{older} {newer}") else _SMALL_ABROAD
    others = [
        (old[a:b], new[c:d])
        for what, a, b, c, d in matcher.get_opcodes()
        if what != "equal" and not _mean_the_same(old[a:b], new[c:d], small)
    ]
    return shared >= _FEWEST_SHARED and bool(others) and all(_stand_for_each_other(*one, small) for one in others)


def _shared_ends(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """How many words two facts share at their beginning, and how many of the others at their end."""
    fewest = min(len(old), len(new))
    first = next((at for at in range(fewest) if old[at] != new[at]), fewest)
    last = next((at for at in range(fewest - first) if old[-1 - at] != new[-1 - at]), fewest - first)
    return first, last


def _mean_the_same(one: Sequence[str], other: Sequence[str], small: frozenset[str]) -> bool:
    meaning = _meaning(one, small)
    return bool(meaning) and meaning == _meaning(other, small)


def _meaning(words: Sequence[str], small: frozenset[str]) -> list[str]:
    telling = [word for word in words if word not in small and word not in _PREPOSITIONS]
    return [_MEANING.get(term, term) for term in terms(" ".join(telling))]


def _stand_for_each_other(one: Sequence[str], other: Sequence[str], small: frozenset[str]) -> bool:
    if small.issuperset(one) or small.issuperset(other):
        return False
    # Of a script without spaces a word is a whole sentence, and its terms are many.
    return len(terms(" ".join(one))) + len(terms(" ".join(other))) <= _LONGEST_WORDS


def _is_turned(old: Sequence[str], new: Sequence[str]) -> bool:
    """Whether a part was only put elsewhere: "moved to Rome in 2019", "in 2019 moved to Rome"."""
    first, last = _shared_ends(old, new)
    one, other = list(old[first : len(old) - last]), list(new[first : len(new) - last])
    return any(one[at:] + one[:at] == other for at in range(len(one))) or not one
