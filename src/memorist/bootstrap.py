"""The composition root: the only file that knows which parts are used."""

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from memorist.core import Core
from memorist.erasure.ledger import ledger_lines
from memorist.erasure.values import Receipt
from memorist.errors import Conflict, Forbidden, InvalidSetting, StoreCorrupt, StoreError, StoreUnavailable
from memorist.facts.port import Judge
from memorist.memories.policy import Policy
from memorist.models.port import Comparer, Embedder, Llm, Reranker, Tagger
from memorist.options import Options
from memorist.platform.backups import BackupPlan, mark_of
from memorist.platform.values import Principal, Role
from memorist.recall.index.snapshot_folder import SnapshotFolder
from memorist.recall.values import Weights
from memorist.settings import Settings, key_complaint
from memorist.store.drivers import Driver
from memorist.store.migrations import Migration
from memorist.store.sql_store import SqlStore
from memorist.times import Clock, SystemClock
from memorist.turns.limits import Toolbox, TurnLimits
from memorist.views.condition import condition_of
from memorist.watching import Watch

if TYPE_CHECKING:
    from memorist.models.embedder import LocalEmbedder
    from memorist.store.resealing import Resealing, TenantEncryption
    from memorist.store.sealing import MasterKeys

_SAVED_ELSEWHERE = (
    "Saved indexes: those on this machine are removed; those in `index_folder` on another one go when a process there "
    "next uses them."
)


def open_core(
    settings: Settings,
    *,
    clock: Clock | None = None,
    background: bool = True,
    watch: Watch | None = None,
    is_brief: bool = False,
) -> Core:
    """The core over the configured database, migrated to this release; `background` as for Core, and `is_brief` as
    for its options. Raises StoreError, and Conflict as `require_stopped` does.
    """
    clock = clock or SystemClock()
    watch = watch or Watch()
    store = open_store(settings, watch)
    try:
        bring_up_to_date(settings, store, clock.now())
        store.require_keys()
        if settings.encrypts and (saved := saved_indexes(settings)) is not None:
            saved.clear()  # They are from before there was a key.
        options = _options(settings, store, watch)
    except BaseException:
        store.close()
        raise
    return Core(store, clock, replace(options, is_brief=is_brief), background=background)


def bring_up_to_date(settings: Settings, store: SqlStore, now: datetime) -> list[Migration]:
    """Migrate a database to this release, and return what that took. Raises StoreError, and as `require_stopped`."""
    require_stopped(settings, store)
    return store.migrator.migrate(now)


def require_stopped(settings: Settings, store: SqlStore) -> None:
    """Raises Conflict where a migration would change the database under a server that runs on this machine."""
    if not store.migrator.pending() or not store.migrator.applied():
        return  # A database that is made now is nobody's.
    from memorist.running_servers import running

    # In this order: one that is noted as running has migrated what it would.
    if (addresses := running(settings)) and store.migrator.pending():
        raise Conflict(
            f"A server of these memories runs at {', '.join(addresses)}, and they are stored as a version before this "
            "one stores them. Stop it before you upgrade."
        )


def _options(settings: Settings, store: SqlStore, watch: Watch) -> Options:
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
        recall_budget_ms=settings.recall_budget_ms,
        index_inline=settings.index_inline,
        index_memory_bytes=settings.index_memory_mb << 20,
        index_folder=saved_indexes(settings),
        lacks_index_folder=settings.lacks_index_folder,
        tool_output_preview=settings.tool_output_preview,
        context_tokens=settings.context_tokens,
        check_interval_s=settings.check_interval_s,
        backups=backup_plan(settings, store),
        policy=Policy(anonymize_after_days=settings.anonymize_after_days),
        observation_days=settings.observation_days,
        turn_events_days=settings.turn_events_days,
        purge_at_once=settings.purge_at_once,
        sweep_interval_s=settings.sweep_interval_s,
        redact=settings.redact == "on",
        session_hours=settings.session_hours,
        recall_history=settings.recall_history,
        audit=settings.audit,
        audit_days=settings.audit_days,
        transcript_roots=tuple(Path(part).expanduser() for part in settings.transcript_roots.split(os.pathsep) if part),
        judge=partial(open_judge, settings, watch),
        tagger=partial(_local_tagger, settings.model_threads or None),
        judge_top_k=settings.judge_topk,
        judge_threshold=settings.judge_threshold,
        llm=partial(open_llm, settings),
        extraction_llm=partial(open_extraction_llm, settings),
        extractor=settings.extractor,
        extraction_answer_tokens=settings.extraction_answer_tokens,
        toolbox=_toolbox,
        turn_limits=TurnLimits(
            at_once=settings.turns_at_once,
            timeout_s=settings.turn_timeout_s,
            budget_usd=settings.turn_budget_usd,
            context_tokens=settings.llm_context_tokens,
        ),
        uploads=settings.data / "uploads",
        watch=watch,
    )


