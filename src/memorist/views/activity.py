"""What happens: changes of memories and what was recalled, told as one story to read back in time, and to follow."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Generic, NamedTuple, TypeVar

from memorist.memories.entries import note_reading
from memorist.memories.values import Memory, PastRecall
from memorist.platform import access
from memorist.platform.paging import Cursors, Page, moment_part, number_part
from memorist.platform.values import FeedPosition, FeedRow, HiddenOwner, Owner, OwnerFilter, Principal
from memorist.ports import Reader, Store
from memorist.times import Clock, to_micros

RECALLED = "recalled"
CHANGES = "changes"
_EVENTS, _AT_ONCE, _RECALLS = 2000, 200, 600
"""Rows that are looked at for a page: events, some of them at once, and recalls."""
_NEWS = 500
_LATE = timedelta(seconds=10)
"""Recalls are written a moment after they happened, each process for itself."""
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_END = datetime(9999, 1, 1, tzinfo=UTC)

P = TypeVar("P")
_Asked = tuple[datetime, str]
_EVENTS_OVER, _RECALLS_OVER = FeedPosition(-1, 0), (_BEGINNING, "")


@dataclass(frozen=True, slots=True)
class ActivityFilter:
    """What to tell of: all, CHANGES, RECALLED or what an event is called; whose or by whom; since when."""

    what: str = ""
    who: str = ""
    since: datetime | None = None

    @property
    def has_changes(self) -> bool:
        return self.what != RECALLED

    @property
    def has_recalls(self) -> bool:
        return self.what in ("", RECALLED)


@dataclass(frozen=True, slots=True)
class Happening:
    """A change of a memory, or an answer: `by` did it or asked, through a door, and it is the `owner`'s.

    `memory` is what changed or came first, where the caller sees it; `memories` is how many came back.
    """

    id: str
    what: str
    at: datetime
    by: str | None
    door: str
    memory_id: str
    owner: Owner = Owner()
    memory: Memory | None = None
    question: str = ""
    memories: int = 0


class FollowPosition(NamedTuple):
    """Up to where somebody was told: changes up to a position, recalls up to a moment."""

    feed: FeedPosition
    asked: datetime


@dataclass(frozen=True, slots=True)
class ActivityPage(Page[Happening]):
    """Newest first. `reached` is up to when was looked, where it is not full; `position` is where to follow from."""

    reached: datetime | None
    position: FollowPosition


@dataclass(frozen=True, slots=True)
class ActivityNews:
    """What happened since, oldest first. `is_cut`: it was more than is told, and goes on from now."""

    items: tuple[Happening, ...]
    position: FollowPosition
    is_cut: bool


@dataclass(frozen=True, slots=True)
class _Back(Generic[P]):
    """What was found looking back: each with a time that never rises, and where it stands; `end` is where the look
    ended, at a time, or None where there is no more.
    """

    start: P
    found: Sequence[tuple[datetime, P, Happening]]
    end: tuple[P, datetime] | None
    over: P

    def after(self, shown: int) -> P:
        """Where to go on once so many were shown."""
        if shown < len(self.found):
            return self.found[shown - 1][1] if shown else self.start
        return self.over if self.end is None else self.end[0]


_CURSORS: Cursors[tuple[FeedPosition, _Asked]] = Cursors(
    "activity",
    lambda both: (*both[0], to_micros(both[1][0]), both[1][1]),
    lambda change, seq, at, id_: (FeedPosition(number_part(change), number_part(seq)), (moment_part(at), str(id_))),
)


class Activity:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def page(
        self, principal: Principal, wanted: ActivityFilter, *, limit: int = 50, cursor: str | None = None
    ) -> ActivityPage:
        """What the caller may see of what happened. It may hold fewer than `limit`, even none, and go on all the same.

        Changes are those of memories that it sees; recalls are its own or, for an admin of everybody, everybody's.
        Raises InvalidCursor.
        """
        asked = (principal.tenant, access.visible_slices(principal), wanted)
        before = _CURSORS.decode(cursor, asked)

        def work(tx: Reader) -> ActivityPage:
            head = tx.feed.head()
            since = FollowPosition(head, self._clock.now())
            start = before or (FeedPosition(head.change, head.seq + 1), (_END, ""))
            changes = _changes_back(tx, principal, wanted, start[0], limit)
            recalls = _recalls_back(tx, principal, wanted, start[1])
            horizon = max([one.end[1] for one in (changes, recalls) if one.end is not None], default=_BEGINNING)
            found = [(at, item, True) for at, _, item in changes.found] + [
                (at, item, False) for at, _, item in recalls.found
            ]
            found.sort(key=lambda one: one[0], reverse=True)
            shown = [one for one in found if one[0] >= horizon][:limit]
            of_changes = sum(is_change for _, _, is_change in shown)
            then = changes.after(of_changes), recalls.after(len(shown) - of_changes)
            more = None if then == (_EVENTS_OVER, _RECALLS_OVER) else _CURSORS.encode(then, asked)
            items = _with_memories(tx, principal, [item for _, item, _ in shown])
            return ActivityPage(items, more, horizon if more and len(shown) < limit else None, since)

        page = self._store.read(principal.tenant, work)
        self._note(principal, page.items)
        return page

    def news(
        self, principal: Principal, wanted: ActivityFilter, position: FollowPosition, told: Collection[str] = ()
    ) -> ActivityNews:
        """What happened after a position, but for answers that were `told`, as some are that were written late."""
        since = position.asked - _LATE

        def work(tx: Reader) -> ActivityNews:
            now = self._clock.now()
            page = tx.feed.read(position.feed, _NEWS)
            if not page.is_last and not page.has_unsafe:
                return ActivityNews((), FollowPosition(tx.feed.head(), now), True)
            slices = access.visible_slices(principal)
            items = [_change(row) for row in page.rows if _is_wanted(row, slices, wanted)]
            if wanted.has_recalls:
                rows, _ = _recall_rows(tx, principal, (_END, ""), since)
                items += [one for one in _answers(rows, wanted) if one.id not in told]
            items.sort(key=lambda one: one.at)
            last = page.rows[-1].position if page.rows else position.feed
            return ActivityNews(_with_memories(tx, principal, items), FollowPosition(last, now), False)

        news = self._store.read(principal.tenant, work)
        self._note(principal, news.items)
        return news

    def _note(self, principal: Principal, items: Iterable[Happening]) -> None:
        seen = [one.memory for one in items if one.memory is not None]
        note_reading(self._store, principal, seen, self._clock.now())


# Changes


def _changes_back(
    tx: Reader, principal: Principal, wanted: ActivityFilter, start: FeedPosition, limit: int
) -> _Back[FeedPosition]:
    if not wanted.has_changes or start == _EVENTS_OVER:
        return _Back(start, (), None, _EVENTS_OVER)
    slices = access.visible_slices(principal)
    found: list[tuple[datetime, FeedPosition, Happening]] = []
    at, position, looked = _END, start, 0
    while looked < _EVENTS and len(found) < limit:
        rows = tx.feed.back(position, _AT_ONCE)
        for row in rows:
            # In the order of the commits, which is not quite that of the clocks of those who wrote.
            at = min(at, row.at)
            if wanted.since is not None and at < wanted.since:
                return _Back(start, found, None, _EVENTS_OVER)
            if _is_wanted(row, slices, wanted):
                found.append((at, row.position, _change(row)))
        if len(rows) < _AT_ONCE:
            return _Back(start, found, None, _EVENTS_OVER)
        position, looked = rows[-1].position, looked + len(rows)
    return _Back(start, found, (position, at), _EVENTS_OVER)


def _is_wanted(row: FeedRow, slices: Sequence[OwnerFilter], wanted: ActivityFilter) -> bool:
    is_kind = wanted.what in ("", CHANGES, row.event_type)
    return is_kind and row.is_change and row.is_in(slices) and _is_by(row, wanted.who)


def _is_by(row: FeedRow, who: str) -> bool:
    if not who or row.actor == who:
        return True
    if isinstance(row.owner, HiddenOwner):
        return row.owner.is_in(OwnerFilter(who, any_agent=True))
    return row.owner is not None and who in (row.owner.user, row.owner.agent)


def _change(row: FeedRow) -> Happening:
    id_ = f"{row.position.change}-{row.position.seq}"
    owner = row.owner if isinstance(row.owner, Owner) else Owner()
    return Happening(id_, row.event_type, row.at, row.actor, row.source, row.memory_id, owner)


# Recalls


def _recalls_back(tx: Reader, principal: Principal, wanted: ActivityFilter, start: _Asked) -> _Back[_Asked]:
    if not wanted.has_recalls or start == _RECALLS_OVER:
        return _Back(start, (), None, _RECALLS_OVER)
    rows, is_full = _recall_rows(tx, principal, start, wanted.since or _BEGINNING)
    last = (rows[-1].at, rows[-1].id) if is_full else None
    whole = [row for row in rows if (row.at, row.id) != last]
    if is_full and not whole:  # One answer with more memories than are looked at.
        whole = rows
    found = [(one.at, (one.at, one.id), one) for one in _answers(whole, wanted)]
    end = ((whole[-1].at, whole[-1].id), whole[-1].at) if is_full else None
    return _Back(start, found, end, _RECALLS_OVER)


def _recall_rows(tx: Reader, principal: Principal, before: _Asked, since: datetime) -> tuple[list[PastRecall], bool]:
    """The newest of them, and whether there may be more."""
    found = [tx.recalls.back(part, before, since, _RECALLS) for part in access.followed_slices(principal)]
    rows = sorted((row for part in found for row in part), key=lambda row: (row.at, row.id), reverse=True)
    return rows[:_RECALLS], len(rows) >= _RECALLS


def _answers(rows: Iterable[PastRecall], wanted: ActivityFilter) -> list[Happening]:
    return [
        _answer(list(together))
        for _, together in groupby(
            (row for row in rows if not wanted.who or wanted.who in (row.user, row.agent)), key=lambda row: row.id
        )
    ]


def _answer(rows: Sequence[PastRecall]) -> Happening:
    first = min(rows, key=lambda row: row.rank)
    owner = Owner(first.user, first.agent)
    by = first.agent or first.user
    return Happening(
        first.id, RECALLED, first.at, by, first.source, first.memory_id, owner, None, first.query, len(rows)
    )


# Texts


def _with_memories(tx: Reader, principal: Principal, items: Sequence[Happening]) -> tuple[Happening, ...]:
    memories = {one.id: one for one in tx.memories.get_many([one.memory_id for one in items])}
    seen = {id_: one for id_, one in memories.items() if _is_seen(principal, one)}
    return tuple(replace(one, memory=seen.get(one.memory_id)) for one in items)


def _is_seen(principal: Principal, memory: Memory) -> bool:
    return memory.anonymized_at is None and access.is_shown(principal, memory, in_use=memory.status.in_use)
