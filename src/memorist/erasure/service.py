"""Erasure with a receipt: some memories, a user, or a whole tenant; gone from every place, and from the files.

The intention is written down first, rows go in batches, each in one transaction with its lines of the ledger and its
counts; then the files are written anew and searched, and only then is there a receipt. Whatever is interrupted is
finished by the next start, or by asking again.
"""

import json
import secrets
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from typing import Any

from memorist.erasure import ledger
from memorist.erasure.copies import is_copy
from memorist.erasure.samples import Samples, strings_in, texts_of
from memorist.erasure.values import Erased, ErasureKind, ErasureStatus, Naming, Receipt
from memorist.erasure.verification import Verifier, naming_events, naming_memories, naming_turns
from memorist.errors import InvalidField, MemoristError, NotFound
from memorist.ids import new_id, parse_id
from memorist.ingestion.values import Document
from memorist.memories import writing
from memorist.memories.accesses import AccessLog
from memorist.memories.policy import Derived, Policy
from memorist.memories.values import Kind, Memory, Status
from memorist.platform import access, validation
from memorist.platform.values import Event, Owner, OwnerFilter, Principal, Role, Tenant
from memorist.ports import Reader, Store, Writer
from memorist.secrets.logs import redacting_logger
from memorist.times import Clock

_log = redacting_logger(__name__)

TENANT_GRACE = timedelta(days=30)
"""How long a tenant that is to be deleted is kept, unless it is to go at once."""

# What retention removes in a day shares a receipt, and one rewriting of the file.
_RETENTION_RECEIPT = timedelta(days=1)
_BATCH = 500
_DOCUMENTS = 20
_EVERYTHING = OwnerFilter(any_user=True, any_agent=True)


