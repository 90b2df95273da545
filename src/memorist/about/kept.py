"""What is made of a user's facts, kept in memory until one of these facts changes."""

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, TypeVar

from memorist.memories.values import Kind
from memorist.platform.values import OwnerFilter, Principal
from memorist.ports import Reader, Store
from memorist.recall.values import IndexPosition
from memorist.times import Clock

T = TypeVar("T")

_MOST_KEPT = 64
_MOST_FOLLOWED = 200


class _Kept(NamedTuple):
    value: Any
    change: int
    """Up to which change of the user's memories it is true."""
    counts: tuple[int, ...]


class KeptViews:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._kept: dict[Hashable, _Kept] = {}

    def of(self, principal: Principal, slices: tuple[OwnerFilter, ...], what: Hashable, make: Callable[[], T]) -> T:
        """The value of that name for these owners: as it was made before, or made now. Raises as `make` does."""
        key = (principal.tenant, slices, what)
        kept = self._kept.get(key)
        now = self._clock.now()

        def work(tx: Reader) -> tuple[int, tuple[int, ...], bool]:
            # What is written has a new number; what ended or was erased, here or elsewhere, is counted no more.
            facts = tuple(tx.overview.count_facts(part, now) for part in slices)
            change = tx.index.watermark(principal.user)
            is_true = (
                kept is not None and kept.counts == facts and _no_fact_since(tx, principal.user, kept.change, change)
            )
            return change, facts, is_true

        change, facts, is_true = self._store.read(principal.tenant, work)
        value: T = kept.value if kept is not None and is_true else make()
        if key not in self._kept and len(self._kept) >= _MOST_KEPT:
            self._kept = {}
        self._kept[key] = _Kept(value, change, facts)
        return value

    def forget(self) -> None:
        self._kept = {}


def _no_fact_since(tx: Reader, user: str | None, before: int, now: int) -> bool:
    """Whether no fact of the user's is among what changed between the two; users share counters."""
    if before == now:
        return True
    (page,) = tx.index.follow([IndexPosition(user, before)], _MOST_FOLLOWED)
    return len(page.rows) < _MOST_FOLLOWED and all(row.kind != Kind.FACT for row in page.rows)
