"""Settings of a store without models, which cost seconds where most tests are not about meaning; and its raw bytes."""

import subprocess
from base64 import b64encode
from pathlib import Path
from typing import Any

from memorist.settings import Settings

MASTER_KEY = b64encode(bytes(range(32))).decode()


def bare(url: str, **others: Any) -> Settings:
    """A database by its URL, searched by keywords alone."""
    return Settings(**({"database": url, "embedder": "off", "reranker": "off"} | others))


def bytes_in(folder: Path) -> bytes:
    """The bytes of all files of a folder, read by another process.

    Closing a file drops every lock that a process has on it. Had this one a database open there, the next process that
    opens it would believe to be alone, cut the shared memory of the log short, and this one would die of it.
    """
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return subprocess.run(["cat", "--", *files], capture_output=True, check=True).stdout
