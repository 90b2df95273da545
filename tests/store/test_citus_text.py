"""What a cluster of Citus is sent, as text: it takes no server to see that."""

import re

import psycopg
import pytest

from memorist.errors import StoreError, StoreUnavailable
from memorist.store.migrations import Migration, load_migrations
from memorist.store.postgres import PARTITIONS, PostgresDriver, _translated
from memorist.store.postgres_connections import postgres_commands
from memorist.store.postgres_nodes import EVERY_NODES_TABLES
from memorist.store.statements import SqlStatement, _blocks, from_template, load_statements
from memorist.store.tables import TABLES

MIGRATIONS = load_migrations("postgres")
STATEMENTS = [
    *load_statements("postgres").values(),
    *(
        from_template("postgres", name, table, table.sealed + table.matched)
        for kind, name, _ in _blocks("shared")
        if kind == "template"
        for table in TABLES
        if table.sealed or table.matched
    ),
]

each_migration = pytest.mark.parametrize("migration", MIGRATIONS, ids=lambda migration: migration.name)
each_statement = pytest.mark.parametrize("statement", STATEMENTS, ids=lambda statement: statement.name)


def named(directive: str, *migrations: Migration) -> list[str]:
    return [table for one in migrations for table in re.findall(rf"^-- @{directive} (\w+)$", one.sql, re.MULTILINE)]


SHARDED = set(named("tenant_table", *MIGRATIONS))
COPIED = set(named("reference_table", *MIGRATIONS))


def sent(migration: Migration, *, citus: bool) -> str:
    driver = PostgresDriver.__new__(PostgresDriver)
    driver._citus = citus
    return driver.prepare_migration(migration.sql)


# Migrations


def test_every_table_is_distributed_or_copied_to_every_node() -> None:
    created = [table for one in MIGRATIONS for table in re.findall(r"^CREATE TABLE (\w+)", one.sql, re.MULTILINE)]
    assert sorted(created) == sorted([*SHARDED, *COPIED])
    assert COPIED == EVERY_NODES_TABLES


@each_migration
def test_citus_gets_shards_and_no_partitions(migration: Migration) -> None:
    text = sent(migration, citus=True)
    assert "PARTITION" not in text
    assert "-- @" not in text
    assert text.startswith("SET LOCAL citus.multi_shard_modify_mode = 'sequential';\n")
    where = {"memories": f"'none', shard_count => {PARTITIONS}"}
    beside = "'memories'"
    assert re.findall(r"create_distributed_table\((.*)\)", text) == [
        f"'{table}', 'tenant_id', colocate_with => {where.get(table, beside)}"
        for table in named("tenant_table", migration)
    ]
    assert re.findall(r"create_reference_table\('(.*)'\)", text) == named("reference_table", migration)


@each_migration
def test_citus_places_a_table_between_its_creation_and_its_indexes(migration: Migration) -> None:
    text = sent(migration, citus=True)
    for table in (*named("tenant_table", migration), *named("reference_table", migration)):
        created = text.index(f"CREATE TABLE {table} (")
        placed = text.index(f"_table('{table}'")
        assert created < placed
        assert text.count("CREATE TABLE", created, placed) == 1
        indexes = [match.start() for match in re.finditer(rf"INDEX \w+ ON {table} ", text)]
        assert all(placed < index for index in indexes)


def test_citus_refers_to_a_reference_table_after_it_is_one() -> None:
    text = sent(MIGRATIONS[0], citus=True)
    assert text.index("create_reference_table('tenants')") < text.index("REFERENCES tenants")


@each_migration
def test_row_level_security_is_forced_with_and_without_citus(migration: Migration) -> None:
    for text in (sent(migration, citus=True), sent(migration, citus=False)):
        for table in named("tenant_table", migration):
            assert f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;" in text
            assert f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY;" in text
            assert f"CREATE POLICY {table}_of_tenant ON {table} USING" in text


@each_migration
def test_what_is_there_once_is_so_within_a_tenant(migration: Migration) -> None:
    """A cluster knows only within a shard what is there once."""
    for table in named("tenant_table", migration):
        (body,) = re.findall(rf"^CREATE TABLE {table} \((.*?)^\)", migration.sql, re.MULTILINE | re.DOTALL)
        keys = re.findall(r"(?:PRIMARY KEY|UNIQUE) \((\w+)", body)
        keys += re.findall(r"^ +(\w+) [^,(]*(?:PRIMARY KEY|UNIQUE),?$", body, re.MULTILINE)
        assert keys, table
        assert set(keys) == {"tenant_id"}, table
    for table, first in re.findall(r"CREATE UNIQUE INDEX \w+ ON (\w+) \((\w+)", migration.sql):
        assert table not in SHARDED or first == "tenant_id"
    assert not re.search(r"ADD (CONSTRAINT|PRIMARY|UNIQUE)", migration.sql), "look at its first column here, too"


@each_migration
def test_plain_postgres_gets_partitions_and_nothing_of_citus(migration: Migration) -> None:
    text = sent(migration, citus=False)
    tables = named("tenant_table", migration)
    assert text.count("PARTITION BY HASH (tenant_id)") == len(tables)
    assert text.count("PARTITION OF") == PARTITIONS * len(tables)
    assert "create_" not in text
    assert "citus" not in text