class Erasure:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        accesses: AccessLog,
        policy: Callable[[Reader], Policy],
        forget: Callable[[str, Iterable[str | None]], None],
    ) -> None:
        """`policy` says what becomes of derived facts; `forget` drops what is kept in memory of some users' rows."""
        self._store = store
        self._clock = clock
        self._accesses = accesses
        self._policy = policy
        self._forget = forget
        self.verifier = Verifier(store, clock)
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()

    # What can be asked for

    def erase(self, principal: Principal, memory_ids: Sequence[str]) -> Receipt:
        """Erase some memories for good, whatever their state. A chunk of a document takes the document along, since
        that holds the same text.

        Raises NotFound or Forbidden, before anything is erased, and StoreError where it is to be finished later.
        """
        ids = list(dict.fromkeys(parse_id("mem", memory_id) for memory_id in memory_ids))
        if not 0 < len(ids) <= validation.MAX_BATCH:
            raise InvalidField(f"From 1 to {validation.MAX_BATCH} memories are erased at once.", field="memory_ids")
        if (finished := self._finish_same(principal, ids)) is not None:
            return finished
        found = {m.id: m for m in self._store.read(principal.tenant, lambda tx: tx.memories.get_many(ids))}
        for memory_id in ids:
            memory = access.require_visible(principal, found.get(memory_id), memory_id)
            access.require_writable(principal, memory.owner)
        documents = self._documents_of(principal.tenant, found.values())
        users = {memory.owner.user for memory in found.values()}
        request = {"ids": ids, "documents": [[doc.owner.user, doc.owner.agent, doc.id] for doc in documents]}
        receipt = self._begin(principal, ErasureKind.MEMORIES, request, next(iter(users)) if len(users) == 1 else None)
        return self._run(receipt)

    def purge_user(self, principal: Principal, user: str | None = None, *, keys: bool = False) -> Receipt:
        """Erase everything that a user has, with every agent: by default the caller's own. `keys`: API keys too.

        Raises Forbidden, InvalidField where no user is named, and StoreError where it is to be finished later.
        """
        user = self._whom(principal, user)
        if keys:
            access.require(principal, access.Action.ADMINISTER)
        for receipt in self._unfinished(principal.tenant):
            if receipt.kind is ErasureKind.USER and receipt.subject == ledger.subject_of(receipt.salt, user):
                finished = self._run(receipt)
                left = self.preview(principal, user)
                if not any(count for place, count in left.items() if keys or place != "api_keys"):
                    return finished
        return self._run(self._begin(principal, ErasureKind.USER, {"user": user, "keys": keys}, user))

    def delete_tenant(self, principal: Principal, *, at_once: bool = False) -> Receipt:
        """Erase the caller's tenant: all of its rows and keys, in 30 days or at once. Its keys end now.

        What remains is its name and its receipts. Raises Forbidden, and StoreError where it is to be finished later.
        """
        access.require(principal, access.Action.ADMINISTER)
        marked = self._store.read(principal.tenant, lambda tx: tx.receipts.unfinished(self._clock.now() + TENANT_GRACE))
        receipt = next((one for one in marked if one.kind is ErasureKind.TENANT), None)
        if receipt is None:
            receipt = self._begin(
                principal, ErasureKind.TENANT, {}, None, wait=timedelta(0) if at_once else TENANT_GRACE
            )
        return self._run(receipt) if at_once else receipt

    def purge_rows(self, tx: Writer, memory_ids: Sequence[str]) -> None:
        """Remove rows whose retention is over, inside the transaction that found them.

        They share the tenant's receipt of the day, which `resume` finishes, and for which it scrubs the files.
        """
        memories = tx.memories.get_many(memory_ids)
        if memories:
            now = self._clock.now()
            receipt = self._retention_receipt(tx, memories[0].tenant, now)
            _add_counts(tx, receipt, _erase_batch(tx, receipt, memories, now))

    def preview(self, principal: Principal, user: str | None = None) -> dict[str, int]:
        """How many rows of each place are a user's. Raises Forbidden or InvalidField."""
        user = self._whom(principal, user)
        return self._store.read(principal.tenant, lambda tx: tx.erasure.count_of_user(user, None))

    def apply(self, lines: Iterable[str]) -> list[Receipt]:
        """Erase what a ledger says was erased elsewhere: of this database before it was restored, or of another one.

        Returns the erasures that were not known here. Raises InvalidField, and StoreError; it can then be repeated.
        """
        applied = [receipt for receipt, entries in ledger.read_ledger(lines) if self._apply(receipt, entries)]
        for tenant in {receipt.tenant for receipt in applied}:
            self._store.scrub(tenant)
        return applied

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
        place = None if before is None else parse_id("rcpt", before)
        seen: list[Receipt] = []
        while len(seen) < limit and (page := self._store.read(principal.tenant, partial(_page, place))):
            seen += [receipt for receipt in page if _may_see(principal, receipt)]
            place = page[-1].id
        return seen[:limit]

    def ids_of(self, receipt: Receipt) -> list[str]:
        """The memories that an erasure removed."""
        return [memory_id for page in ledger.erased_ids(self._store, receipt) for memory_id in page]

    def resume(self) -> list[Receipt]:
        """Finish whatever is due and not done, in every tenant; one that fails keeps no other from being finished.

        Raises what the first one raised, such as StoreError.
        """
        finished: list[Receipt] = []
        failures: list[Exception] = []
        for tenant in self._store.list_tenants():
            try:
                unfinished = self._unfinished(tenant.id)
            except MemoristError as error:
                failures.append(error)
                continue
            for receipt in unfinished:
                try:
                    finished.append(self._run(receipt))
                except Exception as error:
                    _log.warning("erasure %s is not finished yet: %s", receipt.id, type(error).__name__)
                    failures.append(error)
        if failures:
            raise failures[0]
        return finished

    def start(self, every_s: float) -> None:
        """For servers: finish what is due now and then, in the background, until closed."""
        self._thread = threading.Thread(
            target=self._keep_finishing, args=(every_s,), name="memorist-erasure", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()

    def _keep_finishing(self, every_s: float) -> None:
        while True:
            try:
                self.resume()
            except MemoristError as error:
                _log.warning("an erasure is finished later: %s", error.message)
            except Exception:
                _log.exception("an erasure failed and is tried again later")
            if self._stopping.wait(every_s):
                return

    # Carrying it out

    def _begin(
        self,
        principal: Principal,
        kind: ErasureKind,
        request: Mapping[str, Any],
        user: str | None,
        *,
        wait: timedelta = timedelta(0),
    ) -> Receipt:
        now = self._clock.now()
        receipt = _new_receipt(principal, kind, request, user, now, wait=wait)

        def work(tx: Writer) -> None:
            tx.receipts.insert(receipt)
            if kind is ErasureKind.TENANT:
                tx.keys.revoke_all(now)

        self._store.write(principal.tenant, work)
        return receipt

    def _run(self, receipt: Receipt) -> Receipt:
        """Take an erasure to its end from wherever it is. Raises StoreError; it can then be run again."""
        samples = Samples()
        if receipt.status in (ErasureStatus.DUE, ErasureStatus.RUNNING):
            self._remove(receipt, samples)
            self._cut_references(receipt, samples)
            # Before the files are written anew, since it may name a person.
            receipt = self._save(receipt, status=ErasureStatus.SCRUBBING, request=None)
        # Writing a large file anew takes long, so that for a few memories it is done only where it must be.
        is_small = receipt.kind is ErasureKind.MEMORIES and bool(samples.pieces)
        remains = self._store.scrub(receipt.tenant, rewrite=not is_small)
        verification = self.verifier.verify(receipt, samples=samples.pieces)
        if is_small and not verification.ok:
            remains = self._store.scrub(receipt.tenant)
            verification = self.verifier.verify(receipt, samples=samples.pieces)
        return self._save(
            receipt,
            status=ErasureStatus.DONE,
            verification=verification,
            remains=remains,
            finished_at=self._clock.now(),
        )

    def _save(self, receipt: Receipt, **changes: Any) -> Receipt:
        def work(tx: Writer) -> Receipt:
            before = tx.receipts.lock(receipt.id) or receipt
            if before.status is ErasureStatus.DONE:
                return before  # Another process was first.
            after = replace(before, **changes)
            tx.receipts.save(after)
            return after

        return self._store.write(receipt.tenant, work)

    def _remove(self, receipt: Receipt, samples: Samples) -> None:
        request = receipt.request or {}
        if receipt.kind is ErasureKind.MEMORIES:
            for user, agent, document_id in request["documents"]:
                self._remove_document(receipt, Owner(user, agent), document_id, samples)
            self._remove_ids(receipt, request["ids"], samples)
        elif receipt.kind is ErasureKind.USER:
            self._remove_owned(receipt, OwnerFilter(request["user"], any_agent=True), samples)
            self._remove_user(receipt, request["user"], keys=request.get("keys", False))
        elif receipt.kind is ErasureKind.TENANT:
            self._remove_owned(receipt, _EVERYTHING, samples)
            self._count(receipt, lambda tx: tx.erasure.erase_leftovers())

    def _remove_ids(self, receipt: Receipt, memory_ids: Iterable[str], samples: Samples) -> None:
        rest = iter(memory_ids)
        while ids := list(islice(rest, _BATCH)):
            self._remove_batch(receipt, lambda tx, ids=ids: tx.memories.get_many(ids), samples)  # type: ignore[misc]

    def _remove_owned(self, receipt: Receipt, owner: OwnerFilter, samples: Samples) -> None:
        while self._remove_batch(receipt, lambda tx: tx.memories.scan(owner, "", _BATCH), samples):
            pass
        while documents := self._store.read(receipt.tenant, partial(_documents, owner, None)):
            for document in documents:
                self._remove_document(receipt, document.owner, document.id, samples)
        self._accesses.forget_asked(receipt.tenant, owner)
        self._count(receipt, lambda tx: tx.erasure.erase_owned(owner))

    def _remove_batch(self, receipt: Receipt, find: Callable[[Writer], Sequence[Memory]], samples: Samples) -> int:
        def work(tx: Writer) -> tuple[Sequence[Memory], list[str | None]]:
            memories = find(tx)
            texts = _texts(tx, memories)
            _add_counts(tx, receipt, _erase_batch(tx, receipt, memories, self._clock.now()))
            return memories, texts

        memories, texts = self._store.write(receipt.tenant, work)
        samples.add(texts)
        self._drop_copies(receipt.tenant, memories)
        return len(memories)

    def _remove_document(self, receipt: Receipt, owner: Owner, document_id: str, samples: Samples) -> None:
        def work(tx: Writer) -> Document | None:
            document = tx.documents.get(owner, document_id)
            if document is not None:
                tx.documents.erase(document)
                entry = ledger.document_entry(receipt.salt, owner, document_id)
                tx.ledger.insert([self._entry(receipt, ledger.DOCUMENT, entry)])
                _add_counts(tx, receipt, {"documents": 1})
            return document

        document = self._store.write(receipt.tenant, work)
        if document is not None:
            samples.add((document.title, document.content))
            chunks = self._store.read(receipt.tenant, partial(_chunks, document))
            self._remove_ids(receipt, [chunk.id for chunk in chunks], samples)

    def _remove_user(self, receipt: Receipt, user: str, *, keys: bool) -> None:
        def work(tx: Writer) -> dict[str, int]:
            tx.ledger.insert([self._entry(receipt, ledger.USER, receipt.subject)])
            gone = {"memory_events.actor": tx.erasure.forget_actor(user)}
            return gone | {"api_keys": tx.erasure.erase_keys(user)} if keys else gone

        self._count(receipt, work)

    def _count(self, receipt: Receipt, remove: Callable[[Writer], Mapping[str, int]]) -> None:
        self._store.write(receipt.tenant, lambda tx: _add_counts(tx, receipt, remove(tx)))

    # A ledger from elsewhere

    def _apply(self, receipt: Receipt, entries: Sequence[Erased]) -> bool:
        """False where it is known here."""
        self._store.create_tenant(Tenant(receipt.tenant, self._clock.now()))
        known = self._store.read(receipt.tenant, lambda tx: tx.receipts.get(receipt.id))
        if known is not None and known.status is ErasureStatus.DONE:
            return False
        samples = Samples()
        ids = [ledger.memory_id_of(entry.id) for entry in entries if entry.kind == ledger.MEMORY]
        self._store.write(receipt.tenant, lambda tx: tx.ledger.insert(entries))
        self._remove_ids(receipt, ids, samples)
        self._remove_documents(receipt, [entry for entry in entries if entry.kind == ledger.DOCUMENT], samples)
        if receipt.kind is ErasureKind.USER:
            for user in self._store.read(receipt.tenant, lambda tx: tx.erasure.list_users()):
                if ledger.subject_of(receipt.salt, user) == receipt.subject:
                    self._remove_owned(receipt, OwnerFilter(user, any_agent=True), samples)
                    self._remove_user(receipt, user, keys="api_keys" in receipt.counts)
        elif receipt.kind is ErasureKind.TENANT:
            self._remove_owned(receipt, _EVERYTHING, samples)
            self._count(receipt, lambda tx: tx.erasure.erase_leftovers())
        self._cut_references(receipt, samples)
        self._store.write(receipt.tenant, lambda tx: tx.receipts.insert(receipt))
        return True

    def _remove_documents(self, receipt: Receipt, entries: Sequence[Erased], samples: Samples) -> None:
        after: Document | None = None
        while entries and (page := self._store.read(receipt.tenant, partial(_documents, _EVERYTHING, after))):
            for document in page:
                if ledger.erased_documents(entries, document.owner, document.id):
                    self._remove_document(receipt, document.owner, document.id, samples)
            after = page[-1]

    # What names an erased memory

    def _cut_references(self, receipt: Receipt, samples: Samples) -> None:
        """Let no other row name what is gone. A fact that was learned from it loses its source, or goes too.

        What repeats it word for word goes with it in any case.
        """
        goes_too = (
            receipt.kind is not ErasureKind.RETENTION
            and self._store.read(receipt.tenant, self._policy).derived_facts is Derived.ERASE
        )
        erased = set(self.ids_of(receipt))
        while erased:
            derived = []
            for memory in naming_memories(self._store, receipt.tenant):
                sources = _sources(memory) & erased
                if sources and ((goes_too and memory.kind == Kind.FACT) or is_copy(memory)):
                    derived.append(memory.id)
                elif sources or memory.superseded_by in erased:
                    self._detach(receipt, memory.id, erased)
            if not derived:
                break
            self._remove_ids(receipt, derived, samples)
            erased.update(derived)
        for seq, payload in naming_events(self._store, receipt.tenant):
            if ledger.ids_named_in(payload) & erased:
                cut = json.dumps(_without(json.loads(payload), erased), ensure_ascii=False)
                self._store.write(receipt.tenant, partial(_rewrite, seq, cut))
        for turn_id, seq, data in naming_turns(self._store, receipt.tenant):
            if ledger.ids_named_in(data) & erased:
                # What was injected into a turn is quoted in it.
                self._store.write(receipt.tenant, partial(_empty_turn_event, turn_id, seq))

    def _detach(self, receipt: Receipt, memory_id: str, erased: set[str]) -> None:
        def work(tx: Writer) -> None:
            memory = tx.memories.get(memory_id)
            if memory is None:
                return
            now = self._clock.now()
            after = replace(
                memory,
                source_ref=None if memory.source_ref in erased else memory.source_ref,
                superseded_by=None if memory.superseded_by in erased else memory.superseded_by,
                meta=_without(memory.meta, erased),
                # It quotes the source.
                excerpt=None if _sources(memory) & erased else memory.excerpt,
                updated_at=max(now, memory.updated_at + timedelta(microseconds=1)),
            )
            if writing.replace(tx, after, memory.updated_at):
                tx.events.append([Event(memory.id, "detached", "erasure", now, None, {"receipt": receipt.id})])
                _add_counts(tx, receipt, {"memories.references": 1})

        self._store.write(receipt.tenant, work)

    # Shared steps

    def _whom(self, principal: Principal, user: str | None) -> str:
        access.require(principal, access.Action.WRITE)
        if user is not None:
            principal = access.acting(principal, user=validation.identifier("user", user))
        if principal.user is None:
            raise InvalidField("Say whose memories to erase: name a user.", field="user")
        return principal.user

    def _unfinished(self, tenant: str) -> list[Receipt]:
        now = self._clock.now()
        found = self._store.read(tenant, lambda tx: tx.receipts.unfinished(now))
        return [one for one in found if not _still_open(one, now)]

    def _finish_same(self, principal: Principal, ids: Sequence[str]) -> Receipt | None:
        """An erasure of the same memories that was interrupted, finished now."""
        for receipt in self._unfinished(principal.tenant):
            if receipt.kind is ErasureKind.MEMORIES and _may_see(principal, receipt):
                asked = receipt.request["ids"] if receipt.request else self.ids_of(receipt)
                if set(ids) <= set(asked):
                    return self._run(receipt)
        return None

    def _retention_receipt(self, tx: Writer, tenant: str, now: datetime) -> Receipt:
        for receipt in tx.receipts.unfinished(now):
            if _still_open(receipt, now):
                return receipt
        receipt = _new_receipt(Principal(tenant, Role.ADMIN, source="sweeper"), ErasureKind.RETENTION, {}, None, now)
        tx.receipts.insert(receipt)
        return receipt

    def _documents_of(self, tenant: str, memories: Iterable[Memory]) -> list[Document]:
        """Documents that hold the text of these chunks."""
        found: dict[tuple[Owner, str], Document] = {}
        for memory in memories:
            if memory.kind is Kind.DOCUMENT_CHUNK and memory.status is Status.ACTIVE and memory.source_ref:
                document = self._store.read(tenant, partial(_document, memory.owner, memory.source_ref))
                if document is not None:
                    found[document.owner, document.id] = document
        return list(found.values())

    def _drop_copies(self, tenant: str, memories: Sequence[Memory]) -> None:
        self._accesses.forget(tenant, [memory.id for memory in memories])
        self._forget(tenant, {memory.owner.user for memory in memories})

    def _entry(self, receipt: Receipt, kind: str, digest: str) -> Erased:
        return Erased(kind, digest, receipt.salt, receipt.id, self._clock.now())


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
        subject="" if user is None else ledger.subject_of(salt, user),
        request=request,
    )


