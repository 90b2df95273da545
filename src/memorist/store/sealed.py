"""Encryption between the statements and the database: what they bind goes in encrypted, what comes out is plain.

The one place where it happens. `tables.py` says which columns are encrypted; a statement knows its parameters by them
(`SqlStatement.seals`), and what is encrypted is recognised by how it begins.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from memorist.platform.values import SEALED_TEXT, Seal
from memorist.store.drivers import Connection, Parameters, Row, Values
from memorist.store.sealing import BYTES_MARK, EQUAL_MARK, SECRET_BYTES, MasterKeys, TenantKeys, UnknownKey
from memorist.store.statements import SqlStatement
from memorist.times import Clock, SystemClock, to_micros

_MARKS = (SEALED_TEXT, EQUAL_MARK)
# Tenants whose keys are kept ready.
_MOST_KEPT = 1024
# How often rows are read again whose key is not there: between two statements it may have been changed.
_MOST_LOOKS = 3
_Rows = tuple[tuple[int, bytes, str, int], ...]


class Keyring:
    """The keys of all tenants, as the database has them. Every transaction asks it anew, so that it never differs."""

    def __init__(
        self, load: Callable[[], MasterKeys], statements: Mapping[str, SqlStatement], clock: Clock | None = None
    ) -> None:
        self._load = load
        self._statements = statements
        self._clock = clock or SystemClock()
        # Unwrapping takes as long as the statement that finds them. Those that are gone from there go from here too.
        self._unwrapped: dict[str, tuple[_Rows, TenantKeys]] = {}

    @cached_property
    def master(self) -> MasterKeys:
        """Raises InvalidSetting."""
        return self._load()

    def rows(self, connection: Connection, tenant: str) -> _Rows:
        """What the database has of a tenant's keys."""
        return tuple(connection.rows(self._statements["list_tenant_keys"], {"tenant": tenant}))

    def keys_of(self, tenant: str, rows: _Rows) -> TenantKeys | None:
        """Raises EncryptionKeyError. None where there is no key."""
        if not any(number for number, *_ in rows):
            self._unwrapped.pop(tenant, None)
            return None
        known = self._unwrapped.get(tenant)
        if known is None or known[0] != rows:
            if len(self._unwrapped) >= _MOST_KEPT:
                self._unwrapped.clear()
            secrets = {row[0]: self.master.unwrap(tenant, *row[:3]) for row in rows if row[0]}
            known = self._unwrapped[tenant] = (rows, TenantKeys(secrets, is_complete=bool(rows[-1][3])))
        return known[1]

    def find(self, connection: Connection, tenant: str, *, writing: bool) -> TenantKeys | None:
        """A tenant's keys for the rest of a transaction; None where it is not encrypted. Raises EncryptionKeyError."""
        if writing:
            connection.rows(self._statements["share_tenant"], {"tenant": tenant})
        rows = self.rows(connection, tenant)
        keys = self.keys_of(tenant, rows)
        if keys is None and rows and writing:
            # All that it had was erased, with its keys.
            connection.rows(self._statements["lock_tenant"], {"tenant": tenant})
            if not any(number for number, *_ in self.rows(connection, tenant)):
                self.add(connection, tenant, None, is_complete=True)
            keys = self.keys_of(tenant, self.rows(connection, tenant))
        return keys

    def mark(self, connection: Connection, tenant: str) -> None:
        """Note that a tenant is encrypted from now on."""
        self._insert(connection, tenant, 0, b"", is_complete=True)

    def add(self, connection: Connection, tenant: str, before: _Rows | None, *, is_complete: bool) -> None:
        """A new key, after those from before."""
        secret = os.urandom(SECRET_BYTES)
        # The first number is the time, so that those of a tenant that was erased do not come again.
        number = to_micros(self._clock.now()) // 1_000_000
        if before is not None:
            last = before[-1]
            old = self.master.unwrap(tenant, *last[:3])
            # What equal values are encrypted with stays: they could not be found while it changes.
            secret = secret[: SECRET_BYTES - 64] + old[-64:]
            number = max(number, last[0] + 1)
        self._insert(connection, tenant, number, self.master.wrap(tenant, number, secret), is_complete=is_complete)

    def _insert(self, connection: Connection, tenant: str, number: int, wrapped: bytes, *, is_complete: bool) -> None:
        key = {"tenant": tenant, "number": number, "wrapped": wrapped, "master": self.master.name}
        more = {"is_complete": int(is_complete), "created_at": to_micros(self._clock.now())}
        connection.run(self._statements["insert_tenant_key"], key | more)


