"""Of candidates that fit alike, which is meant: what is about whoever the question names, and what was said last. Pure.

docs/explanation/recall.md says what each choice was worth.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from functools import cache

import numpy as np

from memorist import words
from memorist.recall.ranking import Places, Scores

ABOUT_ANOTHER = 0.7
ABOUT_ANOTHER_UNREAD = 0.85
"""What a memory counts that names somebody only as the owner of what it is about: where the reranker reads, and in the
first order, whose scores lie closer together.
"""

NEAR = 0.05
NEAR_UNREAD = 0.02
"""How much lower a score may be, of the best, that is as good as another; likewise."""

_SAME = 0.3
"""The share of the shorter one's words that two have in common which speak of the same."""

_LEAST_WORDS = 2
_FIRST = 10
"""So many are compared with each other: what stands behind them is seldom shown."""

_COMPARED = 600
"""Characters of a memory that are compared."""

_MOST_NAMES = 8
"""A question with more names is a whole text, and about none of them."""

_READ = 20_000
"""Characters of a memory in which names are looked for."""

_MOST_WORDS = 64
"""So does one with more words, where names are not told by their capitals."""

_NAME = re.compile(r"(?<=\s)([^\W\d_a-z]\w+)(?!['’]s\b)\b")
_SMALL = re.compile(r"(?<![\w'’])[^\W\d_A-Z]\w+(?!['’]s\b)\b")
# Not "Ada's in Rome": that is Ada herself.
_WHAT_IS = (
    "a an the my your his our their at in on from with for to about not never always all such been going gone got so"
    " very too also here there now just still"
)
_OWNS = rf"['’]s\s+(?!(?:{_WHAT_IS.replace(' ', '|')})\b)\w"
_OWNER = re.compile(rf"\b([^\W\d_]\w+){_OWNS}")
_OWNER_ASKED_OF = re.compile(r"\b(\w+)['’]s\s+(?=\w)")
# Whose menu it is when it is today's.
_OF_NOBODY = """
today tonight tomorrow yesterday monday tuesday wednesday thursday friday saturday sunday week month year everyone
everybody someone somebody anyone anybody nobody everything something anything nothing one other another it that this
what who where when why how there here he she let may will
"""
_NO_NAMES = frozenset(_OF_NOBODY.split())
# Of whom somebody tells, who says "my": other things that are one's own, a job or a home, are about oneself.
_BEINGS = """
dog puppy cat kitten pet parrot bird horse pony rabbit hamster hund katze son daughter kid kids child children baby
twins wife husband partner spouse boyfriend girlfriend fiance fiancee fiancé fiancée brother brothers sister sisters
sibling siblings mother father mom mum dad mama papa parents grandmother grandfather grandma grandpa grandson
granddaughter uncle aunt cousin nephew niece friend friends roommate flatmate neighbor neighbour boss manager
colleague coworker teammate mann frau sohn tochter kind kinder bruder schwester mutter vater eltern oma opa freund
freundin
"""
_MY_BEING = re.compile(
    rf"\b(?:my|our|meine?|unsere?)\s+(?:\w+\s+){{0,2}}?(?:{'|'.join(_BEINGS.split())})\b", re.IGNORECASE
)
# A text without any of these has none of them, and that is seen sooner.
_MINE = ("my", "our", "mein", "unser")
_MYSELF = re.compile(r"\b(?:i|me|myself|mine|we|us|ourselves|ich|mich|mir|wir|uns)\b", re.IGNORECASE)


def about_whom(query: str, texts: Sequence[str], speakers: Sequence[str], share: float) -> Scores:
    """What each text counts: only a share, where it speaks of `Ada's dog`, or Ada herself of `my dog`, and the question
    of Ada.
    """
    counted = np.ones(len(texts), dtype=np.float32)
    names = list(dict.fromkeys(_NAME.findall(query))) or _names_in_small_letters(query, texts)
    if len(names) > _MOST_NAMES:
        return counted
    asked_of = {owner.casefold() for owner in _OWNER_ASKED_OF.findall(query)}
    for name in names:
        if name.casefold() in asked_of:
            continue
        for place, whole in enumerate(texts):
            text = whole[:_READ]
            is_owner = f"{name}'s" in text or f"{name}’s" in text  # Seldom; and to find all owners takes its time.
            if is_owner and text.count(name) == _OWNER.findall(text).count(name):
                counted[place] = share
    for name in [speaker for speaker in set(speakers) if speaker and _asks_for(query, speaker)]:
        for place, text in enumerate(texts):
            if speakers[place] == name and _tells_of_theirs(text[:_READ]):
                counted[place] = share
    return counted


def _tells_of_theirs(text: str) -> bool:
    """Whether somebody tells of somebody else who is theirs, and not of themselves."""
    small = text.casefold()
    return any(word in small for word in _MINE) and bool(_MY_BEING.search(text)) and not _MYSELF.search(text)


def _asks_for(query: str, speaker: str) -> bool:
    """Whether a question names who said something, and not what is theirs."""
    query, first = query.casefold(), next(iter(speaker.casefold().split()), "")
    # Mostly it names nobody, and a pattern takes its time to compile.
    return bool(first) and first in query and re.search(rf"\b{re.escape(first)}\b(?!['’]s\s)", query) is not None


def _names_in_small_letters(query: str, texts: Sequence[str]) -> list[str]:
    """Whom a question names that has no capitals: words that are written with one where something is somebody's, and
    are so more often than without one.
    """
    asked = {word for word in _SMALL.findall(query) if word.islower()} - _NO_NAMES
    if not asked or len(asked) > _MOST_WORDS:
        return []
    texts = [text[:_READ] for text in texts]
    owners = {name for text in texts if "'s" in text or "’s" in text for name in _OWNER.findall(text)}
    names = [name for name in sorted(owners) if name[0].isupper() and name.casefold() in asked]
    return [name for name in names if _is_mostly_capital(name, texts)]


def _is_mostly_capital(name: str, texts: Sequence[str]) -> bool:
    small = re.compile(rf"\b{re.escape(name.casefold())}\b")
    return sum(text.count(name) for text in texts) > sum(len(small.findall(text)) for text in texts)


def newer_first(scores: Scores, texts: Sequence[str], moments: Sequence[datetime], near: Scores) -> Places:
    """The order in which a newer one comes before an older one that is as good and speaks of the same.

    `scores` are those of the candidates in their order, best first, and `near` how much lower each may be than one that
    it is as good as.
    """
    order = list(range(len(scores)))
    as_near = (near[:_FIRST] * scores[:1]).tolist()
    scored = scores[:_FIRST].tolist()
    terms = cache(lambda place: set(words.question_terms(texts[place][:_COMPARED])))
    for place in range(1, min(_FIRST, len(texts))):
        older = [
            order.index(other)
            for other in range(place)
            if scored[other] - scored[place] <= min(as_near[other], as_near[place])
            and moments[other] < moments[place]
            and _speak_of_the_same(terms(other), terms(place))
        ]
        if older:
            order.insert(min(older), order.pop(place))
    return np.array(order, dtype=np.intp)


def _speak_of_the_same(one: set[str], other: set[str]) -> bool:
    return len(one & other) >= max(_LEAST_WORDS, _SAME * min(len(one), len(other)))
