"""Pages of lists, and their opaque cursors: where a page ended, and which list it belongs to."""

import base64
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from memorist.errors import Invalid, InvalidCursor
from memorist.ids import parse_id
from memorist.times import from_micros

T = TypeVar("T")
P = TypeVar("P")

# What reading a text raises that is no cursor, or not a cursor of that list.
_UNREADABLE = (ValueError, TypeError, OverflowError, RecursionError, Invalid)


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A page of a list; `next_cursor` is None on the last one."""

    items: tuple[T, ...]
    next_cursor: str | None


def page_of(found: Sequence[T], limit: int, cursor_of: Callable[[T], str]) -> Page[T]:
    """The first `limit` of what was found. Ask for one more than the page shows: it tells whether there is another."""
    items = tuple(found[:limit])
    return Page(items, cursor_of(items[-1]) if len(found) > limit else None)


class Cursors(Generic[P]):
    """The cursors of one list. Its filters are part of a cursor, so that none is taken for a list with other ones."""

    def __init__(self, name: str, pack: Callable[[P], Sequence[str | int]], unpack: Callable[..., P]) -> None:
        """`pack` takes a position apart; `unpack` puts it together, or raises ValueError or Invalid."""
        self._name = name
        self._pack = pack
        self._unpack = unpack

    def encode(self, position: P, filters: object = None) -> str:
        body = json.dumps([self._name, _fingerprint(filters), *self._pack(position)], separators=(",", ":"))
        return base64.urlsafe_b64encode(body.encode()).decode().rstrip("=")

    def decode(self, cursor: str | None, filters: object = None) -> P | None:
        """Where to go on; None from the beginning. Raises InvalidCursor for what this very list did not give out."""
        if cursor is None:
            return None
        try:
            padded = cursor + "=" * (-len(cursor) % 4)
            name, fingerprint, *parts = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
            position = self._unpack(*parts)
        except _UNREADABLE as error:
            raise InvalidCursor from error
        if name != self._name:
            raise InvalidCursor
        if fingerprint != _fingerprint(filters):
            raise InvalidCursor("The cursor belongs to a list with other filters. Keep the filters, or start again.")
        return position


def id_cursors(name: str, prefix: str) -> Cursors[str]:
    """Those of a list that is in the order of its ids."""
    return Cursors(name, lambda last: (last,), lambda last: id_part(prefix, last))


def id_part(prefix: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(value)
    return parse_id(prefix, value)


def number_part(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) >= 2**62:
        raise ValueError(value)
    return value


def moment_part(value: Any) -> datetime:
    return from_micros(number_part(value))


def _fingerprint(filters: object) -> str:
    return "" if filters is None else hashlib.sha256(repr(filters).encode()).hexdigest()[:12]
