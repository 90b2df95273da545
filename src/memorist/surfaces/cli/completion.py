"""`memorist completion`."""

import os
from enum import StrEnum
from pathlib import PurePath
from typing import Annotated

import typer
from typer._completion_shared import get_completion_script

from memorist.errors import Invalid
from memorist.surfaces.cli.commands import COMPLETION_VARIABLE, PROGRAM
from memorist.surfaces.cli.flags import STORE, Flags, with_flags
from memorist.surfaces.cli.terminal import print_json


class Shell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


@with_flags(*STORE)
def completion(
    flags: Flags,
    shell: Annotated[Shell | None, typer.Argument(help="Default: the shell of this login.")] = None,
) -> None:
    """Print the completion script of a shell.

    For bash and zsh, add `eval "$(memorist completion bash)"` (or zsh) to the start-up file of the shell; for fish,
    write the script to ~/.config/fish/completions/memorist.fish.
    """
    shell = shell or _login_shell()
    script = get_completion_script(prog_name=PROGRAM, complete_var=COMPLETION_VARIABLE, shell=shell.value)
    if flags.as_json:
        print_json({"shell": shell, "script": script})
    else:
        print(script)


def _login_shell() -> Shell:
    name = PurePath(os.environ.get("SHELL", "")).name
    try:
        return Shell(name)
    except ValueError:
        raise Invalid(f"Name a shell: {', '.join(Shell)}.", field="shell") from None
