"""Where a page of memories ended, and its cursors."""

from typing import Any

from memorist.memories.values import Memory, Position
from memorist.platform.paging import Cursors, id_part, moment_part, number_part
from memorist.times import to_micros


def position_cursors(name: str) -> Cursors[Position]:
    """The cursors of a list of memories by time, or by importance and time."""
    return Cursors(name, _pack, _unpack)


def position_of(memory: Memory) -> Position:
    return Position(memory.created_at, memory.id, memory.importance)


def _pack(position: Position) -> tuple[int, str, int]:
    return to_micros(position.created_at), position.id, position.importance


def _unpack(micros: Any, memory_id: Any, importance: Any) -> Position:
    return Position(moment_part(micros), id_part("mem", memory_id), number_part(importance))
