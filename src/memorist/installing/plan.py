"""From a host to changed files: planned as a whole and checked, then written, or shown."""

import difflib
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memorist.errors import Conflict, Invalid
from memorist.installing import jsonc
from memorist.installing.files import TextFile, Unreadable, read_text_file
from memorist.installing.hosts import NAME, FileRefused, Host, Launcher, Part, Paths, parts_of

_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class FileChange:
    """What becomes of one file. `after` is None where the file goes; equal to what was there where nothing changes."""

    file: TextFile
    after: str | None
    made: Paths
    # Whether what it was has an entry of ours already: then its copy is of an earlier day, and the better one.
    had_ours: bool = False
    # Whose entry has our name, where it is not ours and stays.
    kept: str | None = None

    @property
    def path(self) -> Path:
        return self.file.path

    @property
    def is_needed(self) -> bool:
        return self.after != self.file.text

    def diff(self) -> str:
        before, after = (text.splitlines(keepends=True) if text else [] for text in (self.file.text, self.after))
        lines = difflib.unified_diff(before, after, str(self.path), str(self.path))
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


class Installer:
    """Knows, in a file of its own, which containers it made, so that taking out leaves nothing of them behind."""

    def __init__(self, notes: Path, environment: Mapping[str, str]) -> None:
        self._notes = notes
        self._environment = environment

    def install(self, host: Host, launcher: Launcher, project: Path | None, *, dry_run: bool) -> list[FileChange]:
        """Raises Invalid where a file cannot be changed safely, Conflict where it keeps changing, or OSError.

        Nothing is written unless every file can be.
        """
        return self._apply(host, launcher, project, _planned_install, dry_run=dry_run)

    def uninstall(self, host: Host, project: Path | None, *, dry_run: bool, name: str = NAME) -> list[FileChange]:
        """The same, for taking out what was added under that name."""
        return self._apply(host, Launcher([NAME], name=name), project, _planned_uninstall, dry_run=dry_run)

    def _apply(
        self, host: Host, launcher: Launcher, project: Path | None, plan: Any, *, dry_run: bool
    ) -> list[FileChange]:
        done: list[FileChange] = []
        parts = parts_of(host, launcher, project, self._environment)
        for part in parts:  # Refuses before anything is written.
            self._planned(part, plan)
        for part in parts:
            for _ in range(_ATTEMPTS):
                change = self._planned(part, plan)
                if dry_run or not change.is_needed or self._write(change):
                    break
            else:
                raise Conflict(f"{part.path} is being changed by another program. Close it and try again.")
            done.append(change)
        return done

    def _planned(self, part: Part, plan: Any) -> FileChange:
        known = self._made().get(str(part.path), [])
        try:
            change: FileChange = plan(part, read_text_file(part.path), {tuple(path) for path in known})
        except (jsonc.Malformed, tomllib.TOMLDecodeError, Unreadable, FileRefused, TypeError) as error:
            is_added = plan is _planned_install
            by_hand = f"add this yourself:\n{part.by_hand}" if is_added else f"take out yourself {part.what}."
            raise Invalid(
                f"{part.path} is left as it is, because it could not be changed safely: {error}. "
                f"Mend it and try again, or {by_hand}"
            ) from error
        return change

    def _write(self, change: FileChange) -> bool:
        if change.after is None:
            change.path.unlink()
        elif not change.file.write(change.after, keep_backup=change.had_ours):
            return False
        notes = self._made()
        made = sorted(change.made)
        if made:
            notes[str(change.path)] = [list(path) for path in made]
        else:
            notes.pop(str(change.path), None)
        self._notes.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        read_text_file(self._notes).write(json.dumps(notes, indent=2) + "\n")
        return True

    def _made(self) -> dict[str, list[Sequence[str]]]:
        try:
            notes = json.loads(self._notes.read_text("utf-8"))
        except (FileNotFoundError, ValueError):
            return {}
        return notes if isinstance(notes, dict) else {}


# The empty path stands for the file itself.
_FILE: tuple[str, ...] = ()


def _planned_install(part: Part, file: TextFile, known: Paths) -> FileChange:
    before = file.text
    blank = before is None or not before.strip()
    text = part.empty if before is None or blank else before
    after, made = part.add(text)
    _check_kept(part, text, after)
    if before is None:
        made = made | {_FILE}
    return FileChange(file, after if after != text or not blank else before, made | known, part.has_ours(text))


def _planned_uninstall(part: Part, file: TextFile, known: Paths) -> FileChange:
    if file.text is None or not file.text.strip():
        return FileChange(file, file.text, set())
    after = part.take_out(file.text, known - {_FILE})
    _check_kept(part, file.text, after)
    if _FILE in known and after.strip() in ("", "{}"):
        return FileChange(file, None, set())
    # What was made for one name may hold the entries of another.
    made = known if part.has_ours(after) else set()
    return FileChange(file, after, made, had_ours=True, kept=part.what if part.has_foreign(after) else None)


def _check_kept(part: Part, before: str, after: str) -> None:
    """Raises FileRefused where something that is not ours would not be the same afterwards."""
    if part.others(before) != part.others(after):
        raise FileRefused("something in it would have been lost")
