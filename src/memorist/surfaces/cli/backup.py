"""`memorist backup create` and `restore`: for the operator of the database."""

from pathlib import Path
from typing import Annotated

import typer

from memorist.bootstrap import create_backup, restore_backup
from memorist.errors import Conflict
from memorist.surfaces.cli.answers import answer
from memorist.surfaces.cli.db import existing_store
from memorist.surfaces.cli.door import operator_settings
from memorist.surfaces.cli.erasure import read_lines
from memorist.surfaces.cli.flags import REFUSED_KEY, STORE, Flags, new_group, with_flags


@with_flags(*STORE, *REFUSED_KEY)
def create(
    flags: Flags,
    file: Annotated[str, typer.Argument(metavar="FILE", help="Where to write the copy.")],
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Write a consistent copy of the SQLite database to a file, while it is in use: all tenants, keys and receipts.

    The copy is checked, appears only when it is complete, and is readable by its owner only.
    """
    settings = operator_settings(flags)
    path = Path(file)
    if path.exists() and not force:
        raise Conflict(f"{file} exists. Choose another name, or replace it with --force.")
    with existing_store(settings):
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
    applied = restore_backup(settings, Path(file), ledger=lines, overwrite=force)
    answer(
        flags,
        {"file": file, "erasures_applied": [receipt.id for receipt in applied]},
        remark=f"Restored. {len(applied)} erasures were applied again." if applied else "Restored.",
    )


app = new_group({"create": create, "restore": restore})
