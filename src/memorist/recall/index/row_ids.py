"""The ids of a shelf's rows, by place, and back."""

from collections.abc import Sequence

import numpy as np

from memorist.recall.index.columns import Array

_FEW = 2048


class RowIds:
    """Ids that are only ever added at the end. Of one that was added twice, the later place counts.

    Most are in one array, which a file may hold; those added last are in a list until they are many. Whoever reads
    takes both at once, so that a reader is never disturbed by a writer.
    """

    __slots__ = ("_state",)

    def __init__(self, settled: Array | None = None, order: Array | None = None) -> None:
        """`order` sorts what is settled; None where it is sorted."""
        empty = np.zeros(0, dtype="S1") if settled is None else settled
        self._state: tuple[Array, Array | None, list[str], dict[str, int]] = (empty, order, [], {})

    def __len__(self) -> int:
        settled, _, late, _ = self._state
        return settled.size + len(late)

    def __getitem__(self, place: int) -> str:
        settled, _, late, _ = self._state
        return settled[place].decode() if place < settled.size else late[place - settled.size]

    def place_of(self, memory_id: str) -> int | None:
        place = int(self.places_of([memory_id])[0])
        return None if place < 0 else place

    def places_of(self, ids: Sequence[str]) -> Array:
        """The place of each; -1 where there is none."""
        settled, order, _, late_places = self._state
        found = np.full(len(ids), -1, dtype=np.int64)
        if settled.size:
            # What is longer would be cut, and then found.
            fitting = [number for number, one in enumerate(ids) if len(one) <= settled.dtype.itemsize]
            keys = np.array([ids[number] for number in fitting], dtype=settled.dtype)
            last = np.maximum(np.searchsorted(settled, keys, side="right", sorter=order) - 1, 0)
            places = last if order is None else order[last]
            found[fitting] = np.where(settled[places] == keys, places, -1)
        if late_places:
            for number, one in enumerate(ids):
                found[number] = late_places.get(one, found[number])
        return found

    def extend(self, ids: Sequence[str]) -> None:
        settled, _, late, late_places = self._state
        start = settled.size + len(late)
        late += ids
        late_places.update(zip(ids, range(start, start + len(ids)), strict=True))
        if len(late) > max(_FEW, settled.size // 8):
            self.settle()

    def settle(self) -> None:
        """Take the list into the array."""
        before, _, late, _ = self._state
        if late:
            settled = np.concatenate([before, np.array(late, dtype="S")])
            is_sorted = bool((settled[:-1] < settled[1:]).all())
            order = None if is_sorted else np.argsort(settled, kind="stable").astype(np.int32)
            self._state = (settled, order, [], {})

    def settled(self) -> tuple[Array, Array | None]:
        """All of them as one array, and what sorts it."""
        self.settle()
        return self._state[:2]

    def size_bytes(self) -> int:
        settled, order, late, _ = self._state
        # About 300 bytes for a text, and its place in the dictionary.
        return settled.nbytes + (0 if order is None else order.nbytes) + 300 * len(late)
