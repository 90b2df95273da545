"""Steps that tests of several capabilities take."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from memorist.ingestion.values import Document
from memorist.memories import writing
from memorist.memories.values import Memory
from memorist.platform.values import ApiKey, Event, IdempotencyRecord, OwnerFilter
from memorist.ports import Store, Writer
from memorist.recall.values import Embedded, IndexRow
from memorist.testing.makers import make_event

EVERYBODY = OwnerFilter(any_user=True, any_agent=True)
ADA = OwnerFilter("ada", any_agent=True)


def insert(store: Store, memory: Memory, *events: Event) -> Memory:
    def work(tx: Writer) -> bool:
        inserted = writing.insert(tx, memory)
        tx.events.append(events)
        return inserted

    assert store.write(memory.tenant, work) is True
    return memory


def insert_all(store: Store, *memories: Memory) -> None:
    for memory in memories:
        insert(store, memory)


def created(store: Store, memory: Memory) -> Memory:
    """Insert a memory with the event that tells of it."""
    return insert(store, memory, make_event(memory))


def change(store: Store, memory: Memory, **fields: Any) -> Memory:
    after = replace(memory, updated_at=memory.updated_at + timedelta(seconds=1), **fields)
    assert store.write(memory.tenant, lambda tx: writing.replace(tx, after, memory.updated_at)) is True
    return after


def index_rows(store: Store, tenant: str, user: str | None, page: int = 100) -> list[IndexRow]:
    rows: list[IndexRow] = []
    while piece := store.read(tenant, lambda tx: tx.index.load(user, rows[-1].memory_id if rows else "", page)):
        assert len(piece) <= page
        rows += piece
    return rows


def save_vectors(store: Store, tenant: str, *embedded: Embedded) -> int:
    return store.write(tenant, lambda tx: tx.index.save_vectors(embedded))


def claim_waiting(store: Store, tenant: str, now: datetime, until: datetime, limit: int = 100) -> list[str]:
    """Claim the newest of what waits for vectors."""

    def work(tx: Writer) -> list[str]:
        return tx.index.claim_waiting([(one.user, one.memory_id) for one in tx.index.waiting(now, limit)], now, until)

    return store.write(tenant, work)


def put_document(store: Store, tenant: str, document: Document) -> None:
    store.write(tenant, lambda tx: tx.documents.put(document))


def documents_of(store: Store, tenant: str, part: OwnerFilter, page: int) -> list[Document]:
    found: list[Document] = []
    while piece := store.read(
        tenant, lambda tx: tx.documents.page(part, found[-1] if found else None, page, whole=True)
    ):
        assert len(piece) <= page
        found += piece
    bare = store.read(tenant, lambda tx: tx.documents.page(part, None, len(found) + 1, whole=False))
    assert bare == [replace(document, content="") for document in found]
    return found


def save_request(store: Store, tenant: str, record: IdempotencyRecord) -> bool:
    return store.write(tenant, lambda tx: tx.idempotency.insert(record))


def find_request(store: Store, tenant: str, record: IdempotencyRecord) -> IdempotencyRecord | None:
    return store.read(tenant, lambda tx: tx.idempotency.find(record.principal, record.route, record.key))


def add_key(store: Store, key: ApiKey) -> None:
    store.write(key.tenant, lambda tx: tx.keys.insert(key))


def by_id(memory: Memory) -> str:
    return memory.id
