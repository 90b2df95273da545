"""Which nodes of a cluster of Citus do not answer."""

from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from threading import Lock

import psycopg

_ANSWERS_WITHIN_S = 2
"""Longer than any node takes that works."""

_WAITED_FOR_S = 1.0
"""Those who ask whether this server can serve give up soon, and would take it for dead."""

_SILENT = (
    "SELECT nodename || ':' || nodeport FROM pg_dist_node WHERE isactive AND noderole = 'primary' "
    "AND NOT coalesce(citus_check_connection_to_node(nodename, nodeport), false) ORDER BY 1"
)


class ClusterNodes:
    """Looks beside those who ask, once at a time: a node that hangs answers nobody, and keeps nobody waiting."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._beside = ThreadPoolExecutor(1, thread_name_prefix="memorist-nodes")
        self._lock = Lock()
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
        return f"Citus: no answer from {', '.join(silent)}, whose tenants cannot be served." if silent else ""

    def close(self) -> None:
        self._beside.shutdown()

    def _find(self) -> None:
        # A connection of its own: one that has asked a node before asks it again by the same way, for as long as it
        # takes.
        with psycopg.connect(self._url, autocommit=True, connect_timeout=_ANSWERS_WITHIN_S) as connection:
            connection.execute(f"SET citus.node_connection_timeout = {1000 * _ANSWERS_WITHIN_S}")
            self._silent = [str(row[0]) for row in connection.execute(_SILENT).fetchall()]
