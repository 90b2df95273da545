"""Opaque cursors: where a page ended, and a fingerprint of the list it belongs to."""

import base64
import hashlib
import json
from dataclasses import replace
from typing import Any

from memorist.errors import InvalidCursor
from memorist.ids import parse_id
from memorist.model import Memory, Position, Query
from memorist.times import from_micros, to_micros


def encode_cursor(query: Query, last: Memory) -> str:
    body = [_fingerprint(last.tenant, query), to_micros(last.created_at), last.id, last.importance]
    return base64.urlsafe_b64encode(json.dumps(body, separators=(",", ":")).encode()).decode().rstrip("=")


def decode_cursor(tenant: str, query: Query, cursor: str) -> Position:
    """Where to go on. Raises InvalidCursor for anything that this very list did not give out."""
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        fingerprint, micros, memory_id, importance = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        position = Position(from_micros(_whole(micros)), parse_id("mem", memory_id), _whole(importance))
    except Exception as error:
        # Whatever is wrong with a cursor, there is one answer to it.
        raise InvalidCursor from error
    if fingerprint != _fingerprint(tenant, query):
        raise InvalidCursor("The cursor belongs to a list with other filters. Keep the filters, or start again.")
    return position


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) >= 2**62:
        raise ValueError(value)
    return value


def _fingerprint(tenant: str, query: Query) -> str:
    # The page size may change from page to page.
    return hashlib.sha256(repr((tenant, replace(query, limit=0, after=None))).encode()).hexdigest()[:12]
