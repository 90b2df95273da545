"""The knowledge graph of the MCP server `memory`: lines of entities, with their observations, and of relations."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memorist.errors import Invalid
from memorist.importers.files import opened
from memorist.importers.items import Found, SkippedItem, Taken, category_of, json_lines, time_of
from memorist.importers.recognition import FileSample
from memorist.memories.values import Draft, Trust


def knows(file: FileSample) -> bool:
    """Whether its first line is an entity or a relation."""
    return file.keys >= {"type", "name", "observations"} or file.keys >= {"type", "from", "relationType", "to"}


def parse(path: Path) -> Iterator[Found]:
    """One fact for each observation and each relation, and for an entity of which nothing is said. Raises Invalid."""
    number = 0
    with opened(path) as source:
        for number, row in json_lines(source, path.name):
            yield from _found(row, f"line {number}")
    if not number:
        raise Invalid(f"{path.name} is empty.", field="path")


def _found(row: Any, where: str) -> Iterator[Found]:
    kind = row.get("type") if isinstance(row, dict) else None
    if kind == "entity":
        yield from _entity(row, where)
    elif kind == "relation":
        yield _relation(row, where)
    else:
        yield SkippedItem(where, "It is neither an entity nor a relation.")


def _entity(row: dict[str, Any], where: str) -> Iterator[Found]:
    name, kind = row.get("name"), row.get("entityType")
    if not _is_text(name):
        yield SkippedItem(where, "The entity has no name.")
        return
    observations = row.get("observations")
    if not isinstance(observations, list):
        yield SkippedItem(where, "Its observations are no list.")
        return
    meta = {"source": "mcp-memory", "entity": name} | ({"entity_type": kind} if _is_text(kind) else {})
    time = time_of(row.get("createdAt"))
    if not observations:
        article = "an" if str(kind)[:1].lower() in "aeio" else "a"
        text = f"{name} is {article} {kind}." if _is_text(kind) else f"There is {name}."
        yield _taken(text, meta, kind, time, where)
    for number, observation in enumerate(observations, start=1):
        at = f"{where}, observation {number}"
        if _is_text(observation):
            # An observation says it without its subject, which is needed to understand it alone.
            yield _taken(f"{name}: {observation.strip()}", meta, kind, time, at)
        else:
            yield SkippedItem(at, "It is no text.")


def _relation(row: dict[str, Any], where: str) -> Found:
    parts = [row.get(field) for field in ("from", "relationType", "to")]
    if not all(_is_text(part) for part in parts):
        return SkippedItem(where, "The relation lacks one of from, relationType and to.")
    start, relation, end = (str(part) for part in parts)
    meta = {"source": "mcp-memory", "from": start, "relation": relation, "to": end}
    return _taken(f"{start} {relation.replace('_', ' ')} {end}.", meta, None, time_of(row.get("createdAt")), where)


def _taken(text: str, meta: dict[str, Any], kind: object, time: Any, where: str) -> Taken:
    draft = Draft(text, category=category_of(kind), meta=meta, trust=Trust.AGENT, event_time=time)
    return Taken(draft, where)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())
