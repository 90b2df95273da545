"""The local embedder: a text becomes 384 numbers, and texts that answer each other lie close."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memorist.languages import is_english
from memorist.models.encoder import LocalModel
from memorist.models.files import FOLDER
from memorist.models.values import Embeddings

DIMENSIONS = 384


class _Embedding(LocalModel):
    computes_in_bulk = True
    at_first = 2  # A question, which is short.

    def read(self, texts: Sequence[str]) -> Embeddings:
        vectors = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        tokens: list[NDArray[np.float32] | None] = [None] * len(texts)
        if texts:
            for ran in self._run(texts):
                vectors[ran.indexes] = ran.results[0]
                for states in ran.results[1:]:
                    for index, length, own in zip(ran.indexes, ran.lengths, states, strict=True):
                        tokens[index] = own[:length]
        return Embeddings(vectors, tokens)


class OtherLanguages(_Embedding):
    """What is not English, into the same space: a question finds its answer in another language too. What it says of
    tokens agrees with what the English network says of them.
    """

    file = "many_embedder.onnx"
    words = "many_languages"


class LocalEmbedder(_Embedding):
    """Embeds questions as they are, and memories as `passages.embedding_passage` writes them.

    A text that is not English is read by a second network, which is loaded when the first such text comes.
    """

    is_local = True
    file = "embedder.onnx"
    model_id = "memorist-embedder-8"
    same_vectors_as: Sequence[str] = ("memorist-embedder-7", "memorist-embedder-6")
    dimensions = DIMENSIONS

    def __init__(self, threads: int | None = None, folder: Path = FOLDER) -> None:
        super().__init__(threads, folder)
        self.others = OtherLanguages(threads, folder)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row of length 1 for each text, in their order. Raises WeightsDamaged."""
        return self.embed_tokens(texts).vectors

    def embed_tokens(self, texts: Sequence[str]) -> Embeddings:
        """The same, with what it says of the tokens of each text. Raises WeightsDamaged."""
        foreign = np.array([not is_english(text) for text in texts], dtype=bool)
        found = Embeddings(np.zeros((len(texts), DIMENSIONS), dtype=np.float32), [None] * len(texts))
        for network, chosen in ((self, ~foreign), (self.others, foreign)):
            indexes = np.flatnonzero(chosen).tolist()
            made = network.read([texts[index] for index in indexes])
            found.vectors[indexes] = made.vectors
            for index, tokens in zip(indexes, made.tokens, strict=True):
                found.tokens[index] = tokens
        return found

    def embed_question(self, text: str) -> Embeddings:
        """The same for one text. Raises WeightsDamaged."""
        return self.embed_tokens([text])

    def tokens(self, texts: Sequence[str]) -> list[NDArray[np.float32] | None]:
        """Only what it says of the tokens of each text. Raises WeightsDamaged."""
        return self.embed_tokens(texts).tokens
