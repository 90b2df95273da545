"""Migrations: once, in order, by one process, all of it or nothing."""

from collections.abc import Iterator
from datetime import timedelta
from importlib.resources import files

import pytest

from memorist.bootstrap import open_core, open_store
from memorist.errors import StoreError, StoreOutdated
from memorist.ids import new_id
from memorist.memories.searchable import Standing
from memorist.memories.values import Status
from memorist.platform.values import DueWork, Owner, Tenant
from memorist.recall.values import IndexPosition
from memorist.store.drivers import Connection
from memorist.store.migrations import Migration, Migrator, load_migrations
from memorist.store.sql_store import SqlStore
from memorist.store.statements import SqlStatement, load_statements
from memorist.testing import make_memory
from memorist.testing.clocks import START
from memorist.testing.conformance.helpers import index_rows, insert
from tests.support.jobs import migrate
from tests.support.processes import in_processes
from tests.support.stores import bare

SCHEMA_OF = {
    "sqlite": "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY type, name",
    "postgres": """
        SELECT 'column', table_name::text, column_name::text, data_type || ' ' || is_nullable || ' ' ||
            coalesce(generation_expression, '') || ' ' || coalesce(collation_name, '')
        FROM information_schema.columns WHERE table_schema = 'public'
        UNION ALL SELECT 'index', tablename::text, indexname::text, indexdef FROM pg_indexes WHERE schemaname = 'public'
        UNION ALL SELECT 'policy', tablename::text, policyname::text, qual FROM pg_policies
        ORDER BY 1, 2, 3
    """,
}


@pytest.fixture
def fresh(new_database_url: str) -> Iterator[SqlStore]:
    store = open_store(bare(new_database_url))
    yield store
    store.close()


def migrator(store: SqlStore, known: list[Migration]) -> Migrator:
    return Migrator(store.driver, load_statements(store.driver.dialect), known)


def schema(store: SqlStore) -> list[tuple[object, ...]]:
    statement = SqlStatement("schema", "", SCHEMA_OF[store.driver.dialect])
    return store.driver.read(None, lambda connection: connection.rows(statement, {}))


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_migrations_are_numbered_from_one_without_gaps(dialect: str) -> None:
    assert [migration.version for migration in load_migrations(dialect)] == list(
        range(1, len(load_migrations(dialect)) + 1)
    )


def test_dialects_have_the_same_migrations() -> None:
    sqlite, postgres = (
        [(migration.version, migration.name) for migration in load_migrations(dialect)]
        for dialect in ("sqlite", "postgres")
    )
    assert sqlite == postgres


def test_new_database_has_every_migration_pending(fresh: SqlStore) -> None:
    assert fresh.migrator.applied() == []
    assert fresh.migrator.pending() == load_migrations(fresh.driver.dialect)


def test_migrating_applies_everything_and_notes_it(fresh: SqlStore) -> None:
    known = load_migrations(fresh.driver.dialect)
    assert fresh.migrator.migrate(START) == known
    assert [(entry.version, entry.name, entry.checksum, entry.applied_at) for entry in fresh.migrator.applied()] == [
        (migration.version, migration.name, migration.checksum, START) for migration in known
    ]
    assert fresh.migrator.pending() == []
    fresh.ping()


def test_migrating_again_changes_nothing(fresh: SqlStore) -> None:
    fresh.migrator.migrate(START)
    before = schema(fresh), fresh.migrator.applied()
    assert fresh.migrator.migrate(START + timedelta(days=1)) == []
    assert (schema(fresh), fresh.migrator.applied()) == before


def test_schema_is_the_sum_of_the_migrations(fresh: SqlStore) -> None:
    """Step by step or at one go, the result is the same, and it holds every table that the statements name."""
    known = load_migrations(fresh.driver.dialect)
    for upto in range(1, len(known) + 1):
        migrator(fresh, known[:upto]).migrate(START)
    names = {row[1] for row in schema(fresh)}
    tables = {"tenants", "api_keys", "memories", "memory_events", "idempotency_keys", "schema_migrations"}
    assert tables <= names
    assert fresh.migrator.pending() == []


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_migrations_are_shipped_in_the_package(dialect: str) -> None:
    folder = files("memorist.store.migrations").joinpath(dialect)
    assert {f"{m.version:04}_{m.name}.sql" for m in load_migrations(dialect)} == {
        entry.name for entry in folder.iterdir()
    }


