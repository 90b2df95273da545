"""The audit log as rows."""

import json
import os
import secrets
import time
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from itertools import count
from typing import Any

from memorist.audit.values import AuditEntry, AuditFilter, ChainHead, NotedAct
from memorist.store.tenant_statements import TenantStatements
from memorist.times import from_micros, to_micros

_PROCESS = secrets.token_hex(8)
_numbers = count()


class AuditStatements(TenantStatements):
    """The audit log of one tenant, inside a transaction."""

    __slots__ = ()

    def head(self) -> ChainHead | None:
        rows = self._rows("read_audit_head")
        return ChainHead(*rows[0]) if rows else None

    def page(self, wanted: AuditFilter, before: int, after: int, limit: int) -> list[AuditEntry]:
        rows = self._rows(
            "list_audit_entries",
            before=before,
            after=after,
            limit=limit,
            kind=wanted.kind,
            outcome=wanted.outcome,
            route=wanted.route,
            key_id=wanted.key_id,
            user_hash=wanted.user,
            about=wanted.about,
        )
        return [_entry(row) for row in rows]

    def follow(self, after: int, limit: int) -> list[AuditEntry]:
        return [_entry(row) for row in self._rows("follow_audit_entries", after=after, limit=limit)]

    def count_waiting(self) -> int:
        count: int = self._rows("count_audit_waiting")[0][0]
        return count

    def first_since(self, moment: datetime) -> int | None:
        rows = self._rows("first_audit_entry_since", moment=to_micros(moment))
        return rows[0][0] if rows else None

    def wait(self, act: NotedAct) -> None:
        values = (self._tenant, _waiting_id(), _to_json(act))
        self._connection.run(self._statements["insert_audit_waiting"], values)

    def hold(self, salt: str) -> ChainHead:
        return ChainHead(*self._rows("hold_audit_head", salt=salt)[0])

    def take_waiting(self) -> list[NotedAct]:
        return [_act(json.loads(act)) for _, act in sorted(self._rows("take_audit_waiting"))]

    def append(self, entries: Sequence[AuditEntry]) -> None:
        if not entries:
            return
        rows = [(self._tenant, one.number, *_values(one.act), one.hash) for one in entries]
        self._connection.run_many(self._statements["insert_audit_entry"], rows)
        self._run("move_audit_head", number=entries[-1].number, hash=entries[-1].hash)

    def trim(self, first: int, anchor: str) -> int:
        self._run("move_audit_start", first=first, anchor=anchor)
        return self._run("trim_audit_log", first=first)


def _waiting_id() -> str:
    """One of its own, which sorts by time: it is written with every change, so it must cost less than others do."""
    return f"act_{time.time_ns():016x}{next(_numbers):08x}{os.getpid():x}{_PROCESS}"


def _to_json(act: NotedAct) -> str:
    # Of one caller's acts mostly the time alone differs.
    rest = _rest_to_json if not act.ids else _rest_to_json.__wrapped__
    return f"[{to_micros(act.at)}, {rest(act[1:])}"


@lru_cache(maxsize=256)
def _rest_to_json(values: tuple[Any, ...]) -> str:
    return json.dumps(values)[1:]


def _values(act: NotedAct) -> tuple[Any, ...]:
    """In the order of the columns."""
    return (to_micros(act.at), *act[1:9], int(act.on_behalf), *act[10:])


def _act(values: Sequence[Any]) -> NotedAct:
    at, *others = values
    others[8] = bool(others[8])
    return NotedAct(from_micros(at), *others)


def _entry(row: tuple[Any, ...]) -> AuditEntry:
    number, *act, digest = row
    return AuditEntry(number, _act(act), digest)
