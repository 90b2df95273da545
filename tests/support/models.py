"""Models that cost nothing: an embedder that hashes words, so that texts with words in common lie close."""

import threading
from collections.abc import Callable, Sequence
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from memorist.errors import ModelUnavailable
from memorist.models.values import Embeddings
from memorist.words import terms

DIMENSIONS = 64


class WordEmbedder:
    """Deterministic. `before` is called with the texts before they are embedded or their tokens read, and may wait or
    raise.
    """

    def __init__(
        self,
        model_id: str = "words-1",
        *,
        is_local: bool = True,
        before: Callable[[Sequence[str]], None] | None = None,
        same_vectors_as: Sequence[str] = (),
    ) -> None:
        self.model_id = model_id
        self.same_vectors_as = same_vectors_as
        self.is_local = is_local
        self.before = before
        self.embedded: list[str] = []
        self._lock = threading.Lock()

    def load(self) -> None: ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.before is not None:
            self.before(texts)
        with self._lock:
            self.embedded += texts
        return np.stack([word_vector(text) for text in texts]) if texts else np.zeros((0, DIMENSIONS), np.float32)

    def embed_tokens(self, texts: Sequence[str]) -> Embeddings:
        """Of the tokens it says nothing."""
        return Embeddings(self.embed(texts), [None] * len(texts))

    def embed_question(self, text: str) -> Embeddings:
        return self.embed_tokens([text])

    def tokens(self, texts: Sequence[str]) -> list[NDArray[np.float32] | None]:
        if self.before is not None:
            self.before(texts)
        return [None] * len(texts)


def word_vector(text: str) -> NDArray[np.float32]:
    vector = np.full(DIMENSIONS, 0.01, dtype=np.float32)
    for term in terms(text):
        number = crc32(b"vector " + term.encode())
        vector[number % DIMENSIONS] += 1 if number >> 16 & 1 else -1
    return vector / np.linalg.norm(vector)


class BrokenEmbedder(WordEmbedder):
    """Fails until it is repaired."""

    def __init__(self, model_id: str = "words-1", *, is_local: bool = True) -> None:
        super().__init__(model_id, is_local=is_local, before=self._refuse)
        self.is_broken = True
        self.refused = threading.Event()

    def _refuse(self, _: Sequence[str]) -> None:
        if self.is_broken:
            self.refused.set()
            raise ModelUnavailable("The embedder is broken.")


class WordReranker:
    """Scores a passage by how many of its words are the question's; fails when told to."""

    model_id = "words-reranker-1"

    is_local = False

    def __init__(self) -> None:
        self.is_broken = False
        self.read: list[list[str]] = []

    def load(self) -> None: ...

    def score(self, query: str, passages: Sequence[str]) -> list[float]:
        if self.is_broken:
            raise ModelUnavailable("The reranker is broken.")
        self.read.append(list(passages))
        wanted = set(terms(query))
        return [float(len(wanted & set(terms(passage)))) for passage in passages]
