"""What a message of the Model Context Protocol must be before its library sees it.

The library takes a request with an odd id for a notification, and of what it cannot read it says nothing: whoever asked
would wait for ever. Loading the library takes a second, so nothing of it is here.
"""

import json
from typing import Any

import pydantic_core

PARSE_ERROR = -32700
INVALID_REQUEST = -32600

_UNREADABLE = "This is not JSON in UTF-8, or half a character (a lone surrogate) stands in it."
# Only the revision 2025-03-26 has batches. The protocol's library takes none, and would quote them in its answer.
_NO_BATCH = "Batches are not taken: send each message in a request of its own."
_NO_MESSAGE = 'A message is an object with "jsonrpc": "2.0", a method and, where it has any, params that are an object.'
_NO_ID = "The id of a request must be a string or a whole number."


class RefusedMessage(Exception):
    """What is no message; `answer` is what whoever sent it is told."""

    def __init__(self, code: int, message: str, request_id: int | str | None = None) -> None:
        super().__init__(message)
        self.answer = {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message}}


def parse(body: bytes) -> dict[str, Any]:
    """A request, a notification or an answer. Raises RefusedMessage, with the request's id where it can be read."""
    try:
        message = pydantic_core.from_json(body)
    except ValueError:
        raise RefusedMessage(PARSE_ERROR, _UNREADABLE, _id_in(body)) from None
    if isinstance(message, list):
        raise RefusedMessage(INVALID_REQUEST, _NO_BATCH)
    if not isinstance(message, dict):
        raise RefusedMessage(INVALID_REQUEST, _NO_MESSAGE)
    if is_answer(message):
        return message
    if "id" in message and not _is_id(message["id"]):
        raise RefusedMessage(INVALID_REQUEST, _NO_ID)
    # The library takes what has an error as well for an answer, and answers it nothing.
    is_one_thing = "result" not in message and "error" not in message
    is_whole = is_one_thing and message.get("jsonrpc") == "2.0" and isinstance(message.get("method"), str)
    if not is_whole or not isinstance(message.get("params"), dict | None):
        raise RefusedMessage(INVALID_REQUEST, _NO_MESSAGE, message.get("id"))
    return message


def is_answer(message: dict[str, Any]) -> bool:
    return "method" not in message and ("result" in message or "error" in message)


def _is_id(value: object) -> bool:
    return isinstance(value, int | str) and not isinstance(value, bool)


def _id_in(body: bytes) -> int | str | None:
    """The id of a request that a more lenient reader still understands."""
    try:
        message = json.loads(body.decode("utf-8", "replace"))
        found = message["id"] if "method" in message else None
        str(found).encode()
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return found if _is_id(found) else None
