"""Which nodes of a cluster of Citus do not answer, and that nobody waits for them without end."""

import re
import socket
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import psycopg

from memorist import errors

CONNECTS_WITHIN_S = 5
"""How long one node waits for a connection to another on behalf of a statement."""

_ANSWERS_WITHIN_S = 2
"""Longer than any node takes that works."""

_WAITED_FOR_S = 1.0
"""Those who ask whether this server can serve give up soon, and would take it for dead."""

_LOOKED_AFTER_S = 2.0
"""After so long it is asked whether the nodes answer: a statement may well take longer."""

_LOOK_EVERY_S = 0.5

_SILENT = (
    "SELECT nodename || ':' || nodeport FROM pg_dist_node WHERE isactive AND noderole = 'primary' "
    "AND NOT coalesce(citus_check_connection_to_node(nodename, nodeport), false) ORDER BY 1"
)

_BOUND_OWNERS = (
    "SELECT owner.rolname FROM pg_class AS owned JOIN pg_roles AS owner ON owner.oid = owned.relowner "
    "WHERE owned.oid = to_regclass('memories') AND NOT owner.rolbypassrls AND NOT owner.rolsuper"
)

_CANNOT_REPLICATE = (
    "Citus: the tables are {owner}'s, who has no BYPASSRLS: shards cannot move while they are written. Have servers "
    "connect as another role, and let {owner} have it."
)

# What the coordinator knows by itself.
_NODES_OF = (
    "SELECT asked.tenant, node.nodename || ':' || node.nodeport FROM unnest(%s::text[]) AS asked (tenant) "
    "JOIN pg_dist_placement AS placed "
    "ON placed.shardid = get_shard_id_for_distribution_column('memories', asked.tenant) "
    "JOIN pg_dist_node AS node ON node.groupid = placed.groupid AND node.noderole = 'primary'"
)

_RUNNING = "SELECT pid, query FROM pg_stat_activity WHERE pid = ANY (%s)"

EVERY_NODES_TABLES = frozenset({"api_keys", "sign_ins", "tenant_keys", "tenants"})
"""Copied to every node: whoever writes or locks a row of theirs waits for all of them."""

_TAKES_EVERY_NODE = re.compile(rf"^COMMIT|\b({'|'.join(sorted(EVERY_NODES_TABLES))})\b")

_ANYBODY = "*"