def test_one_of_four_processes_migrates_a_new_database(new_database_url: str) -> None:
    applied = in_processes(4, migrate, new_database_url)
    known = len(load_migrations("sqlite"))
    assert sorted(applied) == [0, 0, 0, known]
    open_core(bare(new_database_url)).close()


def test_newer_database_is_refused_and_left_alone(fresh: SqlStore) -> None:
    newer = Migration(99, "future", "CREATE TABLE future (id text PRIMARY KEY)")
    known = load_migrations(fresh.driver.dialect)
    migrator(fresh, [*known, newer]).migrate(START)
    before = schema(fresh)
    with pytest.raises(StoreOutdated, match="newer Memorist"):
        fresh.migrator.migrate(START)
    with pytest.raises(StoreOutdated):
        fresh.migrator.pending()
    assert schema(fresh) == before


def test_newer_database_does_not_open(new_database_url: str) -> None:
    store = open_store(bare(new_database_url))
    newer = Migration(99, "future", "CREATE TABLE future (id text PRIMARY KEY)")
    migrator(store, [*load_migrations(store.driver.dialect), newer]).migrate(START)
    store.close()
    with pytest.raises(StoreOutdated):
        open_core(bare(new_database_url))


def test_changed_migration_is_refused(fresh: SqlStore) -> None:
    first, *rest = load_migrations(fresh.driver.dialect)
    edited = Migration(first.version, first.name, first.sql + "\n-- edited\n")
    migrator(fresh, [edited, *rest]).migrate(START)
    with pytest.raises(StoreOutdated, match=r"Migration 1 .* is not the one"):
        fresh.migrator.migrate(START)


def test_interrupted_migration_leaves_nothing(fresh: SqlStore) -> None:
    known = load_migrations(fresh.driver.dialect)
    broken = Migration(99, "broken", "CREATE TABLE half (id text PRIMARY KEY);\nSELECT no_such_column FROM half;")
    with pytest.raises(StoreError):
        migrator(fresh, [*known, broken]).migrate(START)
    assert fresh.migrator.applied() == []
    assert {row[1] for row in schema(fresh)} <= {"schema_migrations", "citus_schemas", "citus_tables"}
    assert fresh.migrator.migrate(START) == known


def test_process_that_dies_in_a_migration_leaves_nothing(fresh: SqlStore) -> None:
    class Died(BaseException):
        pass

    def die(connection: Connection) -> None:
        connection.script("CREATE TABLE half (id text PRIMARY KEY)")
        raise Died

    with pytest.raises(Died):
        fresh.driver.exclusive(die)
    assert "half" not in {row[1] for row in schema(fresh)}
    fresh.migrator.migrate(START)


def test_tenants_from_before_are_swept_once(fresh: SqlStore) -> None:
    known = load_migrations(fresh.driver.dialect)
    migrator(fresh, known[:23]).migrate(START)
    names = [f"tenant-{number}" for number in range(5)]
    for name in names:
        fresh.create_tenant(Tenant(name, START))
    migrator(fresh, known).migrate(START)
    assert fresh.due_tenants(DueWork.MOVES, START) == names
    # Row-level security was lifted meanwhile, and is there again.
    seen = fresh.driver.read(None, lambda connection: connection.rows(SqlStatement("", "", "SELECT 1 FROM sweeps"), {}))
    assert len(seen) == (0 if fresh.driver.dialect == "postgres" else 5)


