"""Two plain facts of one thing: "lives in Rome" and "moved to Oslo". Pure.

Where something has one value at a time, another one ends it; where it may have many, it does not. For such pairs this
is more certain than what a model says, as long as both values look like values of that thing: of "boss is Eva" and
"boss is great" one names somebody, and the other does not.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum, auto

from memorist.facts.plain.choices import chosen_otherwise
from memorist.facts.plain.parts import parts_of
from memorist.facts.plain.places import CITIES, LARGE_PLACES, NO_GERMAN_PLACES, NO_PLACES, REGIONS
from memorist.facts.plain.polarity import Denial, opposed
from memorist.facts.plain.values import ValueChange
from memorist.facts.plain.wording import counted_words, is_one_of_several, line_of, words_of

_LONGEST_VALUE = 4
# What is longer says more than one plain thing.
_LONGEST_FACT = 2000


class _Shape(StrEnum):
    """What a value looks like."""

    NAME = auto()  # Oslo; Tom Keller
    CODE = auto()  # 8080; May 3; ada@example.org
    YEAR = auto()  # 1990; May 1990
    DAY = auto()  # May; Friday
    TIER = auto()  # Pro; free
    THING = auto()  # a bank; the sales team
    WORDS = auto()  # sick; blue; near the station


_NAMES = frozenset({_Shape.NAME})
_CODES = frozenset({_Shape.CODE})
_YEARS = frozenset({_Shape.YEAR})
_NUMBERS = _CODES | _YEARS
_TIERS = frozenset({_Shape.TIER})
_THINGS = frozenset({_Shape.THING})
_WORDS = frozenset({_Shape.WORDS})
_DATES = (_CODES, _YEARS, frozenset({_Shape.DAY}))
"""May 3 and May 5 exclude each other; May 3 and 1990 do not."""


@dataclass(frozen=True, slots=True)
class _Claim:
    """A way to say the one value of something. Two values are `certain` to be such where both are of the same of these
    sets of shapes, and `likely` to be with those. Of others, unless they are `open`, both stay.
    """

    said: re.Pattern[str]
    certain: tuple[frozenset[_Shape], ...]
    likely: tuple[frozenset[_Shape], ...] = ()
    open: tuple[frozenset[_Shape], ...] = ()
    are_places: bool = False
    is_abroad: bool = False
    are_tiers: bool = False
    are_amounts: bool = False
    has_details: bool = False
    """Whether what follows the value tells more of it: Austin, Texas. Of other things it tells another case."""


def _said(verbs: str, end: str = "") -> re.Pattern[str]:
    return re.compile(rf"(?P<who>.*?)\b(?:now |also )?(?P<verb>{verbs}) (?P<value>.+?){end}", re.IGNORECASE)


# German, Spanish, French, Italian, Portuguese and Dutch; and what may end the sentence. A language each, for places are
# called otherwise in others.
_HOMES_ABROAD = (
    (
        "(?:wohn|leb)(?:e|t)(?: (?:jetzt|nun|inzwischen|derzeit|aktuell|auch))? in|zog(?: \\w+)? nach|"
        "(?:ist|bin)(?: \\w+){0,3} nach(?= .{1,60} (?:um)?gezogen$)",
        "(?: (?:um)?gezogen)?",
    ),
    (
        "viv[eo](?: (?:ahora|actualmente|también))? en|reside(?: ahora)? en|"
        "(?:se|me) (?:ha |he )?(?:mud[óé]|mudado|traslad[óé]|trasladado)(?: \\w+)? a",
        "",
    ),
    (
        "(?:habite|vit|vis|réside)(?: (?:maintenant|désormais|actuellement|aussi))? (?:à|au|aux|en)|"
        "(?:a|ai) déménagé (?:à|au|aux|en)|s['’]est installée? (?:à|au|aux|en)",
        "",
    ),
    (
        "(?:viv[eo]|abit[ao])(?: (?:ora|adesso|anche))? a|(?:mi sono|si è) trasferit[ao](?: \\w+)? a",
        "",
    ),
    (
        "(?:mor[ao]|viv[eo])(?: (?:agora|atualmente|também))? em|"
        "(?:me mudei|mudei-me|se mudou|mudou-se)(?: \\w+)? para",
        "",
    ),
    (
        "woont?(?: (?:nu|tegenwoordig|ook))? in|(?:is|ben)(?: \\w+){0,3} naar(?= .{1,60} verhuisd$)",
        "(?: verhuisd)?",
    ),
)
# Of these there is one of each thing.
_ATTRIBUTES = (
    "account type|membership|licen[cs]e|job title|salary|income|rent|(?:mortgage|interest|hourly|daily|exchange) rate|"
    "fee|price|budget|seat|deploy target|user ?name|handle|nickname|currency|locale|(?:shoe|shirt|dress|font) size|"
    "height|weight|age|blood type|credit score|internet provider|provider|carrier|insurer|accountant|therapist|"
    "supervisor|advisor|team lead|headquarters|priority|severity|pronouns|(?:working|office|opening) hours|timeout|"
    "quota|limit|region|blood pressure|heart rate|pulse|temperature"
)
# Of these there is one main, preferred or current one.
_SINGLE = (
    "database|language|locale|editor|browser|shell|terminal|operating system|os|font|theme|branch|server|host|"
    "environment|region|time ?zone|currency|e-?mail|address|phone|number|contact|doctor|physician|dentist|employer|"
    "job|role|position|title|manager|bank|account|city|residence|home|version|release|plan|tier|status|framework|"
    "stack|model|supplier|provider|carrier|name|pharmacy|school"
)
_DWELLING = (
    r"an? (?:[\w-]+ ){0,2}(?:flat|apartment|house|studio|condo|loft|cottage|townhouse|bungalow|cabin|room|place)"
)
_EMPLOYED = "works? (?:at|for)|is working (?:at|for)|(?:has )?joined|employer is|is employed by"
# One may be so much at several places: what has another one of these is only likely to have changed.
_EMPLOYED_AS = (
    r"is an? (?!(?:[\w-]+ ){0,2}(?:students?|pupil|member|regular|guest|volunteer|patient|customer|client|speaker|"
    r"visitor|teammate|resident|tenant) )(?:[\w/-]+ ){1,4}?at"
)
_HIRED = (
    r"(?:is starting|started|starts)(?: work| working| a (?:new )?job)? at|(?:has|got|found|took) (?:a |their )?"
    r"(?:new )?job (?:at|with)|accepted an offer (?:from|at|by)"
)
_JOB_ENDED = re.compile(
    r"(?P<who>.*?)\b(?:(?:got|was|has been|is being) (?:laid off|fired|sacked|let go|made redundant)|"
    r"(?:lost|quit|left|resigned from) (?:his|her|their|the|my) (?:\w+ )?job|handed in (?:his|her|their|my) notice|"
    r"resigned(?! from (?:the|a)\b)|retired(?! from\b))\b(?P<rest>.*)",
    re.IGNORECASE,
)
_OF_EMPLOYER = re.compile(r"\b(?:at|from|by|with) [A-Z]")
# What is said before the value, the subject apart. Those of a line are about the same thing.
_CLAIMS = (
    _Claim(
        _said(
            rf"(?:lives?|living|resides?) in {_DWELLING} in|(?:has )?(?:just )?moved (?:in)?to {_DWELLING} in|"
            r"(?:lives?|living|resides?) in|is based in|(?:has )?(?:just )?moved (?:from [\w -]{1,40} )?to|"
            "(?:has )?relocated to|home is (?:now )?in"
        ),
        (_NAMES,),
        (_NUMBERS, _THINGS, _WORDS),
        are_places=True,
        has_details=True,
    ),
    *(
        _Claim(
            _said(verbs, end), (_NAMES,), (_NUMBERS, _THINGS, _WORDS), are_places=True, is_abroad=True, has_details=True
        )
        for verbs, end in _HOMES_ABROAD
    ),
    _Claim(_said(f"{_EMPLOYED}|{_EMPLOYED_AS}|{_HIRED}"), (_NAMES,), (_THINGS,), has_details=True),
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
    _Claim(_said("was born (?:in|on)"), (_NAMES, *_DATES), are_places=True, has_details=True),
    _Claim(_said("is married to"), (_NAMES,), has_details=True),
    _Claim(_said("weighs"), (_NUMBERS,), are_amounts=True),
    _Claim(
        re.compile(r"(?P<who>.*favou?rite [\w ]+?) (?P<verb>is) (?P<value>.+)", re.IGNORECASE),
        (_NAMES, _NUMBERS),
        (_THINGS, _WORDS),
    ),
    _Claim(
        re.compile(
            r"(?P<who>.*?)(?:'s)? (?P<verb>(?:plan|tier|subscription) is|(?:(?:is|are)(?: now)? on|has|uses|"
            r"subscribes to|(?:has )?(?:upgraded|downgraded|switched) to)(?= .{1,40} (?:plan|tier|subscription)$)) "
            r"(?:now )?(?:the )?(?P<value>[^,;]{1,60}?)(?: (?:plan|tier|subscription))?",
            re.IGNORECASE,
        ),
        (_TIERS,),
        (_TIERS | _NAMES,),
        open=(_WORDS, _THINGS),
        are_tiers=True,
    ),
    _Claim(
        re.compile(
            rf"(?P<who>.*\b(?:{_ATTRIBUTES})) (?P<verb>is|are) (?:now )?(?P<value>.+)",
            re.IGNORECASE,
        ),
        (_NAMES | _NUMBERS,),
        open=(_WORDS, _THINGS),
        are_amounts=True,
    ),
    _Claim(
        re.compile(
            r"(?P<who>.*\b(?:default [\w ]{1,40}?|(?:main|primary|preferred|current) (?:\w+ )?"
            rf"(?:{_SINGLE})(?: of [\w ]{{1,40}}?)?)) "
            r"(?P<verb>is) (?:now )?(?P<value>.+)",
            re.IGNORECASE,
        ),
        (_NAMES | _NUMBERS,),
        (_WORDS,),
        open=(_THINGS,),
    ),
    # Of medicines, competitors and characters there may be several, each of them told by itself.
    _Claim(
        re.compile(
            r"(?P<who>.*\b(?:default|main|primary|preferred|current|official) [\w ]{1,40}?) (?P<verb>is|are) "
            r"(?:now )?(?P<value>.+)",
            re.IGNORECASE,
        ),
        (),
    ),
)
_JOB = _said(f"{_EMPLOYED}|{_EMPLOYED_AS}")
_MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
_DAYS = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_SEASONS = "spring|summer|autumn|winter"
_DETERMINED = re.compile(
    r"(?:an?|the|his|her|their|my|our|its|your|this|that|another|some|one|two|several|different)\b"
)
_TITLE = re.compile(r"^(?:dr|prof|mr|mrs|ms)\.? ", re.IGNORECASE)
_UNIT = re.compile(r"[^\W\d_]{2,}|[€$£¥%]")
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
_MAY_HOLD_TWO = re.compile(f"{_EMPLOYED_AS}|{_HIRED}", re.IGNORECASE)
_MOVED = re.compile(r".*(?:moved|relocated)", re.IGNORECASE)
# What tells that somebody lives elsewhere than before.
_NEWLY = re.compile(
    r"\b(?:now|moved|relocated|jetzt|nun|inzwischen|derzeit|aktuell|zog|(?:um)?gezogen|ahora|actualmente|mudó|mudado|"
    r"trasladó|trasladado|maintenant|désormais|actuellement|déménagé|installée?)\b",
    re.IGNORECASE,
)
# Names with an "and" are of one place as often as of two.
_TWO_HOMES = re.compile(
    r"\b(?:(?:liv|bas|resid)\w+ in|(?:moved|relocated) to) [A-Z][\w'’-]*(?: [A-Z][\w'’-]*){0,2},? and [A-Z]"
)
# What is told with a year may be long over when it is told.
_LONG_AGO = re.compile(
    rf"\b(?:moved|relocated|joined)\b.{{0,200}} in (?:(?:{_MONTHS}) )?(?:19|20)\d\d\b", re.IGNORECASE
)
# With these, the other one may go on.
_AS_WELL = re.compile(
    rf"\b(?:also|too|as well|besides|part[- ]time|freelance|on the side|sometimes|occasionally|often|temporarily|"
    rf"for now|for (?:an?|the|two|three|\d+) (?:days?|weeks?|months?|while|summer|winter|semester)|until|"
    rf"(?:{_DAYS})s|(?:on|at|over) (?:the )?weekends?|weekends|in the (?:mornings?|afternoons?|evenings?)|"
    rf"at nights?|half (?:of )?the|every|each|volunteer\w*|"
    r"as an? (?:consultant|contractor|advis[eo]r|tutor)|intern(?:s|ed|ing|ships?)?|"
    rf"(?:lives?|living|works?|working|based) .{{0,200}} in (?:the )?(?:{_SEASONS}))\b",
    re.IGNORECASE,
)
_AS_WELL_ABROAD = re.compile(
    r"\b(?:auch|manchmal|am wochenende|vorübergehend|bis|im (?:sommer|winter)|teilweise|noch|también|a veces|"
    r"temporalmente|hasta|en (?:verano|invierno)|los fines de semana|aussi|parfois|temporairement|jusqu['’]\w+|"
    r"en (?:été|hiver)|le week-end|provisoirement|für (?:ein|zwei|drei|\d+)|durante|pendant|por ahora|"
    r"pour l['’]instant)\b",
    re.IGNORECASE,
)
# With these a thing and its opposite are both true, or neither is known.
_AT_TIMES = re.compile(
    r"\b(?:sometimes|occasionally|often|at times|now and then|once in a while|on and off|temporarily|for now|partly|"
    r"half|may|might|could|maybe|perhaps|possibly|probably|some|many|several|few|one of)\b",
    re.IGNORECASE,
)
_MANY = re.compile(
    r"\b(?:likes?|loves?|enjoys?|dislikes?|hates?|visited|read|watched|tried|knows?|speaks?|met|owns?|bought|plays?|"
    r"studied|has|have|been to|collects?)\b",
    re.IGNORECASE,
)
_COUNT = re.compile(r"\d{1,9}|no|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty")
# What may follow a value without being a part of it: since when it holds, and where, for what or for whom.
_WHEN = (
    rf"since|because|last|this|in (?:(?:{_MONTHS}) )?\d{{4}}|now|these days|nowadays|again|seit|jetzt|desde|ahora|"
    "depuis|maintenant"
)
_SINCE = re.compile(rf" (?:{_WHEN})\b.*$", re.IGNORECASE)
_AFTER = re.compile(
    rf"(?:,| (?:{_WHEN}|from|as|on|after|before|for|in|at|with|without|when|if|while|during|under|within|per|by)\b).*$",
    re.IGNORECASE,
)
_TIER = re.compile(
    r"(?:free|trial|basic|starter|hobby|personal|individual|standard|plus|pro|professional|premium|advanced|team|teams|"
    r"business|enterprise|ultimate|unlimited|family|student|bronze|silver|gold|platinum)"
    r"(?: (?:plus|monthly|annual|yearly|trial))?",
    re.IGNORECASE,
)
_SEVERAL = re.compile(
    r"[.!?;] \w|\band (?:(?:also|then|never|always|he|she|they|it) )?(?:is|am|are|was|allergic|cannot|does|has|"
    r"have|works?|plays?|lives?|likes?|loves?|owns?|eats?|drinks?|uses?|wants?|prefers?|goes|speaks?|studies|"
    r"teaches|drives?|keeps?|hates?|needs?|runs?|wears?|takes?)\b|"
    r"\b(?:und|y|et) (?:arbeitet|spielt|mag|hat|ist|spricht|trabaja|tiene|es|habla|juega|travaille|joue|"
    r"aime|est|parle)\b",
    re.IGNORECASE,
)


# Plain statements of a few words, by what they are about; a change of the one says nothing of the other.
_MATTERS = {
    "home": re.compile(
        rf"\b(?:lives? in|is based in|moved to|relocated to|{'|'.join(verbs for verbs, _ in _HOMES_ABROAD)}) ",
        re.IGNORECASE,
    ),
    "work": re.compile(
        r"\b(?:works? (?:at|for)|is employed by|employer is|arbeitet(?: jetzt)? (?:bei|für)|"
        r"trabaja(?: ahora)? (?:en|para)|travaille(?: maintenant)? (?:chez|pour)) ",
        re.IGNORECASE,
    ),
    "liking": re.compile(
        r"\b(?:(?:dis)?likes?|loves?|hates?|prefers?|wants?|mag|liebt|bevorzugt|möchte|prefiere|quiere|le gusta|aime|"
        r"préfère|veut) ",
        re.IGNORECASE,
    ),
    "languages": re.compile(r"\b(?:speaks?|spricht|habla|parle) ", re.IGNORECASE),
    "plan": re.compile(r"\b(?:plan|tier|subscription) is ", re.IGNORECASE),
    "name": re.compile(r"\b(?:name is|is called|heißt|se llama|s['’]appelle) ", re.IGNORECASE),
    "playing": re.compile(r"\bplays? ", re.IGNORECASE),
    "allergy": re.compile(r"\bis allergic to ", re.IGNORECASE),
}
_LONGEST_SUBJECT = 4
_LONGEST_STATEMENT = 6
# With these it may be about another matter as well: "wants to leave Acme", "likes living in Rome".
_OF_MORE = re.compile(r"\b(?:to|at|from|near|in(?! [A-Z]\w{3,20}$)|\w{2,20}ing)\b")


def change_of(older: str, newer: str) -> ValueChange | None:
    """What the words of a newer fact do to an older one.

    None where they do not say: they are about different things, or differ in more than a value.
    """
    if max(len(older), len(newer)) > _LONGEST_FACT:
        return None
    older, newer = line_of(older), line_of(newer)
    change = _change_of_parts(older, newer) or _change_of_one(older, newer)
    if change is None and _are_apart(older, newer):
        return ValueChange.APART
    return change


def _change_of_parts(older: str, newer: str) -> ValueChange | None:
    """What is said of the claims of two facts, of which one at least has several."""
    olds, news = parts_of(older), parts_of(newer)
    if len(olds) == len(news) == 1:
        return None
    again = [(old, new) for old in olds for new in news if _in_any_way(old, new, has_the_same_words)]
    left = [old for old in olds if all(old is not one for one, _ in again)]
    given = [new for new in news if all(new is not one for _, one in again)]
    changed = [old for old in left if any(_in_any_way(old, new, _ends) for new in given)]
    if not changed:
        return None
    is_all = len(changed) == len(left) and not any(_TWO_HOMES.search(one) for one in (older, newer))
    return ValueChange.RESTATED if is_all else ValueChange.PART


def _in_any_way(older: list[str], newer: list[str], how: Callable[[str, str], bool]) -> bool:
    return any(how(old, new) for old in older for new in newer)


def _ends(older: str, newer: str) -> bool:
    return _change_of_one(older, newer) in (ValueChange.ANOTHER, ValueChange.DENIED)


def _change_of_one(older: str, newer: str) -> ValueChange | None:
    denial = opposed(older, newer)
    choice = None if denial else chosen_otherwise(older, newer)
    if denial or (choice and choice.change is not ValueChange.BESIDE):
        if any(_AT_TIMES.search(one) for one in (older, newer)):
            return ValueChange.BESIDE
        if denial:
            return _change_by(denial)
        if choice:
            return ValueChange.UNCERTAIN if any(map(is_one_of_several, choice.who)) else choice.change
    for claim in _CLAIMS:
        old = claim.said.fullmatch(older)
        new = claim.said.fullmatch(newer) if old else None
        if old and new:
            return _change(claim, old, new)
    if _ends_a_job(older, newer):
        return ValueChange.UNCERTAIN
    many = _one_of_many(words_of(older.casefold()), words_of(newer.casefold()))
    return many or (choice.change if choice else None)


def _ends_a_job(older: str, newer: str) -> bool:
    """Whether somebody is out of work who is known to work somewhere."""
    ended = _JOB_ENDED.match(newer)
    job = _JOB.fullmatch(older) if ended else None
    if not ended or not job or ended["who"].casefold() != job["who"].casefold() or is_one_of_several(job["who"]):
        return False
    return _OF_EMPLOYER.search(ended["rest"]) is None or _AFTER.sub("", job["value"]).strip() in ended["rest"]


def _change_by(denial: Denial) -> ValueChange | None:
    if not denial.is_meant:
        return ValueChange.BESIDE
    return None if is_one_of_several(denial.who) else ValueChange.DENIED


def _change(claim: _Claim, *said: re.Match[str]) -> ValueChange | None:
    older, newer = said
    given = [_SEVERAL.split(_TITLE.sub("", one["value"]))[0] for one in said]
    values = [_AFTER.sub("", value).strip() for value in given]
    if (
        older["who"].casefold() != newer["who"].casefold()
        or _is_said_again(*(value.casefold() for value in values))
        or max(len(value.split()) for value in values) > _LONGEST_VALUE
    ):
        return None
    if claim.are_amounts and _are_in_other_units(*values):
        return ValueChange.BESIDE
    shapes = {_shape(claim, value) for value in values}
    is_certain = any(shapes <= group for group in claim.certain)
    is_likely = any(shapes <= group for group in claim.likely)
    if not (is_certain or is_likely) and any(shapes <= group for group in claim.open):
        return None
    of_other_cases = _are_of_other_cases(claim, *given)
    is_elsewhere = any(_is_no_place(claim, one["verb"], value) for one, value in zip(said, values, strict=True))
    goes_on = any(pattern.search(one[0]) for one in said for pattern in (_AS_WELL, _AS_WELL_ABROAD))
    if of_other_cases or is_elsewhere or goes_on or not (is_certain or is_likely):
        return ValueChange.BESIDE
    if (
        (claim.are_places and _may_lie_in_another(claim, newer[0], *values))
        or is_one_of_several(older["who"])
        or any(_LONG_AGO.search(one[0]) for one in said)
    ):
        return ValueChange.UNCERTAIN
    is_certain &= not any(_JOINED.search(one[0]) or _MAY_HOLD_TWO.fullmatch(one["verb"]) for one in said)
    is_certain &= len({one["verb"].casefold().endswith(" for") for one in said}) == 1
    return ValueChange.ANOTHER if is_certain else ValueChange.LIKELY


def _is_said_again(one: str, other: str) -> bool:
    return one in other or other in one or set(one.split()) == set(other.split())


def _may_lie_in_another(claim: _Claim, newer: str, *places: str) -> bool:
    """Kreuzberg lies in Berlin, and Bavaria in Germany; of large cities none lies in another, nor of countries."""
    are_large = [LARGE_PLACES.fullmatch(place) is not None for place in places]
    if len({*are_large}) > 1:
        return True
    if _NEWLY.search(newer):
        return False
    if all(are_large):
        return claim.is_abroad or any(REGIONS.fullmatch(place) for place in places)
    known = [CITIES.fullmatch(place) is not None for place in places]
    return not all(known) and (claim.is_abroad or any(known))


def _are_of_other_cases(claim: _Claim, one: str, other: str) -> bool:
    """Whether two values hold side by side: the limit is 100 on staging, and 500 on production."""
    cases = [_case_of(value) for value in (one, other)]
    if claim.has_details:
        return all(case and not case.startswith((",", "in ")) for case in cases) and cases[0] != cases[1]
    return cases[0] != cases[1]


def _case_of(value: str) -> str:
    found = _AFTER.search(value)
    return _SINCE.sub("", found[0]).casefold().strip() if found else ""


def _are_in_other_units(one: str, other: str) -> bool:
    """84 kg and 185 pounds may be as much, and so may 1200 a month and 14400 a year."""
    are_numbers = all(re.search(r"\d", value) for value in (one, other))
    return are_numbers and _UNIT.findall(one.casefold()) != _UNIT.findall(other.casefold())


def _is_no_place(claim: _Claim, verb: str, value: str) -> bool:
    if _MOVED.match(verb) and NO_PLACES.fullmatch(value):
        return True
    return claim.are_places and NO_GERMAN_PLACES.fullmatch(value) is not None


def _shape(claim: _Claim, value: str) -> _Shape:
    first = value.split()[0]
    if claim.are_tiers and _TIER.fullmatch(value):
        return _Shape.TIER
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
    return counted_words(older) == counted_words(newer)


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
    if tail and all(_COUNT.fullmatch(" ".join(one)) for one in (first, second)):
        return None  # Two kids or three: there may be many, but so many of them there are.
    is_value = all(1 <= len(one) <= _LONGEST_VALUE for one in (first, second)) and not set(first) & set(second)
    is_one_of_many = shared >= 2 and is_value and _MANY.search(" ".join(old[:shared]))
    return ValueChange.ONE_OF_MANY if is_one_of_many else None


def _are_apart(older: str, newer: str) -> bool:
    one, other = _matter_of(older), _matter_of(newer)
    return one is not None and other is not None and one != other


def _matter_of(text: str) -> str | None:
    """What a plain statement is about, where that is known."""
    for name, pattern in _MATTERS.items():
        said = pattern.search(text)
        if said:
            before, after = text[: said.start()], text[said.end() :]
            is_plain = len(before.split()) <= _LONGEST_SUBJECT and 1 <= len(after.split()) <= _LONGEST_STATEMENT
            return name if is_plain and not _OF_MORE.search(after) else None
    return None
