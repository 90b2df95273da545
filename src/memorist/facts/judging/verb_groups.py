"""From the words of a clause to its verb, and what stands around it. Pure."""

from dataclasses import dataclass
from enum import StrEnum

from memorist.facts.judging import vocabulary as v


class Mood(StrEnum):
    """Whether a clause says what is, what is meant to be, what was done once, or what was and ended."""

    STATE = "state"
    PLAN = "plan"
    DUTY = "duty"
    EVENT = "event"
    FORMER = "former"


@dataclass(slots=True)
class VerbGroup:
    """A verb as its words are read one after the other: its lemma, and negation, mood and change around it.

    `read` says whether there is a verb; `rest` is then what follows it.
    """

    words: list[str]
    at: int = 0
    lemma: str | None = None
    negated: bool = False
    changed: bool = False
    mood: Mood = Mood.STATE
    _is_future: bool = False

    @property
    def rest(self) -> list[str]:
        return self.words[self.at :]

    def read(self) -> bool:
        while self.at < len(self.words) and not self._take():
            pass
        if self.lemma is not None and self._is_future and self.lemma not in v.SCHEDULES:
            self.mood = Mood.PLAN
        return self.lemma is not None

    def _take(self) -> bool:
        """Read one word or a few; True where the group ends with them."""
        word = self.words[self.at]
        following = self.words[self.at + 1] if self.at + 1 < len(self.words) else ""
        if self._is_modifier(word, following):
            self.at += 1
            return False
        if word in v.DO:
            return self._take_do(word)
        if word in v.HAVE:
            return self._take_have(word)
        if word in v.BE:
            return self._take_be(word, following)
        return self._take_verb(word, following)

    def _is_modifier(self, word: str, following: str) -> bool:
        if word in v.NEGATIONS:
            self.negated = True
        elif word == "no" and following == "longer":
            self.negated = self.changed = True
            self.at += 1
        elif word == "used" and following == "to":
            self.mood = Mood.FORMER
            self.at += 1
        elif word in v.HEDGES:
            self.mood = Mood.PLAN
        elif word in v.OBLIGATIONS:
            self.mood = Mood.DUTY
        elif word in ("will", "can"):
            self._is_future = word == "will"
        else:
            return False
        return True

    def _take_do(self, word: str) -> bool:
        self.at += 1
        if self.lemma is None and not _leads_to_verb(self.words, self.at):
            self.lemma = "do"
            return True
        self.mood = Mood.EVENT if word == "did" else self.mood
        return False

    def _take_have(self, word: str) -> bool:
        self.at += 1
        if _leads_to_participle(self.words, self.at):
            self.mood = Mood.EVENT
            return False
        self.lemma = "have"
        self.mood = Mood.EVENT if word == "had" and self.mood is Mood.STATE else self.mood
        return True

    def _take_be(self, word: str, following: str) -> bool:
        self.mood = Mood.EVENT if word in v.PAST_BE and self.mood is Mood.STATE else self.mood
        self.lemma = "be"
        behind = self.words[self.at + 2 : self.at + 3]
        if following == "going" and behind == ["to"]:
            self.mood, self.lemma = Mood.PLAN, None
            self.at += 3
            return False
        if following in v.ARRANGED and behind in (["for"], ["on"], ["at"], ["to"]):
            self.at += 2
            return True
        self.at += 1
        if _leads_to_action(self.words, self.at):
            return False
        # "is not": what is denied stands behind it.
        while self.at < len(self.words) and self.words[self.at] in v.DENIALS:
            self.negated = True
            skip = self.words[self.at : self.at + 2] == ["no", "longer"]
            self.changed = self.changed or skip
            self.at += 2 if skip else 1
        return True

    def _take_verb(self, word: str, following: str) -> bool:
        found, form = v.VERBS.get(word, (word.rstrip("s") if self.lemma is None else word, "present"))
        leads_to_ing = v.VERBS.get(following, ("", ""))[1] == "ing"
        if found in v.ENDING and form != "ing" and leads_to_ing:
            # "stopped smoking" is a state; "plans to quit smoking" is still a plan.
            self.negated, self.changed = not self.negated, True
            self.at += 1
            return False
        if found in v.STARTING and leads_to_ing:
            self.changed = True
            self.at += 1
            return False
        target = _to_infinitive(self.words, self.at)
        if found in v.PLANNING and (target is not None or form == "ing" or found in ("consider", "think")):
            self.mood = Mood.PLAN
            self.at = target if target is not None else self.at + 1
            self.lemma = self.lemma if target is not None else found
            return target is None
        if form == "past" and self.lemma is None and self.mood is Mood.STATE:
            self.mood = Mood.EVENT
        self.lemma = found
        self.at += 1
        return True


def _leads_to_verb(words: list[str], at: int) -> bool:
    return at < len(words) and (words[at] in v.NEGATIONS or words[at] in v.VERBS or at + 1 < len(words))


def _leads_to_participle(words: list[str], at: int) -> bool:
    while at < len(words) and words[at] in v.NEGATIONS:
        at += 1
    if at >= len(words):
        return False
    word = words[at]
    return word in ("been", "seen", "gone", "taken", "eaten", "known", "driven", "written", "spoken") or (
        word in v.VERBS and v.VERBS[word][1] == "past"
    )


def _leads_to_action(words: list[str], at: int) -> bool:
    """Whether a form of "be" is followed by what somebody does, or has done to it, rather than by what it is."""
    while at < len(words) and words[at] in (*v.DENIALS, "longer"):
        at += 1
    if at >= len(words):
        return False
    lemma, form = v.VERBS.get(words[at], ("", ""))
    if words[at] in v.SIMPLE_PAST:
        return False
    is_last = words[at + 1 : at + 2] == [] or words[at + 1] not in v.PREPOSITIONS
    if form != "ing" and is_last and any(words[at] in group for group in v.EXCLUSIVE):
        return False
    return form in ("ing", "past") or lemma in ("run", "read", "set")


def _to_infinitive(words: list[str], at: int) -> int | None:
    """Where the verb stands that a planning verb leads to; None where it leads to a thing."""
    for offset, word in enumerate(words[at + 1 : at + 3], start=1):
        if word == "to" and at + offset + 1 < len(words):
            return at + offset + 1
    following = words[at + 1] if at + 1 < len(words) else ""
    if following in ("about", "of") and at + 2 < len(words):
        return at + 2
    return at + 1 if v.VERBS.get(following, ("", ""))[1] == "ing" else None
