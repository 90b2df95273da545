"""What is known of a person, put in order from the facts that stand now. Nothing of it is stored."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import NamedTuple, TypeVar

from memorist.about.kept import KeptViews
from memorist.about.lines import (
    Occurrences,
    first,
    is_of_profile,
    line_of,
    mentions_of,
    newest_first,
    occurrences_in,
    person_of,
    profile_of,
)
from memorist.about.named import graph_of
from memorist.about.names import Named, names, names_in
from memorist.about.older import OlderFacts
from memorist.about.topics import MOST_READ, Topics
from memorist.about.values import (
    OTHER,
    USER,
    About,
    Mention,
    NameGraph,
    OpenDoubt,
    PersonProfile,
    ProfileLine,
    ReplacedFact,
)
from memorist.about.written import Writing
from memorist.context.companion import Category, told_slices
from memorist.errors import NotFound
from memorist.facts.service import Facts
from memorist.facts.values import InDoubt, Supersession
from memorist.memories.entries import note_reading
from memorist.memories.positions import position_of
from memorist.memories.values import Kind, Memory, Query
from memorist.models.port import Tagger
from memorist.platform import validation
from memorist.platform.values import OwnerFilter, Principal
from memorist.ports import Reader, Store
from memorist.times import Clock

LATELY = timedelta(days=30)
"""What changed since then is what changed lately."""

_PAGE = 500
_LARGEST_PAGE = 100
_MOST_NAMING = 5000
_QUICKLY_READ = 100
"""So many facts are read sooner than it is found out whether one of very many has changed."""
_TIMES = 4
"""So many times as many doubts are read as are told: some are other agents' of the user."""

_MOST_COUNTED = 1000
"""Of replaced facts and of doubts, of which most are only counted."""

