"""What is true of each kind of memory, declared once."""

from dataclasses import dataclass

from memorist.memories.values import Kind, Memory


@dataclass(frozen=True, slots=True)
class KindRules:
    """`one` and `many` are what people read."""

    one: str
    many: str
    is_merged: bool = False
    """Two of the same text are one: two equal facts are one fact, and two equal messages were said twice."""


KINDS = {
    Kind.FACT: KindRules("fact", "facts", is_merged=True),
    Kind.CHAT_MESSAGE: KindRules("message", "messages"),
    Kind.TOOL_OUTPUT: KindRules("tool output", "tool outputs"),
    Kind.DOCUMENT_CHUNK: KindRules("document chunk", "document chunks"),
}


def source_of(memory: Memory) -> str | None:
    """What it was taken from: of a message the session."""
    return memory.session if memory.kind is Kind.CHAT_MESSAGE else memory.source_ref
