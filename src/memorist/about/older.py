"""Of facts beyond the newest the best of each topic: many newer ones about other things do not push them out.

All older facts are read once, and from then on those that leave the newest; what was chosen is read again every time,
so that nothing is told that was edited, retired or erased since.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from memorist.about.lines import is_of_profile, ordered
from memorist.about.values import ProfileLine
from memorist.memories.positions import position_of
from memorist.memories.values import Memory, Position, Query
from memorist.platform.values import Principal
from memorist.ports import Reader, Store
from memorist.times import Clock

_MOST_KEPT = 64
_FEW = 50
"""Facts that leave the newest are read so many at a time."""

_KEPT_FOR = timedelta(hours=1)
"""What was restored or imported among older facts is seen after that long."""


class _Chosen(NamedTuple):
    since: Position
    """The last of the newest facts when it was chosen."""

    ids: tuple[str, ...]
    at: datetime


class OlderFacts:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._chosen: dict[object, _Chosen] = {}

    def forget(self) -> None:
        self._chosen = {}

    def best(
        self,
        principal: Principal,
        query: Query,
        newest: Sequence[Memory],
        *,
        most: int,
        limit: int,
        lines_of: Callable[[Sequence[Memory]], list[ProfileLine]],
        what: object,
    ) -> list[Memory]:
        """The best `limit` of each person and topic among the `most` facts that come after the newest in the query;
        `what` says beside the query what is chosen by.
        """
        now = self._clock.now()
        key = (principal.tenant, query, most, limit, what)
        before = self._chosen.get(key)
        if before is not None and now - before.at > _KEPT_FOR:
            before = None
        since = position_of(newest[-1])

        def work(tx: Reader) -> tuple[list[Memory], bool]:
            if before is not None:
                again = [one for one in tx.memories.get_many(before.ids) if one.is_current(now)]
                if len(again) == len(before.ids):
                    few = replace(query, limit=_FEW)
                    return [*_after(tx, few, since, before.since, most, now), *again], True
            return _after(tx, query, since, None, most, now), False

        found, is_kept = self._store.read(principal.tenant, work)
        told = {one.id for one in newest}
        by_id = {one.id: one for one in found if one.id not in told and is_of_profile(one)}
        chosen = [by_id[one] for one in _best(lines_of(list(by_id.values())), limit)]
        if key not in self._chosen and len(self._chosen) >= _MOST_KEPT:
            self._chosen = {}
        at = before.at if before is not None and is_kept else now
        self._chosen[key] = _Chosen(since, tuple(one.id for one in chosen), at)
        return chosen


def _after(tx: Reader, query: Query, since: Position, until: Position | None, most: int, now: datetime) -> list[Memory]:
    """What comes after a position, up to another one that may come before it."""
    found: list[Memory] = []
    page = [] if until is not None and _is_after(since, until) else tx.memories.page(replace(query, after=since), now)
    while page:
        found += [one for one in page if until is None or not _is_after(position_of(one), until)]
        last = position_of(page[-1])
        is_last = len(page) < query.limit or len(found) >= most or (until is not None and _is_after(last, until))
        page = [] if is_last else tx.memories.page(replace(query, after=last), now)
    return found[:most]


def _is_after(one: Position, other: Position) -> bool:
    """Whether it is at least as old."""
    return (one.created_at, one.id) <= (other.created_at, other.id)


def _best(lines: Sequence[ProfileLine], limit: int) -> list[str]:
    by_topic: dict[tuple[str, str], list[ProfileLine]] = {}
    for line in lines:
        by_topic.setdefault((line.person, line.topic), []).append(line)
    return [line.memory_id for found in by_topic.values() for line in ordered(found)[:limit]]
