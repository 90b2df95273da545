"""What is said of work, by rules: which clauses are a convention, a decision or a solution. Pure.

The first rule that fits a clause decides. What a person tells is chosen by the tagger; the rules say which kind of work
it is, and read what assistants say, which the tagger does not.
"""

import re

from memorist.learning.extractors.patterns import compiled
from memorist.learning.extractors.rules.nouns import STATE
from memorist.learning.extractors.rules.rule import Rule
from memorist.learning.extractors.rules.work import WORK

__all__ = ["Rule", "rule_for", "says_how_it_is", "says_nothing"]


def rule_for(clause: str, *, by_agent: bool = False) -> tuple[Rule, re.Match[str]] | None:
    """The rule that knows a clause, and how it fits."""
    if says_nothing(clause) or not 2 <= len(clause.split()) <= 45:
        return None
    for rule in WORK:
        if (rule.by_agent or not by_agent) and (match := rule.pattern.match(clause)):
            return rule, match
    return None


def says_nothing(clause: str) -> bool:
    """Whether a clause is empty without the conversation: "I decided to do it"."""
    return _EMPTY.search(clause) is not None


def says_how_it_is(clause: str) -> bool:
    """Whether a clause tells how something is at the moment: "The build is slow"."""
    return _PASSING.match(clause) is not None


# What says nothing without the conversation: it ends in a word that points to something else.
_EMPTY = compiled(r"""
    (?:\b(?:prefer|like|love|hate|want|need|use|choose|chose|decided(?: to| on)?|do|did|fix|fixed|fixed by|with|to|for|
    about|was|is|of) (?:it|this|that|these|those|them|one|so|both|either|there|here|you|him|her|not)|\b(?:like|
    do(?:ing)?|done|did|tried|try|say|said) (?:this|that|so|it))$|\b(?:this one|these out|those out)$|^(?:I|
    we)\S*(?: \w+){0,3} (?:it|them|these|those|this|that)(?= (?:when|in|on|up|out|for|to|with|at|after|before|again|
    soon|tomorrow)\b|$)|^(?:can|could|would|will|do|does|did|is|are|am|was|were|what|which|how|why|who|where|have you|
    should|shall|may)\b|
    ^(?:please )?(?:help me (?:to )?)?(?:write|draft) (?:me )?(?:an?|the|this) [\w -]{1,30} (?:to|for)[ ](?:my|our)[ ]
    [\w']+(?: [\w']+)?$
""")
_PASSING = compiled(rf"(?:the|our|my|this|that) [\w -]{{2,40}}? (?:is|are) (?:taking|{STATE})")
