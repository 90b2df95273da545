"""Where the sentences of a message begin and end. Pure."""

import re
from collections.abc import Callable, Iterable
from functools import cache

from memorist.languages import is_english

GAP = "\x01"
"""Painted over what is no statement of the speaker's: it ends a sentence."""

_ABBREVIATION = re.compile(
    r"(?:^|[\W_])(?:e\.g|i\.e|z\.B|etc|vs|approx|Dr|Mr|Mrs|Ms|Prof|St|No|Nr|Jr|Sr|a\.m|p\.m|ca|resp|Inc|Ltd|Co|[A-Z])\.$"
)
# A title before a name, in small letters: "my doctor is dr. lee".
_TITLE = re.compile(r"(?:^|\W)(?:dr|mr|mrs|ms|prof|st)\.\Z")
_SMALL = re.compile(r" [a-z]")
# German writes "third" as a number with a full stop: "am 3. März", "mein 30. Geburtstag".
_ORDINAL = re.compile(
    r"\b(?:vom|zum|zur|im|beim|de[mnrs]|die|das|(?:m|d|s)ein\w*|ihr\w*|unser\w*) \d{1,2}\.\Z", re.IGNORECASE
)
# The number of an item: it begins a line, and ends no sentence.
_NUMBERED = re.compile(r"(?:\A|\n)[ ]*\d{1,3}\.\Z")
_NUMBER = re.compile(r"\d{1,3}[.)]\s+(?=\S)")
_IN_LIST = re.compile(r"(?:\A|\n)[ ]*(?:\d{1,3}[.)]\s+|[-*•]\s)\Z")
_OPEN = re.compile(r"\b(?:is|are|was|were|in|at|on|from|to|called|named):\Z", re.IGNORECASE)
_STATES = re.compile(r"(?:I|we|my|our|you|your|he|she|it|they|his|her|their|this|that|there)\b", re.IGNORECASE)
_DAY = re.compile(r"(?:^|\s)[0-3]?\d\.\Z")
_MONTH = re.compile(
    r" (?:Jan|Jän|Feb|März|Mär|April|Apr|Mai|Juni|Jun|Juli|Jul|August|Aug|Sep|Sept|Okt|Nov|Dez"
    r"|Januar|Jänner|Februar|September|Oktober|November|Dezember)\b"
)
# A stop of another script ends a sentence wherever it stands, and ours do before a letter of a script without spaces.
_BREAK = re.compile(
    r"(?<![.!?…])[.!?…]+[\"'”’)\]*]*(?=\s|\Z)|[。！？؟।۔]+[」』”’）]*|(?<![!?])[!?]++(?=[\u3040-\u9fff\uac00-\ud7a3])|"
    rf"{GAP}+|\n+(?! {{2,}}[a-z])"
)


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """The stretches of a text that are sentences, in order, without the blanks around them."""
    spans: list[tuple[int, int]] = []
    start = 0
    in_english = cache(lambda: is_english(text))
    for found in _BREAK.finditer(text):
        if found[0].startswith(".") and _goes_on(text, start, found.start() + 1, in_english):
            continue
        is_stop = not found[0].startswith((GAP, "\n"))
        spans += _trimmed(text, start, found.end() if is_stop else found.start())
        start = found.end()
    return spans + _trimmed(text, start, len(text))


def headings(text: str, sentences: Iterable[tuple[int, int]]) -> dict[tuple[int, int], tuple[int, int]]:
    """For each item of a list the line above it that ends with a colon; none for items without one. A number below such
    a line, or what is left open there ("My name is:"), is an item as well.
    """
    found = {}
    above = None
    for span in sentences:
        is_item = _is_item(text, span)
        if above is not None and (is_item or _ends_it(text, above, span)):
            found[span] = above
        if not is_item:
            above = span if text[span[1] - 1] == ":" else None
    return found


def _ends_it(text: str, above: tuple[int, int], span: tuple[int, int]) -> bool:
    is_left_open = _OPEN.search(text, *above) is not None and _STATES.match(text, *span) is None
    return not text[above[1] : span[0]].strip() and (text[span[0]].isdigit() or is_left_open)


def _is_item(text: str, span: tuple[int, int]) -> bool:
    # A dash is a part of its sentence, and a number is not.
    return _IN_LIST.search(text[max(0, span[0] - 12) : span[0] + 2 * (text[span[0]] in "-*•")]) is not None


def _goes_on(text: str, start: int, end: int, in_english: Callable[[], bool]) -> bool:
    """Whether a full stop, which ends there, ends no sentence: it belongs to an abbreviation or a number."""
    near = text[max(start, end - 9) : end]
    if _ABBREVIATION.search(near) or (_TITLE.search(near) and _SMALL.match(text, end)):
        return True
    if _NUMBERED.search(text[max(0, start - 1) : end]):
        return True
    before = text[max(start, end - 24) : end]
    is_ordinal = _ORDINAL.search(before) or (_DAY.search(before) and _MONTH.match(text, end))
    return bool(is_ordinal) and not in_english()


def _trimmed(text: str, start: int, end: int) -> list[tuple[int, int]]:
    inner = text[start:end]
    start += len(inner) - len(inner.lstrip())
    end = start + len(inner.strip())
    before = text[max(0, start - 12) : start].rstrip(" ")
    begins_a_line = before.endswith("\n") or not (before or start > 12)
    if begins_a_line and (number := _NUMBER.match(text, start, end)) is not None:
        start = number.end()
    return [(start, end)] if re.search(r"\w", text[start:end]) else []
