"""The columns of a shelf: one value for each row, at its place."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_NEVER = np.iinfo(np.int64).max
_ALWAYS = np.iinfo(np.int64).min

KINDS = {
    "agent": np.int32,
    "thread": np.intp,
    "kind": np.int32,
    "category": np.int32,
    "project": np.int32,
    "standing": np.int8,
    "event_time": np.int64,
    "created_at": np.int64,
    "expires_at": np.int64,
    "valid_from": np.int64,
    "valid_to": np.int64,
    "retired_at": np.int64,
    "change": np.int64,
    "digest": np.int64,
    "previous": np.int64,
    "linked": np.float32,
    "windows": np.int32,
    "vectors": np.uint32,
}

TEXTS = ("agent", "thread", "kind", "category", "project")
"""What is a text in the database, and a number that stands for it here."""

ABSENT = {"expires_at": _NEVER, "valid_from": _ALWAYS, "valid_to": _NEVER, "retired_at": _NEVER}
"""What an absent time stands for."""

STATES = (*TEXTS, "standing", "event_time", "created_at", *ABSENT, "change")
"""What may change while the text stays the same; vectors may, too, with the message before it."""


_LEAST_ROOM = 1024


class Column:
    """Values that are only ever added at the end; room is made by halves when it runs out."""

    __slots__ = ("_is_mapped", "_used", "values")

    def __init__(self, kind: type) -> None:
        self.values: Array = np.zeros(0, dtype=kind)
        self._used = 0
        self._is_mapped = False

    @property
    def size_bytes(self) -> int:
        """What it takes of this process's own memory."""
        return 0 if self._is_mapped else self.values.nbytes

    def extend(self, values: Sequence[float] | Array) -> None:
        wanted = self._used + len(values)
        if wanted > self.values.size:
            # Views keep the old array; its values were copied.
            grown = np.zeros(max(wanted, self._used * 3 // 2), dtype=self.values.dtype)
            grown[: self._used] = self.values[: self._used]
            self.values, self._is_mapped = grown, False
        self.values[self._used : wanted] = values
        self._used = wanted

    def keep(self, values: Array) -> None:
        """These alone from now on."""
        self.values, self._used, self._is_mapped = values, values.size, False

    def copied(self) -> Array:
        """To be changed: views that were given out keep the values that there were."""
        self.values, self._is_mapped = self.values.copy(), False
        return self.values

    def saved(self) -> list[Array]:
        """As a file has them: with room for more, so that the next few need no copy of them all."""
        return with_room(self.values[: self._used].copy())

    def map(self, values: Array, used: int) -> None:
        """Those of a file."""
        self.values, self._used, self._is_mapped = values, used, True


def with_room(values: Array) -> list[Array]:
    """Values as a file has them, and room for more."""
    return [values, np.zeros(max(_LEAST_ROOM, values.size // 16), dtype=values.dtype)]


def distinct(values: Array) -> Array:
    """Each once, ascending: `np.unique` takes several times as long for a few thousand, and imports much."""
    values = np.sort(values)
    is_first = np.ones(values.size, dtype=bool)
    np.not_equal(values[1:], values[:-1], out=is_first[1:])
    return values[is_first]


def which_are(values: Array, wanted: Array) -> Array:
    """The numbers of the values that are among the wanted ones, of which -1 is none. By a table, since looking each
    value up among the wanted ones takes many times as long.
    """
    if not values.size or not wanted.size:
        return np.zeros(0, dtype=np.int64)
    table = np.zeros(max(int(values.max()), int(wanted.max())) + 2, dtype=bool)
    table[wanted] = True
    table[-1] = False
    return np.flatnonzero(table.take(values, mode="wrap"))
