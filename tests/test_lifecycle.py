"""The life of a memory: every pair of states is either a move or refused."""

import itertools
from dataclasses import replace
from datetime import timedelta

import pytest

from memorist import lifecycle
from memorist.errors import IllegalTransition
from memorist.model import Status
from memorist.testing import make_memory
from memorist.testing.clocks import START

MOVES = {
    (Status.ACTIVE, Status.ARCHIVED),
    (Status.ACTIVE, Status.SOFT_DELETED),
    (Status.ARCHIVED, Status.ACTIVE),
    (Status.ARCHIVED, Status.SOFT_DELETED),
    (Status.SOFT_DELETED, Status.ACTIVE),
    (Status.SOFT_DELETED, Status.HARD_DELETE_PENDING),
    (Status.HARD_DELETE_PENDING, Status.PURGED),
}


@pytest.mark.parametrize(("before", "after"), list(itertools.product(Status, Status)))
def test_pair_of_states_is_a_move_or_is_refused(before: Status, after: Status) -> None:
    if (before, after) in MOVES:
        lifecycle._require(before, after)
    else:
        with pytest.raises(IllegalTransition, match=f"{before} cannot become {after}"):
            lifecycle._require(before, after)


def test_every_state_is_in_the_table() -> None:
    assert set(lifecycle.TRANSITIONS) == set(Status)


def test_purged_is_the_end() -> None:
    assert lifecycle.TRANSITIONS[Status.PURGED] == frozenset()


def test_soft_deleted_memory_has_a_week_of_grace() -> None:
    memory = make_memory("t")
    gone = lifecycle.soft_delete(memory, START)
    assert gone == replace(
        memory, status=Status.SOFT_DELETED, deleted_at=START, hard_delete_at=START + timedelta(days=7)
    )


def test_current_means_active_and_not_expired() -> None:
    memory = make_memory("t")
    assert memory.is_current(START)
    assert replace(memory, expires_at=START + timedelta(microseconds=1)).is_current(START)
    assert not replace(memory, expires_at=START).is_current(START)
    for status in set(Status) - {Status.ACTIVE}:
        assert not replace(memory, status=status).is_current(START)
