"""The local embedder: a text becomes 384 numbers, and texts that answer each other lie close."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memorist.models.encoder import LocalModel


class LocalEmbedder(LocalModel):
    """Embeds questions as they are, and memories as `passages.embedding_passage` writes them."""

    is_local = True
    computes_in_bulk = True
    file = "embedder.onnx"
    model_id = "memorist-embedder-4"
    dimensions = 384

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row of length 1 for each text, in their order. Raises WeightsDamaged."""
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        if texts:
            for indexes, rows in self._run(texts):
                vectors[indexes] = rows
        return vectors
