"""`memorist watch`."""

import sys
from typing import Annotated

import typer

from memorist.platform.feed import START
from memorist.surfaces.cli.door import whose
from memorist.surfaces.cli.flags import ANYWHERE, IDENTITY, AllUsers, Flags, with_flags
from memorist.surfaces.cli.speaking import core_here, speaking
from memorist.surfaces.cli.terminal import print_json, print_line
from memorist.times import to_iso
from memorist.verbs import Verbs


@with_flags(*ANYWHERE, *IDENTITY)
def watch(
    flags: Flags,
    after: Annotated[
        str | None, typer.Option(metavar="POSITION", help="Go on after this position; 0-0 is the beginning.")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Print what is there, and stop.")] = False,
    all_users: AllUsers = False,
) -> None:
    """Print changes of memories as they happen, whichever process makes them, until Ctrl-C.

    Each line has the time, what happened, the memory's id and the position, which --after takes.
    """
    with speaking(flags, whose(all_users), reads=True) as memory:
        beginning = after or (START if once else None)
        for change in memory.changes(after=beginning, wait=_pause(memory) if once else None):
            if flags.as_json:
                record = {"action": change.action, "memory_id": change.memory_id, "at": to_iso(change.at)}
                print_json({**record, "position": change.position})
            else:
                print_line(f"{to_iso(change.at)}  {change.action:<10}  {change.memory_id}  {change.position}")
            sys.stdout.flush()


def _pause(memory: Verbs) -> float:
    """After what silence, in seconds, nothing more is there: a connection takes its time."""
    return 1.0 if core_here(memory) is None else 0.0
