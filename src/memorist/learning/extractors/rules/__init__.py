"""What the local extractor takes for what: a table of rules, each a kind and the clauses that it knows. Pure.

A rule is tried on a clause whose subject is the speaker (or something of the speaker's); the first that fits decides.
"""

import re

from memorist.learning.extractors.kinds import StatementKind
from memorist.learning.extractors.patterns import compiled
from memorist.learning.extractors.rules.life import LIFE
from memorist.learning.extractors.rules.rule import Rule
from memorist.learning.extractors.rules.tastes import TASTES
from memorist.learning.extractors.rules.work import WORK

__all__ = ["Rule", "rule_for"]


def rule_for(clause: str, *, by_agent: bool = False) -> tuple[Rule, re.Match[str]] | None:
    """The rule that knows a clause, and how it fits."""
    if _EMPTY.search(clause) or not 2 <= len(clause.split()) <= 45:
        return None
    for rule in (*TASTES, *WORK, *LIFE):
        if rule.found is StatementKind.FACT and _MOMENT.search(clause):
            continue
        if (rule.by_agent or not by_agent) and (match := rule.pattern.match(clause)):
            return rule, match
    return None


# What says nothing without the conversation: it ends in a word that points to something else.
_EMPTY = compiled(r"""
    (?:\b(?:prefer|like|love|hate|want|need|use|choose|chose|decided(?: to| on)?|do|did|fix|fixed|fixed by|with|to|for|
    about|was|is|of) (?:it|this|that|these|those|them|one|so|both|either|there|here|you|him|her|not)|\b(?:like|
    do(?:ing)?|done|did|tried|try|say|said) (?:this|that|so|it))$|\b(?:this one|these out|those out)$|^(?:I|
    we)\S*(?: \w+){0,3} (?:it|them|these|those|this|that)(?= (?:when|in|on|up|out|for|to|with|at|after|before|again|
    soon|tomorrow)\b|$)|^(?:can|could|would|will|do|does|did|is|are|am|was|were|what|which|how|why|who|where|have you|
    should|shall|may)\b
""")

_MOMENT = compiled(
    r"\b(?:this (?:morning|afternoon|evening|time)|last night|just now|at the moment|right now|today|again)\b"
)
