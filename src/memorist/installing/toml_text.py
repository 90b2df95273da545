"""The table of an MCP server in a TOML file, added and taken out as text: all other lines keep every character."""

import json
import re
import tomllib
from typing import Any

from memorist.installing.jsonc import newline_of

_HEADER = re.compile(r"^[ \t]*\[")


def parse(text: str) -> dict[str, Any]:
    """Raises tomllib.TOMLDecodeError."""
    return tomllib.loads(text)


def put_table(text: str, group: str, name: str, values: dict[str, Any]) -> str:
    """The text with that table at its end, in place of one that has the same header."""
    newline = newline_of(text)
    text = remove_table(text, group, name)
    lines = [f"[{group}.{name}]", *[f"{key} = {_written(value)}" for key, value in values.items()]]
    if text and not text.endswith("\n"):
        text += newline
    gap = newline if text.strip() else ""
    return text + gap + newline.join(lines) + newline


def remove_table(text: str, group: str, name: str) -> str:
    """The text without the lines of that table and of those below it. Comments and blank lines after it stay."""
    spelled = rf"{re.escape(group)}[ \t]*\.[ \t]*(?:{re.escape(name)}|\"{re.escape(name)}\")"
    header = re.compile(rf"^[ \t]*\[[ \t]*{spelled}[ \t]*(?:\.[^\]]*)?\]")
    kept: list[str] = []
    table: list[str] = []
    inside = False
    for line in text.splitlines(keepends=True):
        if _HEADER.match(line) and not (inside and _is_in_a_list(table)):
            if inside:
                kept += _rest(table)
            inside = header.match(line) is not None
            if inside:
                _drop_blank_line(kept)
            table = []
        (table if inside else kept).append(line)
    return "".join(kept + (_rest(table) if inside else []))


def _rest(table: list[str]) -> list[str]:
    """What follows a table's last key: it belongs to what comes next."""
    last = max(index for index, line in enumerate(table) if line.strip() and not line.lstrip().startswith("#"))
    return table[last + 1 :]


def _drop_blank_line(kept: list[str]) -> None:
    if kept and not kept[-1].strip():
        kept.pop()


def _is_in_a_list(table: list[str]) -> bool:
    """Whether a value with brackets over several lines is still open: then a line may begin with one."""
    try:
        tomllib.loads("".join(table))
    except tomllib.TOMLDecodeError:
        return True
    return False


def _written(value: Any) -> str:
    # A basic string of TOML is written like one of JSON.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
