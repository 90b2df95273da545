"""Where servers of a database listen on this machine: each notes its address in the data folder while it runs.

A note is locked by its server. The lock goes with the process, however that ends, so that a note without one is what
a crash left behind: nobody follows it to an address where something else may listen by now.
"""

import fcntl
import hashlib
import json
import os
import ssl
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from urllib.parse import urlsplit

from memorist.ids import new_id
from memorist.settings import Settings
from memorist.version import __version__

LOCAL_KEY_FILE = "local.key"
"""In the data folder: the key that the first start makes."""
_FOLDER = "servers"
# Who asks, where the database and its key are and how a server is reached change no answer.
_NO_MATTER = {
    "data", "database", "host", "port", "workers", "tenant", "user", "agent", "api_key", "url", "connection",
    "log_level", "log_format", "encryption_key_file", "encryption_key", "encryption_key_command",
}  # fmt: skip
_PATIENCE_S = 1.0
_LONGEST_ANSWER = 4096
_REACHED_BY = {"//0.0.0.0:": "//127.0.0.1:", "//[::]:": "//[::1]:"}


@contextmanager
def noted(settings: Settings, address: str) -> Iterator[None]:
    """Note for as long as the block runs that a server listens there. One that cannot write the note serves as well."""
    path = settings.data / _FOLDER / f"{new_id('srv')}.json"
    # Locked before it has a name that is looked for: until then it could be taken for one that a crash left.
    draft = path.with_suffix(".new")
    note: dict[str, object] = {"address": address, "database": _fingerprint(settings), "answers": _manner(settings)}
    note["encrypts"] = settings.encrypts
    lock = None
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.write(lock, json.dumps(note).encode())
        draft.rename(path)
    except OSError:
        _remove(draft)
    try:
        yield
    finally:
        _remove(path)
        if lock is not None:
            os.close(lock)


def running(settings: Settings, *, alike: bool = False, without_key: bool = False) -> list[str]:
    """The addresses of the servers of this database that run on this machine, the last started first; `alike`: only
    those of this release that answer by the same settings; `without_key`: only those that cannot decrypt.

    One that listens on every address is reached by the loopback. What a crash left behind is removed.
    """
    found = []
    # An id begins with when it was made.
    for path in sorted((settings.data / _FOLDER).glob("*.json"), reverse=True):
        note = _read(path)
        if note is None or (alike and note.get("answers") != _manner(settings)):
            continue
        if without_key and note.get("encrypts"):
            continue
        if note.get("database") == _fingerprint(settings):
            found.append(reached_at(str(note.get("address"))))
    return found


def reached_at(address: str) -> str:
    """Where this machine reaches what listens there: what listens everywhere, by the loopback."""
    for everywhere, here in _REACHED_BY.items():
        address = address.replace(everywhere, here)
    return address


def version_at(address: str) -> str | None:
    """The version of the Memorist that answers there; None where nobody does, or something else, and "" where somebody
    listens who says nothing within seconds, as a server does that opens its database.
    """
    parts = urlsplit(address)
    if parts.scheme == "https":
        # Whether it may be trusted is not asked: nothing is told to it.
        context = ssl._create_unverified_context()
        connection: HTTPConnection = HTTPSConnection(parts.netloc, timeout=_PATIENCE_S, context=context)
    else:
        connection = HTTPConnection(parts.netloc, timeout=_PATIENCE_S)
    with closing(connection):
        try:
            connection.request("GET", "/healthz")
            said = json.loads(connection.getresponse().read(_LONGEST_ANSWER))
            return str(said["version"]) if said["status"] == "ok" else None
        except TimeoutError:
            return ""
        except (OSError, HTTPException, ValueError, LookupError, TypeError):
            return None


def _read(path: Path) -> dict[str, object] | None:
    """What a server noted, if it still runs."""
    try:
        with path.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                note = json.load(file)
                return note if isinstance(note, dict) else None
            _remove(path)
    except (OSError, ValueError):
        pass
    return None


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink(missing_ok=True)


def _fingerprint(settings: Settings) -> str:
    """Which database it is, without the password that its address may hold."""
    file = settings.sqlite_path()
    database = settings.database_url() if file is None else str(file.resolve())
    return hashlib.sha256(database.encode()).hexdigest()


def _manner(settings: Settings) -> str:
    """By what a server answers: its release, and every setting that may matter."""
    values = {
        name: float(value) if isinstance(value, int) else value
        for name, value in asdict(settings).items()
        if name not in _NO_MATTER
    }
    return hashlib.sha256(json.dumps([__version__, values], default=str).encode()).hexdigest()
