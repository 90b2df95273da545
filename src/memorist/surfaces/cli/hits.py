"""Recalled memories as the command line shows them: as JSON, and as a table with the reasons below each text."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memorist import words
from memorist.ingestion.values import output_key
from memorist.memories.kinds import KINDS, source_of
from memorist.memories.searchable import speaker_of
from memorist.memories.values import Kind, Memory
from memorist.recall.values import Hit, Recalled
from memorist.surfaces.cli.terminal import one_line, print_rendered
from memorist.times import to_iso

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

# About four lines of a terminal.
_LONGEST_TEXT = 320
_WORD = re.compile(r"\w+(?:['’]\w+)*")


def recalled_record(recalled: Recalled) -> dict[str, Any]:
    """The answer as the agent tool `recall` gives it, with ids as the command line prints them; made here, because the
    tools' own module takes pydantic.
    """
    record: dict[str, Any] = {
        "items": [_hit_record(hit) for hit in recalled.hits],
        "total": len(recalled.hits),
        "degraded": recalled.degraded,
        "rerank_used": recalled.rerank_used,
    }
    if recalled.why_not is not None:
        record["why_not"] = dict(recalled.why_not)
    return record


def _hit_record(hit: Hit) -> dict[str, Any]:
    memory = hit.memory
    record: dict[str, Any] = {
        "id": memory.id,
        "source_kind": memory.kind,
        "source_ref": source_of(memory),
        "content": hit.excerpt,
        "event_time": to_iso(memory.event_time or memory.created_at),
        "score": hit.score,
    }
    if memory.kind is Kind.TOOL_OUTPUT:
        record["tool_output_key"] = output_key(memory)
    return record if hit.explanation is None else record | {"explanation": dict(hit.explanation)}


def print_hits(hits: Sequence[Hit], query: str) -> None:
    """A table: the score, the text with the question's words set off, where it is from and, if asked, why it came."""
    print_rendered(hit_table(hits, query))


def hit_table(hits: Sequence[Hit], query: str, *, with_ids: bool = True, with_head: bool = True) -> "Table":
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, show_header=with_head)
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("memory", overflow="fold")
    for hit in hits:
        cell = _text_of(hit, query)
        for line in _below(hit, with_ids=with_ids):
            cell.append("\n")
            cell.append(line, style="dim")
        table.add_row(Text(f"{hit.score:.2f}", style="bold"), cell)
    return table


def _text_of(hit: Hit, query: str) -> "Text":
    from rich.text import Text

    shown = one_line(hit.excerpt)
    text = Text(shown if len(shown) <= _LONGEST_TEXT else shown[:_LONGEST_TEXT] + "…")
    wanted = set(words.question_terms(query))
    for match in _WORD.finditer(text.plain):
        if wanted.intersection(words.terms(match[0])):
            text.stylize("bold cyan", *match.span())
    return text


def _below(hit: Hit, *, with_ids: bool) -> Iterator[str]:
    yield " · ".join(filter(None, [*_origin(hit.memory), hit.memory.id if with_ids else ""]))
    if hit.explanation is not None:
        yield explained(hit.explanation)


def _origin(memory: Memory) -> Iterator[str]:
    """Who said it and when, or where it stands."""
    headings = memory.meta_texts("heading_path")
    yield KINDS[memory.kind].one
    yield one_line(" > ".join(headings) if headings else speaker_of(memory))
    yield f"{memory.event_time or memory.created_at:%Y-%m-%d}"


def explained(explanation: Mapping[str, Any]) -> str:
    """On one line: each arm's rank and score, all together and the weight of its class, and what the reranker said."""
    by_text, by_meaning = explanation["text"], explanation["vector"]
    first = explanation["first_stage"]
    parts = [
        f"words #{by_text['rank']} {by_text['bm25']:.2f}" if by_text["rank"] else "words –",
        f"meaning #{by_meaning['rank']} {by_meaning['cosine']:.2f}" if by_meaning["rank"] else "meaning –",
    ]
    if "tokens" in explanation:
        agreed = explanation["tokens"]
        parts.append(f"tokens #{agreed['rank']} of {agreed['compared']} {agreed['agreement']:.2f}")
    parts.append(f"together #{first['rank']} {first['score']:.2f} ×{explanation['weight']:g}")
    if "reranker" in explanation:
        said = explanation["reranker"]
        parts.append(f"reranker #{said['rank']} of {said['read']} {said['score']:.1f}")
    return " · ".join(parts)
