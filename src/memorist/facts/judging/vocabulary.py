"""The words that the rules know: verbs and their forms, what has one value at a time, and what excludes what."""


def _list(text: str) -> list[str]:
    return text.split()


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


DETERMINERS = _words("the our some this that these those its")
INDEFINITE = frozenset({"a", "an"})
PREPOSITIONS = _words(
    "in on at for with from to by as of during near under over about after before until since into via through per"
    " without within between against toward towards around inside outside behind across"
)
FILLERS = _words(
    "really very currently always usually generally still just already definitely mostly typically normally often"
    " generally simply quite exactly about approximately roughly finally recently soon presently today regularly"
    " permanently officially"
)
NOW = frozenset({"now", "nowadays", "henceforth"})
ADDITIVE = frozenset({"also", "too", "additionally", "another", "besides", "sometimes", "occasionally", "both"})
NEGATIONS = frozenset({"not", "never", "neither"})
SKIPPED = FILLERS | NOW
UNSAID = SKIPPED | ADDITIVE | {"anymore"}
DENIALS = NEGATIONS | {"no"}
CUTS = _words("because since so while although though whereas which who where")
CONDITIONS = _words("if unless when whenever except")

NUMBERS = {
    word: str(number)
    for number, word in enumerate(
        _list("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen")
    )
    if word not in ("zero", "one")
}
SPELLINGS = {
    "favourite": "favorite", "colour": "color", "flat": "apartment", "mum": "mother", "mom": "mother", "dad": "father",
    "kids": "children", "kid": "child", "child": "children", "persons": "people", "photo": "photograph",
    "programme": "program", "centre": "center", "organisation": "organization", "theatre": "theater", "grey": "gray",
    "licence": "license", "phone": "phone", "telephone": "phone", "e-mail": "email", "mails": "email",
}  # fmt: skip

BE = _words("is are am was were be been being")
PAST_BE = frozenset({"was", "were"})
HAVE = frozenset({"has", "have", "had"})
DO = frozenset({"do", "does", "did"})
HEDGES = frozenset({"would", "could", "may", "might"})
OBLIGATIONS = frozenset({"should", "must", "shall"})
AUXILIARIES = BE | HAVE | DO | HEDGES | OBLIGATIONS | {"will", "used"}
PLANNING = _words("plan hope intend consider think want wish expect aim prepare dream decide promise try need agree")
ENDING = frozenset({"stop", "quit", "cease"})
STARTING = frozenset({"start", "begin"})
ARRANGED = frozenset({"planned", "scheduled", "set", "slated", "arranged", "fixed"})
"""What is so for a time is at that time."""

_IRREGULAR = {
    "leave": "left", "begin": "began", "buy": "bought", "sell": "sold", "drive": "drove", "eat": "ate",
    "drink": "drank", "speak": "spoke", "know": "knew", "read": "read", "write": "wrote", "run": "ran",
    "go": "went", "take": "took", "see": "saw", "meet": "met", "pay": "paid", "spend": "spent", "sleep": "slept",
    "wear": "wore", "teach": "taught", "keep": "kept", "get": "got", "give": "gave", "make": "made",
    "find": "found", "become": "became", "sit": "sat", "think": "thought", "hold": "held", "win": "won",
    "lose": "lost", "build": "built", "send": "sent", "say": "said", "quit": "quit", "cost": "cost", "swim": "swam",
    "ride": "rode", "sing": "sang", "break": "broke", "come": "came", "choose": "chose", "fly": "flew",
    "rise": "rose", "grow": "grew", "tell": "told", "feel": "felt", "hit": "hit",
}  # fmt: skip
SIMPLE_PAST = _words(
    "began drove ate drank spoke knew wrote ran went took saw wore gave became swam rode sang broke came chose flew"
    " rose grew"
)
"""What is never done to somebody: behind "is" it is a thing or a colour, as in "is rose"."""
_REGULAR = _list(
    "live reside work move relocate use prefer like love enjoy hate dislike want need own play study learn visit"
    " stay travel plan hope intend consider wish expect aim prepare switch change migrate replace swap convert"
    " upgrade update deploy target require support listen report bank smoke train practice attend join resign"
    " graduate drop close open start end finish stop cancel postpone reschedule delay shift extend increase raise"
    " lower reduce bump rename promote transfer retire marry divorce adopt expire depart arrive happen occur weigh"
    " earn measure call name base employ book enroll contain consist store save host watch cook bake interview"
    " volunteer hire fire manage lead handle belong share rent lease pay charge bill order subscribe follow trust"
    " avoid allow forbid disable enable ship release merge rebase squash commit push format indent lint test"
    " review sign speak celebrate suffer recover treat prescribe exercise jog cycle bike hike climb ski dance"
    " paint knit garden collect fish hunt commute walk wake decide agree try promise dream cease total last return"
    " repay owe invest donate vote identify observe fast pray drive check cover serve land board rotate refresh"
    " renew retry poll sync restart back"
)


