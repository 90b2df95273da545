"""Pieces of erased texts, to look for in the files once the texts are gone. Kept in memory for that long only."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from memorist.memories.values import Memory
from memorist.platform.erased_names import is_bare_id

# Long enough that none is anywhere by chance, short enough to lie within one page of a file mostly.
PIECE = 24
SHORTEST = 12
_MOST = 200_000
# A piece must read the same in a column and inside a JSON text.
_RUN = re.compile(r'[^"\\\x00-\x1f\x7f]+')


class Samples:
    """Collects pieces of texts: where each begins, in its middle and where it ends."""

    def __init__(self) -> None:
        self.pieces: set[bytes] = set()

    def add(self, texts: Iterable[str | None]) -> None:
        for text in texts:
            if text and len(self.pieces) < _MOST:
                self.pieces.update(pieces_of(text))


def pieces_of(text: str) -> list[bytes]:
    """At most three pieces of a text; none of one that is too short to be told from others, or is only an id."""
    if is_bare_id(text):
        return []  # The row that it names has it, where that is there: a memory's, or a key's that lives on.
    run = max(_RUN.findall(text), key=len, default="").strip().encode()
    if len(run) < SHORTEST:
        return []
    starts = {0, max(0, len(run) // 2 - PIECE // 2), max(0, len(run) - PIECE)}
    # Of a character that a cut goes through, the rest is left out.
    found = [run[start : start + PIECE].decode(errors="ignore").encode() for start in sorted(starts)]
    return [piece for piece in found if len(piece) >= SHORTEST]


def texts_of(memory: Memory) -> list[str | None]:
    """Every text that a memory holds."""
    return [
        memory.content,
        memory.name,
        memory.description,
        memory.excerpt,
        memory.project,
        memory.session,
        memory.category,
        memory.source_ref,
        *strings_in(memory.meta, names=True),
    ]


def strings_in(value: Any, *, names: bool = False) -> list[str]:
    """Every text inside a JSON value. Names of fields are ours, unless `names` says so or they are inside a `meta`."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        texts = [str(name) for name in value] if names else []
        for name, one in value.items():
            texts += strings_in(one, names=names or name == "meta")
        return texts
    if isinstance(value, list | tuple):
        return [text for one in value for text in strings_in(one, names=names)]
    return []
