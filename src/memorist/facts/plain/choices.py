"""Things of which one is chosen at a time: metric or imperial units, dark or light mode, the language of answers. Pure.

They tell a change only where all else that two facts say is the same: who, of what, and when. "Dark mode in the editor"
and "light mode on the phone" stand beside each other.
"""

import re
from dataclasses import dataclass

from memorist.facts.plain.wording import words_of

_CHOSEN = "choose"
_IS = "be"


@dataclass(frozen=True, slots=True)
class OtherChoice:
    """Another choice of the same thing, by whom, and whether the words leave no doubt of it."""

    who: str
    is_certain: bool


@dataclass(frozen=True, slots=True)
class _Group:
    """Sides of which one holds, each with its words. They are meant where the rest of the fact has a word `of` theirs,
    or, where they may stand `alone`, nothing but where or when it holds follows them; and where it has one of the
    `verbs`.
    """

    sides: tuple[frozenset[str], ...]
    of: frozenset[str] = frozenset()
    alone: bool = False
    verbs: frozenset[str] = frozenset({_CHOSEN, _IS})

    def side_of(self, word: str) -> int | None:
        return next((number for number, side in enumerate(self.sides) if word in side), None)


def _sides(text: str) -> tuple[frozenset[str], ...]:
    """ "brief short | long" are two sides, the first with two words."""
    return tuple(frozenset(side.split()) for side in text.split("|"))


