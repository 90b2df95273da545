"""The overview counts what a caller sees, tells what waits, and counts anew when somebody wrote."""

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorist.bootstrap import open_store
from memorist.core import Core
from memorist.errors import Forbidden, InvalidField, NotFound
from memorist.memories import writing
from memorist.memories.policy import Mode
from memorist.memories.values import Draft, Kind, Memory, Status
from memorist.platform.values import JobStatus, Owner, OwnerFilter, Principal, Role
from memorist.store.statements import SqlStatement
from memorist.testing import StepClock, make_doubt, new_tenant
from memorist.testing.clocks import START
from memorist.views import overview as views_overview
from memorist.views.overview import Overview
from tests.support.stores import bare

EVERYBODY = OwnerFilter(any_user=True, any_agent=True)


class Watch:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_counts_are_what_the_caller_sees(
    core: Core, ada: Principal, bob: Principal, admin: Principal, remember: Callable[..., Memory]
) -> None:
    remember(ada, "one fact")
    remember(ada, "a message", kind=Kind.CHAT_MESSAGE)
    remember(bob, "his own")
    remember(admin, "everybody's", owner=Owner())
    forgotten = remember(ada, "forgotten")
    core.memories.forget(ada, forgotten.id)
    totals = core.overview.totals(ada)
    assert totals.memories == 4
    assert totals.of_status(Status.ACTIVE) == 3
    assert totals.of_status(Status.SOFT_DELETED) == 1
    assert (totals.active_of(Kind.FACT), totals.active_of(Kind.CHAT_MESSAGE)) == (2, 1)
    assert core.overview.totals(bob).memories == 2
    assert core.overview.totals(admin).memories == 5
    assert core.overview.totals(replace(admin, tenant=new_tenant())).memories == 0


def test_agents_of_a_user_are_told_apart(core: Core, ada: Principal, admin: Principal) -> None:
    coder, writer = replace(ada, agent="coder"), replace(ada, agent="writer")
    core.memories.remember(coder, [Draft("for the coder")])
    core.memories.remember(writer, [Draft("for the writer"), Draft("another")])
    assert [core.overview.totals(one).memories for one in (coder, writer, ada)] == [1, 2, 3]
    assert core.overview.totals(replace(admin, agent="writer")).memories == 2
    assert sum(one.memories for one in core.overview.growth(replace(admin, agent="writer"))) == 2


def test_expired_memories_do_not_count(core: Core, ada: Principal, clock: StepClock) -> None:
    core.memories.remember(ada, [Draft("for a minute", ttl=timedelta(minutes=1)), Draft("for good")])
    assert core.overview.totals(ada).memories == 2
    clock.advance(timedelta(minutes=2))
    assert core.overview.totals(ada, fresh=True).memories == 1


@settings(max_examples=8)
@given(ages=st.lists(st.integers(0, 400), min_size=1, max_size=12))
def test_growth_counts_each_day(core: Core, clock: StepClock, ages: list[int]) -> None:
    principal = Principal(new_tenant(), Role.USER, "ada")
    core.identity.create_tenant(principal.tenant)
    for age in sorted(ages, reverse=True):
        draft = Draft(f"{age} days ago, {clock.now().isoformat()}")
        memory = core.memories.remember(principal, [draft])[0].memory
        _set_created(core, memory, clock.now() - timedelta(days=age))
    today = clock.now().date()
    expected = Counter(today - timedelta(days=age) for age in ages)
    assert {one.day: one.memories for one in core.overview.growth(principal)} == expected


def _set_created(core: Core, memory: Memory, at: object) -> None:
    """Put a memory where it would be had it been written then."""

    def work(tx: object) -> None:
        tx.erasure.erase_rows([memory.id])  # type: ignore[attr-defined]
        assert writing.insert(tx, replace(memory, created_at=at))  # type: ignore[attr-defined]

    core.store.write(memory.tenant, work)


