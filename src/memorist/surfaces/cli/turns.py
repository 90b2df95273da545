"""`memorist turn`, `memorist chat` and `memorist memory`."""

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from memorist.context.companion import Category
from memorist.errors import LlmNotConfigured, MemoristError, TurnError
from memorist.ids import new_id
from memorist.ingestion.service import Message
from memorist.memories.values import Memory
from memorist.models.values import Stop
from memorist.surfaces.cli.answers import answer_page
from memorist.surfaces.cli.failures import report
from memorist.surfaces.cli.flags import ANYWHERE, IDENTITY, Cursor, Flags, Limit, with_flags
from memorist.surfaces.cli.speaking import speaking
from memorist.surfaces.cli.terminal import note, print_json, printable
from memorist.times import to_iso
from memorist.turns.values import COMPLETED, STARTED, TurnEvent
from memorist.verbs import Verbs

_LEAVE = ("/quit", "/exit")

Session = Annotated[str | None, typer.Option(metavar="ID", help="The conversation that this belongs to.")]
NoMemory = Annotated[bool, typer.Option("--no-memory", help="Do not tell the model what is remembered.")]


@with_flags(*ANYWHERE, *IDENTITY)
def turn(
    flags: Flags,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to ask.")],
    session: Session = None,
    no_memory: NoMemory = False,
) -> None:
    """Ask the language model, with what is remembered, and print its answer as it comes; beneath, what was learned.

    With --json, every event of the turn is one line.
    """
    with speaking(flags) as memory:
        _take(memory, [Message("user", text)], session, not no_memory, flags.as_json)


@with_flags(*ANYWHERE, *IDENTITY)
def chat(flags: Flags, session: Session = None, no_memory: NoMemory = False) -> None:
    """Talk with the language model, line by line, until /quit or the end of the input.

    A turn that fails is told, and the conversation goes on. With --json, every event of a turn is one line. Where the
    input is no terminal, the exit code tells that one failed.
    """
    with speaking(flags) as memory:
        session = session or new_id("chat")
        said: list[Message] = []
        failed = 0
        if sys.stdin.isatty():
            note("Write a line; /quit ends the conversation.")
        while (line := _line()) is not None:
            if not line.strip():
                continue
            said.append(Message("user", line))
            try:
                answer = _take(memory, said, session, not no_memory, flags.as_json)
            except LlmNotConfigured:
                raise  # No line would be answered.
            except TurnError as error:
                failed = report(error, as_json=flags.as_json)
                said.pop()
                continue
            if answer:  # It may have been erased meanwhile.
                said.append(Message("assistant", answer))
    if failed and not sys.stdin.isatty():
        raise typer.Exit(failed)


@with_flags(*ANYWHERE, *IDENTITY)
def memory(
    flags: Flags,
    category: Annotated[Category | None, typer.Option(help="Only this category.")] = None,
    tested: Annotated[bool, typer.Option("--tested", help="Hypotheses that were tested too.")] = False,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> None:
    """List what a companion remembers of you, newest first: goals, preferences, insights and history."""
    with speaking(flags, reads=True) as memory:
        page = memory.entries(category=category, include_tested=tested, limit=limit, cursor=cursor)
    answer_page(
        flags,
        page,
        _record,
        ["day", "category", "text", "id"],
        lambda one: [f"{one.created_at:%Y-%m-%d}", one.category or "", one.content, one.id],
        whole=["day", "category", "id"],
        empty="Nothing is remembered here. `memorist list` shows memories of every other kind.",
    )


def _take(memory: Verbs, said: Sequence[Message], session: str | None, include_memory: bool, as_json: bool) -> str:
    """Print a turn as it comes and return its answer. Raises TurnError where it fails."""
    turn_id = summary = stop = ""
    for event in memory.turn(said, include_memory=include_memory, session=session):
        if event.event == STARTED:
            turn_id = event.data["turn_id"]
        if as_json:
            print_json(_event(event))
        elif not event.data:
            continue  # It may have told what was erased meanwhile.
        elif event.event == "answer.delta":
            sys.stdout.write(printable(event.data["text"]))
            sys.stdout.flush()
        elif event.event == "tool.called":
            note(f"[{event.data['name']}]")
        elif event.event == "agent.completed" and event.data["agent"] == "memory":
            summary = event.data["output_summary"]
        elif event.event == COMPLETED:
            stop = event.data.get("stop", "")
    ended = memory.get_turn(turn_id)
    if ended.error is not None:
        raise TurnError(ended.error["message"])
    if not as_json:
        print()
        if stop == Stop.LENGTH:
            note("The answer was cut off: it had reached the most that an answer may take.")
        note(summary)
        for one in _learned(memory, turn_id):
            note(f"  {one.category}: {one.content}")
    return ended.answer or ""


def _learned(memory: Verbs, turn_id: str) -> list[Memory]:
    try:
        page = memory.entries(limit=100)
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
