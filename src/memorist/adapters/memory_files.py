"""A tree of text files below `/memories`, each a named memory: what the memory tool of Anthropic's models works on.

Results and errors are in the words that the tool's documentation gives, since the models know them. A folder is there
as long as a file is below it.
"""

import hashlib
import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from urllib.parse import unquote

from memorist.errors import NameTaken, NotFound, StaleVersion
from memorist.memories.values import Memory
from memorist.platform import validation
from memorist.verbs import Verbs

ROOT = "/memories"

_CATEGORY = "reference"
_PREFIX = "file_"
_ATTEMPTS = 10
_MOST_LINES = 999_999
_DEPTH = 2
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\\]")
# A memory has a text; a file without any is this one. A file that is this very text has it twice.
_EMPTY = "(an empty file)"


class FileProblem(Exception):
    """What cannot be done, as the model is to read it."""


@dataclass(frozen=True, slots=True)
class _File:
    id: str
    path: str
    text: str
    version: str | None


class MemoryFiles:
    def __init__(self, memories: Verbs) -> None:
        self._memories = memories

    def view(self, path: str, lines: Sequence[int] | None = None) -> str:
        """A folder's files, two levels deep, or a file's lines with their numbers."""
        path = _checked(path)
        file = None if path == ROOT else self._find(path)
        if file is not None:
            return _shown(file, lines)
        below = [one for one in self._all() if _is_below(one.path, path)]
        if not below and path != ROOT:
            raise FileProblem(f"The path {path} does not exist. Please provide a valid path.")
        return _listed(path, below)

    def create(self, path: str, text: str) -> str:
        """Make a new file. One that is there is left as it is."""
        path = _checked(path)
        if path == ROOT or self._find(path) is not None:
            raise FileProblem(f"Error: File {path} already exists")
        for other in self._all():
            if _is_below(other.path, path):
                raise FileProblem(f"Error: File {path} already exists")
            if _is_below(path, other.path):
                raise FileProblem(f"Error: {other.path} is a file, and nothing can be below it")
        try:
            stored = self._memories.remember(
                _encoded(text), name=_name(path), category=_CATEGORY, description=path
            ).memory
        except NameTaken:
            raise FileProblem(f"Error: File {path} already exists") from None
        if stored.description != path:
            # Under what is left of its path nobody would find it.
            self._memories.forget(stored.id)
            raise _holds_a_secret(stored)
        return f"File created successfully at: {path}"

    def str_replace(self, path: str, old: str, new: str) -> str:
        """Replace a text that stands in a file once, and show the lines around it."""
        path = _checked(path)
        missing = f"Error: The path {path} does not exist. Please provide a valid path."

        def change(text: str) -> tuple[str, str]:
            starts = [found.start() for found in re.finditer(re.escape(old), text)] if old else []
            if not starts:
                raise FileProblem(
                    f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}."
                )  # fmt: skip
            between = pairwise([0, *starts])
            numbers = list(accumulate((text.count("\n", start, end) for start, end in between), initial=1))[1:]
            if len(starts) > 1:
                raise FileProblem(
                    f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
                    f"{', '.join(map(str, numbers))}. Please ensure it is unique"
                )
            changed = text[: starts[0]] + new + text[starts[0] + len(old) :]
            first = max(1, numbers[0] - 2)
            last = numbers[0] + new.count("\n") + 2
            snippet = _numbered(_lines(changed)[first - 1 : last], first)
            return changed, f"The memory file has been edited.\n{snippet}"

        return self._change(path, missing, change)

    def insert(self, path: str, after: int, text: str) -> str:
        """Put lines after a line of a file; 0 is before the first."""
        path = _checked(path)

        def change(before: str) -> tuple[str, str]:
            lines = _lines(before)
            if not 0 <= after <= len(lines):
                raise FileProblem(
                    f"Error: Invalid `insert_line` parameter: {after}. "
                    f"It should be within the range of lines of the file: [0, {len(lines)}]"
                )
            lines[after:after] = _lines(text) or [""]
            return "\n".join(lines) + "\n", f"The file {path} has been edited."

        return self._change(path, f"Error: The path {path} does not exist", change)

    def delete(self, path: str) -> str:
        """Delete a file, or a folder with everything below it."""
        path = _checked(path)
        if path == ROOT:
            raise FileProblem(f"Error: The path {ROOT} cannot be deleted")
        found = self._at_or_below(path)
        if not found:
            # One that was made long ago may be listed without a secret that its path held.
            file = self._find(path)
            if file is None:
                raise FileProblem(f"Error: The path {path} does not exist")
            found = [file]
        self._forget(found)
        return f"Successfully deleted {path}"

    def rename(self, old: str, new: str) -> str:
        """Move a file or a folder to where nothing is yet."""
        old, new = _checked(old), _checked(new)
        found = [] if old == ROOT else self._at_or_below(old)
        if not found:
            raise FileProblem(f"Error: The path {old} does not exist")
        if new == ROOT or self._at_or_below(new):
            raise FileProblem(f"Error: The destination {new} already exists")
        if any(_is_below(new, one.path) for one in self._all()) or _is_below(new, old):
            raise FileProblem(f"Error: The destination {new} is below a file, or below {old} itself")
        for file in found:
            path = _checked(new + file.path.removeprefix(old))
            try:
                moved = self._memories.edit(file.id, {"name": _name(path), "description": path})
            except NameTaken:
                raise FileProblem(f"Error: The destination {path} already exists") from None
            if moved.description != path:
                self._memories.edit(file.id, {"name": _name(file.path), "description": file.path})
                raise _holds_a_secret(moved)
        return f"Successfully renamed {old} to {new}"

    def clear(self) -> str:
        """Delete every file."""
        self._forget(self._all())
        return "All memory cleared"

    def _change(self, path: str, missing: str, change: Callable[[str], tuple[str, str]]) -> str:
        """Write what `change` makes of the file's text, whatever others write meanwhile."""
        for _ in range(_ATTEMPTS):
            file = None if path == ROOT else self._find(path)
            if file is None:
                raise FileProblem(missing)
            text, result = change(file.text)
            try:
                self._memories.edit(file.id, {"content": _encoded(text)}, expected_version=file.version)
                return result
            except StaleVersion:
                continue  # Somebody else wrote: the change is made on what is there now.
            except NotFound:
                raise FileProblem(missing) from None
        raise FileProblem(f"Error: The file {path} is being changed by too many at once. Try again")

    def _find(self, path: str) -> _File | None:
        try:
            found = self._memories.run_tool("memory_read", {"name": _name(path)})
            memory = self._memories.get(found["id"])
        except NotFound:
            return None
        return _File(memory.id, path, _decoded(memory.content), memory.version)

    def _at_or_below(self, path: str) -> list[_File]:
        return [one for one in self._all() if one.path == path or _is_below(one.path, path)]

    def _all(self) -> Iterator[_File]:
        for memory in self._memories.iterate(named=True, category=_CATEGORY):
            path = memory.description or ""
            if (memory.name or "").startswith(_PREFIX) and _is_below(path, ROOT):
                yield _File(memory.id, path, _decoded(memory.content), memory.version)

    def _forget(self, files: "Iterator[_File] | list[_File]") -> None:
        for file in list(files):
            try:
                self._memories.forget(file.id)
            except NotFound:
                pass  # Somebody else did.


