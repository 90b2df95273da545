"""Reading a transcript by its path, below folders that the operator allows, and nothing else.

The path is walked from the folder down, one component at a time, each opened relative to the one before and never
through a symbolic link. So there is no moment between a check and its use in which somebody could put another file in
its place. What was opened is looked at again: a regular file of one name, of a bounded size, that really lies below.
"""

import os
import stat
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from memorist.errors import Forbidden, InvalidField
from memorist.platform import access
from memorist.platform.values import Principal

MAX_BYTES = 20_000_000
_LONGEST_PATH = 4096
_DEEPEST = 64

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK, opening a FIFO would wait for somebody who writes to it.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

# The same for whatever is wrong, so that nobody learns from it which files there are.
_REFUSAL = (
    "There is no transcript at that path that may be read. It must be the absolute path of a regular file below "
    "one of the folders in MEMORIST_TRANSCRIPT_ROOTS, without symbolic links on the way."
)


class TranscriptFiles:
    def __init__(self, roots: Sequence[Path] = ()) -> None:
        self._roots = tuple(roots)

    def read(self, principal: Principal, path: str) -> str:
        """The text of a transcript, for those who may write what is found in it.

        Raises Forbidden where they may not or no folder is allowed, InvalidField for a path that is not to be read.
        """
        access.require(principal, access.Action.WRITE)
        if not self._roots:
            raise Forbidden(
                "This server reads no transcripts from files: MEMORIST_TRANSCRIPT_ROOTS is empty. Send the text itself."
            )
        if "\0" in path or len(path) > _LONGEST_PATH:
            raise _refused()
        for root in self._roots:
            for shown in (root, Path(os.path.realpath(root))):
                below = _below(path, shown)
                if below is not None:
                    return _read_below(Path(os.path.realpath(root)), below)
        raise _refused()


def short_enough(field: str, transcript: str) -> str:
    """A transcript that was sent as text. Raises InvalidField where it is longer than a file may be, or no text."""
    # Most are shorter than that in any encoding.
    if 4 * len(transcript) > MAX_BYTES and len(transcript.encode("utf-8", "replace")) > MAX_BYTES:
        raise _too_large(field)
    if "\0" in transcript:
        raise InvalidField.of(field, "holds a NUL, which is no text. Remove it.")
    return transcript


def _below(path: str, root: Path) -> tuple[str, ...] | None:
    """The components of a path after those of a root, by their names alone."""
    parts = PurePosixPath(path).parts
    if ".." in parts or not path.startswith("/"):
        return None
    count = len(root.parts)
    below = parts[count:]
    return below if parts[:count] == root.parts and 0 < len(below) <= _DEEPEST else None


def _read_below(root: Path, parts: tuple[str, ...]) -> str:
    try:
        descriptor = _open_below(root, parts)
    except (OSError, ValueError) as error:
        raise _refused() from error
    try:
        content = _content(descriptor, root)
    except OSError as error:
        raise _refused() from error
    finally:
        os.close(descriptor)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidField("The transcript is not text in UTF-8.", field="transcript_path") from error
    if "\0" in text:
        raise InvalidField("The transcript holds a NUL, and is no text.", field="transcript_path")
    return text


def _open_below(root: Path, parts: tuple[str, ...]) -> int:
    """The file, opened for reading. Raises OSError."""
    folder = os.open(root, _FOLDER)
    try:
        for part in parts[:-1]:
            below = os.open(part, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = below
        return os.open(parts[-1], _FILE, dir_fd=folder)
    finally:
        os.close(folder)


def _content(descriptor: int, root: Path) -> bytes:
    found = os.fstat(descriptor)
    # A second name may stand anywhere, also where its owner may read and the caller should not.
    if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1 or not _lies_below(descriptor, root):
        raise _refused()
    if found.st_size > MAX_BYTES:
        raise _too_large("transcript_path")
    pieces: list[bytes] = []
    size = 0
    while piece := os.read(descriptor, 1 << 20):
        size += len(piece)
        if size > MAX_BYTES:  # It grew meanwhile, or lied about its size.
            raise _too_large("transcript_path")
        pieces.append(piece)
    return b"".join(pieces)


def _lies_below(descriptor: int, root: Path) -> bool:
    """Whether the system itself says so, where it can be asked."""
    try:
        real = os.readlink(f"/proc/self/fd/{descriptor}")
    except FileNotFoundError:
        return True
    return Path(real).is_relative_to(root)


def _refused() -> InvalidField:
    return InvalidField(_REFUSAL, field="transcript_path")


def _too_large(field: str) -> InvalidField:
    return InvalidField(f"The transcript has more than {MAX_BYTES:,} bytes.", field=field)
