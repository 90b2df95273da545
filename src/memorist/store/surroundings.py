"""What stands around a memory, and what a turn or a sample left behind."""

from datetime import datetime

from memorist.memories.values import Memory
from memorist.platform.values import Owner
from memorist.store.rows import memory_from_row, owner_parameters
from memorist.store.tenant_statements import TenantStatements
from memorist.times import to_micros


class SurroundingsStatements(TenantStatements):
    """Memories of one tenant by what they stand beside, inside a transaction."""

    __slots__ = ()

    def said_around(self, memory: Memory, session: str, before: int, after: int) -> tuple[list[Memory], list[Memory]]:
        return self._around("list_said", memory, before, after, session_id=session)

    def chunks_around(self, chunk: Memory, before: int, after: int) -> tuple[list[Memory], list[Memory]]:
        return self._around("list_chunks", chunk, before, after, document_id=chunk.source_ref or "")

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

    def _around(
        self, statement: str, memory: Memory, before: int, after: int, **where: str
    ) -> tuple[list[Memory], list[Memory]]:
        owner = memory.owner
        middle = {"user_id": owner.user or "", "agent_id": owner.agent or "", "id": memory.id, **where}
        earlier = self._rows(f"{statement}_before", limit=before, **middle)
        later = self._rows(f"{statement}_after", limit=after, **middle)
        return [memory_from_row(row) for row in reversed(earlier)], [memory_from_row(row) for row in later]
