"""`memorist hook`, for its help: `__main__` answers hooks itself, without the command line's library."""

from typing import Annotated

import typer

from memorist.installing.hosts import NAME
from memorist.surfaces.cli.flags import IDENTITY, STORE, Flags, with_flags

_SHARED = [option for option in (*STORE, *IDENTITY) if option.name not in ("as_json", "key")]


@with_flags(*_SHARED)
def hook(
    flags: Flags,
    host: Annotated[str, typer.Argument(metavar="HOST", help="Whose hook it is: claude-code.")],
    event: Annotated[
        str,
        typer.Argument(metavar="EVENT", help="SessionStart, UserPromptSubmit, Stop, PreCompact or SessionEnd."),
    ],
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="What it was installed under: uninstall knows it by that.")
    ] = NAME,
) -> None:
    """Answer a hook of a coding assistant, whose input is read from stdin.

    `memorist install claude-code` sets them up. The exit code is always 0, so that the assistant is never in trouble
    because of its memory; what goes wrong is written to claude-code/hook.log in the data folder.
    """
    from memorist.surfaces.claude_code import main

    given = {name: getattr(flags, name) for name in ("data", "database", "tenant", "user", "agent")}
    named = [part for name, value in given.items() if value is not None for part in (f"--{name}", value)]
    main([host, event, *named, "--name", name])
