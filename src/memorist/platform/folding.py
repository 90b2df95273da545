"""Case-insensitive substrings that are the same on every database. Pure.

Texts are compared after full Unicode case folding: `STRASSE` is found in `Straße`, `ΣΊΣΥΦΟΣ` in `Σίσυφος`. Accents
count, as they do in ILIKE: `e` is not found in `é`; and `İ` is an `i` with a dot above, in which `i` is found.

Databases fold otherwise, and each in its own way, except for ASCII: a text of ASCII alone is compared by the database,
any other one here.
"""

import re
from collections.abc import Iterable

_WILDCARDS = re.compile(r"[%_!]")


def fold(text: str) -> str:
    return text.casefold()


def like_pattern(folded: str) -> str | None:
    """What a text of ASCII alone must be LIKE to contain a folded text, with the escape `!`; None where it cannot."""
    if not folded.isascii():
        return None
    literal = _WILDCARDS.sub(r"!\g<0>", folded)
    return f"%{literal}%" if literal else "%"


def contains(text: str | None, folded: str) -> bool:
    return text is not None and folded in fold(text)


_SHORTEST_NEAR = 4
"""Of a shorter word, too many others are one letter away."""
_LONGEST_NEAR = 40
"""The pattern of a word grows with the square of its length."""


def near_patterns(words: Iterable[str]) -> tuple[re.Pattern[str], ...]:
    """What finds each folded word at the beginning of a word, also with one letter that is wrong, missing, too many or
    in its neighbour's place; a short or very long one as it is, anywhere.
    """
    return tuple(
        re.compile(_near(word) if _SHORTEST_NEAR <= len(word) <= _LONGEST_NEAR else re.escape(word)) for word in words
    )


def _near(word: str) -> str:
    cuts = [(re.escape(word[:at]), word[at:]) for at in range(len(word) + 1)]
    wrong = [f"{head}.?{re.escape(tail[1:])}" for head, tail in cuts if tail]
    more = [f"{head}.{re.escape(tail)}" for head, tail in cuts]
    swapped = [f"{head}{re.escape(tail[1] + tail[0] + tail[2:])}" for head, tail in cuts if len(tail) > 1]
    return rf"\b(?:{'|'.join((*wrong, *more, *swapped))})"
