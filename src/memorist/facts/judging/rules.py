"""The rules: how one claim stands to another, and what follows for two texts."""

from memorist.facts.judging import vocabulary as v
from memorist.facts.judging.clauses import Claims, Clause, claims, is_number, words_of
from memorist.facts.judging.verb_groups import Mood
from memorist.facts.values import Ruling, Verdict

_LONGEST = 400
_LONGEST_NAME = 4
_SAME_SHARE = 0.75
_UNRELATED = Verdict(Ruling.UNRELATED, "They are about different things.", 0.7)


def judge(new: str, old: str) -> Verdict:
    """How the newer text stands to the older one."""
    if len(new) > _LONGEST or len(old) > _LONGEST:
        return Verdict(Ruling.UNRELATED, "One of them is too long to be one fact.", 0.5)
    newer, older = claims(new), claims(old)
    asserted = [clause for clause in older.clauses if clause.mood is not Mood.FORMER]
    verdicts = [_compare(one, other, newer) for one in newer.clauses for other in asserted]
    contradictions = [verdict for verdict in verdicts if verdict.ruling is Ruling.CONTRADICTS]
    if contradictions:
        if len(asserted) > 1 or not older.is_whole:
            return Verdict(Ruling.UNSURE, f"A part of it may have changed: {contradictions[0].reason}", 0.5)
        return contradictions[0]
    doubts = [verdict for verdict in verdicts if verdict.ruling is Ruling.UNSURE]
    if doubts:
        return doubts[0]
    if any(verdict.ruling is Ruling.SAME for verdict in verdicts) and len(newer.clauses) == len(asserted) == 1:
        return next(verdict for verdict in verdicts if verdict.ruling is Ruling.SAME)
    return _by_words(new, old, newer, older)


def likeness(one: str, other: str) -> int:
    """How much two texts have a chance to contradict each other: 2 where both claim the same sort of thing of one
    subject, 1 where the subject is the same, 0 where neither is or they were not understood."""
    if len(one) > _LONGEST or len(other) > _LONGEST:
        return 0
    pairs = [(this, that) for this in claims(one).clauses for that in claims(other).clauses]
    shared = [(this, that) for this, that in pairs if this.subject == that.subject]
    return 2 if any(_relation(this, that) for this, that in shared) else int(bool(shared))


def _compare(new: Clause, old: Clause, newer: Claims) -> Verdict:
    if new.left and (found := _left_behind(new, old)):
        return found
    if new.leaves:
        return _ended(new, old)
    if new.relation == "change" and new.subject == old.subject:
        return _changed(new, old)
    if new.subject != old.subject:
        return _UNRELATED
    if new.mood is Mood.FORMER:
        return _former(new, old)
    if new.mood is not old.mood and not _is_restated(new, old):
        return Verdict(Ruling.UNRELATED, "One is a plan or an event, the other a state.", 0.7)
    if _relation(new, old) is None:
        return _UNRELATED
    if new.negated != old.negated:
        return _denied(new, old)
    if _equal(new.value, old.value) and new.when == old.when and new.qualifiers == old.qualifiers:
        return Verdict(Ruling.SAME, "They claim the same.", 0.9)
    if new.negated or new.additive or (new.mood not in (Mood.STATE, Mood.DUTY) and not _is_restated(new, old)):
        return _UNRELATED
    return _other_value(new, old, newer)


# What a text says to have ended


def _left_behind(new: Clause, old: Clause) -> Verdict | None:
    """ "switched from A to B", "B instead of A"."""
    if old.negated or old.mood is not Mood.STATE:
        return None
    same_matter = new.subject == old.subject or new.subject == old.whose
    if same_matter and (_covers(old.value, new.left) or _covers(new.left, old.value)) and old.value:
        return _contradiction(f"It says that {' '.join(new.left)} was left behind.")
    if same_matter and new.left and old.when and set(new.left) & set(old.when):
        return _contradiction(f"It says that {' '.join(new.left)} was left behind.")
    return None


