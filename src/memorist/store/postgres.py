"""The PostgreSQL driver (psycopg 3): a pool, one tenant a transaction, partitions or, with Citus, shards by tenant."""

import random
import re
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TypeVar

from memorist import errors
from memorist.addresses import without_password
from memorist.store.drivers import Connection

try:
    import psycopg
    from psycopg import sql
    from psycopg_pool import PoolClosed, PoolTimeout

    from memorist.store.postgres_connections import (
        BY_INDEX,
        LOST,
        AloneConnection,
        GlobalConnection,
        LastUsedFirst,
        PartitionConnection,
        PipelinedConnection,
        PooledConnection,
        PostgresConnection,
    )
    from memorist.store.postgres_nodes import CONNECTS_WITHIN_S, EVERY_NODES_TABLES, ClusterNodes, StuckWork
except ImportError as error:
    raise errors.InvalidSetting(
        'PostgreSQL needs its driver: pip install "memorist[postgres]", or name no database to use SQLite.',
        field="database",
    ) from error

T = TypeVar("T")

# Measured: 32 partitions keep a tenant's index small at any size; shards use the same number.
PARTITIONS = 32

# Held while migrating. The number is arbitrary, but must never change.
_MIGRATION_LOCK = 0x6D656D6F

# Reference tables and shards of one migration are made in one transaction.
_CITUS_PREAMBLE = "SET LOCAL citus.multi_shard_modify_mode = 'sequential';\n"

_DIRECTIVE = re.compile(r"^-- @(tenant_table|reference_table) (\w+)$", re.MULTILINE)

_MEANINGS: list[tuple[type[Exception], type[errors.MemoristError]]] = [
    (psycopg.errors.UniqueViolation, errors.Conflict),
    (psycopg.errors.ReadOnlySqlTransaction, errors.StoreReadOnly),
    (psycopg.errors.DiskFull, errors.StoreFull),
    (psycopg.errors.LockNotAvailable, errors.StoreBusy),
    (psycopg.errors.DeadlockDetected, errors.StoreBusy),
    (psycopg.errors.SerializationFailure, errors.StoreBusy),
    (psycopg.errors.TooManyConnections, errors.StoreBusy),
    (psycopg.errors.QueryCanceled, errors.StoreBusy),
    (psycopg.errors.DataCorrupted, errors.StoreCorrupt),
    (psycopg.errors.IndexCorrupted, errors.StoreCorrupt),
    (PoolTimeout, errors.StoreUnavailable),
    (PoolClosed, errors.StoreUnavailable),
    (psycopg.errors.ProgramLimitExceeded, errors.StoreError),
    (psycopg.OperationalError, errors.StoreUnavailable),
    (psycopg.Error, errors.StoreError),
]

# How Citus says that the node that has a tenant does not answer, or went while it did; it has no code of its own. The
# last line is how the driver between nodes says it.
_WORKER_IS_GONE = re.compile(
    r"marked as essential|connection to the remote node .* failed|could not establish any connections to the node"
    r"|could not commit transaction for shard"
    r"|server closed the connection|could not (receive|send) data|no connection to the server|connection not open|^SSL "
)

# A database that was made before it had the extension keeps its partitions.
_HAS_CITUS = (
    "SELECT 1 FROM pg_extension WHERE extname = 'citus' "
    "AND NOT EXISTS (SELECT FROM pg_partitioned_table WHERE partrelid = to_regclass('memories'))"
)

_BEYOND_REACH = (
    "Dead rows in the tables' files until VACUUM, which was run here, may remove them: a transaction that was open "
    "meanwhile keeps them, and a page is overwritten only when it is used again (VACUUM FULL writes tables anew).",
    "Write-ahead log: the server's own until it is recycled, its archive for as long as that is kept, and replicas.",
    "Dumps, base backups and exports that were made before. Importing an export here applies the ledger of erased ids.",
)

_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

# Work is repeatable by contract, so that a transaction the server gave up on is simply run again.
_RETRYABLE = (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure, *LOST)
_ATTEMPTS = 4

