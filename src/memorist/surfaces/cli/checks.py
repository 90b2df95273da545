"""What `memorist doctor` looks at: one list of checks, each a function that yields findings and says what to do.

A check that raises is a finding too. They run in order: the database is opened by one, and later ones go without where
that one failed.
"""

import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, fields, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from memorist.bootstrap import backup_plan, count_changed, encryption_of, open_embedder, open_reranker, open_store
from memorist.errors import MemoristError, StoreOutdated
from memorist.platform.backups import backups_in
from memorist.running_servers import LOCAL_KEY_FILE, running, version_at
from memorist.settings import Settings
from memorist.settings_sources import LoadedSettings, load_settings
from memorist.surfaces.cli.flags import Flags
from memorist.surfaces.cli.terminal import counted
from memorist.times import SystemClock, to_iso
from memorist.version import __version__
from memorist.views.condition import StoreCondition, condition_of, count_lacking

_OLDEST_PYTHON = (3, 11)
_LITTLE_SPACE = 1024**3
_NO_SPACE = 100 * 1024**2
_OTHERS = 0o077
_ASKED_ABOUT = 20
"""Tenants whose vectors a remote embedder is asked for again."""
_INDEXED_BYTES = 1024
"""What a memory takes in the index, about."""
_READ_IN_SECONDS = 50_000
"""Memories from which on reading the index of a user takes seconds."""


class Health(StrEnum):
    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    check: str
    state: Health
    message: str


@dataclass
class Patient:
    """What is looked at. `condition` is there once the database is open, and of this release."""

    loaded: LoadedSettings
    now: datetime
    store: Any = None
    condition: StoreCondition | None = None

    @property
    def settings(self) -> Settings:
        return self.loaded.settings


def examine(flags: Flags) -> Iterator[DoctorFinding]:
    """All findings. Changes nothing, and makes nothing."""
    try:
        loaded = load_settings(flags.as_settings())
    except MemoristError as error:
        yield from versions()
        yield DoctorFinding("settings", Health.PROBLEM, error.message)
        return
    patient = Patient(loaded, SystemClock().now())
    with ExitStack() as opened:
        opened.callback(lambda: patient.store and patient.store.close())
        for check in CHECKS:
            try:
                yield from check(patient)
            except MemoristError as error:
                yield DoctorFinding(check.__name__.replace("_", " "), Health.PROBLEM, error.message)


def versions(_: Patient | None = None) -> Iterator[DoctorFinding]:
    supported = sys.version_info[:2] >= _OLDEST_PYTHON
    advice = "" if supported else f"; install {'.'.join(map(str, _OLDEST_PYTHON))} or newer"
    yield DoctorFinding("python", Health.OK if supported else Health.PROBLEM, f"{platform.python_version()}{advice}")
    yield DoctorFinding("memorist", Health.OK, __version__)


def settings(patient: Patient) -> Iterator[DoctorFinding]:
    if not patient.loaded.warnings:
        yield DoctorFinding("settings", Health.OK, "every value is valid, and no MEMORIST_ variable is unknown")
    for warning in patient.loaded.warnings:
        yield DoctorFinding("settings", Health.WARNING, f"{warning} Correct or unset it.")


def models(patient: Patient) -> Iterator[DoctorFinding]:
    for name, opened in (("embedder", open_embedder), ("reranker", open_reranker)):
        try:
            model = opened(patient.settings)
            if model is None:
                yield DoctorFinding(name, Health.OK, "off: recall goes on without it")
                continue
            model.load()
            yield DoctorFinding(name, Health.OK, model.model_id)
        except MemoristError as error:
            yield DoctorFinding(name, Health.PROBLEM, error.message)


def sqlite(patient: Patient) -> Iterator[DoctorFinding]:
    if patient.settings.sqlite_path() is None:
        return
    # A scratch database tells the version of the library even where there is no file yet.
    with (
        TemporaryDirectory() as folder,
        closing(open_store(replace(patient.settings, database=str(Path(folder) / "scratch.db")))) as scratch,
    ):
        facts = scratch.driver.describe()
    yield DoctorFinding("sqlite", Health.OK, f"{facts['version']}, at least {facts['minimum_version']} is needed")


