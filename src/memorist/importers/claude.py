"""A memory folder of Claude: Markdown files with a head (name, description, type), and MEMORY.md, which lists them; or
conversations with it. Either may be a ZIP archive.
"""

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from memorist.errors import Invalid
from memorist.importers.chats import CLAUDE_KEY, parse_claude
from memorist.importers.files import opened_below, unpacking
from memorist.importers.items import Found, SkippedItem, Taken, read_text, slug_of, text_of
from memorist.importers.recognition import FileSample
from memorist.memories.values import Draft, NamedType, Trust

# The types of a profile's memories, which are Claude's own.
_INDEX = "memory.md"
_HEAD = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*$\n?", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"^[ \t]*([A-Za-z_-]+):[ \t]*(.*)$", re.MULTILINE)
_ENTRY = re.compile(r"^\s*[-*]\s+\[[^\]]*\]\([^)]+\.md\)")
_LONGEST_LINE = 500


def knows(file: FileSample) -> bool:
    """Whether it is a folder with the list of memories or with one that has a head, such a file, or conversations."""
    if CLAUDE_KEY in file.keys:
        return True
    if file.kind == "a ZIP archive":
        return any(name.rpartition("/")[2].lower() == _INDEX for name in file.names) or any(
            _HEAD.match(text) for _, text in _texts(file.path)
        )
    if file.kind != "a folder":
        return file.path.suffix == ".md" and (file.path.name.lower() == _INDEX or _HEAD.match(file.text) is not None)
    heads = (read_text(file.path / name).replace("\r\n", "\n") for name in file.names if name.endswith(".md"))
    return _INDEX in map(str.lower, file.names) or any(_HEAD.match(text) for text in heads)


def parse(path: Path) -> Iterator[Found]:
    """One named memory for each file; of MEMORY.md, what stands there besides its list; and what was said in
    conversations. Raises Invalid.
    """
    if path.suffix.lower() == ".json" and not path.is_dir():
        yield from parse_claude(path)
        return
    found = False
    if path.is_dir() or zipfile.is_zipfile(path):
        for one in parse_claude(path):
            found = True
            yield one
    for where, text in _texts(path):
        found = True
        if where.rpartition("/")[2].lower() == _INDEX:
            text = "\n".join(line for line in text.split("\n") if not _ENTRY.match(line))
            if not _says_something(text):
                yield SkippedItem(where, "It only lists the other files.")
                continue
        yield _found(where, text)
    if not found:
        raise Invalid(f"There is no Markdown file and no conversations.json in {path}.", field="path")


def _texts(path: Path) -> Iterator[tuple[str, str]]:
    """Each file's place and text."""
    if zipfile.is_zipfile(path):
        with unpacking(path) as archive:
            places = [PurePosixPath(name) for name in archive.namelist() if name.endswith(".md")]
        shown = [one for one in places if not any(part.startswith((".", "__MACOSX")) for part in one.parts)]
        # An archive of a folder has its name before those of the files.
        is_below = len({one.parts[0] for one in shown}) == 1 and all(len(one.parts) > 1 for one in shown)
        with opened_below(path, "*.md") as members:
            for name, source in members:
                if (place := PurePosixPath(name)) in shown:
                    where = "/".join(place.parts[is_below:])
                    yield where, text_of(source, name).replace("\r\n", "\n")
        return
    for file in _files(path):
        where = file.name if file == path else file.relative_to(path).as_posix()
        yield where, read_text(file).replace("\r\n", "\n")


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
    fields = {} if head is None else {name: _unquoted(value.rstrip(" \t")) for name, value in _FIELD.findall(head[1])}
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
