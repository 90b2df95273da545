"""What of a memory the embedder reads, and what of it is saved."""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from memorist.memories.searchable import as_turn, is_turn, searchable
from memorist.memories.values import Memory
from memorist.models import passages
from memorist.models.values import Embeddings
from memorist.ports import Reader
from memorist.recall.index import tokens, vectors
from memorist.recall.ranking import Scores
from memorist.recall.values import Embedded

_MOST_WINDOWS = 4096
"""A memory shows this many windows to meaning search at most; keywords see all of it."""


def texts_of(memories: Sequence[Memory], tx: Reader) -> list[list[str]]:
    """For each memory the texts to embed: one for each window, with what the models read beside it."""
    return [_windows(memory, tx.index.turn_before(memory) if is_turn(memory) else None) for memory in memories]


def _windows(memory: Memory, before: Memory | None) -> list[str]:
    found = searchable(memory)
    previous = found.context or ("" if before is None else as_turn(before))
    return [
        passages.embedding_passage(window, speaker=found.speaker, date=found.date, previous=previous)
        for window in found.windows()[:_MOST_WINDOWS]
    ]


class Window(NamedTuple):
    """What a model made of one text."""

    vector: Scores
    tokens: bytes = b""


def windows_of(made: Embeddings) -> list[Window]:
    return [Window(vector, tokens.signs_of(states)) for vector, states in zip(*made, strict=True)]


def embedded(
    memories: Sequence[Memory], texts: Sequence[Sequence[str]], made: Iterable[Window], model: str
) -> list[Embedded]:
    """The memories with what was made of their texts, one after the other."""
    left = iter(made)
    return [
        embedded_one(memory, list(islice(left, len(one))), model) for memory, one in zip(memories, texts, strict=True)
    ]


def embedded_one(memory: Memory, windows: Sequence[Window], model: str) -> Embedded:
    found = searchable(memory)
    packed = vectors.pack(np.stack([one.vector for one in windows])), tokens.pack([one.tokens for one in windows])
    return Embedded(memory.id, memory.owner.user, found.digest(), found.terms(), model, *packed)
