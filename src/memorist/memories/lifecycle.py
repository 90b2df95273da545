"""The life of a memory as one table, and every deadline in it. Pure: it says what may happen, and does nothing.

A memory of retention `policy` is active for `active_days`, archived for `archive_days` (or not at all, where the policy
does not archive), and once deleted, by whomever, recoverable for `grace_days`:

    created_at --active_days--> archive_at --archive_days--> retention_expires_at
    deleted_at --grace_days--> hard_delete_at

One that is kept has only the deadlines that a person sets. `expires_at` (a TTL) ends the time of being active, and then
the memory goes the way on which the policy would have sent it; one that is kept is deleted.
"""

import json
import re
from collections.abc import Mapping, Set
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from memorist.errors import IllegalTransition
from memorist.memories.fields import FIELDS
from memorist.memories.policy import Move, Policy
from memorist.memories.values import QUOTES, Governor, Kind, Memory, Retention, Status
from memorist.platform.erased_names import ids_named_in
from memorist.platform.values import NOBODY

TRANSITIONS: dict[Status, frozenset[Status]] = {
    Status.ACTIVE: frozenset({Status.ARCHIVED, Status.SOFT_DELETED}),
    Status.ARCHIVED: frozenset({Status.ACTIVE, Status.SOFT_DELETED}),
    Status.SOFT_DELETED: frozenset({Status.ACTIVE, Status.HARD_DELETE_PENDING}),
    Status.HARD_DELETE_PENDING: frozenset({Status.PURGED}),
    Status.PURGED: frozenset(),
}

REDACTED = "[REDACTED]"
EXTRACTOR = "extractor"
"""Where the `meta` of what was found in a conversation says by whom."""
LOCAL_EXTRACTOR = "local"
"""The one that is no language model: what it finds are sentences as they were said."""

_STEP = timedelta(microseconds=1)
_NOTHING_PERSONAL: dict[str, Any] = dict.fromkeys(
    field.name for field in FIELDS if field.personal and field.name not in ("content", "user", "agent")
)
# Where an event says who judged or read something, and what came of it: in words of ours, not of a memory.
_OF_OURS = frozenset({"judge", "verdict", "merged", "extractor", "code"})
_ID = re.compile(r"[a-z]{2,8}_[0-7][0-9A-HJKMNP-TV-Z]{25}")


def quoted_in(kind: str, meta: Mapping[str, Any] | None) -> set[str]:
    """The memories that one repeats word for word, by its kind and `meta`: when one of these goes, it goes too. What
    somebody states is one's own word, whatever its `meta` says.
    """
    ours = meta or {}
    is_noted = kind == Kind.TOOL_OUTPUT or (kind == Kind.FACT and EXTRACTOR in ours)
    return ids_named_in(json.dumps(ours[QUOTES])) if is_noted and QUOTES in ours else set()


# Deadlines


def with_deadlines(memory: Memory, policy: Policy, *, restored_at: datetime | None = None) -> Memory:
    """The memory with every deadline that the policy gives it in its state; `restored_at` starts its time anew."""
    windows = policy.windows_of(memory.kind)
    if memory.status is Status.SOFT_DELETED:
        return replace(memory, hard_delete_at=(memory.deleted_at or memory.updated_at) + _days(windows.grace_days))
    if memory.retention is not Retention.POLICY:
        return memory
    if memory.status is Status.ACTIVE:
        end = max(memory.created_at, restored_at or memory.created_at) + _days(windows.active_days)
        if not windows.archive:
            return replace(memory, archive_at=None, retention_expires_at=end)
        return replace(memory, archive_at=end, retention_expires_at=end + _days(windows.archive_days))
    if memory.status is Status.ARCHIVED:
        # What is in the archive stays for its time there, also where the policy archives no more.
        archived_at = memory.archive_at or memory.updated_at
        return replace(memory, archive_at=archived_at, retention_expires_at=archived_at + _days(windows.archive_days))
    return memory


