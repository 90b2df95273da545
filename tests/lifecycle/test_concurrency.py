"""Two sweepers and writers at once: every step happens exactly once and leaves exactly one event."""

import itertools
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from memorist.bootstrap import open_core
from memorist.core import Core
from memorist.errors import MemoristError
from memorist.memories import lifecycle
from memorist.memories.sweeper import Sweeper
from memorist.memories.values import Draft, Kind, Retention, Status
from memorist.platform.erased_names import hexadecimal
from memorist.platform.values import Event, OwnerFilter, Principal, Role
from memorist.testing import FrozenClock, new_tenant
from memorist.testing.clocks import START
from tests.lifecycle.jobs import sweep_until_done, write_meanwhile
from tests.support.processes import in_processes
from tests.support.stores import bare, checked

DAY = timedelta(days=1)
EVERYTHING = OwnerFilter(any_user=True, any_agent=True)
# Where an event leaves a memory.
AFTER = {
    "created": Status.ACTIVE,
    "archived": Status.ARCHIVED,
    "restored": Status.ACTIVE,
    "deleted": Status.SOFT_DELETED,
    "expired": Status.ARCHIVED,
    "hard_delete_pending": Status.HARD_DELETE_PENDING,
}


def filled(core: Core, tenant: str, count: int) -> list[str]:
    core.identity.create_tenant(tenant)
    ada, admin = Principal(tenant, Role.USER, "ada"), Principal(tenant, Role.ADMIN)
    drafts = [
        Draft(
            f"text {number}",
            Kind.FACT if number % 2 else Kind.CHAT_MESSAGE,
            retention=Retention.POLICY,
            ttl=DAY if number % 10 == 0 else None,
        )
        for number in range(count)
    ]
    ids = [one.memory.id for one in core.memories.remember(ada, drafts)]
    core.policies.change(admin, {"mode": "enforce"})
    return ids


def trails(core: Core, tenant: str, ids: list[str]) -> dict[str, list[Event]]:
    found: dict[str, list[Event]] = {memory_id: [] for memory_id in ids}
    for event in core.store.read(tenant, lambda tx: tx.events.of(ids)):
        found[event.memory_id].append(event)
    return found


def check_trails(core: Core, tenant: str) -> None:
    """Every trail is a walk along the table, and ends where the memory is."""
    rows = core.store.read(tenant, lambda tx: tx.memories.scan(EVERYTHING, "", 10_000))
    for memory_id, events in trails(core, tenant, [row.id for row in rows]).items():
        states = [AFTER[event.event_type] for event in events if event.event_type in AFTER]
        for before, after in itertools.pairwise(states):
            assert after in lifecycle.TRANSITIONS[before], (memory_id, [event.event_type for event in events])
        [row] = [row for row in rows if row.id == memory_id]
        assert states[-1] is row.status
    assert checked(core.store, tenant) == "ok"


@pytest.mark.parametrize("sweepers", [2, 4])
def test_sweepers_on_threads_move_each_memory_once(database_url: str, sweepers: int) -> None:
    clock, tenant, count = FrozenClock(), new_tenant(), 300
    core = open_core(bare(database_url), clock=clock)
    ids = filled(core, tenant, count)
    expected = [{"archived": 270, "expired": 30}, {"deleted": 300}]
    for wait, moves in zip((90 * DAY, 60 * DAY), expected, strict=True):
        clock.advance(wait)
        ready = threading.Barrier(sweepers)

        def sweep(ready: threading.Barrier = ready) -> Counter[str]:
            sweeper = Sweeper(core.store, clock, core.policies, core.erasure, rest=lambda _: None)
            ready.wait()
            done = sweeper.sweep(tenant).done
            return Counter({move: sum(kinds.values()) for move, kinds in done.items()})

        with ThreadPoolExecutor(sweepers) as pool:
            shares = [future.result() for future in [pool.submit(sweep) for _ in range(sweepers)]]
        assert sum(shares, Counter()) == moves
    told = Counter(event.event_type for events in trails(core, tenant, ids).values() for event in events)
    assert told == Counter(created=300, archived=270, deleted=300, expired=30)
    check_trails(core, tenant)
    core.close()


