"""What happened lately: what was done to facts, and what was said today."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from memorist.memories.entries import note_reading
from memorist.memories.values import Kind, Memory
from memorist.platform import access
from memorist.platform.values import FeedRow, Principal
from memorist.ports import Reader, Store
from memorist.times import Clock
from memorist.views.browsing import Browsing
from memorist.views.conversations import said_at, title_of
from memorist.views.values import Browse

_LOOKED_AT = 2000
_MESSAGES = 100


@dataclass(frozen=True, slots=True)
class LatestChange:
    """What was last done to a fact, as an event is called; where another took its place, that one."""

    what: str
    at: datetime
    memory: Memory
    by: Memory | None = None


@dataclass(frozen=True, slots=True)
class Talk:
    """What was said in a session today: its first words, how many messages, the last of them, and whether there may be
    more."""

    session: str
    title: str
    messages: int
    last: Memory
    is_counted: bool


class Latest:
    def __init__(self, store: Store, clock: Clock, browsing: Browsing) -> None:
        self._store = store
        self._clock = clock
        self._browsing = browsing

    def changes(self, principal: Principal, *, limit: int) -> list[LatestChange]:
        """The last change of each fact that the caller sees, newest first, among the last events of its tenant."""
        slices = access.visible_slices(principal)

        def work(tx: Reader) -> list[LatestChange]:
            rows = list(_one_each(tx.feed.last(_LOOKED_AT)))
            mine = [row for row in rows if row.is_in(slices)][: 2 * limit]
            found = {one.id: one for one in tx.memories.get_many([row.memory_id for row in mine])}
            others = [one.superseded_by for one in found.values() if one.superseded_by is not None]
            found |= {one.id: one for one in tx.memories.get_many(others)}
            return [_change(row, found) for row in mine if row.memory_id in found]

        seen = [one for one in self._store.read(principal.tenant, work) if _is_shown(principal, one)][:limit]
        note_reading(self._store, principal, [one.memory for one in seen], self._clock.now())
        return seen

    def talks(self, principal: Principal) -> list[Talk]:
        """Sessions in which something was said today (UTC) that the caller sees, the last first.

        What is stored today and was said before, as by an import, is not of today.
        """
        today = self._clock.now().astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        page = self._browsing.page(principal, Browse(kind=Kind.CHAT_MESSAGE, since=today), limit=_MESSAGES)
        talks: dict[tuple[str | None, str], list[Memory]] = {}
        for message in page.items:
            if message.session and said_at(message) >= today:
                talks.setdefault((message.user, message.session), []).append(message)
        is_counted = page.next_cursor is None
        return [Talk(key, title_of(said[::-1]), len(said), said[0], is_counted) for (_, key), said in talks.items()]


def _one_each(rows: Sequence[FeedRow]) -> Iterator[FeedRow]:
    """The last event of each memory."""
    seen: set[str] = set()
    for row in rows:
        if row.memory_id not in seen:
            seen.add(row.memory_id)
            yield row


def _change(row: FeedRow, found: dict[str, Memory]) -> LatestChange:
    memory = found[row.memory_id]
    by = found.get(memory.superseded_by) if memory.superseded_by is not None else None
    return LatestChange(row.event_type, row.at, memory, by)


def _is_shown(principal: Principal, change: LatestChange) -> bool:
    return all(
        access.is_shown(principal, one, in_use=one.status.in_use)
        for one in (change.memory, change.by)
        if one is not None
    )
