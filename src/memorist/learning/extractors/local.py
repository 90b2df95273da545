"""The extractor that needs no language model: rules over the statements of a conversation. Pure.

It is cautious: a memory that is missed is still in the stored messages, a wrong one misleads for good.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from memorist.learning.extractors.kinds import Candidate, StatementKind, Vocabulary
from memorist.learning.extractors.rules import Rule, rule_for
from memorist.learning.extractors.statements import (
    Statement,
    is_about_a_text,
    own_words,
    sets_a_fiction,
    statements,
    takes_back,
)
from memorist.learning.extractors.third_person import (
    ASSISTANT,
    USER_AT_HOME,
    USER_AT_WORK,
    Voices,
    hangs_on_its_day,
    told_of,
)
from memorist.learning.extractors.transcripts import Utterance
from memorist.memories.values import Trust

NAME = "local-1"

# More was hardly typed by a person.
_LONGEST_MESSAGE = 20_000
# Messages of the user that may be about a story after it was asked for, with the one that asks.
_FICTION_LASTS = 4
# A shorter stretch of words may be in a tool's output by chance.
_SHORTEST_COPY = 15
# "From Lyon to Naples, I'm leaving on …": what comes before may be left away, unless it says that it is not meant so.
_BEGINNING = re.compile(
    r"(?!(?:according|in|if|when|unless|once|after|before|until|while|to|for|he|she|they)\b)(?:[\w'-]+ ){0,5}[\w'-]+, "
    r"(?=(?:I|I'm|I've|I'll|we|we're|we've|my|our)\b)",
    re.IGNORECASE,
)
_AND_THIS = re.compile(
    r"\W*(?:and|now|next|also)?\W*(?:this|the next|another|one more|continue|again)\b", re.IGNORECASE
)
_WORDS = re.compile(r"\w+")
# "My deadline is tomorrow" is wrong from the day after on; that somebody decided something this week stays true.
_OF_A_DAY = frozenset({StatementKind.FACT, StatementKind.GOAL, StatementKind.COMMITMENT})


def extract_locally(messages: Sequence[Utterance], vocabulary: Vocabulary) -> list[Candidate]:
    """What is worth remembering, in the order in which it was said, each thing once."""
    others = [_words_of(message.content) for message in messages if message.role not in ("user", "assistant")]
    found: list[Candidate] = []
    in_fiction = 0
    in_text = False
    for index, message in enumerate(messages):
        message = replace(message, content=message.content[:_LONGEST_MESSAGE])
        own = own_words(message.content)
        if message.role == "user":
            in_fiction = _FICTION_LASTS if sets_a_fiction(own) else max(0, in_fiction - 1)
            in_text = is_about_a_text(own) or (in_text and bool(_AND_THIS.match(own)))
        # What is said in a story, or to be translated, is meant by nobody; and so is what is answered to it.
        if in_fiction or in_text:
            continue
        if message.role == "user" and takes_back(message.content):
            found = [one for one in found if one.source < index - 1 or messages[one.source].role != "user"]
        for one in _of_message(index, message, own, vocabulary):
            copied = _words_of(one.excerpt)
            may_be_chance = one.trust is Trust.USER and len(copied) < _SHORTEST_COPY
            # The lowest trust wins: words that also came from a tool are the tool's.
            if may_be_chance or not any(copied in other for other in others):
                found.append(one)
    return list({one.content.casefold(): one for one in reversed(found)}.values())[::-1]


def _of_message(index: int, message: Utterance, own: str, vocabulary: Vocabulary) -> list[Candidate]:
    if message.trust not in (Trust.USER, Trust.AGENT) or message.role == "other":
        return []
    by_agent = message.trust is Trust.AGENT
    voices = ASSISTANT if by_agent else USER_AT_WORK if vocabulary is Vocabulary.CODING else USER_AT_HOME
    found = []
    for statement in statements(message.content, own):
        fitting = rule_for(statement.text, by_agent=by_agent)
        beginning = _BEGINNING.match(statement.text)
        if fitting is None and beginning is not None:
            statement = replace(statement, text=statement.text[beginning.end() :])
            fitting = rule_for(statement.text, by_agent=by_agent)
        if fitting is not None:
            rule, match = fitting
            if rule.found in _OF_A_DAY and message.time is None and hangs_on_its_day(statement.text):
                continue
            content = _told(rule, match, statement, message, voices)
            found.append(Candidate(rule.found, content, statement.excerpt, rule.confidence, index, message.trust))
    return found


def _told(rule: Rule, match: re.Match[str], statement: Statement, message: Utterance, voices: Voices) -> str:
    clause = statement.text
    if rule.content is not None:
        clause = rule.content.format(*match.groups(), whole=clause[:1].lower() + clause[1:])
    return told_of(clause, voices, message.time)


def _words_of(text: str) -> str:
    """The words alone, so that a copy is known whatever its line breaks and marks."""
    return " ".join(_WORDS.findall(text.casefold()))
