"""What each memory was recalled for, as rows."""

from collections.abc import Collection, Iterable
from datetime import date, datetime, timedelta
from typing import Any

from memorist.memories.values import AskedCount, PastRecall
from memorist.platform.values import OwnerFilter
from memorist.store.tenant_statements import TenantStatements
from memorist.times import from_micros, to_micros

_EPOCH = date(1970, 1, 1)


class RecallStatements(TenantStatements):
    """The past recalls of one tenant, inside a transaction."""

    __slots__ = ()

    def of(self, memory_id: str, limit: int) -> list[PastRecall]:
        rows = self._rows("list_recalls", memory_id=memory_id, limit=limit)
        return [_past_recall(row) for row in rows]

    def asked(self, owner: OwnerFilter, limit: int, most: int) -> list[PastRecall]:
        rows = self._rows("list_asked", limit=limit, most=most, **_asker(owner))
        return [_past_recall(row) for row in rows]

    def back(self, owner: OwnerFilter, before: tuple[datetime, str], since: datetime, limit: int) -> list[PastRecall]:
        statement = "list_recalled_of_tenant" if owner.any_user else "list_recalled_of_user"
        at, id_ = before
        rows = self._rows(statement, at=to_micros(at), id=id_, since=to_micros(since), limit=limit, **_asker(owner))
        return [_past_recall(row) for row in rows]

    def count_asked(self, owner: OwnerFilter, since: datetime, most: int) -> list[AskedCount]:
        rows = self._rows("count_asked", since=to_micros(since), most=most, **_asker(owner))
        return [AskedCount(_EPOCH + timedelta(days=row[0]), row[1] or None, int(row[2]), int(row[3])) for row in rows]

    def insert(self, recalls: Iterable[PastRecall]) -> None:
        recalls = list(recalls)
        # Looked for first, all at once: a plan that looks into memories takes longer than all of the rest.
        ids = self._encode_list(sorted({recall.memory_id for recall in recalls}))
        held = {row[0] for row in self._rows("hold_memories", ids=ids)}
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
            if recall.memory_id in held
        ]
        self._connection.run_many(self._statements["insert_recall"], rows)

    def trim(self, memory_ids: Collection[str], keep: int) -> None:
        # Looked for first, all at once: most have few.
        overfull = self._rows("overfull_recalls", ids=self._encode_list(list(memory_ids)), keep=keep)
        # In id order, so that two processes never wait for each other.
        rows = [{"tenant": self._tenant, "memory_id": id_, "keep": keep} for id_ in sorted(row[0] for row in overfull)]
        self._connection.run_many(self._statements["trim_recalls"], rows)


def _past_recall(row: tuple[Any, ...]) -> PastRecall:
    memory_id, at, recall_id, user, agent, source, query, rank, score = row
    return PastRecall(memory_id, from_micros(at), recall_id, user or None, agent or None, source, query, rank, score)


def _asker(owner: OwnerFilter) -> dict[str, Any]:
    return {
        "user_id": None if owner.any_user else owner.user or "",
        "agent_id": None if owner.any_agent else owner.agent or "",
    }
