"""Receipts and the ledger as rows."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from memorist.erasure.values import Erased, ErasureKind, ErasureStatus, Receipt, Verification
from memorist.store.rows import NEWEST_ID
from memorist.store.tenant_statements import TenantStatements
from memorist.times import from_micros, optional_micros, optional_moment, to_micros


class ReceiptStatements(TenantStatements):
    """The receipts of one tenant, inside a transaction."""

    __slots__ = ()

    def get(self, receipt_id: str) -> Receipt | None:
        return self._one("get_receipt", receipt_id)

    def page(self, before_id: str | None, limit: int) -> list[Receipt]:
        rows = self._rows("list_receipts", before_id=before_id or NEWEST_ID, limit=limit)
        return [self._receipt(row) for row in rows]

    def unfinished(self, now: datetime) -> list[Receipt]:
        return [self._receipt(row) for row in self._rows("list_unfinished", now=to_micros(now))]

    def insert(self, receipt: Receipt) -> bool:
        return self._run("insert_receipt", **_to_parameters(receipt)) == 1

    def lock(self, receipt_id: str) -> Receipt | None:
        return self._one("lock_receipt", receipt_id)

    def save(self, receipt: Receipt) -> None:
        self._run("save_receipt", **_to_parameters(receipt))

    def _one(self, statement: str, receipt_id: str) -> Receipt | None:
        rows = self._rows(statement, id=receipt_id)
        return self._receipt(rows[0]) if rows else None

    def _receipt(self, row: tuple[Any, ...]) -> Receipt:
        return _from_row(self._tenant, row)


class LedgerStatements(TenantStatements):
    """What one tenant has erased, inside a transaction."""

    __slots__ = ()

    def of_receipt(self, receipt_id: str, kind: str, after_id: str, limit: int) -> list[Erased]:
        rows = self._rows("list_erased", receipt_id=receipt_id, kind=kind, after_id=after_id, limit=limit)
        return [_entry(*row) for row in rows]

    def of_kind(self, kind: str) -> list[Erased]:
        return [_entry(*row) for row in self._rows("list_erased_of_kind", kind=kind)]

    def find(self, kind: str, ids: Sequence[str]) -> list[Erased]:
        return [_entry(*row) for row in self._rows("find_erased", kind=kind, ids=self._encode_list(ids))]

    def purges_since(self, since: datetime) -> list[tuple[str, str, datetime]]:
        rows = self._rows("list_purges", since=to_micros(since))
        return [(salt, subject, from_micros(started_at)) for salt, subject, started_at in rows]

    def insert(self, entries: Iterable[Erased]) -> None:
        for entry in entries:
            self._run("insert_erased", **{**asdict(entry), "erased_at": to_micros(entry.erased_at)})

    def drop(self, receipt_id: str) -> None:
        self._run("drop_erased", receipt_id=receipt_id)


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
        "finished_at": optional_micros(receipt.finished_at),
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
        verification=found and Verification.known(found, from_micros(found["checked_at"])),
        remains=tuple(json.loads(remains)),
        finished_at=optional_moment(finished),
    )
