"""Two plain facts of one thing: "lives in Rome" and "moved to Oslo". Pure.

Where something has one value at a time, another one ends it; where it may have many, it does not. For such pairs this
is more certain than what a model says, as long as both values look like values of that thing: of "boss is Eva" and
"boss is great" one names somebody, and the other does not.
"""

import re
from dataclasses import dataclass
from enum import StrEnum, auto

_WORD = re.compile(r"[\w'@./:-]+")
_LONGEST_VALUE = 4
# What is longer says more than one plain thing.
_LONGEST_FACT = 2000


class ValueChange(StrEnum):
    """What the words of two facts say of the older one."""

    ANOTHER = auto()
    """There is one value of this at a time, and the newer one names another."""
    LIKELY = auto()
    """So it seems, but what the two name may be something else."""
    UNCERTAIN = auto()
    """So it seems, but they may be of two people, or the one may lie in the other."""
    BESIDE = auto()
    """They begin alike, and say different things: both can be true."""
    ONE_OF_MANY = auto()
    """There may be many of these."""


class _Shape(StrEnum):
    """What a value looks like."""

    NAME = auto()  # Oslo; Tom Keller
    CODE = auto()  # 8080; May 3; ada@example.org
    YEAR = auto()  # 1990; May 1990
    DAY = auto()  # May; Friday
    THING = auto()  # a bank; the sales team
    WORDS = auto()  # sick; blue; near the station


_NAMES = frozenset({_Shape.NAME})
_CODES = frozenset({_Shape.CODE})
_YEARS = frozenset({_Shape.YEAR})
_NUMBERS = _CODES | _YEARS
_THINGS = frozenset({_Shape.THING})
_WORDS = frozenset({_Shape.WORDS})
_DATES = (_CODES, _YEARS, frozenset({_Shape.DAY}))
"""May 3 and May 5 exclude each other; May 3 and 1990 do not."""


@dataclass(frozen=True, slots=True)
class _Claim:
    """A way to say the one value of something. Two values are `certain` to be such where both are of the same of these
    sets of shapes, and `likely` to be with those.
    """

    said: re.Pattern[str]
    certain: tuple[frozenset[_Shape], ...]
    likely: tuple[frozenset[_Shape], ...] = ()
    are_places: bool = False


def _said(verbs: str) -> re.Pattern[str]:
    return re.compile(rf"(?P<who>.*?)\b(?:now |also )?(?P<verb>{verbs}) (?P<value>.+)", re.IGNORECASE)


