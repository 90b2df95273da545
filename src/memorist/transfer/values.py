"""What export and import are told."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from memorist.memories.values import Kind
from memorist.platform.values import Event

IMPORTING = "import"
"""The kind of the jobs that store a file."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which part of all an export holds: kinds of memories, and what was stored from a moment on and before another.
    Documents come along where their chunks do.
    """

    kinds: frozenset[Kind] = frozenset(Kind)
    since: datetime | None = None
    until: datetime | None = None

    def has(self, at: datetime) -> bool:
        return (self.since is None or at >= self.since) and (self.until is None or at < self.until)


EVERYTHING = Chosen()


class Line(NamedTuple):
    """What one line of an export holds: a memory with its history and payload, or a document."""

    memory: Any
    events: list[Event]
    payload: str | None
    document: Any
