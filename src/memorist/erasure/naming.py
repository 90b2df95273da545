"""What names a memory: other memories, events and turns. Found page by page, and rewritten so that it does not."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from memorist.erasure.values import Naming
from memorist.memories import lifecycle
from memorist.memories.values import QUOTES, Kind, Memory
from memorist.platform.erased_names import ids_named_in
from memorist.ports import Reader, Writer

PAGE = 500

T = TypeVar("T")
Read = Callable[[Callable[[Reader], list[Any]]], list[Any]]
"""Runs what reads: in a transaction of its own, or in one that is open."""


def memories_naming(read: Read) -> Iterator[Naming]:
    """Memories that name another one."""
    return _walk(read, lambda after, tx: tx.erasure.scan_naming(after, PAGE), "", lambda row: row.id)


def events_naming(read: Read) -> Iterator[tuple[int, str]]:
    """Events that name a memory: their number and payload."""
    return _walk(read, lambda after, tx: tx.erasure.scan_naming_events(after, PAGE), -1, lambda row: row[0])


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


def is_copy(naming: Naming) -> bool:
    """Whether it repeats memories word for word: what a model was told by `recall`, for one. It goes with these."""
    return naming.kind == Kind.TOOL_OUTPUT and QUOTES in json.loads(naming.meta or "{}")


def copies_of(tx: Reader, memory_ids: Collection[str]) -> list[str]:
    """The ids of those that repeat any of these memories. It looks at every memory that names another one."""
    wanted = set(memory_ids)
    naming = memories_naming(lambda work: work(tx))
    return [one.id for one in naming if is_copy(one) and wanted & ids_named_in(one.meta or "")]


def cut_events(tx: Writer, memory_ids: Collection[str]) -> None:
    """Leave in no event what it says of these memories. It looks at every event that names one."""
    wanted = set(memory_ids)
    for seq, payload in events_naming(lambda work: work(tx)):
        if ids_named_in(payload) & wanted:
            told = json.loads(payload)
            cut = lifecycle.without_texts_about(told, wanted)
            if cut != told:
                tx.erasure.rewrite_event(seq, json.dumps(cut, ensure_ascii=False))


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
