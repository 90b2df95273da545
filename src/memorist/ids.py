"""Identities: 128 bits, a ULID, shown with a prefix (`mem_…`) or, where an API wants it, as a UUID of the same bits.

New ones carry the version and the variant of a UUIDv7; those of earlier releases do not, and are read all the same.
"""

import os
import re
import threading
import time
from uuid import UUID

from memorist.errors import InvalidId, NotFound

ULID_CHARACTERS = _ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
# Two characters at a time halves the work on the write path.
_PAIRS = [a + b for a in _ALPHABET for b in _ALPHABET]
_VALUES = {c: i for i, c in enumerate(_ALPHABET)}

_CANONICAL = re.compile(f"[0-7][{_ALPHABET}]{{25}}")
_ULID_LENGTH = 26
_MAX_ULID = (1 << 128) - 1


_lock = threading.Lock()
_last = 0


# Of the 128 bits of a UUIDv7, 48 are milliseconds and 74 random; the version lies within those, the variant below it.
_RANDOM_BITS = 74
_LOW_BITS = 62
_VERSION = 0x7 << 76
_VARIANT = 0b10 << _LOW_BITS


def new_id(prefix: str) -> str:
    """A fresh id such as `mem_01J9Z3K4M5N6P7Q8R9S0T1V2W3`. Those of one process sort in the order they were made."""
    global _last
    millisecond = time.time_ns() // 1_000_000
    fresh = millisecond << _RANDOM_BITS | int.from_bytes(os.urandom(10)) >> 80 - _RANDOM_BITS
    with _lock:
        # Within a millisecond, and when the clock steps back, the next id follows the last: turns keep their order.
        _last = fresh if millisecond > _last >> _RANDOM_BITS else _last + 1
        made = _last
    time_and_version = made >> _RANDOM_BITS << 80 | _VERSION | (made >> _LOW_BITS & 0xFFF) << 64
    return f"{prefix}_{_encode(time_and_version | _VARIANT | made & (1 << _LOW_BITS) - 1)}"


def parse_id(prefix: str, text: str) -> str:
    """The canonical form of an id given as `prefix_ULID`, bare ULID or UUID. Raises InvalidId."""
    if not isinstance(text, str):
        raise InvalidId(f"An id is a text, such as {prefix}_01J9Z3K4M5N6P7Q8R9S0T1V2W3: give it as one.")
    candidate = text.removeprefix(f"{prefix}_")
    if candidate is not text and _CANONICAL.fullmatch(candidate):
        return text
    if len(candidate) == _ULID_LENGTH:
        return f"{prefix}_{_encode(_decode(candidate))}"
    try:
        return f"{prefix}_{_encode(UUID(candidate).int)}"
    except ValueError:
        raise InvalidId(f"{text[:60]!r} is not an id: {prefix}_ and 26 characters, or a UUID, were expected.") from None


def known_id(prefix: str, text: str) -> str:
    """The same for an API whose ids are the prefix and a nanoid: one of that form is none of ours, and names nothing.

    Raises InvalidId or NotFound.
    """
    try:
        return parse_id(prefix, text)
    except InvalidId:
        if re.fullmatch(rf"{prefix}_[A-Za-z0-9_-]{{21}}", text) is None:
            raise
        raise NotFound(f"There is nothing with the id {text[:60]} here.") from None


def to_uuid(prefixed: str) -> UUID:
    """The same 128 bits as a UUID."""
    return UUID(int=_decode(prefixed.rpartition("_")[2]))


def _encode(number: int) -> str:
    return "".join([_PAIRS[number >> shift & 1023] for shift in range(120, -1, -10)])


def _decode(ulid: str) -> int:
    number = 0
    for character in ulid.upper():
        value = _VALUES.get(character)
        if value is None:
            raise InvalidId(f"{ulid[:60]!r} is not a ULID: it has characters other than {_ALPHABET}")
        number = number << 5 | value
    if number > _MAX_ULID:
        raise InvalidId(f"{ulid!r} is not a ULID: it is larger than 128 bits")
    return number
