"""Whom and what a text names: capitalised words that begin no sentence or do what people do, and names after words such
as "sister". Pure.
"""

import re
from collections.abc import Iterator
from itertools import takewhile
from typing import NamedTuple

from memorist.about.subjects import subjects_in

# No "Papa" with a capital: Papa John's is nobody's father.
_KIN = (
    "mother|mom|mum|mama|mommy|mummy|father|dad|papa|daddy|parent|sister|brother|twin|daughter|son|child|kid|baby|wife|husband|spouse|partner|"
    "girlfriend|boyfriend|fiancée?|grandmother|grandma|grandfather|grandpa|aunt|uncle|cousin|niece|nephew|"
    "stepmother|stepfather|stepson|stepdaughter|friend|roommate|flatmate|neighbou?r|colleague|coworker|co-worker|"
    "boss|manager|teacher|professor|mentor|coach|therapist|doctor|dentist|landlord|"
    "dog|puppy|cat|kitten|horse|hamster|rabbit|parrot|pet|"
    "Mutter|Mama|Vater|Schwester|Bruder|Tochter|Sohn|Frau|Mann|Freund|Freundin|Tante|Onkel|Oma|Opa|Hund|Katze|"
    "mère|maman|père|sœur|frère|fille|fils|mari|femme|ami|amie|chien|"
    "madre|mamá|padre|papá|hermana|hermano|hija|hijo|esposa|esposo|marido|amigo|amiga|perro|gata|gato"
)
_RELATIVE = re.compile(f"(?:{_KIN})s?", re.IGNORECASE)
_NAME = r"[^\W\d_a-zß-öø-ÿ][\w'’-]{0,40}[^\W\d_]"
# "Tom's sister Mia", "dog named Rex", "cat is called Minka", "wife's name is Anna".
_RELATED = re.compile(
    rf"(?:(?P<of>{_NAME})['’]s )?\b(?P<relation>{_KIN})s?(?:,? (?:is |was )?(?:named|called)|['’]s name is|,)? "
    rf"(?P<name>{_NAME}(?: {_NAME})?)"
)
# What somebody said, or the title of something.
_QUOTED = re.compile(r"(?P<said>(?:said|says|asked|asks|to|:),? )?[\"“„«](?P<title>[^\"“”„«»]*)[\"”“»]", re.IGNORECASE)
_LONGEST_TITLE = 6
_WORD = re.compile(r"[^\W\d_]+(?:['’.-][^\W\d_]+)*")
# A sentence begins here, or what somebody else says.
_BEGINS = re.compile(r"(?:^|[.!?:;…\"“”„«»(\[*•\n]|(?:^|\s)[-–—])\s*$")
_POSSESSIVE = re.compile(r"['’]s?$")
_BETWEEN = re.compile(r" (?:(?:of|de|da|del|van|von) )?")
# Days, and words that people begin in the middle of a sentence.
_NO_NAMES = {
    "i", "user", "assistant", "mr", "mrs", "ms", "dr", "ok", "okay", "tv", "am", "pm",
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
    "mondays", "tuesdays", "wednesdays", "thursdays", "fridays", "saturdays", "sundays",
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december", "mon", "tue", "wed", "thu", "fri", "sat", "sun", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep",
    "oct", "nov", "dec", "a", "an", "and", "but", "he", "hello", "here", "hey", "hi", "his", "her", "how", "if", "in",
    "it", "its", "just", "let", "lol", "maybe", "my", "no", "not", "now", "oh", "on", "our", "please", "she", "so",
    "sorry", "thank", "thanks", "that", "the", "their", "then", "there", "these", "they", "this", "those", "we", "well",
    "what", "when", "where", "which", "who", "why", "wow", "yeah", "yep", "yes", "you", "your",
}  # fmt: skip
# All nouns are capitalised there.
_GERMAN = re.compile(
    r"\b(?:der|das|dem|den|und|ist|nicht|ein|eine|einen|mit|ich|für|auf|im|hat|zu|mich|mir|bitte|heißt|wohnt|wir|vom|zum|"
    r"nach|auch|[Mm]ein|[Mm]eine[mnrs]?|seine?|[Ii]hre|[Uu]nsere?)\b"
)
_GERMAN_ENOUGH = 2
_AT = re.compile(r"\b(?:at|for|from|by|with) $")
_BLANK_LINES = re.compile(r"\n{3,}")
# People state facts in sentences; of what is longer the beginning is read.
_LONGEST_READ = 10_000
_LONGEST_NAME = 80
# As far as it matters what stands before a word.
_LOOKED_BACK = 100


