"""The chain of the audit log: whatever is done to it afterwards is found, on both databases."""

import hashlib
import json
import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from memorist import Memorist
from memorist.audit import chain
from memorist.audit.values import NO_TENANT, AuditEntry, NotedAct
from memorist.bootstrap import open_core
from memorist.core import Core
from memorist.errors import Forbidden, InvalidField, StoreFull
from memorist.memories.values import Draft
from memorist.platform.values import Principal, Role
from memorist.settings import Settings
from memorist.store.sql_store import SqlStore
from memorist.store.sqlite import SqliteDriver
from memorist.store.statements import SqlStatement, to_psycopg
from memorist.testing import StepClock
from memorist.testing.clocks import START
from memorist.times import to_micros


@pytest.fixture
def background() -> bool:
    return False


@pytest.fixture
def admin(tenant: str) -> Principal:
    return Principal(tenant, Role.ADMIN)


def act(core: Core, tenant: str, *routes: str) -> None:
    """Reads by a user, each in an entry of its own."""
    for route in routes:
        with core.audit.acting("library", route, Principal(tenant, Role.USER, "ada")):
            pass
        core.audit.flush()


def tamper(core: Core, tenant: str, sql: str, **values: Any) -> None:
    """What somebody does to the tables who can write to the database."""
    assert isinstance(core.store, SqlStore)
    driver = core.store.driver
    text = to_psycopg(sql) if driver.dialect == "postgres" else sql
    statement = SqlStatement("tampering", "", text)
    driver.write(tenant, lambda connection: connection.run(statement, {"tenant": tenant, **values}))


def entries(core: Core, admin: Principal) -> list[AuditEntry]:
    return list(core.audit.entries(admin))


def test_an_untouched_chain_is_whole(core: Core, tenant: str, admin: Principal) -> None:
    act(core, tenant, "one", "two", "three")
    check = core.audit.verify(admin)
    assert (check.is_whole, check.entries, check.first, check.number, check.waiting) == (True, 3, 1, 3, 0)
    assert [one.act.route for one in entries(core, admin)] == ["one", "two", "three"]


def changed(core: Core, tenant: str) -> None:
    tamper(core, tenant, "UPDATE audit_log SET outcome = 'ok2' WHERE tenant_id = :tenant AND number = 3")


def removed(core: Core, tenant: str) -> None:
    tamper(core, tenant, "DELETE FROM audit_log WHERE tenant_id = :tenant AND number = 3")


def removed_at_the_end(core: Core, tenant: str) -> None:
    tamper(core, tenant, "DELETE FROM audit_log WHERE tenant_id = :tenant AND number = 5")


def removed_at_the_start(core: Core, tenant: str) -> None:
    tamper(core, tenant, "DELETE FROM audit_log WHERE tenant_id = :tenant AND number = 1")


def removed_with_the_start_moved(core: Core, tenant: str) -> None:
    anchor = "SELECT hash FROM audit_log WHERE tenant_id = :tenant AND number = 1"
    tamper(core, tenant, f"UPDATE audit_heads SET first = 2, anchor = ({anchor}) WHERE tenant_id = :tenant")
    removed_at_the_start(core, tenant)


def inserted(core: Core, tenant: str, number: int = 6) -> None:
    """A copy of the entry before, or of the last one."""
    rest = "at, kind, door, route, outcome, key_id, role, user_hash, agent_hash, on_behalf, ids, times, hash"
    copied = f"SELECT tenant_id, {number}, {rest} FROM audit_log WHERE tenant_id = :tenant AND number = {number - 1}"
    tamper(core, tenant, f"INSERT INTO audit_log {copied}")


def inserted_between(core: Core, tenant: str) -> None:
    shift = "UPDATE audit_log SET number = number + 100 WHERE tenant_id = :tenant AND number > 2"
    back = "UPDATE audit_log SET number = number - 99 WHERE tenant_id = :tenant AND number > 100"
    tamper(core, tenant, shift)
    tamper(core, tenant, back)
    inserted(core, tenant, 3)


def reordered(core: Core, tenant: str) -> None:
    for before, after in ((2, 99), (3, 2), (99, 3)):
        moved = "UPDATE audit_log SET number = :after WHERE tenant_id = :tenant AND number = :before"
        tamper(core, tenant, moved, before=before, after=after)


