"""Memories as rows."""

import heapq
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from memorist.memories.values import ENDS_FROM, Memory, Order, Query, Row, Status
from memorist.platform.values import OwnerFilter
from memorist.store.drivers import Values
from memorist.store.rows import (
    PARAMETERS,
    breadth_of,
    index_to_parameters,
    may_follow,
    may_precede,
    memory_from_row,
    memory_to_values,
    slice_parameters,
    state_parameters,
)
from memorist.store.tenant_statements import TenantStatements
from memorist.times import optional_micros, to_micros

# Before every row: later than any time, after any id in byte order, above any importance.
_BEFORE_ALL = {"after_time": 2**62, "after_id": "~", "after_importance": 2**31 - 1}

_SORT_KEYS: dict[Order, Callable[[Memory], tuple[Any, ...]]] = {
    Order.NEWEST: lambda memory: (memory.created_at, memory.id),
    Order.IMPORTANCE: lambda memory: (memory.importance, memory.created_at, memory.id),
}


class MemoryStatements(TenantStatements):
    """One tenant's memories, inside a transaction."""

    __slots__ = ()

    def get(self, memory_id: str) -> Memory | None:
        rows = self._rows("get_memory", id=memory_id)
        return memory_from_row(rows[0]) if rows else None

    def get_many(self, memory_ids: Sequence[str]) -> list[Memory]:
        return [memory_from_row(row) for row in self._rows("get_memories", ids=self._encode_list(memory_ids))]

    def page(self, query: Query, now: datetime) -> list[Memory]:
        # Each slice of owners is one walk of one index; the merge of a few short lists beats any OR in SQL.
        states: list[tuple[Status, Status | None]] = [(query.status, None)]
        if query.archiving is not None:
            states += [(status, query.status) for status in ENDS_FROM.get(query.status, ())]
        slices = [self._list_slice(query, owner, now, *state) for owner in query.owners for state in states]
        if len(slices) == 1:
            return slices[0]
        sort_key = _SORT_KEYS[query.order]
        return list(heapq.merge(*slices, key=sort_key, reverse=True))[: query.limit]

    def find_named(self, user: str | None, agent: str | None, name: str) -> Memory | None:
        rows = self._rows("find_named", user_id=user or "", agent_id=agent or "", name=name)
        return memory_from_row(rows[0]) if rows else None

    def count_named(self, owners: Sequence[OwnerFilter], category: str | None, now: datetime) -> int:
        counts = (
            self._rows("count_named_memories", category=category, now=to_micros(now), **slice_parameters(owner))
            for owner in owners
        )
        return sum(rows[0][0] for rows in counts)

    def find_duplicate(self, user: str | None, agent: str | None, dedup_key: str) -> Memory | None:
        rows = self._rows("find_duplicate", user_id=user or "", agent_id=agent or "", dedup_key=dedup_key)
        return memory_from_row(rows[0]) if rows else None

    def scan(self, owner: OwnerFilter, after_id: str, limit: int) -> list[Memory]:
        rows = self._rows("scan_memories", after_id=after_id, limit=limit, **slice_parameters(owner))
        return [memory_from_row(row) for row in rows]

    def insert(self, row: Row) -> bool:
        if self._connection.run(self._statements["insert_memory"], self._values(row)) != 1:
            return False
        self._index([row])
        self._part_followers([row.memory])
        return True

    def insert_many(self, rows: Sequence[Row]) -> bool:
        if len(rows) == 1:
            return self.insert(rows[0])
        if self._connection.run_many(self._statements["insert_memory"], list(map(self._values, rows))) != len(rows):
            return False
        self._index(rows)
        self._part_followers([row.memory for row in rows])
        return True

    def hold(self, memory_ids: Sequence[str], *, wait: bool = True) -> set[str]:
        statement = "hold_memories" if wait else "hold_free_memories"
        return {row[0] for row in self._rows(statement, ids=self._encode_list(memory_ids))}

    def replace(self, row: Row, expected_updated_at: datetime) -> bool:
        is_moved = self._is_moved(row.memory)
        if is_moved:
            # Afterwards nothing tells that it stood before them.
            self._unindex_followers([row.memory.id])
        parameters = dict(zip((*PARAMETERS, "due_at"), self._values(row), strict=True))
        if self._run("replace_memory", **parameters, expected_updated_at=to_micros(expected_updated_at)) != 1:
            return False
        entry = index_to_parameters(row)
        if may_precede(row.memory) and (is_moved or not self._is_indexed_as(entry)):
            self._part_followers([row.memory])

        def reindex(change: int) -> None:
            models = self._rows("replace_index", **entry, change=change)
            if not models:
                # The memory has another user now, or was in no index yet.
                if self._run("move_index", user_id=entry["user_id"], memory_id=row.memory.id):
                    models = self._rows("replace_index", **entry, change=change)
                else:
                    self._run("insert_index", **entry, change=change)
            if is_moved:
                self._unindex_some(entry["user_id"], [row.memory.id], change)
            elif models == [("",)]:
                self._erase_tokens([row.memory.id])

        self._index_changes.later(entry["user_id"], reindex)
        return True

    def add_accesses(self, accesses: Mapping[str, tuple[int, datetime]]) -> dict[str, int]:
        if not accesses:
            return {}
        given = [[memory_id, reads, to_micros(at)] for memory_id, (reads, at) in accesses.items()]
        ids = self._encode_list(list(accesses))
        return {row[0]: row[1] for row in self._rows("add_accesses", ids=ids, accesses=json.dumps(given))}

    def _list_slice(
        self, query: Query, owner: OwnerFilter, now: datetime, status: Status, ended: Status | None
    ) -> list[Memory]:
        shelf = "named_" if query.named else ""
        breadth = breadth_of(owner)
        after = _BEFORE_ALL
        if query.after is not None:
            after = {
                "after_time": to_micros(query.after.created_at),
                "after_id": query.after.id,
                "after_importance": query.after.importance,
            }
        rows = self._rows(
            f"list_{shelf}{query.order}_of_{breadth}",
            **slice_parameters(owner),
            **state_parameters(status, ended, query.archiving),
            now=to_micros(now),
            name=query.name,
            kind=query.kind,
            category=query.category,
            project=query.project,
            session_id=query.session,
            limit=query.limit,
            **after,
        )
        return [memory_from_row(row) for row in rows]

    def _is_moved(self, memory: Memory) -> bool:
        """Whether something that was said in a session goes to another owner: other messages stand around it there."""
        before = self.get(memory.id) if may_follow(memory) else None
        return before is not None and before.owner != memory.owner

    def _part_followers(self, messages: Sequence[Memory]) -> None:
        """Put what was said after these messages, which have other words or were not there before, among what waits.

        They are looked for where the transaction ends: who gives something its vectors then either has done so, or
        sees these messages.
        """
        for message in filter(may_precede, messages):
            self._index_changes.together(message.owner.user or "", message.id, self._unindex_next)

    def _unindex_next(self, user: str, messages: Sequence[str], change: int) -> None:
        if followers := [row[1] for row in self._rows("list_followers", ids=self._encode_list(messages))]:
            self._unindex_some(user, followers, change)

    def _is_indexed_as(self, entry: Mapping[str, Any]) -> bool:
        asked = {name: entry[name] for name in ("user_id", "memory_id", "digest")}
        return bool(self._rows("is_indexed_as", **asked))

    def _values(self, row: Row) -> Values:
        return (*memory_to_values(row.memory, self._tenant), optional_micros(row.state.due_at))
