"""The local embedder: a text becomes 384 numbers, and texts that answer each other lie close."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memorist.languages import is_english
from memorist.models.encoder import LocalModel
from memorist.models.files import FOLDER

DIMENSIONS = 384


class _Embedding(LocalModel):
    computes_in_bulk = True

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        if texts:
            for indexes, rows in self._run(texts):
                vectors[indexes] = rows
        return vectors


class OtherLanguages(_Embedding):
    """What is not English, into the same space: a question finds its answer in another language too."""

    file = "many_embedder.onnx"
    words = "many_languages"


class LocalEmbedder(_Embedding):
    """Embeds questions as they are, and memories as `passages.embedding_passage` writes them.

    A text that is not English is read by a second network, which is loaded when the first such text comes.
    """

    is_local = True
    file = "embedder.onnx"
    model_id = "memorist-embedder-6"
    dimensions = DIMENSIONS

    def __init__(self, threads: int | None = None, folder: Path = FOLDER) -> None:
        super().__init__(threads, folder)
        self.others = OtherLanguages(threads, folder)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row of length 1 for each text, in their order. Raises WeightsDamaged."""
        foreign = np.array([not is_english(text) for text in texts], dtype=bool)
        vectors = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        for network, chosen in ((self, ~foreign), (self.others, foreign)):
            indexes = np.flatnonzero(chosen)
            vectors[indexes] = network.vectors([texts[index] for index in indexes.tolist()])
        return vectors