def data_folder(patient: Patient) -> Iterator[DoctorFinding]:
    path = patient.settings.sqlite_path()
    folder = patient.settings.data if path is None else path.parent
    if path is None and not folder.exists():
        return
    if not folder.is_dir():
        state, advice = (Health.PROBLEM, "is no folder") if folder.exists() else (Health.OK, "does not exist yet")
        yield DoctorFinding("data folder", state, f"{folder} {advice}")
    elif not _may(folder, os.R_OK | os.W_OK | os.X_OK):
        advice = "cannot be written: chown it to yourself, or name another"
        yield DoctorFinding("data folder", Health.PROBLEM, f"{folder} {advice}")
    elif folder.stat().st_mode & _OTHERS:
        yield DoctorFinding("data folder", Health.WARNING, f"others can look into {folder}: run `chmod 700` on it")
    else:
        yield DoctorFinding("data folder", Health.OK, f"{folder} is writable, and private")


def disk(patient: Patient) -> Iterator[DoctorFinding]:
    path = patient.settings.sqlite_path()
    if path is None or not path.parent.is_dir():
        return
    free = shutil.disk_usage(path.parent).free
    state = Health.PROBLEM if free < _NO_SPACE else Health.WARNING if free < _LITTLE_SPACE else Health.OK
    advice = "" if state is Health.OK else "; make room before it is full"
    yield DoctorFinding("disk", state, f"{free / _LITTLE_SPACE:.1f} GiB free{advice}")


def permissions(patient: Patient) -> Iterator[DoctorFinding]:
    """Files that hold memories or a key are their owner's alone."""
    path = patient.settings.sqlite_path()
    beside = [] if path is None else [path, *(path.with_name(path.name + ending) for ending in ("-wal", "-shm"))]
    kept = backups_in(patient.settings.backups_path()) if path is not None else []
    # A settings file matters where it holds a key.
    secrets = {
        Path(patient.loaded.origins[setting.name])
        for setting in fields(Settings)
        if setting.metadata["secret"] and "/" in patient.loaded.origins[setting.name]
    }
    if patient.settings.encryption_key_file:
        secrets.add(Path(patient.settings.encryption_key_file).expanduser())
    for file in (patient.settings.data / LOCAL_KEY_FILE, *beside, *kept, *secrets):
        if file.exists() and file.stat().st_mode & _OTHERS:
            yield DoctorFinding("permissions", Health.PROBLEM, f"others can read {file}: run `chmod 600` on it")


def database(patient: Patient) -> Iterator[DoctorFinding]:
    path = patient.settings.sqlite_path()
    if path is not None and not path.exists():
        yield DoctorFinding("database", Health.OK, f"none yet: the first command that needs it makes {path}")
    elif path is not None and not _may(path, os.R_OK | os.W_OK):
        advice = f"{path} cannot be read and written: give yourself both permissions"
        yield DoctorFinding("database", Health.PROBLEM, advice)
    else:
        patient.store = open_store(patient.settings, as_it_is=True)
        if path is None:
            facts = patient.store.driver.describe()
            told = f"{facts['engine']} {facts['version']}, database {facts['place']}"
            yield DoctorFinding("postgresql", Health.OK, told)
            for advice in patient.store.driver.advice():
                yield DoctorFinding("cluster", Health.WARNING, advice)


def schema(patient: Patient) -> Iterator[DoctorFinding]:
    if patient.store is None:
        return
    try:
        pending = patient.store.migrator.pending()
    except StoreOutdated as error:
        last = max((one.version for one in patient.store.migrator.applied()), default=0)
        told = f"{error.message} It is at migration {last}, and this is {__version__}"
        yield DoctorFinding("schema", Health.PROBLEM, f"{told}: install the version that wrote it, or a newer one")
        return
    if pending:
        told = f"{counted(len(pending), 'migration is', 'migrations are')} pending: run `memorist upgrade`"
        yield DoctorFinding("schema", Health.WARNING, f"{told}, which backs up first, or `memorist db migrate`")
        return
    yield DoctorFinding("schema", Health.OK, "up to date")
    patient.condition = condition_of(patient.store, patient.now)