def due_at(memory: Memory) -> datetime | None:
    """When the policy's next move of a memory is due; None where none will be. A TTL is told apart.

    A memory that was just moved is due only after that moment, so that no sweep moves it twice.
    """
    if memory.status is Status.ACTIVE:
        return memory.archive_at or memory.retention_expires_at
    if memory.status is Status.ARCHIVED:
        # A fact that another replaced does not age: it is anonymized, so that references to it hold.
        deadline = None if memory.superseded_by is not None else memory.retention_expires_at
    else:
        deadline = memory.hard_delete_at
    return None if deadline is None else max(deadline, memory.updated_at + _STEP)


def due_move(memory: Memory, now: datetime) -> Move | None:
    """What time brings to a memory at a moment: its TTL first, then what the policy says."""
    if memory.status in (Status.ACTIVE, Status.ARCHIVED) and memory.is_expired(now):
        return Move.EXPIRED
    due = due_at(memory)
    return None if due is None or due > now else next_move(memory)


def next_move(memory: Memory) -> Move | None:
    """The move that the policy's next deadline brings."""
    if memory.status is Status.ACTIVE and memory.archive_at is None:
        return Move.DELETED
    return _NEXT.get(memory.status)


_NEXT = {
    Status.ACTIVE: Move.ARCHIVED,
    Status.ARCHIVED: Move.DELETED,
    Status.SOFT_DELETED: Move.HARD_DELETE_PENDING,
    Status.HARD_DELETE_PENDING: Move.PURGED,
}


def anonymizable_before(policy: Policy, now: datetime) -> datetime:
    """Facts that were retired at this moment or before are anonymized."""
    return now - _days(policy.anonymize_after_days)


def merge(existing: Memory, again: Memory, now: datetime) -> Memory:
    """What was remembered, told again: it lives as long as the longer of the two asks, a version later if that changes.

    One that is to be kept now is kept; an expiry gives way to a later one, or to none. A coding assistant's has its
    score, session and excerpt from who stored it last; what is merely found again in a transcript changes none of them.
    """
    after = existing
    if existing.governed_by is Governor.CODING_ASSISTANT and EXTRACTOR not in (again.meta or {}):
        kept = {name: value for name, value in (existing.meta or {}).items() if name != EXTRACTOR}
        after = replace(
            after,
            relevance=again.relevance,
            excerpt=again.excerpt or existing.excerpt,
            meta={**kept, **(again.meta or {})} or None,
        )
        after = existing if after == existing else after
    if again.retention is Retention.KEEP and existing.retention is Retention.POLICY:
        after = keep(after)
    if existing.expires_at is not None and (again.expires_at is None or again.expires_at > existing.expires_at):
        after = replace(after, expires_at=again.expires_at)
    return existing if after is existing else replace(after, updated_at=_later(existing, now))


def keep(memory: Memory) -> Memory:
    """The memory as one that the policy ages no more."""
    if memory.retention is Retention.KEEP:
        return memory
    return replace(memory, retention=Retention.KEEP, archive_at=None, retention_expires_at=None)


# Moves: each returns the memory as it will be, a version later. All raise IllegalTransition.


def archive(memory: Memory, policy: Policy, now: datetime) -> Memory:
    """In the archive from now on, or since its time for it came."""
    require(memory.status, Status.ARCHIVED)
    if memory.retention is not Retention.POLICY:
        return _moved(memory, Status.ARCHIVED, now)
    since = min(now, memory.archive_at or now, memory.expires_at or now)
    return with_deadlines(_moved(memory, Status.ARCHIVED, now, archive_at=since), policy)


def soft_delete(memory: Memory, policy: Policy, now: datetime) -> Memory:
    """Inside its recovery window."""
    require(memory.status, Status.SOFT_DELETED)
    return with_deadlines(_moved(memory, Status.SOFT_DELETED, now, deleted_at=now), policy)


def pend(memory: Memory, now: datetime) -> Memory:
    """Past recovery: it goes with the next sweep."""
    require(memory.status, Status.HARD_DELETE_PENDING)
    return _moved(memory, Status.HARD_DELETE_PENDING, now)


def restore(memory: Memory, policy: Policy, now: datetime) -> Memory:
    """Active again as if it were new; a TTL that has passed and what replaced it no longer count."""
    require(memory.status, Status.ACTIVE)
    if memory.anonymized_at is not None:
        raise IllegalTransition("This memory was anonymized: there is nothing left to restore.")
    if memory.hard_delete_at is not None and memory.hard_delete_at <= now:
        raise IllegalTransition("The time to recover this memory is over.")
    after = _moved(memory, Status.ACTIVE, now, deleted_at=None, hard_delete_at=None, valid_to=None)
    after = replace(after, superseded_by=None)
    if memory.expires_at is not None and memory.expires_at <= now:
        after = replace(after, expires_at=None)
    return with_deadlines(after, policy, restored_at=now)


