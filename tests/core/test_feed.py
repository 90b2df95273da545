"""The feed of changes: complete, in order, without repetitions, and only what the caller may see."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from memorist.bootstrap import open_core, open_store
from memorist.core import Core
from memorist.errors import Forbidden, InvalidCursor, Unauthenticated
from memorist.ids import to_uuid
from memorist.memories import writing
from memorist.memories.values import Draft, Memory
from memorist.platform import feed as feed_module
from memorist.platform.feed import START, Follower, changes
from memorist.platform.values import Change, Owner, Principal, Role
from memorist.ports import Writer
from memorist.store.drivers import Connection
from memorist.store.statements import SqlStatement
from memorist.testing import make_event, make_memory, new_tenant
from memorist.testing.clocks import START as THEN
from tests.support.jobs import remember_many
from tests.support.postgres import Postgres
from tests.support.processes import in_processes
from tests.support.stores import bare, checked
from tests.support.waiting import eventually


def seen_by(core: Core, principal: Principal, after: str | None = START) -> list[Change]:
    """What is there now."""
    return list(changes(core.feed, lambda: principal, after, wait=0))


def told(found: list[Change]) -> list[tuple[str, str]]:
    return [(change.action, change.memory_id) for change in found]


def test_every_change_is_told_in_its_order(core: Core, ada: Principal, remember: Callable[..., Memory]) -> None:
    memory = remember(ada, "one")
    core.memories.edit(ada, memory.id, {"content": "two"})
    other = remember(ada, "three")
    core.memories.forget(ada, memory.id)
    found = seen_by(core, ada)
    assert told(found) == [
        ("created", memory.id),
        ("updated", memory.id),
        ("created", other.id),
        ("deleted", memory.id),
    ]
    assert [change.at for change in found] == [event.created_at for event in _trail(core, ada, memory.id, other.id)]


def _trail(core: Core, principal: Principal, *ids: str) -> list:
    return core.store.read(principal.tenant, lambda tx: tx.events.of(ids))


def test_what_leaves_a_memory_as_it_was_is_no_change(core: Core, ada: Principal, remember: Callable) -> None:
    memory = remember(ada, "the same")
    assert remember(ada, "the same").id == memory.id
    core.memories.get(ada, memory.id)
    core.accesses.flush()
    assert told(seen_by(core, ada)) == [("created", memory.id)]


def test_following_begins_now_unless_a_position_is_given(core: Core, ada: Principal, remember: Callable) -> None:
    before = remember(ada, "before")
    with core.feed.follow(lambda: ada) as follower:
        after = remember(ada, "after")
        assert told(_next(follower)) == [("created", after.id)]
    assert told(seen_by(core, ada)) == [("created", before.id), ("created", after.id)]


def _next(follower: Follower, seconds: float = 20) -> list[Change]:
    """The next changes, for which it waits."""
    while True:
        found = follower.read()
        if found or not follower.wait(seconds):
            return found


def test_only_what_the_caller_may_see_is_told(
    core: Core, tenant: str, ada: Principal, bob: Principal, admin: Principal, remember: Callable
) -> None:
    own = remember(ada, "ada's")
    his = remember(bob, "bob's")
    shared = remember(admin, "everybody's", owner=Owner())
    of_agent = remember(Principal(tenant, Role.SERVICE, agent="coder"), "the agent's")
    elsewhere = core.identity.create_tenant(new_tenant())[0].id
    remember(Principal(elsewhere, Role.USER, "ada"), "of another tenant")
    assert [change.memory_id for change in seen_by(core, ada)] == [own.id, shared.id]
    assert [change.memory_id for change in seen_by(core, bob)] == [his.id, shared.id]
    assert [change.memory_id for change in seen_by(core, admin)] == [own.id, his.id, shared.id, of_agent.id]
    coder = Principal(tenant, Role.READER, "ada", "coder")
    assert [change.memory_id for change in seen_by(core, coder)] == [own.id, shared.id, of_agent.id]
    # An agent that a user merely names opens nothing.
    named = Principal(tenant, Role.USER, "ada", "coder", agent_vouched=False)
    assert [change.memory_id for change in seen_by(core, named)] == [own.id, shared.id]


@hypothesis_settings(max_examples=15)
@given(steps=st.lists(st.sampled_from(["ada", "bob", "edit", "forget"]), max_size=25))
def test_feed_can_be_resumed_from_every_position(core: Core, steps: list[str]) -> None:
    tenant = core.identity.create_tenant(new_tenant())[0].id
    ada = Principal(tenant, Role.USER, "ada")
    expected: list[tuple[str, str]] = []
    own: list[str] = []
    for number, step in enumerate(steps):
        if step in ("ada", "bob"):
            memory = core.memories.remember(Principal(tenant, Role.USER, step), [Draft(f"text {number}")])[0].memory
            if step == "ada":
                own.append(memory.id)
                expected.append(("created", memory.id))
        elif own and step == "edit":
            core.memories.edit(ada, own[-1], {"importance": number})
            expected.append(("updated", own[-1]))
        elif own:
            core.memories.forget(ada, own[-1])
            expected.append(("deleted", own.pop()))
    found = seen_by(core, ada)
    assert told(found) == expected
    for index, change in enumerate(found):
        assert seen_by(core, ada, change.position) == found[index + 1 :]


def test_long_feed_is_read_page_by_page(core: Core, ada: Principal) -> None:
    drafts = [Draft(f"text {number}") for number in range(700)]
    written = [one.memory.id for _ in range(2) for one in core.memories.remember(ada, drafts) if one.was_new]
    found = [change.memory_id for change in seen_by(core, ada)]
    assert sorted(found) == sorted(written)
    assert len(found) == 700


def test_slow_follower_misses_nothing(
    core: Core, ada: Principal, remember: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What no longer is in memory when it comes around is read from the database."""
    monkeypatch.setattr(feed_module, "_KEPT", 5)
    with core.feed.follow(lambda: ada) as quick, core.feed.follow(lambda: ada) as slow:
        written = []
        for number in range(30):
            written.append(remember(ada, f"text {number}").id)
            assert [change.memory_id for change in _next(quick)] == written[-1:]
        found = slow.read()
        assert [change.memory_id for change in found] == written
        assert slow.read() == []


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_followers_are_told_what_other_processes_write(request: pytest.FixtureRequest, database: str) -> None:
    url = request.getfixturevalue(f"{database}_url")
    core = open_core(bare(url))
    tenant = core.identity.create_tenant(new_tenant())[0].id
    ada = Principal(tenant, Role.USER, "ada")
    found: list[Change] = []
    written: list[str] = []

    def follow(follower: Follower) -> None:
        while len(found) < 120:
            news = _next(follower)
            assert news, f"only {len(found)} of 120 came"
            found.extend(news)

    with core.feed.follow(lambda: ada) as follower, ThreadPoolExecutor(1) as thread:
        following = thread.submit(follow, follower)
        for ids in in_processes(3, remember_many, url, tenant, 40):
            written += ids
        following.result(timeout=60)
        assert follower.read() == []
    assert len(written) == 120
    assert sorted(change.memory_id for change in found) == sorted(written)
    # In the order of the commits: whoever reads it later reads the same.
    assert found == seen_by(core, ada)
    core.close()