def encryption(patient: Patient) -> Iterator[DoctorFinding]:
    if patient.condition is None:
        return
    # Where the key is missing or another one, it says so and what to do.
    patient.store.require_keys()
    found = encryption_of(patient.store)
    encrypted = [one for one in found if one.is_encrypted]
    if not encrypted and not patient.settings.encrypts:
        return
    told = f"{len(encrypted)} of {counted(len(found), 'tenant')} encrypted"
    if len(encrypted) == len(found) and all(one.is_complete for one in encrypted):
        yield DoctorFinding("encryption", Health.OK, told)
    else:
        advice = "`memorist encryption enable --all` encrypts the rest"
        yield DoctorFinding("encryption", Health.WARNING, f"{told}, or in part: {advice}")


def content(patient: Patient) -> Iterator[DoctorFinding]:
    if patient.condition is None:
        return
    advice = "run `memorist upgrade`, which indexes what an earlier version wrote; else put a backup in its place, or "
    advice += "export what you can and import it into a new folder"
    for name, finding in patient.store.check(thorough=False).items():
        is_sound = finding == "ok"
        message = "ok" if is_sound else f"{finding}; {advice}"
        yield DoctorFinding(name, Health.OK if is_sound else Health.PROBLEM, message)


def index(patient: Patient) -> Iterator[DoctorFinding]:
    if patient.condition is None or (model := open_embedder(patient.settings)) is None:
        return
    known = patient.condition.index_models
    same = [name for name in model.same_vectors_as if known[name]]
    if same:
        lacking = count_lacking(patient.store, model.model_id, same)
        told = f"vectors of {', '.join(same)} are those of {model.model_id}, and stay"
        advice = f"tokens are still added to {counted(lacking, 'memory', 'memories')}, by a server, or by "
        yield DoctorFinding("index", Health.OK, f"{told}; {advice}`memorist index rebuild --all --resume`")
    others = {name: count for name, count in known.items() if name not in (model.model_id, *same)}
    if count := sum(count for name, count in others.items() if name not in ("", "none")):
        told = f"{counted(count, 'tenant has', 'tenants have')} vectors of {', '.join(sorted(filter(None, others)))}"
        advice = "a server makes them anew, or `memorist index rebuild --all`"
        yield DoctorFinding("index", Health.WARNING, f"{told}, and the embedder is {model.model_id}: {advice}")
    if not model.is_local and (changed := count_changed(patient.store, model, _ASKED_ABOUT)):
        told = f"{model.model_id} makes other vectors than those that {counted(changed, 'tenant has', 'tenants have')}"
        advice = "`memorist index rebuild --all` makes them anew, or a server that is started again"
        yield DoctorFinding("index", Health.WARNING, f"{told}: {advice}")


def index_memory(patient: Patient) -> Iterator[DoctorFinding]:
    """Whether the index of whoever has most memories has room, in memory or as a file."""
    if patient.condition is None:
        return
    largest = patient.condition.largest_index
    needed, settings = largest * _INDEXED_BYTES >> 20, patient.settings
    folder = settings.shelves_path()
    told = f"a user has {largest:,} memories, whose index takes about {needed:,} MB"
    if folder is not None and settings.index_disk_mb and not settings.encrypts:
        nearest = next(one for one in (folder, *folder.parents) if one.exists())
        if not _may(nearest, os.W_OK | os.X_OK):
            advice = "make it writable, or name another with MEMORIST_INDEX_FOLDER"
            yield DoctorFinding(
                "index memory", Health.WARNING, f"indexes are not saved, as {nearest} is not ours: {advice}"
            )
        elif needed <= settings.index_disk_mb:
            return
        else:
            told += f", and index_disk_mb is {settings.index_disk_mb}: it is not saved. Set it higher"
            yield DoctorFinding("index memory", Health.WARNING, told)
    if settings.lacks_index_folder and largest >= _READ_IN_SECONDS and needed <= settings.index_memory_mb:
        told += ", and is read from the database by each process that begins: have it saved with MEMORIST_INDEX_FOLDER"
        yield DoctorFinding("index memory", Health.WARNING, told)
    if needed > settings.index_memory_mb:
        told += f", and index_memory_mb is {settings.index_memory_mb}: the oldest are found by their words alone, and "
        told += "recalls say `degraded`. Set it higher"
        told += ", or have it saved with MEMORIST_INDEX_FOLDER" if settings.lacks_index_folder else ""
        yield DoctorFinding("index memory", Health.WARNING, told)


