"""Things of which one is chosen at a time: metric or imperial units, dark or light mode, the language of answers. Pure.

They tell a change only where all else that two facts say is the same: who, of what, and when. "Dark mode in the editor"
and "light mode on the phone" stand beside each other.
"""

import re
from dataclasses import dataclass

from memorist.facts.plain.values import ValueChange
from memorist.facts.plain.wording import words_of

_CHOSEN = "choose"
_IS = "be"
_TO = "rather-to"


@dataclass(frozen=True, slots=True)
class OtherChoice:
    """Another side of the same thing, by whom, and what follows for the older one."""

    who: tuple[str, str]
    change: ValueChange


@dataclass(frozen=True, slots=True)
class _Group:
    """Sides of which one holds, each with its words. They are meant where a word `of` theirs stands by them, or, where
    they may stand `alone`, nothing but where or when it holds follows them; and where the fact has one of the `verbs`,
    or is an order to an agent that `may_be_told`. What is wanted `each_time` may be wanted otherwise the next time.
    """

    sides: tuple[frozenset[str], ...]
    of: frozenset[str] = frozenset()
    alone: bool = False
    verbs: frozenset[str] = frozenset({_CHOSEN, _IS})
    may_be_told: bool = False
    each_time: bool = False

    def side_of(self, word: str) -> int | None:
        return next((number for number, side in enumerate(self.sides) if word in side), None)


def _sides(text: str) -> tuple[frozenset[str], ...]:
    """ "brief short | long" are two sides, the first with two words."""
    return tuple(frozenset(side.split()) for side in text.split("|"))