def test_late_commit_is_not_skipped(postgres_url: str) -> None:
    """On PostgreSQL an earlier number may be committed after a later one."""
    core = open_core(bare(postgres_url))
    tenant = core.identity.create_tenant(new_tenant())[0].id
    ada = Principal(tenant, Role.USER, "ada")
    early, late = make_memory(tenant), make_memory(tenant)
    written, may_commit = threading.Event(), threading.Event()

    def dawdle(tx: Writer) -> None:
        writing.insert(tx, early)
        tx.events.append([make_event(early, "created")])
        written.set()
        assert may_commit.wait(30)

    with core.feed.follow(lambda: ada) as follower, ThreadPoolExecutor(1) as thread:
        slow = thread.submit(core.store.write, tenant, dawdle)
        assert written.wait(30)
        core.store.write(tenant, lambda tx: (writing.insert(tx, late), tx.events.append([make_event(late, "created")])))
        assert follower.read(fresh=True) == []
        assert seen_by(core, ada) == []
        may_commit.set()
        slow.result(timeout=30)
        found: list[Change] = []
        while len(found) < 2:
            found += _next(follower)
        assert [change.memory_id for change in found] == [early.id, late.id]
        assert follower.read(fresh=True) == []
    core.close()


def test_what_cannot_be_told_yet_is_not_read_over_and_over(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However much waits behind a transaction that is still open."""
    monkeypatch.setattr(feed_module, "_PAGE", 2)
    core = open_core(bare(postgres_url))
    tenant = core.identity.create_tenant(new_tenant())[0].id
    ada = Principal(tenant, Role.USER, "ada")
    written, may_commit = threading.Event(), threading.Event()

    def dawdle(tx: Writer) -> None:
        tx.events.append([make_event(make_memory(tenant), "created")])
        written.set()
        assert may_commit.wait(30)

    with core.feed.follow(lambda: ada) as follower, ThreadPoolExecutor(1) as thread:
        slow = thread.submit(core.store.write, tenant, dawdle)
        assert written.wait(30)
        later = [core.memories.remember(ada, [Draft(f"text {number}")])[0].memory.id for number in range(5)]
        assert follower.read(fresh=True) == []
        assert not follower.is_behind
        may_commit.set()
        slow.result(timeout=30)
        found: list[Change] = []
        while len(found) < 5:
            found += _next(follower)
        assert [change.memory_id for change in found] == later
    core.close()


def test_feed_goes_on_after_a_move_to_another_server(postgres_url: str) -> None:
    """There the numbers of transactions begin anew, below those of the events."""
    core = open_core(bare(postgres_url))
    tenant = core.identity.create_tenant(new_tenant())[0].id
    ada = Principal(tenant, Role.USER, "ada")
    first = core.memories.remember(ada, [Draft("before the move")])[0].memory
    (before,) = seen_by(core, ada)
    _execute(core, tenant, "UPDATE memory_events SET change = change + 1000000000000 WHERE tenant_id = :tenant")
    moved = f"{int(before.position.split('-')[0]) + 10**12}-{before.position.split('-')[1]}"
    second = core.memories.remember(ada, [Draft("after the move")])[0].memory
    with core.feed.follow(lambda: ada, moved) as follower:
        assert follower.is_lost
        third = core.memories.remember(ada, [Draft("while it is followed")])[0].memory
        assert told(_next(follower)) == [("created", third.id)]
    assert [change.memory_id for change in seen_by(core, ada)] == [first.id, second.id, third.id]
    with pytest.raises(InvalidCursor):
        seen_by(core, ada, moved)
    core.close()


def test_feed_stays_complete_after_a_move_to_a_server_that_has_counted_part_of_the_way(postgres_url: str) -> None:
    """The numbers of some events are below those of its transactions, and those of later ones above."""
    core = open_core(bare(postgres_url))
    tenant = core.identity.create_tenant(new_tenant())[0].id
    ada = Principal(tenant, Role.USER, "ada")
    ids = [core.memories.remember(ada, [Draft(f"fact {number}")])[0].memory.id for number in range(6)]
    before = seen_by(core, ada)
    last = before[2].position.split("-")[1]
    moved = f"UPDATE memory_events SET change = change + 1000000000000 WHERE tenant_id = :tenant AND seq > {last}"
    _execute(core, tenant, moved)
    for one in before:
        with core.feed.follow(lambda: ada, one.position) as follower:
            assert follower.is_lost
    found = seen_by(core, ada)
    assert [change.memory_id for change in found] == ids
    ids.append(core.memories.remember(ada, [Draft("after the move")])[0].memory.id)
    for number, one in enumerate([*found, *seen_by(core, ada, found[-1].position)]):
        assert [change.memory_id for change in seen_by(core, ada, one.position)] == ids[number + 1 :]
    with pytest.raises(InvalidCursor):
        seen_by(core, ada, before[1].position)
    core.close()


def test_follower_whose_last_event_was_erased_goes_on(postgres: Postgres, postgres_url: str) -> None:
    """Also while a transaction is open, and the erasure can not be told yet."""
    core = open_core(bare(postgres_url))
    tenant = core.identity.create_tenant(new_tenant())[0].id
    ada = Principal(tenant, Role.USER, "ada")
    memories = [core.memories.remember(ada, [Draft(text)])[0].memory for text in ("one", "two")]
    position = seen_by(core, ada)[-1].position
    with psycopg.connect(postgres.admin_url) as other:
        other.execute("SELECT pg_current_xact_id()")
        core.erasure.erase(Principal(tenant, Role.ADMIN), [memories[1].id])
        with core.feed.follow(lambda: ada, position) as follower:
            assert (follower.is_lost, follower.position) == (False, position)
            assert follower.read() == []
    assert told(seen_by(core, ada, position)) == [("erased", memories[1].id)]
    core.close()


def _execute(core: Core, tenant: str, sql: str) -> None:
    statement = SqlStatement("test", "", sql.replace(":tenant", "%(tenant)s"))

    def work(connection: Connection) -> int:
        return connection.run(statement, {"tenant": tenant})

    core.store.driver.write(tenant, work)  # type: ignore[attr-defined]


def test_erasure_is_told_to_whom_it_concerned_alone(
    core: Core, ada: Principal, bob: Principal, admin: Principal, remember: Callable
) -> None:
    gone = [remember(ada, f"text {number}").id for number in range(3)]
    kept = remember(bob, "bob's")
    core.erasure.reset(ada)
    assert sorted(told(seen_by(core, ada))) == sorted(("erased", memory_id) for memory_id in gone)
    assert told(seen_by(core, bob)) == [("created", kept.id)]
    assert {change.action for change in seen_by(core, admin)} == {"created", "erased"}
    assert checked(core.store, ada.tenant) == "ok"


def test_erasure_leaves_neither_id_nor_name(tmp_path: Path) -> None:
    """What tells followers of it is in no file as it was shown, nor is whose it was."""
    path = tmp_path / "memorist.db"
    core = open_core(bare(str(path)))
    tenant = core.identity.create_tenant(new_tenant())[0].id
    principal = Principal(tenant, Role.USER, "wilhelmina", "gardener")
    memory = core.memories.remember(principal, [Draft("a text")])[0].memory
    core.erasure.reset(principal)
    assert told(seen_by(core, principal)) == [("erased", memory.id)]
    core.close()
    content = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    for trace in (memory.id, str(to_uuid(memory.id)), "wilhelmina", "gardener"):
        assert trace.encode() not in content, trace
    assert to_uuid(memory.id).hex.encode() in content


def test_event_without_its_memory_is_told_to_nobody(core: Core, ada: Principal, admin: Principal) -> None:
    stray = make_memory(ada.tenant)
    core.store.write(ada.tenant, lambda tx: tx.events.append([make_event(stray, "created")]))
    assert seen_by(core, ada) == seen_by(core, admin) == []


@pytest.mark.parametrize(
    "position", ["", "x", "1", "1-", "-1", "1-2-3", "1--2", "²-1", "9" * 19 + "-1", "1-1;", "0x1-1"]
)
def test_what_is_no_position_is_refused(core: Core, ada: Principal, position: str) -> None:
    with pytest.raises(InvalidCursor):
        core.feed.follow(lambda: ada, position)
    assert not core.feed._watches


def test_position_that_the_feed_has_not_reached_is_lost(core: Core, ada: Principal, remember: Callable) -> None:
    remember(ada, "one")
    with core.feed.follow(lambda: ada, "999999999999999999-1") as follower:
        assert follower.is_lost
        later = remember(ada, "two")
        assert told(_next(follower)) == [("created", later.id)]
    with pytest.raises(InvalidCursor):
        seen_by(core, ada, "999999999999999999-1")


def test_what_others_write_puts_the_end_off_for_nobody(
    core: Core, ada: Principal, bob: Principal, remember: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, waits, really_wait = [0.0], [], Follower.wait

    def wait(follower: Follower, seconds: float) -> bool:
        """Woken after two seconds by what bob wrote, and once by ada's own."""
        waits.append(seconds)
        assert len(waits) < 9
        remember(ada if len(waits) == 2 else bob, f"text {len(waits)}")
        now[0] += 2
        return really_wait(follower, 20)

    monkeypatch.setattr(Follower, "wait", wait)
    found = list(changes(core.feed, lambda: ada, wait=5, clock=lambda: now[0]))
    assert (len(found), waits) == (1, [5, 3, 5, 3, 1, 0])


def test_revoked_credential_reads_nothing_more(core: Core, ada: Principal, remember: Callable) -> None:
    asked: list[Principal] = [ada]

    def who() -> Principal:
        if not asked:
            raise Unauthenticated
        return asked[0]

    with core.feed.follow(who) as follower:
        remember(ada, "one")
        asked.clear()
        follower.wait(20)
        with pytest.raises(Unauthenticated):
            follower.read()


def test_no_thread_is_left_when_nobody_follows(core: Core, ada: Principal) -> None:
    followers = [core.feed.follow(lambda: ada) for _ in range(20)]
    loop = core.feed.loop
    assert loop.is_alive
    assert [one.name for one in threading.enumerate()].count("memorist-feed") >= 1
    for follower in followers:
        follower.close()
    assert loop.stopping
    loop.close()
    assert not loop.is_alive
    assert not core.feed._watches
    with core.feed.follow(lambda: ada):
        assert core.feed.loop.is_alive


def test_closing_the_core_ends_those_who_wait(database_url: str) -> None:
    core = open_core(bare(database_url))
    tenant = core.identity.create_tenant(new_tenant())[0].id
    ada = Principal(tenant, Role.USER, "ada")
    with ThreadPoolExecutor(1) as thread:
        iterator: Iterator[Change] = changes(core.feed, lambda: ada)
        ended = thread.submit(lambda: list(iterator))
        eventually(lambda: tenant in core.feed._watches and core.feed._watches[tenant].head is not None)
        core.feed.close()
        assert ended.result(timeout=20) == []
    with core.feed.follow(lambda: ada) as follower:
        assert follower.closed
    core.close()


def test_reader_follows_and_those_without_a_right_do_not(core: Core, tenant: str, monkeypatch) -> None:
    with core.feed.follow(lambda: Principal(tenant, Role.READER, "ada")):
        pass
    monkeypatch.setitem(feed_module.access.ALLOWED, Role.READER, frozenset())
    with pytest.raises(Forbidden):
        core.feed.follow(lambda: Principal(tenant, Role.READER, "ada"))


def test_events_from_before_the_feed_are_in_it(new_database_url: str) -> None:
    """A database of an earlier release is followed from its first event on."""
    store = open_store(bare(new_database_url))
    known = store.migrator._known
    store.migrator._known = [migration for migration in known if migration.version < 4]
    store.migrator.migrate(THEN)
    tenant = new_tenant()
    memory = make_memory(tenant)
    old = "INSERT INTO memory_events (tenant_id, memory_id, event_type, source, payload, created_at) VALUES "
    values = f"('{tenant}', '{memory.id}', 'created', 'test', '{{}}', 1)"
    store.driver.write(tenant, lambda connection: connection.script(old + values))
    store.close()
    core = open_core(bare(new_database_url))
    core.identity.create_tenant(tenant)
    core.store.write(tenant, lambda tx: writing.insert(tx, memory))
    ada = Principal(tenant, Role.USER, "ada")
    later = core.memories.remember(ada, [Draft("later")])[0].memory
    assert [change.memory_id for change in seen_by(core, ada)] == [memory.id, later.id]
    core.close()
