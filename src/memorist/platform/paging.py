"""Opaque cursors: where a page ended, and a fingerprint of the list it belongs to."""

import base64
import hashlib
import json
from dataclasses import replace
from typing import Any

from memorist.errors import InvalidCursor
from memorist.ids import parse_id
from memorist.ingestion.values import Document, DocumentPosition
from memorist.memories.values import Memory, Position, Query
from memorist.platform import validation
from memorist.platform.values import Owner, Principal
from memorist.times import from_micros, to_micros
from memorist.views.values import Browse, BrowsePlace

_DOCUMENTS = "documents"


def encode_cursor(query: Query, last: Memory) -> str:
    return _packed([_fingerprint(last.tenant, query), to_micros(last.created_at), last.id, last.importance])


def decode_cursor(tenant: str, query: Query, cursor: str) -> Position:
    """Where to go on. Raises InvalidCursor for anything that this very list did not give out."""
    try:
        fingerprint, micros, memory_id, importance = _unpacked(cursor)
        position = Position(from_micros(_whole(micros)), parse_id("mem", memory_id), _whole(importance))
    except Exception as error:
        # Whatever is wrong with a cursor, there is one answer to it.
        raise InvalidCursor from error
    if fingerprint != _fingerprint(tenant, query):
        raise InvalidCursor("The cursor belongs to a list with other filters. Keep the filters, or start again.")
    return position


def encode_document_cursor(last: Document) -> str:
    return _packed([_DOCUMENTS, last.id, last.owner.user or "", last.owner.agent or ""])


def decode_document_cursor(cursor: str) -> DocumentPosition:
    """Where a list of documents goes on. Raises InvalidCursor for anything that such a list did not give out."""
    try:
        kind, document_id, user, agent = _unpacked(cursor)
        if kind != _DOCUMENTS:
            raise ValueError(kind)
        owner = validation.owner(Owner(user or None, agent or None))
        return DocumentPosition(validation.identifier("document_id", document_id), owner)
    except Exception as error:
        raise InvalidCursor from error


def encode_id_cursor(name: str, last_id: str) -> str:
    """The cursor of a list that is in the order of its ids; `name` tells its cursors from those of others."""
    return _packed([name, last_id])


def decode_id_cursor(name: str, prefix: str, cursor: str) -> str:
    """The id after which such a list goes on. Raises InvalidCursor for anything that this list did not give out."""
    try:
        found, last_id = _unpacked(cursor)
        if found != name:
            raise ValueError(found)
        return parse_id(prefix, last_id)
    except Exception as error:
        raise InvalidCursor from error


def encode_number_cursor(name: str, last: int) -> str:
    """The same of a list that is in the order of numbers."""
    return _packed([name, last])


def decode_number_cursor(name: str, cursor: str) -> int:
    """The number after which such a list goes on. Raises InvalidCursor for anything that this list did not give out."""
    try:
        found, last = _unpacked(cursor)
        if found != name:
            raise ValueError(found)
        return _whole(last)
    except Exception as error:
        raise InvalidCursor from error


def encode_place_cursor(name: str, last: Memory) -> str:
    """The cursor of a list of memories, newest first, that is told from others by its name."""
    return _packed([_hash(name), to_micros(last.created_at), last.id])


def decode_place_cursor(name: str, cursor: str) -> Position:
    """Where such a list goes on. Raises InvalidCursor for anything that this very list did not give out."""
    try:
        found, micros, memory_id = _unpacked(cursor)
        position = Position(from_micros(_whole(micros)), parse_id("mem", memory_id))
    except Exception as error:
        raise InvalidCursor from error
    if found != _hash(name):
        raise InvalidCursor("The cursor belongs to a list with other filters. Keep the filters, or start again.")
    return position


def encode_browse_cursor(principal: Principal, browse: Browse, place: BrowsePlace) -> str:
    return _packed([_browse_fingerprint(principal, browse), *place])


def decode_browse_cursor(principal: Principal, browse: Browse, cursor: str) -> BrowsePlace:
    """Where browsing goes on. Raises InvalidCursor for anything that this very list did not give out."""
    try:
        found, importance, micros, memory_id = _unpacked(cursor)
        place = BrowsePlace(_whole(importance), _whole(micros), parse_id("mem", memory_id))
    except Exception as error:
        raise InvalidCursor from error
    if found != _browse_fingerprint(principal, browse):
        raise InvalidCursor("The cursor belongs to a list with other filters. Keep the filters, or start again.")
    return place


def _browse_fingerprint(principal: Principal, browse: Browse) -> str:
    return _hash(repr((principal.tenant, principal.user, principal.agent, browse)))


def _packed(body: list[Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(body, separators=(",", ":")).encode()).decode().rstrip("=")


def _unpacked(cursor: str) -> Any:
    padded = cursor + "=" * (-len(cursor) % 4)
    return json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) >= 2**62:
        raise ValueError(value)
    return value


def _fingerprint(tenant: str, query: Query) -> str:
    # The page size may change from page to page.
    return _hash(repr((tenant, replace(query, limit=0, after=None))))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