@each_migration
def test_citus_gets_every_command_of_a_migration_alone(migration: Migration) -> None:
    commands = postgres_commands(sent(migration, citus=True))
    assert commands
    known = {"ALTER", "COMMENT", "CREATE", "DELETE", "DROP", "INSERT", "SELECT", "SET", "UPDATE"}
    for command in commands:
        assert ";" not in re.sub(r"--.*|'[^']*'", "", command)
        assert command.split()[0] in known


@each_migration
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
            assert not compares_a_row_with_a_subquery(command)
    assert lifted == set()


# Statements


def compares_a_row_with_a_subquery(text: str) -> bool:
    before_subquery = r"\)\s*(?:NOT\s+)?(?:IN|=|<>|<|>|<=|>=)\s*(?:(?:ANY|ALL|SOME)\s*)?\(\s*SELECT\b"
    return any(_ends_a_row(text[: found.start()]) for found in re.finditer(before_subquery, text))


def _ends_a_row(before: str) -> bool:
    """Whether the parenthesis that closes after a text encloses several values, and not those given to a function."""
    depth, commas = 1, 0
    for place in range(len(before) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(before[place], 0)
        if depth == 0:
            is_call = re.search(r"\w$", before[:place]) and not re.search(r"\bROW$", before[:place])
            return commas > 0 and not is_call
        commas += depth == 1 and before[place] == ","
    return False


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("WHERE (a, b) IN (SELECT c, d FROM e)", True),
        ("WHERE (lower(a), b) IN (SELECT c, d FROM e)", True),
        ("WHERE (a, coalesce(b, '')) NOT IN (\n SELECT c, d FROM e)", True),
        ("WHERE ROW(a, b) = (SELECT c, d FROM e)", True),
        ("WHERE (a, (b)) = ANY (SELECT c, d FROM e)", True),
        ("WHERE coalesce(a, b) IN (SELECT c FROM e)", False),
        ("WHERE (lower(a)) = (SELECT c FROM e)", False),
        ("WHERE a IN (SELECT c, d FROM e)", False),
        ("WHERE (a, b) > (c, d) AND e IN (SELECT f FROM g)", False),
    ],
)
def test_row_beside_a_subquery_is_noticed(text: str, is_one: bool) -> None:
    assert compares_a_row_with_a_subquery(text) is is_one


@each_statement
def test_no_statement_compares_a_row_with_a_subquery(statement: SqlStatement) -> None:
    """Citus 14 sends such a one to its workers as another than it is."""
    assert not compares_a_row_with_a_subquery(statement.sql)


def sharded_tables_of(text: str) -> set[str]:
    return set(re.findall(r"\b(?:FROM|JOIN|INTO|UPDATE|,)\s+(\w+)", text)) & SHARDED


@each_statement
def test_what_is_asked_of_all_shards_is_what_citus_can_ask_of_them(statement: SqlStatement) -> None:
    """Of all at once: no recursion, no window, no lock, no common table, and nothing written. Each of them of one."""
    if "%(tenant)s" in statement.sql or not sharded_tables_of(statement.sql):
        return
    assert re.match(r"SELECT\b", statement.sql)
    assert not re.search(r"\b(WITH|RECURSIVE|OVER|FOR (UPDATE|SHARE|KEY)|LATERAL|EXISTS)\b", statement.sql)
    assert not re.search(r"\bUNION(?! ALL)\b|\bEXCEPT\b|\bINTERSECT\b|DISTINCT ON", statement.sql)


def test_citus_is_told_the_tenant_one_command_at_a_time() -> None:
    driver = PostgresDriver.__new__(PostgresDriver)
    driver._citus = True
    assert driver._opening("BEGIN", "o'hara") == [
        "BEGIN",
        "SET LOCAL citus.propagate_set_commands = 'local'",
        "SET LOCAL memorist.tenant = 'o''hara'",
    ]


# Errors


@pytest.mark.parametrize(
    ("said", "is_gone"),
    [
        ("connection to the remote node me@10.0.0.7:5432 failed", True),
        ("connection to the remote node me@10.0.0.7:5432 failed with the following error: Connection refused", True),
        ("failure on connection marked as essential: me@10.0.0.7:5432", True),
        ("could not establish any connections to the node 10.0.0.7:5432 after 5000 ms", True),
        ("server closed the connection unexpectedly\n\tThis probably means the server terminated abnormally", True),
        ("could not receive data from server: Connection reset by peer", True),
        ("could not send data to server: Broken pipe", True),
        ("no connection to the server", True),
        ("connection not open", True),
        ("SSL connection has been closed unexpectedly", True),
        ("SSL SYSCALL error: EOF detected", True),
        ("could not commit transaction for shard 102088 on at least one active node", True),
        ('relation "memories_102008" does not exist', False),
        ("complex joins are only supported when all distributed tables are co-located", False),
    ],
)
def test_worker_that_is_gone_is_told_by_the_words_of_citus(said: str, is_gone: bool) -> None:
    """They come as errors of several kinds, of which some say nothing of a connection."""
    for kind in (psycopg.errors.InternalError_, psycopg.errors.RaiseException):
        with pytest.raises(StoreError) as raised, _translated():
            raise kind(said)
        assert type(raised.value) is (StoreUnavailable if is_gone else StoreError)
