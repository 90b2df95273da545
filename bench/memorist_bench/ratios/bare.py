"""What a program without Memorist would write: the same statements on the same schema, and nothing around them."""

import hashlib
import queue
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import apsw

from memorist import words
from memorist.ids import new_id
from memorist.store.migrations import load_migrations
from memorist.store.rows import PARAMETERS
from memorist.store.statements import load_statements

TENANT = "local"
_LARGEST_BATCH = 128
_PRAGMAS = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA secure_delete = ON;
PRAGMA foreign_keys = ON;
PRAGMA temp_store = MEMORY;
PRAGMA cache_size = -16384;
"""

_statements = load_statements("sqlite")
INSERT_MEMORY = _statements["insert_memory"].sql
_INSERT_INDEX = _statements["insert_index"].sql
_APPEND_EVENT = _statements["append_event"].sql

Write = tuple[tuple[Any, ...], dict[str, Any], tuple[Any, ...]]


class BareStore:
    """One connection as durable as the library's: write-ahead log, a full flush for each commit, secure deletion."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.connection = apsw.Connection(str(path))
        # Fetched, because apsw goes on to the next statement only when an answer was.
        self.connection.execute(_PRAGMAS).fetchall()
        for migration in load_migrations("sqlite"):
            self.connection.execute(migration.sql).fetchall()

    def write(self, write: Write) -> None:
        self.write_all([write])

    def write_all(self, writes: Iterable[Write]) -> None:
        execute = self.connection.execute
        execute("BEGIN IMMEDIATE")
        for row, entry, event in writes:
            execute(INSERT_MEMORY, row)
            execute(_INSERT_INDEX, entry)
            execute(_APPEND_EVENT, event)
        execute("COMMIT")

    def group_commit(self) -> "BareGroupCommit":
        return BareGroupCommit(self)

    def close(self) -> None:
        self.connection.close()


class BareGroupCommit:
    """The simplest one: a thread that takes whatever is waiting and commits it together."""

    def __init__(self, store: BareStore) -> None:
        self._store = store
        self._waiting: queue.SimpleQueue[tuple[Write, threading.Lock]] = queue.SimpleQueue()
        threading.Thread(target=self._run, daemon=True).start()

    def write(self, write: Write) -> None:
        done = threading.Lock()
        done.acquire()
        self._waiting.put((write, done))
        done.acquire()

    def _run(self) -> None:
        while True:
            batch = [self._waiting.get()]
            while len(batch) < _LARGEST_BATCH and not self._waiting.empty():
                batch.append(self._waiting.get_nowait())
            self._store.write_all([write for write, _ in batch])
            for _, done in batch:
                done.release()


def bare_write(content: str) -> Write:
    """What the library writes for a plain fact: the row, its place in the index and its event, all made anew."""
    now = time.time_ns() // 1000
    memory_id = new_id("mem")
    row = (
        memory_id, TENANT, content, _sha256(content), _sha256(f"fact {content}"), now, now, "ada", "coder", "", "",
        "fact", "", "", None, None, 0, None, None, None, None, "user", "native", "active", "keep", None, None, now,
        None, None, None, None, None, None, None, 0, None, None,
    )  # fmt: skip
    entry = {
        "tenant": TENANT, "user_id": "ada", "memory_id": memory_id, "change": now, "agent_id": "coder", "thread": "",
        "kind": "fact", "category": "", "project": "", "standing": 0, "event_time": now, "created_at": now,
        "expires_at": None, "valid_from": now, "valid_to": None, "retired_at": None, "digest": hash(content),
        "terms": words.pack(content),
    }  # fmt: skip
    return row, entry, (TENANT, memory_id, "created", "library", "ada", "{}", now)


def bare_row(content: str) -> dict[str, Any]:
    return dict(zip((*PARAMETERS, "due_at"), bare_write(content)[0], strict=True))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
