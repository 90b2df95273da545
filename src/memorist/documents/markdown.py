"""The blocks of a Markdown text: headings, listings, lists, tables and paragraphs. The text stays as it is."""

import re

from memorist.documents.structure import Block, Outline, Shape

_LINE = re.compile(r"[^\n]*\n?")
_HEADING = re.compile(r" {0,3}(#{1,6})(?=\s|$)")
_UNDERLINE = re.compile(r" {0,3}(=++|-++)\s*$")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s")
# A listing may begin within an item of a list, and the information behind backticks holds none.
_FENCE = re.compile(r"\s*(?:(?:[-*+]|\d{1,9}[.)])\s+)?(?:(`{3,})[^`]*$|(~{3,}))")
_INDENTED = re.compile(r"  |\t")
_FRONT_MATTER_END = re.compile(r"^(?:---|\.\.\.|\+\+\+)[ \t]*$", re.MULTILINE)


def read_markdown(text: str) -> list[Block]:
    return _MarkdownReader(text).read()


class _MarkdownReader:
    """Reads line by line; the open block is `text[start:end]`, and none is open where start is end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._outline = Outline()
        self._blocks: list[Block] = []
        self._start = self._end = 0
        self._shape = Shape.PROSE
        self._in_list = False
        self._fence = ""

    def read(self) -> list[Block]:
        blank = False
        for match in _LINE.finditer(self._text, self._read_front_matter()):
            line = match[0]
            if self._fence:
                self._read_listing(line, match.end())
            elif not line.strip():
                blank = True
                # The items of a list may stand apart; what comes next decides.
                if not self._in_list:
                    self._close()
            else:
                self._read_line(line, match.start(), match.end(), blank)
                blank = False
        self._close()
        return self._blocks

    def _read_front_matter(self) -> int:
        """Where the text proper begins: its fields would look like a heading."""
        if self._text.startswith(("---\n", "+++\n")):
            end = _FRONT_MATTER_END.search(self._text, 4)
            if end and "\n\n" not in self._text[: end.start()]:
                self._extend(0, end.end(), Shape.LINES)
                self._close()
                return end.end()
        return 0

    def _read_line(self, line: str, start: int, end: int, after_blank: bool) -> None:
        is_item = _ITEM.match(line) is not None
        if self._in_list and after_blank and not is_item and not _INDENTED.match(line):
            self._close()
        if heading := _HEADING.match(line):
            self._close()
            self._extend(start, end, Shape.HEADING)
            self._close(level=len(heading[1]), title=_without_closing(line[heading.end() :]))
        elif fence := _FENCE.match(line):
            if not self._in_list or not _INDENTED.match(line):
                self._close()
                self._in_list = is_item
            self._extend(start, end, Shape.LINES)
            self._fence = fence[1] or fence[2]
        elif self._is_open and self._shape is Shape.PROSE and (underline := _UNDERLINE.match(line)):
            title = self._text[self._start : self._end]
            self._end, self._shape = end, Shape.HEADING
            self._close(level=1 if underline[1][0] == "=" else 2, title=title)
        elif is_item:
            if not self._in_list:
                self._close()
            self._extend(start, end, Shape.LINES)
            self._in_list = True
        else:
            self._extend(start, end, Shape.LINES if line.startswith(("|", "    ", "\t")) else Shape.PROSE)
            if _is_table_rule(line):
                self._shape = Shape.LINES

    def _read_listing(self, line: str, end: int) -> None:
        self._end = end
        closing = line.strip()
        if closing.startswith(self._fence) and not closing.strip(self._fence[0]):
            self._fence = ""
            if not self._in_list:
                self._close()

    @property
    def _is_open(self) -> bool:
        return self._end > self._start

    def _extend(self, start: int, end: int, shape: Shape) -> None:
        """Take a line into the open block, or begin one of this shape."""
        if not self._is_open:
            self._start, self._shape = start, shape
        self._end = end

    def _close(self, level: int = 0, title: str = "") -> None:
        """End the open block, if there is one; with a level, it is the heading of a new section."""
        if level:
            self._outline.enter(level, title)
        if self._is_open:
            end = self._start + len(self._text[self._start : self._end].rstrip())
            self._blocks.append(Block(self._start, end, self._outline.path, self._shape))
        self._start = self._end
        self._in_list = False


def _without_closing(title: str) -> str:
    """A heading without the `##` that may close it; the one of `C#` stays."""
    bare = title.rstrip().rstrip("#")
    return title if bare and not bare[-1].isspace() else bare


def _is_table_rule(line: str) -> bool:
    """`|---|:-:|`: what makes a table of the line above."""
    return "|" in line and "-" in line and not line.strip("|:- \t\n")
