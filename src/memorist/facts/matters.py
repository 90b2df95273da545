"""Whether two facts tell of one matter, where one of them is a sentence that somebody said. Pure.

The network of the local judge was trained on facts that were written as such, and on pairs that tell of one matter.
What people say in passing is of many matters, and it takes "I finally fixed the sink" for the end of almost anything.
"""

from enum import StrEnum, auto

from memorist.facts.merging import without_dates
from memorist.memories import lifecycle
from memorist.memories.values import Memory
from memorist.words import question_terms, terms


class Matter(StrEnum):
    """How two facts come to be compared."""

    STATED = auto()
    """Both were written as facts: the network knows what to make of them."""
    SHARED = auto()
    """One was said in passing, and they share a word that tells something."""
    STRANGE = auto()
    """One was said in passing, and they share no such word."""
    AT_ONCE = auto()
    """Both were said in one message: whoever said so meant both."""


def matter_of(newer: Memory, older: Memory) -> Matter:
    """Who speaks is in every fact of theirs, and makes none of them one matter."""
    both = (newer, older)
    if not any(one.meta_text(lifecycle.EXTRACTOR) == lifecycle.LOCAL_EXTRACTOR for one in both):
        return Matter.STATED
    said_in = newer.meta_text("message_id")
    if said_in is not None and said_in == older.meta_text("message_id"):
        return Matter.AT_ONCE
    speakers = {term for one in both for term in terms(one.meta_text("about") or "")}
    words, others = (telling(one.content) for one in both)
    return Matter.SHARED if (words & others) - speakers else Matter.STRANGE


def telling(text: str) -> set[str]:
    """The terms of a text that sentences of two matters do not share by chance."""
    return set(question_terms(without_dates(text))) - _BY_CHANCE


# What sentences of any two matters share.
_BY_CHANCE = frozenset(
    terms("""
    user asked said told new old now just still really very much day days week weeks month months year years time times
    today tonight yesterday tomorrow thing things lot bit way one two first last next all some any got get gets getting
    started stopped like going back down up he she him his hers me us you your yours since because lol btw tho though
    """)
)
