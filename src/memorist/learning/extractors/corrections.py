"""What a speaker takes back or corrects: "I have 47 cats. Just kidding, I have one." Pure."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from enum import StrEnum, auto
from itertools import takewhile

from memorist.learning.extractors.patterns import compiled
from memorist.learning.extractors.sentences import GAP, sentence_spans

Span = tuple[int, int]

# What is taken back is taken back in the first words.
_FAR = 200


class Correction(StrEnum):
    """What a sentence does to the one before it."""

    BARE = auto()
    """It takes it back and says no more: "Just kidding." """
    ANEW = auto()
    """It takes it back, and says something that is understood by itself: "Scratch that, I live in Bonn." """
    PART = auto()
    """It says a part of it otherwise, and needs it: "Sorry, I meant wasps." """


def correction_in(sentence: str) -> tuple[Correction, int] | None:
    """What a sentence does to the one before, and where what it says instead begins; None where it does nothing."""
    taken = _TAKES_BACK.match(sentence)
    if taken is not None:
        rest = sentence[taken.end() :]
        if not re.search(r"\w", rest):
            return Correction.BARE, taken.end()
        return (Correction.ANEW if _BY_ITSELF.match(rest) else Correction.PART), taken.end()
    return (Correction.PART, 0) if _CORRECTS.match(sentence) else None


def takes_back(message: str) -> bool:
    """Whether a message begins by taking back what was said before it."""
    said = correction_in(message.lstrip()[:_FAR])
    return (said is not None and said[0] is not Correction.PART) or _LAUGHS.fullmatch(message[:_FAR]) is not None


def is_last_said(excerpt: str, message: str) -> bool:
    """Whether a message states nothing more after some of its words: that is what the next message takes back."""
    after = message.partition(excerpt)[2]
    return all(after[start:end].endswith("?") for start, end in sentence_spans(after))


def without_taken_back(own: str) -> str:
    """The message with everything painted over that its next sentence takes back, and the words that do so."""
    sentences = sentence_spans(own)
    painted = list(own)
    for number, (start, end) in enumerate(sentences):
        said = correction_in(own[start:end])
        if said is not None and said[0] is not Correction.PART:
            first, last = sentences[max(0, number - 1)][0], start + said[1]
            painted[first:last] = GAP * (last - first)
    return "".join(painted)


def with_corrections(own: str, sentences: Sequence[Span], kept: tuple[Span, ...]) -> tuple[Span, ...]:
    """Some of a message's sentences, with those that correct the last of them, and with the one that the first
    corrects.
    """
    at = bisect_right(sentences, kept[0][0], key=lambda span: span[1])
    before = sentences[max(0, at - 1) : at] if corrects(own, kept[0]) else []
    after = bisect_left(sentences, kept[-1][1], key=lambda span: span[0])
    return (*before, *kept, *takewhile(lambda span: corrects(own, span), sentences[after:]))


def corrects(own: str, span: Span) -> bool:
    return correction_in(own[slice(*span)]) is not None


_LEAD = r"""
    [\s"'(*]*(?:(?:no|oh|ok|okay|actually|wait|hmm|well|sorry|lol|haha+|hehe+|hah?|oops|nah)[,.!…\s]+)*
"""
_TAKES_BACK = compiled(rf"""
    {_LEAD}(?:(?:just |only |i'm |i am |i was |totally )*(?:kidding|joking|jk\b)|scratch that|never ?mind(?: that)?|
    forget (?:that|it|what i (?:just )?said)|ignore that|strike that|not really(?=[,.!…]|$)|wait,? no\b|no,? wait\b|
    on second thoughts?|i changed my mind|i take (?:that|it) back)
    (?=\s*(?:[,.!…:;)*–—-]|$|(?:I|we|my|our)\b))[\s,.!…:;)*–—-]*(?:(?:lol|haha+|actually)[,.!\s]+)*
""")
# What it says otherwise may be a word alone.
_CORRECTS = compiled(rf"""
    {_LEAD}(?:(?:i|we) mean[t]?\b(?! (?:it|that|to|well)\b)|correction\s*:|make that\b|(?:or )?rather,)|
    (?:no|nah|haha+|lol)[,.!\s]+(?:(?:no|nah),? )?(?:just|only|it's|it is|that's|more like)\b
""")
_BY_ITSELF = compiled(r"(?:I|we|my|our)\b(?! mean)")
_LAUGHS = compiled(r"\W*(?:(?:lol|haha+|hehe+|/s)\W*)+")
