"""From a sentence to what it claims: of whom, in which relation, with which value, since when and how surely. Pure.

This is no grammar of English. It reads the plain sentences that facts are written in, and says nothing of the others.
"""

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from memorist.facts.judging import vocabulary as v
from memorist.facts.judging.verb_groups import Mood, VerbGroup

_SENTENCES = re.compile(
    r"(?<=[.!?])(?<!\b[A-Z]\.)(?<!\b(?:Dr|Mr|Ms|St|No|vs)\.)(?<!\bMrs\.)(?<!\bProf\.)\s+(?=[\"'A-Z])|\n+|;\s+"
)
_PREFIX = re.compile(
    r"^\s*(correction|actually|update|edit|in fact|no|wait|note|remember|fact)\s*[:,]\s+", re.IGNORECASE
)
_CORRECTS = ("correction", "actually", "update", "edit", "in fact", "no", "wait")
_TOKEN = re.compile(r"'s\b|[^\s,!?\"()\[\]“”]+")
# Not the first word, which is always written so.
_CAPITALS = re.compile(r"(?<=[\w,:.] )[\"“]?([A-Z][\w.-]*\w)")
_POSSESSIVE = re.compile(r"(?<=\w)'s\b")
_TIME = re.compile(r"(\d{1,2})(?::(\d{2}))?\s?(am|pm)\b")
_CLOCK = re.compile(r"\d{1,2}:\d{2}")
_YEAR = re.compile(r"(19|20)\d\d")
_ORDINAL = re.compile(r"(\d{1,2})(st|nd|rd|th)")
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_NUMBER = re.compile(r"[$€£]?\d+(\.\d+)*%?")
_CONTRACTIONS = (
    (re.compile(r"\bcan't\b|\bcannot\b"), "can not"),
    (re.compile(r"\bwon't\b"), "will not"),
    (re.compile(r"n't\b"), " not"),
    (re.compile(r"\b(he|she|it|that|there|who)'s\b"), r"\1 is"),
    (re.compile(r"\b(i)'m\b"), r"\1 am"),
    (re.compile(r"\b(we|they|you)'re\b"), r"\1 are"),
    (re.compile(r"\b(i|we|they|you)'ve\b"), r"\1 have"),
    (re.compile(r"\b(i|we|they|you|he|she)'d like\b"), r"\1 want"),
    (re.compile(r"\b(i|we|they|you|he|she|it)'ll\b"), r"\1 will"),
    (re.compile(r"s'(?=\s)"), "s 's"),
    (re.compile(r"\bmy\b"), "user 's"),
    (re.compile(r"\b(i|me|myself)\b"), "user"),
    (re.compile(r"\bthe user\b"), "user"),
    (re.compile(r"\b(any ?more|any longer)\b"), "anymore"),
    (re.compile(r"\bas well\b|\bin addition\b"), "also"),
    (re.compile(r"\bas of \w+\b|\bat the moment\b|\bright now\b|\bthese days\b|\bat present\b|\bfrom now on\b"), "now"),
    (re.compile(r"\brather than\b|, (?:and )?not (?=\w)"), " instead of "),
    (re.compile(r"\bgave up\b"), "stopped"),
    (re.compile(r"\bgiven up\b"), "stopped"),
    (re.compile(r"\bfull time\b"), "full-time"),
    (re.compile(r"\bpart time\b"), "part-time"),
    (re.compile(r"\bgot (married|divorced|engaged)\b"), r"is \1 now"),
    (re.compile(r"\b(\d+) ?(kg|mg|km|ms|gb|mb|cm|mm)\b"), r"\1 \2"),
)


@dataclass(frozen=True, slots=True)
class Clause:
    """One claim. Words are folded; `when` are the words of a time; `left` is what a change left behind."""

    subject: tuple[str, ...]
    relation: str
    value: tuple[str, ...]
    when: tuple[str, ...] = ()
    qualifiers: frozenset[tuple[str, ...]] = frozenset()
    negated: bool = False
    mood: Mood = Mood.STATE
    left: tuple[str, ...] = ()
    changed: bool = False
    additive: bool = False
    is_list: bool = False
    is_vague: bool = False
    """Whether the value is only described: a startup, not its name."""
    is_named: bool = False
    """Whether the value is written as a name is."""
    leaves: tuple[str, ...] = ()

    @property
    def head(self) -> str:
        """The noun that the subject is about: the last word before what describes it further."""
        for at, word in enumerate(self.subject):
            if word in v.PREPOSITIONS and at:
                return self.subject[at - 1]
        return self.subject[-1] if self.subject else ""

    @property
    def whose(self) -> tuple[str, ...]:
        """Whom the subject belongs to; () where it says nothing of that."""
        return self.subject[: self.subject.index("'s")] if "'s" in self.subject else ()


