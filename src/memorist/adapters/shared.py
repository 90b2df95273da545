"""What the adapters have in common: texts of frameworks and their models as memory takes them, and what is no reason
for an agent to stop.
"""

import json
from collections.abc import Iterable, Iterator

from memorist.errors import (
    ModelUnavailable,
    RequestTimeout,
    ServerBusy,
    ServerUnavailable,
    StoreBusy,
    StoreUnavailable,
    TooManyRequests,
)
from memorist.ingestion.service import Message
from memorist.platform import validation

OUT_OF_REACH = (
    ServerUnavailable,
    ServerBusy,
    TooManyRequests,
    RequestTimeout,
    StoreUnavailable,
    StoreBusy,
    ModelUnavailable,
)
"""Memory cannot be had at the moment, whoever asks for it. What somebody has to put right is not among it."""

# Well below what a server takes in one request, MEMORIST_BODY_LIMIT.
_BYTES_AT_ONCE = 500_000


def storable(text: str) -> str:
    """The text without what is refused in one: a NUL, or a lone surrogate, which JSON can spell."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def question_in(text: str | None) -> str:
    """What to recall for a text: its beginning, as long as a question may be. Empty where it says nothing."""
    return storable(text or "").strip()[: validation.MAX_QUERY]


def in_batches(messages: Iterable[Message]) -> Iterator[list[Message]]:
    """Messages in their order, in parts that are taken at once."""
    some: list[Message] = []
    size = 0
    for message in messages:
        length = len(json.dumps([message.content, message.meta], ensure_ascii=False).encode())
        if some and (len(some) == validation.MAX_BATCH or size + length > _BYTES_AT_ONCE):
            yield some
            some, size = [], 0
        some.append(message)
        size += length
    if some:
        yield some