def _toolbox(core: Core) -> Toolbox:
    from memorist.turn_tools import MemoryTools

    return MemoryTools(core)


def open_embedder(settings: Settings) -> Embedder | None:
    """The configured embedder, not loaded yet; None where it is off."""
    if settings.embedder_url:
        from memorist.models.remote import RemoteEmbedder

        return RemoteEmbedder(
            settings.embedder_url, settings.embedder_model, settings.embedder_api_key, settings.model_timeout_s
        )
    return _local_embedder(settings.model_threads or None) if settings.embedder == "local" else None


def count_changed(store: SqlStore, embedder: Embedder, most: int) -> int:
    """How many tenants, of the first so many, have vectors that bear a remote model's name and that it does not make
    any more. It is asked. Raises ModelError or StoreError.
    """
    from memorist.recall.index.sameness import has_changed

    tenants = [tenant.id for tenant in store.list_tenants() if store.index_model(tenant.id) == embedder.model_id]
    return sum(has_changed(store, tenant, embedder) for tenant in tenants[:most])


def open_reranker(settings: Settings) -> Reranker | None:
    """The configured reranker, not loaded yet; None where it is off."""
    if settings.reranker_url:
        from memorist.models.remote import RemoteReranker

        return RemoteReranker(
            settings.reranker_url, settings.reranker_model, settings.reranker_api_key, settings.reranker_timeout_s
        )
    return _local_reranker(settings.model_threads or None) if settings.reranker == "local" else None


def open_llm(settings: Settings) -> Llm | None:
    """The configured language model; None where there is none."""
    if not settings.llm:
        return None
    from memorist.models.llm import HttpLlm
    from memorist.models.prices import Price

    provider, _, model = settings.llm.partition(":")
    variable = f"{provider.upper()}_API_KEY"
    key = settings.llm_api_key or os.environ.get(variable, "").strip()
    if complaint := key_complaint(key):
        raise InvalidSetting(f"{variable} {complaint}.", field="llm_api_key")
    return HttpLlm(
        provider,
        model,
        address=settings.llm_url,
        api_key=key,
        timeout_s=settings.llm_timeout_s,
        price=Price(*map(float, settings.llm_prices.split("/"))) if settings.llm_prices else None,
    )


def open_judge(settings: Settings, watch: Watch | None = None) -> Judge | None:
    """The configured judge of facts; None where there is none."""
    if not settings.judge_model:
        return None
    from memorist.facts.judges import AutoJudge, LlmJudge, LocalJudge

    watch = watch or Watch()
    local = LocalJudge(
        watch.model("comparer", _local_comparer(settings.model_threads or None)),
        None if settings.embedder_url else open_embedder(settings),
    )
    if settings.judge_model in ("auto", "local"):
        llm = watch.model("llm", open_llm(settings)) if settings.judge_model == "auto" else None
        return local if llm is None else AutoJudge(local, LlmJudge(llm, local, settings.judge_answer_tokens))
    llm = watch.model("llm", open_llm(_with_model(settings, settings.judge_model)))
    return None if llm is None else LlmJudge(llm, local, settings.judge_answer_tokens)


