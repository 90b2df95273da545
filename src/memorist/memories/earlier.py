"""What a memory said before it was edited is told to its user and to those who may restore it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from memorist.memories.values import Memory
from memorist.platform import access
from memorist.platform.values import Event, Principal

_BEFORE = "before"
"""Where the event of an edit has what it replaced."""


def told_events(principal: Principal, memory: Memory, events: Sequence[Event]) -> Sequence[Event]:
    """The history of a memory as a caller who sees it is told it."""
    is_somebodys = memory.owner.user is not None
    if is_somebodys or access.is_among(access.recoverable_slices(principal), memory):
        return events
    return [replace(one, payload=_without(one.payload, _BEFORE)) for one in events]


def _without(payload: Mapping[str, Any], left_out: str) -> dict[str, Any]:
    return {name: value for name, value in payload.items() if name != left_out}
