"""Verbs of English whose form tells when something is: pasts that do not end in -ed, and what took a time. Pure."""

import re

from memorist.learning.extractors.patterns import words

# What is done within a time. Not what is arranged: who booked a flight "in two weeks" flies then.
_COMPLETED = "|".join(
    sorted(
        words("""
            learned learnt mastered memorized wrote written rewrote rewritten read reread built rebuilt finished
            completed lost gained grew grown shed earned saved spent raised doubled tripled improved recovered healed
            painted renovated repaired restored knitted sewed sewn solved sold published recorded composed produced
            translated developed designed migrated shipped watched ate eaten drank drunk ran walked hiked cycled climbed
            covered crossed done visited travelled traveled reached won dug
        """)
    )
)
_ADVERBS = r"(?: (?:not|never|ever|also|still|now|just|already|\w{1,20}ly)){0,3}"
_VERB = re.compile(
    # "To read" and "could read" tell nothing by themselves.
    r"\b(?:to|can|could|might|would|should) (?:read|reread)\b|"
    # "Will be finished", "and has an exam", "that they need surgery": of what is to come, whatever is done already.
    rf"(?P<coming>(?:\b(?:am|is|are|be|being|gets?|getting|will|shall|going|gonna|must|isn't|aren't|won't)\b|"
    rf"'(?:m|re|ll)\b){_ADVERBS}(?: (?:{_COMPLETED})\b)?|"
    r"\b(?:and|but|so|that|because)(?: (?:I|we|they|User))? (?:ha(?:s|ve) (?:an?|the|to|my|their|our|another)|needs?|"
    r"starts?|begins?|leaves?|moves?|fly|flies|go|goes|wants?|plans?|hopes?|marry|marries|retires?)\b)|"
    rf"(?P<within>\b(?:{_COMPLETED})\b|\b(?:(?:has|have|had|did) (?:not|never)|(?:has|have|had|did)n't)\b|"
    r"'ve (?:not|never)\b)",
    re.IGNORECASE,
)
# "The first time in ten years", "30 days in a month", "my best run in a year".
_ONE_OF_MANY = re.compile(
    r"\b(?:times?|once|twice|hours|days|weeks|months|(?:best|worst)(?: \w{1,20}){0,2}) \Z", re.IGNORECASE
)
_SENTENCE_END = re.compile(r"[.!?;](?=\s|$)")
# As far as a verb may be from what it belongs to, before and after; a whole message may have no end of a sentence.
_BEFORE = 100
_AFTER = 25


def tells_how_long(text: str, start: int, end: int) -> bool:
    """Whether a stretch of a text, "in two weeks", is how long something took, and not when it is to come.

    That is by the last verb before it, or by the first after it where it opens a sentence. Where there is none that
    tells, it is not.
    """
    near = text[max(0, start - _BEFORE) : start]
    sentence = near[max((found.end() for found in _SENTENCE_END.finditer(near)), default=0) :]
    if _ONE_OF_MANY.search(sentence) is not None:
        return True
    if sentence.rpartition(":")[2].strip(" \t\n,").lower() in ("", "and", "but", "so"):
        verb = _VERB.search(_SENTENCE_END.split(text[end : end + _BEFORE], maxsplit=1)[0])
        return verb is not None and verb["within"] is not None and verb.start() < _AFTER
    told = [found for found in _VERB.finditer(sentence) if found["coming"] or found["within"]]
    return bool(told) and told[-1]["within"] is not None
