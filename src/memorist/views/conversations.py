"""Conversations: the sessions that a caller sees, each read as it was said, with the facts that were learned from it.

A conversation is a session of a user, whichever of the user's agents took part; who sees only one agent's memories sees
its part of it. Dates are when things were said, and lists are in the order of what was said last; everybody's, of what
was stored last.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain

from memorist.about.values import sources_of
from memorist.erasure.service import Erasure
from memorist.erasure.values import Receipt
from memorist.errors import NotFound
from memorist.ids import parse_id
from memorist.memories.entries import note_reading
from memorist.memories.service import Memories
from memorist.memories.values import Kind, Memory
from memorist.platform import access, folding, validation
from memorist.platform.paging import Cursors, Page, id_part, moment_part
from memorist.platform.values import OwnerFilter, Principal
from memorist.ports import Reader, Store, Writer
from memorist.times import Clock, to_micros
from memorist.views.values import SessionKey

MOST_COUNTED = 1000
"""What a conversation holds is counted up to here; one more says that there is more."""

_LINES = 60
_LINES_BEFORE = 8
_OPENING = 20
_LAST = "~"
_MOST_TURNS = 200
_MOST_LEARNED = 50
_MOST_FOUND = 100
_MOST_ROUNDS = 5
_AT_ONCE = 500
_TITLE = 80

_Position = tuple[datetime | None, str]
"""A memory, and when it was said where that counts."""

_CURSORS: Cursors[_Position] = Cursors(
    "conversations",
    lambda one: ("" if one[0] is None else to_micros(one[0]), one[1]),
    lambda said, id_: (None if said == "" else moment_part(said), id_part("mem", id_)),
)


@dataclass(frozen=True, slots=True)
class ConversationHead:
    """What a list tells of a session. `user` is '' where it is nobody's; `people` are who spoke at its beginning,
    without agents and tools.
    """

    user: str
    session: str
    title: str
    people: tuple[str, ...]
    agents: tuple[str, ...]
    began_at: datetime
    last_at: datetime
    count: int


@dataclass(frozen=True, slots=True)
class ConversationPart:
    """A part of a conversation in its order, and by the id of a message the facts that were learned from it."""

    conversation: ConversationHead
    lines: tuple[Memory, ...]
    learned: dict[str, tuple[Memory, ...]]
    has_earlier: bool
    has_later: bool


@dataclass(frozen=True, slots=True)
class Leaving:
    """What goes with a conversation: what was said and returned, and the facts that rest on nothing else."""

    said: tuple[str, ...]
    facts: tuple[str, ...]

    def ids(self, *, facts: bool) -> tuple[str, ...]:
        return self.said + (self.facts if facts else ())


class Conversations:
    def __init__(self, store: Store, clock: Clock, memories: Memories, erasure: Erasure) -> None:
        self._store = store
        self._clock = clock
        self._memories = memories
        self._erasure = erasure

    def page(self, principal: Principal, *, limit: int = 20, cursor: str | None = None) -> Page[ConversationHead]:
        """Conversations that the caller sees, those in which something was said last first; everybody's, those that
        something was added to last.

        Raises InvalidField or InvalidCursor.
        """
        validation.page_limit(limit)
        now = self._clock.now()
        filters = (principal.tenant, principal.user, principal.agent)
        before = _CURSORS.decode(cursor, filters) or (None, _LAST)

        def work(tx: Reader) -> tuple[list[ConversationHead], _Position | None]:
            found: list[ConversationHead] = []
            last, rounds = before, 0
            while rounds < _MOST_ROUNDS:
                keys = _latest(tx, principal, last, limit + 1)
                for key in keys:
                    if len(found) == limit:
                        return found, last
                    last = (key.said_at, key.last_id)
                    if (one := _told(tx, principal, key.user, key.session, now)) is not None:
                        found.append(one)
                if len(keys) <= limit:
                    return found, None
                rounds += 1
            return found, last

        items, end = self._store.read(principal.tenant, work)
        return Page(tuple(items), None if end is None else _CURSORS.encode(end, filters))

    def read(
        self,
        principal: Principal,
        user: str,
        session: str,
        *,
        near: str | None = None,
        after: str | None = None,
        before: str | None = None,
    ) -> ConversationPart:
        """A part of a conversation: its beginning, what comes after or before a line, or a line with what stands around
        it. Raises NotFound where the caller sees nothing of it, and InvalidId.
        """
        near, after, before = (None if one is None else parse_id("mem", one) for one in (near, after, before))
        now = self._clock.now()

        def work(tx: Reader) -> ConversationPart:
            told = _require(_told(tx, principal, user, session, now), session)
            said = _Said(tx, _slices(principal, user), session, now)
            if near is not None:
                earlier = said.before(near, _LINES_BEFORE + 1)
                later = said.after(earlier[-1].id if earlier else "", _LINES + 1)
                lines = (earlier[-_LINES_BEFORE:] + later)[:_LINES]
            elif before is not None:
                lines = said.before(before, _LINES)
            else:
                lines = said.after(after or "", _LINES)
            edges = (bool(lines and said.before(lines[0].id, 1)), bool(lines and said.after(lines[-1].id, 1)))
            return ConversationPart(told, tuple(lines), _learned(tx, principal, user, session, lines), *edges)

        found = self._store.read(principal.tenant, work)
        note_reading(self._store, principal, found.lines, now)
        return found

    def last(self, principal: Principal, user: str, session: str, most: int) -> list[Memory]:
        """The last messages of a conversation in their order, none where the caller sees nothing of it."""
        validation.identifier("session", session)
        now = self._clock.now()
        slices = _of_user(access.session_slices(principal), user)
        found = self._store.read(principal.tenant, lambda tx: _Said(tx, slices, session, now).before(_LAST, most))
        note_reading(self._store, principal, found, now)
        return [one for one in found if one.kind is Kind.CHAT_MESSAGE]

    def search(self, principal: Principal, user: str, session: str, text: str) -> list[Memory]:
        """The first lines of a conversation that have every word of a text. Raises InvalidField or NotFound."""
        validation.text("text", text, longest=200)
        words = tuple(dict.fromkeys(folding.fold(text).split()))
        is_ascii = all(word.isascii() for word in words)
        pattern = folding.like_pattern(max(words, key=len, default="")) if is_ascii else None
        now = self._clock.now()

        def work(tx: Reader) -> list[Memory]:
            _require(_told(tx, principal, user, session, now), session)
            said = _Said(tx, _slices(principal, user), session, now, pattern)
            found: list[Memory] = []
            last = ""
            while len(found) < _MOST_FOUND and (some := said.after(last, _AT_ONCE)):
                found += [one for one in some if all(folding.contains(one.content, word) for word in words)]
                last = some[-1].id
            return found[:_MOST_FOUND]

        found = self._store.read(principal.tenant, work)
        note_reading(self._store, principal, found, now)
        return found

    # Letting go

    def leaving(self, principal: Principal, user: str, session: str) -> Leaving:
        """What would go with a conversation. Raises NotFound or Forbidden."""
        access.require(principal, access.Action.WRITE)
        validation.identifier("session", session)

        def work(tx: Reader) -> Leaving:
            said = list(_ids(tx, principal, user, session))
            if not said:
                _require(None, session)
            sources = {*said, *tx.surroundings.session_turns(user or None, session, _MOST_TURNS)}
            facts = [one for one in _of_sources(tx, principal, sources) if sources.issuperset(sources_of(one))]
            return Leaving(tuple(said), tuple(one.id for one in facts))

        return self._store.read(principal.tenant, work)

    def forget(self, principal: Principal, user: str, session: str, *, facts: bool = False) -> int:
        """Delete what was said in a conversation, and with `facts` what rests on it alone; it can be restored for a
        while. Returns how many memories went. Raises NotFound or Forbidden, and then nothing is deleted.
        """
        leaving = self.leaving(principal, user, session)

        def work(tx: Writer) -> int:
            gone = 0
            for some in _batches(leaving.ids(facts=facts), _AT_ONCE):
                found = [one for one in tx.memories.get_many(some) if one.status.in_use]
                for memory in found:
                    access.require_changeable(principal, memory)
                self._memories.rows.retire(tx, principal, found, "deleted")
                gone += len(found)
            return gone

        return self._store.write(principal.tenant, work)

    def erase(self, principal: Principal, user: str, session: str, *, facts: bool = False) -> list[Receipt]:
        """Erase the same for good, in whatever state it is, with a receipt for each thousand memories.

        Raises NotFound or Forbidden, and StoreError where it is to be finished later.
        """
        leaving = self.leaving(principal, user, session)
        parts = _batches(leaving.ids(facts=facts), validation.MAX_BATCH)
        return [self._erasure.erase(principal, some) for some in parts]


# Reading


@dataclass(frozen=True, slots=True)
class _Said:
    """What was said in one session, of some slices, in the order of its ids."""

    tx: Reader
    slices: Sequence[OwnerFilter]
    session: str
    now: datetime
    pattern: str | None = "%"

    def after(self, id_: str, limit: int) -> list[Memory]:
        return self._merged(limit, after=id_)[:limit]

    def before(self, id_: str, limit: int) -> list[Memory]:
        return self._merged(limit, before=id_)[-limit:]

    def _merged(self, limit: int, after: str = "", before: str | None = None) -> list[Memory]:
        read = self.tx.surroundings.conversation
        found = chain.from_iterable(
            read(part, self.session, self.now, limit, after=after, before=before, pattern=self.pattern)
            for part in self.slices
        )
        return sorted(found, key=lambda one: one.id)


def _slices(principal: Principal, user: str) -> list[OwnerFilter]:
    """What the caller sees of one user's memories. Raises InvalidField."""
    return _of_user(access.visible_slices(principal), user)