def _forms(lemma: str) -> dict[str, tuple[str, str]]:
    if lemma.endswith("y") and lemma[-2] not in "aeiou":
        present, past = lemma[:-1] + "ies", lemma[:-1] + "ied"
    elif lemma.endswith(("s", "sh", "ch", "x", "o", "z")):
        present, past = lemma + "es", lemma + "ed"
    else:
        present, past = lemma + "s", lemma + ("d" if lemma.endswith("e") else "ed")
    stem = lemma[:-1] if lemma.endswith("e") and not lemma.endswith("ee") else lemma
    doubled = lemma + lemma[-1]
    forms = {lemma: (lemma, "base"), present: (lemma, "present"), past: (lemma, "past"), stem + "ing": (lemma, "ing")}
    forms |= {doubled + "ed": (lemma, "past"), doubled + "ing": (lemma, "ing")}
    if lemma in _IRREGULAR:
        forms[_IRREGULAR[lemma]] = (lemma, "base" if _IRREGULAR[lemma] == lemma else "past")
    return forms


VERBS: dict[str, tuple[str, str]] = {
    form: found for lemma in dict.fromkeys([*_REGULAR, *_IRREGULAR]) for form, found in _forms(lemma).items()
}

# Verbs, with the word behind them, that say the same.
RELATIONS: dict[tuple[str, str], str] = {
    ("live", "in"): "home", ("live", "at"): "home", ("reside", "in"): "home", ("reside", "at"): "home",
    ("base", "in"): "home", ("stay", "in"): "stay", ("move", "to"): "home", ("relocate", "to"): "home",
    ("move", "into"): "home",
    ("work", "at"): "employer", ("work", "for"): "employer", ("employ", "by"): "employer",
    ("employ", "at"): "employer", ("employ", "with"): "employer",
    ("work", "as"): "title", ("promote", "to"): "title",
    ("study", "at"): "school", ("enroll", "at"): "school", ("enroll", "in"): "school", ("attend", ""): "school",
    ("report", "to"): "boss", ("indent", "with"): "indentation", ("end", "at"): "end", ("finish", "at"): "end",
    ("start", "at"): "start", ("begin", "at"): "start", ("begin", ""): "start", ("start", ""): "start",
    ("cost", ""): "cost", ("earn", ""): "salary", ("weigh", ""): "weight",
}  # fmt: skip
# Verbs that say that something ended: what they leave behind, and under which relation that was known.
LEAVING: dict[tuple[str, str], tuple[str, ...]] = {
    ("leave", ""): ("employer", "home", "school", "use"),
    ("quit", ""): ("employer", "school", "smoke", "play"),
    ("resign", "from"): ("employer",),
    ("retire", "from"): ("employer",),
    ("drop", "out"): ("school",),
    ("graduate", "from"): ("school",),
    ("sell", ""): ("own", "have"),
    ("move", "out"): ("home",),
    ("cancel", ""): ("have", "subscribe", "own"),
    ("stop", ""): ("use", "take"),
}
# Verbs after which the subject has the value behind "to".
CHANGES = _words(
    "switch change migrate move shift postpone reschedule delay extend increase raise lower reduce bump rename upgrade"
    " update convert transfer swap replace"
)
SCHEDULES = _words("be leave depart arrive start begin end open close expire happen occur land board")
QUANTITIES = _words("be have own take cost weigh earn measure pay last contain total sleep charge book")
VERSIONED = _words("be target run use require listen")

# One value at a time.
SINGLE_RELATIONS = _words("home dwelling employer boss position cost salary weight age name")
SINGLE_NOUNS = _words(
    "address age birthday branch budget city employer company deadline date time port version timeout password"
    " username email phone number rent salary price cost rate weight height size color colour target manager boss"
    " supervisor landlord dentist doctor therapist language currency timezone zone country nationality name nickname"
    " surname limit quota theme editor provider plan owner maintainer lead host hostname url domain database framework"
    " license status priority location venue room seat terminal gate destination capital password pin frequency dose"
    " dosage pressure temperature interval threshold retention region cluster tier husband wife spouse partner fiance"
    " roommate major degree goal score rating balance income mortgage insurer bank carrier operator car"
)
SINGLE_MARKERS = _words("favorite preferred default current main primary official top first last native")
WORD_VALUED = _words(
    "color branch theme language currency status priority frequency target editor framework database provider license"
    " cuisine dish drink food fruit vegetable season sport animal subject genre instrument format unit units framework"
    " flavor hobby mode style size tier plan"
)
"""What is named by ordinary words, so that two of them differ as two names do."""
DESCRIPTIONS = _words(
    "good bad nice great fine strict stressful high low slow fast old new easy hard difficult boring fun important big"
    " small large cheap expensive busy free kind friendly rude tall short late early sick ill well better worse ok okay"
    " unknown secret complicated simple flexible demanding tough excellent terrible"
)
# What people have more than one of.
MULTIPLE_NOUNS = _words(
    "brother sister son daughter child children friend colleague cousin aunt uncle nephew niece cat dog pet hobby skill"
    " goal project neighbor neighbour teammate student plan bank degree car major"
)
# What never contradicts by another value.
MULTIPLE_RELATIONS = _words(
    "like love enjoy hate dislike visit speak know own have learn play read watch see take eat drink use travel cook"
    " write interview volunteer meet study support buy collect follow avoid need want practice attend go wear exercise"
    " run order bake make give get manage handle lead contain"
)
# With "now" they have one value; without, they may have several.
SINGLE_NOW = _words("study bank report school drive prefer subscribe")

