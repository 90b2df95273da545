"""Case-insensitive substrings that are the same on every database. Pure.

Texts are compared after full Unicode case folding: `STRASSE` is found in `Straße`, `ΣΊΣΥΦΟΣ` in `Σίσυφος`. Accents
count, as they do in ILIKE: `e` is not found in `é`; and `İ` is an `i` with a dot above, in which `i` is found.

Databases fold otherwise, and each in its own way, except for ASCII: a text of ASCII alone is compared by the database,
any other one here.
"""

import re

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
