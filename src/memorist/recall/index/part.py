"""Some rows of a shelf, to be ranked as if they were all of it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from memorist.recall.index.columns import Array
from memorist.recall.index.matrix import Cosines
from memorist.recall.index.postings import Likely, PostingsAt
from memorist.recall.index.row_ids import RowIds
from memorist.recall.index.view import View
from memorist.recall.ranking import Scores


@dataclass(frozen=True, slots=True, eq=False)
class PartOfShelf(View):
    """Some rows of a shelf at one moment: a place is the number of a row among these."""

    at: Array = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """The place of each on the shelf, ascending."""

    found: Cosines | None = None
    """How near each is to the question: about, until it is compared."""

    needed: Array = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Those that are to be compared, wherever they come."""

    @classmethod
    def of(
        cls,
        view: View,
        at: Array,
        found: Cosines | None = None,
        needed: Array | None = None,
        likely: Likely | None = None,
    ) -> "PartOfShelf":
        """`at` ascends."""
        return cls(
            user=view.user,
            size=at.size,
            ids=_Ids(view.ids, at),
            codes=view.codes,
            columns=_Columns(view.columns, at),
            matrix=view.matrix,
            postings=PostingsAt.of(view.postings, at, likely),
            turns=view.turns,
            at=at,
            found=found,
            needed=at[:0] if needed is None else needed,
        )

    def compare(self, question: Scores, numbers: Array) -> None:
        """Compare some of them as they are."""
        if self.found is not None:
            self.matrix.compare(question, self.at[numbers], numbers, self.found)

    def cosines(self, question: Scores) -> tuple[Scores, NDArray[np.int32]]:  # noqa: ARG002 - of one question alone
        assert self.found is not None
        return self.found.known(), self.found.windows


class _Ids(RowIds):
    __slots__ = ("_at", "_ids")

    def __init__(self, ids: RowIds, at: Array) -> None:
        super().__init__()
        self._ids = ids
        self._at = at

    def __len__(self) -> int:
        return int(self._at.size)

    def __getitem__(self, place: int) -> str:
        return self._ids[int(self._at[place])]

    def at(self, places: Sequence[int]) -> list[str]:
        return self._ids.at(self._at[places].tolist())

    def places_of(self, ids: Sequence[str]) -> Array:
        return numbers_of(self._at, self._ids.places_of(ids))


class _Columns(Mapping[str, Array]):
    """The columns of some rows, each taken when it is asked for."""

    def __init__(self, columns: Mapping[str, Array], at: Array) -> None:
        self._columns = columns
        self._at = at
        self._taken: dict[str, Array] = {}

    def __getitem__(self, name: str) -> Array:
        if name not in self._taken:
            self._taken[name] = self._take(name)
        return self._taken[name]

    def _take(self, name: str) -> Array:
        if name == "linked":
            previous = self["previous"]
            is_next: Array = (previous >= 0) & (previous == np.arange(previous.size) - 1)
            return is_next.astype(np.float32)
        taken: Array = self._columns[name].take(self._at)
        return numbers_of(self._at, taken) if name == "previous" else taken

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


def numbers_of(at: Array, places: Array) -> Array:
    """The number of each place among some that ascend; -1 where it is none of them."""
    if not at.size:
        return np.full(places.size, -1, dtype=np.int64)
    numbers = np.minimum(np.searchsorted(at, places), at.size - 1)
    return np.where(at[numbers] == places, numbers, -1)
