"""Verdicts, doubts and chains of facts, as values."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from memorist.errors import LlmError
from memorist.memories.values import Memory
from memorist.platform.values import Event, Owner


class Ruling(StrEnum):
    """How a newer fact stands to an older one. Unsure: both stay, and somebody is asked."""

    SAME = "same"
    REFINES = "refines"
    CONTRADICTS = "contradicts"
    UNRELATED = "unrelated"
    UNSURE = "unsure"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge says of two facts, why, and how certain it is, from 0 to 1."""

    ruling: Ruling
    reason: str
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class Unheard(Verdict):
    """What holds until a judge is heard that was to be asked and failed."""

    error: LlmError = field(default_factory=LlmError, compare=False)


class DoubtStatus(StrEnum):
    """What became of two facts in doubt: not decided, the older or the newer one was retired, or both are right."""

    OPEN = "open"
    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    DISMISSED = "dismissed"


@dataclass(frozen=True, slots=True)
class Doubt:
    """Two facts of one owner that may contradict each other, or say the same: `fact_id` is the newer one."""

    id: str
    owner: Owner
    fact_id: str
    other_id: str
    reason: str
    judge: str
    created_at: datetime
    updated_at: datetime
    status: DoubtStatus = DoubtStatus.OPEN


@dataclass(frozen=True, slots=True)
class InDoubt:
    """A doubt with its two facts, to be decided; and what the judge said, where its history has it."""

    doubt: Doubt
    fact: Memory
    other: Memory
    verdict: Verdict | None = None


@dataclass(frozen=True, slots=True)
class Supersession:
    """A fact that was retired, what replaced it, and when, why and by whose judgement that was.

    `by` is None where it is gone, or deleted and not for the caller to restore; `confidence` where nobody said how
    certain it is.
    """

    retired: Memory
    by: Memory | None
    at: datetime
    reason: str
    judge: str
    confidence: float | None
    was_merged: bool = False
    """Whether `by` says the same, or more."""
    current: Memory | None = None
    """What stands in its place now, at the end of the chain; None where nothing does."""


@dataclass(frozen=True, slots=True)
class FactVersion:
    """One fact of a chain, and what happened to it."""

    memory: Memory
    events: tuple[Event, ...]
