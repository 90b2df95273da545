"""Verbs of English whose form tells when something is: pasts that do not end in -ed, and what is over. Pure."""

import re

from memorist.learning.extractors.patterns import words

IRREGULAR_PASTS = words("""
    was had did used went chose took got grew made found gave quit left built bought came kept knew ran saw said sold
    spent told wrote began became broke brought led lost met paid taught thought understood won wore drove ate drank
    slept spoke sent felt flew fell held rebuilt threw caught stood sat swam sang rode rose shook shot shut stuck swore
    tore woke wound withdrew overcame overslept froze forgot forgave fought fed drew dug dealt crept clung blew bit bent
    beat hid heard hung laid lay lent lit meant mistook outgrew sought shone spun spread stole struck swept swung
    underwent upset cost cut hit hurt let put set split burst cast rewrote reread redid overheard withheld learnt dreamt
    burnt leapt spelt spilt spoilt knelt leant
""")
NO_PAST = frozenset({"need", "feed", "speed", "bleed", "embed", "breed", "exceed", "proceed", "succeed"})

_ADVERBS = r"(?: (?:not|never|ever|also|still|now|just|already|\w{1,20}ly)){0,3}"
_HAVE = r"(?:\b(?:has|have|had|having|hasn't|haven't|hadn't)|'ve)"
# Words that are a present as often, or no verb at all, tell nothing by themselves.
_PASTS = "|".join(
    sorted(IRREGULAR_PASTS - words("cost cut hit hurt let put set split burst cast spread lay left shot"))
)
_PARTICIPLE = rf"(?:\w+(?:ed|en|wn|un|um|ung|unk)|gone|done|come|become|put|set|cut|hit|left|read|{_PASTS})"
_VERB = re.compile(
    rf"(?P<over>{_HAVE}{_ADVERBS} {_PARTICIPLE}\b|\b(?:were|didn't|wasn't|weren't|{_PASTS})\b)|"
    rf"(?P<now>(?:\b(?:am|is|are|be|being|gets?|getting|will|shall|going|gonna|isn't|aren't|won't)\b|'(?:m|re|ll)\b)"
    rf"{_ADVERBS}(?: \w+ed\b)?)|"
    rf"(?P<ended>\b(?!(?:{'|'.join(sorted(NO_PAST))})\b)\w{{2,20}}ed\b)",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?;](?=\s|$)")


def is_over(text: str, start: int, end: int) -> bool:
    """Whether what a stretch of a text belongs to is past: by the last verb before it, or else by the first after it.

    Where there is none that tells it is not: a plain present may be of what is to come.
    """
    ends = [found.end() for found in _SENTENCE_END.finditer(text, 0, start)]
    before = list(_VERB.finditer(text, ends[-1] if ends else 0, start))
    stop = _SENTENCE_END.search(text, end)
    verb = before[-1] if before else _VERB.search(text, end, stop.start() if stop else len(text))
    return verb is not None and not verb["now"]