def _ended(new: Clause, old: Clause) -> Verdict:
    """ "left A", "dropped out of A", "sold A"."""
    if new.subject != old.subject or old.negated or old.mood is not Mood.STATE or not new.value:
        return _UNRELATED
    at_it = any(part[0] in ("at", "for", "with") and _covers(part, new.value) for part in old.qualifiers)
    if (old.relation in new.leaves and _covers(old.value, new.value)) or (
        at_it and "employer" in new.leaves and old.relation in ("be", "title")
    ):
        return _contradiction(f"It says that {' '.join(old.value)} came to an end.")
    return _UNRELATED


def _former(new: Clause, old: Clause) -> Verdict:
    """ "used to": what held, and holds no longer."""
    is_it = old.mood is Mood.STATE and not old.negated and not new.negated and _relation(new, old) is not None
    if is_it and _equal(new.value, old.value) and new.qualifiers == old.qualifiers:
        return _contradiction("It says that this used to be so.")
    return _UNRELATED


def _changed(new: Clause, old: Clause) -> Verdict:
    """ "moved to Thursday", "was raised to 40", "was renamed to B"."""
    if old.mood not in (Mood.STATE, Mood.EVENT) or old.negated or new.negated:
        return _UNRELATED
    if new.when and old.when:
        if new.when == old.when:
            return Verdict(Ruling.SAME, "They name the same time.", 0.7)
        return _contradiction("It says that the time changed.")
    numbers = [[word for word in value if is_number(word)] for value in (new.value, old.value)]
    if numbers[0] and numbers[1] and numbers[0] != numbers[1]:
        shared = set(_units(new.value)) & set(_units(old.value))
        if shared or not _units(new.value) or not _units(old.value):
            return _contradiction("It says that the number changed.")
    if old.relation in ("be", "name") and _is_single(old) and new.value and not _overlap(new.value, old.value):
        return _contradiction("It says that this changed.")
    if old.relation == "change" or new.subject == ("user",) or not new.value:
        # Who switched one thing may have switched another.
        return _UNRELATED
    return _doubt("It says that something changed, and this may be it.")


# What a text denies, or says otherwise


def _denied(new: Clause, old: Clause) -> Verdict:
    if not _equal(new.value, old.value):
        return _UNRELATED
    when = new.when == old.when or (new.changed and not old.when)
    if when and new.qualifiers == old.qualifiers:
        return _contradiction("One denies what the other says.")
    if (new.when and old.when and new.when != old.when) or (new.qualifiers and old.qualifiers):
        return _UNRELATED
    return _doubt("One denies what the other says, but not under the same conditions.")


def _other_value(new: Clause, old: Clause, newer: Claims) -> Verdict:
    qualifiers_agree = new.qualifiers == old.qualifiers
    if not qualifiers_agree:
        return _UNRELATED
    found = _other_time(new, old) or _other_number(new, old) or _other_choice(new, old)
    if found is not None:
        return found
    if not new.value or not old.value or _overlap(new.value, old.value) or (new.when != old.when and not new.changed):
        return _UNRELATED
    if _is_multiple(new) or _is_multiple(old):
        return _UNRELATED
    if new.is_list or old.is_list:
        return _doubt("Lists that differ may both be true.")
    if _names_region(new.value) != _names_region(old.value) and new.relation == "home":
        return _UNRELATED
    if new.is_vague != old.is_vague and new.relation in ("home", "employer", "boss", "school", "be"):
        return _UNRELATED
    is_change = new.changed or newer.is_correction
    other_sort = len(new.value) + len(old.value) > 2 and _stem(new.value[-1]) != _stem(old.value[-1])
    if new.relation == "prefer" and other_sort and not is_change:
        return _UNRELATED
    if new.relation == "be to":
        return _UNRELATED
    if new.is_named != old.is_named and not any(map(is_number, new.value + old.value)) and new.head not in v.LABELS:
        return _UNRELATED
    if _is_single(new) and _is_single(old) and (new.head in v.LABELS or _comparable(new, old)):
        return _contradiction("There is one value of this at a time, and it is another.")
    if new.changed and new.relation == "title":
        return _contradiction("It says that this is another now.")
    if is_change and new.relation.split()[0] in v.SINGLE_NOW:
        return _contradiction("It says that this is another now.")
    # "The kitchen is large", "the kitchen is yellow".
    if new.relation == "be" and not (is_change or _is_single(new)):
        return _UNRELATED
    return _doubt("The same is said with another value.")


