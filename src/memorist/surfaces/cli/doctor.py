"""`memorist doctor`: each check is a function that yields findings; what fails becomes a finding too."""

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import typer

from memorist.bootstrap import open_embedder, open_reranker, open_store
from memorist.errors import MemoristError
from memorist.settings import LoadedSettings, Settings, load_settings
from memorist.surfaces.cli.failures import FAILED_CHECK
from memorist.surfaces.cli.flags import STORE, Flags, with_flags
from memorist.surfaces.cli.terminal import note, print_json, print_table
from memorist.version import __version__

_OLDEST_PYTHON = (3, 11)
_LITTLE_SPACE = 1024**3
_NO_SPACE = 100 * 1024**2
_OTHERS = 0o077


class Health(StrEnum):
    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    check: str
    state: Health
    message: str


@with_flags(*STORE)
def doctor(flags: Flags) -> None:
    """Check this installation and its database, and say what to do. Changes nothing; exits with 1 on a problem."""
    findings = list(_examine(flags))
    healthy = all(finding.state is not Health.PROBLEM for finding in findings)
    if flags.as_json:
        print_json({"ok": healthy, "checks": [asdict(finding) for finding in findings]})
    else:
        rows = [[finding.state, finding.check, finding.message] for finding in findings]
        print_table(["", "check", "finding"], rows, whole=["", "check"])
        note("Everything works." if healthy else "Something needs repair.")
    if not healthy:
        raise typer.Exit(FAILED_CHECK)


def _examine(flags: Flags) -> Iterator[DoctorFinding]:
    yield from _check_versions()
    try:
        loaded = load_settings(flags.as_settings())
    except MemoristError as error:
        yield DoctorFinding("settings", Health.PROBLEM, error.message)
        return
    yield from _check_settings(loaded)
    yield from _check_models(loaded.settings)
    path = loaded.settings.sqlite_path()
    try:
        if path is None:
            yield from _check_postgres(loaded.settings)
        else:
            yield from _check_sqlite(loaded.settings, path)
    except MemoristError as error:
        yield DoctorFinding("database", Health.PROBLEM, error.message)


def _check_versions() -> Iterator[DoctorFinding]:
    supported = sys.version_info[:2] >= _OLDEST_PYTHON
    oldest = ".".join(map(str, _OLDEST_PYTHON))
    advice = "" if supported else f"; install {oldest} or newer"
    yield DoctorFinding("python", Health.OK if supported else Health.PROBLEM, f"{platform.python_version()}{advice}")
    yield DoctorFinding("memorist", Health.OK, __version__)


def _check_settings(loaded: LoadedSettings) -> Iterator[DoctorFinding]:
    if not loaded.warnings:
        yield DoctorFinding("settings", Health.OK, "every value is valid, and no MEMORIST_ variable is unknown")
    for warning in loaded.warnings:
        yield DoctorFinding("settings", Health.WARNING, f"{warning} Correct or unset it.")


def _check_models(settings: Settings) -> Iterator[DoctorFinding]:
    for name, opened in (("embedder", open_embedder), ("reranker", open_reranker)):
        try:
            model = opened(settings)
            if model is None:
                yield DoctorFinding(name, Health.OK, "off: recall goes on without it")
                continue
            model.load()
            yield DoctorFinding(name, Health.OK, model.model_id)
        except MemoristError as error:
            yield DoctorFinding(name, Health.PROBLEM, error.message)


def _check_postgres(settings: Settings) -> Iterator[DoctorFinding]:
    with closing(open_store(settings)) as store:
        facts = store.driver.describe()
        yield DoctorFinding("postgresql", Health.OK, f"{facts['engine']} {facts['version']}, database {facts['place']}")
        yield from _check_content(store)


def _check_sqlite(settings: Settings, path: Path) -> Iterator[DoctorFinding]:
    # A scratch database tells the version of the library even where there is no file yet.
    with (
        TemporaryDirectory() as folder,
        closing(open_store(replace(settings, database=str(Path(folder) / "scratch.db")))) as scratch,
    ):
        facts = scratch.driver.describe()
        yield DoctorFinding("sqlite", Health.OK, f"{facts['version']}, at least {facts['minimum_version']} is needed")
    yield from _check_folder(path.parent)
    if not path.exists():
        yield DoctorFinding("database", Health.OK, f"none yet: the first command that needs it makes {path}")
        return
    if not _may(path, os.R_OK | os.W_OK):
        yield DoctorFinding(
            "database", Health.PROBLEM, f"{path} cannot be read and written: give yourself both permissions"
        )
        return
    with closing(open_store(settings)) as store:
        yield from _check_content(store)


def _check_folder(folder: Path) -> Iterator[DoctorFinding]:
    if not folder.is_dir():
        state, advice = (Health.PROBLEM, "is no folder") if folder.exists() else (Health.OK, "does not exist yet")
        yield DoctorFinding("data folder", state, f"{folder} {advice}")
        return
    if not _may(folder, os.R_OK | os.W_OK | os.X_OK):
        yield DoctorFinding(
            "data folder", Health.PROBLEM, f"{folder} cannot be written: chown it to yourself, or name another"
        )
    elif folder.stat().st_mode & _OTHERS:
        yield DoctorFinding("data folder", Health.WARNING, f"others can look into {folder}: run `chmod 700` on it")
    else:
        yield DoctorFinding("data folder", Health.OK, f"{folder} is writable, and private")
    free = shutil.disk_usage(folder).free
    state = Health.PROBLEM if free < _NO_SPACE else Health.WARNING if free < _LITTLE_SPACE else Health.OK
    advice = "" if state is Health.OK else "; make room before it is full"
    yield DoctorFinding("disk", state, f"{free / _LITTLE_SPACE:.1f} GiB free{advice}")


def _may(path: Path, access: int) -> bool:
    return os.access(path, access, effective_ids=os.access in os.supports_effective_ids)


def _check_content(store: Any) -> Iterator[DoctorFinding]:
    """What holds for both databases, once one is open."""
    pending = store.migrator.pending()
    if pending:
        yield DoctorFinding(
            "schema", Health.WARNING, f"{len(pending)} migrations are pending: run `memorist db migrate`"
        )
        return
    yield DoctorFinding("schema", Health.OK, "up to date")
    for name, finding in store.check(thorough=False).items():
        if finding == "ok":
            yield DoctorFinding(name, Health.OK, "ok")
        else:
            yield DoctorFinding(name, Health.PROBLEM, f"{finding}; export what you can, then restore from an export")
    if store.has_keys():
        yield DoctorFinding("keys", Health.OK, "API keys exist")
    else:
        yield DoctorFinding("keys", Health.OK, "none yet: `memorist serve` makes the first, or `memorist keys create`")
