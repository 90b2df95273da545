"""What most commands answer: one JSON document, or data on stdout with a remark on stderr."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from memorist.platform.paging import Page
from memorist.surfaces.cli.flags import Flags
from memorist.surfaces.cli.terminal import note, print_json, print_json_page, print_line, print_table

T = TypeVar("T")


def answer(flags: Flags, record: Any, *lines: str, remark: str = "") -> None:
    """The record with --json; otherwise the lines, and the remark beside them."""
    if flags.as_json:
        print_json(record)
        return
    for line in lines:
        print_line(line)
    if remark:
        note(remark)


def answer_page(
    flags: Flags,
    page: Page[T],
    record: Callable[[T], dict[str, Any]],
    columns: Sequence[str],
    row: Callable[[T], Sequence[str]],
    *,
    whole: Sequence[str],
    empty: str,
) -> None:
    """A page as JSON, or as a table with how to go on; `empty` is said where nothing is on it."""
    if flags.as_json:
        print_json_page(map(record, page.items), page.next_cursor)
    elif not page.items:
        note(empty)
    else:
        print_table(columns, [row(item) for item in page.items], whole=whole)
        if page.next_cursor:
            note(f"There are more: --cursor {page.next_cursor} goes on.")


def answer_list(
    flags: Flags, records: Sequence[dict[str, Any]], columns: Sequence[str], *, whole: Sequence[str], empty: str
) -> None:
    """All of a short list as JSON, or as a table of some of its fields."""
    if flags.as_json:
        print_json({"items": records})
    elif not records:
        note(empty)
    else:
        shown = [["" if one[name] is None else str(one[name]) for name in columns] for one in records]
        print_table(columns, shown, whole=whole)