def _other_time(new: Clause, old: Clause) -> Verdict | None:
    if not new.when or not old.when or new.when == old.when or not _equal(new.value, old.value):
        return None
    verb = new.relation.split()[0]
    if verb == "be" and not (new.value == () or new.value == ("due",) or _is_single(new) or "due" in new.value):
        return None
    if verb not in v.SCHEDULES and new.relation not in ("start", "end"):
        return None
    if new.subject and new.subject[-1] in v.PEOPLE:
        return None
    days = [{word for word in when if _kind_of_time(word) in ("weekday", "part")} for when in (new.when, old.when)]
    clocks = [{word for word in when if _kind_of_time(word) == "clock"} for when in (new.when, old.when)]
    if all(days) and all(clocks) and days[0] != days[1]:
        return _doubt("It may be at one time on one day, and at another on another.")
    if not _same_kind_of_time(new.when, old.when):
        return _doubt("The times are not told in the same way.")
    return _contradiction("It is at another time.")


def _other_number(new: Clause, old: Clause) -> Verdict | None:
    if len(new.value) != len(old.value) or new.when != old.when:
        return None
    differing = [
        at for at, (one, other) in enumerate(zip(new.value, old.value, strict=True)) if not _equal((one,), (other,))
    ]
    if not differing or not all(is_number(new.value[at]) and is_number(old.value[at]) for at in differing):
        return None
    verb = new.relation.split()[0]
    counted = all(at + 1 < len(new.value) or len(new.value) == 1 for at in differing)
    if counted and (verb in v.QUANTITIES or new.relation in v.SINGLE_RELATIONS or _is_single(new)):
        return _contradiction("It is another number.")
    if (verb in v.VERSIONED and not counted) or "every" in new.value:
        return _contradiction("It is another number.")
    return _doubt("It is another number.") if counted else _UNRELATED


def _other_choice(new: Clause, old: Clause) -> Verdict | None:
    """Two of which a thing is one at a time, all else being equal."""
    ones, others = ({_stem(word) for word in value} for value in (new.value, old.value))
    for group in v.EXCLUSIVE:
        one, other = ones & group, others & group
        if not one or not other or one & other or ones - group != others - group:
            continue
        if new.relation not in v.EXCLUSIVE_UNDER:
            return None
        if new.relation == "use" and (one | other) <= v.CHOICES and not new.changed:
            return _doubt("One may use both, or have changed.")
        if new.relation in ("want", "pay") and (one | other) <= v.CHOICES:
            return None
        return _contradiction("The one excludes the other.")
    return None


# What the rules ask


def _relation(new: Clause, old: Clause) -> str | None:
    """The relation that both claim; None where they are different ones."""
    if new.relation == old.relation:
        return new.relation
    titles = {new.relation, old.relation} == {"title", "be"}
    if titles and _stem(new.value[-1] if new.value else "") == _stem(old.value[-1] if old.value else " "):
        return "title"
    return None


def _is_restated(new: Clause, old: Clause) -> bool:
    """Whether something that happened made a state: "moved to", "was promoted to"."""
    made = new.mood is Mood.EVENT and new.changed and new.relation in v.SINGLE_RELATIONS | v.SINGLE_NOW | {"title"}
    state = old.mood is Mood.STATE or (old.mood is Mood.EVENT and old.changed)
    return made and state


