"""The composition root: the only file that knows which parts are used."""

from memorist.core.core import Core
from memorist.ports import Clock
from memorist.settings import Settings
from memorist.store.drivers import Driver
from memorist.store.sql_store import SqlStore
from memorist.times import SystemClock


def open_core(settings: Settings, *, clock: Clock | None = None) -> Core:
    """The core over the configured database, migrated to this release. Raises StoreError."""
    clock = clock or SystemClock()
    store = open_store(settings)
    try:
        store.migrator.migrate(clock.now())
    except BaseException:
        store.close()
        raise
    return Core(store, clock)


def open_store(settings: Settings) -> SqlStore:
    """The configured database as it is, not migrated. Raises StoreError."""
    return SqlStore(_open_driver(settings))


def _open_driver(settings: Settings) -> Driver:
    # Each driver's library is imported only by those who use it.
    path = settings.sqlite_path()
    if path is None:
        from memorist.store.postgres import PostgresDriver

        return PostgresDriver(settings.database_url(), pool_size=settings.pool_size, timeout_s=settings.pool_timeout_s)
    from memorist.store.sqlite import SqliteDriver

    return SqliteDriver(path, busy_timeout_ms=settings.busy_timeout_ms)


def run_server(settings: Settings, *, as_json: bool = False) -> None:
    """Greet, for people or for programs, and serve until told to stop. Raises StoreError or InvalidSetting."""
    from memorist.surfaces.http.server import serve

    serve(open_core(settings), settings, as_json=as_json)
