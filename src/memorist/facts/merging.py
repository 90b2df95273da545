"""Two facts that sound alike and may tell of two things: "mother died in 2019", "father died in 2019". Pure.

Words that stand for each other in the same place (bought and sold, oldest and youngest) are near each other to any
model, so a model takes such facts for the same. To merge them would retire a true one.
"""

import re
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher

from memorist.facts.plain.wording import counted_words
from memorist.words import terms

_LONGEST_FACT = 2000
# "left" for "arrived in", "rents out" for "owns": a word, and one that goes with it. More is said otherwise altogether.
_LONGEST_WORDS = 3
_FEWEST_SHARED = 2
# They say little by themselves: "is a teacher" and "works as a teacher" are the same.
_SMALL = frozenset({"is", "am", "are", "was", "were", "be", "been", "has", "have", "had", "does", "do", "did"})
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
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    others = [(old[a:b], new[c:d]) for what, a, b, c, d in matcher.get_opcodes() if what != "equal"]
    shared = sum(block.size for block in matcher.get_matching_blocks())
    return shared >= _FEWEST_SHARED and all(_stand_for_each_other(*one) for one in others)


def _stand_for_each_other(one: Sequence[str], other: Sequence[str]) -> bool:
    if _SMALL.issuperset(one) or _SMALL.issuperset(other):
        return False
    # Of a script without spaces a word is a whole sentence, and its terms are many.
    old, new = terms(" ".join(one)), terms(" ".join(other))
    return old != new and len(old) + len(new) <= _LONGEST_WORDS


def _is_turned(old: Sequence[str], new: Sequence[str]) -> bool:
    """Whether a part was only put elsewhere: "moved to Rome in 2019", "in 2019 moved to Rome"."""
    start = 0
    while start < len(old) and old[start] == new[start]:
        start += 1
    end = len(old)
    while end > start and old[end - 1] == new[end - 1]:
        end -= 1
    one, other = list(old[start:end]), list(new[start:end])
    return any(one[at:] + one[:at] == other for at in range(len(one))) or not one