def test_sweepers_and_writers_in_processes_leave_one_event_a_step(database_url: str) -> None:
    clock, tenant, count = FrozenClock(), new_tenant(), 200
    core = open_core(bare(database_url), clock=clock)
    ids = filled(core, tenant, count)
    now = START + 90 * DAY + timedelta(seconds=1)
    core.close()
    with ThreadPoolExecutor(2) as pool:
        sweeping = pool.submit(in_processes, 2, sweep_until_done, database_url, tenant, now, 3)
        writing = pool.submit(in_processes, 2, write_meanwhile, database_url, tenant, ids, now, 60)
        moved, written = sweeping.result(), writing.result()
    core = open_core(bare(database_url), clock=FrozenClock(now))
    swept = sum((Counter(share) for share in moved), Counter())
    by_hand = sum((Counter(share) for share in written), Counter())
    told = Counter(
        (event.source, event.event_type)
        for events in trails(core, tenant, ids).values()
        for event in events
        if event.event_type != "created"
    )
    assert Counter({event: count for (source, event), count in told.items() if source == "sweeper"}) == swept
    others = Counter({event: count for (source, event), count in told.items() if source != "sweeper"})
    # What is restored after its time, before a sweep, is told to have expired first.
    assert others.pop("expired", 0) <= others["restored"]
    assert others == by_hand
    assert swept["expired"] + swept["archived"] > 100
    check_trails(core, tenant)
    core.close()


def test_memory_is_purged_once_though_two_sweep(database_url: str) -> None:
    clock, tenant = FrozenClock(), new_tenant()
    core = open_core(bare(database_url), clock=clock)
    ids = filled(core, tenant, 60)
    for _ in range(3):
        clock.advance(200 * DAY)
        core.sweeper.sweep(tenant)
    core.close()
    now = clock.now() + DAY
    moved = in_processes(2, sweep_until_done, database_url, tenant, now, 1)
    assert sum((Counter(share) for share in moved), Counter())["purged"] == 60
    core = open_core(bare(database_url), clock=FrozenClock(now))
    events = core.store.read(tenant, lambda tx: tx.events.of([*ids, *map(hexadecimal, ids)]))
    assert len({event.memory_id for event in events if event.event_type == "purged"}) == 60
    assert sum(event.event_type == "purged" for event in events) == 60
    assert core.store.read(tenant, lambda tx: tx.memories.scan(EVERYTHING, "", 10)) == []
    core.close()


def test_recall_during_a_sweep_sees_only_what_is_active(database_url: str) -> None:
    """Whatever the sweeper has done so far, a recall never shows what is archived or deleted by then."""
    from memorist.recall.values import Question

    clock, tenant = FrozenClock(), new_tenant()
    core = open_core(bare(database_url), clock=clock)
    filled(core, tenant, 100)
    clock.advance(90 * DAY)
    sweeper = Sweeper(core.store, clock, core.policies, core.erasure, rest=lambda _: None)
    ada = Principal(tenant, Role.USER, "ada")
    stop, wrong = threading.Event(), list[str]()

    def ask() -> int:
        asked = 0
        while not stop.is_set() or asked == 0:
            before = core.store.read(tenant, lambda tx: tx.memories.scan(EVERYTHING, "", 1000))
            gone = {row.id for row in before if row.status is not Status.ACTIVE}
            try:
                hits = core.recall.recall(ada, Question(f"text {asked % 100}", top_k=20, min_score=0)).hits
            except MemoristError as error:
                wrong.append(error.message)
                break
            wrong.extend(hit.memory.id for hit in hits if hit.memory.id in gone)
            asked += 1
        return asked

    with ThreadPoolExecutor(2) as pool:
        asking = [pool.submit(ask) for _ in range(2)]
        done = sweeper.sweep(tenant).done
        stop.set()
        asked = sum(one.result() for one in asking)
    assert wrong == []
    assert asked >= 2
    # A row whose read was being counted at that moment was left to the next sweep.
    rest = sweeper.sweep(tenant).done
    assert sum(count for one in (done, rest) for kinds in one.values() for count in kinds.values()) == 100
    core.close()
