"""Files of an export: alone, in a folder, or in the archive as it was downloaded."""

import io
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from typing import BinaryIO, TextIO

from memorist.errors import Invalid, InvalidField

try:
    from lzma import LZMAError
except ImportError:  # A Python that was built without it cannot open such an archive either.
    LZMAError = zipfile.BadZipFile  # type: ignore[misc,assignment]

UNREADABLE = (UnicodeDecodeError, zipfile.BadZipFile, zlib.error, LZMAError, EOFError, OSError)
"""What a damaged archive, or a file of one, raises while it is read."""

# One memory with a long history. A file without line breaks must not fill the memory before it is refused.
_LONGEST_LINE = 256 * 1024 * 1024


@contextmanager
def opened(path: Path) -> Iterator[TextIO]:
    """A text file. Raises Invalid."""
    try:
        source = path.open(encoding="utf-8-sig")
    except OSError as error:
        raise Invalid(f"{path} cannot be read: {error.strerror}.", field="path") from error
    with source:
        yield source


@contextmanager
def opened_below(path: Path, pattern: str) -> Iterator[Iterator[tuple[str, TextIO]]]:
    """The files of a folder or of an archive whose names fit a pattern, in their order, each open as a text; or the one
    file itself. Raises Invalid.
    """
    if path.is_dir():
        names = sorted(one for one in path.iterdir() if fnmatch(one.name, pattern) and one.is_file())
        yield _each_file(names)
    elif zipfile.is_zipfile(path):
        with unpacking(path) as archive:
            inside = sorted(name for name in archive.namelist() if fnmatch(name.rpartition("/")[2], pattern))
            yield _each_member(archive, inside)
    elif fnmatch(path.name, pattern) or path.suffix.lower() == ".json":
        yield _each_file([path])
    else:
        raise Invalid(f"{path} is no folder, no ZIP archive and no JSON file that can be read.", field="path")


@contextmanager
def unpacking(path: Path) -> Iterator[zipfile.ZipFile]:
    """A ZIP archive. Raises Invalid where it is damaged."""
    try:
        archive = zipfile.ZipFile(path)
    except (*UNREADABLE, NotImplementedError) as error:
        raise Invalid(f"{path} is an archive that cannot be read: {error}.", field="path") from error
    with archive:
        yield archive


def export_lines(source: BinaryIO, advance: Callable[[int], None] = lambda _: None) -> Iterator[str]:
    """The lines of an export of ours, one at a time in memory. Raises InvalidField where one cannot be text."""
    number = 0
    while raw := source.readline(_LONGEST_LINE + 1):
        number += 1
        if len(raw) > _LONGEST_LINE:
            raise InvalidField(f"Line {number} is longer than {_LONGEST_LINE} bytes.", field="file")
        advance(len(raw))
        try:
            # Some editors put a mark before the first line.
            yield raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise InvalidField(f"Line {number} is not valid UTF-8.", field="file") from error
    if number == 0:
        raise InvalidField("This is no Memorist export: it is empty.", field="file")


def _each_file(paths: list[Path]) -> Iterator[tuple[str, TextIO]]:
    for path in paths:
        with opened(path) as source:
            yield path.name, source


def _each_member(archive: zipfile.ZipFile, names: list[str]) -> Iterator[tuple[str, TextIO]]:
    for name in names:
        try:
            with archive.open(name) as member, io.TextIOWrapper(member, encoding="utf-8-sig") as source:
                yield name, source
        except (*UNREADABLE, RuntimeError) as error:
            raise Invalid(f"{name} in the archive cannot be read: {error}.", field="path") from error
