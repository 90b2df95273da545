"""Who looks for memories in messages, and what is made of what is found: a language model, or the local extractor."""

from collections import Counter
from collections.abc import Callable, Sequence, Set
from dataclasses import replace
from enum import StrEnum
from typing import NamedTuple

from memorist.context.companion import Companion
from memorist.context.values import MAX_ENTRY
from memorist.facts.service import Facts
from memorist.learning.drafts import Assignment, MessageOrigin, draft_of, owner_of
from memorist.learning.extractors.kinds import Dropped, Findings, Vocabulary
from memorist.learning.extractors.transcripts import Utterance
from memorist.memories.governance import TESTED
from memorist.memories.lifecycle import LOCAL_EXTRACTOR
from memorist.memories.values import Draft, Governor, Memory
from memorist.models.port import Llm, Tagger
from memorist.models.values import Usage

LOCAL = LOCAL_EXTRACTOR
"""The name of the local extractor."""

_MOST_KNOWN = 30
_MOST_COMPARED = 1000


class LearningMode(StrEnum):
    """Who looks for memories: the language model where there is one, the local extractor, or nobody."""

    AUTO = "auto"
    LOCAL = "local"
    OFF = "off"


class FoundDrafts(NamedTuple):
    """What is to be remembered, and how much was dropped for which reason."""

    drafts: list[Draft]
    dropped: Counter[str]


class Finder:
    def __init__(
        self,
        facts: Facts,
        companion: Callable[[], Companion],
        llm: Callable[[], Llm | None],
        tagger: Callable[[], Tagger | None],
        mode: str,
        sessions_llm: Callable[[], Llm | None],
        answer_tokens: int,
    ) -> None:
        """`sessions_llm` reads the messages of every session; without one the local extractor does, for nothing."""
        self._facts = facts
        self._companion = companion
        self._llm = llm
        self._tagger = tagger
        self.mode = LearningMode(mode)
        self._sessions_llm = sessions_llm
        self._answer_tokens = answer_tokens

    def name(self, vocabulary: Vocabulary) -> str:
        """Who looks for memories of a vocabulary."""
        llm = self._model(vocabulary)
        return llm.model_id if llm is not None else "off" if self.mode is LearningMode.OFF else LOCAL

    def find(
        self,
        messages: Sequence[Utterance],
        vocabulary: Vocabulary,
        spent: list[Usage],
        *,
        since: int = 0,
        known: Sequence[str] = (),
        locally: bool = False,
    ) -> Findings:
        """What is found in the messages from number `since` on. Raises LlmError, unless it is done `locally`."""
        llm = None if locally else self._model(vocabulary)
        if llm is not None:
            from memorist.learning.asking import ask  # Its patterns take a moment to load.

            return ask(llm, messages, spent, since=since, known=known, answer_tokens=self._answer_tokens)
        from memorist.learning.extractors.local import extract_locally  # Likewise.

        return Findings(extract_locally(messages, vocabulary, self._tagger(), since=since))

    def drafts(
        self,
        assignment: Assignment,
        said: Sequence[Utterance],
        origins: Sequence[MessageOrigin],
        spent: list[Usage],
        *,
        since: int = 0,
        shows_known: bool = True,
        giving_way: Sequence[Memory] = (),
        locally: bool = False,
    ) -> FoundDrafts:
        """What is found, without what its door would not take: entries of the companion are short, and not repeated.

        A model is not told that what is `giving_way` to it is known. Raises LlmError, unless it is done `locally`.
        """
        asks = not locally and self._model(assignment.vocabulary) is not None
        known = self._known(assignment, said[since:], giving_way) if asks and shows_known else []
        found = self.find(said, assignment.vocabulary, spent, since=since, known=known, locally=locally)
        extractor = LOCAL if locally else self.name(assignment.vocabulary)
        drafts = [draft_of(one, assignment, origins, extractor) for one in found.candidates]
        if assignment.governed_by is not Governor.COMPANION or assignment.principal.user is None:
            return FoundDrafts(drafts, Counter(found.dropped))
        return self._entries(assignment, drafts, Counter(found.dropped))

    def _entries(self, assignment: Assignment, drafts: Sequence[Draft], dropped: Counter[str]) -> FoundDrafts:
        """Those of the drafts that the companion takes as entries."""
        entries = self._companion().known(assignment.principal)
        newest = {one.content.casefold(): one for one in reversed(entries)}
        together = {one.content.casefold() for one in drafts}
        taken: dict[str, Draft] = {}
        for draft in drafts:
            text = draft.content.casefold()
            known = newest.get(text)
            if len(draft.content) > MAX_ENTRY:
                dropped[Dropped.LONG_ENTRY] += 1
            elif text in taken or (known and not self._is_outdated(known, draft, assignment, entries, together)):
                dropped[Dropped.KNOWN] += 1
            else:
                # As a text that is known it would be the old entry, and stay as old as that.
                taken[text] = draft if known is None else replace(draft, same_as="")
        return FoundDrafts(list(taken.values()), dropped)

    def _is_outdated(
        self, known: Memory, draft: Draft, assignment: Assignment, entries: Sequence[Memory], together: Set[str]
    ) -> bool:
        """Whether something may have been said against an entry before a draft repeats it: then it is said anew, and
        has to stand over that, since the newest counts.

        Against it may be what is of its category, or so near in meaning that a judge would be asked. No judge is: they
        miss much of it, and an entry too many does less harm than one that is outdone by an older wish.
        What is found `together` with it does not count; otherwise two entries would be written in turn for as long as
        both are found. So the same, found again and again, is written again only where something else came between.
        """
        since = [
            one
            for one in entries[: entries.index(known)]
            if one.category != TESTED
            and one.content.casefold() not in together
            and (draft.event_time is None or one.created_at <= draft.event_time)
        ]
        if not since or any(one.category == known.category for one in since):
            return bool(since)
        like = Draft("", owner=owner_of(assignment), governed_by=assignment.governed_by)
        near = self._facts.near(assignment.principal, [known.content], like, most=_MOST_COMPARED)
        return not {one.id for one in since}.isdisjoint(one.id for one in near)

    def _known(self, assignment: Assignment, said: Sequence[Utterance], besides: Sequence[Memory]) -> list[str]:
        """What is known already and lies nearest to what is said, each with the day since which it holds."""
        from memorist.learning.extractors.prompt import probes  # Likewise.

        like = Draft("", owner=owner_of(assignment), governed_by=assignment.governed_by)
        near = self._facts.near(assignment.principal, probes(said), like, most=_MOST_KNOWN)
        left_out = {one.id for one in besides}
        # What the companion keeps is sent to a language model for its user's turns alone.
        is_turn = assignment.governed_by is Governor.COMPANION
        told = [
            one for one in near if one.category != TESTED and one.id not in left_out and (is_turn or not one.is_entry)
        ]
        return [f"({one.valid_from or one.created_at:%Y-%m-%d}) {one.content}" for one in told]

    def _model(self, vocabulary: Vocabulary) -> Llm | None:
        if self.mode is not LearningMode.AUTO:
            return None
        return self._sessions_llm() if vocabulary is Vocabulary.FACTS else self._llm()
