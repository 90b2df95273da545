"""Transcripts are read below the allowed folders, and nothing else is, whatever the path says."""

import os
import random
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from memorist.errors import Forbidden, InvalidField
from memorist.learning import transcript_files
from memorist.learning.transcript_files import MAX_BYTES, TranscriptFiles
from memorist.platform.values import Principal, Role

ADA = Principal("local", Role.USER, "ada")
SECRET = "TOP-SECRET-OUTSIDE"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An allowed folder with a transcript in it, beside a secret that nobody may read."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "passwords.txt").write_text(SECRET)
    root = tmp_path / "projects"
    (root / "shop" / "deep").mkdir(parents=True)
    (root / "shop" / "session.jsonl").write_text("hello")
    (root / "shop" / "deep" / "more.jsonl").write_text("more")
    return root


@pytest.fixture
def files(root: Path) -> TranscriptFiles:
    return TranscriptFiles([root])


def test_transcript_below_an_allowed_folder_is_read(files: TranscriptFiles, root: Path) -> None:
    assert files.read(ADA, f"{root}/shop/session.jsonl") == "hello"
    assert files.read(ADA, f"{root}/shop/deep/more.jsonl") == "more"
    assert files.read(ADA, f"{root}//shop/./session.jsonl") == "hello"


def test_several_folders_are_allowed(root: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.txt").write_text("a")
    files = TranscriptFiles([root, tmp_path / "other"])
    assert files.read(ADA, str(tmp_path / "other" / "a.txt")) == "a"
    assert files.read(ADA, f"{root}/shop/session.jsonl") == "hello"


def test_allowed_folder_may_itself_be_reached_by_a_link(root: Path, tmp_path: Path) -> None:
    """What the operator names is trusted; what lies below is not."""
    (tmp_path / "link").symlink_to(root)
    files = TranscriptFiles([tmp_path / "link"])
    assert files.read(ADA, f"{tmp_path}/link/shop/session.jsonl") == "hello"
    assert files.read(ADA, f"{root}/shop/session.jsonl") == "hello"


def test_without_folders_nothing_is_read(root: Path) -> None:
    with pytest.raises(Forbidden, match="MEMORIST_TRANSCRIPT_ROOTS is empty"):
        TranscriptFiles().read(ADA, f"{root}/shop/session.jsonl")


def test_who_may_not_write_has_nothing_read(files: TranscriptFiles, root: Path) -> None:
    with pytest.raises(Forbidden):
        files.read(Principal("local", Role.READER, "ada"), f"{root}/shop/session.jsonl")


def _plant(root: Path) -> list[str]:
    """Traps inside the allowed folder, as somebody could put them who may write there; returns their paths."""
    outside = root.parent / "secret"
    traps = {
        "link_to_file": lambda at: at.symlink_to(outside / "passwords.txt"),
        "relative_link": lambda at: at.symlink_to("../secret/passwords.txt"),
        "link_to_folder": lambda at: at.symlink_to(outside),
        "link_to_root": lambda at: at.symlink_to("/"),
        "link_to_itself": lambda at: at.symlink_to(at),
        "link_inside": lambda at: at.symlink_to(root / "shop" / "session.jsonl"),
        "hard_link": lambda at: os.link(outside / "passwords.txt", at),
        "fifo": lambda at: os.mkfifo(at),
        "folder": lambda at: at.mkdir(),
        "socket": _bind,
        "link_to_zero": lambda at: at.symlink_to("/dev/zero"),
        "link_to_tty": lambda at: at.symlink_to("/dev/tty"),
        "link_to_proc": lambda at: at.symlink_to("/proc/self/environ"),
        "link_to_fd": lambda at: at.symlink_to("/proc/self/fd/0"),
        "huge": _make_huge,
        "unreadable": lambda at: at.write_bytes(b"\xff\xfe\x00binary"),
        "nul": lambda at: at.write_text("a\0b"),
    }
    for name, make in traps.items():
        make(root / name)
    return [
        *(f"{root}/{name}" for name in traps),
        f"{root}/link_to_folder/passwords.txt",
        f"{root}/link_to_root/{str(outside)[1:]}/passwords.txt",
        f"{root}/link_to_root/etc/passwd",
        f"{root}/shop/session.jsonl/..",
        f"{root}/fifo/x",
    ]


def _bind(at: Path) -> None:
    # The path of a socket is short, so it is bound from within its folder.
    here = os.getcwd()
    os.chdir(at.parent)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(at.name)
    os.chdir(here)


def _make_huge(at: Path) -> None:
    with at.open("wb") as file:
        file.truncate(MAX_BYTES * 1000)


_STEPS = [
    "..",
    ".",
    "",
    "shop",
    "deep",
    "link_to_folder",
    "link_to_root",
    "secret",
    "etc",
    "%2e%2e",
    "..\\",
    "\u2024\u2024",
]
_ENDS = ["passwords.txt", "passwd", "session.jsonl", "hard_link", "fifo", "zero", "", "..", "x\0y", "\ud800", "a" * 300]


def _generated(root: Path, rng: random.Random) -> Iterator[str]:
    """Paths that wander about: up and down, through links, with odd letters, from many beginnings."""
    beginnings = [
        f"{root}",
        f"{root}/",
        f"{root}/shop/..",
        f"{root}x",
        f"{root}-other",
        "",
        "/",
        "~",
        "file://",
        "//",
        ".",
    ]
    beginnings += [f"{root.parent}", "/proc/self/root", "/proc/self/cwd", "/dev/fd", "/dev", str(root).upper()]
    while True:
        steps = rng.choices(_STEPS, k=rng.randrange(8))
        yield "/".join([rng.choice(beginnings), *steps, rng.choice(_ENDS)])


def test_no_hostile_path_escapes_or_hangs(files: TranscriptFiles, root: Path, rng: random.Random) -> None:
    hostile = _plant(root)
    hostile += [
        f"{root}/../secret/passwords.txt",
        f"{root}/shop/../../secret/passwords.txt",
        "/etc/passwd",
        "/dev/zero",
    ]
    hostile += [
        f"{root}\0/../secret/passwords.txt",
        str(root),
        f"{root}/",
        "",
        "relative.txt",
        "/" * 5000,
        f"{root}/{'a/' * 500}b",
    ]
    hostile += [
        "/proc/self/mem",
        "/proc/self/environ",
        "/dev/stdin",
        "/dev/random",
        f"file://{root}/shop/session.jsonl",
    ]
    hostile += [
        f"{root}/shop/session.jsonl\n",
        f" {root}/shop/session.jsonl",
        f"{root}/shop/session.jsonl/"[:-1] + "\x00",
    ]
    wandering = _generated(root, rng)
    while len(hostile) < 400:
        hostile.append(next(wandering))
    assert len(set(hostile)) >= 200
    descriptors = len(os.listdir("/proc/self/fd"))
    began = time.monotonic()
    read, refusals = set(), set()
    for path in hostile:
        try:
            read.add(files.read(ADA, path))
        except InvalidField as error:
            refusals.add((error.field, error.message))
    # A path that wandered back to a real transcript may be read; nothing else is.
    assert read <= {"hello", "more"}
    assert {field for field, _ in refusals} == {"transcript_path"}
    assert not [message for _, message in refusals if SECRET in message or str(root.parent) in message]
    assert time.monotonic() - began < 20
    assert len(os.listdir("/proc/self/fd")) == descriptors


def test_every_trap_is_refused(files: TranscriptFiles, root: Path) -> None:
    for path in _plant(root):
        with pytest.raises(InvalidField):
            files.read(ADA, path)


def test_refusals_do_not_tell_which_files_exist(files: TranscriptFiles, root: Path) -> None:
    messages = set()
    for path in ("/etc/passwd", "/etc/no-such-file", f"{root}/missing", f"{root}/../secret/passwords.txt"):
        with pytest.raises(InvalidField) as refused:
            files.read(ADA, path)
        messages.add(refused.value.message)
    assert len(messages) == 1


def test_file_that_grows_while_it_is_read_is_refused(
    files: TranscriptFiles, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcript_files, "MAX_BYTES", 10)
    path = root / "growing"
    path.write_text("0123456789")
    assert files.read(ADA, str(path)) == "0123456789"
    real = os.read

    def read(descriptor: int, size: int) -> bytes:
        with path.open("a") as file:
            file.write("more")
        return real(descriptor, size)

    monkeypatch.setattr(transcript_files.os, "read", read)
    with pytest.raises(InvalidField, match="more than 10 bytes"):
        files.read(ADA, str(path))


def test_folder_that_turns_into_a_link_is_not_followed(files: TranscriptFiles, root: Path) -> None:
    """Somebody swaps a folder for a link, over and over, while it is read."""
    (root / "swapped").mkdir()
    (root / "swapped" / "passwords.txt").write_text("harmless")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            os.rename(root / "swapped", root / "aside")
            os.symlink(root.parent / "secret", root / "swapped")
            os.unlink(root / "swapped")
            os.rename(root / "aside", root / "swapped")

    swapping = threading.Thread(target=swap)
    swapping.start()
    read = set()
    try:
        for _ in range(5000):
            try:
                read.add(files.read(ADA, f"{root}/swapped/passwords.txt"))
            except InvalidField:
                read.add("refused")
    finally:
        stop.set()
        swapping.join()
    assert read <= {"harmless", "refused"}
    assert files.read(ADA, f"{root}/swapped/passwords.txt") == "harmless"
