"""Memories as people name them at the command line: by an id in any form, or by their name."""

from typing import Annotated

import typer

from memorist.errors import Conflict, InvalidId, NotFound
from memorist.ids import parse_id
from memorist.memories.values import Status
from memorist.verbs import Verbs

MemoryName = Annotated[
    str, typer.Argument(metavar="ID|NAME", help="Id of a memory, as mem_… or as a UUID, or its name.")
]


def id_of(memory: Verbs, text: str) -> str:
    """The id of the memory that has that id or name among those the caller sees, its own before those it shares.

    Raises NotFound, and Conflict where several users have that name.
    """
    try:
        return parse_id("mem", text)
    except InvalidId:
        pass
    found = [one for one in memory.iterate(named=True, status=Status.ACTIVE) if one.name == text]
    own = [one for one in found if one.user is not None] or found
    if not own:
        raise NotFound(f"There is no memory with the id or the name {text[:60]!r} that you may see.")
    if len({one.user for one in own}) > 1:
        raise Conflict(f"Several users have a memory of that name: {', '.join(one.id for one in own)}.")
    return own[0].id
