"""Regular expressions that are long lists of phrases, written so that they can be read."""

import re


def phrases(text: str) -> str:
    """The expression, which may be written over several lines: their breaks and indentation do not count."""
    return "".join(map(str.strip, text.split("\n")))


def compiled(text: str, flags: int = re.IGNORECASE) -> re.Pattern[str]:
    return re.compile(phrases(text), flags)


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())
