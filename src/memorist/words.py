"""From text to the terms that keyword search compares: folded, cut into words, endings and question words aside. Pure.

Scripts without spaces (Chinese, Japanese, Thai and their kin), and Korean with its endings, become overlapping pairs of
characters. Both databases index what is made here, so that they find the same.
"""

import re
import unicodedata
from array import array
from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache
from zlib import crc32

from memorist.languages import (
    GREETINGS,
    PARTICLES,
    SMALL_UNSPACED_WORDS,
    SMALL_WORDS,
    TELLING_SMALL_WORDS,
    is_english,
)

UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0002fa1f"
)
"""Characters of scripts that put no space between words, as a class of a pattern has them."""

# Vowel signs of Indian scripts are no letters to `\w`, but parts of their words.
_TOKEN = rf"[{UNSPACED}]+|(?:(?![{UNSPACED}])[^\W_]|[\u0900-\u0dff])+"
_ASCII_TOKEN = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")
# Names that their signs are a part of: C++, C#, A+. Not what is added, or a number sign.
_SIGNED = re.compile(r"(?<![a-z0-9+#])([a-z]+)(\+\+(?![a-z+#])|[+#](?![a-z0-9+#]))")
# Accents of Latin, Greek and Cyrillic letters, points of Hebrew and Arabic: written by some and left out by others.
_ACCENTS = dict.fromkeys((*range(0x300, 0x370), *range(0x591, 0x5C8), *range(0x64B, 0x660)), "")
# Letters that Unicode does not take apart, but that people write without their stroke or dot.
_ACCENTS |= str.maketrans({"ı": "i", "đ": "d", "ł": "l", "ø": "o", "ħ": "h", "ŧ": "t", "æ": "ae", "œ": "oe"})

_MAX_TERM = 64
_COUNT_BITS = 0xF


def terms(text: str) -> list[str]:
    """The terms of a text, in their order, repeated as often as they occur."""
    if text.isascii():
        return [_stem(word) for word in _ASCII_TOKEN.findall(_spelled(text.lower()))]
    found: list[str] = []
    token_pattern, unspaced = _patterns()
    for token in token_pattern.findall(_spelled(_fold(text))):
        if unspaced.match(token):
            found += _pairs(token)
        else:
            found.append(_stem(token))
    return found


def question_terms(question: str) -> list[str]:
    """The distinct terms to look for: without the words that every question has, unless it has no others."""
    wanted = dict.fromkeys(terms(question))
    common = _QUESTION_WORDS if is_english(question) else _OTHER_QUESTION_WORDS
    return [term for term in wanted if term not in common] or list(wanted)


def tells(question: str) -> bool:
    """Whether a question has a word that says what it is about, beyond those of every question or greeting."""
    small = _QUESTION_WORDS if is_english(question) else _SMALL_EVERYWHERE
    return any(_says_something(term) and term not in small for term in terms(_without_small_talk(question)))


def asks(question: str) -> bool:
    """Whether a question has any word: a letter, a digit or a sign alone is none. Nor is a small word or a greeting of
    another language than English, whose short texts lie near each other whatever they say.
    """
    return any(map(_says_something, terms(question))) and (is_english(question) or tells(question))


def _says_something(term: str) -> bool:
    return len(term) > 1 or _WORD_ALONE.match(term) is not None


def _without_small_talk(question: str) -> str:
    """A question without greetings, and without what scripts without spaces make of small words alone."""
    text = unicodedata.normalize("NFC", question).casefold()
    found = list(_SPOKEN.finditer(text))
    spoken = [match[0] for match in found]
    kept, end, at = "", 0, 0
    while at < len(spoken):
        count = _greeted(spoken[at : at + _LONGEST_GREETING]) or int(_is_of_small_words(spoken[at]))
        if count:
            kept += f"{text[end : found[at].start()]} "
            end = found[at + count - 1].end()
        at += count or 1
    return kept + text[end:]


def _greeted(spoken: Sequence[str]) -> int:
    """With how many of these words somebody greets or thanks first."""
    for count in range(len(spoken), 0, -1):
        if tuple(spoken[:count]) in _GREETINGS:
            return count
    return 0


def _is_of_small_words(run: str) -> bool:
    at, known = 0, SMALL_UNSPACED_WORDS
    while at < len(run):
        count = next((count for count in range(_LONGEST_SMALL, 0, -1) if run[at : at + count] in known), 0)
        if not count:
            return False
        at, known = at + count, _FOLLOWING  # What begins a word of its own is no particle.
    return True