@dataclass(frozen=True, slots=True)
class Claims:
    """What a text claims, and whether it presents itself as a correction."""

    clauses: tuple[Clause, ...]
    is_correction: bool
    is_whole: bool
    """Whether every part of the text was understood."""


@lru_cache(maxsize=4096)
def claims(text: str) -> Claims:
    """What a text claims, as far as it was understood."""
    prefix = _PREFIX.match(text)
    is_correction = prefix is not None and prefix[1].lower() in _CORRECTS
    rest = text[prefix.end() :] if prefix else text
    found: list[Clause] = []
    parts = 0
    for sentence in filter(None, map(str.strip, _SENTENCES.split(rest))):
        clauses = _sentence(sentence)
        parts += max(1, len(clauses))
        found += clauses
    return Claims(tuple(found), is_correction, is_whole=len(found) == parts)


def words_of(text: str) -> list[str]:
    """The folded words of a text, in their order."""
    lowered = text.lower().replace("’", "'").replace("—", ", ")
    lowered = re.sub(r"(?<=\d),(?=\d{3}\b)", "", lowered)
    lowered = _TIME.sub(_clock, lowered)
    for pattern, plain in _CONTRACTIONS:
        lowered = pattern.sub(plain, lowered)
    lowered = _POSSESSIVE.sub(" 's", lowered)
    found = [token.strip(".:*_`'") if token != "'s" else token for token in _TOKEN.findall(lowered)]
    return [_folded(token) for token in found if token and token not in v.DETERMINERS]


def is_number(word: str) -> bool:
    return _NUMBER.fullmatch(word) is not None


def _clock(match: re.Match[str]) -> str:
    hour = int(match[1]) % 12 + (12 if match[3] == "pm" else 0)
    return f"{hour}:{match[2] or '00'}"


def _folded(word: str) -> str:
    word = v.SPELLINGS.get(word, word)
    word = v.NUMBERS.get(word, word)
    ordinal = _ORDINAL.fullmatch(word)
    if ordinal:
        return ordinal[1]
    if _CLOCK.fullmatch(word):
        return word.lstrip("0") or word
    if word.startswith(("$", "€", "£")):
        return word[1:]
    if word.endswith("s") and word[:-1] in v.WEEKDAYS:
        return word[:-1]
    return word


def _sentence(sentence: str) -> list[Clause]:
    found: list[Clause] = []
    capitals = {word.lower() for word in _CAPITALS.findall(sentence)}
    subject: tuple[str, ...] = ()
    for words in _split(words_of(sentence)):
        clause = _clause(words, subject)
        if clause is None:
            continue
        subject = clause.subject
        found.append(replace(clause, is_named=any(word in capitals for word in clause.value)))
    return found


def _split(words: list[str]) -> list[list[str]]:
    """At "and" and "but" where a verb follows, and before words that only explain."""
    parts: list[list[str]] = [[]]
    for at, word in enumerate(words):
        if word in v.CUTS and at > 2 and word != "so":
            if word == "since" and at + 1 < len(words) and _is_temporal(words[at + 1]):
                parts[-1].append(word)
                continue
            break
        if word in ("and", "but", "then") and parts[-1] and _begins_clause(words[at + 1 :]):
            parts.append([])
        else:
            parts[-1].append(word)
    return [part for part in parts if part]


def _begins_clause(words: list[str]) -> bool:
    rest = [word for word in words if word not in v.SKIPPED]
    if not rest:
        return False
    names_subject = len(rest) > 1 and rest[0] in ("user", "he", "she", "they", "it", "we")
    return names_subject or _verb_at(rest, 0) or rest[0] in v.NEGATIONS or rest[:2] == ["no", "longer"]


def _verb_at(words: list[str], at: int) -> bool:
    word = words[at]
    return word in v.AUXILIARIES or (word in v.VERBS and v.VERBS[word][1] in ("present", "past"))


