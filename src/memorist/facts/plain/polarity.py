"""Two facts that say the same, the one with a not: "likes tea" and "no longer likes tea". Pure."""

import re
from dataclasses import dataclass

from memorist.facts.plain.wording import words_of

_NEGATIONS = frozenset({"not", "no", "never"})
_ENDED = "stopped"
# What says the same in other words, as one word, or as the word and a not.
_PHRASES = (
    (re.compile(r"\b(?:can't|cannot|can not) stand\b"), "dislikes"),
    (re.compile(r"\bcan(?:no|')t\b"), "can not"),
    (re.compile(r"\bwon't\b"), "will not"),
    (re.compile(r"n't\b"), " not"),
    (re.compile(r"\bno longer\b"), "not"),
    (re.compile(r"\bno\.? ?(?=\d)"), ""),
    (re.compile(r"\b(?:any (?:more|longer)|at all|these days)\b"), ""),
    (re.compile(r"\b(?:(?:has|have) )?(?:stopped|quit|gave up|given up)\b"), _ENDED),
    (re.compile(r"\b(?:is|am|are) (?:very )?fond of\b"), "likes"),
)
_LIKING = frozenset({"likes", "like", "loves", "love", "enjoys", "enjoy", "adores"})
_DISLIKING = frozenset({"dislikes", "dislike", "hates", "hate", "detests", "detest", "loathes", "despises"})
# Whatever denies something, and by which it is told without reading on.
_DENYING = re.compile(
    rf"\b(?:no|not|never|cannot|stopped|quit|gave up|given up|{'|'.join(sorted(_DISLIKING))})\b|n['’]t\b", re.IGNORECASE
)
_SAID_BESIDE = frozenset(
    {"a", "an", "the", "any", "now", "anymore", "again", "currently", "still", "already", "yet", "really", "actually"}
)
_IRREGULAR = {"has": "have", "have": "have", "is": "be", "am": "be", "are": "be", "goes": "go", "does": "do"}


@dataclass(frozen=True, slots=True)
class _Saying:
    """What is said, whether with a not, and whatever stands before that."""

    words: tuple[str, ...]
    is_denied: bool
    who: str


def opposed(older: str, newer: str) -> str | None:
    """Of whom two facts say the opposite with otherwise the same words; None where they do not."""
    if bool(_DENYING.search(older)) == bool(_DENYING.search(newer)):
        return None
    old, new = _saying(older), _saying(newer)
    if old is None or new is None or old.is_denied == new.is_denied or old.words != new.words:
        return None
    return old.who if old.is_denied else new.who


def _saying(text: str) -> _Saying | None:
    """None where there is more than one not, or next to nothing is said."""
    said = text.casefold().replace("’", "'")
    for pattern, plain in _PHRASES:
        said = pattern.sub(plain, said)
    kept: list[str] = []
    before: list[str] = []
    denials: list[int] = []
    for word in words_of(said):
        was_ended = bool(denials) and denials[-1] == len(before) and before[-1] == _ENDED
        before.append(word)
        if word in _NEGATIONS or word == _ENDED or word in _DISLIKING:
            denials.append(len(before))
            if word in _NEGATIONS and kept and kept[-1] == "do":
                kept.pop()
        if word in _LIKING or word in _DISLIKING:
            kept.append("lik")
        elif word not in _NEGATIONS and word not in _SAID_BESIDE and word != _ENDED:
            kept.append(_stem(word.removesuffix("ing") if was_ended else word))
    if len(denials) > 1 or len(kept) < 2:
        return None
    return _Saying(tuple(kept), bool(denials), " ".join(before[: denials[0] - 1]) if denials else "")


def _stem(word: str) -> str:
    """The same for "like" and "likes", "smokes" and "smok(ing)", "run" and "runn(ing)"."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is", "'s")):
        word = f"{word[:-3]}y" if word.endswith("ies") else word[:-1]
    word = word.removesuffix("e") if len(word) > 2 else word
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word.isalpha() else word
