"""Vectors as the index stores them: how many windows, then for each a scale and one signed byte a dimension."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]

_COUNT_BYTES = 2
_SCALE_BYTES = 4


def pack(vectors: Vectors) -> bytes:
    """The windows of one memory. A byte a dimension moves a cosine by about .0005."""
    scales = np.maximum(np.abs(vectors).max(axis=1, keepdims=True), 1e-9) / 127
    steps = np.rint(vectors / scales).astype(np.int8)
    windows = np.concatenate([scales.astype("<f4").view(np.int8), steps], axis=1)
    return len(vectors).to_bytes(_COUNT_BYTES, "little") + windows.tobytes()


def dimensions(packed: bytes) -> int:
    """How long the vectors of one memory are."""
    count = int.from_bytes(packed[:_COUNT_BYTES], "little")
    return (len(packed) - _COUNT_BYTES) // count - _SCALE_BYTES


def unpack(packed: Sequence[bytes]) -> tuple[Vectors, list[int]]:
    """The windows of several memories, all of one model, one after the other; and how many each has."""
    counts = [int.from_bytes(one[:_COUNT_BYTES], "little") for one in packed]
    raw = np.frombuffer(b"".join([one[_COUNT_BYTES:] for one in packed]), dtype=np.int8).reshape(sum(counts), -1)
    scales = raw[:, :_SCALE_BYTES].copy().view("<f4")
    return raw[:, _SCALE_BYTES:] * scales, counts
