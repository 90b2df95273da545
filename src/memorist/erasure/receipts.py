"""Receipts as they begin, of what was asked for and of the rows whose retention ends on a day, and as they count."""

import secrets
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from memorist.erasure.values import ErasureKind, ErasureStatus, Receipt
from memorist.ids import new_id
from memorist.platform.erased_names import subject_of
from memorist.platform.values import Principal, Role
from memorist.ports import Writer

# What retention removes in a day shares a receipt, and one rewriting of the file.
_RETENTION_RECEIPT = timedelta(days=1)


def new_receipt(
    principal: Principal,
    kind: ErasureKind,
    request: Mapping[str, Any],
    user: str | None,
    now: datetime,
    *,
    wait: timedelta = timedelta(0),
) -> Receipt:
    salt = secrets.token_hex(16)
    is_self = user is not None and user == principal.user
    return Receipt(
        id=new_id("rcpt"),
        tenant=principal.tenant,
        kind=kind,
        status=ErasureStatus.DUE if wait else ErasureStatus.RUNNING,
        asked_by={"role": principal.role, "key": principal.key_id, "source": principal.source, "self": is_self},
        salt=salt,
        started_at=now,
        due_at=now + wait,
        subject="" if user is None else subject_of(salt, user),
        request=request,
    )


def retention_receipt(tx: Writer, tenant: str, now: datetime) -> Receipt:
    """The one of the day, to which what retention removes is added."""
    for receipt in tx.receipts.unfinished(now):
        if still_open(receipt, now):
            return receipt
    receipt = new_receipt(Principal(tenant, Role.ADMIN, source="sweeper"), ErasureKind.RETENTION, {}, None, now)
    tx.receipts.insert(receipt)
    return receipt


def add_counts(tx: Writer, receipt: Receipt, more: Mapping[str, int]) -> None:
    # One of a ledger that is being applied is written when that is done, with the counts it always had.
    if (locked := tx.receipts.lock(receipt.id)) is not None:
        counts = Counter(locked.counts)
        counts.update(more)
        tx.receipts.save(replace(locked, counts=dict(counts)))


def still_open(receipt: Receipt, now: datetime) -> bool:
    """Whether rows whose retention is over are still added to it."""
    is_young = receipt.started_at + _RETENTION_RECEIPT > now
    return receipt.kind is ErasureKind.RETENTION and receipt.status is ErasureStatus.RUNNING and is_young
