"""A memory folder of Claude: Markdown files with a head (name, description, type), and MEMORY.md, which lists them."""

import re
from collections.abc import Iterator
from pathlib import Path

from memorist.errors import Invalid
from memorist.importers.items import Found, SkippedItem, Taken, read_text, slug_of
from memorist.importers.recognition import FileSample
from memorist.memories.values import Draft, NamedType, Trust

# The types of a profile's memories, which are Claude's own.
_INDEX = "memory.md"
_HEAD = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*$\n?", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"^[ \t]*([A-Za-z_-]+):[ \t]*(.*?)[ \t]*$", re.MULTILINE)
_ENTRY = re.compile(r"^\s*[-*]\s+\[[^\]]*\]\([^)]+\.md\)")
_LONGEST_LINE = 500


def knows(file: FileSample) -> bool:
    """Whether it is a folder with the list of memories or with one that has a head, or such a file."""
    if file.kind != "a folder":
        return file.path.suffix == ".md" and (file.path.name.lower() == _INDEX or _HEAD.match(file.text) is not None)
    heads = (read_text(file.path / name).replace("\r\n", "\n") for name in file.names if name.endswith(".md"))
    return _INDEX in map(str.lower, file.names) or any(_HEAD.match(text) for text in heads)


def parse(path: Path) -> Iterator[Found]:
    """One named memory for each file; of MEMORY.md, what stands there besides its list. Raises Invalid."""
    files = _files(path)
    if not files:
        raise Invalid(f"There is no Markdown file in {path}.", field="path")
    for file in files:
        where = file.name if file == path else file.relative_to(path).as_posix()
        text = read_text(file).replace("\r\n", "\n")
        if file.name.lower() == _INDEX:
            text = "\n".join(line for line in text.split("\n") if not _ENTRY.match(line))
            if not _says_something(text):
                yield SkippedItem(where, "It only lists the other files.")
                continue
        yield _found(where, text)


def _files(path: Path) -> list[Path]:
    try:
        if not path.is_dir():
            return [path] if path.stat() else []
        found = [one for one in sorted(path.rglob("*.md")) if one.is_file() and not one.is_symlink()]
    except OSError as error:
        raise Invalid(f"{path} cannot be read: {error.strerror}.", field="path") from error
    return [one for one in found if not any(part.startswith(".") for part in one.relative_to(path).parts)]


def _found(where: str, text: str) -> Found:
    head = _HEAD.match(text)
    fields = {} if head is None else {name: _unquoted(value) for name, value in _FIELD.findall(head[1])}
    body = text[head.end() :].strip() if head else text.strip()
    if not body:
        return SkippedItem(where, "It has no text.")
    name = slug_of(fields.get("name", "")) or slug_of(where.removesuffix(".md"))
    if not name:
        return SkippedItem(where, "Neither its head nor its file gives it a name in letters or digits.")
    kind = fields.get("type", "").lower()
    description = " ".join(fields.get("description", "").split())[:_LONGEST_LINE]
    draft = Draft(
        body,
        category=kind if kind in set(NamedType) else NamedType.REFERENCE,
        name=name,
        description=description or _first_line(body),
        meta={"source": "claude", "file": where},
        source_ref=f"claude:{where}"[:_LONGEST_LINE],
        trust=Trust.AGENT,
    )
    return Taken(draft, where)


def _unquoted(value: str) -> str:
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if is_quoted else value


def _first_line(body: str) -> str:
    line = next(line for line in body.splitlines() if line.strip())
    return line.lstrip("#").strip()[:_LONGEST_LINE] or line.strip()[:_LONGEST_LINE]


def _says_something(text: str) -> bool:
    return any(line.strip() and not line.lstrip().startswith("#") for line in text.splitlines())
