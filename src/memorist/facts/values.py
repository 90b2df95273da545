"""Verdicts, doubts and chains of facts, as values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

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


# What histories tell: an import may have brought what no judge said.

_ROUNDING = 0.01


def verdict_told(said: Any) -> Verdict | None:
    """What an event of a fact that was judged says of another one; None where that is no verdict."""
    if not isinstance(said, Mapping) or said.get("verdict") not in list(Ruling):
        return None
    confidence = certainty_told(said.get("confidence"))
    # Of a fact that is gone the reason is, too.
    reason = text_told(said.get("reason") or "")
    return None if confidence is None or reason is None else Verdict(Ruling(said["verdict"]), reason, confidence)


def verdicts_told(judged: Event) -> list[tuple[str, Verdict]]:
    """Which other facts such an event names, each with what it says of that one."""
    said = judged.payload.get("verdicts")
    found = [(text_told(one.get("against")), verdict_told(one)) for one in _objects_in(said)]
    return [(against, verdict) for against, verdict in found if against is not None and verdict is not None]


def _objects_in(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def text_told(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def certainty_told(value: Any) -> float | None:
    """How certain somebody was, from 0 to 1; None where that is no such number."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and -_ROUNDING <= value <= 1 + _ROUNDING else None
