"""What people tell of themselves in so plain a sentence that nothing else has to be known of it. Pure."""

import re

from memorist.learning.extractors.patterns import compiled
from memorist.learning.extractors.sentences import sentence_spans


def stands_alone(sentence: str) -> bool:
    """Whether a sentence tells of its speaker what is understood without the one before it: "My doctor is Dr. Lee." """
    return _ALONE.match(sentence) is not None and _REFERS.search(sentence) is None


def is_plainly_told(sentence: str) -> bool:
    """Whether somebody says what there is to know of them, however briefly: "my favorite color is teal"."""
    return not sentence.rstrip().endswith("?") and _PLAIN.match(sentence) is not None and not _UNSURE.search(sentence)


def claim_spans(text: str) -> list[tuple[int, int]]:
    """The sentences of a text, and the parts of those in which somebody tells of themselves twice: "My rent is 950 a
    month, I earn about 2800."
    """
    spans: list[tuple[int, int]] = []
    for start, end in sentence_spans(text):
        for joint in _NEXT_CLAIM.finditer(text, start, end):
            before, after = text[start : joint.start()].lstrip("-*• "), text[joint.end() : end]
            if stands_alone(before) and stands_alone(after) and not _UNSURE.search(before):
                spans.append((start, joint.start()))
                start = joint.end()
        spans.append((start, end))
    return spans


_NEXT_CLAIM = compiled(r"[,;] (?:and |but |also )?(?=(?:I|my)\b)|[ ](?:and|but) (?=(?:I|my)\b)")


def answers(sentence: str) -> bool:
    """Whether a sentence agrees with what somebody else said, or denies it."""
    return _ANSWER.match(sentence) is not None


def is_a_bare_answer(sentence: str) -> bool:
    """Whether it says no more than that, beside a name: "Absolutely, Ada!" """
    said = _ANSWER.match(sentence)
    return said is not None and len(sentence[said.end() :].split()) <= 1


def is_of_somebody_named_before(sentence: str) -> bool:
    """Whether a sentence begins with "she" or "his": who that is stands before it."""
    return _SOMEBODY.match(sentence) is not None


def names_somebody(sentence: str) -> bool:
    return _NAMES.search(sentence) is not None


_NAMES = re.compile(
    r"\b(?:(?i:mother|mum|mom|father|dad|parent|(?:step|half-?)?(?:sister|brother)|wife|husband|partner|boyfriend|girlfriend|"
    r"fiancée?|son|daughter|child|kid|baby|aunt|uncle|cousin|niece|nephew|nan|gran|grand(?:ma|pa|mother|father)|friend|"
    r"boss|manager|colleague|neighbou?r|landlord|landlady|teacher|doctor|therapist|coach|client|roommate|flatmate|ex|"
    r"dog|puppy|cat|kitten|horse|rabbit)(?:['’]s)?\b)|(?<=[\w,] )[A-Z][a-zà-ÿ]+\b"
)
_SOMEBODY = compiled(r"(?:(?:and|but|so|oh|also|plus|now)\b[\s,]*){0,2}(?:he|she|his|her)(?:['’](?:s|ll|d))?(?=\s)")
_ANSWER = compiled(r"""
    (?:(?:oh|well|haha+|lol|hm+)[\s,!.…]+)?(?:yes|yeah|yep|yup|no|nope|nah|not|right|correct|exactly|true|indeed|sure|
    of course|absolutely|definitely|totally|certainly|never|always|both|neither|only|mostly|since|
    that's right)\b[\s,!.…]*
""")
_STATED = r"""
    (?:am|'m|have|'ve got|like|love|hate|enjoy|prefer|live|work|speak|drive|own|play|use|drink|eat|need|want|can't|
    cannot|don't|was (?:born|diagnosed|raised)|grew up|study|teach|run)
"""
# What is told of oneself with what it is about. "I quit last week" says only after another sentence what was quit.
_ALONE = compiled(rf"""
    (?:(?:and|also|oh|so|plus|btw|hi|hey)\b[\s,]*){{0,2}}
    (?:I\s?{_STATED}\b(?:\s+[\w'’$€£-]+){{2,}}|
    my\s+\w+(?:\s+[\w'’.-]+){{0,4}}?\s+(?:is|are|has|have|was|lives?|works?|likes?)\b\s+[\w'’$€£-]+|
    I\b(?:[\s,]+[\w'’$€£.-]+){{5,}})
""")
_REFERS = compiled(r"""
    \b(?:it|its|it's|that|that's|this|these|those|they|they're|them|their|he|he's|him|his|she|she's|hers?|there|then|so|
    ones?|both|either|neither|same|such|instead|else|others?|another|again|anymore|any more|because|though|
    (?:do|did|more|less)(?=\W*\Z)|first|second|too)\b
""")
_LEAD = r"(?:(?:and|also|oh|so|plus|btw|fyi|hi|hey|by the way|just so you know)\b[\s,:]*){0,2}"
# Of these everybody has one, and says which.
_OWN = r"""
    (?:name|nick ?name|birthday|birth ?date|pronouns|blood type|(?:shoe|shirt|dress|ring|hat) size|star sign|
    zodiac sign|mother tongue|native language|first language|time ?zone|hometown)
"""
_PLAIN = compiled(rf"""
    {_LEAD}(?:
    my (?:all[ -]?time |absolute |new )?favou?rite (?!(?:part|thing|bit|moment|one)\b)
    (?:[\w'’-]+ ){{1,4}}(?:is|are) [\w"“]|
    (?:my )?favou?rite [\w'’-]{{1,30}}(?: [\w'’-]{{1,30}}){{0,2}}: ?[\w"“]|
    my {_OWN} (?:is|are) [\w"“]|
    (?:please )?(?:you (?:can|should|may|must) )?(?:just |always |please )*call me (?!(?:an?|the|if|when|back|at|on|
    later|crazy|stupid|tomorrow|today|tonight|now|again|old|but|what|whatever|maybe)\b)[\w"“]|
    I (?:don['’]?t|do not) (?:own|eat|drink|speak|smoke|drive)
    (?! (?:it|that|this|much|so|for|about|to|anything|any more|anymore)\b) \w|
    I (?:don['’]?t|do not) have (?:a|any) (?:car|driver['’]?s licen[cs]e|licen[cs]e|tv|smartphone|pets?|kids|children|
    siblings|brothers|sisters|garden|dishwasher|oven|degree)\b)
""")
_UNSURE = compiled(r"""
    \b(?:if|would|wouldn['’]?t|maybe|perhaps|probably|let['’]?s|pretend|imagine|said|says)\b
""")
