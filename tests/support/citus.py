"""A Citus cluster for the tests: a coordinator and two workers on loopback, from a PostgreSQL that has the extension.

`make citus` builds that, and says where it is by MEMORIST_TEST_CITUS.
"""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import sql

from memorist.bootstrap import open_core
from tests.support.postgres import Postgres
from tests.support.stores import bare

_NODES = 3
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "shared_preload_libraries": "citus",
    "wal_level": "logical",
    "max_connections": 300,
    "max_prepared_transactions": 300,
    "shared_buffers": "64MB",
    # The server's own durability is not what is tested here.
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
}


@dataclass(frozen=True)
class Citus(Postgres):
    """A running cluster. Every node has the role and the databases; clients know the coordinator alone."""

    ports: tuple[int, ...] = ()

    def create_database(self, name: str | None = None, *, template: str = "template1") -> str:
        """A cluster copies no database: one that is not to be empty is migrated anew."""
        name = super().create_database(name)
        for port in self.ports[1:]:
            self._on(port, "postgres", "CREATE DATABASE {} OWNER {}", name, self.role)
        for port in self.ports:
            self._on(port, name, "CREATE EXTENSION citus")
        self._on(self.ports[0], name, f"SELECT citus_set_coordinator_host('127.0.0.1', {self.ports[0]})")
        for port in self.ports[1:]:
            self._on(self.ports[0], name, f"SELECT citus_add_node('127.0.0.1', {port})")
        if template != "template1":
            open_core(bare(self.url(name))).close()
        return name

    def drop_database(self, name: str) -> None:
        for port in self.ports:
            self._on(port, "postgres", "DROP DATABASE IF EXISTS {} WITH (FORCE)", name)

    def _on(self, port: int, database: str, command: str, *names: str) -> None:
        with psycopg.connect(_url(port, database), autocommit=True) as connection:
            connection.execute(sql.SQL(command).format(*map(sql.Identifier, names)))


@contextmanager
def running_nodes(installation: Path) -> Iterator[tuple[int, ...]]:
    """The ports of a coordinator and its workers."""
    folder = Path(tempfile.mkdtemp(prefix="memorist-citus-"))
    folder.chmod(0o755)
    try:
        with ExitStack() as running:
            yield tuple(
                running.enter_context(_node(installation, folder / f"node{number}")) for number in range(_NODES)
            )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _node(installation: Path, data: Path) -> Iterator[int]:
    port = _free_port()
    data.mkdir()
    if os.geteuid() == 0:  # PostgreSQL does not run as root.
        shutil.chown(data, "nobody")
    _run(installation / "bin" / "initdb", "--pgdata", data, "--auth", "trust", "--username", "postgres")
    settings = _SETTINGS | {"port": port, "unix_socket_directories": data}
    with (data / "postgresql.conf").open("a") as file:
        file.writelines(f"{name} = '{value}'\n" for name, value in settings.items())
    control = (installation / "bin" / "pg_ctl", "--pgdata", data, "--wait")
    _run(*control, "--log", data / "log", "start")
    try:
        yield port
    finally:
        _run(*control, "--mode", "immediate", "stop")


def _run(*command: str | Path) -> None:
    user = "nobody" if os.geteuid() == 0 else None
    subprocess.run(list(map(str, command)), check=True, user=user, stdout=subprocess.DEVNULL, cwd="/")


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def _url(port: int, database: str) -> str:
    return f"postgresql://postgres@127.0.0.1:{port}/{database}"
