"""Deadlines, policies and the sweeper's state as rows."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from functools import lru_cache
from typing import Any

from memorist.memories import lifecycle
from memorist.memories.policy import Derived, DueCount, Mode, Move, Policy, PolicyRevision, SweepState, Windows
from memorist.memories.values import Kind, Memory, Retention, Status
from memorist.platform.values import Event
from memorist.recall.searchable import standing
from memorist.store.rows import memory_from_row
from memorist.store.tenant_statements import TenantStatements
from memorist.times import from_micros, to_micros
from memorist.words import pack

_SAMPLES = 5


def due_micros(memory: Memory) -> int | None:
    """The memory's `due_at` as a row has it."""
    return _micros(lifecycle.due_at(memory))


class LifecycleStatements(TenantStatements):
    """The lives of one tenant's memories, inside a transaction."""

    __slots__ = ()

    # What is due

    def has_due(self, as_of: datetime) -> bool:
        return bool(self._rows("any_move_due", as_of=to_micros(as_of)))

    def has_expired(self, as_of: datetime) -> bool:
        return bool(self._rows("any_expired", as_of=to_micros(as_of)))

    def has_retired(self, before: datetime) -> bool:
        return bool(self._rows("any_retired", before=to_micros(before)))

    def count_due(self, as_of: datetime, retired_before: datetime) -> list[DueCount]:
        rows = [
            *self._rows("count_expired", as_of=to_micros(as_of), samples=_SAMPLES),
            *self._rows("count_due", as_of=to_micros(as_of), samples=_SAMPLES),
            *self._rows("count_retired", as_of=to_micros(as_of), before=to_micros(retired_before), samples=_SAMPLES),
        ]
        found: dict[tuple[Move, Kind], tuple[int, list[str]]] = {}
        for move, kind, memory_id, total in rows:
            found.setdefault((Move(move), Kind(kind)), (total, []))[1].append(memory_id)
        return [DueCount(move, kind, total, tuple(ids)) for (move, kind), (total, ids) in found.items()]

    def claim_due(self, as_of: datetime, limit: int) -> list[Memory]:
        return [memory_from_row(row) for row in self._rows("claim_due", as_of=to_micros(as_of), limit=limit)]

    def claim_expired(self, as_of: datetime, limit: int) -> list[Memory]:
        return [memory_from_row(row) for row in self._rows("claim_expired", as_of=to_micros(as_of), limit=limit)]

    def claim_retired(self, before: datetime, limit: int) -> list[Memory]:
        return [memory_from_row(row) for row in self._rows("claim_retired", before=to_micros(before), limit=limit)]

    # Moves

    def move_memory(self, memory: Memory, expected_updated_at: datetime) -> bool:
        moved = self._run(
            "move_memory",
            expected_updated_at=to_micros(expected_updated_at),
            status=memory.status,
            deleted_at=_micros(memory.deleted_at),
            **_deadlines(memory),
        )
        if moved == 1:
            self._run(
                "restate_index",
                user_id=memory.owner.user or "",
                memory_id=memory.id,
                standing=int(standing(memory)),
                expires_at=_micros(memory.expires_at),
                retired_at=to_micros(memory.updated_at) if memory.status is Status.ARCHIVED else None,
            )
        return moved == 1

    def clear_traces(self, memory: Memory, events: Iterable[Event]) -> None:
        self._run("clear_index", user_id=memory.owner.user or "", memory_id=memory.id, terms=pack(""))
        for statement in ("erase_tool_outputs", "erase_recalls", "purge_doubts_of_memories"):
            self._run(statement, ids=self._encode_list([memory.id]))
        for event in events:
            self._run("redact_event", seq=event.seq, payload=json.dumps(lifecycle.without_texts(event.payload)))

    # Deadlines

    def scan_aging(self, after_id: str, limit: int) -> list[tuple[Memory, datetime | None]]:
        rows = self._rows("scan_aging", after_id=after_id, limit=limit)
        return [(self._aging(row), _moment(row[-1])) for row in rows]

    def last_restored(self, memory_ids: Sequence[str]) -> dict[str, datetime]:
        rows = self._rows("last_restored", ids=self._encode_list(memory_ids))
        return {row[0]: from_micros(row[1]) for row in rows}

    def set_deadlines(self, memory: Memory, expected_updated_at: datetime) -> bool:
        parameters = _deadlines(memory)
        return self._run("set_deadlines", expected_updated_at=to_micros(expected_updated_at), **parameters) == 1

    def _aging(self, row: tuple[Any, ...]) -> Memory:
        id_, kind, status, retention, superseded_by, created_at, updated_at, *times, _ = row
        archive_at, retention_expires_at, expires_at, deleted_at, hard_delete_at = map(_moment, times)
        return Memory(
            id_, self._tenant, "", "", "", from_micros(created_at), from_micros(updated_at),
            kind=Kind(kind), status=Status(status), retention=Retention(retention), superseded_by=superseded_by,
            archive_at=archive_at, retention_expires_at=retention_expires_at, expires_at=expires_at,
            deleted_at=deleted_at, hard_delete_at=hard_delete_at,
        )  # fmt: skip

    # Policies and the sweeper

    def get_policy(self) -> PolicyRevision | None:
        rows = self._rows("get_policy")
        return _revision(rows[0]) if rows else None

    def list_policies(self, limit: int) -> list[PolicyRevision]:
        return [_revision(row) for row in self._rows("list_policies", limit=limit)]

    def insert_policy(self, revision: PolicyRevision) -> bool:
        inserted = self._run(
            "insert_policy",
            revision=revision.revision,
            rules=json.dumps(asdict(revision.policy)),
            source=revision.source,
            actor=revision.actor,
            created_at=_micros(revision.created_at),
        )
        return inserted == 1

    def get_sweep(self) -> SweepState | None:
        rows = self._rows("get_sweep")
        if not rows:
            return None
        revision, recomputed_after, report, reported_at = rows[0]
        return SweepState(
            revision, recomputed_after, None if report is None else json.loads(report), _moment(reported_at)
        )

    def put_sweep(self, state: SweepState) -> None:
        self._run(
            "put_sweep",
            revision=state.revision,
            recomputed_after=state.recomputed_after,
            report=None if state.report is None else json.dumps(state.report),
            reported_at=_micros(state.reported_at),
        )


def _deadlines(memory: Memory) -> dict[str, Any]:
    return {
        "id": memory.id,
        "updated_at": to_micros(memory.updated_at),
        "archive_at": _micros(memory.archive_at),
        "retention_expires_at": _micros(memory.retention_expires_at),
        "hard_delete_at": _micros(memory.hard_delete_at),
        "due_at": due_micros(memory),
    }


def _revision(row: tuple[Any, ...]) -> PolicyRevision:
    revision, rules, source, actor, created_at = row
    return PolicyRevision(revision, _policy(rules), source, from_micros(created_at), actor)


# Asked for with every write of a memory that a policy ages.
@lru_cache(maxsize=1024)
def _policy(rules: str) -> Policy:
    said: Mapping[str, Any] = json.loads(rules)
    return Policy(
        mode=Mode(said["mode"]),
        windows=Windows(**said["windows"]),
        kinds={Kind(kind): windows for kind, windows in said["kinds"].items()},
        anonymize_after_days=said["anonymize_after_days"],
        derived_facts=Derived(said["derived_facts"]),
    )


def _moment(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)


def _micros(moment: datetime | None) -> int | None:
    return None if moment is None else to_micros(moment)
