"""Documents, and what a message says, as values."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memorist.memories.values import Memory
from memorist.platform.values import Owner

UTC_OFFSET = "utc_offset_minutes"
"""In the details of a message: how far the clock of who said it was ahead of UTC, where its time told that."""

# What OpenAI and Anthropic call a part that is plain text.
TEXT_PARTS = ("text", "input_text", "output_text")


class NotText(ValueError):
    """A part of a content is no text."""


def joined_text(content: object) -> Any:
    """The text of a content that comes in parts; anything else as it is. Raises NotText."""
    if not isinstance(content, list):
        return content
    texts = []
    for index, part in enumerate(content):
        kind = part.get("type") if isinstance(part, dict) else None
        text = part.get("text") if isinstance(part, dict) else None
        if kind not in TEXT_PARTS or not isinstance(text, str):
            raise NotText(f"content.{index} is not text. Only parts of type text are stored")
        texts.append(text)
    return "\n".join(texts)


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

    def holds(self, chunk: Memory) -> bool:
        """Whether one of its chunks is of this version: those of a version are written after it."""
        return chunk.created_at >= self.updated_at


@dataclass(frozen=True, slots=True)
class DocumentPosition:
    """Where a page of documents ended: the sort key of its last one."""

    id: str
    owner: Owner


def output_key(memory: Memory) -> str:
    """The key of a tool output's payload: the memory's own bits."""
    return memory.id.replace("mem_", "tout_", 1)
