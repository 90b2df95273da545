"""Turns and their events, as values."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from memorist.models.values import Usage
from memorist.platform.values import Owner

STARTED = "turn.started"
COMPLETED = "turn.completed"
FAILED = "turn.failed"
VERDICT = "validator.verdict"
LAST = (COMPLETED, FAILED)
"""The events of which one ends every turn."""


class TurnStatus(StrEnum):
    """Where a turn stands."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Turn:
    """One exchange with a language model. `request` is what was asked, as JSON, until the turn is over.

    `runner` is the process that works on it, whose word holds until `lease_until`; until `attended_until` somebody
    listens. `replayed` where it was begun before, and asked for again under the same idempotency key.
    """

    id: str
    owner: Owner
    session: str
    status: TurnStatus
    created_at: datetime
    request: str = ""
    answer: str | None = None
    error: Mapping[str, str] | None = None
    usage: Usage = Usage()
    completed_at: datetime | None = None
    runner: str = ""
    lease_until: datetime | None = None
    attended_until: datetime | None = None
    replayed: bool = False

    @property
    def has_session(self) -> bool:
        """Whether it is of a session, which is stored; of others no transcript is kept."""
        return self.session != self.id


class TurnFigures(NamedTuple):
    """What a turn took."""

    status: TurnStatus
    usage: Usage
    created_at: datetime
    completed_at: datetime | None


@dataclass(frozen=True, slots=True)
class TurnEvent:
    """One event of a turn's stream; `seq` counts from 1 without a gap."""

    seq: int
    event: str
    data: Mapping[str, Any]
    created_at: datetime
