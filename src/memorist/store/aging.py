"""Deadlines and the state of the sweeper as rows."""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from memorist.memories.policy import ComingMove, ComingSpan, DueCount, Move, SweepState
from memorist.memories.values import Governor, Kind, Memory, Retention, State, Status
from memorist.platform.values import Event
from memorist.store.rows import may_precede, memory_from_row, slice_parameters
from memorist.store.tenant_statements import TenantStatements
from memorist.times import from_micros, optional_micros, optional_moment, to_micros

_SAMPLES = 5


class AgingStatements(TenantStatements):
    """The lives of one tenant's memories, inside a transaction."""

    __slots__ = ()

    def get_sweep(self) -> SweepState | None:
        rows = self._rows("get_sweep")
        if not rows:
            return None
        revision, recomputed_after, report, reported_at, is_open = rows[0]
        known = None if report is None else json.loads(report)
        return SweepState(revision, recomputed_after, known, optional_moment(reported_at), bool(is_open))

    def hold_sweep(self) -> SweepState | None:
        self._run("lock_sweep")
        return self.get_sweep()

    def put_sweep(self, state: SweepState) -> None:
        self._run(
            "put_sweep",
            revision=state.revision,
            recomputed_after=state.recomputed_after,
            report=None if state.report is None else json.dumps(state.report),
            reported_at=optional_micros(state.reported_at),
            is_open=int(state.is_open),
        )

    def has_due(self, as_of: datetime, governed_by: Governor | None = None) -> bool:
        return bool(self._rows("any_move_due", as_of=to_micros(as_of), governed_by=governed_by))

    def has_expired(self, as_of: datetime) -> bool:
        return bool(self._rows("any_expired", as_of=to_micros(as_of)))

    def has_retired(self, before: datetime) -> bool:
        return bool(self._rows("any_retired", before=to_micros(before)))

    def retired(self, before: datetime) -> list[str]:
        return [row[0] for row in self._rows("list_anonymizable", before=to_micros(before))]

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

    def count_coming(self, span: ComingSpan, most: int) -> dict[Move, int]:
        rows = self._rows(
            "count_moves_of_tenant" if span.owner.any_user else "count_moves_of_user", most=most, **_span(span)
        )
        return {Move(move): int(count) for move, count in rows}

    def list_coming(self, span: ComingSpan, limit: int) -> list[ComingMove]:
        rows = self._rows(
            "next_moves_of_tenant" if span.owner.any_user else "next_moves_of_user", most=limit, **_span(span)
        )
        return [ComingMove(id_, from_micros(at), Move(move)) for id_, at, move in rows]

    def scan(self, after_id: str, limit: int) -> list[tuple[Memory, datetime | None]]:
        rows = self._rows("scan_aging", after_id=after_id, limit=limit)
        return [(self._aging(row), optional_moment(row[-1])) for row in rows]

    def last_restored(self, memory_ids: Sequence[str]) -> dict[str, datetime]:
        rows = self._rows("last_restored", ids=self._encode_list(memory_ids))
        return {row[0]: from_micros(row[1]) for row in rows}

    def claim_due(self, as_of: datetime, limit: int, governed_by: Governor | None = None) -> list[Memory]:
        rows = self._rows("claim_due", as_of=to_micros(as_of), limit=limit, governed_by=governed_by)
        return [memory_from_row(row) for row in rows]

    def claim_expired(self, as_of: datetime, limit: int) -> list[Memory]:
        return [memory_from_row(row) for row in self._rows("claim_expired", as_of=to_micros(as_of), limit=limit)]

    def claim_retired(self, before: datetime, limit: int) -> list[Memory]:
        return [memory_from_row(row) for row in self._rows("claim_retired", before=to_micros(before), limit=limit)]

    def move(self, memory: Memory, state: State, expected_updated_at: datetime) -> bool:
        moved = self._run(
            "move_memory",
            expected_updated_at=to_micros(expected_updated_at),
            status=memory.status,
            deleted_at=optional_micros(memory.deleted_at),
            **_deadlines(memory, state.due_at),
        )
        if moved == 1:
            self._change_index(
                "restate_index",
                memory,
                standing=state.standing,
                expires_at=optional_micros(memory.expires_at),
                retired_at=optional_micros(state.retired_at),
            )
        return moved == 1

    def set_deadlines(self, memory: Memory, due_at: datetime | None, expected_updated_at: datetime) -> bool:
        parameters = _deadlines(memory, due_at)
        return self._run("set_deadlines", expected_updated_at=to_micros(expected_updated_at), **parameters) == 1

    def entomb(self, events: Iterable[Event]) -> None:
        for event in events:
            parameters = {"seq": event.seq, "memory_id": event.memory_id, "payload": json.dumps(event.payload)}
            self._run("entomb_event", **parameters)

    def clear_traces(self, memory: Memory, terms: bytes, events: Iterable[Event]) -> None:
        self._change_index("clear_index", memory, terms=terms)
        self._index_changes.later(memory.owner.user or "", lambda _: self._erase_tokens([memory.id]))
        if may_precede(memory):
            self._unindex_followers([memory.id])
        for statement in ("erase_tool_outputs", "erase_recalls", "purge_doubts_of_memories"):
            self._run(statement, ids=self._encode_list([memory.id]))
        for event in events:
            self._run("redact_event", seq=event.seq, payload=json.dumps(event.payload))

    def _change_index(self, statement: str, memory: Memory, **values: Any) -> None:
        user = memory.owner.user or ""

        def work(change: int) -> int:
            return self._run(statement, user_id=user, memory_id=memory.id, change=change, **values)

        self._index_changes.later(user, work)

    def _aging(self, row: tuple[Any, ...]) -> Memory:
        id_, kind, governed_by, status, retention, superseded_by, created_at, updated_at, *times, _ = row
        archive_at, retention_expires_at, expires_at, deleted_at, hard_delete_at = map(optional_moment, times)
        return Memory(
            id_, self._tenant, "", "", "", from_micros(created_at), from_micros(updated_at),
            kind=Kind(kind), governed_by=Governor(governed_by), status=Status(status),
            retention=Retention(retention), superseded_by=superseded_by,
            archive_at=archive_at, retention_expires_at=retention_expires_at, expires_at=expires_at,
            deleted_at=deleted_at, hard_delete_at=hard_delete_at,
        )  # fmt: skip


def _deadlines(memory: Memory, due_at: datetime | None) -> dict[str, Any]:
    return {
        "id": memory.id,
        "updated_at": to_micros(memory.updated_at),
        "archive_at": optional_micros(memory.archive_at),
        "retention_expires_at": optional_micros(memory.retention_expires_at),
        "hard_delete_at": optional_micros(memory.hard_delete_at),
        "due_at": optional_micros(due_at),
    }


def _span(span: ComingSpan) -> dict[str, Any]:
    return {
        **slice_parameters(span.owner),
        "after": to_micros(span.after),
        "after_id": span.after_id,
        "until": to_micros(span.until),
        "wait": span.anonymize_after // timedelta(microseconds=1),
        "deleted": int(span.deleted),
    }