class SealedConnection:
    """A connection inside a transaction of one tenant, which may be encrypted."""

    def __init__(self, connection: Connection, tenant: str, keyring: Keyring, *, writing: bool) -> None:
        self._connection = connection
        self._tenant = tenant
        self._keyring = keyring
        self._writing = writing

    @cached_property
    def _keys(self) -> TenantKeys | None:
        return self._keyring.find(self._connection, self._tenant, writing=self._writing)

    def rows(self, statement: SqlStatement, parameters: Parameters) -> list[Row]:
        return self._opened(statement, lambda: [self._connection.rows(statement, self._sealed(statement, parameters))])[
            0
        ]

    def rows_of_each(self, statement: SqlStatement, parameters: Sequence[Parameters]) -> list[list[Row]]:
        return self._opened(
            statement,
            lambda: self._connection.rows_of_each(statement, [self._sealed(statement, one) for one in parameters]),
        )

    def run(self, statement: SqlStatement, parameters: Parameters | Values) -> int:
        return self._connection.run(statement, self._sealed(statement, parameters))

    def run_many(self, statement: SqlStatement, parameters: Sequence[Parameters | Values]) -> int:
        return self._connection.run_many(statement, [self._sealed(statement, one) for one in parameters])

    def script(self, sql: str) -> None:
        self._connection.script(sql)

    def _sealed(self, statement: SqlStatement, parameters: Any) -> Any:
        if not statement.seals or (keys := self._keys) is None:
            return parameters
        how = {Seal.TEXT: keys.seal, Seal.EQUAL: keys.match, None: _as_it_is}
        if isinstance(parameters, tuple):
            return tuple(how[seal](value) for seal, value in zip(statement.seals, parameters, strict=True))
        changed = {
            name: how[seal](parameters[name])
            for name, seal in zip(statement.parameters, statement.seals, strict=True)
            if seal is not None
        }
        return {**parameters, **changed}

    def _opened(self, statement: SqlStatement, read: Callable[[], list[list[Row]]]) -> list[list[Row]]:
        """What was read, in plain text. Raises StoreCorrupt.

        Where each statement sees a state of its own, the keys may be of another one than the rows: then both are read
        again. What a statement writes is not: that happens once.
        """
        found = read()
        looks = _MOST_LOOKS if not self._writing or statement.sql.startswith("SELECT") else 0
        for _ in range(looks):
            try:
                return self._open_all(found, is_sure=False)
            except UnknownKey:
                vars(self).pop("_keys", None)
                found = read()
        return self._open_all(found, is_sure=True)

    def _open_all(self, found: list[list[Row]], *, is_sure: bool) -> list[list[Row]]:
        """Raises UnknownKey where rows and keys may be of two states, unless it `is_sure` that they are not."""
        if not any(_is_marked(value) for rows in found for row in rows for value in row):
            return found
        is_from_before = "_keys" in vars(self)
        keys = self._keys
        if keys is None:
            # It is somebody's text that looks like that; or the tenant was encrypted since it was asked.
            if is_from_before and not is_sure:
                raise UnknownKey
            return found
        opened = keys.open if is_sure else keys.open_known
        return [
            [tuple(opened(value) if _is_marked(value) else value for value in row) for row in rows] for rows in found
        ]


def _is_marked(value: Any) -> bool:
    kind = type(value)
    return (kind is str and value.startswith(_MARKS)) or (kind is bytes and value.startswith(BYTES_MARK))


def _as_it_is(value: Any) -> Any:
    return value
