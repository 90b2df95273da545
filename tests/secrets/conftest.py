"""A secret that was never seen before, and a search of all that is stored."""

import secrets
import string
from collections.abc import Callable

import psycopg
import pytest
from psycopg import sql

from memorist.core import Core
from memorist.settings import Settings
from tests.support.stores import bytes_in


def new_token() -> str:
    """In the format of a provider, so that every rule's place is taken by one that needs no surroundings."""
    return "ghp_" + "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(36))


@pytest.fixture
def token() -> str:
    return new_token()


Stored = Callable[[], bytes]


@pytest.fixture
def stored(settings: Settings, core: Core) -> Stored:
    """Every byte of the database: of the files of SQLite, and of all columns of all tables of PostgreSQL."""

    def read() -> bytes:
        core.accesses.flush()
        path = settings.sqlite_path()
        if path is not None:
            return bytes_in(path.parent)
        with psycopg.connect(settings.database_url()) as connection:
            tables = connection.execute(
                "SELECT schemaname, tablename FROM pg_tables"
                " WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
            ).fetchall()
            assert len(tables) > 8
            rows = [
                row
                for table in tables
                for row in connection.execute(
                    sql.SQL("SELECT {}::text FROM {}").format(sql.Identifier(table[1]), sql.Identifier(*table))
                )
            ]
        return "\n".join(row[0] for row in rows).encode()

    return read
