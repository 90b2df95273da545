"""What is known of a person, put in order from the facts that stand now. Nothing of it is stored."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

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
from memorist.about.topics import Topics
from memorist.about.values import USER, About, NameGraph, OpenDoubt, PersonProfile, ProfileLine, ReplacedFact
from memorist.about.written import Writing
from memorist.context.companion import own_slices
from memorist.errors import NotFound
from memorist.facts.service import Facts
from memorist.facts.values import InDoubt, Supersession
from memorist.memories.entries import note_reading
from memorist.memories.positions import position_of
from memorist.memories.values import Kind, Memory, Query
from memorist.models.port import Tagger
from memorist.platform import access, validation
from memorist.platform.values import OwnerFilter, Principal
from memorist.ports import Reader, Store
from memorist.times import Clock

LATELY = timedelta(days=30)
"""What changed since then is what changed lately."""

_PAGE = 500
_LARGEST_PAGE = 100
_MOST_NAMING = 5000
_MOST_NAMES_KEPT = 50_000
_MOST_GRAPHS_KEPT = 64


@dataclass(frozen=True, slots=True)
class _Asked:
    """Whom a profile is of: everybody, or who speaks under a name and is named in what others say."""

    name: str | None

    def is_meant(self, person: str, text: str) -> bool:
        return self.name is None or person.casefold() == self.name.casefold() or names(text, self.name)


@dataclass(frozen=True, slots=True)
class _KeptGraph:
    graph: NameGraph
    facts: tuple[Memory, ...]
    state: tuple[object, ...]
    """As of which numbers and counts of the user's memories it was made."""