@pytest.mark.parametrize(
    ("meddle", "told"),
    [
        (changed, "entry 3 was changed"),
        (removed, "entry 3 is missing"),
        (removed_at_the_end, "entry 5 is missing at the end"),
        (removed_at_the_start, "entry 1 is missing"),
        (removed_with_the_start_moved, "no entry tells that they were removed"),
        (inserted, "entry 6 was added"),
        (inserted_between, "entry 3 was changed"),
        (reordered, "entry 2 was changed"),
    ],
)
def test_meddling_is_found(
    core: Core, tenant: str, admin: Principal, meddle: Callable[[Core, str], None], told: str
) -> None:
    act(core, tenant, *"abcde")
    assert core.audit.verify(admin).is_whole
    meddle(core, tenant)
    findings = core.audit.verify(admin).findings
    assert any(told in finding for finding in findings), findings


def test_a_chain_that_was_made_anew_is_not_the_one_that_was_noted(core: Core, tenant: str, admin: Principal) -> None:
    act(core, tenant, *"abc")
    noted = core.audit.verify(admin)
    expected = (noted.number, noted.hash)
    tamper(core, tenant, "DELETE FROM audit_log WHERE tenant_id = :tenant")
    tamper(core, tenant, "UPDATE audit_heads SET number = 0, hash = '' WHERE tenant_id = :tenant")
    act(core, tenant, *"xyz")
    assert core.audit.verify(admin).is_whole
    assert core.audit.verify(admin, expected).findings == ("entry 3 is not the one that was noted",)
    assert core.audit.verify(admin, (9, noted.hash)).findings == ("entry 9, which was noted, is not there",)


def test_processes_share_one_chain(core: Core, settings: Settings, clock: StepClock, tenant: str) -> None:
    others = [open_core(settings, clock=clock, background=False) for _ in range(3)]
    admin = Principal(tenant, Role.ADMIN)
    try:
        for number in range(8):
            who = [core, *others][number % 4]
            ada = Principal(tenant, Role.USER, "ada")
            with who.audit.acting("library", "remember", ada):
                who.memories.remember(ada, [Draft(content=f"note {number}")])
            with who.audit.acting("library", "read", ada):
                pass
        for who in (*others, core):
            who.audit.flush()
    finally:
        for who in others:
            who.close()
    check = core.audit.verify(admin)
    assert (check.is_whole, check.entries, check.waiting) == (True, 16, 0)


