"""The register of places: complete, and each place is in every statement that erases, counts or searches."""

import pytest

from memorist.store.places import PLACES, SEARCHES
from memorist.store.sql_store import SqlStore
from memorist.store.statements import SqlStatement, load_statements

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


def test_every_table_and_text_column_is_registered(store: SqlStore) -> None:
    """A migration that adds one fails here until store/places.py says how it is erased."""
    statement = SqlStatement("columns", "", TEXT_COLUMNS[store.driver.dialect])
    found = set(store.driver.read(None, lambda connection: connection.rows(statement, {})))
    registered = {(place.table, column) for place in PLACES for column in (*place.texts, *place.codes)}
    assert found - registered == set(), "say in store/places.py how these are erased"
    assert registered - found == set(), "these are in no database"


def test_every_place_with_texts_is_erased_one_way_or_the_other() -> None:
    for place in PLACES:
        if place.texts:
            assert not place.kept, place.table
            assert place.of_memories or place.of_owner or place.of_tenant, place.table
        elif not place.of_tenant:
            assert place.kept, place.table


@pytest.mark.parametrize("dialect", DIALECTS)
def test_statements_of_a_place_are_about_its_table(dialect: str) -> None:
    statements = load_statements(dialect)
    for place in PLACES:
        for name in (place.of_memories, place.of_owner, place.of_tenant):
            if name is not None:
                assert f" {place.table} " in f"{statements[name].sql} ".replace("\n", " "), name


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_text_column_is_searched(dialect: str) -> None:
    """Packed columns are no text that could be found; the names of tables tell which part of the statement is whose."""
    parts = load_statements(dialect)["find_text"].sql.split("UNION ALL")
    for place in PLACES:
        if place.texts:
            (part,) = [part for part in parts if f"FROM {place.table} " in part]
            for column in set(place.texts) - {"terms", "vectors"}:
                assert f"{column} LIKE" in part, (place.table, column)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_place_is_counted(dialect: str) -> None:
    statements = load_statements(dialect)
    for place in PLACES:
        # Turns hold no ids, and their events are read through once, whatever the number of ids.
        if place.of_memories and place.table not in ("turns", "turn_events"):
            assert f"'{place.table}'" in statements["count_named"].sql, place.table
        if "user_id" in place.texts or "actor" in place.texts:
            for name in ("count_of_user", "count_all_of_user"):
                assert f"'{place.table}'" in statements[name].sql, place.table
            assert f"FROM {place.table} " in statements["list_users"].sql, place.table
    assert set(SEARCHES) <= statements.keys()
