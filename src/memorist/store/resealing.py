"""Encrypts what a tenant has, or encrypts it anew, some rows at a time: what was done stays done if it is stopped."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from memorist.errors import EncryptionKeyError, NotFound
from memorist.store.drivers import Connection
from memorist.store.sealed import Keyring
from memorist.store.sealing import TenantKeys
from memorist.store.sql_store import SqlStore
from memorist.store.statements import from_template
from memorist.store.tables import SEALED, Table

_ROWS = 500
# Rows whose texts may be as long as a book.
_FEW_ROWS = {"documents": 8, "tool_outputs": 8}
# Before every row; all other columns that tell rows apart are texts.
_FIRST: dict[str, Any] = {"seq": -1, "at": -(2**62)}

Done = Callable[[str, int], object]
"""Told which table is at work, and how many of its rows were encrypted."""


@dataclass(frozen=True, slots=True)
class TenantEncryption:
    tenant: str
    is_encrypted: bool
    is_complete: bool
    """Whether nothing of it is left in plain text, or encrypted with an older key, in rows or in files."""
    keys: int
    master: str
    """The name of the master key that wraps the newest."""


def encryption_of(store: SqlStore, tenant: str) -> TenantEncryption:
    """How far a tenant is encrypted, which takes no key to see."""
    statement = store.statements["list_tenant_keys"]
    rows = store.driver.read(tenant, lambda connection: connection.rows(statement, {"tenant": tenant}))
    keys = [row for row in rows if row[0]]
    return TenantEncryption(tenant, bool(rows), bool(rows and rows[-1][3]), len(keys), keys[-1][2] if keys else "")


class Resealing:
    def __init__(self, store: SqlStore) -> None:
        """Raises EncryptionKeyError where no key is set."""
        if store.keyring is None:
            raise EncryptionKeyError(
                "No key is set. Make one with `openssl rand -base64 32 > FILE`, and set encryption_key_file to FILE "
                "for every process that opens this database."
            )
        self._store = store
        self._keyring: Keyring = store.keyring
        self._driver = store.driver
        self._statements = store.statements

    def enable(self, tenant: str, done: Done) -> tuple[str, ...]:
        """Encrypt all that a tenant has; goes on where it was stopped. Returns what may still hold plain text.

        Raises StoreError; it can then be repeated.
        """
        if tenant not in [known.id for known in self._store.list_tenants()]:
            raise NotFound(f"There is no tenant {tenant[:60]!r}.")
        self._driver.write(tenant, partial(self._begin, tenant))
        return self._finish(tenant, done)

    def rotate(self, tenant: str, done: Done) -> tuple[str, ...]:
        """Encrypt all that a tenant has with a new key, and drop those from before; goes on where it was stopped."""

        def begin(connection: Connection) -> None:
            self._lock(connection, tenant)
            rows = self._keyring.rows(connection, tenant)
            if any(row[0] for row in rows) and rows[-1][3]:
                self._keyring.add(connection, tenant, rows, is_complete=False)

        self._driver.write(tenant, begin)
        return self._finish(tenant, done)

    def rewrap(self, tenant: str) -> int:
        """Wrap a tenant's keys with the current master key. Returns how many were not."""

        def work(connection: Connection) -> int:
            self._lock(connection, tenant)
            master = self._keyring.master
            old = [row for row in self._keyring.rows(connection, tenant) if row[0] and row[2] != master.name]
            for number, wrapped, name, _ in old:
                again = master.wrap(tenant, number, master.unwrap(tenant, number, wrapped, name))
                values = {"tenant": tenant, "number": number, "wrapped": again, "master": master.name}
                connection.run(self._statements["rewrap_tenant_key"], values)
            return len(old)

        return self._driver.write(tenant, work)

    def _begin(self, tenant: str, connection: Connection) -> None:
        """A key for a tenant that has none, and whatever is looked for by it: in one transaction, or a name could be
        given twice."""
        self._lock(connection, tenant)
        if self._keyring.rows(connection, tenant):
            return
        self._keyring.mark(connection, tenant)
        self._keyring.add(connection, tenant, None, is_complete=False)
        keys = self._keys(connection, tenant)
        for table in SEALED.values():
            if table.matched:
                for page in self._pages(connection, tenant, table, table.matched):
                    self._put(connection, tenant, table, table.matched, keys.match, [(row, row) for row in page])

    def _finish(self, tenant: str, done: Done) -> tuple[str, ...]:
        status = encryption_of(self._store, tenant)
        if not status.keys or (status.is_complete and status.keys == 1):
            return ()
        # Until nothing is left: a row that gets another user meanwhile may be moved to where it was not looked for.
        while True:
            # The newest key before all is looked through: another may be made at any time, and is not complete then.
            number = self._driver.read(tenant, lambda connection: self._keys(connection, tenant).number)
            if not sum(self._seal_table(tenant, table, done) for table in SEALED.values()):
                break
        remains = self._store.scrub(tenant)
        # Not before: whoever repeats this after it failed, or was killed, has the files written anew.
        self._driver.write(tenant, partial(self._complete, tenant, number))
        return remains

    def _seal_table(self, tenant: str, table: Table, done: Done) -> int:
        after: tuple[Any, ...] | None = _first(table)
        total = 0
        while after is not None:
            after, sealed = self._driver.write(tenant, partial(self._seal_page, tenant, table, after))
            total += sealed
            done(table.name, sealed)
        return total

    def _seal_page(
        self, tenant: str, table: Table, after: tuple[Any, ...], connection: Connection
    ) -> tuple[tuple[Any, ...] | None, int]:
        """Encrypt the rows after one. Returns the last of them, None where there are no more, and how many it were."""
        keys = self._keys(connection, tenant)
        rows = self._page(connection, tenant, table, table.sealed, after)
        begin = len(table.row)
        old = [row for row in rows if not all(map(keys.is_current, row[begin:]))]
        opened = [(row, (*row[:begin], *map(keys.open, row[begin:]))) for row in old]
        sealed = self._put(connection, tenant, table, table.sealed, keys.seal, opened)
        if sealed < len(old):
            # Somebody changed a row meanwhile, and may have left part of it as it was.
            return after, sealed
        is_last = len(rows) < _FEW_ROWS.get(table.name, _ROWS)
        return (None if is_last else rows[-1][:begin]), sealed

    def _complete(self, tenant: str, number: int, connection: Connection) -> None:
        self._lock(connection, tenant)
        key = {"tenant": tenant, "number": number}
        connection.run(self._statements["complete_tenant_key"], key)
        connection.run(self._statements["drop_tenant_keys"], key)

    def _pages(
        self, connection: Connection, tenant: str, table: Table, columns: tuple[str, ...]
    ) -> Iterator[list[tuple[Any, ...]]]:
        after = _first(table)
        while rows := self._page(connection, tenant, table, columns, after):
            after = rows[-1][: len(table.row)]
            yield rows

    def _page(
        self, connection: Connection, tenant: str, table: Table, columns: tuple[str, ...], after: tuple[Any, ...]
    ) -> list[tuple[Any, ...]]:
        statement = from_template(self._driver.dialect, "list_sealed", table, columns)
        position = {f"after_{column}": value for column, value in zip(table.row, after, strict=True)}
        limit = _FEW_ROWS.get(table.name, _ROWS)
        return connection.rows(statement, {"tenant": tenant, "limit": limit, **position})

    def _put(
        self,
        connection: Connection,
        tenant: str,
        table: Table,
        columns: tuple[str, ...],
        seal: Callable[[Any], Any],
        rows: Sequence[tuple[tuple[Any, ...], tuple[Any, ...]]],
    ) -> int:
        """Each row as it is and as it is in plain text. Returns how many nobody had changed."""
        statement = from_template(self._driver.dialect, "seal", table, columns)
        begin = len(table.row)
        values = [
            {
                "tenant": tenant,
                **dict(zip((*table.row, *columns), stored, strict=True)),
                **{f"new_{column}": seal(value) for column, value in zip(columns, plain[begin:], strict=True)},
            }
            for stored, plain in rows
        ]
        return connection.run_many(statement, values)

    def _keys(self, connection: Connection, tenant: str) -> TenantKeys:
        keys = self._keyring.keys_of(tenant, self._keyring.rows(connection, tenant))
        if keys is None:
            raise NotFound(f"The tenant {tenant!r} was erased meanwhile.")
        return keys

    def _lock(self, connection: Connection, tenant: str) -> None:
        connection.rows(self._statements["lock_tenant"], {"tenant": tenant})


def _first(table: Table) -> tuple[Any, ...]:
    return tuple(_FIRST.get(column, "") for column in table.row)
