"""What a program without Memorist would write: the same statements on the same schema, and nothing around them."""

import hashlib
import queue
import threading
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw

from bench.texts import sentence
from memorist.ids import new_id
from memorist.model import Memory, Owner
from memorist.store.migrations import load_migrations
from memorist.store.rows import memory_to_parameters
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
_APPEND_EVENT = _statements["append_event"].sql

Write = tuple[dict[str, Any], dict[str, Any]]


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
        for row, event in writes:
            execute(INSERT_MEMORY, row)
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


def prepared_writes(numbers: Iterable[int]) -> list[Write]:
    """The parameters of each write, made before the clock starts: a bare program has no work but the database's."""
    return [(row, _created_event(row)) for row in map(prepared_row, map(sentence, numbers))]


def prepared_row(content: str) -> dict[str, Any]:
    """The row that the library writes for a plain fact."""
    now = datetime.now(UTC)
    memory = Memory(
        id=new_id("mem"),
        tenant=TENANT,
        content=content,
        content_hash=_sha256(content),
        dedup_key=_sha256(f"fact {content}"),
        created_at=now,
        updated_at=now,
        owner=Owner("ada", "coder"),
        valid_from=now,
    )
    return {"tenant": TENANT, **memory_to_parameters(memory)}


def _created_event(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "tenant": TENANT,
        "memory_id": row["id"],
        "event_type": "created",
        "source": "library",
        "actor": "ada",
        "payload": "{}",
        "created_at": row["created_at"],
    }


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