class Named(NamedTuple):
    """A name in a text, and what its bearer is said to be."""

    name: str
    relation: str | None = None
    is_guess: bool = False
    """Whether it is a person that only begins sentences: no name where others have it in small letters."""


def names_in(text: str, person: str = "User") -> list[Named]:
    """The names of a text or, of a very long one, of its beginning, each once, in their order; `person` is the one that
    it tells of.

    A word at the beginning of a sentence, where any is capitalised, is a guess where it does what only people do.
    """
    found: dict[str, Named] = {}
    text = _BLANK_LINES.sub("\n\n", text)[:_LONGEST_READ]
    # As long as before, so that what follows a quotation begins no sentence.
    unquoted = _QUOTED.sub(lambda match: "_" * len(match[0]), text)
    for named in (*_related(unquoted, person), *_titles(text), *_capitalised(unquoted)):
        found.setdefault(named.name.casefold(), named)
    for name in subjects_in(unquoted, _is_no_subject):
        first, _, last = name.rpartition(" ")
        if first and last.casefold() in found:
            del found[last.casefold()]  # It was found without the word that begins the sentence.
        found.setdefault(name.casefold(), Named(name, is_guess=True))
    return [one for key, one in found.items() if key != person.casefold()]


def names(text: str, name: str) -> bool:
    """Whether a text has this name, in any case, as whole words."""
    return folded_names(text.casefold(), name.casefold())


def folded_names(text: str, name: str) -> bool:
    """The same of two that are case-folded already. A pattern for each name would take long where many are sought."""
    at = text.find(name)
    while at >= 0:
        if not _is_in_word(text[max(at - 1, 0) : at]) and not _is_in_word(text[at + len(name) : at + len(name) + 1]):
            return True
        at = text.find(name, at + 1)
    return False


def _is_in_word(sign: str) -> bool:
    return sign.isalnum() or sign == "_"


def _related(text: str, person: str) -> Iterator[Named]:
    for match in _RELATED.finditer(text):
        # "Her sister Mia Monday": what is no name ends it.
        words = list(takewhile(lambda word: not _is_none(word), map(_bare, match["name"].split(" "))))
        if words:
            is_others = match["of"] and match["of"].casefold() not in (person.casefold(), "user")
            relation = f"{match['of']}'s {match['relation']}" if is_others else match["relation"]
            yield Named(" ".join(words), relation)


def _titles(text: str) -> Iterator[Named]:
    for match in _QUOTED.finditer(text):
        words = match["title"].strip(" ,.").split(" ")
        is_title = words[0][:1].isupper() and words[-1][:1].isupper() and len(words) <= _LONGEST_TITLE
        if is_title and not match["said"] and not re.search(r"[.?!]", match["title"].rstrip(" ,.")):
            yield Named(" ".join(words))


def _capitalised(text: str) -> Iterator[Named]:
    if len(_GERMAN.findall(text)) >= _GERMAN_ENOUGH:
        return
    spans: list[tuple[int, int]] = []
    for match in _WORD.finditer(text):
        word, start = _bare(match[0]), match.start()
        if word[:1].isupper() and not _is_none(word) and _is_meant(text, start, word):
            joins = (
                bool(spans)
                and start + len(word) - spans[-1][0] <= _LONGEST_NAME
                and _BETWEEN.fullmatch(text, spans[-1][1], start)
            )
            first = spans.pop()[0] if joins else start
            spans.append((first, start + len(word)))
    for first, last in spans:
        yield Named(text[first:last])


def _is_meant(text: str, start: int, word: str) -> bool:
    before = max(0, start - _LOOKED_BACK)
    if _BEGINS.search(text, before, start):
        return False
    # Others write in capitals to be loud.
    return not (len(word) > 1 and word.isupper()) or bool(_AT.search(text, before, start))


def _bare(word: str) -> str:
    return _POSSESSIVE.sub("", word)


def _is_no_subject(word: str) -> bool:
    return _is_none(word) or _RELATIVE.fullmatch(word) is not None


def _is_none(word: str) -> bool:
    return re.split(r"['’]", word)[0].casefold() in _NO_NAMES or len(word) < 2
