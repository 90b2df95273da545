"""What of a memory the embedder reads, how much at a time, and what of it is saved."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from heapq import heappop, heappush
from itertools import islice
from typing import NamedTuple

import numpy as np

from memorist.memories.searchable import Searchable, as_turn, is_turn, searchable
from memorist.memories.values import Memory
from memorist.models import passages
from memorist.models.values import Embeddings
from memorist.ports import Reader, Store, Writer
from memorist.recall.index import tokens, vectors
from memorist.recall.ranking import Scores
from memorist.recall.values import Embedded, Unembedded

_MOST_WINDOWS = 4096
"""A memory shows this many windows to meaning search at most; keywords see all of it."""

_WORDS_AT_ONCE = 4096
_AT_ONCE_REMOTE = 64
"""Words, and for a remote model windows, that are embedded before it is looked whether to stop."""


LONG = 16_000
"""Bytes: what is longer takes more than a second or so, and is embedded apart, a piece at a time."""


class Readable(NamedTuple):
    """What of a memory is embedded, and with which words before it."""

    found: Searchable
    previous: str

    def texts(self) -> list[str]:
        """One for each window, with what the models read beside it."""
        found = self.found
        return [
            passages.embedding_passage(window, speaker=found.speaker, date=found.date, previous=self.previous)
            for window in found.windows()[:_MOST_WINDOWS]
        ]


def readable_of(memory: Memory, tx: Reader) -> Readable:
    return _readable(memory, tx.index.turn_before(memory) if is_turn(memory) else None)


def texts_of(memories: Sequence[Memory], tx: Reader) -> list[list[str]]:
    """For each memory the texts to embed."""
    return [readable_of(memory, tx).texts() for memory in memories]


def _readable(memory: Memory, before: Memory | None) -> Readable:
    found = searchable(memory)
    return Readable(found, found.context or ("" if before is None else as_turn(before)))


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


def tokens_alone(memory: Memory, signs: Sequence[bytes], model: str) -> Embedded:
    """A memory whose vectors stay as they are, with what is kept of the tokens of its first windows."""
    found = searchable(memory)
    return Embedded(memory.id, memory.owner.user, found.digest(), b"", model, b"", tokens.pack(signs))


def embedded_one(memory: Memory, windows: Sequence[Window], model: str) -> Embedded:
    found = searchable(memory)
    # A window that was refused keeps its place, near to nothing: which one is nearest is told by its number.
    rows = np.stack([one.vector for one in windows])
    packed = vectors.pack(rows) if rows.any() else None, tokens.pack([one.tokens for one in windows])
    return Embedded(memory.id, memory.owner.user, found.digest(), found.terms(), model, *packed)


def pieces_of(texts: Sequence[str], *, is_local: bool, share: int = 1) -> Iterator[list[str]]:
    """The texts in their order, as many at a time as are embedded in about a second, or in that share of one."""
    piece: list[str] = []
    words = 0
    for text in texts:
        more = passages.count_words(text) if is_local else _WORDS_AT_ONCE // _AT_ONCE_REMOTE
        if piece and words + more > _WORDS_AT_ONCE // share:
            yield piece
            piece, words = [], 0
        piece.append(text)
        words += more
    if piece:
        yield piece


def next_of(waiting: Sequence[Unembedded], limit: int) -> list[Unembedded]:
    """Of rows that are not long, as many as are embedded in a second or two: those of each user in turn, so that each
    gets about as much, and in the order in which they are given.
    """
    queues: dict[str, deque[Unembedded]] = {}
    for one in waiting:
        queues.setdefault(one.user, deque()).append(one)
    turns = [(0, place, queue) for place, queue in enumerate(queues.values())]
    taken: list[Unembedded] = []
    size = 0
    while turns and len(taken) < limit and size < LONG:
        had, place, queue = heappop(turns)
        one = queue.popleft()
        taken.append(one)
        size += one.size
        if queue:
            heappush(turns, (had + one.size, place, queue))
    return taken


Read = tuple[Memory, Sequence[str], Embedded]
"""A memory, the texts that were embedded for it, and what was made of them."""


class _Outdated(Exception):
    """Of some memories the message before, which they were embedded with, was changed meanwhile."""

    def __init__(self, others: Sequence[Read]) -> None:
        super().__init__()
        self.others = others


def save(store: Store, tenant: str, read: Sequence[Read], keep: Callable[[Writer, list[Embedded]], object]) -> bool:
    """Have what was made of memories kept. False where some of it is of words that are gone: that is not kept."""
    is_whole = True
    while True:
        try:
            store.write(tenant, partial(_save, read, keep))
        except _Outdated as found:
            read, is_whole = found.others, False
        else:
            return is_whole


def _save(read: Sequence[Read], keep: Callable[[Writer, list[Embedded]], object], tx: Writer) -> None:
    """Raises _Outdated."""
    keep(tx, [made for _, _, made in read])
    # Not looked at before: who changes a message from now on waits for us, and then unindexes what was said next. Who
    # erases one has already looked for that; so it is held, and one that cannot be is as good as gone.
    turns = [(memory, texts, tx.index.turn_before(memory)) for memory, texts, _ in read if is_turn(memory)]
    messages = sorted({before.id for _, _, before in turns if before is not None})
    held = tx.memories.hold(messages, wait=False) if messages else set()
    outdated = {
        memory.id
        for memory, texts, before in turns
        if (before is not None and before.id not in held) or _readable(memory, before).texts() != texts
    }
    if outdated:
        raise _Outdated([one for one in read if one[0].id not in outdated])
