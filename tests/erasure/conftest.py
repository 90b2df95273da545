"""A search through everything that a database holds."""

from collections.abc import Callable, Iterable, Iterator

import psycopg
import pytest
from psycopg import sql

from memorist.settings import Settings
from tests.support.postgres import become
from tests.support.stores import bytes_in


@pytest.fixture
def held_by(settings: Settings, tenant: str) -> Callable[[Iterable[str]], set[str]]:
    """Which of some texts the database holds: in the bytes of its files, or in any column of any table."""

    def search(texts: Iterable[str]) -> set[str]:
        path = settings.sqlite_path()
        content = bytes_in(path.parent) if path is not None else b"\n".join(every_row(settings.database_url(), tenant))
        return {text for text in texts if text.encode() in content}

    return search


def every_row(url: str, tenant: str) -> Iterator[bytes]:
    """Every row of every table of a database, as text."""
    with psycopg.connect(url) as connection:
        become(connection, tenant)
        # Letters among bytes are shown as such, on every node of a cluster.
        connection.execute("SET LOCAL bytea_output = 'escape'")
        tables = connection.execute(
            "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND NOT c.relispartition"
        ).fetchall()
        assert len(tables) > 8
        for (table,) in tables:
            for (row,) in connection.execute(sql.SQL("SELECT t::text FROM {} AS t").format(sql.Identifier(table))):
                # Inside a row's text quotes are doubled, as those of JSON are.
                yield row.replace('""', '"').replace("\\\\", "\\").encode()
