"""The named statements: both dialects say the same things, and none forgets the tenant."""

import re
from importlib.resources import files

import pytest

from memorist.store.statements import _blocks, _parse, load_statements, to_psycopg

DIALECTS = ("sqlite", "postgres")


def test_both_dialects_define_the_same_names() -> None:
    sqlite, postgres = ({name for _, name, _ in _blocks(dialect)} for dialect in DIALECTS)
    assert sqlite == postgres
    assert load_statements("sqlite").keys() == load_statements("postgres").keys()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_statement_says_what_it_is_for(dialect: str) -> None:
    for statement in load_statements(dialect).values():
        assert re.fullmatch(r"[A-Z].*[.]", statement.purpose), statement.name


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_statement_is_used(dialect: str) -> None:
    store = files("memorist.store")
    modules = [*store.iterdir(), store.joinpath("migrations", "__init__.py")]
    code = "".join(entry.read_text("utf-8") for entry in modules if entry.name.endswith(".py"))
    used = set(re.findall(r'"(\w+)"', code))
    unused = {name for name in load_statements(dialect) if name not in used and not name.startswith("list_")}
    assert unused == set()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id FROM memories WHERE id = :id",
        "DELETE FROM memories",
        "UPDATE memories SET tenant_id = 'x' WHERE id = :tenant",
        "INSERT INTO memories (id) VALUES (:tenant)",
        "SELECT id FROM memories WHERE other_tenant_id = :tenant",
        "SELECT id FROM memories WHERE tenant_id = :tenants",
    ],
)
def test_statement_without_the_tenant_is_refused(sql: str) -> None:
    with pytest.raises(ValueError, match="bad does not bind :tenant"):
        _parse("bad", f"-- Reads across tenants.\n{sql}", {})


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id FROM memories WHERE tenant_id = :tenant",
        "INSERT INTO memories (tenant_id, id)\nVALUES (:tenant, :id)",
    ],
)
def test_statement_with_the_tenant_is_taken(sql: str) -> None:
    assert _parse("good", f"-- Reads one tenant.\n{sql}", {}).sql == sql


def test_global_statement_needs_no_tenant() -> None:
    statement = _parse("all", "-- scope: global\n-- All tenants.\nSELECT id FROM tenants", {})
    assert (statement.sql, statement.purpose) == ("SELECT id FROM tenants", "All tenants.")


def test_only_statements_above_tenants_are_global() -> None:
    marked = {
        name
        for dialect in ("shared", *DIALECTS)
        for kind, name, body in _blocks(dialect)
        if kind == "name" and "scope: global" in body
    }
    assert marked == {
        "any_key",
        "applied_migrations",
        "census_of_jobs",
        "census_of_memories",
        "census_of_tenants",
        "census_of_waiting",
        "create_migrations_table",
        "feed_bounds",
        "find_index_model",
        "find_key",
        "find_sign_in",
        "find_tenant",
        "get_observed_from",
        "has_migrations_table",
        "insert_tenant",
        "list_master_keys",
        "list_own_words",
        "list_tenants",
        "lock_tenant",
        "ping",
        "record_migration",
        "set_index_model",
        "share_tenant",
        "tenants_of_model",
        "tenants_of_other_models",
        "tenants_with_erasures",
        "tenants_with_jobs",
        "tenants_with_lost_turns",
        "tenants_with_moves",
        "tenants_with_old_answers",
        "tenants_with_old_jobs",
        "tenants_with_old_turns",
        "tenants_with_retired",
        "tenants_with_waiting",
    }


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_is_asked_of_all_tenants_tells_names_and_numbers_alone(dialect: str) -> None:
    asked = [one for name, one in load_statements(dialect).items() if name.startswith(("tenants_with_", "census_of_"))]
    assert len(asked) == 13
    for statement in asked:
        told = re.match(r"SELECT (?:DISTINCT )?(.+?)\s+FROM ", statement.sql)
        assert told is not None
        assert told[1] in ("tenant_id", "tenant_id || ''", "status, count(*)", "'', count(*)"), statement.name


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("a = :a", "a = %(a)s"),
        ("a = :a::text[] AND b = ANY (:b::text[])", "a = %(a)s::text[] AND b = ANY (%(b)s::text[])"),
        ("a LIKE '%' || :a", "a LIKE '%%' || %(a)s"),
        ("x::bigint % 7", "x::bigint %% 7"),
        ("(:after_time, :after_id)", "(%(after_time)s, %(after_id)s)"),
        ("no parameters", "no parameters"),
    ],
)
def test_parameters_become_psycopgs(ours: str, theirs: str) -> None:
    assert to_psycopg(ours) == theirs


def test_fragments_are_pasted_into_statements() -> None:
    for dialect in DIALECTS:
        for statement in load_statements(dialect).values():
            assert "{" not in statement.sql, statement.name
