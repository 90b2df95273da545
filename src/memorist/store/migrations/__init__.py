"""Numbered, append-only migrations. Each runs once, in order, in one transaction that only one process holds."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path

from memorist.errors import StoreOutdated
from memorist.store.drivers import Connection, Driver
from memorist.store.statements import SqlStatement
from memorist.times import from_micros, to_micros


@dataclass(frozen=True, slots=True)
class Migration:
    version: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Applied:
    version: int
    name: str
    checksum: str
    applied_at: datetime


@cache
def load_migrations(dialect: str) -> list[Migration]:
    """The migrations that this release knows, in order. Read once; nobody may change them."""
    paths = sorted((Path(__file__).parent / dialect).glob("*.sql"))
    return [Migration(int(path.name[:4]), path.stem[5:], path.read_text("utf-8")) for path in paths]


class Migrator:
    """Brings a database up to this release."""

    def __init__(self, driver: Driver, statements: dict[str, SqlStatement], known: Sequence[Migration]) -> None:
        self._driver = driver
        self._statements = statements
        self._known = list(known)

    def applied(self) -> list[Applied]:
        """What has been applied; empty for a new database. Writes nothing, so that a read-only one can be asked."""
        return self._driver.read(None, self._read_applied)

    def pending(self) -> list[Migration]:
        return self._missing(self.applied())

    def migrate(self, now: datetime) -> list[Migration]:
        """Apply what is missing and return it. Raises StoreOutdated where a newer release was here."""

        if not self.pending():
            return []

        def work(connection: Connection) -> list[Migration]:
            connection.run(self._statements["create_migrations_table"], {})
            missing = self._missing(self._read_applied(connection))
            for migration in missing:
                connection.script(self._driver.prepare_migration(migration.sql))
                connection.run(
                    self._statements["record_migration"],
                    {
                        "version": migration.version,
                        "name": migration.name,
                        "checksum": migration.checksum,
                        "applied_at": to_micros(now),
                    },
                )
            return missing

        return self._driver.exclusive(work)

    def _read_applied(self, connection: Connection) -> list[Applied]:
        if connection.rows(self._statements["has_migrations_table"], {}) == [(0,)]:
            return []
        rows = connection.rows(self._statements["applied_migrations"], {})
        return [Applied(row[0], row[1], row[2], from_micros(row[3])) for row in rows]

    def _missing(self, applied: Sequence[Applied]) -> list[Migration]:
        known = {migration.version: migration for migration in self._known}
        for entry in applied:
            migration = known.get(entry.version)
            if migration is None:
                raise StoreOutdated
            if migration.checksum != entry.checksum:
                raise StoreOutdated(
                    f"Migration {entry.version} of this database is not the one this release has. "
                    "Use the release that made it, then export and import."
                )
        done = {entry.version for entry in applied}
        return [migration for migration in self._known if migration.version not in done]