def _find_verb(words: list[str]) -> int | None:
    plural = words[0] in ("we", "they", "you", "user", "i") or words[0].endswith("s")
    for at in range(1, len(words)):
        word = words[at]
        if words[at - 1] == "'s" or (at > 1 and words[at - 1] in v.PREPOSITIONS):
            continue
        if word in v.NEGATIONS or (word == "no" and words[at : at + 2] == ["no", "longer"]):
            return at
        if _verb_at(words, at):
            return at
        if plural and at == 1 and word in v.VERBS and v.VERBS[word][1] == "base":
            return at
    # Whoever acts is followed by what it does, though the word is not known.
    return 1 if words[0] in ("user", "we", "they") and len(words) > 1 and words[1] != "'s" else None


def _clause(words: list[str], inherited: tuple[str, ...]) -> Clause | None:
    flags = {
        "changed": any(word in v.NOW for word in words),
        "additive": any(word in v.ADDITIVE for word in words),
    }
    ended = "anymore" in words
    kept = [word for word in words if word not in v.UNSAID]
    kept = kept[1:] if kept[:1] and kept[0] in v.INDEFINITE else kept
    if not kept:
        return None
    if inherited and (_verb_at(kept, 0) or kept[0] in v.NEGATIONS or kept[:2] == ["no", "longer"]):
        kept = [*inherited, *kept]
        at: int | None = len(inherited)
    else:
        if kept[0] in ("he", "she", "they", "it") and inherited:
            kept = [*inherited, *kept[1:]]
        at = _find_verb(kept)
    if at is None:
        return None
    subject = tuple(kept[:at])
    group = VerbGroup(kept[at:])
    if not group.read() or group.lemma is None:
        return None
    clause = _with_object(subject, group.lemma, group.rest)
    return replace(
        clause,
        negated=clause.negated != (group.negated or ended),
        mood=group.mood if clause.mood is Mood.STATE else clause.mood,
        changed=clause.changed or group.changed or flags["changed"] or ended,
        additive=flags["additive"],
    )


def _with_object(subject: tuple[str, ...], lemma: str, rest: list[str]) -> Clause:
    rest, left, changed = _without_what_was_left(lemma, rest)
    rest, when = _times(rest)
    behind = rest[0] if rest and rest[0] in v.PREPOSITIONS | {"out"} else ""
    if (lemma, behind) in v.LEAVING and (not when or subject[-1:] == ("user",)):
        leaves = v.LEAVING[lemma, behind]
        rest = [word for word in (rest[1:] if behind else rest) if word != "of" and word not in v.INDEFINITE]
        return Clause(subject, "leave", tuple(rest), when, negated=True, changed=True, leaves=leaves)
    relation = lemma
    if (lemma, behind) in v.RELATIONS and not (lemma == "move" and subject and subject[-1] not in v.PEOPLE):
        relation = v.RELATIONS[lemma, behind]
        changed = changed or lemma in ("move", "relocate", "promote")
    elif lemma in v.CHANGES and (behind == "to" or left):
        relation, changed = "change", True
    elif behind:
        relation = f"{lemma} {behind}"
    rest = rest[1:] if behind else rest
    is_vague = bool(rest) and rest[0] in v.INDEFINITE
    value, qualifiers = _qualified([word for word in rest if word not in v.INDEFINITE])
    if relation == "home" and value and value[-1] in v.DWELLINGS:
        where = next((part[1:] for part in qualifiers if part[0] in ("in", "at")), None)
        relation, is_vague = ("dwelling", False) if where is None else ("home", False)
        value, qualifiers = (value, qualifiers) if where is None else (where, frozenset())
    if relation == "be" and value[-2:] in (("years", "old"), ("year", "old")):
        relation, value = "age", value[:-2]
    elif relation == "be" and value[:1] in (("called",), ("named",)):
        relation, value = "name", value[1:]
    return _as_attribute(
        Clause(
            subject,
            relation,
            value,
            when,
            qualifiers,
            left=tuple(word for word in left if word not in v.INDEFINITE),
            changed=changed,
            is_list="and" in value or "or" in value,
            is_vague=is_vague,
        )
    )


