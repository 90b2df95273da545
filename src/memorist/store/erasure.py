"""Receipts and the ledger as rows, and the statements that erase, count and search in every place."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from memorist.erasure.values import Erased, ErasureKind, ErasureStatus, Naming, Receipt, Verification
from memorist.platform.values import OwnerFilter
from memorist.store.feed import FeedStatements
from memorist.store.places import PLACES
from memorist.times import from_micros, to_micros

# After every id in byte order.
_NEWEST = "~"

# After every moment, in microseconds.
_EVER = 2**62


class ErasureStatements(FeedStatements):
    """Erasure inside a transaction. Whatever removes rows says how many went from each place."""

    __slots__ = ()

    # Receipts

    def insert_receipt(self, receipt: Receipt) -> bool:
        return self._run("insert_receipt", **_to_parameters(receipt)) == 1

    def save_receipt(self, receipt: Receipt) -> None:
        self._run("save_receipt", **_to_parameters(receipt))

    def get_receipt(self, receipt_id: str) -> Receipt | None:
        return self._one("get_receipt", receipt_id)

    def lock_receipt(self, receipt_id: str) -> Receipt | None:
        return self._one("lock_receipt", receipt_id)

    def list_receipts(self, before_id: str | None, limit: int) -> list[Receipt]:
        rows = self._rows("list_receipts", before_id=before_id or _NEWEST, limit=limit)
        return [self._receipt(row) for row in rows]

    def list_unfinished(self, now: datetime) -> list[Receipt]:
        return [self._receipt(row) for row in self._rows("list_unfinished", now=to_micros(now))]

    def _one(self, statement: str, receipt_id: str) -> Receipt | None:
        rows = self._rows(statement, id=receipt_id)
        return self._receipt(rows[0]) if rows else None

    def _receipt(self, row: tuple[Any, ...]) -> Receipt:
        return _from_row(self._tenant, row)

    # The ledger

    def insert_erased(self, entries: Iterable[Erased]) -> None:
        for entry in entries:
            self._run("insert_erased", **{**asdict(entry), "erased_at": to_micros(entry.erased_at)})

    def list_erased(self, receipt_id: str, kind: str, after_id: str, limit: int) -> list[Erased]:
        rows = self._rows("list_erased", receipt_id=receipt_id, kind=kind, after_id=after_id, limit=limit)
        return [_entry(*row) for row in rows]

    def list_erased_of_kind(self, kind: str) -> list[Erased]:
        return [_entry(*row) for row in self._rows("list_erased_of_kind", kind=kind)]

    def find_erased(self, kind: str, ids: Sequence[str]) -> set[str]:
        return {row[0] for row in self._rows("find_erased", kind=kind, ids=self._encode_list(ids))}

    # Erasing

    def erase_rows(self, memory_ids: Sequence[str]) -> dict[str, int]:
        self._note_erasures(memory_ids)
        ids = self._encode_list(memory_ids)
        return {place.table: self._run(place.of_memories, ids=ids) for place in PLACES if place.of_memories}

    def erase_owned(self, owner: OwnerFilter) -> dict[str, int]:
        parameters = {
            "user_id": None if owner.any_user else owner.user or "",
            "agent_id": None if owner.any_agent else owner.agent or "",
        }
        return {place.table: self._run(place.of_owner, **parameters) for place in PLACES if place.of_owner}

    def erase_leftovers(self) -> dict[str, int]:
        return {place.table: self._run(place.of_tenant) for place in PLACES if place.of_tenant}

    def erase_keys(self, user: str) -> int:
        return self._run("purge_keys_of_owner", user_id=user)

    def forget_actor(self, user: str) -> int:
        return self._run("forget_actor", user_id=user) + self._run("forget_policy_actor", user_id=user)

    def revoke_all_keys(self, at: datetime) -> int:
        return self._run("revoke_all_keys", at=to_micros(at))

    def rewrite_event(self, seq: int, payload: str) -> None:
        self._run("rewrite_event", seq=seq, payload=payload)

    def empty_turn_event(self, turn_id: str, seq: int) -> None:
        self._run("empty_turn_event", turn_id=turn_id, seq=seq, data="{}")

    # Looking for what should be gone

    def count_named(self, memory_ids: Sequence[str]) -> dict[str, int]:
        return {row[0]: row[1] for row in self._rows("count_named", ids=self._encode_list(memory_ids))}

    def count_of_user(self, user: str, until: datetime | None) -> dict[str, int]:
        statement = "count_all_of_user" if until is None else "count_of_user"
        rows = self._rows(statement, user_id=user, until=_EVER if until is None else to_micros(until))
        return {row[0]: row[1] for row in rows}

    def list_users(self) -> list[str]:
        return [row[0] for row in self._rows("list_users") if row[0]]

    def hold_memories(self, memory_ids: Sequence[str]) -> set[str]:
        return {row[0] for row in self._rows("hold_memories", ids=self._encode_list(memory_ids))}

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


def _entry(kind: str, id: str, salt: str, receipt_id: str, erased_at: int) -> Erased:
    return Erased(kind, id, salt, receipt_id, from_micros(erased_at))


def _to_parameters(receipt: Receipt) -> dict[str, Any]:
    verification = None if receipt.verification is None else asdict(receipt.verification)
    if verification is not None:
        verification["checked_at"] = to_micros(verification["checked_at"])
    return {
        "id": receipt.id,
        "kind": receipt.kind,
        "status": receipt.status,
        "request": "" if receipt.request is None else json.dumps(receipt.request, ensure_ascii=False),
        "asked_by": json.dumps(receipt.asked_by, ensure_ascii=False),
        "salt": receipt.salt,
        "subject": receipt.subject,
        "counts": json.dumps(receipt.counts),
        "verification": "" if verification is None else json.dumps(verification),
        "remains": json.dumps(receipt.remains),
        "started_at": to_micros(receipt.started_at),
        "due_at": to_micros(receipt.due_at),
        "finished_at": None if receipt.finished_at is None else to_micros(receipt.finished_at),
    }


def _from_row(tenant: str, row: tuple[Any, ...]) -> Receipt:
    (id, kind, status, request, asked_by, salt, subject, counts, verification, remains, started, due, finished) = row
    found = json.loads(verification) if verification else None
    return Receipt(
        id=id,
        tenant=tenant,
        kind=ErasureKind(kind),
        status=ErasureStatus(status),
        asked_by=json.loads(asked_by),
        salt=salt,
        started_at=from_micros(started),
        due_at=from_micros(due),
        subject=subject,
        request=json.loads(request) if request else None,
        counts=json.loads(counts),
        verification=found and Verification(**{**found, "checked_at": from_micros(found["checked_at"])}),
        remains=tuple(json.loads(remains)),
        finished_at=None if finished is None else from_micros(finished),
    )
