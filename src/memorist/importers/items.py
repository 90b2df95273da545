"""What a parser yields, and what the parsers share: categories, times, names and files read as a stream."""

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from memorist.errors import Invalid, InvalidJson
from memorist.importers.files import UNREADABLE
from memorist.memories.values import Draft
from memorist.times import from_iso_with_offset

UNCATEGORISED = "history"
"""The category of everything that is not said to be another. Never `insight`: that one is for what was tested."""

# What other programs call it, and which of our categories that is.
CATEGORIES = {
    "goal": "goal",
    "goals": "goal",
    "objective": "goal",
    "plan": "goal",
    "plans": "goal",
    "like": "preference",
    "likes": "preference",
    "preference": "preference",
    "preferences": "preference",
    "user_preference": "preference",
    "user_preferences": "preference",
}

# As seconds it would be in the year 5138, as milliseconds it is in 1973.
_MILLISECONDS = 100_000_000_000
_READ_AT_ONCE = 1 << 20
_LARGEST_VALUE = 256 << 20
_WHITE_SPACE = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True, slots=True)
class SkippedItem:
    """Something of the export that is not imported: where it stands, and why."""

    where: str
    reason: str


@dataclass(frozen=True, slots=True)
class Taken:
    """A memory to be, and where in the export it stands."""

    draft: Draft
    where: str
    former: Draft | None = None
    """The same under the name or category that an earlier version gave it, where that was another."""


Found = Taken | SkippedItem


def category_of(names: object) -> str:
    """The category that a source's own names say it is, and `history` where they say nothing that is known here."""
    listed = names if isinstance(names, list | tuple) else [names]
    for name in listed:
        if isinstance(name, str):
            known = CATEGORIES.get(re.sub(r"[\s-]+", "_", name.strip().lower()))
            if known is not None:
                return known
    return UNCATEGORISED


def time_of(value: object) -> datetime | None:
    """A time written in ISO-8601 or as seconds or milliseconds since 1970; None where it is neither."""
    try:
        if isinstance(value, str):
            return from_iso_with_offset(value)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1000 if abs(value) >= _MILLISECONDS else value, UTC)
    except (ValueError, OverflowError, OSError):
        pass
    return None


def slug_of(text: str) -> str:
    """A name as memories have them; empty where nothing of the text can stand in one."""
    plain = "".join(sign for sign in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(sign))
    return former_slug_of(plain)


def former_slug_of(text: str) -> str:
    """The name that earlier versions made of a text, which lost letters with accents: what they stored has it."""
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")[:120].strip("_")


def as_texts(values: Mapping[str, Any]) -> dict[str, Any]:
    """A note without what is empty."""
    return {name: value for name, value in values.items() if value not in (None, "", [], {})}


def read_text(path: Path) -> str:
    """A whole text file. Raises Invalid."""
    try:
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Invalid(f"{path} is no text in UTF-8.", field="path") from error
    except OSError as error:
        raise Invalid(f"{path} cannot be read: {error.strerror}.", field="path") from error


def json_lines(source: TextIO, name: str) -> Iterator[tuple[int, Any]]:
    """The values of a file that has one a line, with the numbers of their lines. Raises InvalidJson."""
    for number, line in enumerate(_lines(source, name), start=1):
        if line.strip():
            yield number, _json(line, f"{name}, line {number}")


def json_items(source: TextIO, name: str) -> Iterator[tuple[int, Any]]:
    """The items of a JSON array, one at a time in memory, however long it is. Raises InvalidJson."""
    reader = _JsonReader(source, name)
    reader.expect("[")
    number = 0
    while not reader.takes("]"):
        if number:
            reader.expect(",")
        number += 1
        yield number, reader.value()
    if reader.peek():
        raise InvalidJson(f"{name}: something stands after the end of the list.", field="path")


def first_row(source: TextIO, name: str) -> Any:
    """The value that the first line which is not empty holds; None where that is no whole one. Raises Invalid."""
    line = "\n"
    while line.isspace():
        line = _read_line(source, name)
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def json_whole(source: TextIO, name: str) -> Any:
    """A whole JSON document. Raises InvalidJson, also where it is too large to be held."""
    text = _read(source, name, _LARGEST_VALUE + 1)
    if len(text) > _LARGEST_VALUE:
        raise InvalidJson(f"{name} is larger than {_LARGEST_VALUE >> 20} MB and no list.", field="path")
    return _json(text, name)


def text_of(source: TextIO, name: str) -> str:
    """The whole text of an open file. Raises Invalid, also where it is too large to be held."""
    text = _read(source, name, _LARGEST_VALUE + 1)
    if len(text) > _LARGEST_VALUE:
        raise Invalid(f"{name} is larger than {_LARGEST_VALUE >> 20} MB.", field="path")
    return text


def first_sign(source: TextIO, name: str) -> str:
    """The first character that is no white space; the file is then read from its beginning again."""
    sign = ""
    while not sign.strip():
        sign = _read(source, name, 1)
        if not sign:
            raise Invalid(f"{name} is empty.", field="path")
    source.seek(0)
    return sign


class _JsonReader:
    """JSON values out of a text that is read piece by piece."""

    def __init__(self, source: TextIO, name: str) -> None:
        self._source = source
        self._name = name
        self._text = ""
        self._at = 0
        self._decoder = json.JSONDecoder()

    def peek(self) -> str:
        """The next character that is no white space; empty at the end."""
        while True:
            match = _WHITE_SPACE.match(self._text, self._at)
            self._at = match.end() if match else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more(_READ_AT_ONCE):
                return ""

    def takes(self, sign: str) -> bool:
        if self.peek() != sign:
            return False
        self._at += 1
        return True

    def expect(self, sign: str) -> None:
        found = self.peek()
        if not self.takes(sign):
            said = f"{found!r} stands" if found else "the file ends"
            raise InvalidJson(f"{self._name} is not whole JSON: {said} where {sign!r} belongs.", field="path")

    def value(self) -> Any:
        self.peek()
        # Each try reads twice as much as the last, so that a large value is not parsed from its start too often.
        wanted = _READ_AT_ONCE
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except (ValueError, RecursionError) as error:
                if len(self._text) - self._at > _LARGEST_VALUE or not self._more(wanted):
                    raise InvalidJson(f"{self._name} is not whole JSON: {error}.", field="path") from error
                wanted *= 2
                continue
            # A number may go on in what is not read yet.
            if end == len(self._text) and self._more(wanted):
                continue
            self._at = end
            return value

    def _more(self, count: int) -> bool:
        piece = _read(self._source, self._name, count)
        self._text = self._text[self._at :] + piece
        self._at = 0
        return bool(piece)


def _lines(source: TextIO, name: str) -> Iterator[str]:
    try:
        yield from source
    except UNREADABLE as error:
        raise _unreadable(name, error) from error


def _read(source: TextIO, name: str, count: int) -> str:
    try:
        return source.read(count)
    except UNREADABLE as error:
        raise _unreadable(name, error) from error


def _read_line(source: TextIO, name: str) -> str:
    """A line, or as much of it as one value may have."""
    try:
        return source.readline(_LARGEST_VALUE)
    except UNREADABLE as error:
        raise _unreadable(name, error) from error


def _unreadable(name: str, error: BaseException) -> Invalid:
    is_text = isinstance(error, UnicodeDecodeError)
    return Invalid(f"{name} is no text in UTF-8." if is_text else f"{name} cannot be read: {error}.", field="path")


def _json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidJson(f"{where} is not JSON: {error}.", field="path") from error
