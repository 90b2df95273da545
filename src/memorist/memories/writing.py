"""Rows are written here, each with what follows from it: what recall finds it by, and when time moves it next.

Inside a transaction. A store writes what it is given; what that is, is decided here.
"""

import dataclasses
from collections.abc import Iterable, Sequence
from datetime import datetime

from memorist import words
from memorist.memories import lifecycle
from memorist.memories.searchable import searchable, standing, thread_of
from memorist.memories.values import Memory, Row, State, Status
from memorist.platform.values import Event
from memorist.ports import Writer


def insert(tx: Writer, memory: Memory) -> bool:
    """False, and nothing written, where its id, its name or its text already exists for that owner."""
    return tx.memories.insert(row_of(memory))


def insert_many(tx: Writer, memories: Sequence[Memory]) -> bool:
    """Write memories of which none can exist already. False where one does: then the transaction must not go on."""
    return tx.memories.insert_many([row_of(memory) for memory in memories])


def replace(tx: Writer, memory: Memory, expected_updated_at: datetime) -> bool:
    """Compare-and-set on `updated_at`. False where the row changed meanwhile or is gone. Raises Conflict."""
    return tx.memories.replace(row_of(memory), expected_updated_at)


def move(tx: Writer, memory: Memory, expected_updated_at: datetime) -> bool:
    """The same for its state and its deadlines alone. Not for a move to active, which may clash with another row."""
    return tx.aging.move(memory, state_of(memory), expected_updated_at)


def set_deadlines(tx: Writer, memory: Memory, expected_updated_at: datetime) -> bool:
    """The same for its deadlines alone."""
    return tx.aging.set_deadlines(memory, lifecycle.due_at(memory), expected_updated_at)


def clear_traces(tx: Writer, memory: Memory, events: Iterable[Event]) -> None:
    """Leave nothing of a text that it had: in the index, payloads, recalls, doubts and these events."""
    without = [dataclasses.replace(one, payload=lifecycle.without_texts(one.payload)) for one in events]
    tx.aging.clear_traces(memory, words.pack(""), without)


def adopt(tx: Writer, limit: int) -> int:
    """Put some memories into the index that were written before there was one. Returns how many."""
    found = tx.index.unindexed(limit)
    tx.index.insert([row_of(memory) for memory in found])
    return len(found)


def row_of(memory: Memory) -> Row:
    found = searchable(memory)
    happened = memory.event_time or memory.created_at
    return Row(memory, state_of(memory), thread_of(memory), happened, found.digest(), found.terms())


def state_of(memory: Memory) -> State:
    retired_at = memory.updated_at if memory.status is Status.ARCHIVED else None
    return State(int(standing(memory)), retired_at, lifecycle.due_at(memory))