def _without_what_was_left(lemma: str, rest: list[str]) -> tuple[list[str], tuple[str, ...], bool]:
    """What is behind the verb without what it was before or is preferred to; that; and whether something changed."""
    left: tuple[str, ...] = ()
    changed = "instead" in rest
    if changed:
        at = rest.index("instead")
        if rest[at + 1 : at + 2] == ["of"]:
            left, rest = tuple(rest[at + 2 :]), rest[:at]
        else:
            rest = [word for word in rest if word != "instead"]
    rest, was = _from_to(rest)
    left = left or was
    if lemma == "prefer" and ("over" in rest or "to" in rest[1:]):
        at = rest.index("over") if "over" in rest else rest.index("to", 1)
        left, rest = tuple(rest[at + 1 :]), rest[:at]
    if lemma == "replace" and "with" in rest:
        at = rest.index("with")
        left, rest = tuple(rest[:at]), ["to", *rest[at + 1 :]]
    return rest, left, changed


def _as_attribute(clause: Clause) -> Clause:
    """ "User's home city is Berlin" as "user lives in Berlin"."""
    if clause.relation == "be" and clause.whose:
        attribute = clause.subject[len(clause.whose) + 1 :]
        relation = _ATTRIBUTES.get(attribute)
        if relation is not None:
            return replace(clause, subject=clause.whose, relation=relation)
    return clause


_ATTRIBUTES: dict[tuple[str, ...], str] = {
    ("home", "city"): "home", ("city",): "home", ("home",): "home", ("residence",): "home", ("home", "town"): "home",
    ("place", "of", "residence"): "home", ("current", "city"): "home",
    ("employer",): "employer", ("company",): "employer", ("current", "employer"): "employer",
    ("job", "title"): "position", ("position",): "position",
    ("manager",): "boss", ("boss",): "boss", ("supervisor",): "boss",
    ("salary",): "salary", ("weight",): "weight", ("age",): "age", ("name",): "name",
    ("indentation",): "indentation",
}  # fmt: skip


def _from_to(rest: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """Without a "from A" before or behind a "to B", and that A."""
    if "from" not in rest or "to" not in rest:
        return rest, ()
    at_from, at_to = rest.index("from"), rest.index("to")
    if at_from < at_to:
        return [*rest[:at_from], *rest[at_to:]], tuple(rest[at_from + 1 : at_to])
    return rest[:at_from], tuple(rest[at_from + 1 :])


def _is_temporal(word: str) -> bool:
    return bool(
        word in v.WEEKDAYS
        or word in v.MONTHS
        or _CLOCK.fullmatch(word)
        or _YEAR.fullmatch(word)
        or _ISO_DATE.fullmatch(word)
        or word in ("yesterday", "tomorrow", "tonight", "noon", "midnight")
    )


def _times(rest: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """Without the words of a time, and those."""
    kept: list[str] = []
    when: list[str] = []
    for at, word in enumerate(rest):
        around = [rest[other] for other in (at - 1, at + 1) if 0 <= other < len(rest)]
        beside = any(_is_temporal(one) for one in around)
        is_day = is_number(word) and any(one in v.MONTHS for one in around)
        is_part = word.rstrip("s") in v.DAY_PARTS and (beside or (at > 0 and rest[at - 1] in ("in", "at")))
        follows_time = word in v.DAY_PARTS | {f"{one}s" for one in v.DAY_PARTS} and bool(when)
        if _is_temporal(word) or is_day or is_part or follows_time:
            # The word that leads to a time says nothing more than that.
            if kept and kept[-1] in ("on", "at", "in", "by", "until", "from", "every", "each", "since", "of", "next"):
                kept.pop()
            when.append(v.MONTHS.get(word, word.rstrip("s") if word.rstrip("s") in v.DAY_PARTS else word))
        else:
            kept.append(word)
    return kept, tuple(when)


def _qualified(rest: list[str]) -> tuple[tuple[str, ...], frozenset[tuple[str, ...]]]:
    """The value, and what stands behind it from the first preposition or condition on."""
    ends = [
        at for at, word in enumerate(rest) if at and (word in v.PREPOSITIONS or word in v.CONDITIONS) and word != "of"
    ]
    if rest and rest[0] in v.CONDITIONS:
        ends.insert(0, 0)
    if not ends:
        return tuple(rest), frozenset()
    bounds = [*ends, len(rest)]
    parts = frozenset(tuple(rest[start:end]) for start, end in pairwise(bounds))
    return tuple(rest[: ends[0]]), parts
