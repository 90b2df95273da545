"""A shelf at one moment: what a search reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memorist.recall.index.columns import Array
from memorist.recall.index.matrix import MatrixView
from memorist.recall.index.postings import PostingLists, PostingsAt
from memorist.recall.index.row_ids import RowIds
from memorist.recall.index.turns import TurnOrder
from memorist.recall.ranking import Scores


@dataclass(frozen=True, slots=True)
class View:
    """A shelf at one moment. A place is the number of a row, from 0; `columns` has one value for each."""

    user: str | None
    size: int
    ids: RowIds
    """Of rows, too, that came after this moment."""

    codes: dict[str, dict[str, int]]
    columns: Mapping[str, Array]
    matrix: MatrixView
    postings: PostingLists | PostingsAt
    turns: TurnOrder | None = None
    without: Array | None = None
    """Of the rows that a file had, those that may have no vectors; None where it was not looked."""

    @property
    def is_large(self) -> bool:
        """Whether its vectors are in lists, so that a question need not look at all rows."""
        return self.turns is not None and self.matrix.lists is not None

    def waiting(self) -> Array:
        """The rows that have no vectors, of a large shelf: few, so that not all are looked at."""
        assert self.without is not None
        assert self.turns is not None
        places = np.concatenate([self.without, np.arange(self.turns.following.size, self.size)])
        waiting: Array = places[self.columns["windows"][places] == 0]
        return waiting

    def place_of(self, memory_id: str) -> int | None:
        place = self.ids.place_of(memory_id)
        return place if place is not None and place < self.size else None

    def places_of(self, memory_ids: Sequence[str]) -> Array:
        """The places of those that it has."""
        places = self.ids.places_of(memory_ids)
        found: Array = places[(places >= 0) & (places < self.size)]
        return found

    def code(self, column: str, value: str | None) -> int:
        """The number that stands for a text in a column; -1 where no row has it."""
        return self.codes[column].get(value or "", -1)

    def takes(self, question: Scores) -> bool:
        """Whether a question's vector can be compared with those of the rows."""
        return not self.matrix.blocks or self.matrix.blocks[0].shape[1] == question.size

    def cosines(self, question: Scores) -> tuple[Scores, NDArray[np.int32]]:
        """For each row its best window's cosine, and which window that is; 0 for a row without vectors."""
        return self.matrix.best(question, self.size)
