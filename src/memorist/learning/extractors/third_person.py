"""From "I prefer tabs" to "User prefers tabs": a clause that is understood without the conversation. Pure."""

import re
from dataclasses import dataclass
from datetime import datetime

from memorist.learning.extractors.patterns import compiled, words


@dataclass(frozen=True, slots=True)
class Voices:
    """What the pronouns of a message stand for."""

    i: str
    we: str
    our: str
    you: str


USER_AT_WORK = Voices("User", "The team", "The team's", "the assistant")
USER_AT_HOME = Voices("User", "User's household", "User's", "the assistant")
ASSISTANT = Voices("The assistant", "The team", "The team's", "the user")


def told_of(clause: str, voices: Voices, said_on: datetime | None = None) -> str:
    """The clause as a sentence about its speaker. A day that only its speaker knows is told with the date."""
    setting = _SETTING.match(clause)
    before, clause_itself = (setting[0], clause[setting.end() :]) if setting else ("", clause)
    head, rest = _head(clause_itself, voices)
    if not head:
        # Whoever speaks is named once; after that a pronoun does.
        rest = _I_DO.sub(lambda match: f"{voices.i.replace('User', 'the user')} {_third(match[1])}", rest, count=1)
        rest = rest if "the user" in rest else _PRONOUN.sub(lambda match: _named(match, voices), rest, count=1)
    # An order is repeated as it was given: "before you commit" is clear, whoever reads it.
    is_order = not head and _ORDER.match(rest) is not None
    if not is_order:
        rest = _YOU_DO.sub(lambda match: f"{match[1]} {voices.you} {match[2]}{_third(match[3])}", rest)
    pronoun = _OWN_PRONOUN if is_order else _PRONOUN
    told = pronoun.sub(lambda match: _replaced(match, voices), rest)
    text = f"{before}{head.replace('The ', 'the ') if before else head}{told}".strip()
    if said_on is not None and _RELATIVE_DAY.search(clause):
        text += f" (said on {said_on:%Y-%m-%d})"
    return text[:1].upper() + text[1:] + "."


def hangs_on_its_day(clause: str) -> bool:
    """Whether a clause is about a day to come, or the present one, that it names from the day on which it was said.

    What is past stays true, whenever that was.
    """
    return _PASSING_DAY.search(clause) is not None


def _head(clause: str, voices: Voices) -> tuple[str, str]:
    """The subject and its verb in the third person, and what is left of the clause."""
    own = _OWN.match(clause)
    if own:
        return (f"{voices.i}'s" if own[0].lower() == "my" else voices.our), clause[own.end() :]
    subject = _SUBJECT.match(clause)
    if subject is None:
        return "", clause
    head = voices.i if subject["who"] == "I" else voices.we
    rest = clause[subject.end() :]
    if subject["joined"]:
        return f"{head} {_FORMS[subject['joined']]} ", rest
    while (word := _WORD.match(rest)) is not None:
        rest = rest[word.end() :]
        if word["word"].lower() not in _ADVERBS:
            return f"{head} {_third(word['word'])}{word['after']}", rest
        head += f" {word['word'].lower()}"
    return f"{head} ", rest


def _third(word: str) -> str:
    lower = word.lower()
    if lower in _FORMS:
        return _FORMS[lower]
    if lower in _UNCHANGED or (lower.endswith("ed") and lower not in _NO_PAST):
        return word
    if lower.endswith(("s", "sh", "ch", "x", "z", "o")):
        return f"{word}es"
    if lower.endswith("y") and lower[-2:-1] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}s"


def _replaced(match: re.Match[str], voices: Voices) -> str:
    word = match[0].lower()
    if match[0] in ("US", "ME"):
        return match[0]
    if word.startswith("you"):
        return {"your": f"{voices.you}'s", "you're": f"{voices.you} is"}.get(word, voices.you)
    return _PRONOUNS[word]


def _named(match: re.Match[str], voices: Voices) -> str:
    word = match[0].lower()
    named = {"i": voices.i, "me": voices.i, "my": f"{voices.i}'s", "we": voices.we, "us": voices.we, "our": voices.our}
    return named[word].replace("User", "the user").replace("The ", "the ") if word in named else match[0]


