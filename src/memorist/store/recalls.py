"""What each memory was recalled for, as rows."""

from collections.abc import Collection, Iterable

from memorist.memories.values import PastRecall
from memorist.store.tenant_statements import TenantStatements
from memorist.times import from_micros, to_micros


class RecallStatements(TenantStatements):
    """The past recalls of one tenant, inside a transaction."""

    __slots__ = ()

    def of(self, memory_id: str, limit: int) -> list[PastRecall]:
        rows = self._rows("list_recalls", memory_id=memory_id, limit=limit)
        return [
            PastRecall(id_, from_micros(at), recall_id, user or None, agent or None, source, query, rank, score)
            for id_, at, recall_id, user, agent, source, query, rank, score in rows
        ]

    def insert(self, recalls: Iterable[PastRecall]) -> None:
        rows = [
            {
                "tenant": self._tenant,
                "memory_id": recall.memory_id,
                "at": to_micros(recall.at),
                "id": recall.id,
                "user_id": recall.user or "",
                "agent_id": recall.agent or "",
                "source": recall.source,
                "query": recall.query,
                "place": recall.rank,
                "score": recall.score,
            }
            for recall in recalls
        ]
        self._connection.run_many(self._statements["insert_recall"], rows)

    def trim(self, memory_ids: Collection[str], keep: int) -> None:
        # In id order, so that two processes never wait for each other.
        rows = [{"tenant": self._tenant, "memory_id": id_, "keep": keep} for id_ in sorted(memory_ids)]
        self._connection.run_many(self._statements["trim_recalls"], rows)