def _erase_batch(tx: Writer, receipt: Receipt, memories: Sequence[Memory], now: datetime) -> dict[str, int]:
    if not memories:
        return {}
    tx.ledger.insert(Erased(ledger.MEMORY, ledger.hexadecimal(memory.id), "", receipt.id, now) for memory in memories)
    return tx.erasure.erase_rows([memory.id for memory in memories])


def _texts(tx: Writer, memories: Sequence[Memory]) -> list[str | None]:
    """What these memories hold, and their histories and payloads."""
    texts = [text for memory in memories for text in texts_of(memory)]
    for event in tx.events.of([memory.id for memory in memories]):
        texts += strings_in(event.payload)
    return texts + [tx.tool_outputs.get(memory.id) for memory in memories if memory.kind is Kind.TOOL_OUTPUT]


def _add_counts(tx: Writer, receipt: Receipt, more: Mapping[str, int]) -> None:
    # One of a ledger that is being applied is written when that is done, with the counts it always had.
    if (locked := tx.receipts.lock(receipt.id)) is not None:
        counts = Counter(locked.counts)
        counts.update(more)
        tx.receipts.save(replace(locked, counts=dict(counts)))


def _still_open(receipt: Receipt, now: datetime) -> bool:
    """Whether rows whose retention is over are still added to it."""
    is_young = receipt.started_at + _RETENTION_RECEIPT > now
    return receipt.kind is ErasureKind.RETENTION and receipt.status is ErasureStatus.RUNNING and is_young


