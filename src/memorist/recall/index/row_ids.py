"""The ids of a shelf's rows, by place, and back."""

from collections.abc import Sequence

import numpy as np

from memorist.recall.index.columns import Array
from memorist.recall.index.snapshot import Snapshot

_FEW = 2048


class RowIds:
    """Ids that are only ever added at the end. Of one that was added twice, the later place counts.

    Most are in one array, which a file may hold; those added last are in a list until they are many. Whoever reads
    takes both at once, so that a reader is never disturbed by a writer.
    """

    __slots__ = ("_is_mapped", "_state")

    def __init__(self) -> None:
        # What sorts the array comes second; None where it is sorted.
        self._state: tuple[Array, Array | None, list[str], dict[str, int]] = (np.zeros(0, dtype="S1"), None, [], {})
        self._is_mapped = False

    def __len__(self) -> int:
        settled, _, late, _ = self._state
        return settled.size + len(late)

    def __getitem__(self, place: int) -> str:
        settled, _, late, _ = self._state
        return settled[place].decode() if place < settled.size else late[place - settled.size]

    def at(self, places: Sequence[int]) -> list[str]:
        """Several at once."""
        settled, _, late, _ = self._state
        count = settled.size
        if late and max(places, default=0) >= count:
            return [settled[place].decode() if place < count else late[place - count] for place in places]
        ids: list[bytes] = settled[places].tolist() if len(places) else []
        return [one.decode() for one in ids]

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
            self._state, self._is_mapped = (settled, order, [], {}), False

    def saved(self) -> Snapshot:
        self.settle()
        settled, order, *_ = self._state
        sorting = np.zeros(0, dtype=np.int32) if order is None else order
        return Snapshot({"rows": settled.size}, {"ids": [settled], "ids.order": [sorting]})

    @classmethod
    def of(cls, saved: Snapshot) -> "RowIds":
        """The ids of a file."""
        made = cls()
        order = saved.arrays["ids.order"][0]
        made._state, made._is_mapped = (saved.arrays["ids"][0], order if order.size else None, [], {}), True
        return made

    def size_bytes(self) -> int:
        settled, order, late, _ = self._state
        own = 0 if self._is_mapped else settled.nbytes + (0 if order is None else order.nbytes)
        # About 300 bytes for a text, and its place in the dictionary.
        return own + 300 * len(late)
