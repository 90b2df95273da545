"""`memorist install` and `memorist uninstall`."""

import os
import re
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from memorist.addresses import without_password
from memorist.errors import Invalid, InvalidField
from memorist.installing.hosts import NAME, Host, Launcher
from memorist.installing.plan import FileChange, Installer
from memorist.settings import Settings
from memorist.settings_sources import load_settings
from memorist.surfaces.cli.flags import IDENTITY, STORE, Flags, with_flags
from memorist.surfaces.cli.terminal import note, print_json

_SHARED = [option for option in (*STORE, *IDENTITY) if option.name != "key"]


def _checked_name(name: str) -> str:
    """Raises InvalidField where a tool's name cannot have it in it."""
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,40}", name):
        raise InvalidField.of("name", "must be up to 40 letters, digits, _ and -.")
    return name


HostName = Annotated[Host, typer.Argument(metavar="HOST", help="Which assistant.")]
Project = Annotated[
    Path | None,
    typer.Option(
        "--project", metavar="DIR", help="Settings of the project in this folder, instead of your own for all projects."
    ),
]
ServerName = Annotated[
    str,
    typer.Option(
        "--name",
        metavar="NAME",
        callback=_checked_name,
        help="What the assistant calls the server; its tools are mcp__NAME__recall and so on.",
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")]


@with_flags(*_SHARED)
def install(
    flags: Flags, host: HostName, project: Project = None, name: ServerName = NAME, dry_run: DryRun = False
) -> None:
    """Give a coding assistant its memory: the MCP server and, for Claude Code, hooks.

    Whatever else stands in its settings stays as it is, to the character; a file that is changed is copied first, with
    the ending .memorist-backup. A file that cannot be changed safely is left alone, and what to add is printed. With
    --data, --database, --tenant, --user and --agent the entries say where the memories are and whose; keys and
    passwords are written nowhere.
    """
    installer = _installer()
    program = _program() if project is None else ["memorist"]  # A project is shared, also with other machines.
    launcher = Launcher(program, _kept(flags, project), name)
    changes = installer.install(host, launcher, _absolute(project), dry_run=dry_run)
    _report(changes, flags, dry_run=dry_run, done="Restart it to use its memory.")


@with_flags(*_SHARED)
def uninstall(
    flags: Flags, host: HostName, project: Project = None, name: ServerName = NAME, dry_run: DryRun = False
) -> None:
    """Take from a coding assistant's settings what `memorist install` added under that name. Memories stay."""
    changes = _installer().uninstall(host, _absolute(project), dry_run=dry_run, name=name)
    _report(changes, flags, dry_run=dry_run, done="Memories are kept.")


def _installer() -> Installer:
    # Wherever the memories are: what was installed with --data, or from a folder with a `.memorist`, is taken out
    # without it and from elsewhere.
    return Installer(Settings().data.expanduser() / "installed.json", os.environ)


def _program() -> list[str]:
    """This very program, by its whole path: an assistant that is started from a desktop has another search path."""
    own = Path(sys.argv[0])
    if own.name == "memorist":
        found = shutil.which(str(own)) if own.parent == Path() else str(own)
        if found:
            return [os.path.abspath(found)]
    return [sys.executable, "-m", "memorist"]


def _absolute_database(database: str | None) -> str | None:
    """A file's path from wherever the assistant is started; an address stays."""
    if database is None:
        return None
    path = load_settings({"database": database}).settings.sqlite_path()
    return database if path is None else os.path.abspath(path)


def _kept(flags: Flags, project: Path | None) -> list[str]:
    """The flags that the entries repeat, and the store that was found from here: an assistant is started elsewhere.
    Raises Invalid where one holds a password.
    """
    if flags.database is not None and without_password(flags.database) != flags.database:
        raise Invalid(
            "The settings of an assistant are no place for a password. Put the address into MEMORIST_DATABASE or into "
            "Memorist's own settings file, and leave out --database.",
            field="database",
        )
    data = flags.data
    loaded = load_settings(flags.as_settings())
    if project is None and loaded.origins["data"] == "folder" and not loaded.settings.database:
        data = str(loaded.settings.data)
    values = {
        "--data": None if data is None else os.path.abspath(os.path.expanduser(data)),
        "--database": _absolute_database(flags.database),
        "--tenant": flags.tenant,
        "--user": flags.user,
        "--agent": flags.agent,
    }
    return [part for name, value in values.items() if value is not None for part in (name, value)]


def _absolute(project: Path | None) -> Path | None:
    return None if project is None else Path(os.path.abspath(project.expanduser()))


def _report(changes: list[FileChange], flags: Flags, *, dry_run: bool, done: str) -> None:
    if flags.as_json:
        print_json(
            {
                "dry_run": dry_run,
                "files": [{"path": str(one.path), "changed": one.is_needed, "diff": one.diff()} for one in changes],
            }
        )
        return
    for change in changes:
        if change.kept:
            note(f"{change.path}: {change.kept} is not one that `memorist install` writes, and stays.")
        if not change.is_needed:
            print(f"{change.path}: nothing to change")
        elif dry_run:
            print(change.diff(), end="")
        else:
            print(f"{change.path}: {'removed' if change.after is None else 'changed'}")
    if not dry_run and any(change.is_needed for change in changes):
        note(done)
