"""What export and import are told."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from memorist.memories.policy import Policy
from memorist.memories.values import Kind
from memorist.platform.values import Event, Owner

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


class ExportLine(NamedTuple):
    """What one line of an export holds: a memory with its history and payload, a document, the policy, or the count of
    the lines.
    """

    memory: Any = None
    events: Sequence[Event] = ()
    payload: str | None = None
    document: Any = None
    policy: Policy | None = None
    of_lines: int | None = None

    @property
    def owner(self) -> Owner | None:
        """Whose it is; None of what is no memory and no document."""
        holder = self.document if self.memory is None else self.memory
        return None if holder is None else holder.owner