def _may_see(principal: Principal, receipt: Receipt) -> bool:
    if access.allows(principal, access.Action.ADMINISTER):
        return True
    return principal.user is not None and ledger.subject_of(receipt.salt, principal.user) == receipt.subject


def _sources(naming: Naming | Memory) -> set[str]:
    """The memories that this one was derived from, as far as it says so."""
    meta = naming.meta if isinstance(naming.meta, str) else json.dumps(naming.meta, default=str)
    return ledger.ids_named_in(meta) | ledger.ids_named_in(naming.source_ref or "")


def _without(value: Any, erased: set[str]) -> Any:
    """A JSON value in which nothing names an erased memory."""
    if isinstance(value, str):
        return None if ledger.ids_named_in(value) & erased else value
    if isinstance(value, Mapping):
        return {name: _without(one, erased) for name, one in value.items() if not ledger.ids_named_in(name) & erased}
    if isinstance(value, list | tuple):
        kept = [_without(one, erased) for one in value]
        return [one for one, before in zip(kept, value, strict=True) if one is not None or before is None]
    return value


def _page(before: str | None, tx: Reader) -> list[Receipt]:
    return tx.receipts.page(before, _BATCH)


def _documents(owner: OwnerFilter, after: Document | None, tx: Reader) -> list[Document]:
    return tx.documents.page(owner, after, _DOCUMENTS, whole=False)


def _document(owner: Owner, document_id: str, tx: Reader) -> Document | None:
    return tx.documents.get(owner, document_id)


def _chunks(document: Document, tx: Reader) -> list[Memory]:
    return tx.documents.chunks_of(document)


def _rewrite(seq: int, payload: str, tx: Writer) -> None:
    tx.erasure.rewrite_event(seq, payload)


def _empty_turn_event(turn_id: str, seq: int, tx: Writer) -> None:
    tx.erasure.empty_turn_event(turn_id, seq)
