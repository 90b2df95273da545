"""A shelf as a file: its arrays as they are in memory, so that a process maps them instead of reading rows.

Each array begins at a page. What they are, and a checksum of each, stands at the end, which is written last.
"""

import json
import math
import mmap
import os
import struct
import weakref
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from memorist.recall.index.columns import Array
from memorist.recall.index.helpers import helpers

FORMAT = 8
_END = struct.Struct("<8sIIQ")
_MAGIC = b"memshelf"
_PAGE = 4096
_CHUNK = 4 << 20
_READ_AT_ONCE = 256 << 10
READ = "vectors"
"""The array of which a search reads rows here and there."""


class WrongSnapshot(ValueError):
    """The file is of another shelf or release, or damaged."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a shelf is at one moment: values that JSON can hold, and arrays, each in one or more pieces."""

    facts: Mapping[str, Any]
    arrays: Mapping[str, Sequence[Array]]
    rows: Mapping[str, "SavedRows"] = field(default_factory=dict)
    """The arrays of a file, to be read instead of mapped."""

    file_number: int | None = None
    """What the system calls the file."""

    @property
    def size_bytes(self) -> int:
        return sum(piece.nbytes for pieces in self.arrays.values() for piece in pieces)


class SavedRows:
    """The rows of an array in a file, read without mapping them: so they count as the system's memory, not as ours."""

    def __init__(self, handle: int, array: Array, start: int) -> None:
        """Has a handle of its own on the file."""
        self._handle = os.dup(handle)
        self._start = start
        self._kind = array.dtype
        self._shape = array.shape[1:]
        self._width = math.prod(self._shape) * array.itemsize
        weakref.finalize(self, os.close, self._handle)

    def read(self, numbers: Array) -> Array:
        """The rows of these numbers, one by one: few of a question's lie beside each other. Raises OSError."""
        width, handle = self._width, self._handle
        parts = [os.pread(handle, width, at) for at in (self._start + numbers * width).tolist()]
        return np.frombuffer(b"".join(parts), dtype=self._kind).reshape(-1, *self._shape)

    def read_run(self, begin: int, end: int) -> Array:
        """The rows from one number up to another. Raises OSError."""
        part = os.pread(self._handle, (end - begin) * self._width, self._start + begin * self._width)
        return np.frombuffer(part, dtype=self._kind).reshape(-1, *self._shape)


def write(out: BinaryIO, snapshot: Snapshot, whose: Sequence[str]) -> None:
    """Raises OSError."""
    sections: dict[str, list[Any]] = {}
    at = 0
    for name, pieces in snapshot.arrays.items():
        start, count, checksum = at, 0, _Checksum()
        for piece in pieces:
            count += len(piece)
            kind, shape = piece.dtype.str, piece.shape[1:]
            raw = np.ascontiguousarray(piece).view(np.uint8).reshape(-1).data
            for offset in range(0, len(raw), _CHUNK):
                part = raw[offset : offset + _CHUNK]
                checksum.add(part)
                at += out.write(part)
        rest = b"\0" * (-at % _PAGE)
        checksum.add(rest)
        at += out.write(rest)
        sections[name] = [kind, [count, *shape], start, at - start, checksum.of_pages]
    told = json.dumps({"whose": list(whose), "facts": snapshot.facts, "sections": sections}).encode()
    out.write(told)
    out.write(_END.pack(_MAGIC, FORMAT, zlib.crc32(told), len(told)))


def read(file: Path, whose: Sequence[str], *, writable: str) -> Snapshot:
    """The arrays mapped into memory; what is written to those whose names begin with `writable` stays this process's.

    Raises WrongSnapshot or OSError.
    """
    with file.open("rb") as opened:
        handle = opened.fileno()
        number = os.fstat(handle).st_ino
        told = _told(handle)
        if told["whose"] != list(whose):
            raise WrongSnapshot("it is of another shelf")
        sections = told["sections"].items()
        checks = [helpers().submit(_check, handle, *section[2:]) for _, section in sections]
        # Each map keeps a handle. What is written to this one stays in this process; of the rest nothing can be.
        whole = mmap.mmap(handle, 0, access=mmap.ACCESS_COPY)
        arrays: dict[str, Sequence[Array]] = {}
        rows: dict[str, SavedRows] = {}
        for name, (kind, shape, start, *_) in sections:
            array = np.frombuffer(whole, kind, math.prod(shape), start).reshape(shape)
            array.flags.writeable = name.startswith(writable)
            arrays[name] = [array]
            if name == READ:
                rows[name] = SavedRows(handle, array, start)
        # All of them, before the file is closed.
        errors = [check.exception() for check in checks]
    for error in errors:
        if error is not None:
            raise error
    return Snapshot(told["facts"], arrays, rows, number)


def _told(handle: int) -> dict[str, Any]:
    """What the end of the file says."""
    size = os.fstat(handle).st_size
    end = os.pread(handle, _END.size, max(0, size - _END.size))
    if len(end) < _END.size:
        raise WrongSnapshot("it is cut short")
    magic, version, checksum, length = _END.unpack(end)
    if magic != _MAGIC:
        raise WrongSnapshot("it is cut short, or something else")
    if version != FORMAT:
        raise WrongSnapshot(f"it has format {version}")
    told = os.pread(handle, min(length, size), max(0, size - _END.size - length))
    if zlib.crc32(told) != checksum:
        raise WrongSnapshot("its end is damaged")
    found: dict[str, Any] = json.loads(told)
    if any(start + bytes_ > size for _, _, start, bytes_, _ in found["sections"].values()):
        raise WrongSnapshot("it is cut short")
    return found


def _check(handle: int, start: int, size: int, expected: int) -> None:
    checksum = _Checksum()
    for at in range(start, start + size, _READ_AT_ONCE):
        checksum.add(os.pread(handle, min(_READ_AT_ONCE, start + size - at), at))
    if checksum.of_pages != expected:
        raise WrongSnapshot("it is damaged")


class _Checksum:
    """Of an array's pages as they come: the CRC-32 of what the numbers of each add up to, so that none can be lost,
    changed or moved unseen. A CRC-32 of all bytes takes three times as long, and a new process waits for it.
    """

    def __init__(self) -> None:
        self.of_pages = 0
        self._rest = b""

    def add(self, part: memoryview | bytes) -> None:
        if self._rest or len(part) % _PAGE:
            part = self._rest + bytes(part)
            self._rest = part[len(part) // _PAGE * _PAGE :]
        numbers = np.frombuffer(part, np.uint64, len(part) // _PAGE * (_PAGE // 8))
        self.of_pages = zlib.crc32(numbers.reshape(-1, _PAGE // 8).sum(axis=1), self.of_pages)
