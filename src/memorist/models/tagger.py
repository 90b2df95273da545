"""The local tagger: reads a message after the one before it, and says of each sentence whether it is worth keeping."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memorist.languages import is_english
from memorist.models.embedder import OtherLanguages
from memorist.models.encoder import LocalModel
from memorist.models.files import FOLDER
from memorist.models.other_tags import OtherTags
from memorist.models.passages import last_words, turn
from memorist.models.tokens import Tokens
from memorist.models.values import NEEDS, TOPICS, Passage, Tag

PREVIOUS_WORDS = 24
"""How much of the message before is read with a message: as good as the 40 of the training, a tenth less to read."""

OUTPUTS = 3 + len(TOPICS) + len(NEEDS) + 1


_BY_VECTOR = 0.6
"""How much of what is said of a sentence that is not English is said by its vector."""
_SURE = 0.6
"""How likely such a sentence must be worth keeping: that is where the scale of English has its half."""


_CERTAIN = 0.8
"""By its vector alone it is kept from here on: of many scripts the tagger reads nothing."""


class LocalTagger(LocalModel):
    """A message that is not English is read by itself, and by the vectors of its sentences."""

    file = "tagger.onnx"
    model_id = "memorist-tagger-1"

    def __init__(self, threads: int | None = None, folder: Path = FOLDER, others: OtherLanguages | None = None) -> None:
        """`others` is the embedder's network, where one is open."""
        super().__init__(threads, folder)
        self._others = OtherTags(others or OtherLanguages(threads, folder), folder)

    def tag(self, passages: Sequence[Passage]) -> list[list[Tag]]:
        """A tag for each sentence of each passage, in their order. Raises WeightsDamaged."""
        found: list[list[Tag]] = [[] for _ in passages]
        for ran in self._run([pair_of(one) for one in passages], lambda *batch: _pooled(passages, *batch)):
            for index, outputs in zip(ran.indexes, ran.results[0], strict=True):
                found[index] = [tag_of(row) for row in outputs[: len(passages[index].sentences)]]
        foreign = [index for index, one in enumerate(passages) if found[index] and not is_english(one.text)]
        said = [passages[index].text[first:last] for index in foreign for first, last in passages[index].sentences]
        if said:
            rows = iter(self._others.of(said))
            for index in foreign:
                found[index] = [_with_vector(tag, next(rows)) for tag in found[index]]
        return found


def pair_of(passage: Passage) -> tuple[str, str]:
    """What the network reads: the end of the message before, and this one with its speaker."""
    return last_words(passage.previous, PREVIOUS_WORDS), turn(passage.speaker, passage.text)


def _pooled(
    passages: Sequence[Passage], batch: Sequence[int], encodings: Sequence[Tokens]
) -> dict[str, NDArray[np.float32]]:
    """The weights by which the tokens of each sentence are averaged."""
    sentences = max(1, *(len(passages[index].sentences) for index in batch))
    weights = np.zeros((len(batch), sentences, max(map(len, encodings))), dtype=np.float32)
    for row, (index, encoding) in enumerate(zip(batch, encodings, strict=True)):
        own = pooling(passages[index], encoding)
        weights[row, : own.shape[0], : own.shape[1]] = own
    return {"pooling": weights}


def pooling(passage: Passage, encoding: Tokens) -> NDArray[np.float32]:
    """A row for each sentence: the share that each token has in its mean. A sentence that was cut off has none."""
    shift = len(turn(passage.speaker, "")) if passage.speaker else 0
    rows = np.zeros((len(passage.sentences), len(encoding.ids)), dtype=np.float32)
    offsets, segments = encoding.offsets, encoding.type_ids
    for row, (start, end) in enumerate(passage.sentences):
        tokens = [
            token
            for token, (first, last) in enumerate(offsets)
            if segments[token] == 1 and first >= start + shift and last <= end + shift and last > first
        ]
        if tokens:
            rows[row, tokens] = 1 / len(tokens)
    return rows


def _with_vector(tag: Tag, outputs: NDArray[np.float32]) -> Tag:
    by_vector = 1 / (1 + np.exp(-outputs[:3]))
    keep, should, must = (
        (1 - _BY_VECTOR) * one + _BY_VECTOR * float(other)
        for one, other in zip((tag.keep, tag.should, tag.must), by_vector, strict=True)
    )
    keep = 0.5 * keep / _SURE if keep < _SURE else 0.5 + 0.5 * (keep - _SURE) / (1 - _SURE)
    keep = max(keep, 0.5) if by_vector[0] >= _CERTAIN else keep
    # Both must say so before anything is kept with another's words.
    needs = tag.needs if int(outputs[3 + len(TOPICS) :].argmax()) else NEEDS[0]
    return Tag(keep, should, must, TOPICS[int(outputs[3 : 3 + len(TOPICS)].argmax())], needs, tag.of_other)


def tag_of(outputs: NDArray[Any]) -> Tag:
    keep, should, must = (float(value) for value in 1 / (1 + np.exp(-outputs[:3])))
    topics, needs = outputs[3 : 3 + len(TOPICS)], outputs[3 + len(TOPICS) : -1]
    other = float(1 / (1 + np.exp(-outputs[-1])))
    return Tag(keep, should, must, TOPICS[int(topics.argmax())], NEEDS[int(needs.argmax())], other)
