"""The composition root: the only file that knows which parts are used."""

from functools import lru_cache, partial

from memorist.core.core import Core, Options
from memorist.model import Weights
from memorist.ports import Clock, Embedder, Reranker
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
    return Core(store, clock, _options(settings))


def _options(settings: Settings) -> Options:
    return Options(
        embedder=partial(open_embedder, settings),
        reranker=partial(open_reranker, settings),
        weights=Weights(
            session=settings.recall_weight_session,
            user=settings.recall_weight_user,
            agent=settings.recall_weight_agent,
            tenant=settings.recall_weight_tenant,
            history=settings.recall_weight_history,
        ),
        min_score=settings.recall_min_score,
        index_inline=settings.index_inline,
        index_memory_bytes=settings.index_memory_mb << 20,
        tool_output_preview=settings.tool_output_preview,
    )


def open_embedder(settings: Settings) -> Embedder | None:
    """The configured embedder, not loaded yet; None where it is off."""
    if settings.embedder_url:
        from memorist.models.remote import RemoteEmbedder

        return RemoteEmbedder(
            settings.embedder_url, settings.embedder_model, settings.embedder_api_key, settings.model_timeout_s
        )
    return _local_embedder(settings.model_threads or None) if settings.embedder == "local" else None


def open_reranker(settings: Settings) -> Reranker | None:
    """The configured reranker, not loaded yet; None where it is off."""
    if settings.reranker_url:
        from memorist.models.remote import RemoteReranker

        return RemoteReranker(
            settings.reranker_url, settings.reranker_model, settings.reranker_api_key, settings.model_timeout_s
        )
    return _local_reranker(settings.model_threads or None) if settings.reranker == "local" else None


# One copy of the weights for all stores that a process opens.
@lru_cache(maxsize=2)
def _local_embedder(threads: int | None) -> Embedder:
    from memorist.models.embedder import LocalEmbedder

    return LocalEmbedder(threads)


@lru_cache(maxsize=2)
def _local_reranker(threads: int | None) -> Reranker:
    from memorist.models.reranker import LocalReranker

    return LocalReranker(threads)


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

    core = open_core(settings)
    core.start()
    serve(core, settings, as_json=as_json)
