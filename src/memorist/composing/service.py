"""What an agent is given: the profile of the user first, then what changed, then what recall finds for this very
question; each line dated by when it was said or happened, nothing twice, within a budget of tokens.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from memorist.about.service import Profiles
from memorist.about.values import OTHER, SLOTS, OpenDoubt, PersonProfile, ProfileLine, ReplacedFact, sources_of
from memorist.composing.sheet import Line, Sheet
from memorist.composing.values import BUDGET_TOKENS, LEAST_TOKENS, MOST_TOKENS, Composed, LaidOut, Section
from memorist.context.chunks import MAX_RECENT, Chunks
from memorist.context.companion import Companion, told_slices
from memorist.context.section import CHUNK_HEADINGS, SUMMARY_HEADINGS, Context, entry_text, fence, named_text
from memorist.context.values import MAX_ENTRY
from memorist.errors import Forbidden, InvalidField, ModelError
from memorist.memories.searchable import speaker_of
from memorist.memories.values import Kind, Memory
from memorist.platform import access, validation
from memorist.platform.beside import beside
from memorist.platform.tokens import count_tokens
from memorist.platform.values import Principal
from memorist.recall.values import Hit, Question, Recalled

if TYPE_CHECKING:  # It brings what searches; a session that asks nothing yet begins without.
    from memorist.recall.reading import TimedReading
    from memorist.recall.service import Recall

_NAMED = ""
_ENTRIES = {category: f"## {heading}" for category, heading in SUMMARY_HEADINGS.items()}
# Topics of a profile that the categories of a companion have a word for.
_OF_TOPICS = {topic: f"## {heading}" for topic, heading in SLOTS.items()} | {
    "goal": _ENTRIES["goal"],
    "taste": _ENTRIES["preference"],
    "event": _ENTRIES["history"],
}
_OTHER = _OF_TOPICS[OTHER]
_KNOWN = tuple(dict.fromkeys((*_ENTRIES.values(), *_OF_TOPICS.values())))
_CHANGED, _DOUBTED = "## Changed lately", "## In doubt"
_OF_PROJECT = {category: f"## {heading} of this project" for category, heading in CHUNK_HEADINGS.items()}
_ASKED = "## For this question"
_HEADINGS = (_NAMED, *_KNOWN, _CHANGED, _DOUBTED, *_OF_PROJECT.values(), _ASKED)

# The notes that an agent keeps come first, but leave room for what was learned.
_AFTER_NAMED = 0.4
# A companion's newest entries come before all else that is known, and more of them where that leaves room. In a turn,
# as in the summary of one, they have as much room of their own as the rest has.
_AFTER_ENTRIES = 0.7
_OF_A_TURN = 2
_AFTER_ENTRIES_OF_A_TURN = 1 / _OF_A_TURN
_AFTER_DOUBTS = 0.5
_AFTER_KNOWN = 0.4
_AFTER_CHANGED = 0.3

_LINES_OF_A_TOPIC = 5
_MOST_PEOPLE = 5
_MOST_FACTS = 500
_MOST_OLDER = 2000
_MOST_FACTS_OF_A_TURN = 80
# A tagger's reading takes milliseconds, and somebody waits: the others are read the next time. Where nothing is asked,
# no model is needed, and none is loaded for it.
_MOST_READ = 24
_MOST_CHANGES = 8
_MOST_DOUBTS = 4
_MOST_HITS = 8
_LEAST_SCORE = 0.15
# What is far behind the best hit is there for want of better ones.
_SHARE_OF_BEST = 0.4


class Composer:
    def __init__(
        self,
        context: Context,
        companion: Companion,
        profiles: Profiles,
        chunks: Chunks,
        recall: "Callable[[], Recall]",
        *,
        budget_tokens: int = BUDGET_TOKENS,
    ) -> None:
        self._context = context
        self._companion = companion
        self._profiles = profiles
        self._chunks = chunks
        self._recall = recall
        self._budget = budget_tokens

    def compose(
        self,
        principal: Principal,
        question: str = "",
        *,
        project: str | None = None,
        budget_tokens: int | None = None,
    ) -> Composed:
        """What an agent is given for a question or, without one, before it is asked anything. With `project`, what a
        coding assistant learned there is in it.

        Raises InvalidField, Forbidden or StoreError. A model that fails is done without.
        """
        return self.lay_out(principal, question, project=project, budget_tokens=budget_tokens).composed

    def lay_out(
        self,
        principal: Principal,
        question: str = "",
        *,
        project: str | None = None,
        budget_tokens: int | None = None,
        reading: "TimedReading | None" = None,
    ) -> LaidOut:
        """What `compose` makes, line by line; `reading` is what `Recall.begin` gave to who does more for it than this.
        Raises as that does.
        """
        budget = self._budget if budget_tokens is None else budget_tokens
        if not LEAST_TOKENS <= validation.kind_of("budget_tokens", budget, int, "a whole number") <= MOST_TOKENS:
            raise InvalidField.of("budget_tokens", f"must be from {LEAST_TOKENS} to {MOST_TOKENS}.")
        validation.text("question", question, longest=validation.MAX_QUERY, empty=True)
        sheet = Sheet(budget, _HEADINGS)
        self._add_named(principal, sheet)
        return self._read(principal, self._composed(principal, sheet, question, project, reading=reading))

    def section(self, principal: Principal, agent: str | None) -> Section:
        """What a profile's session begins with: every named memory that it sees, whatever room they take, and what is
        known there, not in other profiles. It says so where there is nothing. Raises Forbidden.
        """
        sheet = Sheet(self._budget, _HEADINGS)
        for memory in self._context.named(principal, agent):
            sheet.add(_NAMED, _named_line(memory), always=True)
        reader = access.in_profile(access.acting(principal, agent=agent))
        found = self._read(reader, self._composed(reader, sheet)).composed
        return Section(found.fenced or fence("(nothing is remembered yet)", reads_by_name=True), found.named)

    def summary(self, principal: Principal) -> Composed:
        """What every turn of the user's own is told, to the letter, before what recall finds for its question; a model
        that reads little may be told less. Raises Forbidden.
        """
        told_slices(principal)
        sheet = Sheet(_OF_A_TURN * self._budget, _HEADINGS)
        return self._read(principal, self._composed(principal, sheet, is_turn=True)).composed

    def for_turn(self, principal: Principal, question: str, *, window: int, apart_from: Collection[str]) -> LaidOut:
        """What a turn of the user's own is told, in which nobody else reads it; without the texts that it sees anyway.
        With a profile, all of its named memories are in it; the whole takes no more than a quarter of what the model
        can read. Somebody waits for the first word: nothing is read by a tagger or a reranker for it, and a model that
        wants to know better calls recall. Raises Forbidden.
        """
        quarter = window // 4
        sheet = Sheet(quarter, _HEADINGS)
        if principal.agent is not None:
            self._add_named(principal, sheet, leaving=min(_AFTER_NAMED, _OF_A_TURN * self._budget / max(1, quarter)))
        asked = question[: validation.MAX_QUERY]
        return self._composed(principal, sheet, asked, apart_from=apart_from, is_turn=True)

    def _composed(
        self,
        principal: Principal,
        sheet: Sheet,
        question: str = "",
        project: str | None = None,
        *,
        apart_from: Collection[str] = (),
        is_turn: bool = False,
        reading: "TimedReading | None" = None,
    ) -> LaidOut:
        if not question.strip():
            return self._filled(principal, sheet, None, project, is_turn=is_turn)
        recall = self._recall()
        asked = Question(question, top_k=_MOST_HITS, min_score=_LEAST_SCORE, enable_rerank=not is_turn)
        # What is told beside has its part of the time that a recall may take.
        with (
            nullcontext(reading) if reading else recall.begin("context") as begun,
            beside(partial(recall.recall, principal, asked, begun)) as recalled,
        ):

            def needed() -> Recalled:
                begun.needed()
                found = recalled()
                return replace(found, hits=tuple(hit for hit in found.hits if not _asks_the_same(hit, question)))

            return self._filled(principal, sheet, needed, project, apart_from=apart_from, is_turn=is_turn)

    def _filled(
        self,
        principal: Principal,
        sheet: Sheet,
        recalled: Callable[[], Recalled] | None,
        project: str | None,
        *,
        apart_from: Collection[str] = (),
        is_turn: bool,
    ) -> LaidOut:
        named = len(sheet.ids)
        budget = sheet.budget - sheet.at_most(_OF_A_TURN * self._budget if is_turn else sheet.budget)
        # A summary leaves the room that a turn has for its question.
        goes_on = is_turn or recalled is not None or project is not None
        most_read = 0 if is_turn or recalled is None else _MOST_READ
        try:
            self._add_known(principal, sheet, is_turn=is_turn, goes_on=goes_on, most_read=most_read)
            with sheet.leaving(_AFTER_CHANGED if goes_on else 0):
                self._add_changes(principal, sheet)
        except Forbidden:
            pass  # Of nobody, or for another to read: there are only notes and what is shared.
        if project is not None:
            for memory in self._chunks.recent(principal, project=project, limit=MAX_RECENT):
                sheet.add(_OF_PROJECT[memory.category or "fact"], _line(memory, memory.content))
        degraded = recalled is not None and _add_recalled(sheet, recalled(), apart_from)
        text = sheet.text()
        fenced = fence(text, reads_by_name=named > 0) if text else ""
        composed = Composed(text, fenced, count_tokens(fenced), sheet.ids, named, degraded)
        return LaidOut(composed, sheet.lines, budget)

    def _read(self, principal: Principal, found: LaidOut) -> LaidOut:
        """What was composed, now that somebody reads it."""
        self._companion.note_reading(principal, found.composed.ids)
        return found

    # What is known

    def _add_named(self, principal: Principal, sheet: Sheet, *, leaving: float = _AFTER_NAMED) -> None:
        """Named memories, the most important first, as far as there is room for them, and how many are left out."""
        named = self._context.named(principal, None)
        with sheet.leaving(leaving):
            told = sum(1 for _ in takewhile(lambda memory: sheet.add(_NAMED, _named_line(memory)), named))
        if told < len(named):
            sheet.note(_NAMED, f"({len(named) - told} more, of less importance: see memory_list)")

    def _add_known(self, principal: Principal, sheet: Sheet, *, is_turn: bool, goes_on: bool, most_read: int) -> None:
        """A companion's newest entries, what is in doubt, the first line of each topic, more entries, the other lines,
        and then whatever has no topic.
        """
        newest = self._companion.newest(principal)
        people = self._people(principal, most_read, is_turn=is_turn)
        with sheet.leaving(_AFTER_ENTRIES_OF_A_TURN if is_turn else _AFTER_ENTRIES):
            waiting = _add_entries(sheet, newest)
        if is_turn:
            sheet.at_most(self._budget)
        with sheet.leaving(_AFTER_DOUBTS):
            self._add_doubts(principal, sheet)
        others = list(_of_other(people))
        with sheet.leaving(_AFTER_KNOWN if goes_on else 0, _more_of_other(len(others)) if others else ""):
            for heading, line in _by_rank(people, 0, 1):
                sheet.add(heading, _profile_line(line))
            _add_entries(sheet, waiting)
            for heading, line in _by_rank(people, 1, _LINES_OF_A_TOPIC):
                sheet.add(heading, _profile_line(line))
            untold = sum(not sheet.add(_OTHER, _profile_line(line)) for line in others)
        if untold:
            sheet.note(_OTHER, _more_of_other(untold))
        sheet.newest_first(_KNOWN)

    def _people(self, principal: Principal, most_read: int, *, is_turn: bool) -> tuple[PersonProfile, ...]:
        most = _MOST_FACTS_OF_A_TURN if is_turn else _MOST_FACTS
        # An entry stands under its category, or is too old to be told.
        people = partial(
            self._profiles.people,
            principal,
            limit=_LINES_OF_A_TOPIC,
            others=most,
            most=most,
            older=0 if is_turn else _MOST_OLDER,
            with_entries=False,
        )
        try:
            return people(most_read=most_read, rest_later=most_read > 0)
        except ModelError:
            return people(most_read=0)

    def _add_doubts(self, principal: Principal, sheet: Sheet) -> None:
        """Both sides, side by side: what is in doubt is not told as known, unless it is an entry."""
        for doubt in self._profiles.doubts(principal, _MOST_DOUBTS):
            sheet.add(_DOUBTED, _doubted_line(doubt))

    def _add_changes(self, principal: Principal, sheet: Sheet) -> None:
        changes = (one for one in self._profiles.replaced(principal) if not one.was_merged)
        for one in islice(changes, _MOST_CHANGES):
            sheet.add(_CHANGED, _changed_line(one, is_told=sheet.has(one.by_id)))


def _add_entries(sheet: Sheet, entries: Sequence[Memory]) -> Sequence[Memory]:
    """Those of a companion, newest first, up to the first for which there is no room: an older one is never told where
    a newer one is not. Returns the others.
    """
    for number, entry in enumerate(entries):
        if not sheet.add(_ENTRIES[entry.category or "history"], _line(entry, entry_text(entry))):
            return entries[number:]
    return ()


def _add_recalled(sheet: Sheet, recalled: Recalled, apart_from: Collection[str]) -> bool:
    """What fits the question; returns whether less was searched than there is."""
    least = _SHARE_OF_BEST * max((hit.score for hit in recalled.hits), default=0)
    for hit in (one for one in recalled.hits if one.score >= least):
        is_told = sheet.tells(hit.memory.id, len(hit.memory.content))
        if hit.memory.content not in apart_from and not is_told:
            sheet.add(_ASKED, _line(hit.memory, _recalled_text(hit)))
    return recalled.degraded


def _asks_the_same(hit: Hit, question: str) -> bool:
    """Whether it is the question itself, as somebody asked it before: that answers nothing."""
    is_message = hit.memory.kind is Kind.CHAT_MESSAGE
    return is_message and hit.memory.content.casefold().split() == question.casefold().split()


def _by_rank(people: tuple[PersonProfile, ...], first: int, end: int) -> Iterator[tuple[str, ProfileLine]]:
    """The best line of every topic of everybody, then the second best, and so on; and the latest events. A text that is
    longer than an entry may be is no line of a profile; recall finds what fits in it.
    """
    for rank in range(first, end):
        for person in people[:_MOST_PEOPLE]:
            for slot in person.slots:
                if rank < len(slot.lines) and len(slot.lines[rank].text) <= MAX_ENTRY:
                    yield _OF_TOPICS[slot.topic], slot.lines[rank]
            events = [one for one in person.timeline if one.topic == "event" and len(one.text) <= MAX_ENTRY]
            if rank < len(events):
                yield _OF_TOPICS["event"], events[-1 - rank]


def _of_other(people: tuple[PersonProfile, ...]) -> Iterator[ProfileLine]:
    """What has no topic, the user's first."""
    for person in people[:_MOST_PEOPLE]:
        for slot in person.slots:
            if slot.topic == OTHER:
                yield from (line for line in slot.lines if len(line.text) <= MAX_ENTRY)


def _more_of_other(count: int) -> str:
    return f"({count} more: recall finds them)"


def _named_line(memory: Memory) -> Line:
    return Line(named_text(memory), (memory.id,))


def _line(memory: Memory, text: str) -> Line:
    return Line(text, (memory.id,), memory.event_time or memory.created_at, sources_of(memory))


def _profile_line(line: ProfileLine) -> Line:
    return Line(line.text, (line.memory_id,), line.date, line.sources)


def _changed_line(one: ReplacedFact, *, is_told: bool) -> Line:
    now = "" if is_told or one.by_text is None else f" Now: {one.by_text}"
    return Line(f"No longer: {one.text}{now}", date=one.at, about=one.memory_id)


def _doubted_line(doubt: OpenDoubt) -> Line:
    return Line(f"{doubt.newer} Or: {doubt.older}", (doubt.newer_id, doubt.older_id), doubt.at)


def _recalled_text(hit: Hit) -> str:
    speaker = speaker_of(hit.memory)
    return f"{speaker}: {hit.excerpt}" if speaker else hit.excerpt
