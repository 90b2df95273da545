"""What a file looks like: enough of it to tell whose export it is, without reading all of it."""

import zipfile
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from memorist.errors import Invalid
from memorist.importers.chats import CONVERSATIONS
from memorist.importers.files import opened, opened_below, unpacking
from memorist.importers.items import first_row, first_sign, json_items, json_whole

_SHOWN = 6
_BEGINNING = 4096


@dataclass(frozen=True, slots=True)
class FileSample:
    """A folder, an archive or a file: the names that are in it, or how it begins."""

    path: Path
    kind: str
    """`a folder`, `a ZIP archive`, `a JSON list`, `a JSON object`, `lines of JSON`, `a text`, `an empty file`, or
    `no text`.
    """
    names: tuple[str, ...] = ()
    text: str = ""
    """How a text begins."""
    first: Any = None
    """The first item or line of JSON, or the whole object; of a folder or an archive, the first conversation in it."""

    @property
    def keys(self) -> frozenset[str]:
        """The fields of the first object."""
        return frozenset(self.first) if isinstance(self.first, dict) else frozenset()

    def has(self, pattern: str) -> bool:
        """Whether it is a folder or an archive with a file of such a name."""
        return any(fnmatch(name.rpartition("/")[2], pattern) for name in self.names)

    def __str__(self) -> str:
        """For people: what it looks like."""
        if self.kind in ("a JSON list", "lines of JSON", "a JSON object") and self.keys:
            return f"{self.kind} with {', '.join(sorted(map(repr, self.keys))[:_SHOWN])}"
        inside = f" with {', '.join(self.names[:_SHOWN])}" if self.names else ""
        return f"{self.kind}{inside}"


def sample(path: Path) -> FileSample:
    """Raises Invalid where it cannot be read."""
    try:
        if path.is_dir():
            names = sorted(one.name for one in path.iterdir() if one.name[0] != ".")
            return FileSample(path, "a folder", tuple(names), first=_first_conversation(path))
        if zipfile.is_zipfile(path):
            with unpacking(path) as archive:
                names = sorted(archive.namelist())
            return FileSample(path, "a ZIP archive", tuple(names), first=_first_conversation(path))
        with opened(path) as source:
            beginning = source.read(_BEGINNING)
    except UnicodeDecodeError:
        return FileSample(path, "no text")
    except OSError as error:
        raise Invalid(f"{path} cannot be read: {error.strerror}.", field="file") from error
    if not beginning.strip():
        return FileSample(path, "an empty file")
    return _json(path) or FileSample(path, "a text", text=beginning)


def _json(path: Path) -> FileSample | None:
    """The sample of a file that holds JSON; None of any other, also of JSON that is cut off."""
    with opened(path) as source:
        try:
            sign = first_sign(source, path.name)
            if sign == "[":
                return FileSample(
                    path, "a JSON list", first=next((item for _, item in json_items(source, path.name)), None)
                )
            if sign != "{":
                return None
            if (first := first_row(source, path.name)) is not None:
                return FileSample(path, "lines of JSON" if source.read(1) else "a JSON object", first=first)
            source.seek(0)
            return FileSample(path, "a JSON object", first=json_whole(source, path.name))
        except Invalid:
            return None


def _first_conversation(path: Path) -> Any:
    """Of a folder or an archive; None where there is none, or none that can be read."""
    try:
        with opened_below(path, CONVERSATIONS) as files:
            return next((item for name, source in files for _, item in json_items(source, name)), None)
    except Invalid:
        return None
