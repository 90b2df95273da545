"""Whether the files of an SQLite database are still those that were opened, and whether damage was found in them."""

import os
from pathlib import Path

from memorist import errors

_ADVICE = (
    "Stop Memorist. Put a backup in its place with `memorist backup restore`, or save what can still be read with "
    "`memorist export` and import it into a new folder."
)


class Soundness:
    def __init__(self, path: Path) -> None:
        self._path = path
        # Texts, because it is looked before every commit.
        self._files = (str(path), f"{path}-wal")
        self._seen: dict[str, tuple[int, int]] = {}
        self._damage = ""

    def found(self, damage: str) -> None:
        self._damage = damage

    def require(self) -> None:
        """Raises StoreCorrupt where damage was found, StoreUnavailable where a file was removed or replaced: what is
        written to the one that is open would be lost.
        """
        if self._damage:
            raise errors.StoreCorrupt(f"{self._path} is damaged: {self._damage}. Nothing is written to it. {_ADVICE}")
        for file in self._files:
            # The log is made by the first write.
            now, before = identity_of(file), self._seen.get(file)
            if before is None and now is not None:
                self._seen[file] = now
            elif before is not None and now != before:
                what = "removed" if now is None else "replaced"
                raise errors.StoreUnavailable(
                    f"The file {file} was {what} while it was in use. Nothing is written to what is left of it. Stop "
                    "Memorist, put the file back or restore a backup, and start it again."
                )


def identity_of(file: str) -> tuple[int, int] | None:
    """Which file has a name now."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_dev, found.st_ino