def open_extraction_llm(settings: Settings) -> Llm | None:
    """The language model that looks for memories; None where none is set apart for that."""
    if not settings.extraction_llm:
        return None
    asked = _with_model(settings, settings.extraction_llm)
    # The prices of `llm` are another model's.
    return open_llm(
        replace(
            asked,
            llm_url=settings.extraction_llm_url or asked.llm_url,
            llm_api_key=settings.extraction_llm_api_key or asked.llm_api_key,
            llm_prices=settings.extraction_llm_prices,
        )
    )


def _with_model(settings: Settings, model: str) -> Settings:
    """The settings of the language model for another model."""
    # The prices that are set are of the model that they are set with.
    asked = replace(settings, llm=model, llm_prices=settings.llm_prices if settings.llm in ("", model) else "")
    if settings.llm and settings.llm.partition(":")[0] != model.partition(":")[0]:
        # The address and the key are another provider's.
        asked = replace(asked, llm_url="", llm_api_key="")
    return asked


# One copy of the weights for all stores that a process opens.
@lru_cache(maxsize=2)
def _local_comparer(threads: int | None) -> Comparer:
    from memorist.models.comparer import LocalComparer

    return LocalComparer(threads)


@lru_cache(maxsize=2)
def _local_tagger(threads: int | None) -> Tagger:
    from memorist.models.tagger import LocalTagger

    return LocalTagger(threads, others=_local_embedder(threads).others)


@lru_cache(maxsize=2)
def _local_embedder(threads: int | None) -> "LocalEmbedder":
    from memorist.models.embedder import LocalEmbedder

    return LocalEmbedder(threads)


@lru_cache(maxsize=2)
def _local_reranker(threads: int | None) -> Reranker:
    from memorist.models.reranker import LocalReranker

    return LocalReranker(threads)


def open_store(settings: Settings, watch: Watch | None = None, *, as_it_is: bool = False) -> SqlStore:
    """The configured database, not migrated; `as_it_is`: for who only looks, and changes no byte. Raises StoreError."""
    return SqlStore(_open_driver(settings, as_it_is=as_it_is), watch, _master_keys(settings))


def _master_keys(settings: Settings) -> "Callable[[], MasterKeys] | None":
    if not settings.encrypts:
        return None
    from memorist.store.sealing import read_master_keys

    file, text, command = settings.encryption_key_file, settings.encryption_key, settings.encryption_key_command
    return partial(read_master_keys, file, text, command)


def encryption_of(store: SqlStore) -> "list[TenantEncryption]":
    """How far each tenant is encrypted, which takes no key to see."""
    from memorist.store.resealing import encryption_of

    return [encryption_of(store, tenant.id) for tenant in store.list_tenants()]


def resealing_of(core: Core) -> "Resealing":
    """What encrypts the tenants of a core's database. Raises EncryptionKeyError."""
    from memorist.store.resealing import Resealing

    assert isinstance(core.store, SqlStore), "open_core makes no other"
    return Resealing(core.store)


def _open_driver(settings: Settings, *, as_it_is: bool) -> Driver:
    # Each driver's library is imported only by those who use it.
    path = settings.sqlite_path()
    if path is None:
        from memorist.store.postgres import PostgresDriver

        return PostgresDriver(settings.database_url(), pool_size=settings.pool_size, timeout_s=settings.pool_timeout_s)
    from memorist.store.sqlite import SqliteDriver

    return SqliteDriver(path, busy_timeout_ms=settings.busy_timeout_ms, as_it_is=as_it_is)


def backup_plan(settings: Settings, store: SqlStore) -> BackupPlan | None:
    """The backups that a server is to make of the database; None where there are to be none, or another server's tools
    make them. Raises StoreError."""
    path = settings.sqlite_path()
    if not settings.backup_every_hours or path is None:
        return None
    folder, every = settings.backups_path(), timedelta(hours=settings.backup_every_hours)
    made_at = min((one.applied_at for one in store.migrator.applied()), default=datetime.min.replace(tzinfo=UTC))
    mark = mark_of(path, made_at, folder)
    return BackupPlan(folder, every, settings.backup_keep_days, settings.backup_keep_weeks, mark)


