"""An answer as it comes: what of it can be told already, without its secrets. Pure.

What makes a secret may come after it: the other groups of a card number, the end of a key, "… as my password". A word
that could be a part of one waits for those; all others are told at once.
"""

import re

from memorist.platform.redaction import Redaction
from memorist.words import UNSPACED

# No rule looks further back than this, save for blocks, of which nothing is told before they are whole.
_CONTEXT = 2000
# "use … as the new wifi password", and as many groups of digits as a number has.
_WORDS_AFTER = 6
# In scripts without spaces every character is a word.
_WORD = re.compile(rf"[{UNSPACED}]|[^\s{UNSPACED}]+")
_UNFINISHED = re.compile(rf"(?<![^\s{UNSPACED}])[^\s{UNSPACED}]*\Z")
# A group of a card number or of a seed, a code, the first line of a key.
_GROUP = re.compile(r"(?<![^\W_])[0-9A-Z][0-9A-Z=-]{2,199}+\W{0,199}+\Z")
# What "use … as my password" may be about, or the words between marks of which only the closing one ends them.
_STRONG = re.compile(r"\d|[A-Z]\S*[A-Z]|\w[^\w\s]\w")
_USE = re.compile(r"(?i)(?:\b(?:use|usa|utilise|nimm|verwende|benutze) +|用|«\s?)\W?\Z")
_LONGEST_USE = 12
_LONGEST_GROUP = 200
# What is one secret from its first line, or its first word, to wherever it ends.
_OPEN = re.compile(
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----"
    r"(?:(?!-----END)[A-Za-z0-9+/=\s\\:,.()-])*+(?:-----END[A-Z0-9 ]*-{0,4})?\Z|"
    r"Private-Lines: [0-9]++[A-Za-z0-9+/=\s\\]*+\Z|"
    r"""(?i:\bcookie["']?:)[^\r\n]*\Z"""
)


class Telling:
    """`told`: how much of what the model wrote was told."""

    def __init__(self, redaction: Redaction) -> None:
        self.told = 0
        self._redaction = redaction
        self._written = ""

    @property
    def answer(self) -> str:
        """All of it."""
        return self._redaction.text(self._written)

    def add(self, piece: str) -> None:
        self._written += piece

    def next(self, *, is_whole: bool = False) -> str:
        """What can be told after what was; where nothing more is to come (`is_whole`), all of it."""
        end = len(self._written) if is_whole else _settled(self._written, self.told)
        if end == self.told:
            return ""
        start = self._written.rfind("\n", 0, max(0, self.told - _CONTEXT)) + 1
        found = self._redaction.found(self._written[start:])
        # A secret is told as a whole: its mark.
        end = max(self.told, start + found.before_secret(end - start))
        piece = found.text[found.offset_of(self.told - start) : found.offset_of(end - start)]
        self.told = end
        return piece

    def drop_untold(self) -> None:
        self._written = self._written[: self.told]


def _settled(text: str, told: int) -> int:
    """Up to where nothing that comes can make a secret of what stands there."""
    unfinished = _UNFINISHED.search(text, told)
    end = len(text) if unfinished is None else unfinished.start()
    line = max(told, text.rfind("\n", 0, end) + 1)
    last = list(_WORD.finditer(text, line, end))[-_WORDS_AFTER:]
    end = next((word.start() for word in last if _is_part_of_one(text, word.start(), word.group())), end)
    opened = _OPEN.search(text, text.rfind("\n", 0, told) + 1)
    return end if opened is None else min(end, max(told, opened.start()))


def _is_part_of_one(text: str, start: int, word: str) -> bool:
    """Whether a word may be a part of a secret that only what comes after it makes one."""
    is_used = _STRONG.search(word) and _USE.search(text, max(0, start - _LONGEST_USE), start)
    return bool(is_used or _GROUP.search(word[-_LONGEST_GROUP:]))
