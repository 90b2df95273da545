"""What a language model answered, and how much of it is believed. Pure.

Every memory that it names has to quote words that really stand in what was said; whoever said them decides what it may
be, and how far it is trusted. Each is judged by itself: what is wrong with one is counted, and costs no other.
"""

import re
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from memorist.errors import LlmMalformed
from memorist.learning.extractors.excerpts import Words, quotes
from memorist.learning.extractors.kinds import LONGEST_CONTENT, Candidate, Dropped, Findings, StatementKind
from memorist.learning.extractors.prompt import USER, names_of, readable, speaker_of
from memorist.learning.extractors.transcripts import Utterance
from memorist.memories.values import Trust
from memorist.models.answers import json_values

_MOST = 50
_LIKELY = 0.7
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")

# What an assistant says is about the work; about the user only the user tells.
_OF_AGENTS = frozenset(
    {StatementKind.DECISION, StatementKind.SOLUTION, StatementKind.CONVENTION, StatementKind.SUMMARY}
)


_MISSHAPEN = {Dropped.SHAPE, Dropped.KIND, Dropped.NO_CONTENT, Dropped.LONG, Dropped.CONFIDENCE, Dropped.NO_EXCERPT}


class _Drop(Exception):
    def __init__(self, reason: Dropped) -> None:
        self.reason = reason


def read_answer(answer: str, messages: Sequence[Utterance], since: int = 0) -> Findings:
    """The memories of an answer that rest on what was said from message number `since` on.

    Raises LlmMalformed where it has no list of memories, or nothing in the list has the shape of one.
    """
    items = _items(answer)
    dropped: Counter[str] = Counter({Dropped.TOO_MANY: len(items) - _MOST} if len(items) > _MOST else {})
    conversation = _Conversation(messages, since)
    candidates: dict[str, Candidate] = {}
    for item in items[:_MOST]:
        try:
            one = _read(item, conversation)
            if one.content.casefold() in candidates:
                raise _Drop(Dropped.TWICE)
            candidates[one.content.casefold()] = one
        except _Drop as drop:
            dropped[drop.reason] += 1
    if items and not candidates and dropped.keys() <= _MISSHAPEN:
        raise LlmMalformed(f"each memory has a fault, such as: {next(iter(dropped))}")
    return Findings(list(candidates.values()), dropped)


class _Conversation:
    def __init__(self, messages: Sequence[Utterance], since: int) -> None:
        self._messages = messages
        self._names = names_of(messages)
        shown = {index for index, one in enumerate(messages) if one.is_person or one.role == "assistant"}
        self._said = {index: Words.of(readable(messages[index])) for index in sorted(shown) if index >= since}
        self._others = [index for index in range(len(messages)) if index not in shown]

    def locate(self, excerpt: str) -> tuple[int, str]:
        """Where an excerpt stands and how it reads there. Raises _Drop where it stands nowhere, or is of others."""
        meant = list(quotes(excerpt))
        if not meant:
            raise _Drop(Dropped.SHORT_EXCERPT)
        for quote in meant:
            if any(one.find(quote) is not None for one in self._foreign):
                raise _Drop(Dropped.OF_OTHERS)
            found = {index: span for index, said in self._said.items() if (span := said.find(quote)) is not None}
            if found:
                # The lowest trust wins, so an assistant's words count before the user's.
                index = min(found, key=lambda index: (self.trust(index) is not Trust.AGENT, index))
                return index, self._messages[index].content[slice(*found[index])]
        raise _Drop(Dropped.NOT_SAID)

    @cached_property
    def _foreign(self) -> list[Words]:
        """What tools and others wrote, which may be long."""
        return [Words.of(self._messages[index].content) for index in self._others]

    def trust(self, index: int) -> Trust:
        return self._messages[index].trust

    def about(self, named: Any, index: int) -> str:
        """Of whom something tells: whom the model names, where that is a speaker, or else who said it."""
        if isinstance(named, str) and (named in self._names or (named == USER and not self._names)):
            return named
        return speaker_of(self._messages[index], self._names) if self.trust(index) is Trust.USER else ""


def _read(item: Any, conversation: _Conversation) -> Candidate:
    """One memory of an answer. Raises _Drop."""
    if not isinstance(item, dict):
        raise _Drop(Dropped.SHAPE)
    try:
        kind = StatementKind(str(item.get("kind")).strip().lower())
    except ValueError:
        raise _Drop(Dropped.KIND) from None
    content = _text(item.get("content"), Dropped.NO_CONTENT)
    if len(content) > LONGEST_CONTENT:
        raise _Drop(Dropped.LONG)
    confidence = item.get("confidence", _LIKELY)
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
        raise _Drop(Dropped.CONFIDENCE)
    index, verbatim = conversation.locate(_text(item.get("excerpt"), Dropped.NO_EXCERPT))
    trust = conversation.trust(index)
    if trust is not Trust.USER and kind not in _OF_AGENTS:
        raise _Drop(Dropped.OF_AGENT)
    about = conversation.about(item.get("about"), index)
    return Candidate(kind, content, verbatim, float(confidence), index, trust, about=about)


def _text(value: Any, missing: Dropped) -> str:
    if not isinstance(value, str):
        raise _Drop(missing)
    # JSON can spell a lone surrogate, and signs that nobody sees.
    text = " ".join(_CONTROL.sub(" ", value.encode("utf-8", "replace").decode()).split())
    if not text:
        raise _Drop(missing)
    return text


def _items(answer: str) -> list[Any]:
    """The list of memories, the last where there are several: what comes before was weighed. Raises LlmMalformed."""
    values = json_values(answer)
    named = [value["memories"] for value in values if isinstance(value, dict) and "memories" in value]
    for value in reversed([*values, *named]):
        if isinstance(value, list) and (not value or any(isinstance(item, dict) for item in value)):
            return value
    # Some models write the memories and leave out the list; but not one that broke off.
    bare = [value for value in values if isinstance(value, dict) and {"kind", "content"} <= value.keys()]
    if bare and '"memories"' not in answer and "[" not in answer.partition("{")[0]:
        return bare
    raise LlmMalformed("it has no list of memories")
