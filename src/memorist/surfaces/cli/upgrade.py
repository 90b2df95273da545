"""`memorist upgrade`: what is pending between this version and the database, and doing it."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from memorist.bootstrap import create_backup, open_core, open_embedder, require_stopped
from memorist.platform.backups import stamp_of
from memorist.running_servers import running, version_at
from memorist.settings import Settings
from memorist.settings_sources import LoadedSettings, load_settings
from memorist.surfaces.cli.db import existing_store
from memorist.surfaces.cli.door import operator_settings
from memorist.surfaces.cli.failures import FAILED_CHECK
from memorist.surfaces.cli.flags import REFUSED_KEY, STORE, Flags, with_flags
from memorist.surfaces.cli.terminal import counted, note, print_json, print_line, print_table
from memorist.times import SystemClock
from memorist.version import __version__
from memorist.views.condition import condition_of


@dataclass(frozen=True, slots=True)
class PendingStep:
    """Something that this version asks for: what it is, and what to do."""

    what: str
    finding: str
    do: str


@with_flags(*STORE, *REFUSED_KEY)
def upgrade(
    flags: Flags,
    check: Annotated[bool, typer.Option("--check", help="Only say what is pending; exits with 1 then.")] = False,
    no_backup: Annotated[bool, typer.Option("--no-backup", help="Migrate without a backup before.")] = False,
) -> None:
    """Bring the database up to this version: back it up where it is embedded, migrate it, and index what needs it.

    No server may be using it. What then is left for you to do is said; the guide has the notes of each version.
    """
    settings = operator_settings(flags)
    loaded = load_settings(flags.as_settings())
    path = settings.sqlite_path()
    if path is not None and not path.exists():
        _answer(flags, {"version": __version__, "pending": []}, [], f"There is no database at {path} yet.")
    elif check:
        steps = _pending(loaded)
        _answer(flags, {"version": __version__, "pending": list(map(asdict, steps))}, steps, "Nothing is pending.")
        if steps:
            raise typer.Exit(FAILED_CHECK)
    else:
        backup, applied = _migrated(settings, backup=not no_backup)
        _index(settings)
        steps = _pending(loaded)
        record = {"version": __version__, "backup": backup and str(backup), "applied": applied}
        if backup is not None and not flags.as_json:
            note(f"Backed up to {backup}.")
        if not flags.as_json:
            for name in applied:
                print_line(name)
            note(f"{counted(len(applied), 'migration')} applied." if applied else "The database is up to date.")
        _answer(flags, {**record, "left": list(map(asdict, steps))}, steps, "")


def _answer(flags: Flags, record: dict[str, Any], steps: list[PendingStep], otherwise: str) -> None:
    if flags.as_json:
        print_json(record)
    elif steps:
        print_table(["pending", "finding", "what to do"], [[one.what, one.finding, one.do] for one in steps])
    elif otherwise:
        note(otherwise)


def _pending(loaded: LoadedSettings) -> list[PendingStep]:
    """What is to be done, in order. Raises StoreOutdated where a newer version was here."""
    steps = [
        PendingStep(
            "server", f"{address} runs version {version or 'unknown'}", "stop it, and start it with this version"
        )
        for address in running(loaded.settings)
        if (version := version_at(address)) != __version__
    ]
    with existing_store(loaded.settings) as store:
        if missing := store.migrator.pending():
            names = ", ".join(f"{one.version:04} {one.name}" for one in missing)
            steps.append(PendingStep("migrations", names, "stop the server, and run `memorist upgrade`"))
        else:
            steps += _of_index(loaded.settings, store)
    # Those that a file sets and that are gone are refused when the settings are read.
    return steps + [PendingStep("settings", warning, "correct or unset it") for warning in loaded.warnings]


def _of_index(settings: Settings, store: Any) -> list[PendingStep]:
    models = condition_of(store, SystemClock().now()).index_models
    embedder = open_embedder(settings)
    found = []
    if (unindexed := models.pop("", 0)) and any(finding != "ok" for finding in store.check(thorough=False).values()):
        told = f"what an earlier version wrote in {counted(unindexed, 'tenant')} is not indexed"
        found.append(PendingStep("index", told, "run `memorist upgrade`"))
    if embedder is not None:
        others = sorted(name for name in models if name not in (embedder.model_id, *embedder.same_vectors_as, "none"))
        if others:
            told = f"vectors are of {', '.join(others)}, and the embedder is {embedder.model_id}"
            found.append(PendingStep("model", told, "run `memorist index rebuild --all`, or start the server"))
    return found


def _migrated(settings: Settings, *, backup: bool) -> tuple[Path | None, list[str]]:
    """Where the backup is, and the migrations that were applied. Raises Conflict where a server runs."""
    with existing_store(settings) as store:
        if not store.migrator.pending():
            return None, []
        require_stopped(settings, store)
        now = SystemClock().now()
        path = None
        if backup and settings.sqlite_path() is not None:
            path = settings.backups_path() / f"before-upgrade-{stamp_of(now)}.db"
            create_backup(settings, path)
        return path, [f"{one.version:04} {one.name}" for one in store.migrator.migrate(now)]


def _index(settings: Settings) -> None:
    """Put into the index what an earlier version wrote without one; its vectors are made later."""
    core = open_core(settings, background=False)
    try:
        for tenant in core.store.list_tenants():
            if core.store.index_model(tenant.id) == "":
                core.indexer.prepare(tenant.id)
    finally:
        core.close()
