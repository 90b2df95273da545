"""The text of an HTML page and its blocks.

The standard library's parser takes quadratic time for unclosed tags and raises for some; a page from anywhere must do
neither. So one pattern cuts the page into tokens here: each of its choices ends somewhere, whatever the page holds,
and no tag is ever looked for twice. There is no tree, hence no depth.
"""

import re
from html import unescape

from memorist.documents.structure import Block, ExtractedText, Outline, Shape

_TOKEN = re.compile(
    r"""(?P<text>(?:[^<]++|<(?![a-zA-Z/!?]))++)
    |<!--(?:-?>|.*?--!?>|.*)
    |<(?P<end>/?)(?P<name>[a-zA-Z][^\s/>]*+)(?:[^>=]++|=\s*+(?:"[^"]*"|'[^']*')?+)*+>?
    |<[/!?][^>]*+>?""",
    re.VERBOSE | re.DOTALL,
)
_HIDDEN = {name: re.compile(f"</{name}", re.IGNORECASE) for name in ("script", "style", "template", "noscript")}
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCK = re.compile(
    "address|article|aside|blockquote|body|caption|center|dd|details|dialog|div|dl|dt|fieldset|figcaption|figure|footer"
    "|form|h[1-6]|header|hr|legend|li|main|menu|nav|ol|option|p|pre|search|section|select|summary|table|tbody|tfoot"
    "|thead|title|tr|ul"
)
# What stands before a block: white space that parts it from the one above, and a mark of its own.
_LEADS = {"li": ("\n", "- "), "tr": ("\n", ""), "dt": ("\n", ""), "dd": ("\n", ""), "option": ("\n", "")}
_PARAGRAPH = ("\n\n", "")
_NEXT_CELL = (" ", "| ")

_WHITE_SPACE = re.compile(r"\s+")
_SPACES = re.compile("  +")
_AROUND_BREAK = re.compile(r" ?\n ?")
# The standard library refuses to read a number this long.
_ENDLESS_REFERENCE = re.compile(r"&#[0-9]{20,};?")


def read_html(page: str) -> ExtractedText:
    return _HtmlReader().read(page)


class _HtmlReader:
    def __init__(self) -> None:
        self._outline = Outline()
        self._blocks: list[Block] = []
        self._written: list[str] = []
        self._length = 0
        self._pending: list[str] = []
        self._lead = _PARAGRAPH
        self._level: int | None = None
        self._title: str | None = None
        self._preformatted = False
        self._cells = 0

    def read(self, page: str) -> ExtractedText:
        at = 0
        while token := _TOKEN.match(page, at):
            at = token.end()
            name = (token["name"] or "").lower()
            if token["text"]:
                self._take(token["text"])
            elif name in _HIDDEN and not token["end"] and not token[0].endswith("/>"):
                closing = _HIDDEN[name].search(page, at)
                # Unclosed, it hides the rest of the page, as it does in a browser.
                at = closing.start() if closing else len(page)
            elif _BLOCK.fullmatch(name):
                self._flush()
                if token["end"]:
                    self._end(name)
                else:
                    self._begin(name)
            elif name == "br":
                self._pending.append("\n")
            elif name in ("td", "th") and not token["end"]:
                self._next_cell()
        self._flush()
        return ExtractedText("".join(self._written), tuple(self._blocks))

    def _take(self, text: str) -> None:
        text = unescape(_ENDLESS_REFERENCE.sub("\ufffd", text))
        if self._preformatted:
            self._pending.append(text)
        elif self._pending or not text.isspace():
            self._pending.append(_WHITE_SPACE.sub(" ", text))

    def _begin(self, name: str) -> None:
        self._lead = _LEADS.get(name, self._lead)
        if name in _HEADINGS:
            self._level = _HEADINGS[name]
        elif name == "title" and self._title is None:
            self._level = 0
        elif name == "pre":
            self._preformatted = True
        elif name == "tr":
            self._cells = 0

    def _end(self, name: str) -> None:
        self._lead = _PARAGRAPH
        if name in _HEADINGS or name == "title":
            self._level = None
        elif name == "pre":
            self._preformatted = False

    def _next_cell(self) -> None:
        if self._cells and self._pending:
            self._pending.append(" | ")
        elif self._cells:
            self._lead = _NEXT_CELL
        self._cells += 1

    def _flush(self) -> None:
        """Write what was taken since the last block as a block of its own."""
        text = "".join(self._pending)
        self._pending.clear()
        if not self._preformatted:
            text = _AROUND_BREAK.sub("\n", _SPACES.sub(" ", text))
        if not text.strip():
            return
        gap, mark = self._lead
        text = mark + text.strip("\n").rstrip() if self._preformatted else mark + text.strip()
        self._write(gap if self._length else "")
        self._blocks.append(Block(self._length, self._length + len(text), *self._path_and_shape(text)))
        self._write(text)
        self._lead = _PARAGRAPH

    def _path_and_shape(self, text: str) -> tuple[tuple[str, ...], Shape]:
        """The path and the shape of the block that is written; a heading changes the path."""
        if self._level is None:
            return self._outline.path, Shape.LINES if self._preformatted else Shape.PROSE
        level, self._level = self._level, None
        if level == 0:
            self._title = text
        # A page mostly repeats its title as its first heading, and once is enough in a path.
        self._outline.enter(level, "" if level == 1 and text == self._title else text)
        return self._outline.path, Shape.HEADING

    def _write(self, text: str) -> None:
        self._written.append(text)
        self._length += len(text)