def test_counts_are_kept_until_somebody_writes(core: Core, ada: Principal, remember: Callable[..., Memory]) -> None:
    watch = Watch()
    overview = Overview(core.store, core.clock, core.policies, lambda: False, monotonic=watch)
    remember(ada, "first")
    first = overview.totals(ada)
    assert overview.totals(ada) is first
    remember(ada, "second")
    assert overview.totals(ada).memories == 2
    watch.now += 11
    again = overview.totals(ada)
    assert again is not first
    assert overview.totals(ada) is again


def test_own_writes_are_seen_however_long_counting_takes(
    core: Core, ada: Principal, remember: Callable[..., Memory]
) -> None:
    watch = Watch()
    overview = Overview(core.store, core.clock, core.policies, lambda: False, monotonic=watch)
    counting = overview._count

    def slowly(*arguments: object) -> object:
        watch.now += 0.4
        return counting(*arguments)  # type: ignore[arg-type]

    overview._count = slowly  # type: ignore[method-assign, assignment]
    assert overview.totals(ada).memories == 0
    for number in range(1, 5):
        remember(ada, f"fact {number}")
        assert overview.totals(ada).memories == number
    kept = overview.totals(ada)
    assert overview.totals(ada) is kept


def test_growth_that_takes_long_is_given_while_it_is_counted_anew(
    core: Core, ada: Principal, remember: Callable[..., Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    watch, counting, counted = Watch(), views_overview._count_days, threading.Event()

    def slowly(*arguments: Any) -> Any:
        watch.now += 0.4
        if threading.current_thread() is not threading.main_thread():
            counted.set()
        return counting(*arguments)

    monkeypatch.setattr(views_overview, "_count_days", slowly)
    overview = Overview(core.store, core.clock, core.policies, lambda: False, monotonic=watch)
    remember(ada, "first")
    first = overview.growth(ada)
    remember(ada, "second")
    assert overview.growth(ada) is first
    watch.now += 41
    assert overview.growth(ada) is first
    assert counted.wait(60)
    overview.close()
    assert [one.memories for one in overview.growth(ada)] == [2]
    remember(ada, "third")
    assert [one.memories for one in overview.growth(ada, fresh=True)] == [3]
    watch.now += 1000
    remember(ada, "fourth")
    assert [one.memories for one in overview.growth(ada)] == [4]


def test_what_is_written_while_it_counts_is_counted_the_next_time(
    core: Core, ada: Principal, remember: Callable[..., Memory]
) -> None:
    overview = Overview(core.store, core.clock, core.policies, lambda: False)
    counting = overview._count

    def meanwhile(*arguments: object) -> object:
        totals = counting(*arguments)  # type: ignore[arg-type]
        overview._count = counting  # type: ignore[method-assign]
        remember(ada, "written while somebody counted")
        return totals

    overview._count = meanwhile  # type: ignore[method-assign, assignment]
    assert overview.totals(ada).memories == 0
    assert overview.totals(ada).memories == 1


def test_what_waits(core: Core, ada: Principal, admin: Principal, bob: Principal) -> None:
    core.facts.remember(ada, "The user likes hiking and lives in Rome.")
    core.facts.remember(ada, "The user lives in Oslo.")
    core.store.write(ada.tenant, lambda tx: core.jobs.add(tx, ada, "nothing-does-this", {}))
    assert core.overview.waiting(ada).jobs[JobStatus.WAITING] == 1
    core.jobs.run_due(ada.tenant)
    waiting = core.overview.waiting(ada)
    assert waiting.doubts == 1
    assert waiting.jobs[JobStatus.DEAD] == 1
    assert (waiting.vectors, waiting.mode) == (0, None)
    others = core.overview.waiting(bob)
    assert (others.doubts, others.jobs[JobStatus.DEAD]) == (0, 0)
    whole = core.overview.waiting(admin)
    assert (whole.doubts, whole.jobs[JobStatus.DEAD], whole.mode) == (1, 1, Mode.OBSERVE)


def test_doubts_count_where_both_facts_are_seen(core: Core, ada: Principal, admin: Principal) -> None:
    shared, hidden = (
        core.memories.remember(admin, [Draft(text, owner=owner)])[0].memory
        for text, owner in (("We close at six.", Owner()), ("We close at five.", Owner(None, "secret")))
    )
    doubt = make_doubt(hidden, shared)
    core.store.write(ada.tenant, lambda tx: tx.facts.insert_doubt(doubt))
    assert core.overview.waiting(ada).doubts == len(core.facts.in_doubt(ada).items) == 0
    assert core.overview.waiting(admin).doubts == len(core.facts.in_doubt(admin).items) == 1


def test_memories_wait_for_vectors_where_there_is_a_model(core: Core, ada: Principal, bob: Principal) -> None:
    core.memories.remember(ada, [Draft("one"), Draft("two")])
    core.memories.remember(bob, [Draft("three")])
    overview = Overview(core.store, core.clock, core.policies, lambda: True)
    assert overview.waiting(ada).vectors == 2
    assert overview.waiting(replace(ada, role=Role.ADMIN, user=None)).vectors == 3


def test_sweepers_report_is_told_to_admins_alone(
    core: Core, ada: Principal, admin: Principal, clock: StepClock
) -> None:
    core.ingestion.add_tool_output(ada, "s", tool_call_id="c", tool_name="t", content="old news")
    core.policies.change(admin, {"mode": "observe"})
    clock.advance(timedelta(days=100))
    core.sweeper.sweep(ada.tenant)
    assert core.overview.waiting(admin).due == {"archived": 1}
    assert core.overview.waiting(admin).reported_at is not None
    assert core.overview.waiting(ada).report is None


def test_who_acts_for_nobody_has_nothing_waiting(core: Core, tenant: str) -> None:
    waiting = core.overview.waiting(Principal(tenant, Role.SERVICE))
    assert waiting.jobs == {JobStatus.WAITING: 0, JobStatus.DONE: 0, JobStatus.DEAD: 0}


def test_owners_come_in_pages(core: Core, admin: Principal, ada: Principal) -> None:
    names = [f"user{number:03}" for number in range(30)]
    for name in names:
        core.memories.remember(replace(ada, user=name), [Draft("a text")])
    core.memories.remember(replace(ada, user="user000", agent="coder"), [Draft("one"), Draft("two")])
    core.memories.remember(admin, [Draft("everybody's", owner=Owner())])
    first = core.overview.owners(admin)
    assert first.next is not None
    second = core.overview.owners(admin, first.next)
    found = [(one.owner.user, one.owner.agent, one.count) for one in (*first.items, *second.items)]
    assert found[:2] == [("user000", None, 1), ("user000", "coder", 2)]
    assert [user for user, agent, _ in found if agent is None] == names
    assert second.next is None
    assert first.items[0].newest_at is not None
    with pytest.raises(Forbidden):
        core.overview.owners(ada)


def test_sessions_are_told_to_admins_until_they_end(core: Core, admin: Principal, clock: StepClock) -> None:
    _, secret = core.identity.create_key(admin, Role.USER, user="ada", label="laptop")
    token = core.sign_ins.sign_in(secret)
    core.sign_ins.sign_in(secret)
    assert [one.key.label for one in core.overview.sessions(admin)] == ["laptop", "laptop"]
    core.sign_ins.end(token)
    assert len(core.overview.sessions(admin)) == 1
    assert core.overview.sessions(replace(admin, tenant=new_tenant())) == []
    clock.advance(timedelta(days=30))
    assert core.overview.sessions(admin) == []
    with pytest.raises(Forbidden):
        core.overview.sessions(Principal(admin.tenant, Role.USER, "ada"))


def test_long_queues_are_counted_up_to_a_bound(core: Core, admin: Principal) -> None:
    core.memories.remember(replace(admin, user="ada"), [Draft(f"text {number}") for number in range(5)])
    counted = core.store.read(admin.tenant, lambda tx: tx.overview.count_waiting(EVERYBODY, 3))
    assert counted == 3


@pytest.mark.parametrize("name", ["count_kinds_of_tenant", "count_kinds_of_user", "count_facts_of_user"])
def test_counting_reads_no_memory(sqlite_url: str, name: str) -> None:
    store = open_store(bare(sqlite_url))
    store.migrator.migrate(START)
    sql = f"EXPLAIN QUERY PLAN {store.statements[name].sql}"
    given = {"tenant": "t", "user_id": "ada", "agent_id": None, "now": 0, "since": 0, "days": 1}
    plan = store.driver.read(None, lambda connection: connection.rows(SqlStatement("plan", "", sql), given))
    steps = [str(row[3]) for row in plan if "memories" in str(row[3])]
    store.close()
    assert steps
    assert all("COVERING INDEX" in step for step in steps), steps


# The installation


def test_installation_tells_of_its_parts(core: Core, admin: Principal, ada: Principal) -> None:
    database = core.installation.database(admin)
    assert database["engine"] in ("SQLite", "PostgreSQL", "PostgreSQL with Citus")
    assert int(database["size_bytes"]) > 0
    assert set(core.installation.versions(admin)) == {"memorist", "python", "system"}
    models = {model.part: model for model in core.installation.models()}
    assert models["embedder"].id is None
    assert models["judge"].id is not None
    assert models["judge"].is_local
    for ask in (core.installation.database, core.installation.versions):
        with pytest.raises(Forbidden):
            ask(ada)


# Sample data


def test_sample_data_comes_once_and_goes_with_a_receipt(core: Core, ada: Principal, bob: Principal) -> None:
    mine = core.memories.remember(ada, [Draft("my own")])[0].memory
    assert core.sample_data.count(ada) == 0
    count = core.sample_data.add(ada)
    assert count > 45
    assert core.sample_data.add(ada) == count
    assert core.sample_data.count(bob) == 0
    assert core.overview.totals(ada).memories == count + 1
    assert core.facts.in_doubt(ada).items
    receipt = core.sample_data.remove(ada)
    assert receipt.counts["memories"] == count
    assert receipt.verification is not None
    assert receipt.verification.ok
    assert core.sample_data.count(ada) == 0
    assert core.ingestion.list_documents(ada).items == ()
    assert [one.id for one in core.memories.list(ada).items] == [mine.id]
    with pytest.raises(NotFound):
        core.sample_data.remove(ada)


def test_sample_data_shows_facts_beside_the_words_they_rest_on(core: Core, ada: Principal) -> None:
    core.sample_data.add(ada)
    read = core.conversations.read(ada, "ada", "sample:after-the-bank")
    said = {one.id: one.content for one in read.lines}
    learned = {said[id_]: [fact.content for fact in facts] for id_, facts in read.learned.items()}
    assert learned["Petrol blue, no question."] == ["The front door is painted petrol blue and has two coats."]
    assert len(learned) == 3


def test_sample_data_goes_also_after_somebody_deleted_parts_of_it(core: Core, ada: Principal) -> None:
    core.sample_data.add(ada)
    for memory in core.memories.list(ada, limit=100).items:
        core.memories.forget(ada, memory.id)
    core.sample_data.remove(ada)
    assert core.overview.totals(ada, fresh=True).memories == 0
    assert core.ingestion.list_documents(ada).items == ()


def test_sample_data_needs_a_user_who_may_write(core: Core, admin: Principal, ada: Principal) -> None:
    with pytest.raises(InvalidField):
        core.sample_data.add(admin)
    assert core.sample_data.count(admin) == 0
    with pytest.raises(Forbidden):
        core.sample_data.add(replace(ada, role=Role.READER))
    core.sample_data.add(ada)
    with pytest.raises(Forbidden):
        core.sample_data.remove(replace(ada, role=Role.READER))