# What is said before the value, the subject apart. Those of a line are about the same thing.
_CLAIMS = (
    _Claim(
        _said("lives? in|living in|is based in|(?:has )?(?:just )?moved to|(?:has )?relocated to|home is (?:now )?in"),
        (_NAMES,),
        (_NUMBERS, _THINGS, _WORDS),
        are_places=True,
    ),
    _Claim(
        _said("works? (?:at|for)|is working (?:at|for)|(?:has )?joined|employer is|is employed by"),
        (_NAMES,),
        (_THINGS,),
    ),
    _Claim(_said("name is|goes by|wants to be called"), (_NAMES,)),
    _Claim(_said("listens on(?: port)?|runs on port|port is"), (_NUMBERS,)),
    _Claim(_said("is due on|deadline is|is due by"), _DATES),
    _Claim(_said("works? as|job is"), (), (_THINGS,)),
    _Claim(_said("version is"), (_NUMBERS,)),
    *(_Claim(_said(f"{role} is"), (_NAMES,)) for role in ("manager", "boss", "landlord", "doctor", "dentist")),
    _Claim(_said("address is"), (_NUMBERS,)),
    _Claim(_said("e-?mail(?: address)? is"), (_NUMBERS,)),
    _Claim(_said("phone(?: number)? is"), (_NUMBERS,), (_THINGS,)),
    _Claim(_said("time ?zone is"), (_NAMES | _CODES,)),
    _Claim(_said("birthday is"), _DATES),
    _Claim(_said("was born (?:in|on)"), (_NAMES, *_DATES), are_places=True),
    _Claim(_said("is married to"), (_NAMES,)),
    _Claim(_said("weighs"), (_NUMBERS,)),
    _Claim(
        re.compile(r"(?P<who>.*favou?rite [\w ]+?) (?P<verb>is) (?P<value>.+)", re.IGNORECASE),
        (_NAMES, _NUMBERS),
        (_THINGS, _WORDS),
    ),
)
_MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
_DAYS = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_SEASONS = "spring|summer|autumn|winter"
_DETERMINED = re.compile(
    r"(?:an?|the|his|her|their|my|our|its|your|this|that|another|some|one|two|several|different)\b"
)
_CODED = re.compile(r"[\d@]")
# What has a capital, and tells how somebody is.
_ADJECTIVE = re.compile(
    r"(?:english|irish|scottish|british|spanish|polish|danish|swedish|finnish|turkish|jewish|kurdish|flemish|chinese|"
    r"japanese|portuguese|vietnamese|lebanese|nepalese|maltese|senegalese|taiwanese|sudanese|german|"
    r"french|dutch|greek|swiss|thai|czech|welsh|arab|iraqi|pakistani|israeli|american|mexican|"
    r"canadian|italian|russian|indian|brazilian|australian|austrian|norwegian|hungarian|romanian|bulgarian|ukrainian|"
    r"belgian|egyptian|iranian|nigerian|african|european|asian|korean|moroccan|ethiopian|serbian|croatian|persian|"
    r"colombian|argentinian|catholic|muslim|christian|hindu|buddhist|vegan|vegetarian|retired|sick|great|nice|kind|angry|"
    r"away|back|ok|okay|on (?:vacation|holiday|leave|sabbatical))"
    r"(?: (?:today|now|again|too|really|lately|by birth))?",
    re.IGNORECASE,
)
_OF_A_CALENDAR = re.compile(rf"(?:{_MONTHS}|{_DAYS})\b", re.IGNORECASE)
_OF_A_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
# One joins a club, a union or a network as well, and keeps the job: whom one joins "as a" something employs one.
_JOINED = re.compile(r"\bjoined\b(?!.{0,200} as an? )", re.IGNORECASE)
_MOVED = re.compile(r".*(?:moved|relocated)", re.IGNORECASE)
# What is told with a year may be long over when it is told.
_LONG_AGO = re.compile(
    rf"\b(?:moved|relocated|joined)\b.{{0,200}} in (?:(?:{_MONTHS}) )?(?:19|20)\d\d\b", re.IGNORECASE
)
# What people move to although it is no place, by names that could be of one.
_NO_PLACES = re.compile(
    r"(?:sales|marketing|finance|engineering|research|support|operations|product|design|legal|accounting|management|"
    r"devops|qa|hr|it|team|linux|ubuntu|debian|fedora|windows|mac(?: ?os)?|android|ios|iphone|chrome|firefox|safari|"
    r"vim|neovim|emacs|cursor|python|rust|go|golang|java|kotlin|swift|typescript|javascript|react|vue|svelte|angular|django|"
    r"docker|kubernetes|terraform|ansible|postgres(?:ql)?|mysql|sqlite|redis|kafka|github|gitlab|bitbucket|git|jira|"
    r"linear|asana|trello|notion|obsidian|evernote|slack|teams|discord|zoom|signal|telegram|whatsapp|spotify|netflix|gmail|"
    r"outlook|aws|gcp|azure|heroku|vercel|cloudflare|zsh|fish|bash|scrum|kanban|islam|judaism|buddhism|christianity)\b.*",
    re.IGNORECASE,
)
# A city lies in a country, and both are told of one home.
_LARGE_PLACES = re.compile(
    r"(?:the )?(?:europe|asia|africa|scandinavia|albania|algeria|argentina|australia|austria|bangladesh|belarus|"
    r"belgium|bolivia|bosnia|brazil|britain|great britain|bulgaria|cambodia|cameroon|canada|chile|china|colombia|"
    r"costa rica|croatia|cuba|cyprus|czechia|czech republic|denmark|ecuador|egypt|england|estonia|ethiopia|finland|"
    r"france|georgia|germany|ghana|greece|guatemala|hungary|iceland|india|indonesia|iran|iraq|ireland|israel|italy|"
    r"jamaica|japan|jordan|kazakhstan|kenya|korea|south korea|north korea|latvia|lebanon|lithuania|malaysia|malta|"
    r"mexico|moldova|mongolia|montenegro|morocco|mozambique|nepal|netherlands|new zealand|nicaragua|nigeria|"
    r"northern ireland|norway|pakistan|palestine|panama|paraguay|peru|philippines|poland|portugal|romania|russia|"
    r"rwanda|saudi arabia|scotland|senegal|serbia|slovakia|slovenia|south africa|spain|sri lanka|sudan|sweden|"
    r"switzerland|syria|taiwan|tanzania|thailand|tunisia|turkey|türkiye|uganda|uk|ukraine|united kingdom|"
    r"united states|uruguay|us|usa|u\.s\.a?|uzbekistan|venezuela|vietnam|wales|zambia|zimbabwe|alabama|alaska|arizona|"
    r"california|colorado|florida|hawaii|illinois|massachusetts|michigan|minnesota|new jersey|ohio|oregon|"
    r"pennsylvania|texas|virginia|ontario|quebec|bavaria|saxony|catalonia|andalusia|tuscany|sicily|provence)",
    re.IGNORECASE,
)
# Of these one has several, and what is told of two of them is told of each.
_ONE_OF_SEVERAL = re.compile(
    r"\b(?:friends?|brothers?|sisters?|siblings?|cousins?|uncles?|aunts?|nephews?|nieces?|sons?|daughters?|child|"
    r"children|kids?|twins?|grand(?:son|daughter|child|mother|father|parent)s?|in-law|colleagues?|co-?workers?|"
    r"neighbou?rs?|room-?mates?|flat-?mates?|class-?mates?|team-?mates?|students?|pupils?|clients?|customers?|"
    r"patients?|members?|guys?|someone|somebody|one of|an?(?= \w)|some|many|most|"
    r"want(?:s|ed)? to|would|might|could|hopes? to|plans? to|dreams? of|considers?|used to|once|never|not|\w+n['’]t|"
    r"appl(?:y|ies|ied) to|going to|interview(?:s|ed|ing)?)\b",
    re.IGNORECASE,
)
# With these, the other one may go on.
_AS_WELL = re.compile(
    rf"\b(?:also|too|as well|besides|part[- ]time|freelance|on the side|sometimes|occasionally|often|temporarily|"
    rf"for now|for (?:an?|the|two|three|\d+) (?:days?|weeks?|months?|while|summer|winter|semester)|until|"
    rf"(?:{_DAYS})s|(?:on|at|over) (?:the )?weekends?|weekends|in the (?:mornings?|afternoons?|evenings?)|"
    rf"at nights?|half (?:of )?the|every|each|volunteer\w*|intern(?:s|ed|ing|ships?)?|"
    rf"(?:lives?|living|works?|working|based) .{{0,200}} in (?:the )?(?:{_SEASONS}))\b",
    re.IGNORECASE,
)
_MANY = re.compile(
    r"\b(?:likes?|loves?|enjoys?|dislikes?|hates?|visited|read|watched|tried|knows?|speaks?|met|owns?|bought|plays?|"
    r"studied|has|have|been to|collects?)\b",
    re.IGNORECASE,
)
# What may follow a value without being a part of it.
_AFTER = re.compile(
    rf"(?:,| (?:since|because|last|this|in \d{{4}}|in (?:{_MONTHS}|{_SEASONS})|now|these days|nowadays|from|as|on|"
    r"again|after|before)\b).*$",
    re.IGNORECASE,
)
_SEVERAL = re.compile(
    r"[.!?;] \w|\band (?:(?:also|then|never|always|he|she|they|it) )?(?:is|am|are|was|allergic|cannot|does|has|"
    r"have|works?|plays?|lives?|likes?|loves?|owns?|eats?|drinks?|uses?|wants?|prefers?|goes|speaks?|studies|"
    r"teaches|drives?|keeps?|hates?|needs?|runs?|wears?|takes?)\b",
    re.IGNORECASE,
)


