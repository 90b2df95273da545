"""What of a memory the embedder reads, and what of it is saved."""

from collections.abc import Sequence
from itertools import islice

import numpy as np

from memorist.memories.searchable import as_turn, is_turn, searchable
from memorist.memories.values import Memory
from memorist.models import passages
from memorist.ports import Reader
from memorist.recall.index import vectors
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


def embedded(
    memories: Sequence[Memory], texts: Sequence[Sequence[str]], made: Sequence[Scores], model: str
) -> list[Embedded]:
    """The memories with the vectors that were made of their texts, one after the other."""
    vectors_left = iter(made)
    return [
        embedded_one(memory, np.stack(list(islice(vectors_left, len(one)))), model)
        for memory, one in zip(memories, texts, strict=True)
    ]


def embedded_one(memory: Memory, windows: vectors.Vectors, model: str) -> Embedded:
    found = searchable(memory)
    return Embedded(memory.id, memory.owner.user, found.digest(), found.terms(), model, vectors.pack(windows))
