"""An overview: how many memories there are and of what kind, how they grew, what waits, and who there is.

Counting reads an index from one end to the other, so that what was counted is kept for a moment: until somebody writes
here, and for at most some seconds, since others may write elsewhere. However long counting takes, one's own writes are
seen at once. How memories grew is no different for one more: what takes long to count is counted in the background.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Generic, TypeVar

from memorist.memories.policies import Policies
from memorist.memories.policy import Mode
from memorist.memories.values import Kind, Status
from memorist.platform import access, folding
from memorist.platform.loop import Loop
from memorist.platform.values import JobStatus, Owner, OwnerFilter, Principal, SignIn
from memorist.ports import Reader, Store
from memorist.times import Clock
from memorist.views.values import DayCount, KindCount, OwnerCount

MOST = 1000
"""What could be long is counted up to here; one more says that there are more."""

_OWNERS = 20
_LOOKED_AT = 100
_SESSIONS = 20
_KEPT_S = 10.0
_NEVER_S = 86_400.0
_MOST_KEPT = 1000
# Counting takes a hundredth of the time at most.
_COSTLY_S = 0.05
_COUNTING_SHARE = 100
_OUTDATED_S = 600.0

_NOBODY = Owner()

_Key = tuple[str, tuple[OwnerFilter, ...]]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Totals:
    """What a caller sees, counted."""

    counts: tuple[KindCount, ...]

    @property
    def memories(self) -> int:
        return sum(one.count for one in self.counts)

    def of_status(self, status: Status) -> int:
        return sum(one.count for one in self.counts if one.status is status)

    def active_of(self, kind: Kind) -> int:
        return sum(one.count for one in self.counts if one.status is Status.ACTIVE and one.kind is kind)


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits, for a machine or for somebody; a count above MOST stands for more than that.

    `mode` and `report` are the sweeper's, and only told to admins, as is when the observation window ends.
    """

    vectors: int
    jobs: Mapping[JobStatus, int]
    doubts: int
    mode: Mode | None = None
    report: Mapping[str, Any] | None = None
    reported_at: datetime | None = None
    acts_from: datetime | None = None

    @property
    def due(self) -> dict[str, int]:
        """How many memories each move would touch, that the sweeper's last report found due."""
        found = (self.report or {}).get("due", {})
        return {move: sum(counts.values()) for move, counts in found.items()}


@dataclass(frozen=True, slots=True)
class OwnerPage:
    """Owners of memories, in the order of their names; `next` is the last one's where there are more."""

    items: tuple[OwnerCount, ...]
    next: Owner | None


@dataclass(frozen=True, slots=True)
class _Counted(Generic[T]):
    found: T
    at: float
    took: float
    writes: int


