"""Sentences that begin with their speaker, in the third person: "I live" as "User lives", "my" as "User's". Pure."""

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


IRREGULAR_PASTS = _words("""
    was had did used went chose took got grew made found gave quit left built bought came kept knew ran saw said sold
    spent told wrote began became broke brought led lost met paid taught thought understood won wore drove ate drank
    slept spoke sent felt flew fell held rebuilt threw caught stood sat swam sang rode rose shook shot shut stuck swore
    tore woke wound withdrew overcame overslept froze forgot forgave fought fed drew dug dealt crept clung blew bit bent
    beat hid heard hung laid lay lent lit meant mistook outgrew sought shone spun spread stole struck swept swung
    underwent upset cost cut hit hurt let put set split burst cast rewrote reread redid overheard withheld learnt dreamt
    burnt leapt spelt spilt spoilt knelt leant
""")
_NO_PAST = frozenset({"need", "feed", "speed", "bleed", "embed", "breed", "exceed", "proceed", "succeed"})
_OWN = re.compile(r"(?:my|our)\b", re.IGNORECASE)
_SUBJECT = re.compile(r"(?P<who>[Ii]|[Ww]e)(?P<joined>['’](?:m|re|ve|ll|d))?\b(?!['’/.])\s*", re.IGNORECASE)
_WORD = re.compile(r"(?P<word>[A-Za-z'’]+)(?P<after>\s*)")
_HAD = re.compile(r"(?:\w+ly |never |just |always |already )?(?:better|been|had|gone|\w+ed|made|got|seen|done)\b")
_FORMS = {
    "'m": "is", "am": "is", "'re": "is", "are": "is", "'ve": "has", "have": "has", "'ll": "will", "'d": "would",
    "do": "does", "don't": "does not", "haven't": "has not", "can't": "cannot", "won't": "will not",
    "aren't": "is not", "didn't": "did not", "wasn't": "was not", "weren't": "was not", "were": "was",
    "couldn't": "could not", "wouldn't": "would not", "shouldn't": "should not", "hadn't": "had not",
}  # fmt: skip
_MODALS = _words("will would can cannot could must should may might shall ought")
_NO_ADVERBS = frozenset({"rely", "apply", "reply", "supply", "fly", "comply", "multiply", "imply", "family", "ally"})
_ADVERBS = _words("""
    really very always usually generally typically often mostly mainly still also now currently just definitely
    absolutely strongly particularly especially actually normally only never rarely recently finally already both
    personally officially regularly much far simply deliberately explicitly sometimes occasionally strictly all first
    then ultimately eventually previously formerly originally primarily exclusively intentionally completely no longer
    totally honestly truly even kinda literally basically probably almost nearly hardly barely genuinely soon once
    too quite rather myself ourselves
""")
_REFLEXIVES = {"myself": "themselves", "ourselves": "themselves"}


def begun_by(clause: str, i: str, we: str = "") -> tuple[str, str]:
    """The subject and its verb in the third person, and what is left of the clause; nothing where it has another.

    `i` and `we` are what its speaker is called; an empty one is not known.
    """
    own = _OWN.match(clause)
    if own:
        name = i if own[0].lower() == "my" else we
        whose = f"{name}'s" if name else ""
        return whose, clause[own.end() :] if whose else clause
    subject = _SUBJECT.match(clause)
    head = "" if subject is None else i if subject["who"] in "Ii" else we
    if subject is None or not head:
        return "", clause
    rest = clause[subject.end() :]
    if subject["joined"]:
        return f"{head} {_joined(subject['joined'], rest)} ", rest
    while (word := _WORD.match(rest)) is not None:
        rest = rest[word.end() :]
        if not _is_adverb(word["word"].lower()):
            return f"{head} {third(word['word'])}{word['after']}", rest
        head += f" {_REFLEXIVES.get(word['word'].lower(), word['word'].lower())}"
    return f"{head} ", rest


def third(word: str) -> str:
    """A verb of the first person in the third: live, lives. A past has the same form in both."""
    lower = word.lower().replace("’", "'")
    if lower in _FORMS:
        return _FORMS[lower]
    if (
        lower.endswith("n't")
        or lower in _MODALS
        or lower in IRREGULAR_PASTS
        or (lower.endswith("ed") and lower not in _NO_PAST)
    ):
        return word
    if lower.endswith(("s", "sh", "ch", "x", "z", "o")):
        return f"{word}es"
    if lower.endswith("y") and lower[-2:-1] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}s"


def _joined(ending: str, rest: str) -> str:
    """ "I'd been" has another verb than "I'd like"."""
    ending = ending.lower().replace("’", "'")
    if ending == "'d":
        return "had" if _HAD.match(rest) else "would"
    return _FORMS[ending]


def _is_adverb(word: str) -> bool:
    return word in _ADVERBS or (word.endswith("ly") and word not in _NO_ADVERBS)