def by_time(memory: Memory, move: Move, policy: Policy, now: datetime) -> Memory:
    """The memory after a move that time brought, other than the purge, which leaves nothing."""
    if move is Move.ARCHIVED or (move is Move.EXPIRED and _archives(policy, memory)):
        return archive(memory, policy, now)
    if move is Move.HARD_DELETE_PENDING:
        return pend(memory, now)
    return soft_delete(memory, policy, now)


def as_swept(memory: Memory, policy: Policy, now: datetime) -> Memory:
    """The memory as a sweep leaves it that comes when its TTL ends, where that has ended and none came yet."""
    if memory.expires_at is None or due_move(memory, now) is not Move.EXPIRED:
        return memory
    return by_time(memory, Move.EXPIRED, policy, memory.expires_at)


def archiving(policy: Policy) -> frozenset[Kind]:
    """The kinds that the policy archives. A statement decides by them as `by_time` does."""
    return frozenset(kind for kind in Kind if policy.windows_of(kind).archive)


def _archives(policy: Policy, memory: Memory) -> bool:
    is_ageing = memory.status is Status.ACTIVE and memory.retention is Retention.POLICY
    return is_ageing and policy.windows_of(memory.kind).archive


def anonymize(memory: Memory, now: datetime) -> Memory:
    """A retired fact of which only its place among others is left: no text, nobody's."""
    return replace(
        memory,
        updated_at=_later(memory, now),
        content=REDACTED,
        content_hash="",
        dedup_key=memory.id,
        owner=NOBODY,
        anonymized_at=now,
        **_NOTHING_PERSONAL,
    )


def moved_payload(before: Memory, after: Memory) -> dict[str, Any]:
    """What the event of a move says of it."""
    return {"from": before.status, "to": after.status}


def without_texts(payload: Mapping[str, Any]) -> dict[str, Any]:
    """An event's payload of which numbers, states and ids are left."""
    return {name: value for name, value in payload.items() if _tells_nothing(value)}


def without_names(payload: Mapping[str, Any]) -> dict[str, Any]:
    """The same without the ids."""
    told = without_texts(payload)
    return {name: value for name, value in told.items() if not isinstance(value, str) or value in set(Status)}


def without_texts_about(value: Any, memory_ids: Set[str]) -> Any:
    """A JSON value in which whatever names one of these memories says nothing in words beside it: a judge's reason may
    quote them.
    """
    if isinstance(value, Mapping):
        is_about = any(_names(one, memory_ids) for one in value.values())
        return {
            name: without_texts_about(one, memory_ids)
            for name, one in value.items()
            if not (is_about and isinstance(one, str)) or name in _OF_OURS or _tells_nothing(one)
        }
    if isinstance(value, list | tuple):
        return [without_texts_about(one, memory_ids) for one in value]
    return value


def _names(value: Any, memory_ids: Set[str]) -> bool:
    texts = value if isinstance(value, list | tuple) else (value,)
    return any(isinstance(one, str) and bool(ids_named_in(one) & memory_ids) for one in texts)


def _tells_nothing(value: Any) -> bool:
    if isinstance(value, str):
        return value in set(Status) or _ID.fullmatch(value) is not None
    return isinstance(value, bool | int | float)


def require(current: Status, wanted: Status) -> None:
    """Raises IllegalTransition where the table has no such move."""
    if wanted not in TRANSITIONS[current]:
        raise IllegalTransition(f"A memory that is {current} cannot become {wanted}.")


def _moved(memory: Memory, status: Status, now: datetime, **times: datetime | None) -> Memory:
    return replace(memory, status=status, updated_at=_later(memory, now), **times)  # type: ignore[arg-type]


def _later(memory: Memory, now: datetime) -> datetime:
    # updated_at doubles as the version, so it moves forward even when the clock does not.
    return max(now, memory.updated_at + _STEP)


def _days(days: float) -> timedelta:
    return timedelta(days=days)