def pack(text: str) -> bytes:
    """A text's terms as the index stores them: 32 bits each, 28 of a hash and 4 of how often it occurs."""
    counts = Counter(map(hash_of, terms(text)))
    return array("I", [term | min(count, _COUNT_BITS) for term, count in counts.items()]).tobytes()


# Called for every word that is written, and most words come again.
@lru_cache(maxsize=65_536)
def hash_of(term: str) -> int:
    return crc32(term.encode("utf-8", "surrogatepass")) & ~_COUNT_BITS


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """A token, and the beginning of one without spaces; such large sets take their time to compile."""
    return re.compile(_TOKEN), re.compile(f"[{UNSPACED}]")


def _fold(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text).casefold().translate(_ACCENTS)
    return unicodedata.normalize("NFC", decomposed).replace("’", "'")


def _spelled(folded: str) -> str:
    """Signs that belong to a name as a word beside it, which is found by the name alone, too."""
    return _SIGNED.sub(_with_signs, folded) if "+" in folded or "#" in folded else folded


def _with_signs(match: re.Match[str]) -> str:
    signs = match[2].replace("+", "plus").replace("#", "sharp")
    return f"{match[1]} {match[1]}{signs} "


def _pairs(run: str) -> list[str]:
    return [run] if len(run) == 1 else [run[at : at + 2] for at in range(len(run) - 1)]


@lru_cache(maxsize=65_536)
def _stem(word: str) -> str:
    """A word without the endings that a question and its answer differ by: hiking, hikes, hiked -> hik. Of English; of
    Cyrillic, Arabic and Devanagari, whose script tells them apart; of other languages only what English has too.
    """
    word = word.partition("'")[0][:_MAX_TERM]
    if not word.isascii():
        return _OTHER_ENDINGS.sub("", _ARABIC_ARTICLE.sub("", word))
    if len(word) < 4 or not word.isalpha():
        return word
    if word.endswith("ies"):
        word = word[:-3] + "y"
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        rest = word.removesuffix(ending)
        if rest != word and len(rest) > 2 and _VOWEL.search(rest):
            word = rest[:-1] if rest[-1] == rest[-2] and rest[-1] not in "lsz" else rest
            break
    if len(word) > 3 and word.endswith("e"):
        word = word[:-1]
    return word[:-1] + "i" if len(word) > 3 and word.endswith("y") else word


_VOWEL = re.compile("[aeiouy]")
_ARABIC_ARTICLE = re.compile("^(?:[وبفك]?ال|لل)(?=.{3})")
# Of Russian and its kin as `_fold` leaves them, without the marks of й and ё; of Arabic; the vowel signs of Hindi.
_OTHER_ENDINGS = re.compile(
    "(?:(?<=...)(?:[аиыя]ми|[ое]го|[ое]му|[аеиуя]т?ь|[еи]шь|[аеуя]?[еу]т|[аеуя]?ют|[аеия]л[аио]?|[ое]в|[аоеиыя]м|[аиыя]х"
    "|[аиоыя][иея]|[ео]е|ью|[аеуя]ю|[ия]т|[аеиоуыэюяь]|ات|ون|ين|ان|[ةهي])|(?<=..)[\u093e-\u094c\u0902]+)$"
)

_QUESTION_WORDS = frozenset(
    terms(
        "a an and any are as at be been by can could did do does for from had has have how i in is it its me my of on"
        " or our please should tell that the their them they this to was we were what when where which who whom whose"
        " why will with would you your"
    )
)
_OTHER_QUESTION_WORDS = frozenset(terms(" ".join(SMALL_WORDS)))
_SMALL_EVERYWHERE = _QUESTION_WORDS | (_OTHER_QUESTION_WORDS - frozenset(terms(" ".join(TELLING_SMALL_WORDS))))

# Of one character, a Chinese word or a Korean syllable may be one; a letter is none.
_WORD_ALONE = re.compile("[\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0002fa1f]")
_SPOKEN = re.compile(r"(?:[^\W_]|[\u0900-\u0dff])+")
_GREETINGS = frozenset(tuple(_SPOKEN.findall(one)) for one in GREETINGS)
_LONGEST_GREETING = max(map(len, _GREETINGS))
_FOLLOWING = SMALL_UNSPACED_WORDS | PARTICLES
_LONGEST_SMALL = max(map(len, _FOLLOWING))