class Overview:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        policies: Policies,
        embeds: Callable[[], bool],
        *,
        monotonic: Callable[[], float] = time.monotonic,
        background: bool = True,
    ) -> None:
        """`embeds` says whether memories get vectors here: where they do not, none waits for them."""
        self._store = store
        self._clock = clock
        self._policies = policies
        self._embeds = embeds
        self._monotonic = monotonic
        self._totals: dict[_Key, _Counted[Totals]] = {}
        self._growth: dict[_Key, _Counted[tuple[DayCount, ...]]] = {}
        self._writes: dict[str, int] = {}
        self._background = background
        self._due: dict[_Key, None] = {}
        self._loop = Loop("overview", self._recount, _NEVER_S, background=background)
        store.on_write(self._note_write)

    def close(self) -> None:
        self._loop.close()

    def totals(self, principal: Principal, *, fresh: bool = False) -> Totals:
        """What the caller sees, counted now or, unless it must be `fresh`, a moment ago. Raises StoreError."""
        key = (principal.tenant, access.visible_slices(principal))
        before = self._totals.get(key)
        if before is not None and not fresh and self._holds(before, principal.tenant):
            return before.found
        return self._count_now(self._totals, key, self._count)

    def growth(self, principal: Principal, *, fresh: bool = False) -> tuple[DayCount, ...]:
        """What the caller sees, by the day it was written on and by its kind, likewise; counts that took long are kept
        longer, whatever is written meanwhile, and given once more while they are counted anew.
        """
        key = (principal.tenant, access.visible_slices(principal))
        before = self._growth.get(key)
        if before is None or fresh:
            return self._count_now(self._growth, key, _count_days)
        age = self._monotonic() - before.at
        if self._holds(before, principal.tenant) or (before.took > _COSTLY_S and age < _COUNTING_SHARE * before.took):
            return before.found
        if before.took <= _COSTLY_S or age > _OUTDATED_S or not self._background:
            return self._count_now(self._growth, key, _count_days)
        self._due[key] = None
        self._loop.start()
        self._loop.wake()
        return before.found

    def _recount(self) -> None:
        while self._due and not self._loop.stopping:
            key, _ = self._due.popitem()
            self._count_now(self._growth, key, _count_days)

    def _count_now(
        self, kept: dict[_Key, "_Counted[T]"], key: _Key, count: Callable[[tuple[OwnerFilter, ...], Reader], T]
    ) -> T:
        tenant, slices = key
        writes, began = self._writes.get(tenant, 0), self._monotonic()
        found = self._store.read(tenant, partial(count, slices))
        if len(kept) >= _MOST_KEPT:
            kept.clear()
        now = self._monotonic()
        kept[key] = _Counted(found, now, now - began, writes)
        return found

    def waiting(self, principal: Principal) -> Waiting:
        """What waits, as far as it concerns the caller. Raises StoreError."""
        return self._store.read(principal.tenant, partial(self._find_waiting, principal))

    def owners(self, principal: Principal, after: Owner = _NOBODY) -> OwnerPage:
        """A page of those who have memories in the tenant. Raises Forbidden."""
        access.require(principal, access.Action.ADMINISTER)
        found = self._store.read(principal.tenant, lambda tx: tx.overview.list_owners(after, _OWNERS + 1, MOST + 1))
        items = tuple(found[:_OWNERS])
        return OwnerPage(items, items[-1].owner if len(found) > _OWNERS else None)

    def find_owners(self, principal: Principal, text: str) -> list[OwnerCount]:
        """Who has memories in the tenant and is called so, as a user or as an agent: those whose user begins with it,
        then those among the first owners in whose name it is; without a text the first. Raises Forbidden.
        """
        access.require(principal, access.Action.ADMINISTER)
        folded = folding.fold(text)

        def work(tx: Reader) -> list[OwnerCount]:
            beginning = tx.overview.list_owners(_just_before(text), _OWNERS, MOST + 1) if text else []
            found = [one for one in beginning if (one.owner.user or "").startswith(text)]
            for one in tx.overview.list_owners(_NOBODY, _LOOKED_AT if text else _OWNERS, MOST + 1):
                names = (one.owner.user or "", one.owner.agent or "")
                if one not in found and any(folded in folding.fold(name) for name in names):
                    found.append(one)
            return found[:_OWNERS]

        return self._store.read(principal.tenant, work)

    def sessions(self, principal: Principal) -> Sequence[SignIn]:
        """Who is signed in to the dashboard, the newest few first. Raises Forbidden."""
        access.require(principal, access.Action.ADMINISTER)
        return self._store.read(principal.tenant, lambda tx: tx.sign_ins.sessions(self._clock.now(), _SESSIONS))

    def _note_write(self, tenant: str) -> None:
        self._writes[tenant] = self._writes.get(tenant, 0) + 1

    def _holds(self, kept: "_Counted[Any]", tenant: str) -> bool:
        return kept.writes == self._writes.get(tenant, 0) and self._monotonic() - kept.at < _KEPT_S

    def _count(self, slices: tuple[OwnerFilter, ...], tx: Reader) -> Totals:
        now = self._clock.now()
        return Totals(tuple(one for part in slices for one in tx.overview.count_kinds(part, now)))

    def _find_waiting(self, principal: Principal, tx: Reader) -> Waiting:
        visible = access.visible_slices(principal)
        now = self._clock.now()
        users = {(part.any_user, part.user): part for part in visible}.values()
        found = Waiting(
            vectors=sum(tx.overview.count_waiting(part, MOST + 1) for part in users) if self._embeds() else 0,
            jobs=_add_up([tx.jobs.count(part, MOST + 1) for part in access.followed_slices(principal)]),
            doubts=sum(_count_doubts(tx, part, visible, now) for part in visible),
        )
        if not access.allows(principal, access.Action.ADMINISTER):
            return found
        state = tx.aging.get_sweep()
        revision = self._policies.in_force(tx)
        return Waiting(
            found.vectors,
            found.jobs,
            found.doubts,
            revision.reach(now).mode,
            None if state is None else state.report,
            None if state is None else state.reported_at,
            revision.acts_from,
        )


def _add_up(counts: Sequence[Mapping[JobStatus, int]]) -> dict[JobStatus, int]:
    return {status: sum(one[status] for one in counts) for status in JobStatus}


def _just_before(text: str) -> Owner:
    """An owner before all whose user begins with a text, and after almost all others before it."""
    return Owner(f"{text[:-1]}{chr(max(ord(text[-1]) - 1, 1))}\uffff")


def _count_doubts(tx: Reader, part: OwnerFilter, visible: Sequence[OwnerFilter], now: datetime) -> int:
    """Those of which the caller sees both facts: a doubt is its older fact's owner's, the newer may be another's."""
    return sum(
        count
        for *owners, count in tx.facts.count_open_doubts(part, MOST + 1, now)
        if all(any(one.matches(owner) for one in visible) for owner in owners)
    )


def _count_days(slices: tuple[OwnerFilter, ...], tx: Reader) -> tuple[DayCount, ...]:
    return tuple(sorted(one for part in slices for one in tx.overview.count_days(part)))