def _any(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ANSWERS = _any("answer answers reply replies respond response responses explanation explanations summaries messages")
_TEXTS = _any(
    "summary message email emails report reports subtitles documentation docs comments commits documents letters "
    "invoices contract contracts newsletter notifications"
)
"""Of which there are many: each may be wanted otherwise."""
_SHOWN = _any("menus interface ui app")
_ONE_SIDED = frozenset({_IS, _CHOSEN, "has", "have", "keeps", "keep", "turned", "switched"})
_LANGUAGES = _sides(
    "english | german | french | spanish | italian | portuguese | dutch | polish | russian | ukrainian | turkish | "
    "arabic | hebrew | hindi | chinese mandarin | japanese | korean | swedish | norwegian | danish | finnish | czech | "
    "greek | hungarian | romanian | vietnamese | thai | catalan | bulgarian | croatian | serbian | indonesian"
)
_LENGTHS = _sides("brief short shorter concise terse succinct | detailed long longer verbose thorough in-depth lengthy")
_GROUPS = (
    _Group(_sides("metric | imperial"), _any("unit units system measurement measurements"), alone=True),
    _Group(_sides("celsius centigrade | fahrenheit | kelvin"), _any("temperature temperatures degrees"), alone=True),
    _Group(_sides("kilometers kilometres km | miles"), _any("distance distances units"), verbs=_any(_CHOSEN)),
    _Group(_sides("kilograms kg kilos | pounds lbs"), _any("weight weights units"), verbs=_any(_CHOSEN)),
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
    _Group(
        _sides("camelcase | snake_case | pascalcase | kebab-case"), _any("names naming variables functions"), alone=True
    ),
    _Group(_sides("single | double"), _any("quotes")),
    _Group(_sides("12-hour | 24-hour"), _any("clock time times format notation"), alone=True),
    _Group(_sides("window | aisle"), _any("seat seats"), alone=True, verbs=_any(_CHOSEN), each_time=True),
    _Group(_sides("economy | business | first"), _any("class"), verbs=_any(_CHOSEN), each_time=True),
    _Group(
        _sides("morning | afternoon | evening"),
        _any("meetings calls appointments"),
        verbs=_any(_CHOSEN),
        each_time=True,
    ),
    _Group(_sides("still | sparkling"), _any("water"), verbs=_any(_CHOSEN), each_time=True),
    _Group(_sides("bullets | prose paragraphs"), _ANSWERS, alone=True, verbs=_any(_CHOSEN)),
    _Group(_LENGTHS, _ANSWERS, verbs=_any(_CHOSEN), may_be_told=True),
    _Group(_LENGTHS, _TEXTS, verbs=_any(_CHOSEN), may_be_told=True, each_time=True),
    _Group(_sides("briefly concisely | thoroughly verbosely"), alone=True, verbs=_any(_CHOSEN), may_be_told=True),
    _Group(
        _sides("formal | informal casual"),
        _ANSWERS | _any("tone style language register address"),
        verbs=_any(_CHOSEN),
        may_be_told=True,
    ),
    _Group(_sides("formally | informally casually"), alone=True, verbs=_any(_CHOSEN), may_be_told=True),
    _Group(_LANGUAGES, _ANSWERS | _SHOWN, verbs=_any(_CHOSEN), may_be_told=True),
    _Group(_LANGUAGES, _TEXTS, verbs=_any(_CHOSEN), may_be_told=True, each_time=True),
    _Group(_LANGUAGES, _any("set-language locale"), verbs=_any(_IS)),
    _Group(_sides("british | american"), _any("english spelling")),
    _Group(
        _sides("email | phone | sms | post | chat | slack"),
        _any("contact contacted reached"),
        verbs=_any(_CHOSEN),
    ),
    _Group(
        _sides("remotely remote | onsite | hybrid"),
        _any("job jobs role position work"),
        alone=True,
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
    (re.compile(r"\b(?:preferred|default|interface|ui|app|display|system) language\b"), "set-language"),
    (re.compile(r"'d (?=rather|prefer|like)"), " would "),
    # One prefers tea to coffee; whoever prefers talking to somebody, or trips to Oslo, prefers nothing to them.
    (re.compile(r"\b(prefers? (?!\w{0,30}ing\b)\w{1,30}) to (?=\w{1,30}$)"), r"\1 rather-to "),
    (re.compile(r"\b(?:rather than|instead of|in preference to)\b"), "instead-of"),
    (re.compile(r"\b(?:to be|from now on|these days|by default|as of (?:now|today))\b"), ""),
    (re.compile(r" (?:since|because) .*$"), ""),
)
_SWITCHED = re.compile(r"\b(?:has )?switched (?:back )?from ([\w .+#-]{1,40}?) to ([^,;]{1,60})$")
_ALONE = r"(?<![\w'@./:-])(?:{})(?![\w'@/-]|[.:]\S)"
"""A verb is a word of its own: a label that is called "needs-review" chooses nothing."""
_CHOOSING = re.compile(
    _ALONE.format(
        "would (?:rather have|rather use|prefer|like)|prefers?|wants?|uses?|is using|chooses?|chose|opts? for|"
        "opted for|asks? for|asked for|expects?|needs?|(?:has )?switched (?:back )?to"
    )
    + r"(?: to (?:use|have|get|receive|see)\b(?![\w'@/.:-]))?"
)
_LIKING = re.compile(_ALONE.format("likes?|loves?|enjoys?"))
_PREFERRING = re.compile("would (?:rather|prefer)|prefer|(?:has )?switched")
_WANTING = re.compile("wants?|would like|expects?")
_USING = re.compile("uses?|is using")
_SAID_BESIDE = _any("a an the now currently instead again always generally strongly really definitely please already")
# Without any of these nothing is chosen, and there is no need to read on.
_TELLING = re.compile(
    rf"{_CHOOSING.pattern}|{_LIKING.pattern}|'d\b|\b(?:switched|is|are|am|be|keeps?|has|have|turned|stays|remains|"
    r"answer|reply|respond|write|works?|pays?|opted)\b",
    re.IGNORECASE,
)
_BEFORE_MORE = _any("in on at for when while during after before with")
# What may stand between a thing and its side: "replies in English", "contacted by phone", "the plan is monthly".
_BETWEEN = frozenset({"in", "by", "via", "as", _IS})
_BEING = _any("is are am be stays remains")
_TOLD = _any("answer reply respond write keep")
"""What an agent is told to do, as the first word."""
_DENYING = _any("not no never neither nor without except cannot")
_VERBS = _ONE_SIDED | _any("pays pay opted-in opted-out")
_WEAKEST_FIRST = (ValueChange.BESIDE, ValueChange.UNCERTAIN, ValueChange.LIKELY, ValueChange.ANOTHER)


@dataclass(frozen=True, slots=True)
class _Statement:
    words: list[str]
    who: str
    """Whatever stands before the verb, articles included: "a server" is one of several."""
    verb: str
    """By which something is chosen, where it is."""
    was_switched: bool

    @property
    def certainty(self) -> ValueChange:
        """What another choice does to it at most: what is liked, or asked for, leaves room for the other."""
        if not self.verb:
            return ValueChange.ANOTHER
        if _CHOSEN not in self.words or "to" in self.words[self.words.index(_CHOSEN) + 1 :][:1]:
            return ValueChange.UNCERTAIN  # One wants to learn a language, and then another.
        if _PREFERRING.match(self.verb) or _WANTING.match(self.verb):
            return ValueChange.ANOTHER
        return ValueChange.LIKELY if _USING.match(self.verb) or _LIKING.match(self.verb) else ValueChange.UNCERTAIN

    @property
    def is_firm(self) -> bool:
        """Whether it holds for each time."""
        return not self.verb or _PREFERRING.match(self.verb) is not None


def chosen_otherwise(older: str, newer: str) -> OtherChoice | None:
    """What the newer one chooses in the place of what the older one does; None where it names no other side."""
    if not (_TELLING.search(older) and _TELLING.search(newer)):
        return None
    old, new = _statement(older), _statement(newer)
    change = ValueChange.ANOTHER if _is_turned(old, new) else _other_side(old, new)
    return None if change is None else OtherChoice((old.who, new.who), change)


def _statement(text: str) -> _Statement:
    said = text.casefold().replace("’", "'")
    for pattern, plain in _PHRASES:
        said = pattern.sub(plain, said)
    said, switched = _SWITCHED.subn(r"prefers \2 instead-of \1", said)
    verb = _CHOOSING.search(said) or _LIKING.search(said)
    if verb:
        said = f"{said[: verb.start()]}{_CHOSEN}{said[verb.end() :]}"
    every = [_IS if word in _BEING else word for word in words_of(said)]
    at = next((number for number, word in enumerate(every) if word in _VERBS), 0)
    words = [word for word in every if word not in _SAID_BESIDE]
    return _Statement(words, " ".join(every[:at]), "" if verb is None else verb[0], bool(switched))


def _other_side(old: _Statement, new: _Statement) -> ValueChange | None:
    """What follows where two differ in sides of groups alone; None where they do not."""
    if len(old.words) != len(new.words):
        return None
    differing = [at for at, (one, other) in enumerate(zip(old.words, new.words, strict=True)) if one != other]
    if not differing or any(old.words[at] in new.words for at in differing):
        return None
    changes = [_change_at(old, new, at) for at in differing]
    if None in changes:
        return None
    if _DENYING.intersection(old.words):
        return ValueChange.BESIDE  # Whoever is not married need not be divorced.
    return min((one for one in changes if one is not None), key=_WEAKEST_FIRST.index)


def _change_at(old: _Statement, new: _Statement, at: int) -> ValueChange | None:
    """What another word in this place does; None where they are no two sides of anything."""
    found: ValueChange | None = None
    for group in _GROUPS:
        sides = {group.side_of(old.words[at]), group.side_of(new.words[at])}
        if None in sides or len(sides) == 1:
            continue
        found = found or ValueChange.BESIDE
        if all(_is_told_of(group, one.words) and _is_meant(group, one.words, at) for one in (old, new)):
            if group.each_time and not (old.is_firm and new.is_firm):
                return ValueChange.UNCERTAIN
            return min(old.certainty, new.certainty, key=_WEAKEST_FIRST.index)
    return found


def _is_told_of(group: _Group, words: list[str]) -> bool:
    return bool(group.verbs.intersection(words)) or (group.may_be_told and words[0] in _TOLD and _IS not in words)


def _is_meant(group: _Group, words: list[str], at: int) -> bool:
    after = at + 1
    while after < len(words) and words[after] not in group.of and _is_any_side(words[after]):
        after += 1
    if group.alone and _ends_at(words, after):
        return True
    if after < len(words) and words[after] in group.of:
        while after < len(words) and words[after] in group.of:
            after += 1
        return _ends_at(words, after)
    before = words[:at]
    is_after = before[-1:] and (before[-1] in group.of or (before[-1] in _BETWEEN and group.of.intersection(before)))
    return bool(is_after) and _ends_at(words, after)


def _ends_at(words: list[str], at: int) -> bool:
    """Whether nothing but where or when it holds follows."""
    return at >= len(words) or words[at] in _BEFORE_MORE


def _is_any_side(word: str) -> bool:
    return any(group.side_of(word) is not None for group in _GROUPS)


def _is_turned(old: _Statement, new: _Statement) -> bool:
    """Whether what one preferred to another thing gave way to that: "tea over coffee", "coffee"."""
    if _without_articles(old.who) != _without_articles(new.who):
        return False
    (first, less), (second, least) = _preferred(old), _preferred(new)
    if not first or not second:
        return False
    if less and least:
        return first == least and second == less
    if less:
        return second == less and _gives_way(new, old)
    # What was used is used no more where the newer one says so; what is preferred to it says nothing of that.
    is_used = _USING.match(old.verb) and (new.was_switched or _USING.match(new.verb))
    return first == least and (bool(is_used) or _gives_way(old, new))


def _gives_way(bare: _Statement, other: _Statement) -> bool:
    """Whether a choice that names one thing alone ends one between two."""
    return _PREFERRING.match(bare.verb) is not None and _TO not in other.words


def _without_articles(who: str) -> list[str]:
    return [word for word in who.split() if word not in _SAID_BESIDE]


def _preferred(said: _Statement) -> tuple[list[str], list[str]]:
    """What is chosen, and instead of what."""
    if _CHOSEN not in said.words or _LIKING.match(said.verb):
        return [], []
    chosen = said.words[said.words.index(_CHOSEN) + 1 :]
    # One also uses a protocol over another, and would like a roof over the terrace.
    between = ("instead-of", "over", _TO) if _PREFERRING.match(said.verb) else ("instead-of",)
    at = next((number for number, word in enumerate(chosen) if word in between), len(chosen))
    return chosen[:at], chosen[at + 1 :]
