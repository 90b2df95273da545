"""`memorist db migrate`, `status` and `check`: for the operator of the database."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import typer

from memorist.bootstrap import bring_up_to_date, open_store
from memorist.errors import StoreUnavailable
from memorist.settings import Settings
from memorist.surfaces.cli.door import operator_settings
from memorist.surfaces.cli.failures import FAILED_CHECK
from memorist.surfaces.cli.flags import REFUSED_KEY, STORE, Flags, new_group, with_flags
from memorist.surfaces.cli.terminal import note, print_json, print_line, print_table
from memorist.times import SystemClock, to_iso


@with_flags(*STORE, *REFUSED_KEY)
def migrate(flags: Flags) -> None:
    """Bring the database up to this release, making it where it is missing. Other commands do so too."""
    settings = operator_settings(flags)
    with closing(open_store(settings)) as store:
        migrations = [_numbered(migration) for migration in bring_up_to_date(settings, store, SystemClock().now())]
    if flags.as_json:
        print_json({"applied": migrations})
        return
    for migration in migrations:
        print_line(f"{migration['version']:04} {migration['name']}")
    note(f"{len(migrations)} migrations applied." if migrations else "The database is up to date.")


@with_flags(*STORE, *REFUSED_KEY)
def status(flags: Flags) -> None:
    """Show the database, which migrations were applied and are pending, and what a cluster lacks. Changes nothing."""
    with existing_store(operator_settings(flags)) as store:
        facts, warnings = store.driver.describe(), store.driver.advice()
        applied = [
            {**_numbered(migration), "applied_at": to_iso(migration.applied_at)}
            for migration in store.migrator.applied()
        ]
        pending = [_numbered(migration) for migration in store.migrator.pending()]
    if flags.as_json:
        print_json({"database": facts, "applied": applied, "pending": pending, "warnings": warnings})
        return
    for name, value in facts.items():
        print_line(f"{name:18}{value}")
    rows = [
        [f"{entry['version']:04}", entry["name"], entry.get("applied_at", "pending")] for entry in applied + pending
    ]
    print_table(["migration", "name", "applied"], rows)
    for warning in warnings:
        note(warning)


@with_flags(*STORE, *REFUSED_KEY)
def check(flags: Flags) -> None:
    """Check every row and index, which reads the whole database. Exits with 1 where something is wrong."""
    with existing_store(operator_settings(flags)) as store:
        pending = store.migrator.pending()
        # The checks look at tables that a pending migration may have to make first.
        findings = (
            {"schema": f"{len(pending)} migrations are pending: run `memorist db migrate`"}
            if pending
            else store.check()
        )
    sound = all(finding == "ok" for finding in findings.values())
    if flags.as_json:
        print_json({"ok": sound, "findings": findings})
    else:
        print_table(["check", "finding"], list(findings.items()))
    if not sound:
        raise typer.Exit(FAILED_CHECK)


@contextmanager
def existing_store(settings: Settings) -> Iterator[Any]:
    """The database, which opening it does not change. Raises StoreUnavailable, and makes nothing, where there is none
    yet.
    """
    path = settings.sqlite_path()
    if path is not None and not path.exists():
        raise StoreUnavailable(f"There is no database at {path} yet. `memorist db migrate` makes it.")
    with closing(open_store(settings, as_it_is=True)) as store:
        yield store


def _numbered(migration: Any) -> dict[str, Any]:
    return {"version": migration.version, "name": migration.name}


app = new_group({"migrate": migrate, "status": status, "check": check})
