"""The register of tables: complete, and each is in every statement that erases, counts or searches."""

import pytest

from memorist.store.sql_store import SqlStore
from memorist.store.statements import SqlStatement, load_statements
from memorist.store.tables import SEARCHES, TABLES

TEXT_COLUMNS = {
    "sqlite": """
        SELECT m.name, p.name FROM sqlite_schema AS m JOIN pragma_table_info(m.name) AS p
        WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' AND p.type IN ('TEXT', 'BLOB')
    """,
    "postgres": """
        SELECT c.relname::text, a.attname::text FROM pg_class AS c
        JOIN pg_namespace AS n ON n.oid = c.relnamespace AND n.nspname = 'public'
        JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
            AND a.atttypid IN ('text'::regtype, 'bytea'::regtype, 'jsonb'::regtype, 'json'::regtype, 'varchar'::regtype)
    """,
}
DIALECTS = ("sqlite", "postgres")
PACKED = {"terms", "vectors", "tokens"}


def test_every_table_and_text_column_is_registered(store: SqlStore) -> None:
    """A migration that adds one fails here until store/tables.py says how it is erased."""
    statement = SqlStatement("columns", "", TEXT_COLUMNS[store.driver.dialect])
    found = set(store.driver.read(None, lambda connection: connection.rows(statement, {})))
    registered = {(table.name, column) for table in TABLES for column in (*table.texts, *table.codes)}
    assert found - registered == set(), "say in store/tables.py how these are erased"
    assert registered - found == set(), "these are in no database"


def test_every_table_with_texts_is_erased_one_way_or_the_other() -> None:
    for table in TABLES:
        if table.texts:
            assert not table.kept, table.name
            assert table.of_memories or table.of_owner or table.of_tenant, table.name
        elif not table.of_tenant:
            assert table.kept, table.name


@pytest.mark.parametrize("dialect", DIALECTS)
def test_statements_of_a_table_name_it(dialect: str) -> None:
    statements = load_statements(dialect)
    for table in TABLES:
        for name in (table.of_memories, table.of_owner, table.of_tenant):
            if name is not None:
                assert f" {table.name} " in f"{statements[name].sql} ".replace("\n", " "), name


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_text_column_is_searched(dialect: str) -> None:
    """Packed columns are no text that could be found; the names of tables tell which part of the statement is whose."""
    parts = load_statements(dialect)["find_text"].sql.split("UNION ALL")
    for table in TABLES:
        if readable := set(table.texts) - PACKED:
            (part,) = [part for part in parts if f"FROM {table.name} " in part]
            for column in readable:
                assert f"{column} LIKE" in part, (table.name, column)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_table_is_counted(dialect: str) -> None:
    statements = load_statements(dialect)
    for table in TABLES:
        # Turns hold no ids, and their events are read through once, whatever the number of ids.
        if table.of_memories and table.name not in ("turns", "turn_events"):
            assert f"'{table.name}'" in statements["count_named"].sql, table.name
        if "user_id" in table.texts or "actor" in table.texts:
            assert f"'{table.name}'" in statements["count_of_user"].sql, table.name
            if table.name == "memory_events":
                assert "FROM memory_events\n" in statements["count_history_of_user"].sql
            else:
                assert f"'{table.name}'" in statements["count_all_of_user"].sql, table.name
            assert f"FROM {table.name} " in statements["list_users"].sql, table.name
    assert set(SEARCHES) <= statements.keys()
