"""The one store: ports.Store over a driver and its named statements."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from memorist.errors import EncryptionKeyError
from memorist.platform.values import ApiKey, DueWork, SignIn, Tally, Tenant
from memorist.ports import Reader, Writer
from memorist.store.drivers import Connection, Driver
from memorist.store.file_search import find_in_files
from memorist.store.migrations import Migrator, load_migrations
from memorist.store.rows import key_from_row, sign_in_from_row
from memorist.store.statements import SqlStatement, load_statements
from memorist.store.tables import TABLES
from memorist.store.transaction import SqlTransaction
from memorist.times import from_micros, to_micros
from memorist.watching import Watch

if TYPE_CHECKING:
    # Only those who encrypt pay for what it takes.
    from memorist.store.sealed import Keyring
    from memorist.store.sealing import MasterKeys

T = TypeVar("T")

_ANYBODY = "*"
"""No tenant's name: whoever reads as this asks whose work waits and how much there is, and nothing else."""

_WHOSE_WORK = {
    DueWork.JOBS: "tenants_with_jobs",
    DueWork.VECTORS: "tenants_with_waiting",
    DueWork.LOST_TURNS: "tenants_with_lost_turns",
    DueWork.ERASURES: "tenants_with_erasures",
    DueWork.MOVES: "tenants_with_moves",
    DueWork.RETIRED: "tenants_with_retired",
    DueWork.OLD_ANSWERS: "tenants_with_old_answers",
    DueWork.OLD_JOBS: "tenants_with_old_jobs",
    DueWork.OLD_TURNS: "tenants_with_old_turns",
}

_CENSUS = {
    Tally.MEMORIES: "census_of_memories",
    Tally.JOBS: "census_of_jobs",
    Tally.WAITING: "census_of_waiting",
    Tally.TENANTS: "census_of_tenants",
}