class Profiles:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        facts: Facts,
        tagger: Callable[[], Tagger | None],
        writing: Writing,
    ) -> None:
        self._store = store
        self._clock = clock
        self._facts = facts
        self._topics = Topics(tagger)
        self._writing = writing
        self._names: dict[str, tuple[Named, ...]] = {}
        self._graphs: dict[tuple[str, tuple[OwnerFilter, ...]], _KeptGraph] = {}

    def forget(self, tenant: str, users: Iterable[str | None]) -> None:
        """Drop what is kept in memory of users whose facts were erased."""
        self._names = {}
        self._graphs = {}
        self._writing.forget(tenant, users)

    def about(self, principal: Principal, person: str | None = None, *, limit: int = 5, written: bool = False) -> About:
        """What is known of the user and of all who speak or, with `person`, of that one alone: who speaks under that
        name, or is named. At most `limit` lines of a topic. With `written` a language model writes it down as well.

        It is made of the user's own facts: those that a companion, the agent tools or the native door wrote, without
        a name. Raises Forbidden, InvalidField, NotFound where nothing is known of that person, or ModelError; with
        `written` LlmNotConfigured or LlmError.
        """
        validation.page_limit(limit)
        slices = _whose(principal)
        found = self._current(principal, slices)
        topics = self._topics.of(found)
        lines = [line_of(memory, topic) for memory, topic in zip(found, topics, strict=True)]
        named = occurrences_in(lines)
        asked = _Asked(None if person is None else _known(principal, person, lines, named))
        chosen = [line for line in lines if asked.is_meant(line.person, line.text)]
        if asked.name is not None:
            named = [one for one in occurrences_in(chosen) if one.name.casefold() != asked.name.casefold()]
        since = self._clock.now() - LATELY
        of_late = {one.id for one in found if one.created_at >= since}
        new, more_new = first(newest_first(line for line in chosen if line.memory_id in of_late), limit)
        mentioned, more_mentioned = mentions_of(named, limit)
        shown = {line.memory_id for line in chosen}
        note_reading(self._store, principal, [one for one in found if one.id in shown], self._clock.now())
        about = About(
            person=asked.name,
            people=tuple(profile_of(name, of_person, limit) for name, of_person in _by_person(chosen, asked.name)),
            mentioned=mentioned,
            more_mentioned=more_mentioned,
            replaced=tuple(self._replaced(principal, slices, asked, since)),
            new=new,
            more_new=more_new,
            doubts=tuple(self._doubts(principal, slices, asked)),
        )
        return replace(about, written=self._writing.of(principal, about)) if written else about

    def named(self, principal: Principal) -> NameGraph:
        """Whom and what the user's newest facts name, the same facts as in `about`.

        Raises Forbidden.
        """
        key = (principal.tenant, _whose(principal))
        now = self._clock.now()

        def work(tx: Reader) -> tuple[object, ...]:
            # What is written has a new number; what ended or was erased, here or elsewhere, is counted no more.
            counts = (tuple(tx.overview.count_kinds(part, now)) for part in key[1])
            return (tx.index.watermark(principal.user), *counts)

        state = self._store.read(principal.tenant, work)
        kept = self._graphs.get(key)
        if kept is None or kept.state != state:
            facts = self._current(principal, key[1], most=_MOST_NAMING + 1)
            if len(self._names) > _MOST_NAMES_KEPT:
                self._names = {}
            graph = graph_of(facts[:_MOST_NAMING], self._names_of, is_whole=len(facts) <= _MOST_NAMING)
            kept = _KeptGraph(graph, tuple(facts[:_MOST_NAMING]), state)
            if len(self._graphs) >= _MOST_GRAPHS_KEPT:
                self._graphs = {}
            self._graphs[key] = kept
        note_reading(self._store, principal, kept.facts, now)
        return kept.graph

    def _names_of(self, fact: Memory) -> tuple[Named, ...]:
        key = f"{person_of(fact)} {fact.content_hash}"
        if (found := self._names.get(key)) is None:
            found = self._names[key] = tuple(names_in(fact.content, person_of(fact)))
        return found

    # What an agent is given

    def people(self, principal: Principal, *, limit: int, most: int, most_read: int) -> tuple[PersonProfile, ...]:
        """The profiles of the user and of all who speak, from the newest facts alone, of which a tagger reads no more
        than `most_read` now. Raises Forbidden.
        """
        found = self._current(principal, _whose(principal), most=most)
        topics = self._topics.of(found, most_read)
        lines = [line_of(one, topic) for one, topic in zip(found, topics, strict=True)]
        return tuple(profile_of(name, of_person, limit) for name, of_person in _by_person(lines, None))

    def replaced(self, principal: Principal) -> Iterator[ReplacedFact]:
        """What was retired or merged lately, the last first. Raises Forbidden."""
        return self._replaced(principal, _whose(principal), _Asked(None), self._clock.now() - LATELY)

    def doubts(self, principal: Principal) -> Iterator[OpenDoubt]:
        """What is in doubt, the last first. Raises Forbidden."""
        return self._doubts(principal, _whose(principal), _Asked(None))

    def _current(self, principal: Principal, slices: Sequence[OwnerFilter], *, most: int | None = None) -> list[Memory]:
        """The facts that a profile is made of, newest first."""
        now = self._clock.now()
        query = Query(tuple(slices), kind=Kind.FACT, limit=min(_PAGE, most or _PAGE))

        def work(tx: Reader) -> list[Memory]:
            found: list[Memory] = []
            page = tx.memories.page(query, now)
            while page:
                found += filter(is_of_profile, page)
                is_last = len(page) < query.limit or (most is not None and len(found) >= most)
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
            by = one.by if one.by is not None and _is_own(one.by, slices) else None
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

    def _doubts(self, principal: Principal, slices: Sequence[OwnerFilter], asked: _Asked) -> Iterator[OpenDoubt]:
        for pair in self._in_doubt(principal):
            both = (pair.fact, pair.other)
            if all(_is_own(one, slices) for one in both) and any(_is_meant(one, asked) for one in both):
                doubt, newer, older = pair.doubt, pair.fact, pair.other
                yield OpenDoubt(
                    doubt.id, doubt.created_at, newer.id, newer.content, older.id, older.content, doubt.reason
                )

    def _in_doubt(self, principal: Principal) -> Iterator[InDoubt]:
        cursor = None
        while True:
            page = self._facts.in_doubt(principal, limit=_LARGEST_PAGE, cursor=cursor)
            yield from page.items
            if (cursor := page.next_cursor) is None:
                return


def _whose(principal: Principal) -> tuple[OwnerFilter, ...]:
    """The user's own, of the profiles that recall and lists show. Raises Forbidden as the companion does."""
    own_slices(principal)
    return tuple(part for part in access.shown_slices(principal) if part.user is not None)


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


def _is_own(memory: Memory, slices: Sequence[OwnerFilter]) -> bool:
    return is_of_profile(memory) and any(part.matches(memory.owner) for part in slices)


def _is_meant(memory: Memory, asked: _Asked) -> bool:
    return asked.is_meant(person_of(memory), memory.content)
