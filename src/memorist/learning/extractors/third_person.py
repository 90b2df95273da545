"""From "I prefer tabs" to "User prefers tabs": a sentence that is understood without the conversation. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date

from memorist.first_person import IRREGULAR_PASTS, begun_by, third
from memorist.learning.extractors.days import dated
from memorist.learning.extractors.patterns import compiled
from memorist.learning.extractors.shorthand import spelled_out, with_subject
from memorist.learning.extractors.statements import SPEECH_VERB


@dataclass(frozen=True, slots=True)
class Voices:
    """What the pronouns of a message stand for. `we` is empty where nobody knows who that is."""

    i: str
    you: str
    we: str = ""


USER_AT_WORK = Voices("User", "the assistant", "The team")
USER_AT_HOME = Voices("User", "the assistant")
THE_USER = Voices("the user", "the assistant")
ASSISTANT = Voices("The assistant", "the user", "The team")


def told_of(sentence: str, voices: Voices, said_on: date | None = None, *, follows: bool = False) -> str:
    """The sentence as one about its speaker, with dates for the days that it names.

    Where it does not begin with its speaker its words stay as they are, after the speaker's name; not where it
    `follows` one that has it.
    """
    sentence = spelled_out(_MARK_UP.sub("", " ".join(sentence.split())))
    if (lead := _LEAD_IN.match(sentence)) is not None:
        sentence = sentence[lead.end() :]
    setting = _SETTING.match(sentence)
    setting = None if setting and _SAYS.search(setting[0]) else setting
    before, clause = (setting[0], sentence[setting.end() :]) if setting else ("", sentence)
    clause, speech = _parted(clause if follows else with_subject(clause))
    head, rest = begun_by(clause, voices.i, voices.we)
    if head:
        named = _THEY.search(clause) is not None  # Then "they" would be read as the others.
        head = head.replace("The ", "the ") if before else head
        text = _in_third_person(before, voices, named=named)
        text += head
        for part, by in _by_addressee(rest, voices):
            text += _in_third_person(_with_verbs(part, by), by, named=named)
        text += f'"{speech}"' if speech else ""
    elif voices.you == "the assistant" and _ORDER.match(sentence):
        told = _I_DO.sub(lambda match: _does(match, THE_USER), sentence)
        text = _PRONOUN_ALONE.sub(lambda match: _named(match[0].lower().replace("’", "'"), THE_USER.i), told)
    elif follows or (voices.you == "the assistant" and _stands_alone(sentence)):
        text = sentence
    else:
        text = f"{voices.i}: {sentence}"
    text = text.removesuffix("?") if " and asked " in text else text
    text = dated(text, said_on) if said_on is not None else text
    text = text[:1].upper() + text[1:]
    is_ended = text.endswith((".", "!", "?", "…", ")", "。", "！", "？", ":", '."', '!"', '?"'))
    return text if is_ended else f"{text}."


def _with_verbs(rest: str, voices: Voices) -> str:
    """What is left of a clause, with what the other one is asked for, and does."""
    if not voices.you:
        return rest
    rest = _ASKS.sub(lambda match: _asked(match, voices), rest)
    return _YOU_DO.sub(lambda match: f"{match[1]} {voices.you} {match[2]}{third(match[3])}", rest)


def _in_third_person(text: str, voices: Voices, *, named: bool) -> str:
    pronouns = _PRONOUNS
    if named:
        text = _I_DO.sub(lambda match: _does(match, voices), text)
        pronouns = {word: _named(word, voices.i) for word in _PRONOUNS}
    return _PRONOUN.sub(lambda match: _replaced(match, voices, pronouns), text)


def _parted(clause: str) -> tuple[str, str]:
    """A clause up to what somebody else says in it in the first person, and that: "Dad wrote: I'm ill"."""
    spoken = _SPEECH.search(clause)
    if spoken is None or _BY_SPEAKER.search(clause[: spoken.start()]):
        return clause, ""
    return clause[: spoken.end()], clause[spoken.end() :]


def _is_a_number(text: str, start: int, end: int) -> bool:
    """Whether an "I" there is no pronoun: "has type I diabetes", "World War I". "With people I love" is one."""
    before = text[max(0, start - _NEAR) : start]
    if _NUMBERED.search(before):
        return _SUPPOSES.match(text, end) is None
    return _COUNTED.search(before) is not None and _ENDS.match(text, end) is not None


def _by_addressee(rest: str, voices: Voices) -> Iterator[tuple[str, Voices]]:
    """The rest of a clause in parts: in some "you" may mean everybody ("because you can see the stars"), and it stays.

    Once somebody is spoken to, every other "you" is that one, too.
    """
    told = 0
    for found in _GENERAL.finditer(rest):
        ended = _CLAUSE_END.search(rest, found.end())
        end = ended.start() if ended else len(rest)
        if _YOU.search(rest, told, found.start()) or not _is_of_everybody(found, rest[found.start() : end]):
            break
        yield rest[told : found.start()], voices
        yield rest[found.start() : end], replace(voices, you="")
        told = end
    yield rest[told:], voices


def _is_of_everybody(found: re.Match[str], clause: str) -> bool:
    verb = (found["verb"] or "").lower()
    is_past = verb in IRREGULAR_PASTS or verb.endswith("ed")
    return not is_past and _TO_SPEAKER.search(clause) is None


def _stands_alone(sentence: str) -> bool:
    return _STANDS_ALONE.match(sentence) is not None and _OWN_WORD.search(sentence) is None


def _named(pronoun: str, name: str) -> str:
    """What stands for a pronoun of the speaker where the speaker is named again."""
    if pronoun.startswith("we") or pronoun in ("our", "us", "ours", "ourselves"):
        return _PRONOUNS[pronoun]
    ending = {"i'm": " is", "i am": " is", "i've": " has", "i'll": " will", "i'd": " would", "i was": " was"}
    return f"{name}{ending.get(pronoun, chr(39) + 's' if pronoun in ('my', 'mine') else '')}"


def _replaced(match: re.Match[str], voices: Voices, pronouns: dict[str, str]) -> str:
    word = match[0].lower()
    before = match.string[max(0, match.start() - _NEAR) : match.start()]
    is_name = match[0][0].isupper() and not word.startswith("i") and _WITHIN.search(before) is not None
    is_noun = word == "mine" and _OWNED.search(before) is None
    is_counted = word == "i" and _is_a_number(match.string, match.start(), match.end())
    if match[0] in ("US", "ME") or is_name or is_noun or is_counted or (word.startswith("you") and not voices.you):
        return match[0]
    if word.startswith("you"):
        endings = {"your": "'s", "yours": "'s", "you're": " is", "you've": " has", "you'll": " will", "you'd": " would"}
        return f"{voices.you}{endings.get(word, '')}"
    return pronouns[word]


def _does(match: re.Match[str], voices: Voices) -> str:
    if _is_a_number(match.string, match.start(), match.start() + 1):
        return match[0]
    return f"{voices.i} {match[1] or ''}{third(match[2])}"


def _asked(match: re.Match[str], voices: Voices) -> str:
    return " and asked for help to " if match["help"] else f" and asked {voices.you} to "


_MARK_UP = re.compile(r"\*\*|__|`|^(?:[-*•#>]+|\d+[.)])\s+")
# Not without end: what thanks takes with it may begin with thanks as well, and each way would be tried.
_LEAD_IN = compiled(r"""
    (?:(?:yeah|yep|yes|no|well|so|and|but|oh|also|actually|honestly|ok(?:ay)?|btw|by the way|thanks?(?: [\w']+){0,3}|
    hey(?: \w+)?|hi(?: \w+)?|as for me|plus|anyways?|ah|hmm?|right|sure|yo|omg|lol|ugh|wow|damn|oo+h|kk?|yup|nope|nah|
    (?:but )?seriously|basically|tbh|fyi|update|edit|p\.?s\.?|(?:but )?for real(?: now)?|guess what|fun fact|good news|
    bad news|um+|uh+)[,!.…:]* ){1,5}(?=(?:I|we|my|our)\b)
""")
# "In this repo we …", "Yesterday I …"
_SETTING = compiled(r"""
    (?:(?:in|on|for|at|within|since|after|before|during|over) [^,]{3,40}?|(?:last|next|this|coming) [\w ]{3,20}?|
    yesterday|today|tonight|tomorrow|recently|lately|currently|right now|nowadays|these days|then|now|once|earlier)
    (?:, | )(?=(?:I|we)\b)
""")
# "In the book the narrator says I was born in 1775": that is somebody else.
_SAYS = re.compile(rf"\b(?:{SPEECH_VERB})\b", re.IGNORECASE)
_THEY = re.compile(r"\b(?:they|them|their|theirs|themselves)\b", re.IGNORECASE)
_I_DO = re.compile(r"\bI ((?:(?:really|always|also|still|just|never|often|only) )?)([a-z]+)\b")
_OWN_WORD = re.compile(r"\b(?:I|me|my)\b", re.IGNORECASE)
_PRONOUN_ALONE = re.compile(r"\b(?:I(?:['’](?:m|ve|ll|d))?|me|my)\b(?!['’])", re.IGNORECASE)
# What has a subject of its own.
_STANDS_ALONE = compiled(
    # "The user" of somebody's program is another one.
    r"(?!the users?\b)(?:the|a|an|all|every|each|no|this|these|there|turns out|[A-Z][\w-]+ (?:is|are|was|were|has))\b"
)
_PRONOUNS = {
    "i'm": "they are", "i am": "they are", "i've": "they have", "i'll": "they will", "i'd": "they would",
    "i was": "they were", "i": "they", "my": "their", "me": "them", "myself": "themselves", "mine": "theirs",
    "we're": "they are", "we've": "they have", "we'll": "they will", "we'd": "they would", "we": "they", "our": "their",
    "us": "them", "ours": "theirs", "ourselves": "themselves",
}  # fmt: skip
_OWN_PRONOUNS = sorted(_PRONOUNS, key=len, reverse=True)
# Not in names such as `us-east-1` or `my.cnf`.
_PRONOUN = re.compile(
    rf"(?<![\w.@/-])(?:{'|'.join([*_OWN_PRONOUNS, 'you(?:[' + chr(39) + '](?:re|ve|ll|d)|rs?)?(?!rse)'])})"
    r"(?![\w'@/-]|\.\w| (?:and|or|of) I\b)",
    re.IGNORECASE,
)
# A capital within a sentence makes a name of it: a boat called My Girl.
_WITHIN = re.compile(r"[\w,] \Z")
_OWNED = re.compile(
    r"\b(?:of|is|are|was|were|be|been|become|became|than|as|like|and|or|with|from|not) \Z", re.IGNORECASE
)
# World War I; but: the town where Rome and I met.
_COUNTED = re.compile(r"\b(?!And\b|Or\b|But\b|Than\b)[A-Z]\w+ \Z")
_ENDS = re.compile(r"\s*(?:[.,;:!?)]|\Z|(?:in|and|or|at|from|on|of|with|to)\b)")
# With an article it is a pronoun: the class I teach.
_NUMBERED = re.compile(
    r"(?:\b(?:bipolar|World War)|(?:\A|\b(?:with|has|have|had|of|from|for|at|is|are|was|to|got) )"
    r"(?:type|stage|phase|class|grade|level|part)|\bin (?:type|stage|phase|grade|level)) \Z",
    re.IGNORECASE,
)
_SUPPOSES = re.compile(r" (?:think|guess|suppose|believe|hope|know|fear)\b", re.IGNORECASE)
# How much of what is before a word is looked at.
_NEAR = 40
_SPEECH = compiled(rf"""
    \b(?:{SPEECH_VERB}|texted|messaged|announced|answered|shouted|whispered|tweeted|told (?:him|her|them))
    (?: (?:me|us|him|her|them|to me|that)\b)?\s*:\s+(?=(?:I|I'm|I've|I'll|I'd|we|we're|we've|we'll|my|our)\b)|
    \b(?:goes|(?:was|were|is) (?:all |just )?like)\b[,:]? +(?=(?:I|I'm|I've|I'll|I'd)\b)
""")
_BY_SPEAKER = re.compile(r"\b(?:I|we)(?:['’]ve)? (?:\w+ )?\Z", re.IGNORECASE)
# What anybody can, gets or has to do; after "because" and "where" any plain present may be of everybody.
_GENERAL = compiled(r"""
    \b(?:(?:(?:because|where|when|whenever|how)[ ]you[ ](?:(?:always|never|really|also|only|just|still|ever)[ ]){0,3}
    (?:can|can't|cannot|get|have[ ]to)|if[ ]you[ ]have[ ]to)\b|
    (?:because|where)[ ]you[ ](?:(?:always|never|really|also|only|just|still|ever)[ ]){0,3}
    (?!are\b|were\b|have\b|had\b|will\b|would\b|could\b|need\b|want\b)(?P<verb>[a-z']+)\b)
""")
_YOU = re.compile(r"\byou", re.IGNORECASE)
_TO_SPEAKER = re.compile(r"\bme\b", re.IGNORECASE)
# "And you" goes on.
_CLAUSE_END = compiled(r"""
    [,;:.!?]|[ ](?:because|when|whenever|if|unless|while|although|but|so)\b|
    [ ]and[ ](?:I|we|he|she|it|they|my|our|can[ ]you|could[ ]you)\b
""")
_ORDER = compiled(r"""
    (?:(?:in|on|for|at|within) [^,]{3,40},? )?(?:please )?(?:always|never|don't|do not|only|use|prefer|stick (?:to|
    with)|make sure|be sure)\b
""")
# What is asked for at the end of a statement.
_ASKS = compiled(r"""
    ,? (?:(?:so|and|but|now),? )?(?:can|could|would|will) you (?:please |maybe |also )?(?P<help>help me (?:to |with )?)?
""")
# "you" where it does something, not where something is done to it; then its verb changes with it.
_YOU_DO = compiled(r"""
    \b(before|after|when|whenever|if|unless|until|once|while|that|because|where|what|whatever|how)[ ]you[ ]
    ((?:always |never |really |also |only |just |still |first |ever )*)([a-z']+)\b
""")
