"""Two facts that say the same, the one with a not: "likes tea" and "no longer likes tea". Pure."""

import re
from dataclasses import dataclass

from memorist.facts.plain.wording import words_of

_NEGATIONS = frozenset({"not", "no", "never"})
_ENDED = "stopped"
# What says the same in other words, as one word, or as the word and a not.
_PHRASES = (
    (re.compile(r"\b(?:can't|cannot|can not) stand\b", re.IGNORECASE), "dislikes"),
    (re.compile(r"\bcan(?:no|')t\b", re.IGNORECASE), "can not"),
    (re.compile(r"\bwon't\b", re.IGNORECASE), "will not"),
    (re.compile(r"n't\b", re.IGNORECASE), " not"),
    (re.compile(r"\bno longer\b", re.IGNORECASE), "not"),
    (re.compile(r"\bno\.? ?(?=\d)", re.IGNORECASE), ""),
    (re.compile(r"\b(?:any (?:more|longer)|at all|these days)\b", re.IGNORECASE), ""),
    (re.compile(r"\b(?:(?:has|have) )?(?:stopped|quit|gave up|given up)\b", re.IGNORECASE), _ENDED),
    (re.compile(r"\b(?:is|am|are) (?:very )?fond of\b", re.IGNORECASE), "likes"),
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


# A not with a capital within a sentence is a part of a name.
_NAMED = re.compile(r"(?<=[\w,;:] )(?:No|Not|Never)\b")
# Who asks says neither.
_ASKING = re.compile(r"\b(?:if|whether|why)\b", re.IGNORECASE)
_ANSWERED = re.compile(r"(?:no|yes), ", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Denial:
    """Of whom something is denied, and whether the not is meant so: "Never Enough" is a song."""

    who: str
    is_meant: bool


@dataclass(frozen=True, slots=True)
class _Saying:
    """What is said, whether with a not, and whatever stands before that."""

    words: tuple[str, ...]
    is_denied: bool
    is_meant: bool
    who: str
    ended: int | None
    """Which of the words is one in -ing, without that: what somebody stopped."""


def opposed(older: str, newer: str) -> Denial | None:
    """What is denied where two facts say the opposite with otherwise the same words; None where they do not."""
    if bool(_DENYING.search(older)) == bool(_DENYING.search(newer)):
        return None
    old, new = _saying(older), _saying(newer)
    if old is None or new is None or old.is_denied == new.is_denied:
        return None
    denied, other = (old, new) if old.is_denied else (new, old)
    if len(denied.words) != len(other.words) or not all(
        _is_form_of(theirs, ours) if at == denied.ended else ours == theirs
        for at, (ours, theirs) in enumerate(zip(denied.words, other.words, strict=True))
    ):
        return None
    return Denial(denied.who, denied.is_meant)


def _saying(text: str) -> _Saying | None:
    """None where there is more than one not, or next to nothing is said."""
    said = text.replace("’", "'")
    for pattern, plain in _PHRASES:
        said = pattern.sub(plain, said)
    kept: list[str] = []
    before: list[str] = []
    denials: list[int] = []
    ended = None
    for named in words_of(said):
        word = named.casefold()
        was_ended = bool(denials) and denials[-1] == len(before) and before[-1] == _ENDED
        before.append(word)
        if word in _NEGATIONS or word == _ENDED or word in _DISLIKING:
            denials.append(len(before))
            if word in _NEGATIONS and kept and kept[-1] == "do":
                kept.pop()
        if word in _LIKING or word in _DISLIKING:
            kept.append("like")
        elif word not in _NEGATIONS and word not in _SAID_BESIDE and word != _ENDED:
            ended = len(kept) if was_ended and word.endswith("ing") else ended
            kept.append(word.removesuffix("ing") if was_ended else _singular(named))
    if len(denials) > 1 or len(kept) < 2:
        return None
    is_meant = not _ASKING.search(text) and not _ANSWERED.match(text) and not _NAMED.search(said)
    return _Saying(tuple(kept), bool(denials), is_meant, " ".join(before[: denials[0] - 1]) if denials else "", ended)


def _is_form_of(word: str, stem: str) -> bool:
    """ "smoke" of "smok(ing)", "run" of "runn(ing)"."""
    return word in (stem, f"{stem}e") or f"{word}{word[-1]}" == stem


def _singular(word: str) -> str:
    """The same for "want" and "wants"; a name stays as it is."""
    folded = word.casefold()
    if folded in _IRREGULAR:
        return _IRREGULAR[folded]
    if word[0].isupper() or len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is", "'s")):
        return folded
    if word.endswith("ies"):
        return f"{folded[:-3]}y"
    return folded[:-2] if word.endswith(("ches", "shes", "xes", "zes")) else folded[:-1]
