"""`memorist backup create`, `restore` and `verify`: for the operator of the database."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from memorist.bootstrap import create_backup, restore_backup, verify_backup
from memorist.surfaces.cli.answers import answer
from memorist.surfaces.cli.db import existing_store
from memorist.surfaces.cli.door import operator_settings
from memorist.surfaces.cli.erasure import read_lines
from memorist.surfaces.cli.failures import FAILED_CHECK
from memorist.surfaces.cli.flags import REFUSED_KEY, STORE, Flags, new_group, with_flags
from memorist.surfaces.cli.outputs import ended_in_order, named, require_free
from memorist.surfaces.cli.terminal import note, print_json, print_table


@with_flags(*STORE, *REFUSED_KEY)
def create(
    flags: Flags,
    file: Annotated[str, typer.Argument(metavar="FILE", help="Where to write the copy; not stdout.")],
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Write a consistent copy of the SQLite database to a file, while it is in use: all tenants, keys and receipts.

    The copy is checked, appears only when it is complete, and is readable by its owner only.
    """
    path = named(file)
    settings = operator_settings(flags)
    require_free(settings, path, force=force)
    with existing_store(settings), ended_in_order():
        create_backup(settings, path)
    answer(
        flags,
        {"file": file, "size_bytes": path.stat().st_size},
        remark=f"{path.stat().st_size} bytes written to {file}.",
    )


@with_flags(*STORE, *REFUSED_KEY)
def restore(
    flags: Flags,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A backup.")],
    ledger: Annotated[
        str | None, typer.Option(metavar="FILE", help="What was erased since, where the database cannot say it.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the database that is there.")] = False,
) -> None:
    """Put a backup in the place of the SQLite database, brought up to this release. Nobody may be using it.

    What was erased since the backup was made is erased again: the database that is replaced says what that is or, where
    it is lost, the file that `memorist erase ledger` wrote. The backup itself is not changed.
    """
    settings = operator_settings(flags)
    lines = None if ledger is None else read_lines(ledger)
    with ended_in_order():
        applied = restore_backup(settings, Path(file), ledger=lines, overwrite=force)
    answer(
        flags,
        {"file": file, "erasures_applied": [receipt.id for receipt in applied]},
        remark=f"Restored. {len(applied)} erasures were applied again." if applied else "Restored.",
    )


@with_flags(*STORE, *REFUSED_KEY)
def verify(
    flags: Flags,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A backup.")],
    ledger: Annotated[
        str | None, typer.Option(metavar="FILE", help="What was erased since, where the database cannot say it.")
    ] = None,
) -> None:
    """Restore a backup into a temporary folder, check every row and index, and say what restoring it would do.

    Neither the backup nor the database is changed. People who were erased since are in the file, and restoring erases
    them again: it is checked that nothing of them is left then. Exits with 1 where something is wrong.
    """
    known = None if ledger is None else read_lines(ledger)
    with ended_in_order():
        drill = verify_backup(operator_settings(flags), Path(file), ledger=known)
    if flags.as_json:
        print_json({"file": file, "ok": drill.ok, **asdict(drill)})
    else:
        rows = [*drill.findings.items(), ("memories", str(drill.rows.get("memories", 0)))]
        erased = f"{drill.erased_since}, which the file still holds; restoring erases them again"
        rows.append(("erased since", erased if drill.erased_since else "none"))
        if drill.left:
            rows.append(("left of them", f"something, of {drill.left}"))
        print_table(["check", "finding"], rows)
        note("It can be restored." if drill.ok else "Do not rely on it: make another, and keep this one until then.")
    if not drill.ok:
        raise typer.Exit(FAILED_CHECK)


app = new_group({"create": create, "restore": restore, "verify": verify})
