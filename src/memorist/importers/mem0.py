"""A mem0 export: what `get_all` or a memory export gives, as JSON (a list, or `results` in an object) or JSON lines.

With graph memory on, the object has `relations` beside them.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

from memorist.errors import Invalid
from memorist.importers.files import opened
from memorist.importers.items import (
    Found,
    SkippedItem,
    Taken,
    as_texts,
    category_of,
    first_row,
    first_sign,
    json_items,
    json_lines,
    json_whole,
    time_of,
)
from memorist.importers.recognition import FileSample
from memorist.memories.values import Draft, Trust

_LISTS = ("results", "memories", "data")
_RELATIONS = "relations"
# How the two interfaces of mem0 name the ends of a relation, and what is between them.
_ENDS = (("source",), ("relationship", "relation"), ("target", "destination"))
_TEXTS = ("memory", "text", "data", "content")
_MARKS = frozenset({"hash", "user_id", "agent_id", "run_id", "categories"})
_KEPT = ("user_id", "agent_id", "run_id", "app_id", "actor_id", "role", "categories", "metadata", "hash")


def knows(file: FileSample) -> bool:
    """Whether it looks like one of mem0's: rows with a text, and with what only mem0 has beside or around it. A bare
    `memory` may be anybody's.
    """
    row = file.first
    if not isinstance(row, dict):
        return False
    listed = next((row[key] for key in _LISTS if isinstance(row.get(key), list)), None)
    marks = _MARKS
    if listed is not None or row.get(_RELATIONS):
        row = next(iter(listed or []), row)
        marks |= {"memory"}
    return isinstance(row, dict) and bool(row.keys() & marks) and bool(row.keys() & {*_TEXTS, *_LISTS, _RELATIONS})


def parse(path: Path) -> Iterator[Found]:
    """One fact for each memory and each relation. Raises Invalid where the file is none of mem0's."""
    with opened(path) as source:
        yield from _all(source, path.name)


def _all(source: TextIO, name: str) -> Iterator[Found]:
    sign = first_sign(source, name)
    if sign == "[":
        yield from _memories(json_items(source, name))
        return
    if sign != "{":
        raise Invalid(f"{name} is no mem0 export: it begins with {sign!r}.", field="path")
    first = first_row(source, name)
    source.seek(0)
    if first and not _has_rows(first):
        yield from _memories(json_lines(source, name))
        return
    whole = json_whole(source, name)
    listed = next((whole[key] for key in _LISTS if isinstance(whole.get(key), list)), None)
    relations = whole.get(_RELATIONS) or []
    if listed is None and not (relations and isinstance(relations, list)):
        raise Invalid(f"{name} is no mem0 export: it has none of {', '.join(_LISTS)}.", field="path")
    yield from _memories(enumerate(listed or [], start=1))
    if not isinstance(relations, list):
        yield SkippedItem(_RELATIONS, "They are no list.")
        return
    for number, row in enumerate(relations, start=1):
        yield _relation(row, f"relation {number}")


def _memories(rows: Iterable[tuple[int, Any]]) -> Iterator[Found]:
    for number, row in rows:
        yield _found(row, f"memory {number}")


def _has_rows(value: dict[str, Any]) -> bool:
    return any(isinstance(value.get(key), list) for key in (*_LISTS, _RELATIONS))


def _found(row: Any, where: str) -> Found:
    if not isinstance(row, dict):
        return SkippedItem(where, "It is no object.")
    text = next((row[key] for key in _TEXTS if isinstance(row.get(key), str) and row[key].strip()), None)
    if text is None:
        return SkippedItem(where, "It has no text.")
    metadata: Any = row.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    names = row.get("categories") or metadata.get("category") or metadata.get("type")
    at = time_of(row.get("created_at"))
    # A time that is none is kept as it stands.
    kept = _KEPT if at is not None else (*_KEPT, "created_at")
    return Taken(
        Draft(
            text.strip(),
            category=category_of(names),
            meta={"source": "mem0", **as_texts({name: row.get(name) for name in kept})},
            source_ref=f"mem0:{row['id']}"[:500] if row.get("id") else None,
            # It was drawn from conversations by a model.
            trust=Trust.AGENT,
            event_time=at,
        ),
        where,
    )


def _relation(row: Any, where: str) -> Found:
    if not isinstance(row, dict):
        return SkippedItem(where, "It is no object.")
    parts = [next((row[key] for key in keys if _is_text(row.get(key))), None) for keys in _ENDS]
    if None in parts:
        return SkippedItem(where, "The relation lacks one of source, relationship and target.")
    start, relation, end = (str(part).strip() for part in parts)
    meta = {"source": "mem0", "from": start, "relation": relation, "to": end}
    text = f"{start} {relation.replace('_', ' ')} {end}."
    return Taken(Draft(text, category=category_of(None), meta=meta, trust=Trust.AGENT), where)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())
