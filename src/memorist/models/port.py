"""What recall, judging, learning and turns need of models."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from memorist.models.values import DatedFact, Embeddings, LlmAnswer, LlmRequest, Passage, Tag

if TYPE_CHECKING:  # Only those who embed pay for importing numpy.
    import numpy as np
    from numpy.typing import NDArray


class Llm(Protocol):
    """A language model behind an address. It is asked once a call: trying again is the caller's decision."""

    @property
    def model_id(self) -> str: ...

    @property
    def context_tokens(self) -> int:
        """How many tokens it reads at most."""
        ...

    def ask(self, request: LlmRequest) -> LlmAnswer:
        """The whole answer. Raises LlmError, with `retry_after` where the server named a time."""
        ...

    def stream(self, request: LlmRequest) -> Iterator[str | LlmAnswer]:
        """The pieces of the text as they come, and at last the whole answer. Raises LlmError, also half way.

        A piece may be empty, so that whoever asked can look whether to go on while no text comes. Closing the iterator
        ends the call.
        """
        ...


class Reranker(Protocol):
    """Reads a question and a memory together. Raises ModelError where it cannot."""

    is_local: bool
    """Whether it is ours, whose scores recall knows how to read as a degree of certainty."""

    @property
    def model_id(self) -> str: ...

    def load(self) -> None:
        """Get ready now rather than at the first use."""
        ...

    def score(self, query: str, passages: Sequence[str]) -> list[float]:
        """A score for each passage, in their order, higher is better; only their differences mean anything."""
        ...


class Embedder(Protocol):
    """Turns texts into vectors. Raises ModelError where it cannot."""

    is_local: bool
    """Whether it answers in milliseconds, so that a write may wait for it."""

    same_vectors_as: Sequence[str]
    """Models of before whose vectors are its own, bit for bit, the oldest first: what they made is searched as it is,
    and only what it says of tokens is added."""

    @property
    def model_id(self) -> str:
        """Names the vectors: those of different models are never compared, but for `same_vectors_as`."""
        ...

    def load(self) -> None:
        """Get ready now rather than at the first use."""
        ...

    def embed(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """A row of length 1 for each text, in their order."""
        ...

    def embed_tokens(self, texts: Sequence[str]) -> Embeddings:
        """The same for what is stored, with what it says of the tokens of each text, where it does. A text that it
        cannot read, where it reads others, gets a row of zeros.
        """
        ...

    def embed_question(self, text: str) -> Embeddings:
        """The same for one text that somebody asks: what is stored meanwhile does not keep it from an answer."""
        ...

    def tokens(self, texts: Sequence[str]) -> "list[NDArray[np.float32] | None]":
        """Only what it says of their tokens."""
        ...


class Tagger(Protocol):
    """Says of each sentence of messages whether it is worth keeping. Raises ModelError where it cannot."""

    def tag(self, passages: Sequence[Passage]) -> list[list[Tag]]:
        """A tag for each sentence of each passage, in their order."""
        ...


class Comparer(Protocol):
    """Says how two facts stand to each other. Raises ModelError where it cannot."""

    def compare(self, pairs: Sequence[tuple[DatedFact, DatedFact]]) -> list[dict[str, float]]:
        """The likelihood of each ruling for each pair of an older and a newer fact."""
        ...
