"""The statements that erase, count and search in every table."""

import json
import secrets
import time
from collections.abc import Sequence
from datetime import datetime

from memorist.erasure.values import Naming
from memorist.ids import to_uuid
from memorist.platform.values import HiddenOwner, OwnerFilter
from memorist.store.places import PLACES
from memorist.store.rows import LATEST, slice_parameters
from memorist.store.tenant_statements import TenantStatements
from memorist.times import to_micros

ERASED = "erased"
"""The type of the events that tell of an erasure."""


class ErasureStatements(TenantStatements):
    """Erasure inside a transaction. Whatever removes rows says how many went from each table."""

    __slots__ = ()

    def count_named(self, memory_ids: Sequence[str]) -> dict[str, int]:
        return {row[0]: row[1] for row in self._rows("count_named", ids=self._encode_list(memory_ids))}

    def count_of_user(self, user: str, until: datetime | None) -> dict[str, int]:
        statement = "count_all_of_user" if until is None else "count_of_user"
        rows = self._rows(statement, user_id=user, until=LATEST if until is None else to_micros(until))
        return {row[0]: row[1] for row in rows}

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

    def erase_rows(self, memory_ids: Sequence[str]) -> dict[str, int]:
        self.note(memory_ids)
        ids = self._encode_list(memory_ids)
        return {place.table: self._run(place.of_memories, ids=ids) for place in PLACES if place.of_memories}

    def erase_owned(self, owner: OwnerFilter) -> dict[str, int]:
        parameters = slice_parameters(owner)
        return {place.table: self._run(place.of_owner, **parameters) for place in PLACES if place.of_owner}

    def erase_leftovers(self) -> dict[str, int]:
        return {place.table: self._run(place.of_tenant) for place in PLACES if place.of_tenant}

    def erase_keys(self, user: str) -> int:
        return self._run("purge_keys_of_owner", user_id=user)

    def forget_actor(self, user: str) -> int:
        return self._run("forget_actor", user_id=user) + self._run("forget_policy_actor", user_id=user)

    def empty_turn_event(self, turn_id: str, seq: int) -> None:
        self._run("empty_turn_event", turn_id=turn_id, seq=seq, data="{}")

    def rewrite_event(self, seq: int, payload: str) -> None:
        self._run("rewrite_event", seq=seq, payload=payload)

    def note(self, memory_ids: Sequence[str]) -> None:
        """Leave an event of no memory for each that is about to be erased, which names neither it nor its owner in
        plain text: followers are told, and a search of the files finds nothing.
        """
        salt = secrets.token_hex(8)
        now = time.time_ns() // 1000
        rows = [
            {
                "tenant": self._tenant,
                "memory_id": "",
                "event_type": ERASED,
                "source": "erasure",
                "actor": None,
                "payload": json.dumps({"id": to_uuid(id_).hex, **_hidden(salt, user, agent)}),
                "created_at": now,
            }
            for id_, user, agent in sorted(self._rows("owners_of", ids=self._encode_list(memory_ids)))
        ]
        self._connection.run_many(self._statements["append_event"], rows)


def _hidden(salt: str, user: str, agent: str) -> dict[str, str]:
    return {"salt": salt, "user": HiddenOwner.hide(salt, user or None), "agent": HiddenOwner.hide(salt, agent or None)}
