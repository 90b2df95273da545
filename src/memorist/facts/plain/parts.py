"""The claims of a fact that are joined by "and", each said in full. Pure."""

import re

_MOST_PARTS = 6
_LONGEST_SUBJECT = 5
_VERB = re.compile(
    r"is|are|am|was|has|have|had|does|do|doesn't|don't|isn't|can|cannot|can't|will|no|never|prefers?|wants?|uses?|likes?|"
    r"loves?|enjoys?|dislikes?|hates?|needs?|lives?|works?|speaks?|plays?|owns?|eats?|drinks?|studies|teaches|drives?|"
    r"keeps?|runs?|wears?|takes?|goes|go|moved|relocated|joined|switched|weighs?|listens?|expects?"
)
_BEFORE_VERBS = frozenset({"also", "then", "he", "she", "they", "it", "now"})
_AND = re.compile(r",? and ")
_ONE = "an?|the|my|our|his|her|their"
# Where something else is said than before: of its subject, of somebody else, or of whom or what one has there. What is
# said of "it" is said of the same thing.
_JOINT = re.compile(
    rf"[;!?] (?=\w)|(?<!\bDr)(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bProf)(?<!\bSt)\. (?=\w)|"
    rf",? (?:and|but|while|who|which) (?=(?:also |then |now )?(?:{_VERB.pattern}|{_ONE}|\d{{1,9}}\w{{0,3}})\b)|"
    r"(?:, (?:and |but |so |while )?| (?:and|but|so|while) )(?=(?:I|we|he|she|they)(?:['’]\w+)? )|"
    rf"\bwith (?=(?!the\b)(?:{_ONE}|two|three|four|five|\d{{1,3}})\b)",
    re.IGNORECASE,
)


def parts_of(text: str) -> list[list[str]]:
    """The claims of a text, each with the ways it may be meant: in "replies in English and German" the second one is
    "replies in German", in "metric units and dark mode" it is not "metric dark mode". One where there is no other.
    """
    *before, last = _AND.split(text)
    pieces = [piece.split() for one in before for piece in one.split(", ")]
    pieces = [piece for piece in (*pieces, last.split()) if piece]
    first = pieces[0] if pieces else []
    verb = _verb_in(first)
    if not 1 < len(pieces) <= _MOST_PARTS or verb is None:
        return [[text]]
    return [[" ".join(first)], *(_in_full(piece, first, verb) for piece in pieces[1:])]


def pieces_of(text: str) -> list[str]:
    """The stretches of a text that each say something else: "lives in Oslo" and "two cats" of "lives in Oslo with two
    cats".
    """
    return [piece for piece in _JOINT.split(text) if piece.strip()]


def _verb_in(words: list[str]) -> int | None:
    """Where the verb stands, after some subject."""
    return next((at for at in range(1, min(len(words), _LONGEST_SUBJECT)) if _VERB.fullmatch(words[at])), None)


def _in_full(piece: list[str], first: list[str], verb: int) -> list[str]:
    while len(piece) > 1 and piece[0] in _BEFORE_VERBS:
        piece = piece[1:]
    if _VERB.fullmatch(piece[0]):
        ways = [[*first[:verb], *piece]]
    elif _verb_in(piece) is not None:
        ways = [piece]
    else:
        shared = max(verb + 1, len(first) - len(piece))
        ways = [[*first[: verb + 1], *piece], [*first[:shared], *piece]]
    return list(dict.fromkeys(" ".join(way) for way in ways))
