"""Runs one command of the table: loads its module, parses its arguments, and turns whatever fails into an exit code."""

import difflib
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import typer

from memorist.errors import Invalid, MemoristError
from memorist.surfaces.cli.commands import COMMANDS, PROGRAM
from memorist.surfaces.cli.failures import report
from memorist.surfaces.cli.flags import COMMAND, new_group, register

_PACKAGE = "memorist.surfaces.cli"
# As other programs end that were not told what to do.
_USAGE = 2


def run(arguments: Sequence[str]) -> int:
    """Run a command line and return its exit code. Raises only KeyboardInterrupt and BrokenPipeError."""
    as_json = "--json" in arguments
    try:
        return _run(arguments)
    except MemoristError as error:
        return report(error, as_json=as_json)
    except typer.TyperException as error:
        return report(_usage_error(error), as_json=as_json)
    except typer.Abort:
        return report(Invalid("Stopped before anything was done."), as_json=as_json)
    except BrokenPipeError:
        raise
    except OSError as error:
        return report(MemoristError(f"The system refused: {error}."), as_json=as_json)
    except Exception as error:  # noqa: BLE001 - The program's top.
        if os.environ.get("MEMORIST_LOG_LEVEL") == "debug":
            sys.excepthook(type(error), error, error.__traceback__)
        return report(_unexpected(error), as_json=as_json)


def complete() -> int:
    """Answer the shell's question, asked in environment variables, of what may come next."""
    from typer._completion_classes import completion_init

    completion_init()
    try:
        full_app()(prog_name=PROGRAM)
    except SystemExit as finished:
        return finished.code if isinstance(finished.code, int) else 0
    return 0


def full_app() -> typer.Typer:
    """Every command as one Typer application, for completion, documentation and tests."""
    root = new_group()
    for name, target, summary in COMMANDS:
        found = _load(target)
        if isinstance(found, typer.Typer):
            root.add_typer(found, name=name, help=summary)
        else:
            register(root, name, found, summary)
    return root


def _run(arguments: Sequence[str]) -> int:
    _require_text(arguments)
    name, *rest = arguments
    found = _load(_target_of(name))
    if isinstance(found, typer.Typer):
        app = found
    else:
        app = new_group()
        register(app, name, found)
    command: Any = typer.main.get_command(app)
    try:
        if isinstance(found, typer.Typer) and not rest:
            with command.make_context(f"{PROGRAM} {name}", ["--help"], resilient_parsing=True) as context:
                print(command.get_help(context), file=sys.stderr)
            return _USAGE
        is_part = isinstance(found, typer.Typer) and rest[0] in command.commands
        COMMAND.set(f"{name} {rest[0]}" if is_part else name)
        with command.make_context(f"{PROGRAM} {name}", list(rest)) as context:
            command.invoke(context)
    except typer.Exit as finished:
        return finished.exit_code
    return 0


def _require_text(arguments: Sequence[str]) -> None:
    for position, argument in enumerate(arguments, start=1):
        if "\x00" in argument or any("\ud800" <= character <= "\udfff" for character in argument):
            raise Invalid(f"Argument {position} holds a NUL or is not valid UTF-8: {argument[:60]!r}.")


def _target_of(name: str) -> str:
    targets = {known: target for known, target, _ in COMMANDS}
    if name in targets:
        return targets[name]
    if name.startswith("-"):
        raise Invalid(f"{name} is no option here: options come after a command, as in `{PROGRAM} list --json`.")
    close = difflib.get_close_matches(name, targets, n=1)
    suggestion = f"Did you mean `{PROGRAM} {close[0]}`?" if close else f"`{PROGRAM} --help` lists the commands."
    raise Invalid(f"There is no command {name[:60]!r}. {suggestion}")


def _load(target: str) -> typer.Typer | Callable[..., None]:
    module, _, attribute = target.partition(":")
    name = module if "." in module else f"{_PACKAGE}.{module}"
    found: typer.Typer | Callable[..., None] = getattr(import_module(name), attribute)
    return found


def _usage_error(error: typer.TyperException) -> Invalid:
    message = " ".join(error.format_message().split()).rstrip(".") + "."
    context: Any = getattr(error, "ctx", None)
    return Invalid(f"{message} Try `{context.command_path} --help`." if context is not None else message)


def _unexpected(error: Exception) -> MemoristError:
    return MemoristError(
        f"Something unexpected went wrong: {type(error).__name__}: {error}. "
        "MEMORIST_LOG_LEVEL=debug shows where; please report it."
    )