def saved_indexes(settings: Settings) -> SnapshotFolder | None:
    """The folder where large indexes are saved; None where there is none. Nothing of what is sealed goes there."""
    path = settings.shelves_path()
    limit = 0 if settings.encrypts else settings.index_disk_mb << 20
    holds = _SAVED_ELSEWHERE if limit and settings.sqlite_path() is None else ""
    return None if path is None else SnapshotFolder(path, limit, holds=holds)


def create_backup(settings: Settings, path: Path) -> None:
    """Write a consistent copy of the database to a file, which appears when it is complete. Raises StoreError."""
    with closing(open_store(settings)) as store:
        store.backup(path)


def restore_backup(
    settings: Settings, path: Path, *, ledger: Iterable[str] | None = None, overwrite: bool = False
) -> list[Receipt]:
    """Put a backup in place of the database, brought up to this release, and erase again what was erased since.

    What was, the database that is replaced knows; where there is none to ask, `ledger` says it. Returns the erasures
    that were applied. Raises StoreError or Conflict, and changes nothing then.
    """
    target = settings.sqlite_path()
    if target is None:
        raise StoreUnavailable(
            "A backup is restored into an SQLite file; name one with --data. To bring its memories into PostgreSQL, "
            "export them from the file and import them: `memorist export --database FILE | memorist import - …`."
        )
    from memorist.store.backups import copy_checked, held, into_one_file, placed

    known: list[str] = []
    is_there = target.exists()
    if is_there:
        if not overwrite:
            raise Conflict(f"There is a database at {target}. Replace it with --force.")
        with held(target):
            pass  # Nobody's: it may be migrated.
        known = _ledger_of(settings, required=ledger is None)
    # Whoever opened it meanwhile would write to what is replaced.
    with held(target) if is_there else nullcontext(), placed(target, replaces=is_there) as draft:
        copy_checked(path, draft)
        core = open_core(replace(settings, database=str(draft)))
        try:
            applied = [receipt for lines in (known, ledger) if lines for receipt in core.erasure.apply(lines)]
        finally:
            core.close()
        into_one_file(draft)
    if (saved := saved_indexes(settings)) is not None:
        saved.clear()
    return applied


@dataclass(frozen=True, slots=True)
class RestoreDrill:
    """What came of restoring a backup where nobody uses it."""

    findings: Mapping[str, str]
    rows: Mapping[str, int]
    """How many, by table, after what was erased since is erased again."""
    erased_since: int
    """Erasures since the backup was made: it still holds what they erased."""
    left: int
    """Those of which something is left after restoring, though they were made again."""

    @property
    def ok(self) -> bool:
        return not self.left and all(finding == "ok" for finding in self.findings.values())


def verify_backup(settings: Settings, path: Path, *, ledger: Iterable[str] | None = None) -> RestoreDrill:
    """Restore a backup into a folder that is removed afterwards, check every row, and erase what was erased since.

    The database and the backup are not changed. Raises StoreError where it cannot be restored.
    """
    known = list(ledger or [])
    file = settings.sqlite_path()
    if file is None or file.exists():
        own = _ledger_of(settings, required=False, migrate=False)
        known = [*known, *own[1:]] if known else own
    with TemporaryDirectory(prefix="memorist-verify-") as folder:
        # The folder of the index is the database's own, and a restored file would empty it.
        drill = replace(settings, database=str(Path(folder) / "memorist.db"), index_folder="")
        applied = restore_backup(drill, path, ledger=known or None)
        core = open_core(drill, background=False)
        try:
            for tenant in core.store.list_tenants():
                core.indexer.prepare(tenant.id)
            left = sum(not core.erasure.verifier.verify(receipt).ok for receipt in applied)
            rows = condition_of(core.store, core.clock.now()).rows
            return RestoreDrill(dict(core.store.check()), dict(rows), len(applied), left)
        finally:
            core.close()


def _ledger_of(settings: Settings, *, required: bool, migrate: bool = True) -> list[str]:
    try:
        with closing(open_store(settings)) as store:
            if migrate:
                store.migrator.migrate(SystemClock().now())
            elif store.migrator.pending():
                return []
            return list(ledger_lines(store))
    except StoreError as error:
        if required:
            raise StoreCorrupt(
                "The database that is to be replaced cannot be asked what was erased from it. "
                f"Name a ledger with --ledger. ({error.message})"
            ) from error
        return []


