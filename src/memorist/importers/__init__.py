"""Memories from elsewhere: what other programs export, read into drafts, and stored without doubles.

Each source is a module with `knows`, which says whether a file looks like one of its, and a parser, a generator of
drafts and of what is skipped. It reads as a stream, and touches neither a database nor a network; `storing` does the
rest.
"""

from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path

from memorist.errors import Invalid
from memorist.importers import chatgpt, claude, jsonl, mcp_memory, mem0
from memorist.importers.items import Found
from memorist.importers.recognition import FileSample, sample
from memorist.transfer.service import FORMAT


class Source(StrEnum):
    """Whose export it is."""

    MEM0 = "mem0"
    MCP_MEMORY = "mcp-memory"
    CLAUDE = "claude"
    CHATGPT = "chatgpt"
    JSONL = "jsonl"


_MODULES = {
    Source.MEM0: mem0,
    Source.MCP_MEMORY: mcp_memory,
    Source.CLAUDE: claude,
    Source.CHATGPT: chatgpt,
    Source.JSONL: jsonl,
}
PARSERS: dict[Source, Callable[[Path], Iterator[Found]]] = {source: one.parse for source, one in _MODULES.items()}


def recognized(path: Path) -> Source | None:
    """Whose export it is; None where it is one of Memorist's own. Raises Invalid where that cannot be told."""
    file = sample(path)
    found = candidates(file)
    if len(found) == 1:
        return found[0]
    if found:
        raise Invalid(f"{path} may be of {' or of '.join(map(str, found))}: say which with --from.", field="file")
    raise Invalid(
        f"{path} is no export that is known here: it looks like {file}. Known are those of `memorist export` and, with "
        f"--from, of {', '.join(Source)}. What is no export is stored by `memorist ingest`.",
        field="file",
    )


def candidates(file: FileSample) -> list[Source | None]:
    """Whose export it may be; None stands for one of Memorist's own."""
    if isinstance(file.first, dict) and file.first.get("format") == FORMAT:
        return [None]
    found: list[Source | None] = [source for source, one in _MODULES.items() if one.knows(file)]
    # Lines with a text may be anybody's: only where they are nobody's are they just lines.
    return found if found == [Source.JSONL] else [source for source in found if source is not Source.JSONL]
