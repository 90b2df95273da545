"""The two models of recall, either of which may be missing or fail: an answer is then given without it."""

import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from memorist.errors import ModelError
from memorist.languages import is_english
from memorist.models.port import Embedder, Reranker
from memorist.recall.fusion import Extent, Fusion
from memorist.recall.index.tokens import AskedTokens
from memorist.recall.ranked import Judgement
from memorist.recall.ranking import Scores
from memorist.recall.reading import ReadingPace, TimedReading
from memorist.recall.values import Question
from memorist.secrets.logs import redacting_logger

_log = redacting_logger(__name__)
_LOOKED_AT = 10
"""Passages by which their language is judged."""


class EmbeddedQuestion(NamedTuple):
    """What the embedder says of a question; nothing where it cannot."""

    vector: Scores | None = None
    tokens: AskedTokens | None = None


class Models:
    def __init__(self, embedder: Embedder | None, reranker: Reranker | None, pace: ReadingPace | None = None) -> None:
        self._embedder = embedder
        self._reranker = reranker
        self._pace = pace or ReadingPace()
        self._is_warm = False

    @property
    def can_embed(self) -> bool:
        return self._embedder is not None

    def will_rerank(self, question: Question) -> bool:
        return question.enable_rerank and self._reranker is not None

    def weights(self, fusion: Fusion) -> Fusion:
        """As they are for the reranker that there is."""
        return fusion if self._reranker is None or self._reranker.is_local else fusion.elsewhere()

    def at_pace(self, pace: ReadingPace) -> "Models":
        """The same models, with another time to read."""
        return Models(self._embedder, self._reranker, pace)

    def load(self) -> None:
        """Get the models ready now rather than at the first question. Raises ModelError."""
        for model in (self._embedder, self._reranker):
            if model is not None:
                model.load()

    def begin(self, what: str = "", ago_s: float = 0.0) -> TimedReading:
        """The time of a question runs from here; that of the first one, for which the models are loaded, does not."""
        reading = self._pace.begin(what, ago_s)
        if not self._is_warm:
            reading.wait()
        return reading

    def warm_up(self, question: Question) -> None:
        """Load the models beside each other and the first shelf, which takes as long."""
        if not self._is_warm:
            self._is_warm = True
            for model in (self._embedder, self._reranker if self.will_rerank(question) else None):
                if model is not None:
                    # No daemon: a process that ends while a model is being loaded would be aborted.
                    threading.Thread(target=_load_if_possible, args=(model,), name="memorist-warm-up").start()

    @property
    def embeds_as(self) -> str:
        """Names the vectors and tokens that questions get; '' where they get none."""
        return "" if self._embedder is None else self._embedder.model_id

    def embed(self, query: str) -> EmbeddedQuestion:
        if self._embedder is None:
            return EmbeddedQuestion()
        try:
            (vector,), (states,) = self._embedder.embed_question(query)
        except ModelError as error:
            _log.warning("recall goes on by keyword alone: %s", error.message)
            return EmbeddedQuestion()
        return EmbeddedQuestion(vector, None if states is None else AskedTokens(states))

    def judge(self, query: str, passages: Sequence[str], reading: TimedReading, extent: Extent) -> Judgement | None:
        """What the reranker says of the first passages, as far as they are worth it and there is time for them."""
        if self._reranker is None or (self._reranker.is_local and not _are_mostly_english(query, passages)):
            return None
        try:
            scores = np.array(reading.read(self._reranker, query, passages, extent), dtype=np.float32)
        except ModelError as error:
            _log.warning("recall goes on without its reranker: %s", error.message)
            return None
        return Judgement(scores, self._reranker.is_local)


def _are_mostly_english(query: str, passages: Sequence[str]) -> bool:
    """Whether the local reranker can read them: of other languages it knows nothing, and would say it all the same."""
    if not is_english(query):
        return False
    count = min(_LOOKED_AT, len(passages))
    # A half decides, and most are English: then no more have to be written out than are read.
    found = sum(map(is_english, passages[: (count + 1) // 2]))
    return 2 * found >= count or 2 * (found + sum(map(is_english, passages[(count + 1) // 2 : count]))) >= count


def _load_if_possible(model: Embedder | Reranker) -> None:
    with suppress(ModelError):  # Said where it is used.
        model.load()