# "In this repo we …"
_SETTING = re.compile(r"(?:In|On|For|At|Within) [^,]{3,40}?,? (?=(?:I|we)\b)", re.IGNORECASE)
_OWN = re.compile(r"(?:my|our)\b", re.IGNORECASE)
_SUBJECT = re.compile(r"(?P<who>I|[Ww]e)(?P<joined>'m|'re|'ve|'ll|'d)?\b\s*")
_I_DO = re.compile(r"\bI ([a-z]+)")
_WORD = re.compile(r"(?P<word>[A-Za-z']+)(?P<after>\s*)")
_FORMS = {
    "'m": "is", "am": "is", "'re": "is", "are": "is", "'ve": "has", "have": "has", "'ll": "will", "'d": "would",
    "do": "does", "don't": "does not", "haven't": "has not", "can't": "cannot", "won't": "will not",
    "aren't": "is not", "didn't": "did not", "wasn't": "was not", "weren't": "was not", "were": "was",
    "couldn't": "could not", "wouldn't": "would not", "shouldn't": "should not", "hadn't": "had not",
}  # fmt: skip
# Modal verbs, and pasts that do not end in -ed.
_UNCHANGED = words("""
    will would can cannot could must should was had did may might used went chose took got grew made found gave quit
    left built bought came kept knew ran saw said sold spent told wrote began became broke brought led lost met paid
    taught thought understood won wore drove ate drank slept spoke sent felt flew fell held rebuilt
""")
_NO_PAST = frozenset({"need", "feed", "speed", "bleed", "embed", "breed", "exceed", "proceed", "succeed"})
_ADVERBS = words("""
    really very always usually generally typically often mostly mainly still also now currently just definitely
    absolutely strongly particularly especially actually normally only never rarely recently finally already both
    personally officially regularly much far simply deliberately explicitly sometimes occasionally strictly all first
    then ultimately eventually previously formerly originally primarily exclusively intentionally completely no longer
""")
_PRONOUNS = {
    "i'm": "they are", "i am": "they are", "i've": "they have", "i'll": "they will", "i'd": "they would",
    "i was": "they were", "i": "they", "my": "their", "me": "them", "myself": "themselves", "mine": "theirs",
    "we're": "they are", "we've": "they have", "we'll": "they will", "we'd": "they would", "we": "they", "our": "their",
    "us": "them", "ours": "theirs", "ourselves": "themselves",
}  # fmt: skip
_OWN_PRONOUNS = sorted(_PRONOUNS, key=len, reverse=True)


def _pronouns(found: list[str]) -> re.Pattern[str]:
    # Not in names such as `us-east-1` or `my.cnf`.
    return re.compile(rf"(?<![\w.@/-])(?:{'|'.join(found)})(?![\w'@/-]|\.\w| (?:and|or|of) I\b)", re.IGNORECASE)


_OWN_PRONOUN = _pronouns(_OWN_PRONOUNS)
_PRONOUN = _pronouns([*_OWN_PRONOUNS, "you're", "yourself", "your", "you"])
_ORDER = compiled(r"""
    (?:(?:in|on|for|at|within) [^,]{3,40},? )?(?:please )?(?:always|never|don't|do not|only|use|prefer|stick (?:to|
    with)|make sure|be sure)\b
""")
# "you" where it does something, not where something is done to it; then its verb changes with it.
_YOU_DO = compiled(r"""
    \b(before|after|when|whenever|if|unless|until|once|while|that|because|where|what|whatever|how)[ ]you[ ]
    ((?:always |never |really |also |only |just |still |first |ever )*)([a-z']+)\b
""")
_DAY = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_PASSING_DAY = compiled(rf"""
    \b(?:today|tonight|tomorrow|(?:this|next|coming) (?:week|weekend|month|{_DAY})|
    in (?:\d+|an?|one|two|three|four|five|six|seven|ten) (?:days?|weeks?))\b
""")
_RELATIVE_DAY = compiled(rf"""
    \b(?:today|tonight|tomorrow|yesterday|(?:this|next|last|coming) (?:week|weekend|month|year|quarter|spring|summer|
    autumn|fall|winter|{_DAY}|january|february|march|april|may|june|july|august|september|october|november|december)|
    (?:on|by|until|before) (?:{_DAY})|in \w+ (?:days?|weeks?|months?|years?)|\w+ (?:days?|weeks?|months?|years?) ago|
    for (?:the (?:past|last) )?\w+ (?:days?|weeks?|months?|years?)|years old|now|currently|recently)\b
""")
