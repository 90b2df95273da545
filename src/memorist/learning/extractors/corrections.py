"""What a speaker takes back or corrects: "I have 47 cats. Just kidding, I have one." Pure."""

import re
from bisect import bisect_left
from collections.abc import Sequence, Set
from enum import StrEnum, auto

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


def takes_back(message: str) -> bool:
    """Whether a message begins by plainly taking back what the one before it says. What may as well answer that, such
    as "not really", does not.
    """
    text = message[:_FAR]
    sentences = sentence_spans(text)
    said = _corrections(text, sentences).get(0)
    return said is not None and said[0] is not Correction.PART and bool(_WITHDRAWS.match(text, sentences[0][0]))


def correction_of_before(message: str) -> str:
    """The sentence by which a message begins with saying a part of the one before it otherwise; '' where it does not.

    What may as well answer somebody else, such as "no, just one", does not.
    """
    text = message[:_FAR]
    sentences = sentence_spans(text)
    first = text[slice(*sentences[0])] if sentences else ""
    is_said_otherwise = _MEANT.match(first) or _is_withdrawn_in_part(first)
    return first if is_said_otherwise and not first.endswith("?") else ""


def is_last_said(excerpt: str, message: str) -> bool:
    """Whether a message says nothing more after some of its words: that is what the next message takes back."""
    return bool(excerpt) and excerpt in message and not sentence_spans(message.partition(excerpt)[2])


def without_taken_back(own: str) -> str:
    """The message with everything painted over that its next sentence takes back, and the words that do so."""
    sentences = sentence_spans(own)
    painted = list(own)
    for number, (correction, length) in _corrections(own, sentences).items():
        if correction is not Correction.PART:
            start = sentences[number][0]
            first = sentences[number - 1][0] if follows_directly(own, sentences, number) else start
            painted[first : start + length] = GAP * (start + length - first)
    return "".join(painted)


def correcting(own: str, sentences: Sequence[Span]) -> frozenset[Span]:
    """Those of a message's sentences that correct the one before, and are not understood without it."""
    return frozenset(sentences[number] for number in _corrections(own, sentences))


def with_corrections(
    own: str, sentences: Sequence[Span], corrects: Set[Span], kept: tuple[Span, ...]
) -> tuple[Span, ...]:
    """Some of a message's sentences, with those that correct the last of them, and with what the first corrects."""

    def goes_on(number: int) -> bool:
        return sentences[number] in corrects and follows_directly(own, sentences, number)

    at = first = bisect_left(sentences, kept[0])
    while first < len(sentences) and goes_on(first):
        first -= 1
    after = bisect_left(sentences, kept[-1][1], key=lambda span: span[0])
    last = next((number for number in range(after, len(sentences)) if not goes_on(number)), len(sentences))
    return (*sentences[first:at], *kept, *sentences[after:last])


def follows_directly(text: str, sentences: Sequence[Span], number: int) -> bool:
    """Whether there is a sentence before one, and nothing between them that was painted over."""
    return number > 0 and GAP not in text[sentences[number - 1][1] : sentences[number][0]]


def _corrections(own: str, sentences: Sequence[Span]) -> dict[int, tuple[Correction, int]]:
    """What sentences do to the ones before them, by their numbers, and how long the words are that do so."""
    found: dict[int, tuple[Correction, int]] = {}
    texts = [own[start:end] for start, end in sentences]
    for number, sentence in enumerate(texts):
        said = _correction_in(sentence)
        if said is None:
            continue
        found[number] = said
        if said[0] is Correction.BARE and number + 1 < len(texts) and _is_a_part(texts[number + 1]):
            found[number] = found[number + 1] = Correction.PART, 0
    return found


def _correction_in(sentence: str) -> tuple[Correction, int] | None:
    taken = _TAKES_BACK.match(sentence)
    if taken is not None:
        rest = sentence[taken.end() :]
        if not re.search(r"\w", rest):
            return Correction.BARE, taken.end()
        return (Correction.ANEW if _BY_ITSELF.match(rest) else Correction.PART), taken.end()
    is_aside = sentence.endswith("?")
    return (Correction.PART, 0) if _CORRECTS.match(sentence) and not is_aside else None


def _is_withdrawn_in_part(sentence: str) -> bool:
    """Whether a sentence takes back what is before it, and goes on from that: "Scratch that, they moved it to May." """
    said = _correction_in(sentence)
    return said is not None and said[0] is Correction.PART and _WITHDRAWS.match(sentence) is not None


def _is_a_part(sentence: str) -> bool:
    """Whether a sentence after one that takes back may say a part of what is taken back: "No wait. Three dogs." """
    is_other = _BY_ITSELF.match(sentence) or _TAKES_BACK.match(sentence) or _LAUGHS.fullmatch(sentence)
    return not is_other and not sentence.endswith("?")


_LEAD = r"""
    [\s"'(*]*(?:(?:no|oh|ok|okay|actually|wait|hmm|well|sorry|lol|haha+|hehe+|hah?|oops|nah)[,.!…\s]+)*
"""
_PLAINLY = r"""
    (?:just |only |i'm |i am |i was |totally )*(?:kidding|joking|jk\b)|(?:scratch|strike) that|i take that back
"""
_WITHDRAWS = compiled(rf"{_LEAD}(?:{_PLAINLY})")
# To another's words "not really" and "no wait" may be an answer, and "never mind" is about a question as often.
_TAKES_BACK = compiled(rf"""
    {_LEAD}(?:(?:{_PLAINLY}|not really(?=\s*[,:;–—-]\s*(?:I|we|my|our)\b)|wait,? no\b|no,? wait\b)
    (?=\s*(?:[,.!…:;)*–—-]|$|(?:I|we|my|our)\b))|(?:scratch|strike) that(?=\ (?:it|it's|its|they|he|she|make)\b))
    [\s,.!…:;)*–—-]*(?:(?:lol|haha+|actually)[,.!\s]+)*
""")
_AMOUNT = r"""
    (?:\d|an?\b|the\b|(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty)\b|
    (?-i:[A-Z]\w))
"""
# What it says otherwise may be a word alone.
_OTHERWISE = rf"""
    i meant?\b(?! (?:it|that|to|well|a lot)\b|,? (?:who|how|what|why)\b)|correction\s*:|make that\s+{_AMOUNT}
"""
_MEANT = compiled(rf"{_LEAD}(?:{_OTHERWISE})")
_CORRECTS = compiled(rf"""
    {_LEAD}(?:{_OTHERWISE}|(?:or )?rather,|not really\W*$)|
    (?:no|nah|haha+|lol)[,.!\s]+(?:(?:no|nah),? )?
    (?:(?:just|only|more like)\b|(?:it's|it is|that's)\b(?! (?:not|ok|okay|fine|all|right)\b))
""")
_BY_ITSELF = compiled(r"(?:I|we|my|our)\b(?! mean)")
_LAUGHS = compiled(r"\W*(?:(?:lol|haha+|hehe+|/s)\W*)+")
