"""What is searched, as rows."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from memorist.memories.values import Memory, Row
from memorist.recall.values import Embedded, IndexCounts, IndexMark, IndexPage, IndexPosition, IndexRow, Unembedded
from memorist.store.index_changes import counter_of
from memorist.store.rows import memory_from_row, owner_parameters
from memorist.store.tenant_statements import TenantStatements
from memorist.times import from_micros, optional_micros, to_micros

_ROWS_A_USER = 20
"""So many of the newest memories are looked at for each user that is looked for."""


class IndexStatements(TenantStatements):
    """One tenant's index, inside a transaction."""

    __slots__ = ()

    def turn_before(self, memory: Memory) -> Memory | None:
        owner = memory.owner
        rows = self._rows(
            "turn_before",
            **owner_parameters(owner),
            session_id=memory.session or "",
            id=memory.id,
        )
        return memory_from_row(rows[0]) if rows else None

    def load(self, user: str | None, after_id: str, limit: int) -> list[IndexRow]:
        return list(map(IndexRow._make, self._rows("load_index", user_id=user or "", after_id=after_id, limit=limit)))

    def follow(self, positions: Sequence[IndexPosition], limit: int) -> list[IndexPage]:
        asked = [
            {
                "user_id": position.user or "",
                "counter": counter_of(position.user or ""),
                "since": position.change,
                "after_id": position.memory_id,
                "limit": limit,
            }
            for position in positions
        ]
        # Each row comes with the watermark; where nothing changed, it comes alone.
        return [
            IndexPage(rows[0][0], [IndexRow._make(row[1:]) for row in rows if row[1] is not None])
            for rows in self._rows_of_each("follow_index", asked)
        ]

    def watermark(self, user: str | None) -> int:
        parameters = {"user_id": user or "", "counter": counter_of(user or "")}
        watermark: int = self._rows("index_watermark", **parameters)[0][0]
        return watermark

    def marks(self, user: str | None, memory_ids: Sequence[str]) -> list[IndexMark]:
        rows = self._rows("index_marks", user_id=user or "", ids=self._encode_list(memory_ids))
        return list(map(IndexMark._make, rows))

    def newest(self, user: str | None, until: int, limit: int) -> list[IndexMark]:
        rows = self._rows("index_newest", user_id=user or "", until=until, limit=limit)
        return list(map(IndexMark._make, rows))

    def size(self, user: str | None) -> int:
        return int(self._rows("index_size", user_id=user or "")[0][0])

    def largest(self) -> int:
        return int(self._rows("index_largest")[0][0])

    def users(self, limit: int) -> list[str | None]:
        return [row[0] or None for row in self._rows("index_users", limit=limit)]

    def newest_users(self, limit: int) -> list[str | None]:
        rows = self._rows("newest_users", rows=limit * _ROWS_A_USER, limit=limit)
        return [row[0] or None for row in rows]

    def entries(self, users: Sequence[str | None]) -> dict[str | None, list[str]]:
        found = self._rows_of_each("list_entries", [{"user_id": user or ""} for user in users])
        return {user: [row[0] for row in rows] for user, rows in zip(users, found, strict=True)}

    def tokens(self, memory_ids: Sequence[str], model: str) -> dict[str, bytes]:
        rows = self._rows("get_tokens", ids=self._encode_list(memory_ids), model=model)
        return {row[0]: row[1] for row in rows}

    def count(self, model: str, same: Sequence[str] = ()) -> IndexCounts:
        rows = self._rows("count_index", model=model, ids=self._encode_list(same))
        return IndexCounts(*map(int, rows[0]))

    def has_waiting(self) -> bool:
        return bool(self._rows("any_waiting"))

    def latest_claim(self) -> datetime | None:
        ((until,),) = self._rows("latest_claim")
        return from_micros(until) if until else None

    def waiting(self, now: datetime, limit: int, *, longest: int | None = None) -> list[Unembedded]:
        asked = {"now": to_micros(now), "limit": limit}
        if longest is None:
            rows = self._rows("list_waiting", **asked)
        else:
            rows = self._rows("list_short_waiting", longest=longest, **asked)
        return list(map(Unembedded._make, rows))

    def claim_waiting(
        self, rows: Sequence[tuple[str, str]], now: datetime, until: datetime, held: datetime | None = None
    ) -> list[str]:
        moments = {"now": to_micros(now), "until": to_micros(until), "held": optional_micros(held)}
        return [row[0] for row in self._rows("claim_waiting", rows=json.dumps(rows), **moments)]

    def has_any_of(self, models: Sequence[str]) -> bool:
        return bool(self._rows("any_of_models", ids=self._encode_list(models)))

    def claim_of(
        self, models: Sequence[str], after: tuple[str, str], now: datetime, until: datetime, limit: int
    ) -> list[tuple[str, str]]:
        user, memory_id = after
        asked = {"user_id": user, "after_id": memory_id, "now": to_micros(now), "limit": limit}
        rows = self._rows("pick_of_models", ids=self._encode_list(models), **asked)
        found = [(row[0], row[1]) for row in rows]
        self._claim(found, to_micros(until))
        return found

    def give_back(self, claimed: Sequence[tuple[str, str]]) -> None:
        self._claim(claimed, 0)

    def _claim(self, rows: Iterable[tuple[str, str]], until: int) -> None:
        # In id order, so that two processes never wait for each other.
        ordered = sorted(rows, key=lambda row: row[1])
        given = [{"tenant": self._tenant, "user_id": user, "memory_id": one, "until": until} for user, one in ordered]
        if given:
            self._connection.run_many(self._statements["claim_row"], given)

    def release_claims(self, until: datetime | None = None, *, longest: int | None = None) -> None:
        self._run("release_claims", until=optional_micros(until), longest=longest)

    def save_vectors(self, embedded: Iterable[Embedded]) -> int:
        ordered = sorted(embedded, key=lambda one: one.memory_id)
        changes = self._index_changes.numbers([one.user or "" for one in ordered])
        rows = [
            {
                "tenant": self._tenant,
                "change": changes[one.user or ""],
                "memory_id": one.memory_id,
                "user_id": one.user or "",
                "digest": one.digest,
                "terms": one.terms,
                "model": one.model,
                "vectors": one.vectors,
            }
            # In id order, so that two processes never wait for each other.
            for one in ordered
        ]
        kept = self._connection.run_many(self._statements["save_vectors"], rows)
        self._save_tokens(ordered if kept == len(ordered) else self._kept(ordered, changes))
        return kept

    def renew(self, embedded: Iterable[Embedded], models: Sequence[str]) -> int:
        ordered = sorted(embedded, key=lambda one: one.memory_id)
        # No row gets the numbers. Who takes them changes nothing among the same rows meanwhile.
        self._index_changes.numbers([one.user or "" for one in ordered])
        renewed = [one for one in ordered if self._renew(one, models)]
        self._save_tokens(renewed)
        return len(renewed)

    def _renew(self, one: Embedded, models: Sequence[str]) -> bool:
        row = {"user_id": one.user or "", "memory_id": one.memory_id, "digest": one.digest, "model": one.model}
        return self._run("renew_index", ids=self._encode_list(models), **row) > 0

    def _kept(self, embedded: Sequence[Embedded], changes: Mapping[str, int]) -> list[Embedded]:
        """Those whose rows have the number of this change."""
        by_user: dict[str, list[str]] = {}
        for one in embedded:
            by_user.setdefault(one.user or "", []).append(one.memory_id)
        kept = {
            mark.memory_id
            for user, ids in by_user.items()
            for mark in self.marks(user, ids)
            if mark.change == changes[user]
        }
        return [one for one in embedded if one.memory_id in kept]

    def _save_tokens(self, embedded: Iterable[Embedded]) -> None:
        rows: list[dict[str, Any]] = []
        without: list[str] = []
        for one in embedded:
            if one.tokens:
                row = {"memory_id": one.memory_id, "model": one.model, "tokens": one.tokens}
                rows.append(row | {"tenant": self._tenant})
            else:
                without.append(one.memory_id)
        if rows:
            self._connection.run_many(self._statements["save_tokens"], rows)
        if without:
            self._erase_tokens(without)

    def unindex(self, model: str, limit: int, same: Sequence[str] = ()) -> int:
        by_user: dict[str, list[str]] = {}
        for user, memory_id in self._rows("list_outdated", model=model, ids=self._encode_list(same), limit=limit):
            by_user.setdefault(user, []).append(memory_id)
        changes = self._index_changes.numbers(by_user)
        return sum(self._unindex_some(user, ids, changes[user]) for user, ids in by_user.items())

    def unindexed(self, limit: int) -> list[Memory]:
        return [memory_from_row(row) for row in self._rows("list_unindexed", limit=limit)]

    def insert(self, rows: Iterable[Row]) -> None:
        self._index(rows)