def test_what_was_archived_before_is_read_again_and_is_of_no_past(fresh: SqlStore) -> None:
    """In every tenant, whether or not its users have counters yet; superseded facts stay of the past."""
    known = load_migrations(fresh.driver.dialect)
    migrator(fresh, known[:25]).migrate(START)
    past = {"superseded_by": new_id("mem")}, {"valid_to": START}
    rows = {}
    for tenant in ("one", "two"):
        fresh.create_tenant(Tenant(tenant, START))
        for user in ("ada", "bob"):
            fields = [{}, {"status": Status.ARCHIVED}, *({"status": Status.ARCHIVED, **one} for one in past)]
            rows[tenant, user] = [insert(fresh, make_memory(tenant, owner=Owner(user), **one)) for one in (*fields, {})]
        told = "UPDATE memory_index SET standing = 1 WHERE standing = 2"
        fresh.driver.write(tenant, lambda connection, told=told: connection.script(told))
    told = "DELETE FROM index_changes"
    fresh.driver.write("two", lambda connection: connection.script(told))
    before = {
        (tenant, user): fresh.read(tenant, lambda tx, user=user: tx.index.watermark(user)) for tenant, user in rows
    }

    migrator(fresh, known).migrate(START)

    for (tenant, user), (live, archived, superseded, detached, last) in rows.items():
        position = IndexPosition(user, before[tenant, user])
        [page] = fresh.read(tenant, lambda tx, position=position: tx.index.follow([position], 10))
        assert [(row.memory_id, row.standing) for row in page.rows] == [(archived.id, Standing.GONE)]
        assert page.watermark == page.rows[0].change > before[tenant, user]
        standings = {row.memory_id: row.standing for row in index_rows(fresh, tenant, user)}
        assert [standings[one.id] for one in (live, last)] == [Standing.LIVE] * 2
        assert [standings[one.id] for one in (superseded, detached)] == [Standing.RETIRED] * 2
        # What comes after is seen after.
        new = insert(fresh, make_memory(tenant, owner=Owner(user)))
        position = IndexPosition(user, page.watermark)
        [page] = fresh.read(tenant, lambda tx, position=position: tx.index.follow([position], 10))
        assert [row.memory_id for row in page.rows] == [new.id]
    count = SqlStatement("", "", "SELECT 1 FROM memory_index")
    seen = fresh.driver.read(None, lambda connection: connection.rows(count, {}))
    assert len(seen) == (0 if fresh.driver.dialect == "postgres" else 24)


def test_memories_from_before_are_governed_by_the_door_that_they_look_like(new_database_url: str) -> None:
    """In every tenant; and their tenants, which only observed so far, go on doing so for a whole window."""
    store = open_store(bare(new_database_url))
    migrator(store, [one for one in load_migrations(store.driver.dialect) if one.version < 14]).migrate(START)
    rows = [
        ("fact", "", "goal", "companion"),
        ("fact", "", "decision", "coding_assistant"),
        ("fact", "kiln", "project", "profile"),
        ("chat_message", "", "", "agent_tools"),
    ]
    columns = "tenant_id, id, kind, name, category, user_id, agent_id, session_id, project, content, importance, trust"
    columns += ", content_hash, dedup_key, status, retention, created_at, updated_at, access_count"
    ids = {}
    for tenant in ("one", "two"):
        told = f"INSERT INTO tenants (id, created_at) VALUES ('{tenant}', 1)"
        store.driver.write(tenant, lambda connection, told=told: connection.script(told))
        for kind, name, category, governor in rows:
            ids[new_id("mem")] = governor
            values = (
                f"'{tenant}', '{list(ids)[-1]}', '{kind}', '{name}', '{category}', 'ada', '', '', '', 'text', 0, 'user'"
            )
            values += f", 'hash', 'key of {governor}', 'active', 'keep', 1, 1, 0"
            told = f"INSERT INTO memories ({columns}) VALUES ({values})"
            store.driver.write(tenant, lambda connection, told=told: connection.script(told))
    store.close()
    core = open_core(bare(new_database_url))
    try:
        found = [
            one for name in ("one", "two") for one in core.store.read(name, lambda tx: tx.memories.get_many(list(ids)))
        ]
        assert {one.id: one.governed_by for one in found} == ids
        assert {one.dedup_key for one in found if one.governed_by == "companion"} == {"companion:key of companion"}
        began = core.store.read("one", lambda tx: tx.policies.observed_from())
        assert began is not None
        assert abs(began - core.clock.now()) < timedelta(minutes=1)
    finally:
        core.close()
