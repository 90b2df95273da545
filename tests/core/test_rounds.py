"""Whom background workers look at: what they are told of at once, and whoever has work, at no cost for the others."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest

from memorist.bootstrap import open_store
from memorist.core import Core
from memorist.errors import StoreUnavailable
from memorist.ids import new_id
from memorist.memories import writing
from memorist.options import Options
from memorist.platform.rounds import FindDue, Rounds
from memorist.platform.values import DueWork, Job, Principal, Role, Tenant
from memorist.ports import Writer
from memorist.store.drivers import Connection
from memorist.store.sql_store import _WHOSE_WORK, SqlStore
from memorist.store.statements import SqlStatement
from memorist.testing import make_memory
from memorist.testing.clocks import START, FrozenClock
from tests.support.stores import bare


@pytest.fixture
def new_store(own_database_url: str) -> Iterator[SqlStore]:
    """A database that no other test has tenants in."""
    store = open_store(bare(own_database_url))
    store.migrator.migrate(START)
    yield store
    store.close()


@pytest.fixture
def tenants(new_store: SqlStore) -> list[str]:
    names = [f"tenant-{number:02}" for number in range(25)]
    for name in names:
        assert new_store.create_tenant(Tenant(name, START))
    return names


def jobs_of(store: SqlStore) -> FindDue:
    return lambda after, limit: store.due_tenants(DueWork.JOBS, START, after=after, limit=limit)


def promise(store: SqlStore, tenant: str, run_at: datetime = START) -> None:
    job = Job("", "judging", Principal(tenant, Role.ADMIN), {}, run_at, START, START)
    store.write(tenant, lambda tx: tx.jobs.insert(replace(job, id=new_id("job"))))


def test_nobody_is_looked_at_who_was_not_told_of(new_store: SqlStore, tenants: list[str]) -> None:
    rounds = Rounds(jobs_of(new_store))
    assert rounds.take() == []
    rounds.tell(tenants[3])
    assert rounds.take() == [tenants[3]]
    # What is known may become due by itself.
    assert rounds.take() == [tenants[3]]


def test_who_leaves_the_rest_to_another_looks_once_and_keeps_nobody(new_store: SqlStore, tenants: list[str]) -> None:
    rounds = Rounds(jobs_of(new_store), share=0)
    rounds.tell(tenants[1])
    rounds.leave_to_another()
    promise(new_store, tenants[2])
    rounds.tell(tenants[3])
    assert [rounds.take(), rounds.take(), rounds._known] == [[tenants[1], tenants[3]], [], set()]


def test_those_that_have_work_are_looked_at_a_few_at_a_time(new_store: SqlStore, tenants: list[str]) -> None:
    rounds = Rounds(jobs_of(new_store), at_a_time=10, share=0)
    rounds.tell_of_everybody()
    assert rounds.take() == []
    for tenant in tenants:
        promise(new_store, tenant)
    promise(new_store, "tenant-00")
    assert [rounds.take() for _ in range(4)] == [tenants[:10], tenants[10:20], tenants[20:], tenants[:10]]


def test_what_is_told_of_goes_before_its_turn(new_store: SqlStore, tenants: list[str]) -> None:
    rounds = Rounds(jobs_of(new_store), at_a_time=10, share=0)
    rounds.tell_of_everybody()
    promise(new_store, tenants[2])
    promise(new_store, tenants[4], START + timedelta(seconds=1))
    rounds.tell(tenants[24])
    assert rounds.take() == [tenants[2], tenants[24]]
    assert rounds.take() == [tenants[2]]


def test_a_store_that_takes_long_is_asked_less_often(new_store: SqlStore, tenants: list[str]) -> None:
    rounds = Rounds(jobs_of(new_store), share=10**9)
    rounds.tell_of_everybody()
    promise(new_store, tenants[2])
    assert rounds.take() == [tenants[2]]
    rounds.tell(tenants[5])
    assert [rounds.take(), rounds.take()] == [[tenants[5]], []]


def test_what_was_told_of_survives_a_database_that_does_not_answer(
    new_store: SqlStore, tenants: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = Rounds(jobs_of(new_store), share=0)
    rounds.tell_of_everybody()
    rounds.tell(tenants[0])

    def refuse(*_: object, **__: object) -> list[str]:
        raise StoreUnavailable

    with monkeypatch.context() as patch:
        patch.setattr(new_store, "due_tenants", refuse)
        with pytest.raises(StoreUnavailable):
            rounds.take()
    assert rounds.take() == [tenants[0]]


# What it costs


MANY = 5000
STATEMENTS = tuple(_WHOSE_WORK.values())


@pytest.fixture
def crowded(new_store: SqlStore) -> SqlStore:
    """Thousands of tenants with memories, all of whose work is done; one of them has work of each kind."""

    def fill(connection: Connection) -> None:
        insert = new_store.statements["insert_tenant"]
        rows = [{"id": f"tenant-{number:05}", "created_at": 0} for number in range(MANY)]
        connection.run_many(insert, rows)
        set_model = new_store.statements["set_index_model"]
        connection.run_many(set_model, [{"tenant": row["id"], "model": "model-1"} for row in rows])

    new_store.driver.write(None, fill)
    for number in (17, 4000):
        tenant = f"tenant-{number:05}"
        promise(new_store, tenant)
        new_store.write(tenant, partial(_insert_one, tenant))
    new_store.driver.write(None, lambda connection: connection.script("ANALYZE"))
    return new_store


def test_rounds_read_what_waits_and_not_the_tenants(crowded: SqlStore) -> None:
    due = ["tenant-00017", "tenant-04000"]
    assert crowded.due_tenants(DueWork.JOBS, START) == due
    assert crowded.due_tenants(DueWork.VECTORS, START) == due
    assert crowded.due_tenants(DueWork.JOBS, START, after=due[0]) == due[1:]
    assert crowded.due_tenants(DueWork.LOST_TURNS, START) == crowded.due_tenants(DueWork.ERASURES, START) == []
    assert crowded.tenants_of_other_models("model-1") == []
    for some in (crowded.tenants_of_other_models("model-2", limit=7), crowded.tenants_of_model("model-1", limit=7)):
        assert len(some) == 7
    assert crowded.tenants_of_other_models("model-2", ["model-1"]) == crowded.tenants_of_model("model-2") == []
    models = {"tenants_of_model": "model-2"}  # Where all are meant, any will do.
    for name in (*STATEMENTS, "tenants_of_other_models", *models):
        plan = _plan(crowded, name, models.get(name, "model-1"))
        assert not re.search(r"SCAN (TABLE )?(?!found)\w+$|Seq Scan on tenants", plan, re.MULTILINE), (name, plan)


def test_a_round_is_one_statement_however_many_tenants_there_are(
    crowded: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crowded, "list_tenants", lambda: pytest.fail("every tenant was read"))
    core = Core(crowded, FrozenClock(START), Options(), background=False)
    asked: list[str | None] = []
    read = crowded.driver.read

    def counted(tenant: str | None, *given: Any, **named: Any) -> Any:
        asked.append(tenant)
        return read(tenant, *given, **named)

    monkeypatch.setattr(crowded.driver, "read", counted)
    assert core.erasure.resume() == []
    assert asked == ["*"]
    assert core.identity.create_tenant("tenant-00042")[1] is False


def _insert_one(tenant: str, tx: Writer) -> None:
    writing.insert(tx, make_memory(tenant))


def _plan(store: SqlStore, name: str, model: str) -> str:
    statement = store.statements[name]
    values = {"now": 1, "after": "", "limit": 100, "model": model, "ids": store.driver.encode_list(["model-0"])}
    given = {one: values[one] for one in statement.parameters}
    is_sqlite = "SQLite" in str(store.describe()["engine"])
    explain = SqlStatement(
        "explain", "", f"EXPLAIN {'QUERY PLAN' if is_sqlite else ''} {statement.sql}", statement.parameters
    )
    rows = store.driver.read("*", lambda connection: connection.rows(explain, given))
    return "\n".join(str(row[-1]) for row in rows)
