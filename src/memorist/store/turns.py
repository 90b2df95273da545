"""Turns and their events as rows, and what they cost."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from memorist.models.values import Usage
from memorist.platform.values import Owner, OwnerFilter, SpentDay
from memorist.store.rows import NEWEST_ID, slice_parameters
from memorist.store.tenant_statements import TenantStatements
from memorist.times import from_micros, optional_micros, optional_moment, to_micros
from memorist.turns.values import Turn, TurnEvent, TurnFigures, TurnStatus


class TurnStatements(TenantStatements):
    """The turns of one tenant, inside a transaction."""

    __slots__ = ()

    def get(self, turn_id: str) -> Turn | None:
        rows = self._rows("get_turn", id=turn_id)
        return _turn(rows[0]) if rows else None

    def page(self, owner: OwnerFilter, before_id: str | None, limit: int) -> list[Turn]:
        rows = self._rows(
            "list_turns",
            before_id=before_id or NEWEST_ID,
            **slice_parameters(owner),
            limit=limit,
        )
        return [_turn(row) for row in rows]

    def figures(self, owner: OwnerFilter, since: datetime, most: int) -> list[TurnFigures]:
        rows = self._rows("list_turn_figures", since=to_micros(since), most=most, **slice_parameters(owner))
        return [
            TurnFigures(TurnStatus(row[0]), Usage(*row[1:4]), from_micros(row[4]), optional_moment(row[5]))
            for row in rows
        ]

    def events(self, turn_id: str, after: int, limit: int) -> list[TurnEvent]:
        rows = self._rows("list_turn_events", turn_id=turn_id, after=after, limit=limit)
        return [TurnEvent(row[0], row[1], json.loads(row[2]), from_micros(row[3])) for row in rows]

    def last_event(self, turn_id: str) -> int:
        last: int = self._rows("last_turn_event", turn_id=turn_id)[0][0]
        return last

    def was_told_what_is_erased(self, turn_id: str) -> bool:
        # What named that has nothing left. Of an encrypted tenant the database cannot tell.
        return any(not json.loads(row[0]) for row in self._rows("list_told_to_turn", turn_id=turn_id))

    def lost(self, now: datetime, limit: int) -> list[Turn]:
        return [_turn(row) for row in self._rows("list_lost_turns", now=to_micros(now), limit=limit)]

    def insert(self, turn: Turn) -> None:
        self._run(
            "insert_turn",
            id=turn.id,
            user_id=turn.owner.user or "",
            agent_id=turn.owner.agent or "",
            session_id=turn.session,
            request=turn.request,
            runner=turn.runner,
            lease_until=optional_micros(turn.lease_until),
            attended_until=optional_micros(turn.attended_until),
            created_at=to_micros(turn.created_at),
        )

    def append_event(self, turn_id: str, event: TurnEvent) -> None:
        self._run(
            "append_turn_event",
            turn_id=turn_id,
            seq=event.seq,
            event=event.event,
            data=json.dumps(event.data, ensure_ascii=False),
            created_at=to_micros(event.created_at),
        )

    def hold(self, turn_id: str, runner: str, until: datetime) -> bool:
        return self._run("hold_turn", id=turn_id, runner=runner, lease_until=to_micros(until)) == 1

    def attend(self, turn_id: str, until: datetime) -> None:
        self._run("attend_turn", id=turn_id, attended_until=to_micros(until))

    def take(self, turn_id: str, runner: str, now: datetime, until: datetime) -> bool:
        times = {"now": to_micros(now), "lease_until": to_micros(until)}
        return self._run("take_turn", id=turn_id, runner=runner, **times) == 1

    def finish(self, turn: Turn) -> bool:
        changed = self._run(
            "finish_turn",
            id=turn.id,
            runner=turn.runner,
            status=turn.status,
            answer=turn.answer,
            error=None if turn.error is None else json.dumps(turn.error, ensure_ascii=False),
            input_tokens=turn.usage.input_tokens,
            output_tokens=turn.usage.output_tokens,
            cost_usd=turn.usage.cost_usd,
            completed_at=optional_micros(turn.completed_at),
        )
        return changed == 1

    def lock(self, turn_id: str) -> bool:
        return self._run("lock_turn", id=turn_id) == 1

    def drop_unkept(self, before: datetime) -> int:
        self._run("drop_unkept_events", before=to_micros(before))
        return self._run("drop_unkept_turns", before=to_micros(before))


class SpendingStatements(TenantStatements):
    """What one tenant's calls of language models took, inside a transaction."""

    __slots__ = ()

    def spent(self, since: datetime) -> float:
        return float(self._rows("spent_since", day=to_micros(since))[0][0])

    def days(self, since: datetime) -> list[SpentDay]:
        rows = self._rows("list_spending", day=to_micros(since))
        return [SpentDay(from_micros(row[0]), *map(int, row[1:5]), *map(float, row[5:])) for row in rows]

    def add(self, spent: SpentDay, *, budgeted: bool) -> None:
        self._run(
            "add_spending",
            day=to_micros(spent.day),
            cost_usd=spent.cost_usd if budgeted else 0.0,
            other_usd=0.0 if budgeted else spent.cost_usd,
            calls=spent.calls,
            unpriced=spent.unpriced,
            input_tokens=spent.input_tokens,
            output_tokens=spent.output_tokens,
            seconds=spent.seconds,
            slowest=spent.slowest,
        )


def _turn(row: tuple[Any, ...]) -> Turn:
    error: Mapping[str, str] | None = None if row[7] is None else json.loads(row[7])
    return Turn(
        id=row[0],
        owner=Owner(row[1] or None, row[2] or None),
        session=row[3],
        status=TurnStatus(row[4]),
        request=row[5],
        answer=row[6],
        error=error,
        usage=Usage(row[8], row[9], row[10]),
        runner=row[11],
        lease_until=from_micros(row[12]),
        attended_until=from_micros(row[13]),
        created_at=from_micros(row[14]),
        completed_at=optional_moment(row[15]),
    )