_PAUSE_S = 0.02
"""Who was given up on lets the other one go first, which may take a moment to wake: twice as long each
time, and hardly ever as long as another that was given up on, too.
"""


class _NeverBegan(psycopg.OperationalError):
    """The connection was dead before the transaction began, so that trying again is safe."""


class PostgresDriver:
    dialect = "postgres"
    instant_reads = False

    def __init__(self, url: str, *, pool_size: int, timeout_s: float) -> None:
        """Connect, or raise StoreUnavailable within `timeout_s`."""
        # One plain connection first: its error says why, where the pool's would only say that it waited.
        with _translated(without_password(url)):
            with psycopg.connect(url, connect_timeout=max(2, int(timeout_s))) as connection:
                self._citus = connection.execute(_HAS_CITUS).fetchone() is not None
            self._pool = LastUsedFirst(
                url,
                min_size=1,
                max_size=pool_size,
                timeout=timeout_s,
                kwargs={"autocommit": True},
                configure=self._configure,
                name="memorist",
            )
            self._nodes = ClusterNodes(url)
            self._stuck = StuckWork(url)

    def _configure(self, connection: PooledConnection) -> None:
        connection.look_for_a_proxy()
        if self._citus:
            connection.execute(f"SET citus.node_connection_timeout = {1000 * CONNECTS_WITHIN_S}", prepare=False)

    # Transactions

    def read(
        self,
        tenant: str | None,
        work: Callable[[Connection], T],
        *,
        snapshot: bool = True,
        seconds: float | None = None,
    ) -> T:
        attempt = self._in_one if snapshot else self._each_alone
        begin = _READ if seconds is None else f"{_READ}; SET LOCAL statement_timeout = {int(seconds * 1000)}"
        return self._retried(partial(attempt, begin, tenant, work))

    def write(self, tenant: str | None, work: Callable[[Connection], T]) -> T:
        if tenant is None or self._citus:
            return self._retried(partial(self._in_one, "BEGIN", tenant, work))
        return self._retried(partial(self._in_one, f"BEGIN; {BY_INDEX}", tenant, work, PartitionConnection))

    def exclusive(self, work: Callable[[Connection], T]) -> T:
        def locked(connection: Connection) -> T:
            connection.script(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})")
            return work(connection)

        return self.write(None, locked)

    def _retried(self, attempt: Callable[[], T]) -> T:
        with _translated():
            for number in range(_ATTEMPTS):
                try:
                    return attempt()
                except _RETRYABLE:
                    if number + 1 == _ATTEMPTS:
                        raise
                    threading.Event().wait(_PAUSE_S * 2**number * random.uniform(0.5, 1))
                except _NeverBegan:
                    # The server restarted under the pool: drop its dead connections and take a living one.
                    self._pool.check()
            return attempt()

    def _in_one(
        self,
        begin: str,
        tenant: str | None,
        work: Callable[[Connection], T],
        running: type[PostgresConnection] = PostgresConnection,
    ) -> T:
        """All of the work in one transaction."""
        with self._connection(tenant) as connection:
            try:
                connection.execute_all(self._opening(begin, tenant))
            except psycopg.OperationalError as error:
                raise _NeverBegan(str(error)) from error
            try:
                result = work(running(connection))
                connection.execute("COMMIT")
            except BaseException as error:
                if isinstance(error, LOST):
                    connection.plans.forget()
                if not connection.closed:
                    connection.execute("ROLLBACK")
                raise
            return result

    def _each_alone(self, begin: str, tenant: str | None, work: Callable[[Connection], T]) -> T:
        """Each statement of a read in a transaction of its own."""
        with self._connection(tenant) as connection:
            try:
                if tenant is None and begin == _READ:
                    # There is nobody to tell whose it is.
                    return work(GlobalConnection(connection))
                alone = PipelinedConnection if self._citus else AloneConnection
                return work(alone(connection, self._opening(begin, tenant)))
            except psycopg.OperationalError as error:
                if connection.closed:
                    # Nothing was written, so that it may be done again.
                    raise _NeverBegan(str(error)) from error
                raise

    @contextmanager
    def _connection(self, tenant: str | None) -> Iterator[PooledConnection]:
        # Not the pool's own block, whose end commits what was committed here.
        connection = self._pool.getconn()
        try:
            with self._stuck.watching(connection, tenant) if self._citus else nullcontext():
                yield connection
        finally:
            self._pool.putconn(connection)

    def _opening(self, begin: str, tenant: str | None) -> list[str]:
        """Open a transaction and tell row-level security whose it is, LOCAL so that the pool never leaks it."""
        commands = begin.split("; ")
        if tenant is not None:
            if self._citus:
                commands.append("SET LOCAL citus.propagate_set_commands = 'local'")
            commands.append(f"SET LOCAL memorist.tenant = {sql.Literal(tenant).as_string()}")
        # Citus forwards a SET LOCAL to its workers one command at a time, and only when told to.
        return commands if self._citus else ["; ".join(commands)]

    def close(self) -> None:
        self._nodes.close()
        self._stuck.close()
        self._pool.close()

    # What SqlStore asks beyond transactions

    def encode_list(self, values: Sequence[str]) -> str:
        # As the server reads a list: psycopg looks at what kind of value each is, and takes several times as long.
        quoted = [value.replace("\\", r"\\").replace('"', r"\"") for value in values]
        return '{"' + '","'.join(quoted) + '"}' if quoted else "{}"

    def prepare_migration(self, migration: str) -> str:
        """Carry out `@tenant_table` and `@reference_table`: as shards where Citus is, as partitions elsewhere."""
        spread = _distribute if self._citus else _partition
        for kind, table in _DIRECTIVE.findall(migration):
            migration = spread(migration, kind, table)
        return f"{_CITUS_PREAMBLE}{migration}" if self._citus else migration

    def checkpoint(self) -> None:
        """Nothing to do: VACUUM and the retention of WAL archives are the server's."""

    def scrub(self, tenant: str, tables: Sequence[str], *, rewrite: bool) -> tuple[str, ...]:  # noqa: ARG002
        """VACUUM what was erased from. A server that does not let us says so in a warning, and goes on."""
        part = self._partition_of(tenant)
        with _translated(), self._pool.connection() as connection:
            for table in tables:
                # Without waiting for others who are at it, who do the same.
                connection.execute(
                    sql.SQL("VACUUM (SKIP_LOCKED) {}").format(sql.Identifier(table + self._suffix(table, part)))
                )
        return _BEYOND_REACH

    def _partition_of(self, tenant: str) -> str:
        """How the names of the tenant's partitions end: those of all tables are numbered alike. '' with Citus."""
        if self._citus:
            return ""
        with _translated(), self._pool.connection() as connection, connection.transaction():
            connection.execute("SELECT set_config('memorist.tenant', %s, true)", [tenant])
            row = connection.execute(
                "SELECT tableoid::regclass::text FROM receipts WHERE tenant_id = %s LIMIT 1", [tenant]
            ).fetchone()
        return "" if row is None else "_p" + str(row[0]).rpartition("_p")[2]

    def _suffix(self, table: str, part: str) -> str:
        return "" if table in EVERY_NODES_TABLES else part

    def files(self) -> list[Path]:
        return []

    def held_by_rows(self, pieces: Collection[bytes]) -> frozenset[bytes]:  # noqa: ARG002
        """Its files are not read, so that nothing in them is to be explained."""
        return frozenset()

    def backup(self, path: Path) -> None:  # noqa: ARG002
        """Raises StoreUnavailable: the server has its own, which knows more of it."""
        raise errors.StoreUnavailable(
            "A PostgreSQL database is backed up with its own tools: `pg_dump --format=custom`, or a base backup. "
            "After restoring one, apply the ledger: `memorist erase ledger FILE` before, `memorist erase apply FILE` "
            "after. To move memories into another database use `memorist export` and `memorist import`."
        )

    def require_sound(self) -> None:
        """The server looks after its files."""

    def trouble(self) -> str:
        """Which nodes of a cluster do not answer, whose tenants wait for them."""
        if not self._citus:
            return ""
        with _translated():
            return self._nodes.trouble()

    def advice(self) -> list[str]:
        """On Citus: nodes that do not answer, and an owner in whose name shards do not move while they are written."""
        if not self._citus:
            return []
        with _translated():
            return self._nodes.advice()

    def examine(self, seconds: float) -> str:  # noqa: ARG002
        return ""

    def health(self, thorough: bool) -> dict[str, str]:  # noqa: ARG002
        with _translated(), self._pool.connection() as connection:
            invalid = connection.execute(
                "SELECT indexrelid::regclass::text FROM pg_index WHERE NOT indisvalid"
            ).fetchall()
        return {"indexes": "ok" if not invalid else "invalid: " + ", ".join(row[0] for row in invalid)}

    def describe(self) -> dict[str, str | int]:
        with _translated(), self._pool.connection() as connection:
            row = connection.execute(
                "SELECT current_setting('server_version'), current_database(), pg_database_size(current_database())"
            ).fetchone()
        assert row is not None
        engine = "PostgreSQL with Citus" if self._citus else "PostgreSQL"
        return {"engine": engine, "version": row[0], "place": row[1], "size_bytes": row[2]}

    def queues(self) -> dict[str, float]:
        stats = self._pool.get_stats()
        return {
            "pool_size": stats["pool_size"],
            "pool_idle": stats["pool_available"],
            "pool_waiting": stats["requests_waiting"],
            "pool_requests": stats.get("requests_num", 0),
            "pool_wait_seconds": stats.get("requests_wait_ms", 0) / 1000,
            "pool_errors": stats.get("requests_errors", 0),
        }


