"""What memories can be narrowed down to, and how many there are of each; see views.browsing.

Counting reads an index, for a few hundredths of a second at most. What was counted is kept for a moment, until this
process writes something of the tenant, and longer while nobody else wrote: who narrows a list down step by step counts
once, and what there was no time for is counted the next time.
"""

import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache

from memorist.memories.values import Status
from memorist.platform import access, folding
from memorist.platform.values import FeedPosition, Owner, Principal
from memorist.ports import Reader, Store
from memorist.times import Clock
from memorist.views.values import Browse, FacetRow, Facets, ProjectRow

_GROUPS = 100
"""Counted at once, so that the time is looked at often enough."""
_PROJECT_ROWS = 400
_MOST_PROJECTS = 50
# Other processes write too, and memories expire.
_KEPT_S = 5.0
_KEPT_UNCHANGED_S = 60.0
_MOST_KEPT = 64

_FACETS = ("state", "profile", "category", "kind", "trust")

_Users = tuple[tuple[str | None, bool, bool], ...]
"""Each user, whether it is all of them, and whether their entries count."""


@dataclass(frozen=True, slots=True)
class _CountedFacets:
    """All combinations among some users' memories, as far as there was time, and their first projects."""

    rows: tuple[FacetRow, ...]
    projects: tuple[ProjectRow, ...]
    until: float
    last: float
    """When it is counted anew though nobody wrote."""
    head: FeedPosition
    left: _Users
    """Whose are still to be counted; of the first of them, those after the last row."""
    left_projects: _Users
    """Whose projects are still to be read, likewise."""

    @property
    def is_complete(self) -> bool:
        return not self.left and not self.left_projects


class FacetCounts:
    def __init__(self, store: Store, clock: Clock, *, budget_s: float) -> None:
        self._store = store
        self._clock = clock
        self._budget_s = budget_s
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, _Users], _CountedFacets] = OrderedDict()
        self._writes: Counter[str] = Counter()
        store.on_write(self._written)

    def of(self, principal: Principal, browse: Browse) -> Facets:
        """What a caller's memories can be narrowed down to."""
        visible = access.visible_slices(principal)
        users = tuple(dict.fromkeys((part.user, part.any_user, part.entries) for part in visible))
        counted = self._counted(principal.tenant, users)
        slices = {status.value: access.slices_of(principal, in_use=status.in_use) for status in Status}

        @cache
        def shows(user: str, agent: str, status: str) -> bool:
            owner = Owner(user or None, agent or None)
            return any(part.matches(owner) for part in slices[status])

        seen = [row for row in counted.rows if shows(row.user, row.agent, row.status)]
        projects = {row.project for row in counted.projects if shows(row.user, row.agent, row.status)}
        first = sorted(projects, key=folding.fold)[:_MOST_PROJECTS]
        return Facets(_tally(seen, browse), tuple(first), counted.is_complete)

    def _counted(self, tenant: str, users: _Users) -> _CountedFacets:
        with self._lock:
            kept = self._kept.get((tenant, users))
            writes = self._writes[tenant]
        if kept is not None and time.monotonic() > kept.until and not self._is_true(tenant, kept):
            kept = None
        if kept is not None and kept.is_complete:
            return kept
        now = self._clock.now()
        counted = self._store.read(tenant, lambda tx: _count(tx, users, kept, now, self._budget_s))
        with self._lock:
            # What was written meanwhile may be missing from it.
            if self._writes[tenant] == writes:
                self._kept[tenant, users] = counted
                while len(self._kept) > _MOST_KEPT:
                    self._kept.popitem(last=False)
        return counted

    def _is_true(self, tenant: str, kept: _CountedFacets) -> bool:
        """Whether nobody wrote since, and it is not long ago."""
        return time.monotonic() < kept.last and self._store.read(tenant, lambda tx: tx.feed.head()) == kept.head

    def _written(self, tenant: str) -> None:
        with self._lock:
            self._writes[tenant] += 1
            for key in [key for key in self._kept if key[0] == tenant]:
                del self._kept[key]


def _count(tx: Reader, users: _Users, before: _CountedFacets | None, now: datetime, budget_s: float) -> _CountedFacets:
    """Count on from what was counted before, as far as the time allows."""
    until = time.perf_counter() + budget_s
    if before is None:
        at = time.monotonic()
        before = _CountedFacets((), (), at + _KEPT_S, at + _KEPT_UNCHANGED_S, tx.feed.head(), users, users)
    projects, left_projects = _more_projects(tx, before, until - budget_s / 2)
    rows = list(before.rows)
    left = before.left
    after = rows[-1] if rows and left and _is_of(rows[-1], left[0]) else None
    while left:
        user, any_user, entries = left[0]
        some = tx.browsing.count_facets(user, after, now, _GROUPS, any_user=any_user, entries=entries)
        rows += some
        left, after = (left, some[-1]) if len(some) == _GROUPS else (left[1:], None)
        if time.perf_counter() > until:
            break
    return replace(before, rows=tuple(rows), left=left, projects=tuple(projects), left_projects=left_projects)


def _more_projects(tx: Reader, before: _CountedFacets, until: float) -> tuple[list[ProjectRow], _Users]:
    """Every project with whose it is and its state, and whose are left: who may see it is another question."""
    found = list(before.projects)
    left = before.left_projects
    after = found[-1] if found and left and _is_of(found[-1], left[0]) else ProjectRow()
    while left:
        user, any_user, _ = left[0]
        position = tx.browsing.next_project(user, after, any_user=any_user)
        if position is None:
            left, after = left[1:], ProjectRow()
        else:
            found.append(position)
            after = position
        if len(found) >= _PROJECT_ROWS:
            return found, ()
        if time.perf_counter() > until:
            break
    return found, left


def _is_of(row: FacetRow | ProjectRow, whose: tuple[str | None, bool, bool]) -> bool:
    user, any_user, _ = whose
    return any_user or row.user == (user or "")


def _tally(rows: Sequence[FacetRow], browse: Browse) -> dict[str, dict[str, int]]:
    """Each value counts where nothing but its own facet says otherwise."""
    wanted = [
        set(map(str, browse.statuses)),
        _only(browse.agent),
        _only(browse.category),
        _only(browse.kind),
        _only(browse.trust),
    ]
    counts: list[Counter[str]] = [Counter() for _ in wanted]
    for _, status, kind, category, trust, agent, memories in rows:
        values = (status, agent, category, kind, trust)
        missed = [index for index, chosen in enumerate(wanted) if chosen and values[index] not in chosen]
        if len(missed) <= 1:
            for index in missed or range(len(wanted)):
                counts[index][values[index]] += memories
    return dict(zip(_FACETS, map(dict, counts), strict=True))


def _only(value: str | None) -> set[str]:
    return set() if value is None else {value}
