"""Takes erasures to their end, from wherever they are.

The intention is written down first and rows go in batches; then the files are written anew and searched, and only then
is there a receipt. Whatever is interrupted is run again.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from memorist.erasure.removal import Forget, Removal
from memorist.erasure.values import DETACHING, Erased, ErasureKind, ErasureStatus, Receipt
from memorist.erasure.verification import Verifier
from memorist.memories.accesses import AccessLog
from memorist.memories.policy import Derived, Policy
from memorist.platform.acts import working
from memorist.platform.erased_names import DOCUMENT, MEMORY, memory_id_of
from memorist.platform.values import Owner, OwnerFilter, Principal, Role, Tenant
from memorist.ports import Reader, Store, Writer
from memorist.times import Clock

_LOGS = (
    "Logs: those of this server name routes, and hashes instead of whom they were about, which end with the process; "
    "the audit log keeps, for its time, who did what, with salted hashes instead of names and ids; "
    "those of proxies, of clients and of the database's server are not reached, and may name a person in an address."
)

RemoveSaved = Callable[..., None]
"""Takes a tenant, and its users or nothing for all of them."""


class Runs:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        accesses: AccessLog,
        policy: Callable[[Reader], Policy],
        forget: Forget,
        forget_files: Callable[[str, str | None], None],
        remove_saved: RemoveSaved = lambda *_: None,
        kept_elsewhere: tuple[str, ...] = (),
    ) -> None:
        """`policy` says what becomes of derived facts; `forget` drops what is kept in memory of some users' rows;
        `forget_files` drops files that a user, or anybody of a tenant, sent to be imported;
        `remove_saved` removes what is kept of an index in files of its own;
        `kept_elsewhere` says what else this installation keeps copies in.
        """
        self._kept_elsewhere = kept_elsewhere
        self._forget_files = forget_files
        self._store = store
        self._clock = clock
        self._policy = policy
        self.remove_saved = remove_saved
        self._removal = partial(Removal, store, clock, accesses, forget)
        self.verifier = Verifier(store, clock)

    def run(self, receipt: Receipt) -> Receipt:
        """Take an erasure to its end. Raises StoreError; it can then be run again."""
        with working(Principal(receipt.tenant, Role.ADMIN), "erasure"):
            return self._run(receipt)

    def _run(self, receipt: Receipt) -> Receipt:
        removal = self._removal(receipt)
        if receipt.status in (ErasureStatus.DUE, ErasureStatus.RUNNING):
            request = receipt.request or {}
            _remove(removal, receipt.kind, request)
            if receipt.kind in (ErasureKind.USER, ErasureKind.TENANT):
                self._forget_files(receipt.tenant, request.get("user"))
            removal.references(facts_too=self._facts_go_too(receipt))
            # Before the files are written anew, since it may name a person.
            receipt = self._save(receipt, status=ErasureStatus.SCRUBBING, request=None)
        # Of all users: whose rows went, an erasure that goes on after a crash no longer knows.
        self.remove_saved(receipt.tenant)
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
            remains=(*remains, *self._kept_elsewhere, _LOGS),
            finished_at=self._clock.now(),
        )

    def apply(self, receipt: Receipt, entries: Sequence[Erased]) -> bool:
        """Erase what was erased elsewhere, by what a ledger says of it. False where it is known here, and done.

        It is not done before the files are scrubbed, and then `settle` is called.
        """
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
        self.remove_saved(receipt.tenant)
        scrubbing = replace(receipt, status=ErasureStatus.SCRUBBING)
        self._store.write(receipt.tenant, lambda tx: tx.receipts.insert(scrubbing))
        return True

    def settle(self, receipt: Receipt) -> None:
        """Note as done what was applied, with what the ledger says of it. What was begun here goes on as it was."""

        def work(tx: Writer) -> None:
            known = tx.receipts.lock(receipt.id)
            if known is not None and known.status is ErasureStatus.SCRUBBING:
                _put(tx, receipt)

        self._store.write(receipt.tenant, work)

    def _facts_go_too(self, receipt: Receipt) -> bool:
        if receipt.kind in DETACHING:
            return False
        return self._store.read(receipt.tenant, self._policy).derived_facts is Derived.ERASE

    def _save(self, receipt: Receipt, **changes: Any) -> Receipt:
        def work(tx: Writer) -> Receipt:
            before = tx.receipts.lock(receipt.id) or receipt
            if before.status is ErasureStatus.DONE:
                return before  # Another process was first.
            after = replace(before, **changes)
            _put(tx, after)
            return after

        return self._store.write(receipt.tenant, work)


def _put(tx: Writer, receipt: Receipt) -> None:
    tx.receipts.save(receipt)
    if receipt.kind is ErasureKind.RESET and receipt.status is ErasureStatus.DONE:
        tx.ledger.drop(receipt.id)  # An export brings back what it took.


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
