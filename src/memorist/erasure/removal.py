"""Removes what an erasure is about from every table, in batches: each is one transaction with its lines of the ledger
and its counts in the receipt.
"""

import json
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from itertools import groupby
from operator import itemgetter

from memorist.erasure import naming
from memorist.erasure.documents import cut_documents, erase_document
from memorist.erasure.ledger import erased_documents, erased_ids
from memorist.erasure.receipts import add_counts
from memorist.erasure.samples import Samples, strings_in, texts_of
from memorist.erasure.values import EVERYTHING, Erased, ErasureKind, Receipt
from memorist.ingestion.values import Document
from memorist.memories import writing
from memorist.memories.accesses import AccessLog
from memorist.memories.values import Kind, Memory
from memorist.platform.erased_names import (
    MEMORY,
    USER,
    erased_event,
    hexadecimal,
    ids_named_in,
)
from memorist.platform.values import Event, Owner, OwnerFilter
from memorist.ports import Reader, Store, Writer
from memorist.times import Clock

Forget = Callable[[str, Iterable[str | None]], None]

_DOCUMENTS = 20
_TEXTS = 20_000


class Removal:
    """The removal that one receipt is of. `samples` are pieces of the texts that went."""

    def __init__(self, store: Store, clock: Clock, accesses: AccessLog, forget: Forget, receipt: Receipt) -> None:
        """`forget` drops what is kept in memory of some users' rows."""
        self._store = store
        self._clock = clock
        self._accesses = accesses
        self._forget = forget
        self._receipt = receipt
        self._tenant = receipt.tenant
        self._read = partial(store.read, receipt.tenant)
        self.samples = Samples()

    def memories(self, memory_ids: Iterable[str]) -> None:
        for ids in naming.in_pages(memory_ids):
            self._batch(partial(_get_many, ids), documents_stay=True)

    def owned(self, owner: OwnerFilter) -> None:
        """Whatever a slice of owners has."""
        # First, since turns go with the memories that were said in them.
        for text in self._read(lambda tx: tx.erasure.texts_of(owner, _TEXTS)):
            self.samples.add(_strings_of(text))
        while self._batch(lambda tx: tx.memories.scan(owner, "", naming.PAGE)):
            pass
        while documents := self._read(partial(_documents, owner, None)):
            for document in documents:
                self.document(document.owner, document.id)
        self._accesses.forget_asked(self._tenant, owner)
        self._counted(lambda tx: tx.erasure.erase_owned(owner))

    def document(self, owner: Owner, document_id: str) -> None:
        """A document and its chunks."""

        def work(tx: Writer) -> Document | None:
            document = tx.documents.get(owner, document_id)
            if document is not None:
                erase_document(tx, self._receipt, document, self._clock.now())
            return document

        document = self._store.write(self._tenant, work)
        if document is not None:
            self.samples.add((document.title, document.content))
            chunks = self._read(lambda tx: tx.documents.chunks_of(document))
            self.memories(chunk.id for chunk in chunks)

    def documents_in(self, entries: Sequence[Erased]) -> None:
        """The documents that lines of a ledger are about."""
        after: Document | None = None
        while entries and (page := self._read(partial(_documents, EVERYTHING, after))):
            for document in page:
                if erased_documents(entries, document):
                    self.document(document.owner, document.id)
            after = page[-1]

    def user(self, user: str, *, keys: bool) -> None:
        """A user's name in what is somebody else's, and with `keys` the API keys."""

        def work(tx: Writer) -> dict[str, int]:
            tx.ledger.insert([self._entry(USER, self._receipt.subject)])
            gone = {"memory_events.actor": tx.erasure.forget_actor(user)}
            return gone | {"api_keys": tx.erasure.erase_keys(user)} if keys else gone

        self._counted(work)

    def tenant(self) -> None:
        """Everything, keys too."""
        self.owned(EVERYTHING)
        self._counted(lambda tx: tx.erasure.erase_leftovers())

    def references(self, *, facts_too: bool) -> None:
        """Let no other row name what is gone. A fact that was learned from it loses its source, or goes too.

        What repeats it word for word goes with it in any case, but for facts that no policy ages, where time took it.
        """
        copied_by = partial(naming.copied_by, by_time=self._receipt.kind is ErasureKind.RETENTION)
        erased = {memory_id for page in erased_ids(self._store, self._receipt) for memory_id in page}
        while erased:
            derived = []
            for memory in naming.memories_naming(self._read):
                sources = naming.sources_of(memory) & erased
                if sources and ((facts_too and memory.kind == Kind.FACT) or copied_by(memory) & erased):
                    derived.append(memory.id)
                elif sources or memory.superseded_by in erased:
                    self._store.write(self._tenant, partial(self._detach, memory.id, erased))
            if not derived:
                break
            self.memories(derived)
            erased.update(derived)
        for seq, payload in naming.events_naming(self._read):
            if ids_named_in(payload) & erased:
                self._store.write(self._tenant, partial(_forget_in_event, seq, erased))
        told = (row[:2] for row in naming.turns_naming(self._read) if ids_named_in(row[2]) & erased)
        for turn_id, rows in groupby(told, key=itemgetter(0)):
            # What the model was told may be quoted in its answer. At once, or nothing would say any more in which.
            self._counted(partial(_empty_turn, turn_id, [seq for _, seq in rows]))

    def _batch(self, find: Callable[[Writer], Sequence[Memory]], *, documents_stay: bool = False) -> int:
        """`documents_stay`: those that chunks are of are not erased as well."""

        def work(tx: Writer) -> tuple[Sequence[Memory], list[str | None]]:
            memories = find(tx)
            texts = _texts(tx, memories)
            erase_batch(tx, self._receipt, memories, self._clock.now())
            if documents_stay:
                cut_documents(tx, self._receipt, memories, self._clock.now())
            return memories, texts

        memories, texts = self._store.write(self._tenant, work)
        self.samples.add(texts)
        self._accesses.forget(self._tenant, [memory.id for memory in memories])
        self._forget(self._tenant, {memory.owner.user for memory in memories})
        return len(memories)

    def _detach(self, memory_id: str, erased: set[str], tx: Writer) -> None:
        memory = tx.memories.get(memory_id)
        if memory is None:
            return
        now = self._clock.now()
        later = max(now, memory.updated_at + timedelta(microseconds=1))
        after = replace(naming.detached(memory, erased), updated_at=later)
        if writing.replace(tx, after, memory.updated_at):
            tx.events.append([Event(memory.id, "detached", "erasure", now, None, {"receipt": self._receipt.id})])
            add_counts(tx, self._receipt, {"memories.references": 1})

    def _counted(self, remove: Callable[[Writer], Mapping[str, int]]) -> None:
        self._store.write(self._tenant, lambda tx: add_counts(tx, self._receipt, remove(tx)))

    def _entry(self, kind: str, digest: str) -> Erased:
        return Erased(kind, digest, self._receipt.salt, self._receipt.id, self._clock.now())