def _of_user(slices: Sequence[OwnerFilter], user: str) -> list[OwnerFilter]:
    if user:
        validation.identifier("user", user)
    return [
        replace(part, user=user or None, any_user=False)
        for part in slices
        if part.any_user or (part.user or "") == user
    ]


def _latest(tx: Reader, principal: Principal, before: _Position, limit: int) -> list[SessionKey]:
    users = {(part.any_user, part.user): part for part in access.visible_slices(principal)}.values()
    said_at, id_ = before
    found = [key for part in users for key in tx.surroundings.latest_sessions(part, id_, limit, said_at)]
    # Of everybody's no moment is known, and of others every one.
    return sorted(found, key=lambda key: (key.said_at and to_micros(key.said_at), key.last_id), reverse=True)[:limit]


def _told(tx: Reader, principal: Principal, user: str, session: str, now: datetime) -> ConversationHead | None:
    """What a list tells of a session; None where the caller sees nothing of it."""
    validation.identifier("session", session)
    slices = _slices(principal, user)
    said = _Said(tx, slices, session, now)
    opening = said.after("", _OPENING)
    if not opening:
        return None
    is_whole = len(opening) < _OPENING
    last = opening[-1] if is_whole else said.before(_LAST, 1)[0]
    spoken = [one for one in opening if one.kind is Kind.CHAT_MESSAGE]
    agents = tuple(dict.fromkeys(one.agent for one in opening if one.agent))
    speakers = dict.fromkeys(speaker_of(one) for one in spoken if not is_of_a_tool(one))
    most = MOST_COUNTED + 1
    count = len(opening)
    if not is_whole:
        count = sum(tx.surroundings.count_conversation(part, session, now, most) for part in slices)
    return ConversationHead(
        user,
        session,
        title_of(spoken or opening),
        tuple(one for one in speakers if one and one not in agents),
        agents,
        said_at(opening[0]),
        said_at(last),
        min(count, most),
    )


