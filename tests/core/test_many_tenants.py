"""Thousands of tenants: what a server does at its start, in its rounds and for `/metrics` costs no more for them."""

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest

from memorist.bootstrap import open_core
from memorist.core import Core
from memorist.errors import StoreBusy
from memorist.memories.values import Draft, Status
from memorist.platform.values import DueWork, JobStatus, Principal, Role, Tally
from memorist.settings import Settings
from memorist.store.drivers import Connection
from memorist.store.postgres import PostgresDriver
from memorist.store.sql_store import SqlStore
from memorist.store.sqlite import SqliteDriver
from memorist.store.statements import SqlStatement
from memorist.testing.clocks import START, FrozenClock
from memorist.times import from_micros
from tests.support.stores import MASTER_KEY, bare

MANY = 2000
DAY = timedelta(days=1)
LATER = "4000000000000000"
ADA = Principal("tenant-00000", Role.ADMIN, "ada")


@dataclass
class Counted:
    """A connection that counts its statements by name."""

    connection: Connection
    asked: Counter[str]

    def rows(self, statement: SqlStatement, parameters: Any) -> Any:
        self.asked[statement.name] += 1
        return self.connection.rows(statement, parameters)

    def rows_of_each(self, statement: SqlStatement, parameters: Sequence[Any]) -> Any:
        self.asked[statement.name] += len(parameters)
        return self.connection.rows_of_each(statement, parameters)

    def run(self, statement: SqlStatement, parameters: Any) -> int:
        self.asked[statement.name] += 1
        return self.connection.run(statement, parameters)

    def run_many(self, statement: SqlStatement, parameters: Sequence[Any]) -> int:
        self.asked[statement.name] += len(parameters)
        return self.connection.run_many(statement, parameters)

    def script(self, sql: str) -> None:
        self.connection.script(sql)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each statement was asked by this thread, of whichever store. Servers of other tests go on beside it."""
    counts: Counter[str] = Counter()
    here = threading.get_ident()

    def counting(driver: type, name: str) -> Callable[..., Any]:
        plain = getattr(driver, name)

        def call(self: Any, tenant: str | None, work: Callable[[Connection], Any], **named: Any) -> Any:
            if threading.get_ident() != here:
                return plain(self, tenant, work, **named)
            return plain(self, tenant, lambda connection: work(Counted(connection, counts)), **named)

        return call

    for driver in (SqliteDriver, PostgresDriver):
        for name in ("read", "write"):
            monkeypatch.setattr(driver, name, counting(driver, name))
    return counts


@pytest.fixture(params=["", MASTER_KEY], ids=["plain", "encrypted"])
def settings(request: pytest.FixtureRequest, own_database_url: str) -> Settings:
    return bare(own_database_url, encryption_key=request.param)


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock(START)


@pytest.fixture
def core(settings: Settings, clock: FrozenClock) -> Iterator[Core]:
    core = open_core(settings, clock=clock, background=False)
    core.identity.create_tenant(ADA.tenant)
    core.memories.remember(ADA, [Draft("Ada plays chess.")])
    core.sweeper.sweep(ADA.tenant)
    yield core
    core.close()


def add_tenants(core: Core, count: int) -> None:
    """So many tenants in all, each with a memory whose deadline is to come, by plain statements."""
    store = core.store
    assert isinstance(store, SqlStore)
    known = len(store.list_tenants())
    rows = [{"id": f"tenant-{number:05}", "created_at": 0} for number in range(known, count)]
    is_sqlite = store.driver.dialect == "sqlite"
    listed = store.statements["get_memory"].sql.split(" FROM ")[0].removeprefix("SELECT ")
    columns = [name.strip() for name in listed.split(",")] + ["due_at"]
    others = ", ".join(f"m.{name}" if name != "due_at" else LATER for name in columns if name != "tenant_id")
    named = ", ".join(name for name in columns if name != "tenant_id")
    copies = (
        f"INSERT INTO memories (tenant_id, {named}) SELECT t.id, {others} FROM memories AS m, tenants AS t "
        f"WHERE m.tenant_id = '{ADA.tenant}' ON CONFLICT DO NOTHING;"
    )
    keys = (
        "INSERT INTO tenant_keys (tenant_id, number, wrapped, master, is_complete, created_at) "
        f"SELECT t.id, k.number, k.wrapped, k.master, 1, 0 FROM tenant_keys AS k, tenants AS t "
        f"WHERE k.tenant_id = '{ADA.tenant}' ON CONFLICT DO NOTHING;"
    )

    def fill(connection: Connection) -> None:
        connection.run_many(store.statements["insert_tenant"], rows)
        if not is_sqlite:
            connection.script("ALTER TABLE memories NO FORCE ROW LEVEL SECURITY;")
        connection.script(f"{copies}\n{keys}")
        if not is_sqlite:
            connection.script("ALTER TABLE memories FORCE ROW LEVEL SECURITY;")
        connection.script("ANALYZE;")

    store.driver.write(None, fill)


def statements_of(settings: Settings, clock: FrozenClock, asked: Counter[str]) -> Counter[str]:
    """What a start, a round of everything that has rounds, a look at readiness and one at `/metrics` ask."""
    asked.clear()
    core = open_core(settings, clock=clock, background=False)
    core.start()
    core.store.ping()
    core.indexer._find_due("", 100)
    core.jobs._find_due("", 100)
    core.turns.runner._beat()
    core.erasure.resume()
    core.sweeper._sweep_all()
    core.census._count()
    core.close()
    return Counter(asked)


def test_a_start_and_every_round_ask_as_much_for_one_tenant_as_for_thousands(
    core: Core, settings: Settings, clock: FrozenClock, asked: Counter[str]
) -> None:
    counts = []
    for number in (1, 10, MANY):
        add_tenants(core, number)
        counts.append(statements_of(settings, clock, asked))
    assert counts[0] == counts[1] == counts[2]
    assert max(counts[2].values()) <= 4
    assert core.store.count_all(Tally.TENANTS, clock.now(), seconds=60) == {"": MANY}
    assert core.store.count_all(Tally.MEMORIES, clock.now(), seconds=60) == {"active": MANY}


def test_a_sweep_looks_at_whom_a_deadline_has_passed(core: Core, clock: FrozenClock, asked: Counter[str]) -> None:
    add_tenants(core, MANY)
    bob = Principal("tenant-of-bob", Role.ADMIN, "bob")
    core.identity.create_tenant(bob.tenant)
    (told,) = core.memories.remember(bob, [Draft("For a day.", ttl=DAY)], idempotency_key="once")
    core.sweeper._sweep_all()
    assert asked["count_due"] == 0
    clock.advance(2 * DAY)
    core.sweeper._sweep_all()
    assert asked["count_due"] == 1
    row = core.store.read(bob.tenant, lambda tx: tx.memories.get(told.memory.id))
    assert row is not None
    assert row.status is Status.SOFT_DELETED
    assert core.store.due_tenants(DueWork.OLD_ANSWERS, clock.now()) == []
    asked.clear()
    core.sweeper._sweep_all()
    assert asked["count_due"] == 0


def test_a_round_over_thousands_that_have_work_reads_what_is_due_a_few_times(
    core: Core, asked: Counter[str], clock: FrozenClock
) -> None:
    add_tenants(core, MANY)
    clock.advance(from_micros(int(LATER)) - clock.now())
    asked.clear()
    assert len(list(core.sweeper._due())) == MANY - 1
    assert asked["tenants_with_moves"] == 3
    assert max(asked.values()) == 3


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("tenants_with_moves", r"memories_due_of_anybody|_p\d\d_due_at_tenant_id_"),
        ("tenants_with_retired", r"memories_retired_of_anybody|_updated_at_tenant_id_"),
    ],
)
def test_what_is_due_is_found_by_its_time(core: Core, name: str, index: str) -> None:
    add_tenants(core, MANY)
    store = core.store
    assert isinstance(store, SqlStore)
    asked = store.statements[name]
    how = "QUERY PLAN " if store.driver.dialect == "sqlite" else ""
    explain = replace(asked, sql=f"EXPLAIN {how}{asked.sql}")
    given = {"now": 1, "after": "", "limit": 100}
    rows = store.driver.read("*", lambda connection: connection.rows(explain, given))
    plan = "\n".join(str(row[-1]) for row in rows)
    assert re.search(index, plan), plan
    assert "Seq Scan on memories" not in plan


def test_counting_ends_in_time(core: Core, clock: FrozenClock, monkeypatch: pytest.MonkeyPatch) -> None:
    add_tenants(core, MANY)
    store = core.store
    assert isinstance(store, SqlStore)
    endless = (
        "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers) SELECT '', count(*) FROM numbers"
    )
    slow = replace(store.statements["census_of_memories"], sql=endless, parameters=())
    statements = {**store.statements, "census_of_memories": slow}
    monkeypatch.setattr(store, "statements", statements)
    with pytest.raises(StoreBusy):
        store.count_all(Tally.MEMORIES, clock.now(), seconds=0.05)
    # Long enough for the others on a cluster that is busy.
    monkeypatch.setattr("memorist.views.census._LONGEST_S", 1)
    monkeypatch.setattr(core.census, "_embeds", lambda: True)
    found = core.census.values()
    assert "memories" not in found
    assert (found["tenants"], found["jobs"]) == ({"": MANY}, dict.fromkeys(JobStatus, 0))
