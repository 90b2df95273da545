"""What a small network says of sentences that are not English, by their vectors: is each worth keeping?

The tagger read little but English. These vectors lie in one space for all languages, so what English sentences taught
is true of others as well.
"""

import io
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memorist.models.embedder import DIMENSIONS, OtherLanguages
from memorist.models.files import FOLDER, read_weights
from memorist.models.values import NEEDS, TOPICS

FILE = "many_tagger.npy"
OUTPUTS = 3 + len(TOPICS) + len(NEEDS)
"""Whether to keep it, whether it should be and must be kept, each topic, and what it needs to be understood."""

Floats = NDArray[np.float32]


class OtherTags:
    """Nothing is read before the first use."""

    def __init__(self, embedder: OtherLanguages, folder: Path = FOLDER) -> None:
        self._embedder = embedder
        self._folder = folder

    def of(self, sentences: Sequence[str]) -> Floats:
        """A row of outputs for each sentence. Raises WeightsDamaged."""
        first, second = self._tables
        inner = np.maximum(_through(self._embedder.read(sentences).vectors, first), 0)
        return _through(inner, second)

    @cached_property
    def _tables(self) -> tuple[Floats, Floats]:
        both = np.load(io.BytesIO(read_weights(FILE, self._folder))).astype(np.float32)
        hidden = both.shape[1] - OUTPUTS
        return both[: DIMENSIONS + 1, :hidden], both[: hidden + 1, hidden:]


def _through(rows: Floats, table: Floats) -> Floats:
    """The last row of a table is added."""
    found: Floats = rows @ table[:-1] + table[-1]
    return found
