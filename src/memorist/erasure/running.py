"""Takes erasures to their end, from wherever they are.

The intention is written down first and rows go in batches; then the files are written anew and searched, and only then
is there a receipt. Whatever is interrupted is run again.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from memorist.erasure.removal import Forget, Removal, erase_batch
from memorist.erasure.values import Erased, ErasureKind, ErasureStatus, Receipt
from memorist.erasure.verification import Verifier
from memorist.ids import new_id
from memorist.memories.accesses import AccessLog
from memorist.memories.policy import Derived, Policy
from memorist.platform.erased_names import DOCUMENT, MEMORY, memory_id_of, subject_of
from memorist.platform.values import Owner, OwnerFilter, Principal, Role, Tenant
from memorist.ports import Reader, Store, Writer
from memorist.times import Clock

# What retention removes in a day shares a receipt, and one rewriting of the file.
_RETENTION_RECEIPT = timedelta(days=1)
# These take nothing along that is not theirs: a conversation may age away, what was learned from it is meant to stay.
_DETACHING = (ErasureKind.RETENTION, ErasureKind.RESET)


class Runs:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        accesses: AccessLog,
        policy: Callable[[Reader], Policy],
        forget: Forget,
    ) -> None:
        """`policy` says what becomes of derived facts; `forget` drops what is kept in memory of some users' rows."""
        self._store = store
        self._clock = clock
        self._policy = policy
        self._removal = partial(Removal, store, clock, accesses, forget)
        self.verifier = Verifier(store, clock)

    def begin(
        self,
        principal: Principal,
        kind: ErasureKind,
        request: Mapping[str, Any],
        user: str | None,
        *,
        wait: timedelta = timedelta(0),
    ) -> Receipt:
        """Write down what is to be erased. Of a tenant the keys end now."""
        now = self._clock.now()
        receipt = _new_receipt(principal, kind, request, user, now, wait=wait)

        def work(tx: Writer) -> None:
            tx.receipts.insert(receipt)
            if kind is ErasureKind.TENANT:
                tx.keys.revoke_all(now)

        self._store.write(principal.tenant, work)
        return receipt

    def unfinished(self, tenant: str) -> list[Receipt]:
        """Erasures that are due and not done, oldest first."""
        now = self._clock.now()
        found = self._store.read(tenant, lambda tx: tx.receipts.unfinished(now))
        return [one for one in found if not _still_open(one, now)]

    def run(self, receipt: Receipt) -> Receipt:
        """Take an erasure to its end. Raises StoreError; it can then be run again."""
        removal = self._removal(receipt)
        if receipt.status in (ErasureStatus.DUE, ErasureStatus.RUNNING):
            _remove(removal, receipt.kind, receipt.request or {})
            removal.references(facts_too=self._facts_go_too(receipt))
            # Before the files are written anew, since it may name a person.
            receipt = self._save(receipt, status=ErasureStatus.SCRUBBING, request=None)
        # Writing a large file anew takes long, so that for a few memories it is done only where it must be.
        pieces = removal.samples.pieces
        is_small = receipt.kind is ErasureKind.MEMORIES and bool(pieces)
        remains = self._store.scrub(receipt.tenant, rewrite=not is_small)
        verification = self.verifier.verify(receipt, samples=pieces)
        if is_small and not verification.ok:
            remains = self._store.scrub(receipt.tenant)
            verification = self.verifier.verify(receipt, samples=pieces)
        return self._save(
            receipt,
            status=ErasureStatus.DONE,
            verification=verification,
            remains=remains,
            finished_at=self._clock.now(),
        )

    def purge(self, tx: Writer, memory_ids: Sequence[str]) -> None:
        """Remove rows whose retention is over, inside the transaction that found them, for the receipt of the day."""
        memories = tx.memories.get_many(memory_ids)
        if memories:
            now = self._clock.now()
            erase_batch(tx, _retention_receipt(tx, memories[0].tenant, now), memories, now)

    def apply(self, receipt: Receipt, entries: Sequence[Erased]) -> bool:
        """Erase what was erased elsewhere, by what a ledger says of it. False where it is known here."""
        self._store.create_tenant(Tenant(receipt.tenant, self._clock.now()))
        known = self._store.read(receipt.tenant, lambda tx: tx.receipts.get(receipt.id))
        if known is not None and known.status is ErasureStatus.DONE:
            return False
        removal = self._removal(receipt)
        self._store.write(receipt.tenant, lambda tx: tx.ledger.insert(entries))
        removal.memories(memory_id_of(entry.id) for entry in entries if entry.kind == MEMORY)
        removal.documents_in([entry for entry in entries if entry.kind == DOCUMENT])
        if receipt.kind is ErasureKind.USER:
            for user in self._store.read(receipt.tenant, lambda tx: tx.erasure.list_users()):
                if receipt.is_about(user):
                    removal.owned(OwnerFilter(user, any_agent=True))
                    removal.user(user, keys="api_keys" in receipt.counts)
        elif receipt.kind is ErasureKind.TENANT:
            removal.tenant()
        removal.references(facts_too=self._facts_go_too(receipt))
        self._store.write(receipt.tenant, lambda tx: tx.receipts.insert(receipt))
        return True

    def _facts_go_too(self, receipt: Receipt) -> bool:
        if receipt.kind in _DETACHING:
            return False
        return self._store.read(receipt.tenant, self._policy).derived_facts is Derived.ERASE

    def _save(self, receipt: Receipt, **changes: Any) -> Receipt:
        def work(tx: Writer) -> Receipt:
            before = tx.receipts.lock(receipt.id) or receipt
            if before.status is ErasureStatus.DONE:
                return before  # Another process was first.
            after = replace(before, **changes)
            tx.receipts.save(after)
            if after.kind is ErasureKind.RESET and after.status is ErasureStatus.DONE:
                tx.ledger.drop(after.id)  # An export brings back what it took.
            return after

        return self._store.write(receipt.tenant, work)


def _remove(removal: Removal, kind: ErasureKind, request: Mapping[str, Any]) -> None:
    """Remove what was asked for; of the end of retention, that is done already."""
    if kind is ErasureKind.MEMORIES:
        for user, agent, document_id in request["documents"]:
            removal.document(Owner(user, agent), document_id)
        removal.memories(request["ids"])
    elif kind is ErasureKind.RESET:
        user, agent = request["user"], request["agent"]
        removal.owned(OwnerFilter(user, agent, any_user=user is None, any_agent=agent is None))
    elif kind is ErasureKind.USER:
        removal.owned(OwnerFilter(request["user"], any_agent=True))
        removal.user(request["user"], keys=request.get("keys", False))
    elif kind is ErasureKind.TENANT:
        removal.tenant()


def _new_receipt(
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


def _retention_receipt(tx: Writer, tenant: str, now: datetime) -> Receipt:
    for receipt in tx.receipts.unfinished(now):
        if _still_open(receipt, now):
            return receipt
    receipt = _new_receipt(Principal(tenant, Role.ADMIN, source="sweeper"), ErasureKind.RETENTION, {}, None, now)
    tx.receipts.insert(receipt)
    return receipt


def _still_open(receipt: Receipt, now: datetime) -> bool:
    """Whether rows whose retention is over are still added to it."""
    is_young = receipt.started_at + _RETENTION_RECEIPT > now
    return receipt.kind is ErasureKind.RETENTION and receipt.status is ErasureStatus.RUNNING and is_young
