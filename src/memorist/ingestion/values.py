"""Documents as values."""

from dataclasses import dataclass
from datetime import datetime

from memorist.memories.values import Memory
from memorist.platform.values import Owner


@dataclass(frozen=True, slots=True)
class Document:
    """A text that was uploaded whole. Its chunks are memories that name it as their `source_ref`."""

    id: str
    owner: Owner
    title: str
    media_type: str
    content: str
    chunks: int
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class DocumentPosition:
    """Where a page of documents ended: the sort key of its last one."""

    id: str
    owner: Owner


def output_key(memory: Memory) -> str:
    """The key of a tool output's payload: the memory's own bits."""
    return memory.id.replace("mem_", "tout_", 1)
