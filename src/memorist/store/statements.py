"""Named SQL statements, read from the `.sql` files below `queries/`: a folder for what is shared, one for each dialect.

A block starts with `-- name: x`; `-- scope: global` marks the few that are not about one tenant, `-- plan: anew` those
whose plan PostgreSQL should not keep, `-- answer: binary` those that answer with many bytes, `-- insert: together`
those by which PostgreSQL is given many rows at once. `-- fragment: x` blocks are pasted where `{x}` stands, and so is
what follows from the fields of a memory, such as `{memory_columns}`. A
`-- template: x` is a statement for each of several tables.
Parameters are written `:name` in both dialects. A statement on a tenant's tables that does not bind `:tenant` is
refused when the files are read, so it can never run.
"""

import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from memorist.memories.fields import FIELDS
from memorist.platform.values import Seal
from memorist.store.tables import SEALED, Table

_QUERIES = Path(__file__).parent / "queries"
_BLOCK = re.compile(r"^-- (name|fragment|template): (\w+)\n", re.MULTILINE)
_FRAGMENT = re.compile(r"\{(\w+)\}")
# A single colon before a word: not the `::` of a cast.
_PARAMETER = re.compile(r"(?<!:):([a-z_]+)\b")
_MARKS = ("plan: anew", "plan: by index", "scope: global", "answer: binary", "insert: together")
_WRITTEN = re.compile(r"(?:INSERT INTO|UPDATE) (\w+)")
_READ = re.compile(r"\b(?:FROM|JOIN) (\w+)")
_TENANT_FILTER = re.compile(r"\btenant_id = :tenant\b")
_TENANT_INSERT = re.compile(r"INSERT INTO \w+ \([^)]*\btenant_id\b.*:tenant\b", re.DOTALL)


@dataclass(frozen=True, slots=True)
class SqlStatement:
    """`parameters` are the names that `sql` binds, in the order of their first appearance.

    `planned_anew`: the best plan depends on the values, so that none is kept between executions. `by_index`: none is
    kept but one that walks an index.
    `in_binary`: PostgreSQL sends bytes as they are, not as twice as many digits.
    """

    name: str
    purpose: str
    sql: str
    parameters: tuple[str, ...] = ()
    planned_anew: bool = False
    by_index: bool = False
    in_binary: bool = False
    seals: tuple[Seal | None, ...] = ()
    """How each of `parameters` is encrypted where the tenant is; empty where none is."""
    together: bool = False
    """PostgreSQL inserts many rows by one statement, where nobody asks for their order."""


@cache
def load_statements(dialect: str) -> dict[str, SqlStatement]:
    """All statements of a dialect (`sqlite` or `postgres`), ready for its driver. Read once; nobody may change them."""
    blocks: dict[tuple[str, str], str] = {}
    for kind, name, body in (*_blocks("shared"), *_blocks(dialect)):
        if (kind, name) in blocks:
            raise ValueError(f"{kind} {name} is defined twice")
        blocks[kind, name] = body
    # All of them first: a statement that both databases share may paste what each of them writes in its own way.
    fragments = _memory_fragments() | {
        name: body.strip() for (kind, name), body in blocks.items() if kind == "fragment"
    }
    statements = {name: _parse(name, body, fragments) for (kind, name), body in blocks.items() if kind == "name"}
    if dialect == "postgres":
        return {name: replace(one, sql=to_psycopg(one.sql)) for name, one in statements.items()}
    return statements


def _memory_fragments() -> dict[str, str]:
    """What statements say of every column of a memory."""
    texts = (field for field in FIELDS if field.is_text and field.personal)
    return {
        "memory_columns": ", ".join(field.column for field in FIELDS),
        "memory_values": ", ".join(f":{field.parameter}" for field in FIELDS),
        "memory_changes": ", ".join(f"{field.column} = :{field.parameter}" for field in FIELDS if not field.fixed),
        "memory_holds_piece": " OR ".join(f"{field.column} LIKE :piece ESCAPE '!'" for field in texts),
    }


def _blocks(source: str) -> list[tuple[str, str, str]]:
    paths = sorted((_QUERIES / source).glob("*.sql"))
    parts = [part for path in paths for part in _BLOCK.split(path.read_text("utf-8"))[1:]]
    return list(zip(parts[0::3], parts[1::3], parts[2::3], strict=True))


def _parse(name: str, body: str, fragments: dict[str, str]) -> SqlStatement:
    lines = body.strip().splitlines()
    comments = [line.removeprefix("-- ") for line in lines if line.startswith("--")]
    sql = "\n".join(line for line in lines if not line.startswith("--")).strip()
    while _FRAGMENT.search(sql):
        sql = _FRAGMENT.sub(lambda match: fragments[match[1]], sql)
    purpose = " ".join(comment for comment in comments if comment not in _MARKS)
    if "scope: global" not in comments and not (_TENANT_FILTER.search(sql) or _TENANT_INSERT.search(sql)):
        raise ValueError(f"statement {name} does not bind :tenant")
    parameters = tuple(dict.fromkeys(_PARAMETER.findall(sql)))
    seals = _seals(sql, parameters)
    marks = ("plan: anew" in comments, "plan: by index" in comments, "answer: binary" in comments)
    return SqlStatement(name, purpose, sql, parameters, *marks, seals, together="insert: together" in comments)


def _seals(sql: str, parameters: tuple[str, ...]) -> tuple[Seal | None, ...]:
    """What is written into a column, or compared with one, is what the parameter of its name gives."""
    if written := _WRITTEN.match(sql):
        table = SEALED.get(written[1])
        seals = [table.seal_of(name) if table else None for name in parameters]
    else:
        matched = {column for name in _READ.findall(sql) if name in SEALED for column in SEALED[name].matched}
        seals = [Seal.EQUAL if name in matched else None for name in parameters]
    return tuple(seals) if any(seals) else ()


@cache
def from_template(dialect: str, name: str, table: Table, columns: tuple[str, ...]) -> SqlStatement:
    """A template's statement for some columns of a table."""
    bodies = {name: body for kind, name, body in _blocks("shared") if kind == "template"}
    fragments = {
        "table": table.name,
        "row": ", ".join(table.row),
        "columns": ", ".join(columns),
        "after": ", ".join(f":after_{column}" for column in table.row),
        "is_row": " AND ".join(f"{column} = :{column}" for column in table.row),
        "changes": ", ".join(f"{column} = :new_{column}" for column in columns),
        "unchanged": " AND ".join(f"{column} IS NOT DISTINCT FROM :{column}" for column in columns),
    }
    statement = replace(_parse(name, bodies[name], fragments), seals=())
    return replace(statement, sql=to_psycopg(statement.sql)) if dialect == "postgres" else statement


def to_psycopg(sql: str) -> str:
    """The same statement in psycopg's parameter style."""
    return _PARAMETER.sub(r"%(\1)s", sql.replace("%", "%%"))
