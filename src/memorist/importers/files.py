"""Files of an export: alone, in a folder, or in the archive as it was downloaded."""

import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from typing import TextIO

from memorist.errors import Invalid


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
        with zipfile.ZipFile(path) as archive:
            inside = sorted(name for name in archive.namelist() if fnmatch(name.rpartition("/")[2], pattern))
            yield _each_member(archive, inside)
    elif fnmatch(path.name, pattern) or path.suffix.lower() == ".json":
        yield _each_file([path])
    else:
        raise Invalid(f"{path} is no folder, no ZIP archive and no JSON file that can be read.", field="path")


def _each_file(paths: list[Path]) -> Iterator[tuple[str, TextIO]]:
    for path in paths:
        with opened(path) as source:
            yield path.name, source


def _each_member(archive: zipfile.ZipFile, names: list[str]) -> Iterator[tuple[str, TextIO]]:
    for name in names:
        try:
            with archive.open(name) as member, io.TextIOWrapper(member, encoding="utf-8-sig") as source:
                yield name, source
        except (zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
            raise Invalid(f"{name} in the archive cannot be read: {error}.", field="path") from error