def run_server(settings: Settings, *, as_json: bool = False, origins: Mapping[str, str] | None = None) -> None:
    """Greet, for people or for programs, and serve until told to stop. `origins`: where each setting came from.

    Raises StoreError, InvalidSetting or Conflict.
    """
    from memorist.observing.observer import observer
    from memorist.surfaces.http.server import listen, serve

    if settings.backup_every_hours and settings.sqlite_path() is None:
        raise InvalidSetting(
            "backup_every_hours is for the embedded database, and this one is PostgreSQL: back it up with its own "
            "tools, such as pg_dump, and leave this out.",
            field="backup_every_hours",
        )
    # First of all: who cannot have the port changes no database.
    with listen(settings) as listener:
        # Where several serve, theirs watch; this one says before anything else what keeps them from it.
        core = open_core(settings, background=settings.workers == 1, watch=observer(settings))
        core.start()
        serve(core, settings, listener, as_json=as_json, origins=origins)


def run_worker() -> None:
    """Serve as one of several processes, as the one that started this says on stdin.

    Raises StoreError or InvalidSetting.
    """
    from memorist.observing.observer import observer
    from memorist.surfaces.http.server import serve_with_others
    from memorist.surfaces.http.workers import Task

    task = Task.read()
    core = open_core(task.settings, watch=observer(task.settings))
    core.start(rounds=task.number == 0)
    serve_with_others(core, task)


def run_mcp(
    settings: Settings,
    *,
    tenant: str | None = None,
    user: str | None = None,
    agent: str | None = None,
    session: str | None = None,
) -> None:
    """Serve an MCP client on stdin and stdout, from the database or, where the settings name one, from a server.

    Raises StoreError, InvalidSetting, InvalidField, Unauthenticated or Forbidden, before anything is served.
    """
    import logging

    from memorist.surfaces.http.logs import set_up_logging
    from memorist.surfaces.mcp.server import ForwardedMemory, StoredMemory
    from memorist.surfaces.mcp.stdio import serve_stdio

    set_up_logging(settings)
    for library in ("mcp", "httpx2"):  # They tell of every request, and clients show what is told as trouble.
        logging.getLogger(library).setLevel(logging.WARNING)
    if settings.url:
        named = {"user": user, "agent": agent or settings.agent, "session": session}
        remote = ForwardedMemory(
            settings.url, settings.api_key, {name: value for name, value in named.items() if value}, settings.ca_file
        )
        serve_stdio(remote, remote.close)
        return
    core = open_core(settings)

    def caller() -> Principal:
        return local_principal(core, settings, tenant=tenant, user=user, agent=agent, session=session)

    try:
        at_first = caller()
    except BaseException:
        core.close()
        raise
    # A client may keep the process for days, in which a key ends; without one nothing changes.
    serve_stdio(StoredMemory(core, caller if settings.api_key else lambda: at_first), core.close)


def local_principal(
    core: Core,
    settings: Settings,
    *,
    tenant: str | None = None,
    user: str | None = None,
    agent: str | None = None,
    session: str | None = None,
    source: str = "mcp",
) -> Principal:
    """Whom a program on this machine acts as: the holder of the API key, else the user of the settings.

    Whoever can open the database could be anybody in it; an agent's program is an ordinary user all the same.
    Raises Unauthenticated, Forbidden or InvalidField.
    """
    from memorist.platform import access, validation

    for name, value in (("user", user), ("agent", agent), ("session", session)):
        if value is not None:
            validation.identifier(name, value)
    if settings.api_key:
        holder = core.identity.authenticate(settings.api_key, source=source)
        if tenant not in (None, holder.tenant):
            raise Forbidden("This key belongs to another tenant.")
        return access.acting(holder, user=user, agent=agent, session=session)
    home, _ = core.identity.create_tenant(validation.tenant_name(tenant or settings.tenant))
    return Principal(
        home.id,
        Role.USER,
        validation.identifier("user", user or settings.user),
        agent or settings.agent or None,
        session,
        source=source,
    )
