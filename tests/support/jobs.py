"""What other processes do in tests. Each function opens what it needs and leaves nothing open."""

import os
import random
import threading
from collections.abc import Callable
from datetime import datetime
from typing import Any

from memorist.bootstrap import open_core, open_store
from memorist.core import Core
from memorist.errors import MemoristError, Unauthenticated
from memorist.ids import new_id
from memorist.memories.values import Draft
from memorist.options import Options
from memorist.platform.values import Principal, Role
from memorist.secrets import redact
from memorist.store import postgres, sql_store, sqlite  # noqa: F401  Imported before the fork, to make it quick.
from memorist.times import SystemClock
from tests.support.stores import bare

redact("Patterns are made before the fork too.")


def migrate(_: int, url: str) -> int:
    """Migrate, and say how many migrations this process applied."""
    store = open_store(bare(url))
    try:
        return len(store.migrator.migrate(SystemClock().now()))
    finally:
        store.close()


def remember_many(number: int, url: str, tenant: str, count: int) -> list[str]:
    """Write, one transaction each, from two threads; return the ids that were acknowledged."""
    core = open_core(bare(url))
    principal = Principal(tenant, Role.USER, "ada")
    ids: list[str] = []

    def write(thread: int) -> None:
        for index in range(count // 2):
            draft = Draft(f"process {number} thread {thread} write {index}")
            ids.append(core.memories.remember(principal, [draft])[0].memory.id)

    threads = [threading.Thread(target=write, args=(thread,)) for thread in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    core.close()
    return ids


def remember_under_key(_: int, url: str, tenant: str, keys: list[str], owner: str) -> list[tuple[str, bool]]:
    """Send the same requests, in the same order, as every other process; return the id and whether it was replayed."""
    core = open_core(bare(url))
    principal = Principal(tenant, Role.USER, owner)
    try:
        results = [
            core.memories.remember(principal, [Draft(f"once under {key}")], idempotency_key=key)[0] for key in keys
        ]
        return [(result.memory.id, result.replayed) for result in results]
    finally:
        core.close()


def read_memory(url: str, principal: Principal, memory_id: str) -> tuple[int, datetime | None]:
    """How often a memory was read, as the database has it."""
    core = open_core(bare(url))
    try:
        memory = core.store.read(principal.tenant, lambda tx: tx.memories.get(memory_id))
        assert memory is not None
        return memory.access_count, memory.last_accessed_at
    finally:
        core.close()


def authenticate_around(url: str, secret: str, connection: Any) -> None:
    """Authenticate once for each message that comes in, and answer whether it worked."""
    core = open_core(bare(url))
    connection.send("ready")
    while connection.recv() == "again":
        try:
            connection.send(core.identity.authenticate(secret))
        except Unauthenticated:
            connection.send(None)
    core.close()


def write_until_killed(url: str, tenant: str, seed: int, threads: int, sender: Any) -> None:
    """Remember, edit and forget without end, sending each step as a line once it was acknowledged."""
    core = open_core(bare(url))
    core.identity.create_tenant(tenant)
    for number in range(threads):
        threading.Thread(
            target=_write_without_end, args=(core, tenant, random.Random(seed + number), number, sender.fileno())
        ).start()
    threading.Event().wait()


def _write_without_end(core: Core, tenant: str, rng: random.Random, number: int, pipe: int) -> None:
    principal = Principal(tenant, Role.USER, f"user-{number}")
    own: list[str] = []
    while True:
        step = rng.choice(("remember", "remember", "edit", "forget"))
        if step == "remember" or not own:
            drafts = [Draft(f"fresh {new_id('mem')}") for _ in range(rng.choice((1, 1, 3)))]
            for result in core.memories.remember(principal, drafts):
                own.append(result.memory.id)
                os.write(pipe, f"remembered {result.memory.id}\n".encode())
        elif step == "edit":
            memory_id = rng.choice(own)
            edited = core.memories.edit(principal, memory_id, {"content": f"edited {new_id('mem')}"})
            os.write(pipe, f"edited {memory_id} {edited.version}\n".encode())
        else:
            memory_id = own.pop(rng.randrange(len(own)))
            core.memories.forget(principal, memory_id)
            os.write(pipe, f"forgot {memory_id}\n".encode())


def remember_and_die(url: str, tenant: str, count: int, connection: Any) -> None:
    """Remember, and say when the vectors are about to be made: they never are, since this process is then killed."""
    from tests.support.models import WordEmbedder

    def wait(_: Any) -> None:
        connection.send("embedding")
        threading.Event().wait()

    store = open_store(bare(url))
    core = Core(store, SystemClock(), Options(embedder=lambda: WordEmbedder(before=wait)))
    drafts = [Draft(f"unembedded {count} {number}") for number in range(count)]
    core.memories.remember(Principal(tenant, Role.USER, "ada"), drafts)
    threading.Event().wait()


def use_read_only(path: str, uid: int) -> dict[str, str]:
    """As a user who may not write: what opening, reading and writing give."""
    become(uid)
    said = {"core": _outcome(lambda: open_core(bare(path)).close())}
    try:
        store = open_store(bare(path))
    except MemoristError as error:
        return said | {"store": type(error).__name__}
    said["read"] = _outcome(store.list_tenants)
    said["write"] = _outcome(lambda: store.write("t", lambda tx: tx.erasure.erase_rows([])))
    said["check"] = str(store.check())
    store.close()
    return said


def become(uid: int) -> None:
    """Be another user from here on, who may not even be able to read the package's own files."""
    sql_store.load_migrations("sqlite")
    sql_store.load_statements("sqlite")
    os.setgid(uid)
    os.setuid(uid)


def _outcome(call: Callable[[], object]) -> str:
    try:
        call()
    except MemoristError as error:
        return type(error).__name__
    return "ok"