def _checked(path: str) -> str:
    """The path in its one form. Raises FileProblem where it is, or could be read as, outside of the tree."""
    readings = {path, unquote(path), unquote(unquote(path))}
    is_outside = any(".." in reading.split("/") for reading in readings)
    normal = posixpath.normpath(path)
    if is_outside or _UNSAFE.search(path) or not (normal == ROOT or normal.startswith(f"{ROOT}/")):
        shown = _UNSAFE.sub("?", path)[:200]
        raise FileProblem(f"Error: The path {shown} is not allowed: it must be below {ROOT}, without ..")
    if len(normal) > validation.MAX_LINE:
        raise FileProblem(f"Error: The path is longer than {validation.MAX_LINE} characters")
    return normal


def _holds_a_secret(stored: Memory) -> FileProblem:
    return FileProblem(
        f"Error: The path holds a secret, which is not stored: it would be {stored.description}. Choose another path"
    )


def _name(path: str) -> str:
    return _PREFIX + hashlib.sha256(path.encode()).hexdigest()[:40]


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(f"{folder}/")


def _encoded(text: str) -> str:
    return _EMPTY + text if not text.replace(_EMPTY, "").strip() else text


def _decoded(content: str) -> str:
    return content.removeprefix(_EMPTY) if not content.replace(_EMPTY, "").strip() else content


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _numbered(lines: list[str], first: int) -> str:
    return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(lines, start=first))


def _shown(file: _File, chosen: Sequence[int] | None) -> str:
    lines = _lines(file.text)
    if len(lines) > _MOST_LINES:
        raise FileProblem(f"File {file.path} exceeds maximum line limit of 999,999 lines.")
    first = 1
    if chosen is not None and len(chosen) == 2:
        first = max(1, chosen[0])
        lines = lines[first - 1 : None if chosen[1] == -1 else max(0, chosen[1])]
    return f"Here's the content of {file.path} with line numbers:\n{_numbered(lines, first)}"


def _listed(folder: str, files: list[_File]) -> str:
    sizes: dict[str, int] = {}
    for file in files:
        parts = file.path.removeprefix(f"{folder}/").split("/")
        if any(part.startswith(".") or part == "node_modules" for part in parts):
            continue
        size = len(file.text.encode())
        for depth in range(1, min(len(parts), _DEPTH) + 1):
            entry = "/".join(parts[:depth]) + ("/" if depth < len(parts) else "")
            sizes[entry] = sizes.get(entry, 0) + size
    whole = sum(size for entry, size in sizes.items() if entry.count("/") - entry.endswith("/") == 0)
    rows = [f"{_human(whole)}\t{folder}"]
    rows += [f"{_human(size)}\t{folder}/{entry}" for entry, size in sorted(sizes.items())]
    head = (
        f"Here're the files and directories up to 2 levels deep in {folder}, excluding hidden items and node_modules:"
    )
    return "\n".join([head, *rows])


def _human(size: int) -> str:
    if size < 1024:
        return str(size)
    for unit in "KMG":
        size_in_unit = size / 1024
        if size_in_unit < 1024 or unit == "G":
            return f"{size_in_unit:.1f}{unit}"
        size = int(size_in_unit)
    raise AssertionError("unreachable")
