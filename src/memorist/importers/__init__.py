"""Memories from elsewhere: what other programs export, read into drafts, and stored without doubles.

Each source is a module with a parser, a generator of drafts and of what is skipped. It reads as a stream, and touches
neither a database nor a network; `storing` does the rest.
"""

from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path

from memorist.importers import chatgpt, claude, mcp_memory, mem0
from memorist.importers.items import Found


class Source(StrEnum):
    """Whose export it is."""

    MEM0 = "mem0"
    MCP_MEMORY = "mcp-memory"
    CLAUDE = "claude"
    CHATGPT = "chatgpt"


PARSERS: dict[Source, Callable[[Path], Iterator[Found]]] = {
    Source.MEM0: mem0.parse,
    Source.MCP_MEMORY: mcp_memory.parse,
    Source.CLAUDE: claude.parse,
    Source.CHATGPT: chatgpt.parse,
}