def _partition(migration: str, kind: str, table: str) -> str:
    if kind == "reference_table":
        return migration
    created = re.compile(rf"(CREATE TABLE {table} \(.*?\n\));", re.DOTALL)
    partitions = "\n".join(
        f"CREATE TABLE {table}_p{part:02} PARTITION OF {table} "
        f"FOR VALUES WITH (MODULUS {PARTITIONS}, REMAINDER {part});\n"
        # Without a policy of its own a partition is closed to whoever goes around its table.
        f"ALTER TABLE {table}_p{part:02} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;"
        for part in range(PARTITIONS)
    )
    migration = created.sub(r"\1 PARTITION BY HASH (tenant_id);", migration)
    return _replace_directive(migration, kind, table, f"{partitions}\n{_row_level_security(table)}")


def _distribute(migration: str, kind: str, table: str) -> str:
    if kind == "reference_table":
        return _replace_directive(migration, kind, table, f"SELECT create_reference_table('{table}');")
    colocate = "none" if table == "memories" else "memories"
    placed = f"SELECT create_distributed_table('{table}', 'tenant_id', colocate_with => '{colocate}'" + (
        f", shard_count => {PARTITIONS});" if colocate == "none" else ");"
    )
    return _replace_directive(migration, kind, table, f"{placed}\n{_row_level_security(table)}")


def _replace_directive(migration: str, kind: str, table: str, replacement: str) -> str:
    return migration.replace(f"-- @{kind} {table}\n", f"{replacement}\n", 1)


def _row_level_security(table: str) -> str:
    mine = "tenant_id = current_setting('memorist.tenant', true)"
    return (
        f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;\n"
        f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY;\n"
        f"CREATE POLICY {table}_of_tenant ON {table} USING ({mine}) WITH CHECK ({mine});"
    )


@contextmanager
def _translated(address: str = "") -> Iterator[None]:
    """`address`: what is said to be out of reach, where it is being connected to."""
    try:
        yield
    except (psycopg.Error, PoolTimeout, PoolClosed) as error:
        meaning = next(meaning for kind, meaning in _MEANINGS if isinstance(error, kind))
        if _WORKER_IS_GONE.search(str(error)):
            meaning = errors.StoreUnavailable
        said = without_password(str(error).strip().split("\n")[0])
        where = f"{address}: " if address else ""
        raise meaning(f"{where}{meaning().message} (PostgreSQL says: {said})") from error
