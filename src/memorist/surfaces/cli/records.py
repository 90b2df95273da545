"""Memories as the command line shows them."""

from typing import Any

from memorist.memories.records import memory_to_record
from memorist.memories.values import Memory


def memory_record(memory: Memory) -> dict[str, Any]:
    """The memory as in an export, and its version, which `memorist edit --if-version` takes."""
    return {**memory_to_record(memory), "version": memory.version}
