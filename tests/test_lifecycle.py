"""The life of a memory: every pair of states is either a move or refused, and every deadline is where it should be."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.errors import IllegalTransition
from memorist.ids import new_id
from memorist.memories import lifecycle
from memorist.memories.policy import Move, Policy, Windows
from memorist.memories.values import Kind, Memory, Retention, Status
from memorist.platform.values import NOBODY, Owner
from memorist.testing import full_memory, make_memory
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
STEPS: dict[Status, Callable[[Memory], Memory]] = {
    Status.ACTIVE: lambda memory: lifecycle.restore(memory, Policy(), START),
    Status.ARCHIVED: lambda memory: lifecycle.archive(memory, Policy(), START),
    Status.SOFT_DELETED: lambda memory: lifecycle.soft_delete(memory, Policy(), START),
    Status.HARD_DELETE_PENDING: lambda memory: lifecycle.pend(memory, START),
}
DAY = timedelta(days=1)
STEP = timedelta(microseconds=1)


def aging(**fields: object) -> Memory:
    return make_memory("t", retention=Retention.POLICY, **fields)


@pytest.mark.parametrize(("before", "after"), list(itertools.product(Status, Status)))
def test_pair_of_states_is_a_move_or_is_refused(before: Status, after: Status) -> None:
    if (before, after) in MOVES:
        lifecycle.require(before, after)
    else:
        with pytest.raises(IllegalTransition, match=f"{before} cannot become {after}"):
            lifecycle.require(before, after)


@pytest.mark.parametrize(("before", "after"), list(itertools.product(Status, STEPS)))
def test_every_step_moves_along_the_table_or_is_refused(before: Status, after: Status) -> None:
    memory = aging(status=before)
    if (before, after) in MOVES:
        moved = STEPS[after](memory)
        assert moved.status is after
        assert moved.updated_at > memory.updated_at
    else:
        with pytest.raises(IllegalTransition):
            STEPS[after](memory)


def test_every_state_is_in_the_table() -> None:
    assert set(lifecycle.TRANSITIONS) == set(Status)


def test_purged_is_the_end() -> None:
    assert lifecycle.TRANSITIONS[Status.PURGED] == frozenset()


def test_every_state_leads_to_purged_by_time_alone() -> None:
    memory = lifecycle.with_deadlines(aging(), Policy())
    seen = []
    while (move := lifecycle.next_move(memory)) is not Move.PURGED:
        due = lifecycle.due_at(memory)
        assert move is not None
        assert due is not None
        assert lifecycle.due_move(memory, due - STEP) is None
        assert lifecycle.due_move(memory, due) is move
        memory = lifecycle.by_time(memory, move, Policy(), due)
        seen.append((memory.status, due - START))
    assert seen == [
        (Status.ARCHIVED, 90 * DAY),
        (Status.SOFT_DELETED, 150 * DAY),
        (Status.HARD_DELETE_PENDING, 157 * DAY),
    ]


def test_policy_without_an_archive_goes_straight_to_deletion() -> None:
    memory = lifecycle.with_deadlines(aging(), Policy(windows=Windows(archive=False)))
    assert (memory.archive_at, memory.retention_expires_at) == (None, START + 90 * DAY)
    assert lifecycle.due_move(memory, START + 90 * DAY) is Move.DELETED


def test_kinds_can_have_windows_of_their_own() -> None:
    policy = Policy(kinds={Kind.CHAT_MESSAGE: {"active_days": 1}, Kind.FACT: {"archive": False}})
    said = lifecycle.with_deadlines(aging(kind=Kind.CHAT_MESSAGE), policy)
    assert (said.archive_at, said.retention_expires_at) == (START + DAY, START + 61 * DAY)
    fact = lifecycle.with_deadlines(aging(), policy)
    assert (fact.archive_at, fact.retention_expires_at) == (None, START + 90 * DAY)
    chunk = lifecycle.with_deadlines(aging(kind=Kind.DOCUMENT_CHUNK), policy)
    assert chunk.archive_at == START + 90 * DAY


def test_kept_memory_has_no_deadline_until_it_is_deleted() -> None:
    memory = make_memory("t")
    assert lifecycle.with_deadlines(memory, Policy()) == memory
    archived = lifecycle.archive(memory, Policy(), START)
    assert lifecycle.due_at(memory) is lifecycle.due_at(archived) is None
    gone = lifecycle.soft_delete(archived, Policy(), START)
    assert lifecycle.due_at(gone) == START + 7 * DAY


def test_soft_deleted_memory_has_a_week_of_grace() -> None:
    memory = make_memory("t")
    gone = lifecycle.soft_delete(memory, Policy(), START)
    assert gone == replace(
        memory,
        status=Status.SOFT_DELETED,
        deleted_at=START,
        hard_delete_at=START + 7 * DAY,
        updated_at=START + STEP,
    )


def test_archiving_by_hand_starts_the_time_in_the_archive() -> None:
    memory = lifecycle.with_deadlines(aging(), Policy())
    early = lifecycle.archive(memory, Policy(), START + 10 * DAY)
    assert (early.archive_at, early.retention_expires_at) == (START + 10 * DAY, START + 70 * DAY)
    late = lifecycle.archive(memory, Policy(), START + 95 * DAY)
    assert (late.archive_at, late.retention_expires_at) == (memory.archive_at, memory.retention_expires_at)


def test_restoring_starts_the_time_anew_until_the_last_moment_and_not_after() -> None:
    gone = lifecycle.soft_delete(lifecycle.with_deadlines(aging(), Policy()), Policy(), START)
    last = START + 7 * DAY - STEP
    back = lifecycle.restore(gone, Policy(), last)
    assert (back.status, back.deleted_at, back.hard_delete_at) == (Status.ACTIVE, None, None)
    assert (back.archive_at, back.retention_expires_at) == (last + 90 * DAY, last + 150 * DAY)
    with pytest.raises(IllegalTransition, match="over"):
        lifecycle.restore(gone, Policy(), START + 7 * DAY)


def test_restoring_forgets_what_took_its_place_and_an_expiry_that_passed() -> None:
    retired = make_memory(
        "t", status=Status.ARCHIVED, superseded_by=new_id("mem"), valid_to=START, expires_at=START + DAY
    )
    back = lifecycle.restore(retired, Policy(), START)
    assert (back.superseded_by, back.valid_to, back.expires_at) == (None, None, START + DAY)
    assert lifecycle.restore(retired, Policy(), START + DAY).expires_at is None


def test_ttl_comes_before_the_policy() -> None:
    memory = lifecycle.with_deadlines(aging(expires_at=START + DAY), Policy())
    assert lifecycle.due_move(memory, START + DAY - STEP) is None
    assert lifecycle.due_move(memory, START + DAY) is Move.EXPIRED
    assert lifecycle.due_move(memory, START + 1000 * DAY) is Move.EXPIRED
    assert lifecycle.due_move(replace(memory, status=Status.ARCHIVED), START + DAY) is None
    kept = replace(memory, status=Status.ARCHIVED, retention=Retention.KEEP)
    assert lifecycle.due_move(kept, START + DAY) is Move.EXPIRED


def test_memory_that_was_just_moved_is_due_only_after_that_moment() -> None:
    overdue = START + 1000 * DAY
    archived = lifecycle.archive(lifecycle.with_deadlines(aging(), Policy()), Policy(), overdue)
    assert lifecycle.due_move(archived, overdue) is None
    assert lifecycle.due_move(archived, overdue + STEP) is Move.DELETED


def test_retired_fact_does_not_age() -> None:
    retired = replace(lifecycle.with_deadlines(aging(), Policy()), status=Status.ARCHIVED, superseded_by=new_id("mem"))
    assert lifecycle.due_at(retired) is None
    assert lifecycle.due_at(replace(retired, superseded_by=None)) == retired.retention_expires_at


def test_anonymized_memory_holds_no_text_and_nobody() -> None:
    memory = full_memory("t")
    bare = lifecycle.anonymize(memory, START + 99 * DAY)
    assert (bare.content, bare.owner, bare.dedup_key) == ("[REDACTED]", NOBODY, memory.id)
    assert Owner() not in (bare.owner, NOBODY)
    assert (bare.id, bare.superseded_by, bare.kind) == (memory.id, memory.superseded_by, memory.kind)
    kept = {value for value in vars_of(bare) if isinstance(value, str)}
    texts = ("content", "session", "project", "category", "name", "description", "excerpt", "source_ref")
    told = {"ada", "coder", *(getattr(memory, name) for name in texts)}
    assert None not in told
    assert kept & told == set()
    assert (bare.meta, bare.source_ref, bare.content_hash) == (None, None, "")
    with pytest.raises(IllegalTransition, match="anonymized"):
        lifecycle.restore(bare, Policy(), START)


def vars_of(memory: Memory) -> list[object]:
    return [getattr(memory, name) for name in Memory.__dataclass_fields__]


def test_payload_without_texts_keeps_states_numbers_and_ids() -> None:
    memory_id = new_id("mem")
    payload = {"from": "active", "count": 3, "by": memory_id, "before": {"content": "secret"}, "reason": "secret"}
    assert lifecycle.without_texts(payload) == {"from": "active", "count": 3, "by": memory_id}


def test_what_is_told_again_lives_as_long_as_the_longer_of_the_two_asks() -> None:
    def merged(before: Memory, again: Memory) -> tuple[Retention, datetime | None]:
        after = lifecycle.merge(before, again, START)
        return after.retention, after.expires_at

    short, long = aging(expires_at=START + DAY), aging(expires_at=START + 2 * DAY)
    assert merged(short, long) == merged(long, short) == (Retention.POLICY, START + 2 * DAY)
    assert merged(short, aging()) == (Retention.POLICY, None)
    assert merged(short, make_memory("t")) == (Retention.KEEP, None)
    kept = make_memory("t")
    assert lifecycle.merge(kept, aging(expires_at=START), START) is kept


def test_current_means_active_and_not_expired() -> None:
    memory = make_memory("t")
    assert memory.is_current(START)
    assert replace(memory, expires_at=START + STEP).is_current(START)
    assert not replace(memory, expires_at=START).is_current(START)
    for status in set(Status) - {Status.ACTIVE}:
        assert not replace(memory, status=status).is_current(START)


days = st.one_of(st.integers(0, 400), st.floats(0, 400))


@given(windows=st.builds(Windows, days, st.booleans(), days, days), at=st.integers(0, 10**13))
def test_deadlines_follow_one_another_whatever_the_windows(windows: Windows, at: int) -> None:
    policy = Policy(windows=windows)
    memory = lifecycle.with_deadlines(aging(), policy)
    assert memory.retention_expires_at is not None
    assert START <= (memory.archive_at or START) <= memory.retention_expires_at
    now = START + timedelta(microseconds=at)
    gone = lifecycle.soft_delete(memory, policy, now)
    assert gone.hard_delete_at is not None
    assert gone.hard_delete_at - now == timedelta(days=windows.grace_days)
    assert lifecycle.with_deadlines(gone, policy) == gone
    assert lifecycle.with_deadlines(memory, policy) == memory
