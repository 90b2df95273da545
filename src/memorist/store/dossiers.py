"""What stands around a memory, and what happened to it last."""

import json

from memorist.memories.values import Memory
from memorist.platform.values import Event
from memorist.store.rows import memory_from_row
from memorist.store.tenant_statements import TenantStatements
from memorist.times import from_micros


class DossierStatements(TenantStatements):
    """One memory of a tenant looked at closely, inside a transaction."""

    __slots__ = ()

    def said_around(self, memory: Memory, session: str, before: int, after: int) -> tuple[list[Memory], list[Memory]]:
        return self._around("list_said", memory, before, after, session_id=session)

    def chunks_around(self, chunk: Memory, before: int, after: int) -> tuple[list[Memory], list[Memory]]:
        return self._around("list_chunks", chunk, before, after, document_id=chunk.source_ref or "")

    def _around(
        self, statement: str, memory: Memory, before: int, after: int, **where: str
    ) -> tuple[list[Memory], list[Memory]]:
        owner = memory.owner
        place = {"user_id": owner.user or "", "agent_id": owner.agent or "", "id": memory.id, **where}
        earlier = self._rows(f"{statement}_before", limit=before, **place)
        later = self._rows(f"{statement}_after", limit=after, **place)
        return [memory_from_row(row) for row in reversed(earlier)], [memory_from_row(row) for row in later]

    def latest_events(self, memory_id: str, limit: int) -> list[Event]:
        rows = self._rows("list_latest_events", memory_id=memory_id, limit=limit)
        return [Event(row[0], row[1], row[2], from_micros(row[3]), row[4], json.loads(row[5]), row[6]) for row in rows]