def change_of(older: str, newer: str) -> ValueChange | None:
    """What the words of a newer fact do to an older one.

    None where they do not say: they are about different things, or differ in more than a value.
    """
    if max(len(older), len(newer)) > _LONGEST_FACT:
        return None
    older, newer = _line(older), _line(newer)
    for claim in _CLAIMS:
        old, new = claim.said.fullmatch(older), claim.said.fullmatch(newer)
        if old and new:
            return _change(claim, old, new)
    return _one_of_many(_words(older.casefold()), _words(newer.casefold()))


def _change(claim: _Claim, *said: re.Match[str]) -> ValueChange | None:
    older, newer = said
    who = older["who"].casefold()
    values = [_AFTER.sub("", one["value"]) for one in said]
    if (
        who != newer["who"].casefold()
        or _is_said_again(*(value.casefold() for value in values))
        or max(len(value.split()) for value in values) > _LONGEST_VALUE
    ):
        return None
    shapes = {_shape(value) for value in values}
    is_certain = any(shapes <= group for group in claim.certain)
    is_likely = any(shapes <= group for group in claim.likely)
    is_elsewhere = any(_MOVED.match(one["verb"]) and _NO_PLACES.fullmatch(_AFTER.sub("", one["value"])) for one in said)
    if is_elsewhere or not (is_certain or is_likely) or any(_AS_WELL.search(one[0]) for one in said):
        return ValueChange.BESIDE
    is_larger = claim.are_places and len({_LARGE_PLACES.fullmatch(value) is None for value in values}) > 1
    if is_larger or _ONE_OF_SEVERAL.search(who) or any(_LONG_AGO.search(one[0]) for one in said):
        return ValueChange.UNCERTAIN
    is_certain &= not any(_JOINED.search(one[0]) for one in said)
    is_certain &= len({one["verb"].casefold().endswith(" for") for one in said}) == 1
    return ValueChange.ANOTHER if is_certain else ValueChange.LIKELY


