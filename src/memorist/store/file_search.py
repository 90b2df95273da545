"""Looks for many pieces of bytes in files at once, at about the speed at which a disk gives them."""

import os
import threading
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

# What a piece is recognised by at first: its last bytes, since ids and sentences tend to begin alike.
KEY_BYTES = 8
_BLOCK = 4 << 20
_SIEVE_BITS = 22


def find_in_files(files: Iterable[Path], pieces: Collection[bytes]) -> frozenset[bytes]:
    """Those of the pieces, of 8 bytes or more each, that one of the files holds. Raises OSError."""
    if not pieces:
        return frozenset()
    search = PieceSearch(pieces)
    found: set[bytes] = set()
    for file in files:
        for block in _blocks(file, overlap=max(map(len, pieces)) - 1):
            found |= search.find(block)
    return frozenset(found)


def _blocks(file: Path, overlap: int) -> Iterator[bytes]:
    """The file in blocks, each of which begins with the end of the one before."""
    end = b""
    source = _handle(file)
    at = 0
    while block := os.pread(source, _BLOCK, at):
        yield end + block
        end = (end + block)[-overlap:]
        at += len(block)


_handles: dict[tuple[int, int], int] = {}
_handles_lock = threading.Lock()


def _handle(file: Path) -> int:
    """A handle on a file that is never closed.

    Closing any handle of a file drops every lock that the process has on it: the database's own too, and others would
    then believe that nobody uses it.
    """
    with _handles_lock:
        status = file.stat()
        key = (status.st_dev, status.st_ino)
        if key not in _handles:
            _handles[key] = os.open(file, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        return _handles[key]


class PieceSearch:
    """Finds pieces, of 8 bytes or more each, in blocks of bytes."""

    def __init__(self, pieces: Collection[bytes]) -> None:
        import numpy as np  # Only those who erase pay for importing it.

        self._np = np
        self._pieces: dict[int, list[bytes]] = defaultdict(list)
        for piece in pieces:
            self._pieces[int.from_bytes(piece[-KEY_BYTES:], "little")].append(piece)
        self._keys = np.array(sorted(self._pieces), dtype=np.uint64)
        self._sieve = np.zeros(1 << _SIEVE_BITS, dtype=bool)
        self._sieve[self._sieved(self._keys)] = True

    def find(self, block: bytes) -> set[bytes]:
        np = self._np
        found: set[bytes] = set()
        for offset in range(min(KEY_BYTES, len(block) - KEY_BYTES + 1)):
            count = (len(block) - offset) // KEY_BYTES
            words = np.frombuffer(block, dtype="<u8", count=count, offset=offset)
            candidates = np.flatnonzero(self._sieve[self._sieved(words)])
            taken = words[candidates]
            nearest = np.minimum(np.searchsorted(self._keys, taken), self._keys.size - 1)
            for index in candidates[self._keys[nearest] == taken].tolist():
                end = offset + (index + 1) * KEY_BYTES
                found.update(piece for piece in self._pieces[int(words[index])] if block.endswith(piece, 0, end))
        return found

    def _sieved(self, words: Any) -> Any:
        """Where in the sieve a word falls: the high bits of its product with an odd number are well mixed."""
        np = self._np
        mixed = words * np.uint64(0x9E3779B97F4A7C15)
        return (mixed >> np.uint64(64 - _SIEVE_BITS)).astype(np.intp)
