"""Looks for pieces of text among the living rows of a SQLite database as its file has them: value after value.

In the file the end of one value touches the beginning of the next, in the tables and in their indexes. A piece that is
found there across two of them is no trace of something erased.
"""

import json
from collections.abc import Collection, Iterable, Iterator

import apsw

from memorist.store.file_search import PieceSearch

_TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table'"
_COLUMNS = "SELECT name FROM pragma_table_xinfo(?) WHERE hidden <> 2"
# A number that stands for the row itself is not in its record.
_ROW_NUMBER = (
    "SELECT max(name) FROM pragma_table_xinfo(?1) WHERE pk > 0 AND upper(type) = 'INTEGER' "
    "AND NOT EXISTS (SELECT 1 FROM pragma_index_list(?1) WHERE origin = 'pk') HAVING count(*) = 1"
)
_INDEXES = (
    "SELECT (SELECT json_group_array(name) FROM pragma_index_xinfo(one.name) WHERE name IS NOT NULL) "
    "FROM pragma_index_list(?) AS one"
)
# 0 and 1 take no byte in a record, and other small numbers are one. No piece has the character that ends a value here.
_VALUE = (
    "CASE typeof({0}) WHEN 'text' THEN {0} WHEN 'null' THEN '' WHEN 'blob' THEN char(1) ELSE "
    "CASE WHEN {0} IN (0, 1) THEN '' WHEN {0} BETWEEN 32 AND 126 AND {0} = CAST({0} AS INTEGER) "
    "THEN char(CAST({0} AS INTEGER)) ELSE char(1) END END"
)
_BLOCK = 4 << 20


def held_by_rows(connection: apsw.Connection, pieces: Collection[bytes]) -> frozenset[bytes]:
    """Those of the pieces that a living row of any table holds, within a value or across several."""
    search = PieceSearch(pieces)
    found: set[bytes] = set()
    for table in [str(name) for (name,) in connection.execute(_TABLES)]:
        for block in _blocks(connection.execute(_records_of(connection, table))):
            found |= search.find(block)
    return frozenset(found)


def _records_of(connection: apsw.Connection, table: str) -> str:
    """A statement for what each row is in the file: its record, and those in the indexes."""
    columns = [name for (name,) in connection.execute(_COLUMNS, (table,))]
    row_number = connection.execute(_ROW_NUMBER, (table,)).get
    records = [columns, *(json.loads(names) for (names,) in connection.execute(_INDEXES, (table,)))]
    distinct = dict.fromkeys(tuple(name for name in record if name != row_number) for record in records)
    values = [" || ".join(map(_value, record)) for record in distinct if record] or ["''"]
    return f"SELECT CAST({' || char(1) || '.join(values)} AS BLOB) FROM {_quoted(table)}"


def _value(column: str) -> str:
    return _VALUE.format(_quoted(column))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _blocks(rows: Iterable[tuple[bytes]]) -> Iterator[bytes]:
    """Some rows at a time."""
    gathered: list[bytes] = []
    size = 0
    for (row,) in rows:
        gathered.append(row)
        size += len(row)
        if size > _BLOCK:
            yield b"\x01".join(gathered)
            gathered, size = [], 0
    yield b"\x01".join(gathered)
