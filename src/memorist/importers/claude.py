"""A memory folder of Claude: Markdown files with a head (name, description, type), and MEMORY.md, which lists them; or
conversations with it. Either may be a ZIP archive.
"""

import hashlib
import os
import re
import unicodedata
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

from memorist.errors import Invalid
from memorist.importers.chats import CLAUDE_KEY, parse_claude
from memorist.importers.files import opened_below, unpacking
from memorist.importers.items import Found, SkippedItem, Taken, former_slug_of, read_text, slug_of, text_of
from memorist.importers.recognition import FileSample
from memorist.memories.values import Draft, NamedType, Trust

# The types of a profile's memories, which are Claude's own.
_INDEX = "memory.md"
_HEAD = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*$\n?", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"[ \t]*([A-Za-z_-]+):[ \t]*(.*)")
# The value stands on the lines that follow, further in.
_BLOCK = re.compile(r"[>|][+-]?[1-9]?[+-]?")
_MARKDOWN = ".md"
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
        return _is_markdown(file.path.name) and (file.path.name.lower() == _INDEX or _HEAD.match(file.text) is not None)
    paths = (file.path / name for name in file.names if _is_markdown(name))
    heads = (read_text(one).replace("\r\n", "\n") for one in paths if not one.is_symlink())
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
    for link in _files(path, links=True):
        yield SkippedItem(_name_in(link, path), "It is a link, and those are not followed.")
    if not found:
        raise Invalid(f"There is no Markdown file and no conversations.json in {path}.", field="path")


def _texts(path: Path) -> Iterator[tuple[str, str]]:
    """Each file's place and text."""
    if zipfile.is_zipfile(path):
        with unpacking(path) as archive:
            paths = [PurePosixPath(name) for name in archive.namelist() if _is_markdown(name)]
        shown = [one for one in paths if not any(part.startswith((".", "__MACOSX")) for part in one.parts)]
        # An archive of a folder has its name before those of the files.
        is_below = len({one.parts[0] for one in shown}) == 1 and all(len(one.parts) > 1 for one in shown)
        with opened_below(path, "*.[mM][dD]") as members:
            for name, source in members:
                if (inner := PurePosixPath(name)) in shown:
                    where = "/".join(inner.parts[is_below:])
                    yield where, text_of(source, name).replace("\r\n", "\n")
        return
    for file in _files(path):
        yield _name_in(file, path), read_text(file).replace("\r\n", "\n")


def _name_in(file: Path, folder: Path) -> str:
    """Where a file stands, as a text: a name need be none."""
    name = file.name if file == folder else file.relative_to(folder).as_posix()
    return os.fsencode(name).decode(errors="replace")


def _is_markdown(name: str) -> bool:
    return name.lower().endswith(_MARKDOWN)


def _files(path: Path, *, links: bool = False) -> list[Path]:
    """The Markdown files of a folder, or those that are links; or the one file itself."""
    try:
        if not path.is_dir():
            return [path] if path.stat() and not links else []
        named = (one for one in sorted(path.rglob("*")) if _is_markdown(one.name))
        found = [one for one in named if one.is_symlink() == links and (links or one.is_file())]
    except OSError as error:
        raise Invalid(f"{path} cannot be read: {error.strerror}.", field="path") from error
    return [one for one in found if not any(part.startswith(".") for part in one.relative_to(path).parts)]


def _found(where: str, text: str) -> Found:
    head = _HEAD.match(text)
    fields = {} if head is None else _fields(head[1])
    body = text[head.end() :].strip() if head else text.strip()
    if not body:
        return SkippedItem(where, "It has no text.")
    given = fields.get("name", "")
    file = where[: -len(_MARKDOWN)] if _is_markdown(where) else where
    name = _name_of(given if slug_of(given) else file)
    if not name:
        return SkippedItem(where, "Neither its head nor its file gives it a name in letters or digits.")
    kind = fields.get("type", "").strip().lower()
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
    former = former_slug_of(given) or former_slug_of(file)
    return Taken(draft, where, replace(draft, name=former) if former not in ("", name) else None)


def _fields(head: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    block, depth = "", 0
    for line in head.splitlines():
        inset = len(line) - len(line.lstrip())
        if block and (inset > depth or not line.strip()):
            fields[block] += f"{line.strip()}\n"
        elif field := _FIELD.fullmatch(line):
            value = field[2].rstrip(" \t")
            block, depth = (field[1] if _BLOCK.fullmatch(value) else ""), inset
            fields[field[1]] = "" if block else _unquoted(value)
    return fields


def _name_of(text: str) -> str:
    """A name as memories have them, with a mark where letters of another script have no place in it: two that differ
    only in those are not one. Empty where there is neither a letter nor a digit.
    """
    slug = slug_of(text)
    if all(slug_of(sign) for sign in text if sign.isalnum()):
        return slug
    mark = hashlib.sha256(unicodedata.normalize("NFKC", text).encode()).hexdigest()[:8]
    return f"{slug[:100].strip('_') or 'memory'}_{mark}"


def _unquoted(value: str) -> str:
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if is_quoted else value


def _first_line(body: str) -> str:
    line = next(line for line in body.splitlines() if line.strip())
    return line.lstrip("#").strip()[:_LONGEST_LINE] or line.strip()[:_LONGEST_LINE]


def _says_something(text: str) -> bool:
    return any(line.strip() and not line.lstrip().startswith("#") for line in text.splitlines())