def erase_batch(tx: Writer, receipt: Receipt, memories: Sequence[Memory], now: datetime) -> None:
    """Remove memories, and tell the ledger, the receipt and those who follow changes, inside a transaction."""
    if not memories:
        return
    ids = sorted(memory.id for memory in memories)
    salt = secrets.token_hex(8)
    tx.ledger.insert(Erased(MEMORY, hexadecimal(id_), "", receipt.id, now) for id_ in ids)
    tx.events.append(
        # Only its user was told of it: nobody is told that it was there.
        erased_event(memory.id, memory.owner, salt, now, untold=memory.is_entry)
        for memory in sorted(memories, key=lambda memory: memory.id)
    )
    add_counts(tx, receipt, tx.erasure.erase_rows(ids))


def _texts(tx: Writer, memories: Sequence[Memory]) -> list[str | None]:
    """What these memories hold, and their histories and payloads."""
    texts = [text for memory in memories for text in texts_of(memory)]
    for event in tx.events.of([memory.id for memory in memories]):
        texts += strings_in(event.payload)
    return texts + [tx.tool_outputs.get(memory.id) for memory in memories if memory.kind is Kind.TOOL_OUTPUT]


def _strings_of(text: str) -> list[str]:
    """The strings of a JSON text, or the text itself where it is none."""
    try:
        return strings_in(json.loads(text))
    except ValueError:
        return [text]


def _documents(owner: OwnerFilter, after: Document | None, tx: Reader) -> list[Document]:
    return tx.documents.page(owner, after, _DOCUMENTS, whole=False)


def _get_many(memory_ids: Sequence[str], tx: Reader) -> list[Memory]:
    return tx.memories.get_many(memory_ids)


def _forget_in_event(seq: int, erased: set[str], tx: Writer) -> None:
    tx.erasure.rewrite_event(seq, lambda told: naming.untold(told, erased))


def _empty_turn(turn_id: str, naming_events: Sequence[int], tx: Writer) -> Mapping[str, int]:
    return tx.erasure.empty_turn(turn_id, naming_events)
