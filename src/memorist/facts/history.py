"""Looking back: the chain that a fact belongs to, and what was retired lately."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from memorist.facts.superseding import Superseding, age_of
from memorist.facts.values import FactVersion, Supersession, certainty_told, text_told
from memorist.ids import parse_id
from memorist.memories.earlier import told_events
from memorist.memories.entries import note_reading
from memorist.memories.positions import position_cursors
from memorist.memories.values import Memory, Position
from memorist.platform import access, validation
from memorist.platform.paging import Page, page_of
from memorist.platform.values import Event, Principal
from memorist.ports import Reader

_RETIRED = position_cursors("retired facts")
_LONGEST_CHAIN = 500
_FOLLOWED = 16
"""So many that took each other's place are followed to what holds: each is a question to the database."""
_STEPS = (
    "created", "judged", "superseded", "supersedes", "restored", "doubt_dismissed", "doubt_reopened", "updated",
    "deleted", "anonymized",
)  # fmt: skip


class FactHistory(Superseding):
    def history(self, principal: Principal, memory_id: str) -> tuple[FactVersion, ...]:
        """The chain that a fact belongs to, oldest first: what it replaced, what replaced it, and why; what is deleted
        only for those who may restore it.

        Raises NotFound or InvalidId.
        """
        memory_id = parse_id("mem", memory_id)

        def work(tx: Reader) -> tuple[FactVersion, ...]:
            now = self._clock.now()
            found = tx.memories.get(memory_id)
            is_there = found is not None and access.is_shown(principal, found, in_use=found.is_in_use(now))
            memory = access.require_visible(principal, found if is_there else None, memory_id)
            # What was anonymized is nobody's, so that only admins see it; what replaced it is still somebody's.
            chain = [one for one in _chain(tx, memory) if access.is_shown(principal, one, in_use=one.is_in_use(now))]
            trail: dict[str, list[Event]] = {one.id: [] for one in chain}
            for event in tx.events.of(list(trail)):
                if event.event_type in _STEPS:
                    trail[event.memory_id].append(event)
            return tuple(FactVersion(one, tuple(told_events(principal, one, trail[one.id]))) for one in chain)

        found = self._store.read(principal.tenant, work)
        note_reading(self._store, principal, [version.memory for version in found], self._clock.now())
        return found

    def retired(self, principal: Principal, *, limit: int = 20, cursor: str | None = None) -> Page[Supersession]:
        """A page of the facts that others replaced, the last retired first, as far as they can be restored.

        Raises InvalidField or InvalidCursor.
        """
        validation.page_limit(limit)
        slices = access.visible_slices(principal)
        filters = (principal.tenant, slices)
        before = _RETIRED.decode(cursor, filters)
        now = self._clock.now()

        def work(tx: Reader) -> list[Supersession]:
            found = [one for part in slices for one in tx.facts.retired(part, before, now, limit + 1)]
            found = sorted(found, key=lambda one: (one.updated_at, one.id), reverse=True)[: limit + 1]
            return _supersessions(tx, principal, found, now)

        def cursor_of(last: Supersession) -> str:
            # The list is in the order of the last change, and so is its cursor.
            return _RETIRED.encode(Position(last.retired.updated_at, last.retired.id), filters)

        found = self._store.read(principal.tenant, work)
        note_reading(self._store, principal, [one.retired for one in found[:limit]], now)
        return page_of(found, limit, cursor_of)


def _chain(tx: Reader, memory: Memory) -> list[Memory]:
    """All facts that replaced each other up to the one that stands now, oldest first."""
    newest = memory
    seen = {memory.id}
    while newest.superseded_by is not None and newest.superseded_by not in seen:
        following = tx.memories.get(newest.superseded_by)
        if following is None:
            break
        newest = following
        seen.add(newest.id)
    chain = {newest.id: newest}
    pending = [newest.id]
    while pending and len(chain) < _LONGEST_CHAIN:
        for older in tx.facts.superseded(pending.pop()):
            if older.id not in chain:
                chain[older.id] = older
                pending.append(older.id)
    chain.setdefault(memory.id, memory)
    return sorted(chain.values(), key=age_of)


def _supersessions(tx: Reader, principal: Principal, retired: Sequence[Memory], now: datetime) -> list[Supersession]:
    following = _following(tx, retired)
    told: dict[str, Event] = {}
    for event in tx.events.of([one.id for one in retired]):
        if event.event_type == "superseded":
            told[event.memory_id] = event
    found = []
    for one in retired:
        by = following.get(one.superseded_by or "")
        if by is not None and not access.is_shown(principal, by, in_use=by.is_in_use(now)):
            by = None
        last = _last(one, following)
        event = told.get(one.id, Event(one.id, "superseded", "", one.updated_at))
        found.append(
            Supersession(
                one,
                by,
                event.created_at,
                text_told(event.payload.get("reason")) or "",
                text_told(event.payload.get("judge")) or "",
                certainty_told(event.payload.get("confidence")),
                "merged" in event.payload,
                last if last.is_current(now) and access.sees(principal, last) else None,
            )
        )
    return found


def _following(tx: Reader, retired: Sequence[Memory]) -> dict[str, Memory]:
    """What took the place of some facts, and of these in turn, as far as that is near; with them."""
    found = {one.id: one for one in retired}
    page = list(retired)
    for _ in range(_FOLLOWED):
        missing = {one.superseded_by for one in page if one.superseded_by} - found.keys()
        if not missing:
            break
        page = tx.memories.get_many(list(missing))
        found.update((one.id, one) for one in page)
    return found


def _last(fact: Memory, following: Mapping[str, Memory]) -> Memory:
    """The end of a fact's chain."""
    seen = {fact.id}
    while (next_one := following.get(fact.superseded_by or "")) is not None and next_one.id not in seen:
        fact = next_one
        seen.add(fact.id)
    return fact
