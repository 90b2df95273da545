"""The statements that erase, count and search in every table."""

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from memorist.erasure.values import Naming
from memorist.platform.values import OwnerFilter
from memorist.store.rows import LATEST, slice_parameters
from memorist.store.tables import TABLES
from memorist.store.tenant_statements import TenantStatements
from memorist.times import to_micros


class ErasureStatements(TenantStatements):
    """Erasure inside a transaction. Whatever removes rows says how many went from each table."""

    __slots__ = ()

    def count_named(self, memory_ids: Sequence[str]) -> dict[str, int]:
        return {row[0]: row[1] for row in self._rows("count_named", ids=self._encode_list(memory_ids))}

    def count_of_user(self, user: str, until: datetime) -> dict[str, int]:
        rows = self._rows("count_of_user", user_id=user, until=to_micros(until))
        return {row[0]: row[1] for row in rows}

    def count_all_of_user(self, user: str) -> dict[str, int]:
        return {row[0]: row[1] for row in self._rows("count_all_of_user", user_id=user, until=LATEST)}

    def count_history_of_user(self, user: str) -> int:
        return int(self._rows("count_history_of_user", user_id=user)[0][0])

    def count_memories(self, most: int) -> int:
        return int(self._rows("count_memories_up_to", limit=most)[0][0])

    def list_users(self) -> list[str]:
        return [row[0] for row in self._rows("list_users") if row[0]]

    def scan_naming(self, after_id: str, limit: int) -> list[Naming]:
        return [Naming._make(row) for row in self._rows("scan_naming", after_id=after_id, limit=limit)]

    def scan_naming_events(self, after_seq: int, limit: int) -> list[tuple[int, str]]:
        return [(row[0], row[1]) for row in self._rows("scan_naming_events", after_seq=after_seq, limit=limit)]

    def scan_naming_turns(self, after: tuple[str, int], limit: int) -> list[tuple[str, int, str]]:
        rows = self._rows("scan_naming_turns", after_turn=after[0], after_seq=after[1], limit=limit)
        return [(row[0], row[1], row[2]) for row in rows]

    def find_text(self, piece: str) -> list[str]:
        escaped = piece.replace("!", "!!").replace("%", "!%").replace("_", "!_")
        return [row[0] for row in self._rows("find_text", piece=f"%{escaped}%")]

    def texts_of(self, owner: OwnerFilter, limit: int) -> list[str]:
        return [row[0] for row in self._rows("texts_of_owner", limit=limit, **slice_parameters(owner)) if row[0]]

    def erase_rows(self, memory_ids: Sequence[str]) -> dict[str, int]:
        # What this transaction writes into the index must be there to be removed.
        self._index_changes.make()
        self._unindex_followers(memory_ids)
        ids = self._encode_list(memory_ids)
        emptied = {
            "turn_events.data": self._run("empty_turn_events_of_memories", ids=ids, data="{}"),
            "turns.answer": self._run("empty_turns_of_memories", ids=ids),
        }
        return emptied | {table.name: self._run(table.of_memories, ids=ids) for table in TABLES if table.of_memories}

    def erase_owned(self, owner: OwnerFilter) -> dict[str, int]:
        parameters = slice_parameters(owner)
        return {table.name: self._run(table.of_owner, **parameters) for table in TABLES if table.of_owner}

    def erase_leftovers(self) -> dict[str, int]:
        return {table.name: self._run(table.of_tenant) for table in TABLES if table.of_tenant}

    def erase_keys(self, user: str) -> int:
        return self._run("purge_keys_of_owner", user_id=user)

    def forget_actor(self, user: str) -> int:
        return self._run("forget_actor", user_id=user) + self._run("forget_policy_actor", user_id=user)

    def empty_turn(self, turn_id: str, naming: Sequence[int]) -> dict[str, int]:
        emptied = sum(self._run("empty_turn_event", turn_id=turn_id, seq=seq, data="{}") for seq in naming)
        emptied += self._run("empty_turn_events", turn_id=turn_id, data="{}")
        return {"turn_events.data": emptied, "turns.answer": self._run("empty_turn", turn_id=turn_id)}

    def rewrite_event(self, seq: int, cut: Callable[[Any], Any]) -> None:
        for (payload,) in self._rows("hold_event", seq=seq):
            told = json.loads(payload)
            left = cut(told)
            if left != told:
                self._run("rewrite_event", seq=seq, payload=json.dumps(left, ensure_ascii=False))
