"""What is looked back at: what redaction took out, and what a turn heard and left behind."""

import json
from datetime import datetime
from typing import Any

from memorist.memories.values import Memory
from memorist.platform.values import Owner, RedactionNote
from memorist.store.rows import memory_from_row
from memorist.store.tenant_statements import TenantStatements
from memorist.times import from_micros, to_micros

_NEWEST = 2**62


class TraceStatements(TenantStatements):
    """Traces in one tenant, inside a transaction."""

    __slots__ = ()

    def list_redactions(self, before: int | None, limit: int) -> list[RedactionNote]:
        rows = self._rows("list_redactions", before=_NEWEST if before is None else before, limit=limit)
        return [_note(row) for row in rows]

    def list_learned(self, source_ref: str, limit: int) -> list[Memory]:
        return [memory_from_row(row) for row in self._rows("list_learned", source_ref=source_ref, limit=limit)]

    def list_said(self, owner: Owner, session: str, since: datetime, until: datetime, limit: int) -> list[Memory]:
        rows = self._rows(
            "list_said",
            user_id=owner.user or "",
            agent_id=owner.agent or "",
            session_id=session,
            since=to_micros(since),
            until=to_micros(until),
            limit=limit,
        )
        return [memory_from_row(row) for row in rows]


def _note(row: tuple[Any, ...]) -> RedactionNote:
    seq, memory_id, source, actor, payload, created_at, user, agent = row
    rules = json.loads(payload).get("rules") or {}
    return RedactionNote(
        seq, memory_id, Owner(user or None, agent or None), rules, source, actor, from_micros(created_at)
    )
