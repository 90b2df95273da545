"""The files to ingest: found below folders, and sorted into documents and conversations by what they hold."""

import codecs
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, BinaryIO

from memorist.documents import media_type_of
from memorist.errors import Invalid
from memorist.ingestion.service import Message
from memorist.platform import validation
from memorist.times import from_iso_with_offset

_SNIFFED = 8192
_LONGEST_LINE = 16 * 1024 * 1024
_LARGEST_JSON = 64 * 1024 * 1024
_WHOLE_JSON, _JSON_LINES = ".json", (".jsonl", ".ndjson")


class Format(StrEnum):
    """What a file holds; AUTO looks into it."""

    AUTO = "auto"
    MESSAGES = "messages"
    DOCUMENT = "document"


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file, and how it is called: its name, or its path below the folder that was named."""

    path: Path
    name: str
    size: int

    @property
    def session(self) -> str:
        """The name as that of a session: without its ending, and without what no session's name may hold."""
        return re.sub(r"[\s\x00-\x1f\x7f-\x9f]", "_", str(Path(self.name).with_suffix("")))[
            -validation.MAX_IDENTIFIER :
        ]


@dataclass(frozen=True, slots=True)
class SkippedFile:
    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class UnreadableFile:
    """A path that was named, or a folder below one, at which nothing can be read."""

    path: str
    message: str


@dataclass(frozen=True, slots=True)
class Located:
    """A message, and where in its file it is: its line, counted from 1, or its path in the JSON, counted from 0."""

    where: str
    message: Message


@dataclass(frozen=True, slots=True)
class Conversation:
    """Messages that follow each other; `number` is None where the file is a single conversation."""

    number: int | None
    messages: Iterator[Located]


def find_files(paths: Sequence[str]) -> Iterator[FoundFile | SkippedFile | UnreadableFile]:
    """The files among the paths and below the folders among them, in the order of their names.

    What is named itself is taken in any case; below a folder, what is hidden, a link or no text is skipped.
    """
    for text in paths:
        path = Path(text)
        try:
            status = path.stat()
        except (OSError, ValueError) as error:
            yield UnreadableFile(text, f"It cannot be read: {getattr(error, 'strerror', error)}.")
            continue
        if stat.S_ISDIR(status.st_mode):
            yield from _below(path)
        elif stat.S_ISREG(status.st_mode):
            yield FoundFile(path, path.name, status.st_size)
        else:
            yield SkippedFile(text, "no file")


def _below(root: Path) -> Iterator[FoundFile | SkippedFile | UnreadableFile]:
    closed: list[OSError] = []
    # Links are not followed, so that no loop of them, and nothing outside of the folder, is walked into.
    for folder, subfolders, names in os.walk(root, onerror=closed.append):
        here = Path(folder)
        for name in sorted(subfolders):
            reason = "hidden" if name.startswith(".") else "a link" if (here / name).is_symlink() else None
            if reason:
                subfolders.remove(name)
                yield SkippedFile(str(here / name), reason)
        subfolders.sort()
        for name in sorted(names):
            yield _taken(root, here / name)
    for error in closed:
        yield UnreadableFile(str(error.filename), f"It cannot be read: {error.strerror}.")


def _taken(root: Path, path: Path) -> FoundFile | SkippedFile:
    if path.name.startswith("."):
        return SkippedFile(str(path), "hidden")
    status = path.lstat()
    if not stat.S_ISREG(status.st_mode):
        return SkippedFile(str(path), "a link" if stat.S_ISLNK(status.st_mode) else "no file")
    if not status.st_size:
        return SkippedFile(str(path), "empty")
    if media_type_of(path.name) != "application/pdf" and _is_binary(path):
        return SkippedFile(str(path), "no text")
    return FoundFile(path, path.relative_to(root).as_posix(), status.st_size)


def _is_binary(path: Path) -> bool:
    try:
        with path.open("rb") as source:
            beginning = source.read(_SNIFFED)
    except OSError:
        return False  # Said when it is read.
    if beginning.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return False
    try:
        # The end may cut a character in two.
        codecs.getincrementaldecoder("utf-8")().decode(beginning)
    except UnicodeDecodeError:
        return True
    return b"\x00" in beginning


