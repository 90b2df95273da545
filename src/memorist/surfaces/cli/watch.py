"""`memorist watch`."""

import sys
from typing import Annotated

import typer

from memorist.platform.feed import START, changes
from memorist.surfaces.cli.door import reading
from memorist.surfaces.cli.flags import IDENTITY, STORE, AllUsers, Flags, with_flags
from memorist.surfaces.cli.terminal import print_json, print_line
from memorist.times import to_iso


@with_flags(*STORE, *IDENTITY)
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
    with reading(flags) as door:
        who = door.everybody if all_users else door.caller
        beginning = after or (START if once else None)
        for change in changes(door.core.feed, who, beginning, wait=0 if once else None):
            if flags.as_json:
                record = {"action": change.action, "memory_id": change.memory_id, "at": to_iso(change.at)}
                print_json({**record, "position": change.position})
            else:
                print_line(f"{to_iso(change.at)}  {change.action:<10}  {change.memory_id}  {change.position}")
            sys.stdout.flush()
