"""What is PostgreSQL's own: partitions, row-level security, Citus, and a server that goes away and comes back."""

import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import psycopg
import pytest

from memorist.bootstrap import open_core, open_store
from memorist.core import Core
from memorist.errors import StoreError, StoreUnavailable
from memorist.memories import writing
from memorist.memories.values import Draft
from memorist.platform.values import Principal, Role, Tenant
from memorist.recall.values import IndexPosition
from memorist.store.postgres import PARTITIONS, PostgresDriver
from memorist.store.sql_store import SqlStore
from memorist.testing import make_event, make_memory, make_record, new_tenant
from memorist.testing.clocks import START
from memorist.testing.conformance.helpers import insert
from tests.store.test_citus_text import COPIED, SHARDED
from tests.support.postgres import CITUS, Postgres, become
from tests.support.stores import bare

TENANT_TABLES = ("memories", "memory_events", "idempotency_keys")

with_partitions = pytest.mark.skipif(bool(CITUS), reason="a cluster has shards instead")


@pytest.fixture(scope="module")
def postgres_url(whole_postgres_url: str) -> str:
    return whole_postgres_url


@pytest.fixture
def database_url(postgres_url: str) -> str:
    return postgres_url


@pytest.fixture
def raw(postgres_url: str) -> Iterator[psycopg.Connection]:
    """A plain connection of the role that owns the tables, outside the store."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def written(store: SqlStore) -> str:
    """A tenant with a row in each of its tables."""
    tenant = new_tenant()
    store.create_tenant(Tenant(tenant, START))
    memory = make_memory(tenant)

    def work(tx) -> None:
        writing.insert(tx, memory)
        tx.events.append([make_event(memory)])
        tx.idempotency.insert(make_record())

    store.write(tenant, work)
    return tenant


def run_as(raw: psycopg.Connection, tenant: str, command: str, *values: str) -> None:
    with raw.transaction():
        become(raw, tenant)
        raw.execute(command, values)


# Partitions


@with_partitions
@pytest.mark.parametrize("table", TENANT_TABLES)
def test_tenant_table_is_hash_partitioned(raw: psycopg.Connection, table: str) -> None:
    strategy = raw.execute(
        "SELECT partstrat, pg_get_partkeydef(partrelid) FROM pg_partitioned_table WHERE partrelid = %s::regclass",
        (table,),
    ).fetchone()
    assert strategy == ("h", "HASH (tenant_id)")
    parts = raw.execute("SELECT count(*) FROM pg_inherits WHERE inhparent = %s::regclass", (table,)).fetchone()
    assert parts == (PARTITIONS,) == (32,)


@with_partitions
def test_tenants_spread_over_partitions(store: SqlStore, raw: psycopg.Connection) -> None:
    for _ in range(40):
        tenant = new_tenant()
        store.write(tenant, lambda tx, tenant=tenant: writing.insert(tx, make_memory(tenant)))
    used = raw.execute("SELECT pg_relation_size(inhrelid) > 0 FROM pg_inherits WHERE inhparent = 'memories'::regclass")
    assert sum(row[0] for row in used) > 8


@with_partitions
def test_statement_of_a_tenant_visits_one_partition(raw: psycopg.Connection) -> None:
    plan = raw.execute("EXPLAIN SELECT id FROM memories WHERE tenant_id = 'some-tenant' AND id = 'x'").fetchall()
    assert len(set(re.findall(r"memories_p\d\d", str(plan)))) == 1


# Row-level security


def test_tests_run_as_a_role_that_row_level_security_binds(raw: psycopg.Connection) -> None:
    role = raw.execute("SELECT rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user").fetchone()
    assert role == (False, False)
    owner = raw.execute("SELECT tableowner = current_user FROM pg_tables WHERE tablename = 'memories'").fetchone()
    assert owner == (True,)


@pytest.mark.parametrize("table", TENANT_TABLES)
def test_connection_without_a_tenant_sees_nothing(written: str, raw: psycopg.Connection, table: str) -> None:
    assert raw.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
    assert raw.execute(f"SELECT count(*) FROM {table} WHERE tenant_id = %s", (written,)).fetchone() == (0,)


@pytest.mark.parametrize("table", TENANT_TABLES)
def test_connection_of_another_tenant_sees_and_changes_nothing(
    written: str, raw: psycopg.Connection, table: str
) -> None:
    with raw.transaction():
        become(raw, new_tenant())
        assert raw.execute(f"SELECT count(*) FROM {table} WHERE tenant_id = %s", (written,)).fetchone() == (0,)
        assert raw.execute(f"DELETE FROM {table} WHERE tenant_id = %s", (written,)).rowcount == 0
        assert raw.execute(f"UPDATE {table} SET created_at = 0 WHERE tenant_id = %s", (written,)).rowcount == 0
    with raw.transaction():
        become(raw, written)
        assert raw.execute(f"SELECT count(*), min(created_at) > 0 FROM {table}").fetchone() == (1, True)


def test_row_cannot_be_written_into_another_tenant(raw: psycopg.Connection, written: str) -> None:
    other = new_tenant()
    moving = "UPDATE memories SET tenant_id = %s"
    adding = (
        "INSERT INTO memory_events (tenant_id, memory_id, event_type, source, payload, created_at) "
        "VALUES (%s, 'm', 'created', 'raw', '{}', 0)"
    )
    # A cluster lets nobody change what says where a row is.
    with pytest.raises((psycopg.errors.InsufficientPrivilege, psycopg.errors.FeatureNotSupported)):
        run_as(raw, written, moving, other)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        run_as(raw, other, adding, written)


@with_partitions
@pytest.mark.parametrize("table", TENANT_TABLES)
def test_partition_read_directly_shows_nothing(written: str, raw: psycopg.Connection, table: str) -> None:
    with raw.transaction():
        raw.execute(f"SET LOCAL memorist.tenant = '{written}'")
        seen = [raw.execute(f"SELECT count(*) FROM {table}_p{part:02}").fetchone()[0] for part in range(PARTITIONS)]
    assert seen == [0] * PARTITIONS


def test_tenant_setting_does_not_outlive_its_transaction(store: SqlStore, written: str) -> None:
    """Every connection of the pool is clean when it goes back."""
    driver = store.driver
    assert isinstance(driver, PostgresDriver)
    with ThreadPoolExecutor(10) as threads:
        list(threads.map(lambda _: store.read(written, lambda tx: tx.keys.all()), range(50)))
    with driver._pool.connection() as connection:
        left = connection.execute("SELECT current_setting('memorist.tenant', true)").fetchone()
        assert left[0] in (None, "")
        assert connection.execute("SELECT count(*) FROM memories").fetchone() == (0,)


def test_hostile_tenant_name_is_only_a_name(store: SqlStore) -> None:
    tenant = "'; DROP TABLE memories; SET memorist.tenant = 'x"
    assert store.write(tenant, lambda tx: writing.insert(tx, make_memory(tenant))) is True
    assert len(store.read(tenant, lambda tx: tx.events.of([]))) == 0


def test_open_transaction_anywhere_does_not_make_recall_read_again(
    store: SqlStore, postgres: Postgres, own_postgres: str, tenant: str
) -> None:
    """A transaction that stays open keeps the server from saying that what came after it is settled. So what was read
    is known by a counter of ours.
    """
    with psycopg.connect(postgres.url(own_postgres)) as idle:
        idle.execute("SELECT pg_current_xact_id()")
        memory = insert(store, make_memory(tenant))
        (page,) = store.read(tenant, lambda tx: tx.index.follow([IndexPosition("ada", 0)], 10))
        assert [row.memory_id for row in page.rows] == [memory.id]
        seen = IndexPosition("ada", page.watermark)
        assert store.read(tenant, lambda tx: tx.index.follow([seen], 10)) == [(page.watermark, [])]


def test_rows_numbered_by_a_server_are_read_once_and_followed_by_greater_numbers(
    store: SqlStore, raw: psycopg.Connection, tenant: str
) -> None:
    """As rows are that were written before there were counters."""
    first, second = insert(store, make_memory(tenant)), insert(store, make_memory(tenant))
    with raw.transaction():
        become(raw, tenant)
        raw.execute("DELETE FROM index_changes WHERE tenant_id = %s", [tenant])
        raw.execute("UPDATE memory_index SET change = 900 WHERE tenant_id = %s", [tenant])
    watermark = store.read(tenant, lambda tx: tx.index.watermark("ada"))
    assert watermark == 900
    third = insert(store, make_memory(tenant))
    (page,) = store.read(tenant, lambda tx: tx.index.follow([IndexPosition("ada", watermark)], 10))
    assert [row.memory_id for row in page.rows] == [third.id]
    (page,) = store.read(tenant, lambda tx: tx.index.follow([IndexPosition("ada", 0)], 10))
    assert {row.memory_id for row in page.rows} == {first.id, second.id, third.id}


# What every table must be, for a cluster too


def test_rows_of_a_tenant_are_told_apart_by_the_tenant_first(raw: psycopg.Connection) -> None:
    """A cluster knows only within a shard what is there once."""
    found = raw.execute(
        "SELECT c.relname, a.attname FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid "
        "LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0] "
        "WHERE i.indisunique AND c.relname = ANY (%s)",
        [sorted(SHARDED)],
    ).fetchall()
    assert {table for table, _ in found} == SHARDED
    assert {column for _, column in found} == {"tenant_id"}


def test_rows_of_every_tenant_are_its_own(raw: psycopg.Connection) -> None:
    found = raw.execute(
        "SELECT relname, relrowsecurity AND relforcerowsecurity FROM pg_class WHERE relname = ANY (%s)",
        [sorted(SHARDED)],
    ).fetchall()
    assert dict(found) == dict.fromkeys(SHARDED, True)
    policies = raw.execute("SELECT tablename FROM pg_policies WHERE policyname = tablename || '_of_tenant'").fetchall()
    assert {table for (table,) in policies} >= SHARDED


@pytest.mark.skipif(not CITUS, reason="needs a cluster: make citus CITUS_SOURCE=folder")
def test_every_table_is_where_a_cluster_needs_it(raw: psycopg.Connection) -> None:
    found = raw.execute(
        "SELECT table_name::text, citus_table_type::text, distribution_column::text, colocation_id FROM citus_tables"
    ).fetchall()
    assert {row[0] for row in found if row[1] == "reference"} == COPIED
    assert {row[0]: row[2] for row in found if row[1] == "distributed"} == dict.fromkeys(SHARDED, "tenant_id")
    assert len({row[3] for row in found if row[1] == "distributed"}) == 1


# A server that goes away and comes back


@pytest.fixture
def own_core(own_postgres_url: str) -> Iterator[Core]:
    core = open_core(bare(own_postgres_url, pool_size=4, pool_timeout_s=5))
    core.identity.create_tenant("t")
    yield core
    core.close()


def test_terminated_connections_are_replaced_unnoticed(own_core: Core, postgres: Postgres, own_postgres: str) -> None:
    ada = Principal("t", Role.USER, "ada")
    # Fill the pool, so that every connection in it is dead afterwards.
    barrier = threading.Barrier(4)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: own_core.store.read("t", lambda _: barrier.wait()), range(4)))
    assert postgres.terminate_connections(own_postgres) >= 4
    with ThreadPoolExecutor(4) as threads:
        results = list(
            threads.map(lambda number: own_core.memories.remember(ada, [Draft(f"after {number}")])[0], range(12))
        )
    assert all(result.was_new for result in results)
    assert len(own_core.memories.list(ada, limit=100).items) == 12


def test_transaction_cut_off_in_the_middle_fails_and_writes_nothing(
    own_core: Core, postgres: Postgres, own_postgres: str
) -> None:
    memory = make_memory("t")

    def work(tx) -> None:
        writing.insert(tx, memory)
        postgres.terminate_connections(own_postgres)
        tx.events.append([make_event(memory)])

    with pytest.raises(StoreUnavailable):
        own_core.store.write("t", work)
    assert own_core.store.read("t", lambda tx: tx.memories.get(memory.id)) is None


def test_pool_gives_up_when_all_connections_stay_taken(own_postgres_url: str) -> None:
    core = open_core(bare(own_postgres_url, pool_size=1, pool_timeout_s=1))
    try:
        with pytest.raises(StoreUnavailable):
            core.store.read("t", lambda _: core.store.ping())
        core.store.ping()
    finally:
        core.close()


def test_deadlocked_transactions_are_run_again(own_core: Core) -> None:
    one, two = make_memory("t"), make_memory("t")
    own_core.store.write("t", lambda tx: (writing.insert(tx, one), writing.insert(tx, two)))
    both_hold_one = threading.Barrier(2)
    attempts = []

    def add(order: tuple[str, str]) -> None:
        def work(tx) -> None:
            attempts.append(order)
            tx.memories.add_accesses({order[0]: (1, START)})
            if len(attempts) <= 2:
                both_hold_one.wait(10)
            tx.memories.add_accesses({order[1]: (1, START)})

        own_core.store.write("t", work)

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(add, [(one.id, two.id), (two.id, one.id)]))
    assert len(attempts) >= 3
    found = own_core.store.read("t", lambda tx: tx.memories.get_many([one.id, two.id]))
    assert [memory.access_count for memory in found] == [2, 2]


def test_reads_are_counted_in_the_order_of_ids_whatever_the_plan_is(
    own_core: Core, postgres: Postgres, own_postgres: str
) -> None:
    memories = sorted((make_memory("t") for _ in range(300)), key=lambda memory: memory.id)
    own_core.store.write("t", lambda tx: [writing.insert(tx, memory) for memory in reversed(memories)])
    first, last = memories[0].id, memories[-1].id
    attempts = []

    def add(tx) -> None:
        attempts.append(1)
        # So that rows are found in the order in which they were written.
        for name in ("nestloop", "mergejoin", "indexscan", "bitmapscan"):
            tx.memories._connection.script(f"SET LOCAL enable_{name} = off;")
        tx.memories.add_accesses({memory.id: (1, START) for memory in memories})

    lock = "SELECT 1 FROM memories WHERE tenant_id = 't' AND id = %s FOR UPDATE"
    with psycopg.connect(postgres.url(own_postgres)) as other, ThreadPoolExecutor(1) as threads:
        other.execute("ANALYZE memories")
        other.commit()
        become(other, "t")
        assert other.execute(lock, [first]).fetchall() == [(1,)]
        adding = threads.submit(own_core.store.write, "t", add)
        while not postgres.waits_for_a_lock(own_postgres):
            assert not adding.done()
        # Who waits for the first holds none of the others.
        assert other.execute(f"{lock} NOWAIT", [last]).fetchall() == [(1,)]
        other.rollback()
        adding.result()
    assert attempts == [1]
    found = own_core.store.read("t", lambda tx: tx.memories.get_many([first, last]))
    assert [memory.access_count for memory in found] == [1, 1]


def test_claims_are_given_back_without_waiting_for_who_embeds(
    own_core: Core, postgres: Postgres, own_postgres: str
) -> None:
    first, last = sorted((make_memory("t") for _ in range(2)), key=lambda memory: memory.id)
    own_core.store.write("t", lambda tx: [writing.insert(tx, memory) for memory in (first, last)])

    def claim() -> list[str]:
        rows = [(memory.owner.user or "", memory.id) for memory in (first, last)]
        return own_core.store.write("t", lambda tx: tx.index.claim_waiting(rows, START, START + timedelta(days=1)))

    assert sorted(claim()) == [first.id, last.id]
    lock = "SELECT 1 FROM memory_index WHERE tenant_id = 't' AND user_id = %s AND memory_id = %s FOR UPDATE"
    with psycopg.connect(postgres.url(own_postgres)) as other, ThreadPoolExecutor(1) as threads:
        become(other, "t")
        assert other.execute(lock, [first.owner.user or "", first.id]).fetchall() == [(1,)]
        releasing = threads.submit(own_core.store.write, "t", lambda tx: tx.index.release_claims())
        while not releasing.done():
            assert not postgres.waits_for_a_lock(own_postgres)
        other.rollback()
    assert claim() == [last.id]


def test_description_names_the_server(store: SqlStore) -> None:
    described = store.driver.describe()
    assert described["engine"] in ("PostgreSQL", "PostgreSQL with Citus")
    assert int(str(described["version"]).split(".")[0].split()[0]) >= 15
    assert int(described["size_bytes"]) > 0


def test_malformed_url_is_refused() -> None:
    with pytest.raises(StoreError):
        open_store(bare("postgresql://[nonsense"))
