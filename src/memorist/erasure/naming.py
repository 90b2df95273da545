"""What names a memory: other memories, events and turns. Found page by page, and rewritten so that it does not."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from memorist.erasure.values import Naming
from memorist.memories import governance, lifecycle
from memorist.memories.values import Memory
from memorist.platform.erased_names import ids_named_in
from memorist.ports import Reader

PAGE = 500

_LATE = 1000
"""Events that get their numbers first are seen after so many others at most: they wait for their transaction."""

T = TypeVar("T")
Read = Callable[[Callable[[Reader], list[Any]]], list[Any]]
"""Runs what reads: in a transaction of its own, or in one that is open."""


def memories_naming(read: Read, after_id: str = "") -> Iterator[Naming]:
    """Memories that name another one."""
    return _walk(read, lambda after, tx: tx.erasure.scan_naming(after, PAGE), after_id, lambda row: row.id)


def events_naming(read: Read, after_seq: int = -1) -> Iterator[tuple[int, str]]:
    """Events that name a memory: their number and payload."""
    return _walk(read, lambda after, tx: tx.erasure.scan_naming_events(after, PAGE), after_seq, lambda row: row[0])


def turns_naming(read: Read) -> Iterator[tuple[str, int, str]]:
    """Events of turns that name a memory: turn, number and data."""
    return _walk(read, lambda after, tx: tx.erasure.scan_naming_turns(after, PAGE), ("", -1), lambda row: row[:2])


def _walk(
    read: Read, scan: Callable[[Any, Reader], list[T]], after: Any, position_of: Callable[[T], Any]
) -> Iterator[T]:
    while page := read(partial(scan, after)):
        yield from page
        after = position_of(page[-1])


def in_pages(items: Iterable[T]) -> Iterator[list[T]]:
    rest = iter(items)
    while page := list(islice(rest, PAGE)):
        yield page


def copied_by(naming: Naming, *, by_time: bool) -> set[str]:
    """The memories that it repeats word for word, as what a model was told by `recall` does, and that it goes with:
    `by_time` when their retention is over, else when somebody erases them.
    """
    if by_time and governance.outlives_quoted(naming.kind, naming.governed_by):
        return set()
    return lifecycle.quoted_in(naming.kind, json.loads(naming.meta or "{}"))


@dataclass(frozen=True, slots=True)
class Quotes:
    """What says something of some memories: copies of their words, by id, and events of others, by number. What comes
    after `last_id` and `last_seq` was not looked at.
    """

    copies: list[str]
    events: list[int]
    last_id: str = ""
    last_seq: int = -1


def quotes_of(read: Read, memory_ids: Collection[str], after: Quotes | None = None) -> Quotes:
    """What goes when the time of these is over. It looks at everything that names a memory, or at what came after it
    was last looked at.
    """
    wanted = set(memory_ids)
    last_id, last_seq = (after.last_id, max(-1, after.last_seq - _LATE)) if after else ("", -1)
    found = Quotes([], [])
    for naming in memories_naming(read, last_id):
        last_id = naming.id
        if wanted & copied_by(naming, by_time=True):
            found.copies.append(naming.id)
    for seq, payload in events_naming(read, last_seq):
        last_seq = seq
        if ids_named_in(payload) & wanted:
            found.events.append(seq)
    return replace(found, last_id=last_id, last_seq=last_seq)


def sources_of(naming: Naming | Memory) -> set[str]:
    """The memories that this one was derived from, as far as it says so."""
    meta = naming.meta if isinstance(naming.meta, str) else json.dumps(naming.meta, default=str)
    return ids_named_in(meta) | ids_named_in(naming.source_ref or "")


def without(value: Any, erased: set[str]) -> Any:
    """A JSON value in which nothing names an erased memory."""
    if isinstance(value, str):
        return None if ids_named_in(value) & erased else value
    if isinstance(value, Mapping):
        return {name: without(one, erased) for name, one in value.items() if not ids_named_in(name) & erased}
    if isinstance(value, list | tuple):
        kept = [without(one, erased) for one in value]
        return [one for one, before in zip(kept, value, strict=True) if one is not None or before is None]
    return value


def untold(payload: Any, erased: set[str]) -> Any:
    """The payload of an event of another memory, which neither names an erased one nor says anything of it."""
    return without(lifecycle.without_texts_about(payload, erased), erased)


def detached(memory: Memory, erased: set[str]) -> Memory:
    """A memory that names no erased one, nor quotes one as its source."""
    return replace(
        memory,
        source_ref=None if memory.source_ref in erased else memory.source_ref,
        superseded_by=None if memory.superseded_by in erased else memory.superseded_by,
        meta=without(memory.meta, erased),
        excerpt=None if sources_of(memory) & erased else memory.excerpt,
    )
