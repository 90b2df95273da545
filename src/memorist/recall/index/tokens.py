"""What is kept of the tokens of memories, and how well they agree with those of a question.

Of each token of a memory the signs of 128 numbers are kept. A question's tokens agree best with one token each, by what
they count: that, added up, is how well the memory answers.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

import numkong
import numpy as np
from numpy.typing import NDArray

from memorist.recall.ranking import Scores

States = NDArray[np.float32]
"""A row for each token: its numbers, and last what it counts in a question."""

_BITS = 128
_TOKEN_BYTES = _BITS // 8
MOST_WINDOWS = 16
"""Of a longer memory the first so many are compared: 2,000 words, and 64 KB."""
_MOST_ASKED = 32
"""So many tokens of a question are compared, those that count most: the others of a long one add little."""
_MOST_COMPARED = 16_384
"""So many tokens of all memories together are compared: 50 chunks of documents, and a few milliseconds."""
_AT_ONCE = 512
"""Tokens that are compared at once: their signs stay in the cache."""


def signs_of(states: States | None) -> bytes:
    """What is kept of the tokens of one window; nothing where nothing is known of them."""
    return b"" if states is None else np.packbits(states[:, :_BITS] >= 0, axis=1).tobytes()


def pack(windows: Sequence[bytes]) -> bytes:
    """The tokens of a memory, all windows one after the other; nothing where nothing is known of one of the first."""
    first = windows[:MOST_WINDOWS]
    return b"".join(first) if all(first) else b""


class AskedTokens:
    """The tokens of a question, as bytes: each as long as it counts."""

    __slots__ = ("_count", "_scale", "_steps", "_sum")

    def __init__(self, states: States) -> None:
        numbers = states[:, :_BITS]
        counts = np.logaddexp(0, states[:, _BITS])  # From what the model says, which may be negative.
        most = np.argsort(-counts, kind="stable")[:_MOST_ASKED]
        counts = counts[most] / max(float(counts[most].sum()), 1e-9)
        lengths = np.maximum(np.linalg.norm(numbers[most], axis=1), 1e-9)
        asked = numbers[most] * (counts / lengths)[:, np.newaxis]
        largest = max(float(np.abs(asked).max()), 1e-9)
        steps = np.rint(asked * (127 / largest)).astype(np.int8)
        self._steps = numkong.dots_pack(steps)
        self._sum = steps.sum(dtype=np.int32)
        self._count = len(asked)
        self._scale = np.float32(largest / 127 / _BITS**0.5)

    def agreement(self, packed: Sequence[bytes]) -> Scores:
        """How well each memory agrees, at most 1; NaN of one of whose tokens nothing is known, and of those after the
        first where all are very long.
        """
        found = np.full(len(packed), np.nan, dtype=np.float32)
        packed = packed[: max(1, bisect_right(list(accumulate(map(len, packed))), _MOST_COMPARED * _TOKEN_BYTES))]
        counts = np.array([len(one) // _TOKEN_BYTES for one in packed], dtype=np.intp)
        known = np.flatnonzero(counts)
        if not known.size:
            return found
        bits = np.frombuffer(b"".join(packed), dtype=np.uint8).reshape(-1, _TOKEN_BYTES)
        products = np.empty((len(bits), self._count), dtype=np.int32)
        for start in range(0, len(bits), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            products[part] = numkong.dots_packed(np.unpackbits(bits[part], axis=1).view(np.int8), self._steps)
        starts = np.concatenate([[0], np.cumsum(counts[known])[:-1]])
        best = np.maximum.reduceat(products, starts, axis=0).sum(axis=1)
        # A bit that is not set stands for -1.
        found[known] = (2 * best - self._sum) * self._scale
        return found