_MOST_TEXTS_KEPT = 50_000
_OF_ENTRIES = frozenset(Category)
_AMONG = 10
"""The newest facts are looked for among so many times as many rows."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Asked:
    """Whom a profile is of: everybody, or who speaks under a name and is named in what others say."""

    name: str | None

    def is_meant(self, person: str, text: str) -> bool:
        return self.name is None or person.casefold() == self.name.casefold() or names(text, self.name)


class _Known(NamedTuple):
    """What was made of facts: a profile without what the hour, doubts and ended facts say."""

    person: str | None
    people: tuple[PersonProfile, ...]
    mentioned: tuple[Mention, ...]
    more_mentioned: int
    new: tuple[tuple[datetime, ProfileLine], ...]
    """The lines that were stored lately, newest first, with when."""
    entries: tuple[Memory, ...]
    """Those that only their user reads."""


class Profiles:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        facts: Facts,
        tagger: Callable[[], Tagger | None],
        writing: Writing,
        *,
        background: bool = True,
    ) -> None:
        self._store = store
        self._clock = clock
        self._facts = facts
        self._topics = Topics(tagger, background=background)
        self._writing = writing
        self._names: dict[tuple[str, str], tuple[Named, ...]] = {}
        self._lines: dict[tuple[str, datetime, str], ProfileLine] = {}
        self._kept = KeptViews(store, clock)
        self._older = OlderFacts(store, clock)

    def close(self) -> None:
        self._topics.close()

    def forget(self, tenant: str, users: Iterable[str | None]) -> None:
        """Drop what is kept in memory of users whose facts were erased."""
        self._names = {}
        self._lines = {}
        self._kept.forget()
        self._older.forget()
        self._writing.forget(tenant, users)

    def about(
        self,
        principal: Principal,
        person: str | None = None,
        *,
        limit: int = 5,
        written: bool = False,
        most_read: int = MOST_READ,
    ) -> About:
        """What is known of the user and of all who speak or, with `person`, of that one alone: who speaks under that
        name, or is named. At most `limit` lines of a topic, and of a list of all topics four times as many; of what was
        replaced or is in doubt 1,000 are counted at most. With `written` a language model writes it down as well.
        A tagger reads the topics of `most_read` facts now, and those of others in the background.

        It is made of the user's own facts: those that a companion, the agent tools or the native door wrote, without
        a name. Raises Forbidden, InvalidField, NotFound where nothing is known of that person, or ModelError; with
        `written` LlmNotConfigured or LlmError.
        """
        validation.page_limit(limit)
        slices = told_slices(principal)
        since = self._clock.now() - LATELY
        if person is not None:
            validation.kind_of("person", person, str, "a text")
        what = ("about", person, limit, self._topics.version)
        known = self._kept.of(principal, slices, what, lambda: self._made(principal, slices, person, limit, most_read))
        note_reading(self._store, principal, known.entries, self._clock.now())
        new, more_new = first([line for at, line in known.new if at >= since], limit)
        asked = _Asked(known.person)
        replaced, more_replaced = first(_counted(self._replaced(principal, slices, asked, since)), limit)
        doubts, more_doubts = first(_counted(self._doubts(principal, slices, asked)), limit)
        about = About(
            person=known.person,
            people=known.people,
            mentioned=known.mentioned,
            more_mentioned=known.more_mentioned,
            replaced=replaced,
            more_replaced=more_replaced,
            new=new,
            more_new=more_new,
            doubts=doubts,
            more_doubts=more_doubts,
        )
        return replace(about, written=self._writing.of(principal, about)) if written else about

    def _made(
        self, principal: Principal, slices: Sequence[OwnerFilter], person: str | None, limit: int, most_read: int
    ) -> _Known:
        found = self._current(principal, slices)
        lines = self._lines_of(found, self._topics.of(found, most_read, rest_later=True))
        named = occurrences_in(lines, self._names_in)
        asked = _Asked(None if person is None else _known(principal, person, lines, named))
        chosen = [line for line in lines if asked.is_meant(line.person, line.text)]
        if asked.name is not None:
            of_them = occurrences_in(chosen, self._names_in)
            named = [one for one in of_them if one.name.casefold() != asked.name.casefold()]
        since = self._clock.now() - LATELY
        of_late = {one.id: one.created_at for one in found if one.created_at >= since}
        new = newest_first(line for line in chosen if line.memory_id in of_late)
        mentioned, more_mentioned = mentions_of(named, limit)
        shown = {line.memory_id for line in chosen}
        return _Known(
            person=asked.name,
            people=tuple(profile_of(name, of_person, limit) for name, of_person in _by_person(chosen, asked.name)),
            mentioned=mentioned,
            more_mentioned=more_mentioned,
            new=tuple((of_late[line.memory_id], line) for line in new),
            entries=tuple(one for one in found if one.is_entry and one.id in shown),
        )

    def named(self, principal: Principal) -> NameGraph:
        """Whom and what the user's newest facts name, the same facts as in `about`.

        Raises Forbidden.
        """
        slices = told_slices(principal)

        def make() -> tuple[NameGraph, tuple[Memory, ...]]:
            facts = self._current(principal, slices, most=_MOST_NAMING + 1)
            shown = facts[:_MOST_NAMING]
            lines = self._lines_of(shown, [OTHER] * len(shown))
            graph = graph_of(shown, lines, self._names_of, is_whole=len(facts) <= _MOST_NAMING)
            return graph, tuple(one for one in shown if one.is_entry)

        graph, entries = self._kept.of(principal, slices, "names", make)
        note_reading(self._store, principal, entries, self._clock.now())
        return graph

    def _lines_of(self, facts: Sequence[Memory], topics: Sequence[str]) -> list[ProfileLine]:
        if len(self._lines) > _MOST_TEXTS_KEPT:
            self._lines = {}
        made = []
        for fact, topic in zip(facts, topics, strict=True):
            key = (fact.id, fact.updated_at, topic)
            if (line := self._lines.get(key)) is None:
                line = self._lines[key] = line_of(fact, topic)
            made.append(line)
        return made

    def _names_in(self, text: str, person: str) -> tuple[Named, ...]:
        if len(self._names) > _MOST_TEXTS_KEPT:
            self._names = {}
        if (found := self._names.get((text, person))) is None:
            found = self._names[text, person] = tuple(names_in(text, person))
        return found

    def _names_of(self, fact: Memory) -> tuple[Named, ...]:
        return self._names_in(fact.content, person_of(fact))

    # What an agent is given

    def people(
        self,
        principal: Principal,
        *,
        limit: int,
        most: int,
        most_read: int,
        rest_later: bool = False,
        with_entries: bool = True,
        others: int | None = None,
        older: int = 0,
    ) -> tuple[PersonProfile, ...]:
        """The profiles of the user and of all who speak, from the newest facts and the best of each topic among so many
        `older` ones: `limit` lines of a topic, and `others` of what has none. A tagger reads no more than `most_read`
        facts now; with `rest_later` the others in the background. What a companion lists as its entries can be left
        out. Raises Forbidden.
        """
        slices = told_slices(principal)

        def make() -> tuple[PersonProfile, ...]:
            found = self._current(principal, slices, most=most, with_entries=with_entries)
            lines = self._lines_of(found, self._topics.of(found, most_read, rest_later=rest_later))
            if older and len(found) == most:
                lines += self._best_older(
                    principal, found, older, limit, rest_later=rest_later, with_entries=with_entries
                )
            return tuple(profile_of(name, of_person, limit, others) for name, of_person in _by_person(lines, None))

        if most <= _QUICKLY_READ:
            return make()
        # What is not left to the background counts as soon as anybody has read it.
        read = self._topics.version if rest_later else self._topics.count
        what = ("people", limit, others, older, most, most_read, rest_later, with_entries, read)
        return self._kept.of(principal, slices, what, make)

    def _best_older(
        self,
        principal: Principal,
        newest: Sequence[Memory],
        older: int,
        limit: int,
        *,
        rest_later: bool,
        with_entries: bool,
    ) -> list[ProfileLine]:
        slices = told_slices(principal)

        def lines_of(facts: Sequence[Memory]) -> list[ProfileLine]:
            counted = [one for one in facts if with_entries or one.category not in _OF_ENTRIES]
            return self._lines_of(counted, self._topics.of(counted, 0, rest_later=rest_later))

        query = Query(slices, kind=Kind.FACT, limit=_PAGE)
        what = (with_entries, self._topics.version)
        chosen = self._older.best(principal, query, newest, most=older, limit=limit, lines_of=lines_of, what=what)
        return lines_of(chosen)

    def replaced(self, principal: Principal) -> Iterator[ReplacedFact]:
        """What was retired or merged lately, the last first. Raises Forbidden."""
        return self._replaced(principal, told_slices(principal), _Asked(None), self._clock.now() - LATELY)

    def doubts(self, principal: Principal, most: int) -> list[OpenDoubt]:
        """What is in doubt, the last first. Raises Forbidden."""
        return list(islice(self._doubts(principal, told_slices(principal), _Asked(None), at_once=_TIMES * most), most))

    def _current(
        self,
        principal: Principal,
        slices: Sequence[OwnerFilter],
        *,
        most: int | None = None,
        with_entries: bool = True,
    ) -> list[Memory]:
        """The facts that a profile is made of, newest first. Where they may be no more than `most`, entries of a
        companion that are left out take no room of others, for which some more rows are looked at.
        """
        now = self._clock.now()
        query = Query(tuple(slices), kind=Kind.FACT, limit=min(_PAGE, most or _PAGE))

        def counts(memory: Memory) -> bool:
            return is_of_profile(memory) and (with_entries or memory.category not in _OF_ENTRIES)

        def work(tx: Reader) -> list[Memory]:
            found: list[Memory] = []
            looked_at = 0
            page = tx.memories.page(query, now)
            while page:
                looked_at += len(page)
                found += filter(counts, page)
                is_enough = most is not None and (len(found) >= most or looked_at >= _AMONG * most)
                is_last = len(page) < query.limit or is_enough
                page = [] if is_last else tx.memories.page(replace(query, after=position_of(page[-1])), now)
            return found[:most]

        return self._store.read(principal.tenant, work)

    def _replaced(
        self, principal: Principal, slices: Sequence[OwnerFilter], asked: _Asked, since: datetime
    ) -> Iterator[ReplacedFact]:
        """What was retired or merged since then, the last first."""
        for one in self._retired(principal):
            if one.retired.updated_at < since:
                return
            # What was forgotten or replaced since is not told as what holds.
            by = one.current if one.current is not None and _is_own(one.current, slices) else None
            if one.at >= since and _is_own(one.retired, slices) and _is_meant(one.retired, asked):
                by_id, by_text = (None, None) if by is None else (by.id, by.content)
                retired = one.retired
                yield ReplacedFact(one.at, retired.id, retired.content, by_id, by_text, one.reason, one.was_merged)

    def _retired(self, principal: Principal) -> Iterator[Supersession]:
        cursor = None
        while True:
            page = self._facts.retired(principal, limit=_LARGEST_PAGE, cursor=cursor)
            yield from page.items
            if (cursor := page.next_cursor) is None:
                return

    def _doubts(
        self, principal: Principal, slices: Sequence[OwnerFilter], asked: _Asked, *, at_once: int = _LARGEST_PAGE
    ) -> Iterator[OpenDoubt]:
        for pair in self._in_doubt(principal, at_once):
            both = (pair.fact, pair.other)
            if all(_is_own(one, slices) for one in both) and any(_is_meant(one, asked) for one in both):
                doubt, newer, older = pair.doubt, pair.fact, pair.other
                yield OpenDoubt(
                    doubt.id, doubt.created_at, newer.id, newer.content, older.id, older.content, doubt.reason
                )

    def _in_doubt(self, principal: Principal, at_once: int) -> Iterator[InDoubt]:
        cursor = None
        while True:
            page = self._facts.in_doubt(principal, limit=at_once, cursor=cursor)
            yield from page.items
            if (cursor := page.next_cursor) is None:
                return


def _known(principal: Principal, person: str, lines: Sequence[ProfileLine], named: Sequence[Occurrences]) -> str:
    """The name as it is written. Raises NotFound where nobody has it, InvalidField where it is none."""
    wanted = validation.text("person", person, longest=validation.MAX_LINE, one_line=True).strip()
    is_user = wanted.casefold() in (USER.casefold(), (principal.user or "").casefold())
    speaking = sorted({line.person for line in lines})
    whole = [name for name in (*speaking, *(one.name for one in named)) if name.casefold() == wanted.casefold()]
    # Who speaks under a name has it before the user whose account is called so.
    if whole and whole[0] in speaking:
        return whole[0]
    if is_user:
        return USER
    if whole:
        return whole[0]
    if any(names(one.name, wanted) for one in named):
        return wanted
    raise NotFound(f"Nothing is known of {wanted}.")


def _by_person(lines: Sequence[ProfileLine], asked: str | None) -> list[tuple[str, list[ProfileLine]]]:
    """The lines of each person, the user's first, then of whom most is known; of the one asked for, all."""
    if asked is not None:
        return [(asked, list(lines))]
    counts = Counter(line.person for line in lines)
    people = sorted(counts, key=lambda name: (name != USER, -counts[name], name))
    return [(name, [line for line in lines if line.person == name]) for name in people]


def _counted(found: Iterator[T]) -> list[T]:
    return list(islice(found, _MOST_COUNTED))


def _is_own(memory: Memory, slices: Sequence[OwnerFilter]) -> bool:
    return is_of_profile(memory) and any(part.matches(memory.owner) for part in slices)


def _is_meant(memory: Memory, asked: _Asked) -> bool:
    return asked.is_meant(person_of(memory), memory.content)