def _require(found: ConversationHead | None, session: str) -> ConversationHead:
    if found is None:
        raise NotFound(f"There is no conversation {session[:60]} that you may see.")
    return found


def said_at(memory: Memory) -> datetime:
    """When it was said, as far as that is known."""
    return memory.event_time or memory.created_at


def speaker_of(memory: Memory) -> str:
    """Who said it: by name, or as what they spoke; '' where that is not known."""
    role = memory.meta_text("role") or ""
    default = {"user": memory.user, "human": memory.user, "assistant": memory.agent}.get(role)
    return memory.meta_text("speaker") or default or role or memory.meta_text("tool_name") or ""


def is_of_a_tool(memory: Memory) -> bool:
    return memory.kind is Kind.TOOL_OUTPUT or memory.meta_text("role") in ("tool", "function")


def title_of(lines: Sequence[Memory]) -> str:
    """What the conversation is called where it came from, or its first words."""
    named = next((title for one in lines if (title := one.meta_text("title"))), None)
    words = " ".join((named or lines[0].content[: 4 * _TITLE]).split())
    return words if len(words) <= _TITLE else f"{words[:_TITLE].rsplit(' ', 1)[0]} …"


# What came of it


def _learned(
    tx: Reader, principal: Principal, user: str, session: str, lines: Sequence[Memory]
) -> dict[str, tuple[Memory, ...]]:
    ids = [one.id for one in lines]
    turns = tx.surroundings.session_turns(user or None, session, _MOST_TURNS) if ids else []
    found: dict[str, list[Memory]] = {id_: [] for id_ in ids}
    for fact in _of_sources(tx, principal, [*ids, *turns]):
        for source in sources_of(fact):
            if source in found:
                found[source].append(fact)
    return {id_: tuple(facts) for id_, facts in found.items() if facts}


def _of_sources(tx: Reader, principal: Principal, sources: Sequence[str] | set[str]) -> list[Memory]:
    """The facts in use that name one of these as their source, each once, as far as the caller sees them."""
    found = tx.surroundings.list_learned_of(sorted(sources), _MOST_LEARNED)
    seen = {one.id: one for one in found if one.status.in_use and access.sees(principal, one)}
    return [one for one in seen.values() if one.anonymized_at is None]


def _ids(tx: Reader, principal: Principal, user: str, session: str) -> Iterator[str]:
    for part in _slices(principal, user):
        last = ""
        while some := tx.surroundings.conversation_ids(part, session, last, validation.MAX_BATCH):
            yield from some
            last = some[-1]


def _batches(ids: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (ids[first : first + size] for first in range(0, len(ids), size))
