"""Promise 1: a killed process loses nothing that it acknowledged, and leaves nothing torn."""

import os
import random
import threading
from collections import defaultdict
from pathlib import Path

import apsw
import pytest

from memorist.bootstrap import open_core, open_store
from memorist.memories.values import Memory, Status
from memorist.store.sql_store import SqlStore
from memorist.testing import new_tenant
from tests.support.jobs import write_until_killed
from tests.support.processes import CONTEXT
from tests.support.stores import bare

KILLS = int(os.environ.get("MEMORIST_TEST_KILLS", "200"))
THREADS = 4


class Acknowledged:
    """What a writer was told is durable: for each memory, its last acknowledged state."""

    def __init__(self) -> None:
        self.versions: dict[str, str | None] = {}
        self.forgotten: set[str] = set()

    def read(self, lines: bytes) -> None:
        # A last line without its end was cut off by the kill.
        for line in lines.decode().split("\n")[:-1]:
            step, memory_id, *version = line.split()
            if step == "forgot":
                self.forgotten.add(memory_id)
            else:
                self.versions[memory_id] = version[0] if version else None

    def verify(self, found: dict[str, Memory]) -> None:
        for memory_id, version in self.versions.items():
            memory = found.get(memory_id)
            assert memory is not None, f"{memory_id} was acknowledged and is lost"
            if memory_id in self.forgotten:
                assert memory.status is Status.SOFT_DELETED, f"{memory_id} was forgotten and is back"
            if version is not None:
                assert memory.content.startswith("edited")
                # A later change may have been written just before the kill, but never an earlier one.
                assert int(memory.version, 16) >= int(version, 16), f"an edit of {memory_id} is lost"


def kill_a_writer(url: str, tenant: str, rng: random.Random) -> Acknowledged:
    """Start a writer, kill it at a random moment, and return what it had acknowledged until then."""
    receiver, sender = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=write_until_killed, args=(url, tenant, rng.randrange(2**32), THREADS, sender))
    process.start()
    sender.close()
    # Some die before their first write, most in the middle of work.
    wanted = rng.choice((0, 1, 200, 800, 1600))
    said = bytearray()
    while len(said) < wanted:
        said += os.read(receiver.fileno(), 65536)
    if rng.random() < 0.5:
        threading.Event().wait(rng.random() * 0.01)  # Anywhere between two acknowledgements.
    process.kill()
    while more := os.read(receiver.fileno(), 65536):
        said += more
    receiver.close()
    process.join(30)
    process.close()
    acknowledged = Acknowledged()
    acknowledged.read(bytes(said))
    return acknowledged


def check_tenant(store: SqlStore, tenant: str, acknowledged: Acknowledged) -> None:
    found = store.read(tenant, lambda tx: tx.memories.get_many(list(acknowledged.versions)))
    acknowledged.verify({memory.id: memory for memory in found})
    said = store.driver.read(tenant, lambda connection: store._check_tenant(tenant, connection))
    assert said == "ok", f"{tenant}: {said}"


# Each kill starts a process anew, which takes its time on a busy machine.
@pytest.mark.timeout(900)
def test_two_hundred_kills_lose_nothing_and_tear_nothing(sqlite_url: str, rng: random.Random) -> None:
    open_core(bare(sqlite_url)).close()
    everything: dict[str, Acknowledged] = {}
    witness: SqlStore | None = None
    for number in range(KILLS):
        if number % 50 == 25:
            # For a while somebody else has the file open, so that the log is not recovered by the next to come.
            witness = open_store(bare(sqlite_url))
        tenant = new_tenant()
        everything[tenant] = kill_a_writer(sqlite_url, tenant, rng)
        store = open_store(bare(sqlite_url))
        check_tenant(store, tenant, everything[tenant])
        store.close()
        if witness is not None and number % 50 == 35:
            check_tenant(witness, tenant, everything[tenant])
            witness.close()
            witness = None
    total = sum(len(acknowledged.versions) for acknowledged in everything.values())
    idle = sum(not acknowledged.versions for acknowledged in everything.values())
    print(f"{KILLS} kills, {total} memories acknowledged, {idle} writers killed before their first")
    assert total > 5 * KILLS
    assert idle < KILLS / 2

    store = open_store(bare(sqlite_url))
    for tenant, acknowledged in everything.items():
        check_tenant(store, tenant, acknowledged)
    assert set(store.check().values()) == {"ok"}
    store.close()
    check_file(sqlite_url)


def check_file(url: str) -> None:
    connection = apsw.Connection(url)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    counts = defaultdict(int)
    for name, query in {
        "rows": "SELECT count(*) FROM memories",
        "indexed": "SELECT count(*) FROM memory_index",
        "created": "SELECT count(*) FROM memory_events WHERE event_type = 'created'",
    }.items():
        counts[name] = connection.execute(query).get
    connection.close()
    assert counts["rows"] == counts["indexed"] == counts["created"] > 0
    assert Path(url).stat().st_size > 0