def _is_single(clause: Clause) -> bool:
    if clause.relation in v.SINGLE_RELATIONS:
        return clause.relation != "name" or clause.head not in v.MULTIPLE_NOUNS
    if clause.relation != "be":
        return False
    described = set(clause.subject[:-1])
    if described & v.SINGLE_MARKERS:
        return True
    return clause.head in v.SINGLE_NOUNS and clause.head not in v.MULTIPLE_NOUNS


def _is_multiple(clause: Clause) -> bool:
    return clause.relation.split()[0] in v.MULTIPLE_RELATIONS or (
        clause.relation in ("be", "name") and clause.head in v.MULTIPLE_NOUNS
    )


def _comparable(new: Clause, old: Clause) -> bool:
    """Whether two values are of one sort: two numbers of one unit, or two names; not a name and a description."""
    numbers = [any(is_number(word) for word in clause.value) for clause in (new, old)]
    if numbers[0] != numbers[1] or any(len(clause.value) > _LONGEST_NAME for clause in (new, old)):
        return False
    if numbers[0]:
        units = [set(_units(clause.value)) for clause in (new, old)]
        return not units[0] or not units[1] or bool(units[0] & units[1])
    if new.relation != "be" or (new.is_named and old.is_named):
        return not v.DESCRIPTIONS & {*new.value, *old.value}
    is_word = new.head in v.WORD_VALUED or bool(set(new.subject) & v.SINGLE_MARKERS)
    return is_word and not v.DESCRIPTIONS & {*new.value, *old.value}


def _names_region(value: tuple[str, ...]) -> bool:
    return bool(value) and value[-1] in v.REGIONS


def _same_kind_of_time(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return {_kind_of_time(word) for word in one} & {_kind_of_time(word) for word in other} != set()


def _kind_of_time(word: str) -> str:
    if word in v.WEEKDAYS:
        return "weekday"
    if ":" in word or word in ("noon", "midnight"):
        return "clock"
    if word in v.MONTHS.values() or "-" in word or word in ("tomorrow", "yesterday", "tonight"):
        return "date"
    return "number" if is_number(word) else "part"


def _units(value: tuple[str, ...]) -> list[str]:
    return [_stem(word) for word in value if not is_number(word)]


def _equal(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return [_stem(word) for word in one] == [_stem(word) for word in other]


def _covers(whole: tuple[str, ...], part: tuple[str, ...]) -> bool:
    return bool(part) and {_stem(word) for word in part} <= {_stem(word) for word in whole}


def _overlap(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether one only says more than the other: Berlin, and Berlin in Germany."""
    nicknamed = len(one) == len(other) == 1 and (one[0].startswith(other[0][:4]) or other[0].startswith(one[0][:4]))
    return _covers(one, other) or _covers(other, one) or (nicknamed and one[0].isalpha() and len(one[0]) > 3)


def _stem(word: str) -> str:
    if len(word) > 3 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _by_words(new: str, old: str, newer: Claims, older: Claims) -> Verdict:
    """Texts of which no claims could be compared are the same where they share most of their words."""
    subjects = [{clause.subject for clause in one.clauses} for one in (newer, older)]
    if subjects[0] != subjects[1]:
        return _UNRELATED
    negated = [any(clause.negated for clause in one.clauses) for one in (newer, older)]
    ones, others = ({_stem(word) for word in words_of(text)} for text in (new, old))
    shared, either = len(ones & others), len(ones | others)
    numbers = [{word for word in words if is_number(word)} for words in (ones, others)]
    if negated[0] == negated[1] and numbers[0] == numbers[1] and shared:
        return (
            Verdict(Ruling.SAME, "They share nearly all of their words.", 0.6)
            if shared / either >= _SAME_SHARE
            else _UNRELATED
        )
    return _UNRELATED


def _contradiction(reason: str) -> Verdict:
    return Verdict(Ruling.CONTRADICTS, reason, 0.9)


def _doubt(reason: str) -> Verdict:
    return Verdict(Ruling.UNSURE, reason, 0.5)
