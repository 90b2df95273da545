"""`memorist list`, `show`, `events`, `context` and `section`."""

import json
from collections.abc import Iterator
from functools import partial
from typing import Annotated, Any

import typer

from memorist.codec import to_record
from memorist.memories.records import event_to_record
from memorist.memories.values import Kind, Memory, Order, Status
from memorist.platform.paging import Page
from memorist.surfaces.cli.answers import answer
from memorist.surfaces.cli.door import whose
from memorist.surfaces.cli.flags import ANYWHERE, IDENTITY, AllUsers, Cursor, Flags, Limit, with_flags
from memorist.surfaces.cli.naming import MemoryName, id_of
from memorist.surfaces.cli.records import memory_record
from memorist.surfaces.cli.speaking import speaking
from memorist.surfaces.cli.terminal import minute, note, print_card, print_json, print_json_page, print_table

_PAGE = 20
_LARGEST_PAGE = 100


@with_flags(*ANYWHERE, *IDENTITY)
def list_(
    flags: Flags,
    category: Annotated[str | None, typer.Option(metavar="NAME", help="Only this category.")] = None,
    kind: Annotated[Kind | None, typer.Option(help="Only this kind.")] = None,
    project: Annotated[str | None, typer.Option(metavar="NAME", help="Only this project.")] = None,
    session: Annotated[str | None, typer.Option(metavar="ID", help="Only this session.")] = None,
    status: Annotated[Status, typer.Option(help="Where in its life.")] = Status.ACTIVE,
    named: Annotated[bool, typer.Option("--named", help="Only those with a name.")] = False,
    order: Annotated[Order, typer.Option(help="importance is for --named only.")] = Order.NEWEST,
    limit: Limit = _PAGE,
    cursor: Cursor = None,
    all_: Annotated[bool, typer.Option("--all", help="Every page, one after the other.")] = False,
    every_agent: Annotated[bool, typer.Option("--every-agent", help="Of every agent (profile) of yours.")] = False,
    all_users: AllUsers = False,
) -> None:
    """List memories, newest first: of no agent but the one that is named."""
    with speaking(flags, whose(all_users), reads=True) as memory:
        read_page = partial(
            memory.list,
            every_agent=every_agent, category=category, kind=kind, project=project, session=session, status=status,
            named=named, order=order,
            limit=_LARGEST_PAGE if all_ else limit,
        )  # fmt: skip
        first = read_page(cursor=cursor)
        pages = _pages(first, read_page) if all_ else iter([first])
        next_cursor = None if all_ else first.next_cursor
        if flags.as_json:
            print_json_page((memory_record(one) for page in pages for one in page.items), next_cursor)
            return
        for page in pages:
            _print_page(page, with_user=all_users)
        if next_cursor:
            note(f"There are more: --all lists them, --cursor {next_cursor} goes on.")


def _pages(first: Page[Memory], read_page: Any) -> Iterator[Page[Memory]]:
    page = first
    yield page
    while page.next_cursor is not None:
        page = read_page(cursor=page.next_cursor)
        yield page


def _print_page(page: Page[Memory], *, with_user: bool) -> None:
    if not page.items:
        note("Nothing is remembered here.")
        return
    rows = [
        [one.id, minute(one.created_at), one.user or "(all)", one.category or "", one.name or "", _beginning(one)]
        for one in page.items
    ]
    columns = ["id", "created", "user", "category", "name", "text"]
    if not with_user:
        columns, rows = [*columns[:2], *columns[3:]], [[*row[:2], *row[3:]] for row in rows]
    print_table(columns, rows, whole=["id", "created"])


@with_flags(*ANYWHERE, *IDENTITY)
def show(flags: Flags, name: MemoryName, all_users: AllUsers = False) -> None:
    """Show one memory in full. The read is counted."""
    with speaking(flags, whose(all_users), reads=True) as memory:
        found = memory.get(id_of(memory, name))
    record = memory_record(found)
    if flags.as_json:
        print_json(record)
        return
    body = record.pop("content")
    print_card({name: _text(value) for name, value in record.items() if value is not None}, body)


@with_flags(*ANYWHERE, *IDENTITY)
def events(flags: Flags, name: MemoryName, all_users: AllUsers = False) -> None:
    """Show what happened to a memory, oldest first, even if it was deleted."""
    with speaking(flags, whose(all_users), reads=True) as memory:
        trail = memory.events(id_of(memory, name))
    records = [event_to_record(event) for event in trail]
    if flags.as_json:
        print_json({"items": records})
        return
    rows = [
        [one["created_at"], one["event_type"], one["actor"] or "", one["source"], _text(one["payload"])]
        for one in records
    ]
    print_table(["when", "event", "by", "through", "details"], rows, whole=["when", "event"])


@with_flags(*ANYWHERE, *IDENTITY)
def context(
    flags: Flags,
    question: Annotated[str, typer.Argument(metavar="[QUESTION]", help="What the agent is asked.")] = "",
    project: Annotated[str | None, typer.Option(metavar="FOLDER", help="With what was learned there.")] = None,
    budget: Annotated[int | None, typer.Option(metavar="TOKENS", help="At most this many tokens.")] = None,
) -> None:
    """Print what an agent is given for a question: what is known, what changed lately and what recall finds, dated,
    within a budget, fenced as data.
    """
    with speaking(flags, reads=True, models=True) as memory:
        found = memory.context(question, project=project, budget_tokens=budget)
    answer(flags, to_record(found), found.fenced or "Nothing is remembered yet.")


@with_flags(*ANYWHERE, *IDENTITY)
def section(flags: Flags) -> None:
    """Print the memory section for a system prompt, fenced as data: the named memories of a profile (--agent), and what
    is known.
    """
    with speaking(flags, reads=True) as memory:
        found = memory.section()
    answer(flags, {"text": found.text, "count": found.count}, found.text)


def _beginning(memory: Memory) -> str:
    # No terminal line shows more than this, and wrapping a long text costs time.
    text = memory.description or memory.content
    return text if len(text) <= 200 else text[:200] + "…"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
