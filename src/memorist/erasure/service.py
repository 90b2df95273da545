"""Erasure with a receipt: some memories, a user, or a whole tenant; gone from every table, and from the files."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from datetime import timedelta
from functools import partial
from typing import Any

from memorist.erasure import ledger
from memorist.erasure.documents import cut_documents
from memorist.erasure.naming import in_pages, quotes_of
from memorist.erasure.receipts import new_receipt, retention_receipt, still_open
from memorist.erasure.removal import erase_batch
from memorist.erasure.running import Runs
from memorist.erasure.values import ErasureKind, Receipt
from memorist.errors import InvalidField, MemoristError, NotFound
from memorist.ids import parse_id
from memorist.ingestion.values import Document
from memorist.memories import lifecycle
from memorist.memories.values import Kind, Memory
from memorist.platform import access, validation
from memorist.platform.loop import Loop, unexpected_is_logged
from memorist.platform.rounds import all_due
from memorist.platform.values import DueWork, Owner, Principal
from memorist.ports import Reader, Store, Writer
from memorist.secrets.logs import redacting_logger
from memorist.times import Clock

_log = redacting_logger(__name__)

TENANT_GRACE = timedelta(days=30)
"""How long a tenant that is to be deleted is kept, unless it is to go at once."""

_PAGE = 500


class Erasure:
    def __init__(self, store: Store, clock: Clock, runs: Runs, *, at_once: int = 5000) -> None:
        """`at_once`: of more rows than that, who may be told later is."""
        self._at_once = at_once
        self._store = store
        self._clock = clock
        self._runs = runs
        self.verifier = runs.verifier
        self._loop = Loop("erasure", self._finish_due, 0)

    # What can be asked for

    def erase(self, principal: Principal, memory_ids: Sequence[str]) -> Receipt:
        """Erase some memories for good, whatever their state. A chunk of a document takes the document along, since
        that holds the same text.

        Raises NotFound or Forbidden, before anything is erased, and StoreError where it is to be finished later.
        """
        ids = list(dict.fromkeys(parse_id("mem", memory_id) for memory_id in memory_ids))
        if not 0 < len(ids) <= validation.MAX_BATCH:
            raise InvalidField(f"From 1 to {validation.MAX_BATCH} memories are erased at once.", field="ids")
        if (finished := self._finish_same(principal, ids)) is not None:
            return finished
        found = {m.id: m for m in self._store.read(principal.tenant, lambda tx: tx.memories.get_many(ids))}
        for memory_id in ids:
            memory = access.require_visible(principal, found.get(memory_id), memory_id)
            access.require_changeable(principal, memory)
        documents = self._store.read(principal.tenant, partial(_documents_of, list(found.values())))
        users = {memory.owner.user for memory in found.values()}
        request = {"ids": ids, "documents": [[doc.owner.user, doc.owner.agent, doc.id] for doc in documents]}
        user = next(iter(users)) if len(users) == 1 else None
        return self._runs.run(self._begin(principal, ErasureKind.MEMORIES, request, user))

    def reset(self, principal: Principal) -> Receipt:
        """Erase everything that the caller owns, to begin anew: a user's, or with an agent that profile's. An admin
        that acts for nobody empties the tenant. Keys, policies and receipts stay, and an export brings the rest back.

        Raises Forbidden, and StoreError where it is to be finished later.
        """
        access.require(principal, access.Action.WRITE if principal.user else access.Action.ADMINISTER)
        request = {"user": principal.user, "agent": principal.agent}
        for receipt in self._unfinished(principal.tenant):
            if receipt.kind is ErasureKind.RESET and receipt.is_about(principal.user):
                finished = self._runs.run(receipt)
                if receipt.request == request:
                    return finished
        return self._runs.run(self._begin(principal, ErasureKind.RESET, request, principal.user))

    def purge_user(
        self, principal: Principal, user: str | None = None, *, keys: bool = False, later: bool = False
    ) -> Receipt:
        """Erase everything that a user has, with every agent: by default the caller's own. `keys`: API keys too.

        `later`: where it is much, and something works in the background, the receipt is not done when this returns.
        Raises Forbidden, InvalidField where no user is named, and StoreError where it is to be finished later.
        """
        user = _whom(principal, user)
        if keys:
            access.require(principal, access.Action.ADMINISTER)
        request = {"user": user, "keys": keys}
        is_much = later and sum(self.preview(principal, user).values()) > self._at_once
        for receipt in self._unfinished(principal.tenant):
            if receipt.kind is ErasureKind.USER and receipt.is_about(user):
                if is_much and receipt.request == request:
                    return self._run(receipt, is_much=True)
                finished = self._runs.run(receipt)
                left = self.preview(principal, user)
                if not any(count for table, count in left.items() if keys or table != "api_keys"):
                    return finished
        return self._run(self._begin(principal, ErasureKind.USER, request, user), is_much=is_much)

    def delete_tenant(
        self, principal: Principal, *, confirm: str, at_once: bool = False, later: bool = False
    ) -> Receipt:
        """Erase the caller's tenant: all of its rows and keys, in 30 days or at once. Its keys end now.

        `confirm` is its name, said once more; `later` as in `purge_user`. What remains is its name and its receipts.
        Raises Forbidden or InvalidField, and StoreError where it is to be finished later.
        """
        access.require(principal, access.Action.ADMINISTER)
        require_confirmed(confirm, principal.tenant, "the name of the tenant")
        marked = self._store.read(principal.tenant, lambda tx: tx.receipts.unfinished(self._clock.now() + TENANT_GRACE))
        receipt = next((one for one in marked if one.kind is ErasureKind.TENANT), None)
        if receipt is None:
            wait = timedelta(0) if at_once else TENANT_GRACE
            receipt = self._begin(principal, ErasureKind.TENANT, {}, None, wait=wait)
        if not at_once:
            return receipt
        most = self._at_once + 1
        is_much = later and self._store.read(principal.tenant, lambda tx: tx.erasure.count_memories(most)) == most
        return self._run(receipt, is_much=is_much)

    def purge_rows(self, tx: Writer, memory_ids: Sequence[str]) -> None:
        """Remove rows whose retention is over, inside the transaction that found them, and their text in documents.

        They share the tenant's receipt of the day, which `resume` finishes, and for which it scrubs the files.
        """
        memories = tx.memories.get_many(memory_ids)
        if memories:
            now = self._clock.now()
            self._runs.remove_saved(memories[0].tenant, {memory.owner.user for memory in memories})
            receipt = retention_receipt(tx, memories[0].tenant, now)
            erase_batch(tx, receipt, memories, now)
            cut_documents(tx, receipt, memories, now)

    def purge_quotes(self, tenant: str, memory_ids: Collection[str]) -> Callable[[Writer, Collection[str]], None]:
        """Remove in the same way what repeats some memories word for word, and what other memories' events say of
        them: all that there is, in short transactions. Returns what does the same, inside one, with what came since.
        """
        wanted = set(memory_ids)
        found = quotes_of(partial(self._store.read, tenant), wanted)
        for copies in in_pages(found.copies):
            self._store.write(tenant, partial(self.purge_rows, memory_ids=copies))
        for events in in_pages(found.events):
            self._store.write(tenant, partial(_cut_events, events, wanted))

        def purge_new(tx: Writer, some: Collection[str]) -> None:
            # Others may have come to be due since.
            for ids, after in ((wanted & set(some), found), (set(some) - wanted, None)):
                if ids:
                    new = quotes_of(lambda work: work(tx), ids, after)
                    self.purge_rows(tx, new.copies)
                    _cut_events(new.events, ids, tx)

        return purge_new

    def preview(self, principal: Principal, user: str | None = None) -> dict[str, int]:
        """How many rows of each table are a user's. Raises Forbidden or InvalidField."""
        return self.preview_rows(principal, user) | {"memory_events": self.preview_history(principal, user)}

    def preview_rows(self, principal: Principal, user: str | None = None) -> dict[str, int]:
        """The same without the history, which takes longest to count."""
        user = _whom(principal, user)
        return self._store.read(principal.tenant, lambda tx: tx.erasure.count_all_of_user(user))

    def preview_history(self, principal: Principal, user: str | None = None) -> int:
        """How many lines of history are about a user's memories, or about what the user did."""
        user = _whom(principal, user)
        return self._store.read(principal.tenant, lambda tx: tx.erasure.count_history_of_user(user))

    def users(self, principal: Principal) -> list[str]:
        """All who have rows in the caller's tenant. Raises Forbidden."""
        access.require(principal, access.Action.ADMINISTER)
        return self._store.read(principal.tenant, lambda tx: tx.erasure.list_users())

    def apply(self, lines: Iterable[str]) -> list[Receipt]:
        """Erase what a ledger says was erased elsewhere: of this database before it was restored, or of another one.

        Returns the erasures that were not known here, or not done. Raises InvalidField, and StoreError; it can then be
        repeated.
        """
        applied = [receipt for receipt, entries in ledger.read_ledger(lines) if self._runs.apply(receipt, entries)]
        for tenant in {receipt.tenant for receipt in applied}:
            self._store.scrub(tenant)
            for receipt in applied:
                if receipt.tenant == tenant:
                    self._runs.settle(receipt)
        return applied

    def resume(self, tenant: str | None = None) -> list[Receipt]:
        """Finish whatever is due and not done, in every tenant or in one; one that fails keeps no other from being
        finished.

        Raises what the first one raised, such as StoreError.
        """
        finished: list[Receipt] = []
        failures: list[MemoristError] = []
        tenants = all_due(self._store, DueWork.ERASURES, self._clock.now()) if tenant is None else [tenant]
        for one in tenants:
            try:
                unfinished = self._unfinished(one)
            except MemoristError as error:
                failures.append(error)
                continue
            for receipt in unfinished:
                try:
                    with unexpected_is_logged(f"erasure {receipt.id}"):
                        finished.append(self._runs.run(receipt))
                except MemoristError as error:
                    _log.warning("erasure %s is not finished yet: %s", receipt.id, error.message)
                    failures.append(error)
        if failures:
            raise failures[0]
        return finished

    def start(self, every_s: float) -> None:
        """For servers: finish what is due now and then, in the background, until closed."""
        self._loop.every = every_s
        self._loop.start()

    def close(self) -> None:
        self._loop.close()

    def _finish_due(self) -> None:
        self.resume()

    # Receipts

    def get(self, principal: Principal, receipt_id: str) -> Receipt:
        """A receipt of the caller's own erasures, or for admins any of the tenant. Raises NotFound or InvalidId."""
        receipt_id = parse_id("rcpt", receipt_id)
        receipt = self._store.read(principal.tenant, lambda tx: tx.receipts.get(receipt_id))
        if receipt is None or not _may_see(principal, receipt):
            raise NotFound(f"There is no receipt {receipt_id} that you may see.")
        return receipt

    def receipts(self, principal: Principal, *, limit: int = 100, before: str | None = None) -> list[Receipt]:
        """Receipts that the caller may see, newest first, from an id on. Raises InvalidField or InvalidId."""
        validation.page_limit(limit)
        access.require(principal, access.Action.READ)
        last = None if before is None else parse_id("rcpt", before)
        seen: list[Receipt] = []
        while len(seen) < limit and (page := self._store.read(principal.tenant, partial(_page, last))):
            seen += [receipt for receipt in page if _may_see(principal, receipt)]
            last = page[-1].id
        return seen[:limit]

    def ids_of(self, receipt: Receipt) -> list[str]:
        """The memories that an erasure removed; none of a reset that is done."""
        return [memory_id for page in ledger.erased_ids(self._store, receipt) for memory_id in page]

    def _begin(
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
        receipt = new_receipt(principal, kind, request, user, now, wait=wait)

        def work(tx: Writer) -> None:
            tx.receipts.insert(receipt)
            if kind is ErasureKind.TENANT:
                tx.keys.revoke_all(now)

        self._store.write(principal.tenant, work)
        return receipt

    def _run(self, receipt: Receipt, *, is_much: bool) -> Receipt:
        """Take an erasure to its end, or leave that to the background."""
        if not is_much or not self._loop.is_alive:
            return self._runs.run(receipt)
        self._loop.wake()
        return receipt

    def _unfinished(self, tenant: str) -> list[Receipt]:
        """Erasures that are due and not done, oldest first."""
        now = self._clock.now()
        found = self._store.read(tenant, lambda tx: tx.receipts.unfinished(now))
        return [one for one in found if not still_open(one, now)]

    def _finish_same(self, principal: Principal, ids: Sequence[str]) -> Receipt | None:
        """An erasure of the same memories that was interrupted, finished now."""
        for receipt in self._unfinished(principal.tenant):
            if receipt.kind is ErasureKind.MEMORIES and _may_see(principal, receipt):
                asked = receipt.request["ids"] if receipt.request else self.ids_of(receipt)
                if set(ids) <= set(asked):
                    return self._runs.run(receipt)
        return None


def require_confirmed(given: str | None, expected: str, what: str) -> None:
    """Raises InvalidField: nobody is to lose everything by one call that was a mistake."""
    if given != expected:
        raise InvalidField.of("confirm", f"must be {what}: this cannot be undone. Nothing was erased.")


def _whom(principal: Principal, user: str | None) -> str:
    access.require(principal, access.Action.WRITE)
    access.require_all_profiles(principal)
    if user is not None:
        principal = access.acting(principal, user=validation.identifier("user", user))
    if principal.user is None:
        raise InvalidField("Say whose memories to erase: name a user.", field="user")
    return principal.user


def _may_see(principal: Principal, receipt: Receipt) -> bool:
    if access.allows(principal, access.Action.ADMINISTER):
        return True
    return principal.user is not None and receipt.is_about(principal.user)


def _page(before: str | None, tx: Reader) -> list[Receipt]:
    return tx.receipts.page(before, _PAGE)


def _documents_of(memories: Iterable[Memory], tx: Reader) -> list[Document]:
    """Documents that hold the text of these chunks."""
    found: dict[tuple[Owner, str], Document] = {}
    for memory in memories:
        if memory.kind is Kind.DOCUMENT_CHUNK and memory.source_ref:
            document = tx.documents.get(memory.owner, memory.source_ref)
            if document is not None and document.holds(memory):
                found[document.owner, document.id] = document
    return list(found.values())


def _cut_events(events: Sequence[int], memory_ids: Set[str], tx: Writer) -> None:
    for seq in events:
        tx.erasure.rewrite_event(seq, lambda told: lifecycle.without_texts_about(told, memory_ids))
