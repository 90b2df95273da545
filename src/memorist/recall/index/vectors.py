"""Vectors as the index stores them: how many windows, then for each a scale and one signed byte a dimension."""

from collections.abc import Iterable, Sequence

import numkong
import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Steps = NDArray[np.int8]

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


def unpack(packed: Sequence[bytes]) -> tuple[Steps, Vectors, list[int]]:
    """The windows of several memories, all of one model, one after the other: their bytes, their scales, and how many
    windows each memory has."""
    if are_alike(packed):
        counts = [int.from_bytes(packed[0][:_COUNT_BYTES], "little")] * len(packed)
        whole = np.frombuffer(b"".join(packed), dtype=np.int8).reshape(len(packed), -1)
        raw = whole[:, _COUNT_BYTES:].reshape(sum(counts), -1)
    else:
        counts = [int.from_bytes(one[:_COUNT_BYTES], "little") for one in packed]
        raw = np.frombuffer(b"".join([one[_COUNT_BYTES:] for one in packed]), dtype=np.int8).reshape(sum(counts), -1)
    return raw[:, _SCALE_BYTES:], raw[:, :_SCALE_BYTES].copy().view("<f4")[:, 0], counts


def are_alike(packed: Sequence[bytes]) -> bool:
    """Whether all have as many windows of the same length: then they are read as one array."""
    return len(set(map(len, packed))) == 1 and len({one[:_COUNT_BYTES] for one in packed}) == 1


def quantised(vector: Vectors) -> tuple[Steps, np.float32]:
    """One vector as bytes, and what they are to be multiplied with."""
    scale = np.float32(max(float(np.abs(vector).max()), 1e-9) / 127)
    return np.rint(vector / scale).astype(np.int8), scale


def multiply(pieces: Iterable[tuple[Steps, Steps, Vectors]]) -> None:
    """For each piece the products of one vector with many, written to the array beside them.

    By numkong's kernel: it reads a quarter of what floating point would, and lets other threads run. BLAS has no
    product of bytes, and its threads wait for each other wherever the machine does anything else.
    """
    for question, steps, out in pieces:
        numkong.cdist(question[np.newaxis], steps, "dot", out=out[np.newaxis])
