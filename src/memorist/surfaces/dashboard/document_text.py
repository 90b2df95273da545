"""A document's text as a page shows it: headings, paragraphs, lists and listings, without the marks of Markdown."""

import re
from typing import NamedTuple

from memorist.documents import Shape, extract_text

_HEADING_MARKS = re.compile(r"^\s{0,3}#{1,6}\s*|(?<!\s)\s+#+\s*$|\n\s{0,3}(?:=+|-+)\s*$")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d{1,9}[.)])\s+")
_FENCE = re.compile(r"^[^\S\n]*(?:`{3,}|~{3,})[^\n]*$\n?", re.MULTILINE)
_RULE = re.compile(r"\s*:?-+:?\s*")
_BETWEEN_CELLS = re.compile(r"(?<!\\)\|")
_INLINE = re.compile(
    r"`(?P<code>[^`\n]+)`|\*\*(?P<strong>[^*\n]+)\*\*|__(?P<strong_>[^_\n]+)__|(?<![\w*])\*(?P<em>[^*\s][^*\n]*)\*(?!\w)"
    r"|!?\[(?P<link>[^\[\]\n]{1,500}+)\]\((?P<address>(?:[^()\s]|\([^()\s]*\))*)\)"
)
_KINDS = {"code": "code", "strong": "strong", "strong_": "strong", "em": "em"}


class TextRun(NamedTuple):
    """Some words, and the tag that they stand in; '' for none."""

    tag: str
    text: str


class RenderedBlock(NamedTuple):
    """`kind` is `heading`, `prose`, `list`, `numbered`, `table` or `listing`; each of the lines is a paragraph or
    an item. A table has rows of cells instead, the first of them its head.
    """

    kind: str
    lines: tuple[tuple[TextRun, ...], ...]
    rows: tuple[tuple[tuple[TextRun, ...], ...], ...] = ()
    start: int = 1
    """The number of the first item."""


def blocks_of(text: str, media_type: str) -> list[RenderedBlock]:
    """The blocks of a part of a document. Of HTML and PDF the text alone is kept, so that it is plain."""
    is_markdown = media_type.partition(";")[0].strip() == "text/markdown"
    extracted = extract_text(text, "text/markdown" if is_markdown else "text/plain")
    found = []
    for block in extracted.blocks:
        piece = extracted.text[block.start : block.end]
        found.append(
            _marked(piece, block.shape) if is_markdown else RenderedBlock("prose", ((TextRun("", piece.strip()),),))
        )
    return found


def _marked(text: str, shape: Shape) -> RenderedBlock:
    if shape is Shape.HEADING:
        return RenderedBlock("heading", (_runs(_HEADING_MARKS.sub("", text).strip()),))
    if shape is Shape.PROSE:
        return RenderedBlock("prose", (_runs(text.strip()),))
    lines = [line for line in text.splitlines() if line.strip()]
    if all(_ITEM.match(line) for line in lines):
        items = tuple(_runs(_ITEM.sub("", line)) for line in lines)
        if not all(line.lstrip()[0].isdigit() for line in lines):
            return RenderedBlock("list", items)
        return RenderedBlock("numbered", items, start=int(re.split(r"\D", lines[0].lstrip(), maxsplit=1)[0]))
    if len(lines) > 1 and all(map(_RULE.fullmatch, _parted(lines[1]))) and all("|" in line for line in lines):
        return RenderedBlock("table", (), tuple(map(_cells, [lines[0], *lines[2:]])))
    return RenderedBlock("listing", ((TextRun("", _FENCE.sub("", text).rstrip()),),))


def _cells(line: str) -> tuple[tuple[TextRun, ...], ...]:
    return tuple(_runs(cell.strip()) for cell in _parted(line))


def _parted(line: str) -> list[str]:
    return _BETWEEN_CELLS.split(line.strip().removeprefix("|").removesuffix("|"))


def _runs(text: str) -> tuple[TextRun, ...]:
    """Words with their emphasis. Links are words, and their addresses too: nothing here leads to elsewhere."""
    found: list[TextRun] = []
    at = 0
    for match in _INLINE.finditer(text):
        name = match.lastgroup or ""
        run = _link(match) if name == "address" else TextRun(_KINDS[name], match[name])
        found += [TextRun("", text[at : match.start()]), run]
        at = match.end()
    found.append(TextRun("", text[at:]))
    return tuple(run for run in found if run.text)


def _link(match: re.Match[str]) -> TextRun:
    address = match["address"]
    is_told = address.startswith(("http://", "https://", "mailto:")) and address != match["link"]
    return TextRun("", f"{match['link']} ({address})" if is_told else match["link"])