def format_of(found: FoundFile) -> Format:
    """Whether a file is a conversation or a document, by its ending and its beginning. Raises Invalid or OSError."""
    ending = found.path.suffix.lower()
    if ending in _JSON_LINES:
        with found.path.open("rb") as source:
            first = next((value for _, value in _json_lines(source)), None)
        return Format.MESSAGES if _is_message(first) or _is_conversation(first) else Format.DOCUMENT
    if ending == _WHOLE_JSON and found.size <= _LARGEST_JSON:
        content = _whole_json(found)
        first = content[0] if isinstance(content, list) and content else content
        return Format.MESSAGES if _is_message(first) or _is_conversation(first) else Format.DOCUMENT
    return Format.DOCUMENT


def read_conversations(found: FoundFile, source: BinaryIO) -> Iterator[Conversation]:
    """The conversations of an open file: of JSON lines one after the other, of other JSON all at once.

    A line (or an item of a list) is a message, or a conversation of its own in `messages`. Raises Invalid.
    """
    alone = False
    values = _json_lines(source)
    is_whole = found.path.suffix.lower() == _WHOLE_JSON
    if is_whole:
        content = _whole_json(found)
        alone = not isinstance(content, list)
        values = iter(list(enumerate([content] if alone else content, start=1)))
    noun = "Item" if is_whole else "Line"
    first = next(values, None)
    if first is None:
        raise Invalid("There is no message in it.", field="messages")
    if not _is_conversation(first[1]):
        numbered = _chained(first, values)
        yield Conversation(
            None,
            _messages((f"messages.{number - 1}" if is_whole else f"Line {number}", one) for number, one in numbered),
        )
        return
    for number, value in _chained(first, values):
        if not _is_conversation(value):
            raise Invalid(f"{noun} {number} holds no `messages`, as those before it do.", field="messages")
        within = "" if alone else f"{noun} {number}, "
        messages = ((f"{within}messages.{index}", one) for index, one in enumerate(value["messages"]))
        yield Conversation(None if alone else number, _messages(messages))


def in_batches(messages: Iterator[Located], count: int, characters: int) -> Iterator[list[Located]]:
    """Batches of so many messages, or fewer where they are long, so that one fits into memory."""
    batch: list[Located] = []
    size = 0
    for one in messages:
        batch.append(one)
        size += len(one.message.content)
        if len(batch) == count or size >= characters:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _chained(first: tuple[int, Any], rest: Iterator[tuple[int, Any]]) -> Iterator[tuple[int, Any]]:
    yield first
    yield from rest


def _whole_json(found: FoundFile) -> Any:
    if found.size > _LARGEST_JSON:
        raise Invalid(
            f"It is larger than {_LARGEST_JSON >> 20} MB, which is too much to read at once: "
            "write it as JSON lines, a message on each (`jq -c '.[]'`).",
            field="path",
        )
    try:
        return json.loads(found.path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise Invalid(f"It is not JSON: {error}.", field="path") from error


def _json_lines(source: BinaryIO) -> Iterator[tuple[int, Any]]:
    """The values of the lines with their numbers, one line at a time in memory."""
    for number, raw in enumerate(iter(lambda: source.readline(_LONGEST_LINE + 1), b""), start=1):
        if len(raw) > _LONGEST_LINE:
            raise Invalid(f"Line {number} is longer than {_LONGEST_LINE} bytes.", field="path")
        if raw.strip():
            try:
                yield number, json.loads(raw)
            except (ValueError, RecursionError) as error:
                raise Invalid(f"Line {number} is not JSON: {error}.", field="path") from error


def _is_message(value: Any) -> bool:
    return isinstance(value, Mapping) and "role" in value and "content" in value


def _is_conversation(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("messages"), list)


def _messages(values: Iterator[tuple[str, Any]]) -> Iterator[Located]:
    for where, value in values:
        if not _is_message(value):
            raise Invalid(f"{where} needs a `role` and a `content`.", field="messages")
        text = _content(where, value["content"])
        if text.strip():  # A call of a tool says nothing itself.
            moment = _moment(where, value.get("event_time"))
            yield Located(where, Message(str(value["role"]), text, value.get("name"), moment))


def _content(where: str, content: Any) -> str:
    """A text, or the texts among the parts that some APIs cut a message into."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and all(isinstance(part, Mapping) for part in content):
        texts = [part["text"] for part in content if isinstance(part.get("text"), str)]
        return "\n".join(texts)
    raise Invalid(f"{where}: content must be a text, or a list of parts.", field="messages")


def _moment(where: str, value: Any) -> Any:
    if value is None:
        return None
    try:
        return from_iso_with_offset(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise Invalid(f"{where}: event_time must be a time such as 2026-05-02T14:23:01Z.", field="messages") from error