def _any(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ANSWERS = _any(
    "answer answers reply replies respond response responses explanation explanations summary summaries message "
    "messages email emails report reports write written writing"
)
_ANSWERING = _any("answer reply respond write keep")
"""What an agent is told to do."""
_TEXTS = _ANSWERS | _any(
    "subtitles menus interface ui app documentation docs comments commits documents letters invoices contract "
    "contracts newsletter notifications"
)
_ONE_SIDED = frozenset({_IS, _CHOSEN, "has", "have", "keeps", "keep", "turned", "switched"})
_LANGUAGES = _sides(
    "english | german | french | spanish | italian | portuguese | dutch | polish | russian | ukrainian | turkish | "
    "arabic | hebrew | hindi | chinese mandarin | japanese | korean | swedish | norwegian | danish | finnish | czech | "
    "greek | hungarian | romanian | vietnamese | thai | catalan | bulgarian | croatian | serbian | indonesian"
)
_GROUPS = (
    _Group(_sides("metric | imperial"), _any("unit units system measurement measurements"), alone=True),
    _Group(_sides("celsius centigrade | fahrenheit | kelvin"), _any("temperature temperatures degrees"), alone=True),
    _Group(_sides("kilometers kilometres km | miles"), _any("distance distances units in"), verbs=_any(_CHOSEN)),
    _Group(_sides("kilograms kg kilos | pounds lbs"), _any("weight weights units in"), verbs=_any(_CHOSEN)),
    _Group(
        _sides("euros euro eur | dollars dollar usd | gbp | francs chf | yen jpy"),
        _any("price prices amount amounts cost costs figures totals invoices currency"),
        verbs=_any(_CHOSEN),
    ),
    _Group(
        _sides("dark | light"),
        _any("mode theme themes scheme appearance background interface ui"),
    ),
    _Group(_sides("tabs | spaces"), _any("indentation indent indenting"), alone=True, verbs=_any(_CHOSEN)),
    _Group(_sides("camelcase | snake_case | pascalcase | kebab-case"), _any("names naming variables functions for")),
    _Group(_sides("single | double"), _any("quotes")),
    _Group(_sides("12-hour | 24-hour"), _any("clock time times format notation"), alone=True),
    _Group(_sides("window | aisle"), _any("seat seats"), alone=True, verbs=_any(_CHOSEN)),
    _Group(_sides("economy | business | first"), _any("class"), verbs=_any(_CHOSEN)),
    _Group(
        _sides("morning | afternoon | evening"),
        _any("meetings calls appointments flights classes"),
        verbs=_any(_CHOSEN),
    ),
    _Group(_sides("still | sparkling"), _any("water"), verbs=_any(_CHOSEN)),
    _Group(_sides("bullets | prose paragraphs"), _ANSWERS, alone=True),
    _Group(
        _sides("brief short shorter concise terse succinct | detailed long longer verbose thorough in-depth lengthy"),
        _ANSWERS,
        verbs=frozenset({_CHOSEN, _IS}) | _ANSWERING,
    ),
    _Group(_sides("briefly concisely | thoroughly verbosely"), alone=True, verbs=frozenset({_CHOSEN}) | _ANSWERING),
    _Group(
        _sides("formal | informal casual"),
        _ANSWERS | _any("tone style language register address"),
        verbs=frozenset({_CHOSEN, _IS}) | _ANSWERING,
    ),
    _Group(_sides("formally | informally casually"), alone=True, verbs=frozenset({_CHOSEN}) | _ANSWERING),
    _Group(_LANGUAGES, _TEXTS, verbs=frozenset({_CHOSEN}) | _ANSWERING),
    _Group(_LANGUAGES, _any("language locale"), verbs=_any(_IS)),
    _Group(_sides("british | american"), _any("english spelling")),
    _Group(
        _sides("email | phone | sms | post | chat | slack"),
        _any("contact contacted reached reminded notified informed communication reminders notifications by via"),
        verbs=_any(_CHOSEN),
    ),
    _Group(
        _sides("remotely remote | onsite | hybrid"),
        _any("job jobs role position"),
        alone=True,
        verbs=frozenset({_CHOSEN, _IS, "works", "work"}),
    ),
    _Group(
        _sides("weekly | monthly | quarterly | yearly annually annual"),
        _any("billed billing pays pay payment payments invoiced plan subscription"),
        verbs=frozenset({_CHOSEN, _IS, "pays", "pay"}),
    ),
    _Group(_sides("on | off"), alone=True, verbs=_ONE_SIDED),
    _Group(_sides("enabled activated | disabled deactivated"), alone=True, verbs=_ONE_SIDED),
    _Group(_sides("active | inactive"), alone=True, verbs=_ONE_SIDED),
    _Group(_sides("muted | unmuted"), alone=True, verbs=_ONE_SIDED),
    _Group(_sides("private | public"), alone=True, verbs=_any(_IS)),
    _Group(_sides("mandatory required | optional"), alone=True, verbs=_any(_IS)),
    _Group(_sides("opted-in | opted-out"), alone=True, verbs=_any("opted-in opted-out")),
    _Group(_sides("subscribed | unsubscribed"), alone=True, verbs=_any(_IS)),
    _Group(_sides("employed | unemployed"), alone=True, verbs=_any(_IS)),
    _Group(_sides("left-handed | right-handed"), alone=True, verbs=_any(_IS)),
    _Group(_sides("single | married | divorced | widowed"), alone=True, verbs=_any(_IS)),
)
# What is one word in the groups, and may be written otherwise.
_PHRASES = (
    (re.compile(r"\b(12|24)[ -]?(?:hours?|hrs?|h)\b"), r"\1-hour"),
    (re.compile(r"\bam/pm\b"), "12-hour"),
    (re.compile(r"\b(dark|light|window|aisle|business|economy)-(?=\w)"), r"\1 "),
    (re.compile(r"\bdegrees (?=celsius|fahrenheit|kelvin)"), ""),
    (re.compile(r"\bphone calls?\b|\btelephone\b"), "phone"),
    (re.compile(r"\be-?mails?\b"), "email"),
    (re.compile(r"\btext messages?\b|\btexts\b"), "sms"),
    (re.compile(r"\bbullet[ -](?:points?|lists?)\b"), "bullets"),
    (re.compile(r"\bfrom home\b"), "remotely"),
    (re.compile(r"\b(?:on[ -]site|(?:in|from|at) the office)\b"), "onsite"),
    (re.compile(r"\bopted (in|out)\b"), r"opted-\1"),
    (re.compile(r"\b(prefers? \w{1,30}) to (?=\w{1,30}$)"), r"\1 over "),
    (re.compile(r"\b(?:rather than|instead of|in preference to)\b"), "instead-of"),
    (re.compile(r"\b(?:to be|from now on|these days|by default|as of (?:now|today))\b"), ""),
    (re.compile(r" (?:since|because) .*$"), ""),
)
_SWITCHED = re.compile(r"\b(?:has )?switched (?:back )?from ([\w .+#-]{1,40}?) to ([^,;]{1,60})$")
_CHOOSING = re.compile(
    r"\b(?:(?:would|'d) (?:rather have|rather use|prefer|like)|prefers?|wants?|uses?|is using|chooses?|chose|opts? for|"
    r"opted for|asks? for|asked for|expects?|needs?|(?:has )?switched (?:back )?to)\b"
    r"(?: to (?:use|have|get|receive|see))?"
)
_LIKING = re.compile(r"\b(?:likes?|loves?|enjoys?)\b")
_SAID_BESIDE = _any("a an the now currently instead again always generally strongly really definitely please already")
# Without any of these nothing is chosen, and there is no need to read on.
_TELLING = re.compile(
    rf"{_CHOOSING.pattern}|{_LIKING.pattern}|\b(?:switched|is|are|am|be|keeps?|has|have|turned|stays|remains|answer|"
    r"reply|respond|write|works?|pays?|opted)\b",
    re.IGNORECASE,
)
_BEFORE_MORE = _any("in on at for when while during after before with")
_BEING = _any("is are am be stays remains")


@dataclass(frozen=True, slots=True)
class _Statement:
    words: list[str]
    verb: str
    """By which something is chosen, where it is."""

    @property
    def is_mild(self) -> bool:
        """Whether something is liked: one may like the other as well."""
        return _LIKING.fullmatch(self.verb) is not None

    @property
    def who(self) -> str:
        """Whatever stands before the verb."""
        verb = next((at for at, word in enumerate(self.words) if word in (_CHOSEN, _IS)), 0)
        return " ".join(self.words[:verb])


def chosen_otherwise(older: str, newer: str) -> OtherChoice | None:
    """What the newer one chooses in the place of what the older one does; None where it does not."""
    if not (_TELLING.search(older) and _TELLING.search(newer)):
        return None
    old, new = _statement(older), _statement(newer)
    is_certain = not (old.is_mild or new.is_mild)
    is_other = _is_turned(old, new) if is_certain else False
    if is_other or _is_another(old.words, new.words):
        return OtherChoice(old.who, is_certain)
    return None


def _statement(text: str) -> _Statement:
    said = text.casefold().replace("’", "'")
    for pattern, plain in _PHRASES:
        said = pattern.sub(plain, said)
    said = _SWITCHED.sub(r"prefers \2 over \1", said)
    verb = _CHOOSING.search(said) or _LIKING.search(said)
    if verb:
        said = f"{said[: verb.start()]}{_CHOSEN}{said[verb.end() :]}"
    words = [_IS if word in _BEING else word for word in words_of(said) if word not in _SAID_BESIDE]
    return _Statement(words, "" if verb is None else verb[0])


def _is_another(old: list[str], new: list[str]) -> bool:
    """Whether two differ in sides of groups alone."""
    if len(old) != len(new):
        return False
    differing = [at for at, (one, other) in enumerate(zip(old, new, strict=True)) if one != other]
    if not differing or any(old[at] in new for at in differing):
        return False
    rest = frozenset(word for at, word in enumerate(old) if at not in differing)
    return all(_is_other_side(old, new, at, rest) for at in differing)


def _is_other_side(old: list[str], new: list[str], at: int, rest: frozenset[str]) -> bool:
    for group in _GROUPS:
        sides = {group.side_of(old[at]), group.side_of(new[at])}
        is_meant = rest & group.of or (group.alone and (at == len(old) - 1 or old[at + 1] in _BEFORE_MORE))
        if None not in sides and len(sides) == 2 and is_meant and group.verbs & {*rest, old[at]}:
            return True
    return False


def _is_turned(old: _Statement, new: _Statement) -> bool:
    """Whether what one preferred to another thing gave way to that: "tea over coffee", "coffee"."""
    if old.who != new.who or not old.verb or not new.verb:
        return False
    (first, less), (second, least) = _preferred(old), _preferred(new)
    if not first or not second:
        return False
    if less and least:
        return first == least and second == less
    return bool((less and second == less) or (least and first == least))


def _preferred(said: _Statement) -> tuple[list[str], list[str]]:
    """What is chosen, and instead of what."""
    chosen = said.words[said.words.index(_CHOSEN) + 1 :]
    # One also uses a protocol over another, and wants access to something.
    between = (
        ("instead-of", "over") if said.verb.startswith(("prefer", "would", "chose", "choose")) else ("instead-of",)
    )
    at = next((number for number, word in enumerate(chosen) if word in between), len(chosen))
    return chosen[:at], chosen[at + 1 :]