class SqlStore:
    def __init__(
        self, driver: Driver, watch: Watch | None = None, keys: "Callable[[], MasterKeys] | None" = None
    ) -> None:
        """`keys` reads the master keys, where tenants may be encrypted."""
        self.driver = driver
        self._watch = watch or Watch()
        system = "postgresql" if driver.dialect == "postgres" else driver.dialect
        self._facts = {kind: {"db.system.name": system, "db.operation.name": kind} for kind in ("read", "write")}
        self.instant_reads = driver.instant_reads
        self._tell: list[Callable[[str], None]] = []
        self._find_beside: list[Callable[[str], Callable[[Writer], None] | None]] = []
        self.statements = load_statements(driver.dialect)
        self.keyring = None if keys is None else _new_keyring(keys, self.statements)
        self._lacks_key = False
        self.migrator = Migrator(driver, self.statements, load_migrations(driver.dialect))

    def read(self, tenant: str, work: Callable[[Reader], T], *, snapshot: bool = True) -> T:
        with self._watch.timed("transaction", "read", self._facts["read"]):
            return self.driver.read(
                tenant, lambda connection: work(self._transaction(connection, tenant, writing=False)), snapshot=snapshot
            )

    def write(self, tenant: str, work: Callable[[Writer], T], *, is_told: bool = True) -> T:
        beside = [one for find in self._find_beside if (one := find(tenant)) is not None]

        def all_of_it(connection: Connection) -> T:
            transaction = self._transaction(connection, tenant, writing=True)
            result = work(transaction)
            for one in beside:
                one(transaction)
            transaction.finish()
            return result

        with self._watch.timed("transaction", "write", self._facts["write"]):
            result = self.driver.write(tenant, all_of_it)
        for tell in self._tell if is_told else ():
            tell(tenant)
        return result

    def on_write(self, tell: Callable[[str], None]) -> None:
        self._tell.append(tell)

    def beside_writes(self, find: Callable[[str], Callable[[Writer], None] | None]) -> None:
        self._find_beside.append(find)

    def _transaction(self, connection: Connection, tenant: str, *, writing: bool) -> SqlTransaction:
        if self._lacks_key:
            raise EncryptionKeyError
        if self.keyring is not None:
            from memorist.store.sealed import SealedConnection

            connection = SealedConnection(connection, tenant, self.keyring, writing=writing)
        return SqlTransaction(connection, tenant, self.statements, self.driver.encode_list)

    # What is known before, or above, a tenant

    def create_tenant(self, tenant: Tenant) -> bool:
        row = {"id": tenant.id, "created_at": to_micros(tenant.created_at)}

        def insert(connection: Connection) -> bool:
            is_new = connection.run(self.statements["insert_tenant"], row) == 1
            if is_new and self.keyring is not None:
                self.keyring.mark(connection, tenant.id)
                self.keyring.add(connection, tenant.id, None, is_complete=True)
            return is_new

        return self.driver.write(None, insert)

    def list_tenants(self) -> list[Tenant]:
        return [Tenant(row[0], from_micros(row[1])) for row in self._global_rows("list_tenants", {})]

    def find_tenant(self, name: str) -> Tenant | None:
        rows = self._global_rows("find_tenant", {"tenant": name})
        return Tenant(rows[0][0], from_micros(rows[0][1])) if rows else None

    def due_tenants(self, work: DueWork, now: datetime, *, after: str = "", limit: int = 100) -> list[str]:
        statement = self.statements[_WHOSE_WORK[work]]
        known = {"now": to_micros(now), "after": after, "limit": limit}
        given = {name: known[name] for name in statement.parameters}
        rows = self.driver.read(_ANYBODY, lambda connection: connection.rows(statement, given), snapshot=False)
        return [row[0] for row in rows]

    def count_all(self, what: Tally, now: datetime, *, seconds: float) -> dict[str, int]:
        statement = self.statements[_CENSUS[what]]
        given = {name: to_micros(now) for name in statement.parameters}

        def count(connection: Connection) -> dict[str, int]:
            return {state: int(count) for state, count in connection.rows(statement, given)}

        return self.driver.read(_ANYBODY, count, snapshot=False, seconds=seconds)

    def tenants_of_other_models(self, model: str, same: Sequence[str] = (), *, limit: int = 100) -> list[str]:
        given = {"model": model, "ids": self.driver.encode_list(same), "limit": limit}
        return [row[0] for row in self._global_rows("tenants_of_other_models", given)]

    def tenants_of_model(self, model: str, *, limit: int = 100) -> list[str]:
        return [row[0] for row in self._global_rows("tenants_of_model", {"model": model, "limit": limit})]

    def index_model(self, tenant: str) -> str | None:
        rows = self._global_rows("find_index_model", {"tenant": tenant})
        return rows[0][0] if rows else None

    def set_index_model(self, tenant: str, model: str) -> None:
        statement = self.statements["set_index_model"]
        self.driver.write(None, lambda connection: connection.run(statement, {"tenant": tenant, "model": model}))

    def find_key(self, secret_hash: str) -> ApiKey | None:
        rows = self._global_rows("find_key", {"secret_hash": secret_hash})
        return key_from_row(rows[0]) if rows else None

    def has_keys(self) -> bool:
        return bool(self._global_rows("any_key", {}))

    def find_sign_in(self, token_hash: str) -> SignIn | None:
        rows = self._global_rows("find_sign_in", {"token_hash": token_hash})
        return sign_in_from_row(rows[0]) if rows else None

    def require_keys(self) -> None:
        """Raises EncryptionKeyError where a tenant is encrypted with a key that is not set, InvalidSetting where what
        is set is no key.
        """
        needed = [row[0] for row in self._global_rows("list_master_keys", {})]
        if self.keyring is not None:
            self.keyring.master.require(needed)
        elif needed:
            # Whoever was started before: what it shows would be encrypted, and what it writes would not.
            self._lacks_key = True
            raise EncryptionKeyError

    def ping(self) -> None:
        self.driver.require_sound()
        self._global_rows("ping", {})
        self.require_keys()

    def trouble(self) -> str:
        return self.driver.trouble()

    def examine(self, seconds: float) -> str:
        with suppress(EncryptionKeyError):
            self.require_keys()
        return self.driver.examine(seconds)

    def _global_rows(self, name: str, parameters: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        statement = self.statements[name]
        return self.driver.read(None, lambda connection: connection.rows(statement, parameters), snapshot=False)

    # Upkeep

    def check(self, *, thorough: bool = True) -> dict[str, str]:
        """The database's own checks, and ours: every row has its place in the index and its `created` event, and no
        event or token is of a memory that is gone.
        """
        findings = self.driver.health(thorough)
        for tenant in self.list_tenants():
            findings[f"tenant {tenant.id}"] = self.driver.read(tenant.id, partial(self._check_tenant, tenant.id))
        return findings

    def _check_tenant(self, tenant: str, connection: Connection) -> str:
        names = ("count_memories", "count_index_rows", "count_created", "count_orphan_events", "count_orphan_tokens")
        rows, indexed, created, orphans, tokens = (
            connection.rows(self.statements[name], {"tenant": tenant})[0][0] for name in names
        )
        if rows == indexed == created and orphans == tokens == 0:
            return "ok"
        return (
            f"{rows} rows, {indexed} of them indexed, {created} created events, {orphans} events and {tokens} tokens "
            "of no memory"
        )

    def checkpoint(self) -> None:
        self.driver.checkpoint()

    def scrub(self, tenant: str, *, rewrite: bool = True) -> tuple[str, ...]:
        return self.driver.scrub(tenant, [table.name for table in TABLES if not table.kept], rewrite=rewrite)

    def search_files(self, pieces: Collection[bytes]) -> frozenset[bytes] | None:
        files = self.driver.files()
        return find_in_files(files, pieces) if files else None

    def held_by_rows(self, pieces: Collection[bytes]) -> frozenset[bytes]:
        return self.driver.held_by_rows(pieces)

    def own_words(self) -> bytes:
        return "\n".join(row[0] for row in self._global_rows("list_own_words", {})).encode()

    def describe(self) -> Mapping[str, str | int]:
        return self.driver.describe()

    def queues(self) -> Mapping[str, float]:
        return self.driver.queues()

    def backup(self, path: Path) -> None:
        self.driver.backup(path)

    def close(self) -> None:
        self.driver.close()


def _new_keyring(keys: "Callable[[], MasterKeys]", statements: Mapping[str, SqlStatement]) -> "Keyring":
    from memorist.store.sealed import Keyring

    return Keyring(keys, statements)
