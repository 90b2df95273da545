"""A field is declared once: whatever else has a list of them has the same."""

import dataclasses
import re
from pathlib import Path

import pytest

from memorist.memories.fields import EXPORTED, FIELDS, GIVEN, SECRETS
from memorist.memories.lifecycle import REDACTED, anonymize
from memorist.memories.records import memory_to_record
from memorist.memories.values import Draft, Memory
from memorist.platform.redaction import Secrets
from memorist.platform.values import Owner
from memorist.store.rows import PARAMETERS, memory_from_row, memory_to_values
from memorist.store.sql_store import SqlStore
from memorist.store.statements import SqlStatement, load_statements
from memorist.testing import full_memory
from memorist.testing.clocks import START

NAMES = [field.name for field in FIELDS]
COLUMNS = {
    "sqlite": "SELECT name FROM pragma_table_info('memories')",
    "postgres": """
        SELECT attname::text FROM pg_attribute
        WHERE attrelid = 'memories'::regclass AND attnum > 0 AND NOT attisdropped
    """,
}
# When the policy moves a row next follows from its fields; SQLite numbers the rows.
DERIVED = {"due_at", "row_number"}
# What a write has to say of itself is not kept with the row.
TOLD = {"redacted"}
# What a draft says of a memory in other words than the memory has.
REPHRASED = {"owner", "ttl", "same_as"}


def test_declaration_has_the_fields_of_a_memory_in_their_order() -> None:
    attributes = [one.name for one in dataclasses.fields(Memory) if one.name not in TOLD]
    owner = attributes.index("owner")
    attributes[owner : owner + 1] = [one.name for one in dataclasses.fields(Owner)]
    assert attributes == NAMES


def test_draft_gives_declared_fields_only() -> None:
    given = {one.name for one in dataclasses.fields(Draft)} - REPHRASED
    assert given == {field.name for field in GIVEN}


def test_table_has_a_column_for_every_field(store: SqlStore) -> None:
    """A field without a migration fails here, and so does a column that no field has."""
    statement = SqlStatement("columns", "", COLUMNS[store.driver.dialect])
    found = {row[0] for row in store.driver.read(None, lambda connection: connection.rows(statement, {}))}
    assert found - DERIVED == {field.column for field in FIELDS}


def test_full_memory_fills_every_field() -> None:
    memory = full_memory("t")
    for one in dataclasses.fields(Memory):
        assert one.name in TOLD or getattr(memory, one.name) not in (None, one.default), one.name


def test_row_gives_back_every_field() -> None:
    memory = full_memory("t")
    values = memory_to_values(memory, "t")
    assert len(values) == len(PARAMETERS) == len(FIELDS)
    assert memory_from_row(tuple(str(one) if isinstance(one, str) else one for one in values)) == memory


def test_record_of_an_export_has_every_field_but_the_tenant() -> None:
    assert list(memory_to_record(full_memory("t"))) == [name for name in NAMES if name != "tenant"]
    assert [field.name for field in EXPORTED] == [name for name in NAMES if name != "tenant"]


def test_documentation_lists_every_field() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/data-model.md").read_text("utf-8")
    part = page.partition("<!-- generated: fields -->")[2].partition("<!-- end -->")[0]
    assert re.findall(r"^\| `(\w+)`", part, re.MULTILINE) == NAMES


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_statements_write_every_column_that_may_change(dialect: str) -> None:
    statements = load_statements(dialect)
    changes = statements["replace_memory"].sql.partition("WHERE")[0]
    for field in FIELDS:
        assert field.column in statements["get_memory"].sql
        assert (f" {field.column} = " in changes) != field.fixed, field.name


def test_personal_text_is_searched_for_secrets() -> None:
    for field in FIELDS:
        assert (field.name in SECRETS) == (field.personal and field.is_text), field.name


def test_names_that_hold_a_secret_are_refused() -> None:
    assert {name for name, how in SECRETS.items() if how is Secrets.IDENTIFIER} == {
        "user", "agent", "session", "category", "name",
    }  # fmt: skip


def test_anonymized_memory_has_nothing_personal() -> None:
    memory = anonymize(full_memory("t"), START)
    left = {field.name: getattr(memory, field.name) for field in FIELDS if field.personal}
    assert left.pop("content") == REDACTED
    assert set(left.values()) == {None}
