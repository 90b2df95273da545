"""A Citus cluster for the tests: a coordinator and two workers on loopback, from a PostgreSQL that has the extension.

`make citus` builds that, and says where it is by MEMORIST_TEST_CITUS.
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from tests.support.postgres import Postgres, waiting_for_a_lock
from tests.support.waiting import eventually

_NODES = 3
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "shared_preload_libraries": "citus",
    "wal_level": "logical",
    "max_connections": 300,
    "max_prepared_transactions": 300,
    "shared_buffers": "64MB",
    # A node that is killed keeps what it has told the system to write: only that the disk has it is not waited for.
    "fsync": "off",
    "full_page_writes": "off",
}


@dataclass(frozen=True)
class Node:
    """One server of a cluster. It keeps its port and its folder, whatever becomes of its process."""

    installation: Path
    data: Path
    port: int

    def url(self, database: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def execute(self, database: str, command: str, *names: str) -> list[tuple[Any, ...]]:
        """Run a command as the administrator, here alone; each {} in it is a quoted identifier."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(sql.SQL(command).format(*map(sql.Identifier, names)))
            return cursor.fetchall() if cursor.description else []

    def leave(self, database: str) -> None:
        """End all connections to a database, and wait for that longer than `FORCE` does."""
        found = f"FROM pg_stat_activity WHERE datname = '{database}'"
        self.execute("postgres", f"SELECT pg_terminate_backend(pid, 60000) {found}")

    def create(self) -> None:
        self.data.mkdir()
        if os.geteuid() == 0:  # PostgreSQL does not run as root.
            shutil.chown(self.data, "nobody")
        _run(self.installation / "bin" / "initdb", "--pgdata", self.data, "--auth", "trust", "--username", "postgres")
        settings = _SETTINGS | {"port": self.port}
        with (self.data / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in settings.items())

    def start(self) -> None:
        self._control("--log", self.data / "log", "start")

    def stop(self) -> None:
        self._control("--mode", "immediate", "stop")

    def kill(self) -> None:
        """End all of its processes at once, as a machine that fails does."""
        processes = self._stopped()
        for process in processes:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        eventually(lambda: not any(map(_is_alive, processes)))
        # Where nobody asks how it ended, its number stays taken: as if it still ran.
        (self.data / "postmaster.pid").unlink()

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """It neither answers nor ends, as a machine that is cut off does."""
        processes = self._stopped()
        try:
            yield
        finally:
            for process in processes:
                os.kill(process, signal.SIGCONT)

    def _stopped(self) -> tuple[int, ...]:
        postmaster = int((self.data / "postmaster.pid").read_text().splitlines()[0])
        os.kill(postmaster, signal.SIGSTOP)  # First, so that it starts none meanwhile.
        children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
        for process in map(int, children):
            os.kill(process, signal.SIGSTOP)
        return (*map(int, children), postmaster)

    def _control(self, *given: str | Path) -> None:
        _run(self.installation / "bin" / "pg_ctl", "--pgdata", self.data, "--wait", *given)


@dataclass(frozen=True)
class Citus(Postgres):
    """A running cluster. Every node has the roles and the databases; clients know the coordinator alone."""

    nodes: tuple[Node, ...] = ()

    @property
    def coordinator(self) -> Node:
        return self.nodes[0]

    @property
    def workers(self) -> tuple[Node, ...]:
        return self.nodes[1:]

    def create_database(self, name: str | None = None, *, template: str = "template1") -> str:
        name = super().create_database(name, template=self._left(template))
        for node in self.workers:
            node.execute("postgres", "CREATE DATABASE {} TEMPLATE {} OWNER {}", name, template, self.role)
        if template == "template1":
            self._join(name)
        return name

    def _left(self, template: str) -> str:
        """A database that can be copied: nodes keep connections to one another's, and so does Citus' own process.

        Where its rows are it says by nodes, never by its own name: copies on every node make a whole.
        """
        for node in self.nodes if template != "template1" else ():
            node.execute("postgres", "ALTER DATABASE {} ALLOW_CONNECTIONS false", template)
            node.leave(template)
        return template

    def _join(self, database: str) -> None:
        """Make databases of one name a cluster."""
        for node in self.nodes:
            node.execute(database, "CREATE EXTENSION citus")
        self.coordinator.execute(database, f"SELECT citus_set_coordinator_host('127.0.0.1', {self.coordinator.port})")
        for node in self.workers:
            self.coordinator.execute(database, f"SELECT citus_add_node('127.0.0.1', {node.port})")

    def drop_database(self, name: str) -> None:
        for node in self.nodes:
            with suppress(psycopg.errors.InvalidCatalogName):
                # Otherwise Citus' own process comes back at once.
                node.execute("postgres", "ALTER DATABASE {} ALLOW_CONNECTIONS false", name)
            node.leave(name)
            node.execute("postgres", "DROP DATABASE IF EXISTS {} WITH (FORCE)", name)

    def waits_for_a_lock(self, database: str) -> bool:
        return any(node.execute("postgres", waiting_for_a_lock(database)) for node in self.nodes)

    def worker_of(self, database: str, tenant: str) -> Node:
        """The node that has a tenant's rows."""
        shard = f"get_shard_id_for_distribution_column('memories', '{tenant}')"
        found = self.coordinator.execute(database, f"SELECT nodeport FROM citus_shards WHERE shardid = {shard}")
        return next(node for node in self.workers if node.port == found[0][0])


@contextmanager
def running_nodes(installation: Path) -> Iterator[tuple[Node, ...]]:
    """A coordinator and its workers."""
    folder = Path(tempfile.mkdtemp(prefix="memorist-citus-"))
    folder.chmod(0o755)
    nodes = tuple(Node(installation, folder / f"node{number}", _free_port()) for number in range(_NODES))
    try:
        with ExitStack() as running:
            for node in nodes:
                node.create()
                node.start()
                running.callback(node.stop)
            yield nodes
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(*command: str | Path) -> None:
    user = "nobody" if os.geteuid() == 0 else None
    subprocess.run(list(map(str, command)), check=True, user=user, stdout=subprocess.DEVNULL, cwd="/")


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def _is_alive(process: int) -> bool:
    """Whether it runs: one that ended may be there until somebody asks how."""
    try:
        return ") Z " not in Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False
