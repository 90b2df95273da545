"""The life of a memory as one table. Pure: it says what may happen and when, and does nothing."""

from dataclasses import replace
from datetime import datetime, timedelta

from memorist.errors import IllegalTransition
from memorist.model import Memory, Status

TRANSITIONS: dict[Status, frozenset[Status]] = {
    Status.ACTIVE: frozenset({Status.ARCHIVED, Status.SOFT_DELETED}),
    Status.ARCHIVED: frozenset({Status.ACTIVE, Status.SOFT_DELETED}),
    Status.SOFT_DELETED: frozenset({Status.ACTIVE, Status.HARD_DELETE_PENDING}),
    Status.HARD_DELETE_PENDING: frozenset({Status.PURGED}),
    Status.PURGED: frozenset(),
}

GRACE = timedelta(days=7)


def soft_delete(memory: Memory, now: datetime) -> Memory:
    """The memory inside its recovery window. Raises IllegalTransition."""
    _require(memory.status, Status.SOFT_DELETED)
    return replace(memory, status=Status.SOFT_DELETED, deleted_at=now, hard_delete_at=now + GRACE)


def _require(current: Status, wanted: Status) -> None:
    if wanted not in TRANSITIONS[current]:
        raise IllegalTransition(f"A memory that is {current} cannot become {wanted}.")
