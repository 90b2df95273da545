"""What every store must do: tenants, and that one sees and changes nothing of another."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from memorist.ids import new_id
from memorist.memories import writing
from memorist.memories.policy import SweepState
from memorist.memories.values import Kind, Query
from memorist.platform.values import DueWork, Job, JobStatus, Principal, Role, Tally, Tenant
from memorist.ports import Reader, Store, Writer
from memorist.recall.values import IndexPosition
from memorist.testing.clocks import START
from memorist.testing.conformance.fixtures import StoreFixtures
from memorist.testing.conformance.helpers import (
    EVERYBODY,
    add_key,
    documents_of,
    find_request,
    index_rows,
    insert,
    put_document,
    save_request,
    save_vectors,
)
from memorist.testing.makers import (
    make_document,
    make_embedded,
    make_event,
    make_key,
    make_memory,
    make_record,
    new_tenant,
)


class TenantConformance(StoreFixtures):
    """Tenants, and that one sees and changes nothing of another."""

    def test_tenant_is_created_once(self, store: Store) -> None:
        tenant = Tenant(new_tenant(), START)
        assert store.create_tenant(tenant) is True
        assert store.create_tenant(Tenant(tenant.id, START + timedelta(days=1))) is False
        assert [found for found in store.list_tenants() if found.id == tenant.id] == [tenant]

    def test_tenants_are_listed_oldest_first(self, store: Store) -> None:
        older, newer = new_tenant(), new_tenant()
        store.create_tenant(Tenant(newer, START + timedelta(seconds=1)))
        store.create_tenant(Tenant(older, START))
        ids = [tenant.id for tenant in store.list_tenants()]
        assert ids.index(older) < ids.index(newer)

    def test_tenant_is_found_by_its_name(self, store: Store, tenant: str) -> None:
        found = store.find_tenant(tenant)
        assert found is not None
        assert (found.id, store.find_tenant(new_tenant())) == (tenant, None)

    def test_whose_memories_wait_is_told_in_order_and_page_by_page(
        self, store: Store, tenant: str, neighbour: str
    ) -> None:
        first, second = sorted((tenant, neighbour))
        before = first[:-1] + chr(ord(first[-1]) - 1)
        assert first not in store.due_tenants(DueWork.VECTORS, START, after=before, limit=1)
        for one in (first, second):
            insert(store, make_memory(one))
        assert store.due_tenants(DueWork.VECTORS, START, after=before, limit=1) == [first]
        assert second in store.due_tenants(DueWork.VECTORS, START, after=first, limit=10_000)
        assert first not in store.due_tenants(DueWork.JOBS, START, limit=10_000)

    def test_whose_time_is_over_is_told(self, store: Store, tenant: str, neighbour: str) -> None:
        def is_told(work: DueWork, now: datetime) -> bool:
            found = store.due_tenants(work, now, limit=100_000)
            assert neighbour not in found
            return tenant in found

        expiring = replace(make_memory(tenant), expires_at=START + timedelta(days=1))
        store.write(tenant, lambda tx: writing.insert(tx, expiring))
        save_request(store, tenant, replace(make_record(), expires_at=START + timedelta(days=1)))
        done = _insert_job(store, tenant)
        for work in (DueWork.MOVES, DueWork.OLD_ANSWERS, DueWork.OLD_JOBS, DueWork.OLD_TURNS, DueWork.RETIRED):
            assert not is_told(work, START)
        for work in (DueWork.MOVES, DueWork.OLD_ANSWERS):
            assert is_told(work, START + timedelta(days=1))
        assert not is_told(DueWork.OLD_JOBS, START + timedelta(days=1))
        store.write(tenant, lambda tx: tx.jobs.finish(replace(done, status=JobStatus.DONE)))
        assert is_told(DueWork.OLD_JOBS, START + timedelta(days=1))

    def test_who_is_left_open_is_told(self, store: Store, tenant: str) -> None:
        assert tenant not in store.due_tenants(DueWork.MOVES, START, limit=100_000)
        for is_open in (True, False):
            store.write(tenant, partial(_put_sweep, SweepState(1, None, is_open=is_open)))
            assert (tenant in store.due_tenants(DueWork.MOVES, START, limit=100_000)) is is_open

    def test_all_are_counted_together(self, store: Store, tenant: str, neighbour: str) -> None:
        for one in (tenant, neighbour):
            insert(store, make_memory(one))
            _insert_job(store, one)
        # Others may be at work in the same database.
        states = {Tally.MEMORIES: "active", Tally.JOBS: "waiting", Tally.WAITING: "", Tally.TENANTS: ""}
        assert all(store.count_all(what, START, seconds=60)[state] >= 2 for what, state in states.items())

    def test_whose_vectors_are_of_another_model_is_told(self, store: Store, tenant: str) -> None:
        store.set_index_model(tenant, "model-1")
        assert tenant in store.tenants_of_other_models("model-2", limit=100_000)
        assert tenant not in store.tenants_of_other_models("model-1", limit=100_000)
        assert tenant not in store.tenants_of_other_models("model-2", ["model-0", "model-1"], limit=100_000)
        assert tenant in store.tenants_of_other_models("model-2", ["model-0", "model-3"], limit=100_000)
        assert tenant in store.tenants_of_model("model-1", limit=100_000)
        assert tenant not in store.tenants_of_model("model-2", limit=100_000)

    def test_model_of_a_tenant_is_noted(self, store: Store, tenant: str, neighbour: str) -> None:
        assert store.index_model(tenant) == ""
        store.set_index_model(tenant, "model-1")
        assert (store.index_model(tenant), store.index_model(neighbour)) == ("model-1", "")
        assert store.index_model(new_tenant()) is None

    def test_neighbour_reads_nothing(self, store: Store, tenant: str, neighbour: str) -> None:
        memory = make_memory(tenant, name="deploy", dedup_key="same", kind=Kind.CHAT_MESSAGE, session="s1")
        record, document = make_record(), make_document()
        insert(store, memory, make_event(memory))
        insert(store, make_memory(tenant, kind=Kind.DOCUMENT_CHUNK, source_ref=document.id))
        save_request(store, tenant, record)
        add_key(store, make_key(tenant))
        put_document(store, tenant, document)
        store.write(tenant, lambda tx: tx.tool_outputs.insert(memory.id, "payload"))
        save_vectors(store, tenant, make_embedded(memory))

        def snoop(tx: Reader) -> list[Any]:
            return [
                tx.memories.get(memory.id),
                tx.memories.find_named("ada", None, "deploy"),
                tx.memories.find_duplicate("ada", None, "same"),
                tx.idempotency.find(record.principal, record.route, record.key),
                *tx.memories.get_many([memory.id]),
                *tx.memories.page(Query((EVERYBODY,)), START),
                *tx.memories.scan(EVERYBODY, "", 10),
                *tx.events.of([memory.id]),
                *tx.keys.all(),
                tx.tool_outputs.get(memory.id),
                tx.index.turn_before(replace(memory, id="mem_7ZZZZZZZZZZZZZZZZZZZZZZZZZ", session="s1")),
                tx.documents.get(document.owner, document.id),
                tx.documents.find_titled(document.owner, document.title),
                tx.documents.find(EVERYBODY, document.id),
                *tx.index.load("ada", "", 10),
                *(row for page in tx.index.follow([IndexPosition("ada", 0, "")], 10) for row in page.rows),
                *tx.index.users(10),
                *tx.documents.page(EVERYBODY, None, 10, whole=True),
                *tx.documents.chunks_of(document),
                tx.index.has_waiting() or None,
                tx.index.count("model-1").total or None,
                *tx.index.tokens([memory.id], "model-1"),
            ]

        nothing = store.read(neighbour, snoop)
        assert nothing == [None] * len(nothing)
        nothing = store.write(neighbour, snoop)
        assert nothing == [None] * len(nothing)

    def test_neighbour_changes_nothing(self, store: Store, tenant: str, neighbour: str) -> None:
        memory, key, record = make_memory(tenant), make_key(tenant), make_record()
        document = make_document()
        insert(store, memory, make_event(memory))
        save_request(store, tenant, record)
        add_key(store, key)
        put_document(store, tenant, document)
        store.write(tenant, lambda tx: tx.tool_outputs.insert(memory.id, "payload"))
        save_vectors(store, tenant, make_embedded(memory))
        index = index_rows(store, tenant, "ada")

        def vandalise(tx: Writer) -> list[Any]:
            tx.memories.add_accesses({memory.id: (1, START)})
            tx.keys.touch({key.id: START})
            tx.index.release_claims()
            tx.documents.erase(document)
            return [
                writing.replace(tx, replace(memory, tenant=neighbour, content="mine"), memory.updated_at),
                sum(tx.erasure.erase_rows([memory.id]).values()),
                sum(tx.erasure.erase_owned(EVERYBODY).values()),
                tx.idempotency.drop_expired(START + timedelta(days=999)),
                tx.keys.revoke(key.id, START),
                tx.index.save_vectors([make_embedded(memory, vectors=b"mine", tokens=b"mine")]),
                tx.index.unindex("another", 10),
                tx.index.claim_waiting([(memory.owner.user or "", memory.id)], START, START),
                writing.adopt(tx, 10),
            ]

        assert not any(store.write(neighbour, vandalise))
        assert index_rows(store, tenant, "ada") == index
        assert b"mine" not in store.read(tenant, lambda tx: tx.index.tokens([memory.id], "model-1"))[memory.id]
        assert store.read(tenant, lambda tx: tx.tool_outputs.get(memory.id)) == "payload"
        assert documents_of(store, tenant, EVERYBODY, 10) == [document]
        assert store.read(tenant, lambda tx: tx.memories.get(memory.id)) == memory
        assert len(store.read(tenant, lambda tx: tx.events.of([memory.id]))) == 1
        assert find_request(store, tenant, record) == record
        assert store.find_key(key.secret_hash) == key

    def test_neighbours_share_ids_names_texts_and_requests_without_clashing(
        self, store: Store, tenant: str, neighbour: str
    ) -> None:
        memory, record = make_memory(tenant, name="deploy", dedup_key="same"), make_record()
        twin = replace(memory, tenant=neighbour)
        insert(store, memory)
        insert(store, twin)
        for whose in (tenant, neighbour):
            assert store.write(whose, lambda tx: tx.idempotency.insert(record)) is True
        store.write(neighbour, lambda tx: tx.erasure.erase_rows([memory.id]))
        assert store.read(tenant, lambda tx: tx.memories.get(memory.id)) == memory

    def test_memory_is_stored_under_the_transactions_tenant(self, store: Store, tenant: str, neighbour: str) -> None:
        memory = make_memory(neighbour)
        assert store.write(tenant, lambda tx: writing.insert(tx, memory)) is True
        assert store.read(neighbour, lambda tx: tx.memories.get(memory.id)) is None
        assert store.read(tenant, lambda tx: tx.memories.get(memory.id)) == replace(memory, tenant=tenant)

    def test_tenants_working_at_once_stay_apart(self, store: Store, tenant: str, neighbour: str) -> None:
        def work(number: int) -> bool:
            whose = (tenant, neighbour)[number % 2]
            memory = insert(store, make_memory(whose, importance=number))
            seen = store.read(whose, lambda tx: tx.memories.page(Query((EVERYBODY,), limit=100), START))
            return memory in seen and all(row.tenant == whose and row.importance % 2 == number % 2 for row in seen)

        with ThreadPoolExecutor(8) as threads:
            assert all(threads.map(work, range(64)))


def _put_sweep(state: SweepState, tx: Writer) -> None:
    tx.aging.put_sweep(state)


def _insert_job(store: Store, tenant: str) -> Job:
    job = Job(new_id("job"), "judging", Principal(tenant, Role.ADMIN), {}, START, START, START)
    store.write(tenant, lambda tx: tx.jobs.insert(job))
    return job