EXCLUSIVE = tuple(
    frozenset(group.split())
    for group in (
        "single married divorced engaged widowed separated",
        "public private internal",
        "dark light",
        "tab space",
        "window aisle middle",
        "metric imperial",
        "short long",
        "brief detailed",
        "concise verbose",
        "left-handed right-handed",
        "enabled disabled",
        "open closed",
        "on off",
        "active inactive",
        "employed unemployed",
        "alive dead",
        "formal informal casual",
        "remote on-site onsite hybrid",
        "morning evening afternoon night",
        "junior senior mid-level principal staff",
        "full-time part-time",
        "full part",
        "celsius fahrenheit",
        "debit credit cash",
        "email phone sms slack text",
        "camelcase snake_case",
        "synchronous asynchronous",
        "sync async",
        "vegan omnivore carnivore",
        "rented owned",
        "free paid",
        "mandatory optional",
        "required optional",
        "tea coffee",
        "male female",
        "monolith microservice",
        "weekly monthly daily yearly quarterly biweekly",
        "pending approved rejected",
        "broken fixed",
        "available unavailable",
        "lactose-intolerant lactose-tolerant",
        "hot cold",
        "renewed expired",
        "passed failed",
        "pregnant unpregnant",
        "insured uninsured",
        "early late",
        "upstairs downstairs",
        "postgresql mysql sqlite mongodb mariadb oracle postgres",
        "npm yarn pnpm bun",
        "jenkins circleci gitlab-ci travis",
        "aws azure gcp",
        "vim emacs vscode",
        "ios android",
        "mac windows linux",
        "train plane bus car",
        "male female",
    )
)
"""Groups of which a thing is one at a time."""
EXCLUSIVE_UNDER = frozenset({"be", "prefer", "want", "indentation", "use", "title", "pay"})
"""Relations under which two of a group exclude each other: who likes tea may like coffee too."""
CHOICES = _words(
    "tea coffee train plane bus car ios android mac windows linux vim emacs vscode npm yarn pnpm bun aws azure gcp"
    " postgresql mysql sqlite mongodb mariadb oracle postgres jenkins circleci travis text email phone sms slack debit"
    " credit cash"
)
"""Of these one may use several, but prefers one."""

LABELS = _words("address phone email url number username password name")
"""Of these a value is what it is, whatever numbers and words it has."""
DWELLINGS = _words("apartment house studio condo cabin dorm cottage bungalow villa houseboat loft farmhouse")
REGIONS = _words(
    "germany france spain portugal italy austria switzerland netherlands belgium denmark sweden norway finland poland"
    " czechia hungary greece turkey ukraine russia england scotland wales ireland uk britain usa us america canada"
    " mexico brazil argentina chile peru colombia china japan korea india thailand vietnam indonesia malaysia singapore"
    " australia zealand egypt morocco kenya nigeria ghana ethiopia africa europe asia israel iran iraq pakistan"
    " bangladesh philippines taiwan romania bulgaria serbia croatia slovenia slovakia estonia latvia lithuania iceland"
    " california texas florida bavaria catalonia ontario quebec yorkshire kent countryside suburbs city town village"
    " states kingdom emirates arabia province county district"
)
"""Places that others lie in: who lives in one may live in a city of it."""

WEEKDAYS = _words("monday tuesday wednesday thursday friday saturday sunday")
MONTHS = {
    form: month[:3]
    for month in _list("january february march april may june july august september october november december")
    for form in (month, month[:3], "sept" if month == "september" else month[:3])
}
DAY_PARTS = _words("morning afternoon evening night noon midnight weekend weekday")
PEOPLE = _words(
    "user he she they i we brother sister son daughter mother father wife husband partner parents friend boss manager"
    " colleague roommate cousin aunt uncle grandmother grandfather neighbor family child children"
)