class ClusterNodes:
    """Looks beside those who ask, once at a time: a node that hangs answers nobody, and keeps nobody waiting."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._beside = ThreadPoolExecutor(1, thread_name_prefix="memorist-nodes")
        self._lock = threading.Lock()
        self._look: Future[None] | None = None
        self._silent: list[str] = []

    def trouble(self) -> str:
        """Which ones do not answer, or ''; what was found last, where a look takes long. Raises psycopg.Error."""
        with self._lock:
            if self._look is None or self._look.done():
                self._look = self._beside.submit(self._find)
            look = self._look
        with suppress(TimeoutError):
            look.result(_WAITED_FOR_S)
        silent = self._silent
        return _no_answer_from(silent) if silent else ""

    def advice(self) -> list[str]:
        """What an operator of the cluster should look at, asked now. Raises psycopg.Error."""
        with _fresh(self._url) as connection:
            silent = _silent_of(connection)
            owners = connection.execute(_BOUND_OWNERS).fetchall()
        return [
            *([_no_answer_from(silent)] if silent else []),
            *(_CANNOT_REPLICATE.format(owner=owner) for (owner,) in owners),
        ]

    def close(self) -> None:
        self._beside.shutdown()

    def _find(self) -> None:
        with _fresh(self._url) as connection:
            self._silent = _silent_of(connection)


@dataclass(frozen=True, slots=True)
class _Work:
    """A transaction that is under way."""

    tenant: str | None
    connection: psycopg.Connection[Any]
    began: float


class StuckWork:
    """Ends what waits for a node that hangs, and lets nobody else begin to wait: their connections are needed by those
    of other nodes.

    No timeout of PostgreSQL's does: the coordinator would first tell the node to stop, and waits for that, too.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = threading.Lock()
        self._under_way: dict[int, _Work] = {}
        self._silent: frozenset[str] = frozenset()
        self._hanging: frozenset[str] = frozenset()
        """Those that were silent twice in a row: one that is only busy may be late once."""
        self._placed: dict[str, str] = {}
        """On which node whose rows are, while some hang."""
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    @contextmanager
    def watching(self, connection: psycopg.Connection[Any], tenant: str | None) -> Iterator[None]:
        """A transaction on a connection, which is cut off where it waits for a node that hangs.

        Raises StoreUnavailable where it would.
        """
        if self._hanging:
            self._require(connection, tenant)
        work = _Work(tenant, connection, time.monotonic())
        with self._lock:
            self._under_way[id(work)] = work
            self._start()
        try:
            yield
        finally:
            with self._lock:  # What is cut off is under way: nobody else has the connection yet.
                del self._under_way[id(work)]

    def close(self) -> None:
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(2 * _ANSWERS_WITHIN_S)

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, name="memorist-stuck-work", daemon=True)
            self._thread.start()

    def _require(self, connection: psycopg.Connection[Any], tenant: str | None) -> None:
        hanging = self._hanging
        if tenant is None:
            return  # What is known before a tenant is read where it is asked for.
        if tenant != _ANYBODY and tenant not in self._placed:
            self._placed.update(_nodes_of(connection, [tenant]))
        if hanging and (tenant == _ANYBODY or self._placed.get(tenant) in hanging):
            raise errors.StoreUnavailable(_no_answer_from(sorted(hanging)))

    def _watch(self) -> None:
        pause = _LOOK_EVERY_S
        while not self._stopping.wait(pause):
            pause = _LOOK_EVERY_S
            if not self._silent and not self._old():
                continue
            try:
                self._look()
            except psycopg.Error:
                # The coordinator is gone, which everybody notices by themselves.
                self._silent = self._hanging = frozenset()
            if not self._silent:
                pause = _LOOKED_AFTER_S

    def _old(self) -> list[_Work]:
        before = time.monotonic() - _LOOKED_AFTER_S
        with self._lock:
            return [work for work in self._under_way.values() if work.began < before]

    def _look(self) -> None:
        with _fresh(self._url) as connection:
            silent = frozenset(_silent_of(connection))
            self._silent, hanging = silent, silent & self._silent
            # Shards move: where whose rows are is asked again after each trouble.
            self._placed = self._placed if hanging else {}
            self._hanging = hanging
            if hanging and (old := self._old()):
                self._cut_off(_stuck(connection, old, hanging))

    def _cut_off(self, stuck: Sequence[_Work]) -> None:
        with self._lock:
            for work in stuck:
                if id(work) in self._under_way:
                    _hang_up(work.connection)


def _stuck(connection: psycopg.Connection[Any], works: Sequence[_Work], hanging: Collection[str]) -> list[_Work]:
    """Those of some that wait for a node that hangs: its tenants', all tenants', and what every node takes part in."""
    placed = _nodes_of(connection, [work.tenant for work in works if work.tenant not in (None, _ANYBODY)])
    pids = {id(work): work.connection.info.backend_pid for work in works}
    running = dict(connection.execute(_RUNNING, [list(pids.values())]).fetchall())
    return [
        work
        for work in works
        if work.tenant == _ANYBODY
        or placed.get(work.tenant or "") in hanging
        or _TAKES_EVERY_NODE.search(running.get(pids[id(work)], ""))
    ]


def _nodes_of(connection: psycopg.Connection[Any], tenants: Sequence[str | None]) -> dict[str, str]:
    return dict(connection.execute(_NODES_OF, [list(tenants)], prepare=False).fetchall())


def _silent_of(connection: psycopg.Connection[Any]) -> list[str]:
    connection.execute(f"SET citus.node_connection_timeout = {1000 * _ANSWERS_WITHIN_S}")
    return [str(row[0]) for row in connection.execute(_SILENT).fetchall()]


@contextmanager
def _fresh(url: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection of its own: one that asked a node before asks it again by the same way, for as long as it takes."""
    with psycopg.connect(url, autocommit=True, connect_timeout=_ANSWERS_WITHIN_S) as connection:
        yield connection


def _hang_up(connection: psycopg.Connection[Any]) -> None:
    """Who waits for an answer on a connection learns that there will be none."""
    with suppress(psycopg.Error, OSError):
        end = socket.socket(fileno=connection.fileno())
        try:
            end.shutdown(socket.SHUT_RDWR)
        finally:
            end.detach()  # The driver closes it.


def _no_answer_from(silent: Sequence[str]) -> str:
    return f"Citus: no answer from {', '.join(silent)}, whose tenants cannot be served."
