"""A tenant's retention rules, and what they bring, as values."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

from memorist.memories.values import Kind
from memorist.platform.values import OwnerFilter


class Mode(StrEnum):
    """Whether the sweeper only records what a policy would do, or does it.

    AUTO does the first in a tenant's observation window, and the second from then on.
    """

    AUTO = "auto"
    OBSERVE = "observe"
    ENFORCE = "enforce"


class Move(StrEnum):
    """A step of a memory's life that time brings, named as its event is."""

    EXPIRED = "expired"
    ARCHIVED = "archived"
    DELETED = "deleted"
    HARD_DELETE_PENDING = "hard_delete_pending"
    PURGED = "purged"
    ANONYMIZED = "anonymized"


class Reach(StrEnum):
    """What a policy moves at a moment: nothing, what its door promised from the first day, or all that it ages."""

    NOTHING = "nothing"
    PROMISED = "promised"
    ALL = "all"

    @property
    def mode(self) -> Mode:
        """What is done with the rest."""
        return Mode.ENFORCE if self is Reach.ALL else Mode.OBSERVE


class Derived(StrEnum):
    """What becomes of a fact that was learned from an erased memory: it loses its source, or goes too."""

    DETACH = "detach"
    ERASE = "erase"


@dataclass(frozen=True, slots=True)
class Windows:
    """How long a memory stays in each state, in days; `archive` false leaves the archive out."""

    active_days: float = 90
    archive: bool = True
    archive_days: float = 60
    grace_days: float = 7


@dataclass(frozen=True, slots=True)
class Policy:
    """A tenant's retention rules. `kinds` holds, by kind, the windows that differ, each as field and value."""

    mode: Mode = Mode.AUTO
    windows: Windows = Windows()
    kinds: Mapping[Kind, Mapping[str, Any]] = field(default_factory=dict)
    anonymize_after_days: float = 30
    derived_facts: Derived = Derived.DETACH
    users_share_documents: bool = True
    """Whether a user's key may share a document with the whole tenant. It moves no deadline."""

    def windows_of(self, kind: Kind) -> Windows:
        differing = self.kinds.get(kind)
        return replace(self.windows, **differing) if differing else self.windows


@dataclass(frozen=True, slots=True)
class PolicyRevision:
    """A policy as it was set: the newest revision is in force, the others are its history."""

    revision: int
    policy: Policy
    source: str
    created_at: datetime | None = None
    """None for the policy that every tenant begins with."""
    actor: str | None = None
    acts_from: datetime | None = None
    """Of the one in force, where its mode is `auto`: when the observation window ends."""

    def reach(self, now: datetime) -> Reach:
        """What the one in force moves at a moment."""
        if self.policy.mode is Mode.AUTO:
            return Reach.ALL if self.acts_from is not None and self.acts_from <= now else Reach.PROMISED
        return Reach.ALL if self.policy.mode is Mode.ENFORCE else Reach.NOTHING


@dataclass(frozen=True, slots=True)
class SweepState:
    """How far a tenant's sweeper is: deadlines follow `revision` up to an id (None: all do), and its last report."""

    revision: int
    recomputed_after: str | None
    report: Mapping[str, Any] | None = None
    reported_at: datetime | None = None
    is_open: bool = True
    """Whether the next sweep looks at the tenant though nothing new may be due."""


@dataclass(frozen=True, slots=True)
class ComingSpan:
    """Moves that time will bring to a slice's memories: after a moment and an id, '' being before all, and before
    another moment. `deleted`: also to those that are deleted.
    """

    owner: OwnerFilter
    after: datetime
    until: datetime
    anonymize_after: timedelta
    after_id: str = ""
    deleted: bool = True


class ComingMove(NamedTuple):
    """Which move comes to a memory next, and when."""

    memory_id: str
    at: datetime
    move: Move


@dataclass(frozen=True, slots=True)
class DueCount:
    """How many memories of a kind are due for a move, and the ids of a few of them."""

    move: Move
    kind: Kind
    count: int
    samples: tuple[str, ...]
