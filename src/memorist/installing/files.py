"""Changing a file that belongs to somebody else: all or nothing, with a copy of what it was."""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

BACKUP_ENDING = ".memorist-backup"
_BOM = "\ufeff"


class Unreadable(ValueError):
    """The file is no text in UTF-8."""


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file as it was read; `text` is None where there is none. A byte-order mark is kept and not shown."""

    path: Path
    content: bytes | None

    @property
    def text(self) -> str | None:
        return None if self.content is None else self.content.decode("utf-8").removeprefix(_BOM)

    @property
    def backup(self) -> Path:
        path = Path(os.path.realpath(self.path))
        return path.with_name(path.name + BACKUP_ENDING)

    def write(self, text: str, *, keep_backup: bool = False) -> bool:
        """Put the text in the file's place, unless somebody changed it since it was read: False. Raises OSError.

        A link stays a link, and the file keeps its mode; a new one is readable by its owner alone. What it was is
        copied first; with `keep_backup` only where there is no copy yet.
        """
        path = Path(os.path.realpath(self.path))
        path.parent.mkdir(parents=True, exist_ok=True)
        mark = _BOM if self.content is not None and self.content.startswith(_BOM.encode()) else ""
        mode = 0o600 if self.content is None else path.stat().st_mode & 0o7777
        draft = _written_beside(path, (mark + text).encode("utf-8"), mode)
        try:
            if _read(path) != self.content:
                return False
            if self.content is not None and not (keep_backup and self.backup.exists()):
                os.replace(_written_beside(path, self.content, mode), self.backup)
            os.replace(draft, path)
            return True
        finally:
            draft.unlink(missing_ok=True)


def read_text_file(path: Path) -> TextFile:
    """Raises Unreadable or OSError."""
    content = _read(path)
    if content is not None:
        try:
            content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise Unreadable(f"it is no text in UTF-8 (byte {error.start})") from error
    return TextFile(path, content)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _written_beside(path: Path, content: bytes, mode: int) -> Path:
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fchmod(descriptor, mode)
        os.fsync(descriptor)
    return Path(name)
