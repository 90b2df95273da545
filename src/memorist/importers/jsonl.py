"""Lines of JSON, or a list, from anywhere: each an object with a text, and whatever else is to be kept with it."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

from memorist.errors import Invalid
from memorist.importers.files import opened
from memorist.importers.items import (
    CATEGORIES,
    UNCATEGORISED,
    Found,
    SkippedItem,
    Taken,
    as_texts,
    first_row,
    first_sign,
    former_slug_of,
    json_items,
    json_lines,
    json_whole,
    slug_of,
    time_of,
)
from memorist.importers.recognition import FileSample
from memorist.memories.governance import TESTED
from memorist.memories.values import Draft

_TEXTS = ("content", "text", "memory", "fact")
_CATEGORIES = ("category", "type")
_TIMES = ("event_time", "created_at", "timestamp", "date")
# Who speaks: such lines are a conversation, which `memorist ingest` stores as one.
_SPOKEN = "role"
# What only a test that was made here says of a memory.
_EARNED = ("insight", "insights", TESTED)


def knows(file: FileSample) -> bool:
    """Whether its first object has a text, and nothing that speaks for a conversation."""
    return _SPOKEN not in file.keys and any(_is_text(file.first[key]) for key in _TEXTS if key in file.keys)


def parse(path: Path) -> Iterator[Found]:
    """One fact for each object. Raises Invalid where the file has none."""
    with opened(path) as source:
        sign = first_sign(source, path.name)
        if sign not in "[{":
            raise Invalid(f"{path.name} has no lines of JSON: it begins with {sign!r}.", field="path")
        for number, row in _rows(source, path.name, sign):
            yield _found(row, f"line {number}")


def _rows(source: TextIO, name: str, sign: str) -> Iterator[tuple[int, Any]]:
    if sign == "[":
        return json_items(source, name)
    is_line = first_row(source, name) is not None
    source.seek(0)
    # One object may stand on several lines, as people write it.
    return json_lines(source, name) if is_line else iter([(1, json_whole(source, name))])


def _found(row: Any, where: str) -> Found:
    if not isinstance(row, dict):
        return SkippedItem(where, "It is no object.")
    if row.get(_SPOKEN):
        return SkippedItem(where, "It is of a conversation: memorist ingest stores those.")
    key = next((key for key in _TEXTS if _is_text(row.get(key))), None)
    if key is None:
        return SkippedItem(where, f"It has no text, as one of {', '.join(_TEXTS)}.")
    named, category = _category(row, slug_of)
    dated, at = next(((name, time) for name in _TIMES if (time := time_of(row.get(name)))), ("", None))
    rest = {name: value for name, value in row.items() if name not in {key, "id", named, dated}}
    draft = Draft(
        row[key].strip(),
        category=category,
        meta={"source": "jsonl", **as_texts(rest)},
        source_ref=f"jsonl:{row['id']}"[:500] if row.get("id") else None,
        event_time=at,
    )
    _, former = _category(row, former_slug_of)
    return Taken(draft, where, replace(draft, category=former) if former != category else None)


def _category(row: dict[str, Any], slug_of: Callable[[str], str]) -> tuple[str, str | None]:
    """Which key names the category, where one does, and the category."""
    named, category = next(
        ((name, slug) for name in _CATEGORIES if _is_text(row.get(name)) and (slug := slug_of(row[name]))), ("", "")
    )
    if category in _EARNED:
        return "", UNCATEGORISED
    return named, CATEGORIES.get(category, category) or None


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())