def _is_said_again(one: str, other: str) -> bool:
    return one in other or other in one or set(one.split()) == set(other.split())


def _shape(value: str) -> _Shape:
    first = value.split()[0]
    if _DETERMINED.match(value):
        return _Shape.THING
    if (first[0].islower() and not _CODED.search(first)) or _ADJECTIVE.fullmatch(value):
        return _Shape.WORDS
    if _OF_A_YEAR.search(value):
        return _Shape.YEAR
    if _CODED.search(value):
        return _Shape.CODE
    return _Shape.DAY if _OF_A_CALENDAR.match(value) else _Shape.NAME


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


def _one_of_many(old: list[str], new: list[str]) -> ValueChange | None:
    """ONE_OF_MANY where the two say the same of two values of a thing that may have many."""
    shared = 0
    while shared < min(len(old), len(new)) and old[shared] == new[shared]:
        shared += 1
    tail = 0
    while tail < min(len(old), len(new)) - shared and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    first, second = old[shared : len(old) - tail], new[shared : len(new) - tail]
    is_value = all(1 <= len(one) <= _LONGEST_VALUE for one in (first, second)) and not set(first) & set(second)
    is_one_of_many = shared >= 2 and is_value and _MANY.search(" ".join(old[:shared]))
    return ValueChange.ONE_OF_MANY if is_one_of_many else None


def _plain(text: str) -> str:
    """The line in small letters."""
    return _line(text.casefold())


def _line(text: str) -> str:
    """One line without its full stop; 1,200 is 1200."""
    return re.sub(r"(?<=\d),(?=\d{3})", "", " ".join(text.split())).rstrip(".! ")
