"""What survives a crash, an erasure and a database that does not answer."""

from dataclasses import replace
from datetime import timedelta

import pytest

from memorist.bootstrap import open_core
from memorist.core import Core
from memorist.errors import Forbidden, StoreUnavailable
from memorist.memories.values import Draft
from memorist.platform.values import Principal, Role
from memorist.settings import Settings
from memorist.testing import StepClock
from tests.audit.conftest import acts_of, rows_as_text
from tests.support.stores import unwritable


@pytest.fixture
def background() -> bool:
    return False


def remember(core: Core, who: Principal, text: str = "Tea is green.") -> str:
    with core.audit.acting("library", "remember", who):
        return core.memories.remember(who, [Draft(content=text)])[0].memory.id


def test_a_crash_loses_reads_and_no_write(core: Core, settings: Settings, tenant: str, clock: StepClock) -> None:
    """The first core never flushes: as if it had been killed when the write was acknowledged."""
    ada = Principal(tenant, Role.USER, "ada")
    remember(core, ada)
    with core.audit.acting("library", "list", ada):
        core.memories.list(ada)
    other = open_core(settings, clock=clock, background=False)
    try:
        remember(other, ada, "Coffee is black.")
        assert [act.route for act in acts_of(other, tenant)] == ["remember", "remember"]
        assert other.audit.verify(Principal(tenant, Role.ADMIN)).is_whole
    finally:
        other.close()


def test_reads_that_are_lost_when_a_process_ends_are_told_as_that(
    core: Core, tenant: str, caplog: pytest.LogCaptureFixture
) -> None:
    ada = Principal(tenant, Role.USER, "ada")
    remember(core, ada)
    with unwritable(core.store, tenant):
        core.audit.close()
        assert "is written later" in caplog.text
        caplog.clear()
        with core.audit.acting("library", "list", ada):
            core.memories.list(ada)
        core.audit.close()
        assert "not in the audit log" in caplog.text
        assert "later" not in caplog.text


def test_whoever_looks_finds_what_a_killed_process_left(
    core: Core, settings: Settings, tenant: str, clock: StepClock
) -> None:
    """The first core never flushes, and nobody acts after it."""
    remember(core, Principal(tenant, Role.USER, "ada"))
    admin = Principal(tenant, Role.ADMIN)
    other = open_core(settings, clock=clock, background=False)
    try:
        check = other.audit.verify(admin)
        assert (check.is_whole, check.entries, check.waiting) == (True, 1, 0)
        remember(core, Principal(tenant, Role.USER, "ada"), "Coffee is black.")
        assert [entry.act.route for entry in other.audit.list(admin).items] == ["remember", "remember"]
    finally:
        other.close()


def test_a_write_that_was_undone_left_nothing(core: Core, tenant: str) -> None:
    ada = Principal(tenant, Role.USER, "ada")

    def fail(_: object) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), core.audit.acting("library", "remember", ada):
        core.store.write(tenant, fail)
    assert [(act.kind, act.outcome) for act in acts_of(core, tenant)] == [("failed", "internal")]


def test_background_work_is_noted_where_it_writes(core: Core, tenant: str, clock: StepClock) -> None:
    ada = Principal(tenant, Role.USER, "ada")
    core.sweeper.sweep(tenant)
    assert acts_of(core, tenant) == []
    core.memories.remember(ada, [Draft("Gone soon.", ttl=timedelta(days=1))])
    core.store.write(tenant, lambda tx: core.jobs.add(tx, ada, "judge", {"memory_id": "none"}))
    core.jobs.run_due(tenant)
    clock.advance(timedelta(days=2))
    core.sweeper.sweep(tenant)
    noted = acts_of(core, tenant)
    assert [(act.door, act.route) for act in noted] == [("background", "job judge"), ("background", "sweep")]
    assert noted[0].user != noted[1].user == ""


def test_entries_are_counted_by_day(core: Core, tenant: str, clock: StepClock) -> None:
    ada, admin = Principal(tenant, Role.USER, "ada"), Principal(tenant, Role.ADMIN)
    assert [one.entries for one in core.audit.count_days(admin, 3)] == [0, 0, 0]
    for number in range(7):
        remember(core, ada, f"Tea number {number}.")
        clock.advance(timedelta(hours=12))
    for _ in range(2):  # The second time by what is known of days that are over.
        found = core.audit.count_days(admin, 5)
        noted = [act.at.date() for act in acts_of(core, tenant)]
        assert [one.entries for one in found] == [noted.count(one.day.date()) for one in found]
        assert sum(one.entries for one in found) == 7
    with pytest.raises(Forbidden):
        core.audit.count_days(ada, 5)


def test_an_erased_person_is_in_no_byte_of_it(core: Core, tenant: str) -> None:
    name = "Wilhelmina-Quartz-Zebrafinch"
    who = Principal(tenant, Role.USER, name)
    remember(core, who, f"I am {name}.")
    with core.audit.acting("http", "erasure", Principal(tenant, Role.ADMIN)):
        receipt = core.erasure.purge_user(Principal(tenant, Role.ADMIN), name)
    assert receipt.verification is not None
    assert receipt.verification.ok
    assert any("audit log" in line for line in receipt.remains)
    assert name not in rows_as_text(core, tenant)
    assert core.store.search_files([name.encode()]) in (None, frozenset())
    kept = [act for act in acts_of(core, tenant) if act.user]
    assert [act.route for act in kept] == ["remember"]
    assert core.audit.verify(Principal(tenant, Role.ADMIN)).is_whole


def test_more_reads_than_memory_holds_are_counted(core: Core, tenant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memorist.audit.service._MOST_PENDING", 3)
    who = Principal(tenant, Role.USER, "ada")
    for _ in range(5):
        with core.audit.acting("library", "list", who):
            pass
    assert [(act.kind, act.times) for act in acts_of(core, tenant)] == [("read", 1)] * 3 + [("lost", 2)]


def test_a_tenant_that_cannot_be_written_keeps_no_other_from_its_chain(core: Core, tenant: str) -> None:
    names = [f"{tenant}-{place}" for place in "abc"]

    def look() -> None:
        for name in names:
            with core.audit.acting("library", "look", Principal(name, Role.USER, "ada")):
                pass

    def chained() -> list[int]:
        return [core.store.read(name, lambda tx: len(tx.audit.follow(0, 10))) for name in names]

    look()
    with unwritable(core.store, names[1]):
        with pytest.raises(StoreUnavailable):
            core.audit.flush()
        look()
        with pytest.raises(StoreUnavailable):
            core.audit.flush()
        assert chained() == [2, 0, 2]
    core.audit.flush()
    assert chained() == [2, 2, 2]


def test_each_tenant_has_a_chain_of_its_own(core: Core, tenant: str) -> None:
    ada = Principal(tenant, Role.USER, "ada")
    remember(core, ada)
    remember(core, replace(ada, tenant=f"{tenant}-other"))
    assert len(acts_of(core, tenant)) == len(acts_of(core, f"{tenant}-other")) == 1
