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
from memorist.store.migrations import Migration, load_migrations
from memorist.store.postgres import PARTITIONS, PostgresDriver
from memorist.store.postgres_connections import (
    postgres_commands,
)
from memorist.store.sql_store import SqlStore
from memorist.store.statements import SqlStatement, load_statements
from memorist.testing import make_event, make_memory, make_record, new_tenant
from memorist.testing.clocks import START
from memorist.testing.conformance.helpers import insert
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


# Citus, as text: the server is not needed to see what would be sent to it


@pytest.fixture
def for_citus() -> str:
    driver = PostgresDriver.__new__(PostgresDriver)
    driver._citus = True
    return driver.prepare_migration(load_migrations("postgres")[0].sql)


@pytest.fixture
def for_postgres() -> str:
    driver = PostgresDriver.__new__(PostgresDriver)
    driver._citus = False
    return driver.prepare_migration(load_migrations("postgres")[0].sql)


def test_citus_gets_shards_and_no_partitions(for_citus: str) -> None:
    assert "PARTITION" not in for_citus
    assert "-- @" not in for_citus
    assert for_citus.startswith("SET LOCAL citus.multi_shard_modify_mode = 'sequential';\n")
    assert re.findall(r"create_distributed_table\((.*)\)", for_citus) == [
        "'memories', 'tenant_id', colocate_with => 'none', shard_count => 32",
        "'memory_events', 'tenant_id', colocate_with => 'memories'",
        "'idempotency_keys', 'tenant_id', colocate_with => 'memories'",
    ]
    assert re.findall(r"create_reference_table\((.*)\)", for_citus) == ["'tenants'", "'api_keys'"]


@pytest.mark.parametrize("table", [*TENANT_TABLES, "tenants", "api_keys"])
def test_citus_places_a_table_between_its_creation_and_its_indexes(for_citus: str, table: str) -> None:
    created = for_citus.index(f"CREATE TABLE {table} (")
    placed = for_citus.index(f"_table('{table}'")
    assert created < placed
    assert for_citus.count("CREATE TABLE", created, placed) == 1
    indexes = [match.start() for match in re.finditer(rf"INDEX \w+ ON {table} ", for_citus)]
    assert all(placed < index for index in indexes)


def test_citus_refers_to_a_reference_table_after_it_is_one(for_citus: str) -> None:
    assert for_citus.index("create_reference_table('tenants')") < for_citus.index("REFERENCES tenants")


@pytest.mark.parametrize("table", TENANT_TABLES)
def test_row_level_security_is_forced_with_and_without_citus(for_citus: str, for_postgres: str, table: str) -> None:
    for text in (for_citus, for_postgres):
        assert f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY;" in text
        assert f"CREATE POLICY {table}_of_tenant ON {table} USING" in text


def test_plain_postgres_gets_partitions_and_nothing_of_citus(for_postgres: str) -> None:
    assert for_postgres.count("PARTITION BY HASH (tenant_id)") == len(TENANT_TABLES)
    assert for_postgres.count("PARTITION OF") == PARTITIONS * len(TENANT_TABLES)
    assert "create_" not in for_postgres
    assert "citus" not in for_postgres


def test_citus_gets_every_command_of_a_migration_alone() -> None:
    driver = PostgresDriver.__new__(PostgresDriver)
    driver._citus = True
    for migration in load_migrations("postgres"):
        commands = postgres_commands(driver.prepare_migration(migration.sql))
        assert commands
        for command in commands:
            assert ";" not in re.sub(r"--.*|'[^']*'", "", command)
            assert command.split()[0] in {
                "ALTER",
                "COMMENT",
                "CREATE",
                "DELETE",
                "DROP",
                "INSERT",
                "SELECT",
                "SET",
                "UPDATE",
            }


@pytest.mark.parametrize("statement", load_statements("postgres").values(), ids=lambda statement: statement.name)
def test_no_statement_compares_a_row_with_a_subquery(statement: SqlStatement) -> None:
    """Citus 14 sends such a one to its workers as another than it is."""
    assert not re.search(r"\([^()]+,[^()]+\)\s*(NOT\s+)?(IN|=|<|>|<=|>=)\s*\(\s*SELECT", statement.sql)


SHARDED = {
    table
    for one in load_migrations("postgres")
    for table in re.findall(r"^-- @tenant_table (\w+)$", one.sql, re.MULTILINE)
}


def sharded_tables_of(text: str) -> set[str]:
    return set(re.findall(r"\b(?:FROM|JOIN|INTO|UPDATE|,)\s+(\w+)", text)) & SHARDED


@pytest.mark.parametrize("statement", load_statements("postgres").values(), ids=lambda statement: statement.name)
def test_what_is_asked_of_all_shards_is_what_citus_can_ask_of_them(statement: SqlStatement) -> None:
    """Of all at once: no recursion, no window, no lock, no common table, and nothing written. Each of them of one."""
    if "%(tenant)s" in statement.sql or not sharded_tables_of(statement.sql):
        return
    assert re.match(r"SELECT\b", statement.sql)
    assert not re.search(r"\b(WITH|RECURSIVE|OVER|FOR (UPDATE|SHARE|KEY)|LATERAL|EXISTS)\b", statement.sql)
    assert not re.search(r"\bUNION(?! ALL)\b|\bEXCEPT\b|\bINTERSECT\b|DISTINCT ON", statement.sql)


@pytest.mark.parametrize("migration", load_migrations("postgres"), ids=lambda migration: migration.name)
def test_migration_writes_shards_as_citus_can(migration: Migration) -> None:
    """It tells no tenant, so that it writes where row-level security is lifted, and lifts it for no longer."""
    lifted: set[str] = set()
    for command in postgres_commands(migration.sql):
        if found := re.match(r"\s*ALTER TABLE (\w+) (NO )?FORCE ROW LEVEL SECURITY$", command):
            lifted ^= {found[1]}
            assert bool(found[2]) is (found[1] in lifted)
        elif re.match(r"\s*(INSERT|UPDATE|DELETE)\b", command):
            assert sharded_tables_of(command) <= lifted
            assert not re.search(r"\b(RECURSIVE|OVER|RETURNING)\b", command)
    assert lifted == set()


def test_citus_is_told_the_tenant_one_command_at_a_time() -> None:
    driver = PostgresDriver.__new__(PostgresDriver)
    driver._citus = True
    assert driver._opening("BEGIN", "o'hara") == [
        "BEGIN",
        "SET LOCAL citus.propagate_set_commands = 'local'",
        "SET LOCAL memorist.tenant = 'o''hara'",
    ]


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