def test_processes_that_write_at_once_do_not_fork_it(
    core: Core, settings: Settings, clock: StepClock, tenant: str
) -> None:
    cores = [core, *(open_core(settings, clock=clock, background=False) for _ in range(2))]
    ada = Principal(tenant, Role.USER, "ada")
    together = threading.Barrier(len(cores) * 2)

    def write(who: Core, name: str) -> None:
        together.wait()
        for number in range(6):
            with who.audit.acting("library", "remember", ada):
                who.memories.remember(ada, [Draft(content=f"note {name} {number}")])
            with who.audit.acting("library", "list", ada):
                pass
            who.audit.flush()

    threads = [
        threading.Thread(target=write, args=(who, f"{index} {part}"))
        for index, who in enumerate(cores)
        for part in "ab"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for who in cores[1:]:
        who.close()
    check = core.audit.verify(Principal(tenant, Role.ADMIN))
    assert (check.findings, check.entries, check.waiting) == ((), 72, 0)


def test_what_could_not_be_written_is_written_later(
    core: Core, tenant: str, admin: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memorist.audit.service._BATCH", 2)
    write, calls = core.store.write, []

    def failing(whose: str, work: Any, **options: Any) -> Any:
        calls.append(whose)
        if len(calls) == 2:
            raise StoreFull
        return write(whose, work, **options)

    for route in "abcde":
        with core.audit.acting("library", route, Principal(tenant, Role.USER, "ada")):
            pass
    monkeypatch.setattr(core.store, "write", failing)
    with pytest.raises(StoreFull):
        core.audit.flush()
    core.audit.flush()
    assert [one.act.route for one in entries(core, admin)] == list("abcde")
    assert core.audit.verify(admin).is_whole


def test_old_entries_go_and_the_chain_still_holds(core: Core, tenant: str, admin: Principal, clock: StepClock) -> None:
    act(core, tenant, *"abc")
    clock.advance(timedelta(days=400))
    act(core, tenant, "d")
    assert [(one.act.kind, one.act.route) for one in entries(core, admin)] == [("read", "d"), ("trimmed", "audit")]
    check = core.audit.verify(admin)
    assert (check.is_whole, check.first, check.number) == (True, 4, 5)
    clock.advance(timedelta(days=400))
    act(core, tenant, "e")
    assert core.audit.verify(admin).is_whole
    assert core.audit.verify(admin, (2, "gone")).is_whole


def test_only_admins_look(core: Core, tenant: str) -> None:
    for role in (Role.USER, Role.SERVICE, Role.READER):
        who = Principal(tenant, role, "ada")
        for look in (core.audit.list, core.audit.verify, core.audit.entries):
            with pytest.raises(Forbidden):
                look(who)


def test_pages_and_filters(core: Core, tenant: str, admin: Principal) -> None:
    act(core, tenant, *"abcab")
    first = core.audit.list(admin, limit=2)
    rest = core.audit.list(admin, limit=9, cursor=first.next_cursor)
    assert [one.number for one in (*first.items, *rest.items)] == [5, 4, 3, 2, 1]
    assert rest.next_cursor is None
    asked = partial(core.audit.list, admin)
    assert [one.number for one in asked(route="a").items] == [4, 1]
    assert len(asked(user="ada", kind="read", outcome="ok").items) == 5
    assert asked(user="bob").items == asked(outcome="forbidden").items == asked(key="key_x").items == ()


@pytest.mark.parametrize("field", ["kind", "outcome", "route", "key"])
def test_filter_that_is_no_text_is_refused(core: Core, admin: Principal, field: str) -> None:
    for odd in ("a\0b", "\ud800"):
        with pytest.raises(InvalidField) as caught:
            core.audit.list(admin, **{field: odd})
        assert caught.value.field == field


def test_the_log_of_no_tenant_has_a_chain_of_its_own(core: Core, tenant: str) -> None:
    operator = Principal(NO_TENANT, Role.ADMIN)
    before = core.audit.verify(operator).entries
    for _ in range(7):
        with pytest.raises(Forbidden), core.audit.acting("http", f"GET /{tenant}"):
            raise Forbidden
    core.audit.flush()
    check = core.audit.verify(operator)
    assert check.is_whole
    assert check.entries == before + 1
    newest = core.audit.list(operator, route=f"GET /{tenant}").items
    assert [(one.act.kind, one.act.outcome, one.act.times) for one in newest] == [("denied", "forbidden", 7)]


@pytest.mark.parametrize("odd", ["ok", 'with "quotes" and \\', "é\u2028\n"])
def test_a_hash_is_that_of_a_list_in_json(odd: str) -> None:
    noted = NotedAct(START, "read", "http", odd, "ok", "key_1", "user", "a1", "b2", True, odd, 3)
    covered = [odd, odd, 7, to_micros(START), *noted[1:]]
    expected = hashlib.sha256(json.dumps(covered, separators=(",", ":")).encode()).hexdigest()
    assert chain.hash_of(odd, odd, 7, noted) == expected


def test_one_write_is_seven_statements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORIST_EMBEDDER", "off")
    with Memorist.open(tmp_path) as library:
        ada = library.user("ada")
        ada.remember("It begins.")
        store = library._core.store
        assert isinstance(store, SqlStore)
        assert isinstance(store.driver, SqliteDriver)
        seen: list[str] = []
        with store.driver._writing:  # Between what the background writes.
            own = threading.get_ident()
            store.driver._writer.trace_v2(
                1,
                lambda event: seen.append(event["sql"].split("(")[0].strip()) if own == threading.get_ident() else None,
            )
        ada.remember("It goes on.")
        assert sorted(seen) == [
            "BEGIN IMMEDIATE",
            "COMMIT",
            "INSERT INTO audit_waiting",
            "INSERT INTO index_changes",
            "INSERT INTO memories",
            "INSERT INTO memory_events",
            "INSERT INTO memory_index",
        ]
