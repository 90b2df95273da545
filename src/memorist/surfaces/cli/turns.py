"""`memorist turn`, `memorist chat` and `memorist memory`."""

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from memorist.context.companion import Category
from memorist.core import Core
from memorist.errors import MemoristError, TurnError
from memorist.ids import new_id
from memorist.ingestion.service import Message
from memorist.memories.values import Memory
from memorist.platform.values import Principal
from memorist.surfaces.cli.answers import answer_page
from memorist.surfaces.cli.door import opened, reading
from memorist.surfaces.cli.flags import IDENTITY, STORE, Cursor, Flags, Limit, with_flags
from memorist.surfaces.cli.terminal import note, print_json, printable
from memorist.times import to_iso
from memorist.turns.values import TurnEvent

_LEAVE = ("/quit", "/exit")

Session = Annotated[str | None, typer.Option(metavar="ID", help="The conversation that this belongs to.")]
NoMemory = Annotated[bool, typer.Option("--no-memory", help="Do not tell the model what is remembered.")]


@with_flags(*STORE, *IDENTITY)
def turn(
    flags: Flags,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to ask.")],
    session: Session = None,
    no_memory: NoMemory = False,
) -> None:
    """Ask the language model, with what is remembered, and print its answer as it comes; beneath, what was learned.

    With --json, every event of the turn is one line.
    """
    with opened(flags) as door:
        principal = door.caller()
        door.make_tenant(principal)
        _take(door.core, principal, [Message("user", text)], session, not no_memory, flags.as_json)


@with_flags(*STORE, *IDENTITY)
def chat(flags: Flags, session: Session = None, no_memory: NoMemory = False) -> None:
    """Talk with the language model, line by line, until /quit or the end of the input."""
    with opened(flags) as door:
        principal = door.caller()
        door.make_tenant(principal)
        session = session or new_id("chat")
        said: list[Message] = []
        if sys.stdin.isatty():
            note("Write a line; /quit ends the conversation.")
        while (line := _line()) is not None:
            if not line.strip():
                continue
            said.append(Message("user", line))
            try:
                answer = _take(door.core, principal, said, session, not no_memory, flags.as_json)
            except TurnError as error:
                note(error.message)
                said.pop()
                continue
            said.append(Message("assistant", answer))


@with_flags(*STORE, *IDENTITY)
def memory(
    flags: Flags,
    category: Annotated[Category | None, typer.Option(help="Only this category.")] = None,
    tested: Annotated[bool, typer.Option("--tested", help="Hypotheses that were tested too.")] = False,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> None:
    """List what a companion remembers of you, newest first: goals, preferences, insights and history."""
    with reading(flags) as door:
        page = door.core.companion.list(
            door.caller(), category=category, include_tested=tested, limit=limit, cursor=cursor
        )
    answer_page(
        flags,
        page,
        _record,
        ["day", "category", "text", "id"],
        lambda one: [f"{one.created_at:%Y-%m-%d}", one.category or "", one.content, one.id],
        whole=["day", "category", "id"],
        empty="Nothing is remembered here. `memorist list` shows memories of every other kind.",
    )


def _take(
    core: Core, principal: Principal, said: Sequence[Message], session: str | None, include_memory: bool, as_json: bool
) -> str:
    """Print a turn as it comes and return its answer. Raises TurnError where it fails."""
    started = core.turns.start(principal, said, include_memory=include_memory, session=session)
    summary = ""
    for event in core.turns.follow(principal, started.id):
        if as_json:
            print_json(_event(event))
        elif event.event == "answer.delta":
            sys.stdout.write(printable(event.data["text"]))
            sys.stdout.flush()
        elif event.event == "tool.called":
            note(f"[{event.data['name']}]")
        elif event.event == "agent.completed" and event.data["agent"] == "memory":
            summary = event.data["output_summary"]
    ended = core.turns.get(principal, started.id)
    if ended.error is not None:
        raise TurnError(ended.error["message"])
    if not as_json:
        print()
        note(summary)
        for one in _learned(core, principal, started.id):
            note(f"  {one.category}: {one.content}")
    return ended.answer or ""


def _learned(core: Core, principal: Principal, turn_id: str) -> list[Memory]:
    try:
        page = core.companion.list(principal, limit=100)
    except MemoristError:
        return []
    return [one for one in page.items if one.source_ref == turn_id]


def _line() -> str | None:
    try:
        line = input("> " if sys.stdin.isatty() else "")
    except EOFError:
        return None
    return None if line.strip() in _LEAVE else line


def _event(event: TurnEvent) -> dict[str, Any]:
    return {"id": event.seq, "event": event.event, "data": event.data, "created_at": to_iso(event.created_at)}


def _record(memory: Memory) -> dict[str, Any]:
    return {
        "id": memory.id,
        "text": memory.content,
        "category": memory.category,
        "created_at": to_iso(memory.created_at),
        "confidence": memory.confidence,
        "meta": memory.meta,
    }
