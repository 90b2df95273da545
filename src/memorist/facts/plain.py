"""Two plain facts of one thing: "lives in Rome" and "moved to Oslo". Pure.

Where something has one value at a time, another one ends it; where it may have many, it does not. For such pairs this
is more certain than what a model says.
"""

import re

_WORD = re.compile(r"[\w'@./:-]+")
_LONGEST_VALUE = 4
# What is longer says more than one plain thing.
_LONGEST_FACT = 2000
# What is said before the value, the subject apart. Those of a group are about the same thing.
_ONE_AT_A_TIME = (
    r"lives? in|living in|is based in|(?:has )?(?:just )?moved to|(?:has )?relocated to|home is (?:now )?in",
    r"works? (?:at|for)|is working (?:at|for)|(?:has )?joined|employer is|is employed by",
    r"(?:first |last |full )?name is|goes by|wants to be called",
    r"listens on(?: port)?|runs on port|port is",
    r"is due on|deadline is|is due by",
    r"works? as|job is",
    *(
        f"{one} is"
        for one in (
            "version",
            "manager",
            "boss",
            "landlord",
            "doctor",
            "dentist",
            "address",
            "e-?mail(?: address)?",
            "phone(?: number)?",
            "time ?zone",
            "birthday",
        )
    ),
    r"was born (?:in|on)",
    "is married to",
    "weighs",
)
_CLAIMS = [
    *(re.compile(rf"(?P<who>.*?)\b(?:now )?(?:{said}) (?P<value>.+)") for said in _ONE_AT_A_TIME),
    re.compile(r"(?P<who>.*favou?rite [\w ]+?) is (?P<value>.+)"),
]
_MANY = re.compile(
    r"\b(?:likes?|loves?|enjoys?|dislikes?|hates?|visited|read|watched|tried|knows?|speaks?|met|owns?|bought|plays?|"
    r"studied|has|have|been to|collects?)\b",
    re.IGNORECASE,
)
# What may follow a value without being a part of it.
_AFTER = re.compile(
    r"(?:,| (?:since|because|last|this|in \d{4}|in (?:january|february|march|april|may|june|july|august|september|"
    r"october|november|december|spring|summer|autumn|winter)|now|these days|nowadays|from|as|on|again|after|"
    r"before)\b).*$"
)
_SEVERAL = re.compile(
    r"[.!?;] \w|\band (?:(?:also|then|never|always|he|she|they|it) )?(?:is|am|are|was|allergic|cannot|does|has|"
    r"have|works?|plays?|lives?|likes?|loves?|owns?|eats?|drinks?|uses?|wants?|prefers?|goes|speaks?|studies|"
    r"teaches|drives?|keeps?|hates?|needs?|runs?|wears?|takes?)\b",
    re.IGNORECASE,
)


def is_another_value(older: str, newer: str) -> bool | None:
    """Whether the newer fact gives the same thing another value (True), or adds one of many (False).

    None where nobody knows: they are about different things, or differ in more than a value.
    """
    if max(len(older), len(newer)) > _LONGEST_FACT:
        return None
    older, newer = _plain(older), _plain(newer)
    for claim in _CLAIMS:
        old, new = claim.fullmatch(older), claim.fullmatch(newer)
        if old and new:
            values = _AFTER.sub("", old["value"]), _AFTER.sub("", new["value"])
            is_same_thing = old["who"] == new["who"] and max(len(value.split()) for value in values) <= _LONGEST_VALUE
            return True if is_same_thing and values[0] not in values[1] and values[1] not in values[0] else None
    return _one_of_many(_words(older), _words(newer))


def has_the_same_words(older: str, newer: str) -> bool:
    """Whether two facts differ in articles, case and marks alone."""
    return _counted_words(older) == _counted_words(newer)


def _counted_words(text: str) -> list[str]:
    return [word for word in _words(_plain(text)) if word not in ("the", "a", "an")]


def _words(text: str) -> list[str]:
    """The words of a text, without the marks at their ends."""
    return [bare for word in _WORD.findall(text) if (bare := word.rstrip("./:-"))]


def says_several_things(text: str) -> bool:
    """Whether a fact holds more than one claim, so that one of them may change while the others stay."""
    return _SEVERAL.search(text) is not None


def _one_of_many(old: list[str], new: list[str]) -> bool | None:
    """False where the two say the same of two values of a thing that may have many."""
    shared = 0
    while shared < min(len(old), len(new)) and old[shared] == new[shared]:
        shared += 1
    tail = 0
    while tail < min(len(old), len(new)) - shared and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    first, second = old[shared : len(old) - tail], new[shared : len(new) - tail]
    is_value = all(1 <= len(one) <= _LONGEST_VALUE for one in (first, second)) and not set(first) & set(second)
    return False if shared >= 2 and is_value and _MANY.search(" ".join(old[:shared])) else None


def _plain(text: str) -> str:
    """One line in small letters, without its full stop; 1,200 is 1200."""
    return re.sub(r"(?<=\d),(?=\d{3})", "", " ".join(text.casefold().split())).rstrip(".! ")
