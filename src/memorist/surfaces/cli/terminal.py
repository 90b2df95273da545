"""Printing: data to stdout, everything else to stderr, and no stored text as a command to the terminal."""

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

# Wide enough for an id and a sentence, where no terminal says how wide it is.
_WIDTH_OF_FILES = 120

# C0 and C1 controls (escape sequences begin with one) and the characters that reverse what is shown after them.
_CONTROLS = [*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_VISIBLE = {
    code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" for code in _CONTROLS if chr(code) not in "\n\t"
}
_WARNING_WORDS = {"error:": "1;31", "warning:": "33"}
_JSON_ESCAPES = {code: f"\\u{code:04x}" for code in _CONTROLS if code >= 0x7F}


def printable(text: str) -> str:
    """The text with every control character, except line breaks and tabs, spelled out."""
    return text.translate(_VISIBLE)


def one_line(text: str) -> str:
    """The text on one line, for a cell of a table."""
    return printable(" ".join(text.split()))


def escaped_json(encoded: str) -> str:
    """The same JSON, with the control characters that JSON itself leaves alone written as escapes."""
    return encoded.translate(_JSON_ESCAPES)


def print_json(value: Any) -> None:
    """One JSON document on one line of stdout."""
    print(escaped_json(json.dumps(value, ensure_ascii=False)))


def print_json_page(items: Iterable[Mapping[str, Any]], next_cursor: str | None) -> None:
    """`{"items": […], "next_cursor": …}`, written item by item, so that a list of any length fits in memory."""
    sys.stdout.write('{"items": [')
    for index, item in enumerate(items):
        separator = ",\n" if index else ""
        sys.stdout.write(separator + escaped_json(json.dumps(item, ensure_ascii=False)))
    print(f'], "next_cursor": {json.dumps(next_cursor)}}}')


def print_line(text: str) -> None:
    """A line (or several) of data on stdout."""
    print(printable(text))


def note(text: str) -> None:
    """A remark on stderr; on a terminal the word that warns is coloured."""
    word, space, rest = printable(text).partition(" ")
    if word in _WARNING_WORDS and _has_colours():
        word = f"\x1b[{_WARNING_WORDS[word]}m{word}\x1b[0m"
    print(f"{word}{space}{rest}", file=sys.stderr)


def _has_colours() -> bool:
    return sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def counted(number: int, one: str, many: str | None = None) -> str:
    """ "1 message", "2 messages"."""
    return f"{number} {one if number == 1 else many or f'{one}s'}"


def minute(moment: datetime) -> str:
    """A moment as tables have it, in the time of this machine."""
    try:
        local = moment.astimezone()
    except (OverflowError, ValueError):
        # At the ends of time: the hour that it is here would lie beyond.
        local = moment
    return local.strftime("%Y-%m-%d %H:%M")


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    whole: Sequence[str] = (),
    colours: Mapping[str, str] | None = None,
) -> None:
    """Rows of text under headings. The columns named in `whole` are never wrapped or cut; on a terminal the first cell
    of a row has the colour that `colours` has for it.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    cells = [[one_line(cell) for cell in row] for row in rows]
    for index, column in enumerate(columns):
        # Rich would squeeze every column alike; an id that is cut cannot be used.
        widest = max([len(column), *(len(row[index]) for row in cells)]) if column in whole else None
        table.add_column(column, no_wrap=column in whole, min_width=widest, overflow="fold")
    for row in cells:
        # Text, not str: a str would be read as markup.
        style = (colours or {}).get(row[0], "")
        table.add_row(Text(row[0], style=style), *(Text(cell) for cell in row[1:]))
    print_rendered(table)


def print_card(fields: Mapping[str, str], body: str) -> None:
    """One thing in full: its fields, then its text in a frame."""
    from rich.console import Group
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in fields.items():
        grid.add_row(Text(name, style="bold"), Text(one_line(value)))
    print_rendered(Group(grid, Panel(Text(printable(body)))))


def print_rendered(renderable: "RenderableType") -> None:
    """What Rich draws, on stdout."""
    console = _console()
    with console.capture() as capture:
        console.print(renderable)
    # Rich pads lines to the full width, which only makes pipes and copied text untidy.
    print("\n".join(line.rstrip() for line in capture.get().strip("\n").split("\n")))


def _console() -> "Console":
    from rich.console import Console

    width = None if sys.stdout.isatty() else _WIDTH_OF_FILES
    return Console(width=width, markup=False, emoji=False, highlight=False)