def keys(patient: Patient) -> Iterator[DoctorFinding]:
    if patient.condition is None:
        return
    none = "none yet: `memorist serve` makes the first, or `memorist keys create`"
    yield DoctorFinding("keys", Health.OK, "API keys exist" if patient.store.has_keys() else none)


def clock(patient: Patient) -> Iterator[DoctorFinding]:
    """Whoever reads rows that are dated ahead waits for their expiry and their turn in lists."""
    if patient.condition is None:
        return
    count, last = patient.condition.dated_ahead, patient.condition.last_date
    if last is None:
        yield DoctorFinding("clock", Health.OK, "nothing is dated after now")
        return
    yield DoctorFinding(
        "clock",
        Health.PROBLEM,
        f"{counted(count, 'row is', 'rows are')} dated after now, up to {to_iso(last)}, and it is {to_iso(patient.now)}"
        " here. Where this clock is behind, set it (`timedatectl set-ntp true`) and restart the server; where it was "
        "ahead when they were written, they stay first in lists and expire as much later.",
    )


def jobs(patient: Patient) -> Iterator[DoctorFinding]:
    if patient.condition is None:
        return
    dead, overdue = patient.condition.jobs["dead"], patient.condition.overdue
    if dead:
        told = f"{counted(dead, 'job has', 'jobs have')} failed for good"
        advice = "`memorist jobs list --status dead --all-users` says why; then `memorist jobs retry`, or `drop`"
        yield DoctorFinding("jobs", Health.WARNING, f"{told}: {advice}")
    if overdue:
        told = f"in {counted(overdue, 'tenant')} jobs wait for more than an hour"
        yield DoctorFinding("jobs", Health.WARNING, f"{told}: start the server, or `memorist jobs run`")
    if not dead and not overdue:
        yield DoctorFinding("jobs", Health.OK, f"{patient.condition.jobs['waiting']} wait, none is stuck")


def backups(patient: Patient) -> Iterator[DoctorFinding]:
    settings = patient.settings
    if settings.sqlite_path() is None:
        if settings.backup_every_hours:
            advice = "backup_every_hours does nothing for PostgreSQL: schedule pg_dump, and leave it out"
            yield DoctorFinding("backups", Health.PROBLEM, advice)
    elif not settings.backup_every_hours:
        yield DoctorFinding("backups", Health.OK, "none on a schedule: MEMORIST_BACKUP_EVERY_HOURS=24 makes one a day")
    elif patient.store is not None and (plan := backup_plan(settings, patient.store)) is not None:
        if missed := plan.missed(patient.now):
            advice = "A running server makes them: its log says what fails. `memorist backup create` makes one now"
            yield DoctorFinding("backups", Health.PROBLEM, f"{missed} {advice}")
        else:
            yield DoctorFinding("backups", Health.OK, f"every {plan.every} to {plan.folder}")


def servers(patient: Patient) -> Iterator[DoctorFinding]:
    for address in running(patient.settings):
        version = version_at(address)
        if version == __version__:
            yield DoctorFinding("server", Health.OK, f"runs at {address}")
        elif not version:
            advice = "does not answer, though it runs: look into its log, or restart it"
            yield DoctorFinding("server", Health.WARNING, f"{address} {advice}")
        else:
            told = f"the one at {address} is version {version}, and this is {__version__}: restart it with this version"
            yield DoctorFinding("server", Health.PROBLEM, told)


CHECKS: tuple[Callable[[Patient], Iterator[DoctorFinding]], ...] = (
    versions,
    settings,
    models,
    sqlite,
    data_folder,
    disk,
    permissions,
    database,
    schema,
    encryption,
    content,
    index,
    index_memory,
    keys,
    clock,
    jobs,
    backups,
    servers,
)


def _may(path: Path, access: int) -> bool:
    return os.access(path, access, effective_ids=os.access in os.supports_effective_ids)
