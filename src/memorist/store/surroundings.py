"""What stands around a memory, and what a turn or a sample left behind."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from memorist.ingestion.values import Document
from memorist.memories.values import Memory
from memorist.platform.values import Owner, OwnerFilter
from memorist.store.rows import memory_from_row, owner_parameters, slice_parameters
from memorist.store.tenant_statements import TenantStatements
from memorist.times import from_micros, to_micros
from memorist.views.values import SessionKey

# So many memories are looked at for the sessions that everybody used last.
_NEWEST = 1000
_NEVER = 2**62
# A conversation is narrowed down by its text alone.
_ANY: dict[str, Any] = dict.fromkeys(("kind", "category", "trust", "project", "session"))
_ANY |= {"most_importance": 2**31 - 1, "since": -(2**62), "before": 2**62, "ended": "", "archiving": ""}


class SurroundingsStatements(TenantStatements):
    """Memories of one tenant by what they stand beside, inside a transaction."""

    __slots__ = ()

    def said_around(self, memory: Memory, session: str, before: int, after: int) -> tuple[list[Memory], list[Memory]]:
        return self._around("list_said", memory, before, after, session_id=session)

    def chunks_around(self, chunk: Memory, before: int, after: int) -> tuple[list[Memory], list[Memory]]:
        return self._around("list_chunks", chunk, before, after, document_id=chunk.source_ref or "")

    def document_chunks(
        self, document: Document, limit: int, *, after: str = "", before: str | None = None
    ) -> list[Memory]:
        where = owner_parameters(document.owner) | {"document_id": document.id}
        if before is None:
            rows = self._rows("list_chunks_after", id=after, limit=limit, **where)
        else:
            rows = self._rows("list_chunks_before", id=before, limit=limit, **where)[::-1]
        return [memory_from_row(row) for row in rows]

    def list_session_ids(self, owner: Owner, session: str, limit: int) -> list[str]:
        rows = self._rows(
            "list_session_ids",
            **owner_parameters(owner),
            session_id=session,
            limit=limit,
        )
        return [row[0] for row in rows]

    def list_chunk_ids(self, owner: Owner, document_id: str, limit: int) -> list[str]:
        rows = self._rows(
            "list_chunk_ids",
            **owner_parameters(owner),
            document_id=document_id,
            limit=limit,
        )
        return [row[0] for row in rows]

    def list_learned(self, source_ref: str, limit: int) -> list[Memory]:
        return [memory_from_row(row) for row in self._rows("list_learned", source_ref=source_ref, limit=limit)]

    def list_said(self, owner: Owner, session: str, since: datetime, until: datetime, limit: int) -> list[Memory]:
        rows = self._rows(
            "list_said",
            **owner_parameters(owner),
            session_id=session,
            since=to_micros(since),
            until=to_micros(until),
            limit=limit,
        )
        return [memory_from_row(row) for row in rows]

    def last_said(self, owner: Owner, session: str, limit: int) -> list[Memory]:
        rows = self._rows("list_last_said", **owner_parameters(owner), session_id=session, limit=limit)
        return [memory_from_row(row) for row in reversed(rows)]

    def latest_sessions(
        self, owner: OwnerFilter, before: str, limit: int, said_at: datetime | None = None
    ) -> list[SessionKey]:
        if not owner.any_user:
            moment = _NEVER if said_at is None else to_micros(said_at)
            rows = self._rows(
                "latest_sessions_of_user", user_id=owner.user or "", before=before, said_at=moment, limit=limit
            )
            return [SessionKey(row[0], row[1], row[2], from_micros(row[3])) for row in rows]
        # Those that are asked for are nearly always among the newest memories: to go through all takes long.
        newest = self._rows("newest_sessions_of_tenant", before=before, limit=limit, most=_NEWEST)
        if len(newest) < limit:
            newest = self._rows("latest_sessions_of_tenant", before=before, limit=limit)
        return [SessionKey(*row) for row in newest]

    def conversation(
        self,
        owner: OwnerFilter,
        session: str,
        now: datetime,
        limit: int,
        *,
        after: str = "",
        before: str | None = None,
        pattern: str | None = "%",
    ) -> list[Memory]:
        where = slice_parameters(owner) | _ANY
        where |= {"session_id": session, "now": to_micros(now), "pattern": pattern, "limit": limit}
        if before is None:
            rows = self._rows("conversation_after", id=after, **where)
        else:
            rows = self._rows("conversation_before", id=before, **where)[::-1]
        return [memory_from_row(row) for row in rows]

    def count_conversation(self, owner: OwnerFilter, session: str, now: datetime, most: int) -> int:
        where = slice_parameters(owner) | {"session_id": session, "now": to_micros(now), "most": most}
        count: int = self._rows("count_conversation", **where)[0][0]
        return count

    def conversation_ids(self, owner: OwnerFilter, session: str, after: str, limit: int) -> list[str]:
        rows = self._rows("conversation_ids", session_id=session, id=after, limit=limit, **slice_parameters(owner))
        return [row[0] for row in rows]

    def session_turns(self, user: str | None, session: str, limit: int) -> list[str]:
        rows = self._rows("turns_of_session", user_id=user or "", session_id=session, limit=limit)
        return [row[0] for row in rows]

    def list_learned_of(self, sources: Sequence[str], limit: int) -> list[Memory]:
        asked = [{"source_ref": source, "limit": limit} for source in sources]
        return [memory_from_row(row) for rows in self._rows_of_each("list_learned", asked) for row in rows]

    def _around(
        self, statement: str, memory: Memory, before: int, after: int, **where: str
    ) -> tuple[list[Memory], list[Memory]]:
        owner = memory.owner
        middle = {"user_id": owner.user or "", "agent_id": owner.agent or "", "id": memory.id, **where}
        earlier = self._rows(f"{statement}_before", limit=before, **middle)
        later = self._rows(f"{statement}_after", limit=after, **middle)
        return [memory_from_row(row) for row in reversed(earlier)], [memory_from_row(row) for row in later]
