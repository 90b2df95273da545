"""What time will bring to memories, day by day: as the policy has it, and whether it is done or only told."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from memorist.memories.entries import note_reading
from memorist.memories.policies import Policies
from memorist.memories.policy import ComingMove, ComingSpan, Move, PolicyRevision, Reach
from memorist.memories.values import Governor, Memory
from memorist.platform import access
from memorist.platform.paging import Cursors, Page, id_part, moment_part
from memorist.platform.values import Principal
from memorist.ports import Reader, Store
from memorist.times import Clock, to_micros

MOST_A_DAY = 500
"""Moves of a day that are counted, for each way in which they come; one more says that there are more."""
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)

_CURSORS: Cursors[tuple[datetime, str]] = Cursors(
    "coming", lambda last: (to_micros(last[0]), last[1]), lambda at, id_: (moment_part(at), id_part("mem", id_))
)


@dataclass(frozen=True, slots=True)
class ComingDay:
    """How many memories each move comes to on a day (UTC), or before it where they are overdue.

    `is_done`: all are moved then; otherwise only those with an end of their own, and those whose door promised it.
    """

    day: date
    counts: Mapping[Move, int]
    is_done: bool

    @property
    def total(self) -> int:
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True)
class ComingMonth:
    """The days of a month that are not over, and what is overdue today. `acts_from`: when a preview ends by itself;
    `is_settled`: whether every memory has the dates of the policy in force.
    """

    days: tuple[ComingDay, ...]
    overdue: ComingDay
    reach: Reach
    acts_from: datetime | None
    is_settled: bool


@dataclass(frozen=True, slots=True)
class ComingStep:
    """What comes to a memory, when, and whether it is done then."""

    move: Move
    at: datetime
    memory: Memory
    is_done: bool


class ComingMoves:
    def __init__(self, store: Store, clock: Clock, policies: Policies) -> None:
        self._store = store
        self._clock = clock
        self._policies = policies

    def month(self, principal: Principal, first: date) -> ComingMonth:
        """What comes to the memories that the caller sees, each counted on the day of its next move."""
        today = self._clock.now().astimezone(UTC).date()
        after = (first.replace(day=28) + timedelta(days=4)).replace(day=1)
        days = [first + timedelta(days=number) for number in range((after - first).days)]

        def work(tx: Reader) -> ComingMonth:
            revision = self._policies.in_force(tx)
            return ComingMonth(
                tuple(self._day(tx, principal, revision, day) for day in days if day >= today),
                self._day(tx, principal, revision, today, overdue=True),
                revision.reach(self._clock.now()),
                revision.acts_from,
                self._policies.is_settled(tx),
            )

        return self._store.read(principal.tenant, work)

    def _day(
        self, tx: Reader, principal: Principal, revision: PolicyRevision, day: date, *, overdue: bool = False
    ) -> ComingDay:
        now = self._clock.now()
        counts: Counter[Move] = Counter()
        for span in self._spans(principal, revision, day, overdue=overdue):
            counts.update(tx.aging.count_coming(span, MOST_A_DAY + 1))
        is_done = revision.reach(max(now, _midnight(day))) is Reach.ALL or counts.keys() <= {Move.EXPIRED}
        return ComingDay(day, dict(sorted(counts.items())), is_done)

    def _spans(self, principal: Principal, revision: PolicyRevision, day: date, *, overdue: bool) -> list[ComingSpan]:
        """One for each slice that the caller sees: from now on, where the day is today."""
        now = self._clock.now()
        start, end = (_BEGINNING, now) if overdue else (max(now, _midnight(day)), _midnight(day) + timedelta(days=1))
        wait = timedelta(days=revision.policy.anonymize_after_days)
        recoverable = access.recoverable_slices(principal)
        return [
            ComingSpan(part, start, end, wait, deleted=part in recoverable) for part in access.visible_slices(principal)
        ]

    def day(
        self, principal: Principal, day: date, *, overdue: bool = False, limit: int = 20, cursor: str | None = None
    ) -> Page[ComingStep]:
        """A page of what comes on a day or, where it is overdue, came before now. Raises InvalidCursor."""
        asked = (principal.tenant, day, overdue)
        last = _CURSORS.decode(cursor, asked)

        def work(tx: Reader) -> Page[ComingStep]:
            revision = self._policies.in_force(tx)
            found: list[ComingMove] = []
            for span in self._spans(principal, revision, day, overdue=overdue):
                at, id_ = last or (span.after, "")
                wanted = ComingSpan(span.owner, at, span.until, span.anonymize_after, id_, span.deleted)
                found += tx.aging.list_coming(wanted, limit + 1)
            found = sorted(found, key=lambda one: (one.at, one.memory_id))[: limit + 1]
            memories = {one.id: one for one in tx.memories.get_many([one.memory_id for one in found[:limit]])}
            steps = [
                ComingStep(
                    one.move, one.at, memories[one.memory_id], _is_done(revision, one, memories[one.memory_id], now)
                )
                for one in found[:limit]
                if one.memory_id in memories
            ]
            more = (
                _CURSORS.encode((found[limit - 1].at, found[limit - 1].memory_id), asked)
                if len(found) > limit
                else None
            )
            return Page(tuple(steps), more)

        now = self._clock.now()
        page = self._store.read(principal.tenant, work)
        note_reading(self._store, principal, [one.memory for one in page.items], now)
        return page


def _is_done(revision: PolicyRevision, move: ComingMove, memory: Memory, now: datetime) -> bool:
    reach = revision.reach(max(now, move.at))
    if move.move is Move.EXPIRED or reach is Reach.ALL:
        return True
    is_promised = reach is Reach.PROMISED and memory.governed_by is Governor.LIFECYCLE
    return is_promised and move.move is not Move.ANONYMIZED


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time.min, UTC)
