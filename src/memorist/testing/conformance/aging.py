"""What every store must do with `tx.aging`: what time brings to memories."""

import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from memorist.ids import new_id
from memorist.memories import lifecycle, writing
from memorist.memories.policy import ComingMove, ComingSpan, Move, Policy, SweepState
from memorist.memories.searchable import Standing
from memorist.memories.values import Governor, Kind, Memory, Query, Retention, Status
from memorist.platform.values import Event, Owner, OwnerFilter
from memorist.ports import Store, Writer
from memorist.testing.clocks import START
from memorist.testing.conformance.fixtures import StoreFixtures
from memorist.testing.makers import make_event, make_memory

_DAY = timedelta(days=1)
_STEP = timedelta(microseconds=1)


class AgingConformance(StoreFixtures):
    """`tx.aging`: what time brings to memories."""

    def test_state_of_the_sweeper_is_kept(self, store: Store, tenant: str) -> None:
        for state in (
            SweepState(0, ""),
            SweepState(3, new_id("mem"), {"due": {"ключ": 1}}, START),
            SweepState(3, None),
        ):
            store.write(tenant, lambda tx: tx.aging.put_sweep(state))
            assert store.read(tenant, lambda tx: tx.aging.get_sweep()) == state

    def test_state_of_the_sweeper_is_changed_by_one_at_a_time(self, store: Store, tenant: str) -> None:
        store.write(tenant, lambda tx: tx.aging.put_sweep(SweepState(1, None, is_open=False)))

        has_begun = threading.Event()

        def open_it(tx: Writer) -> None:
            has_begun.set()
            state = tx.aging.hold_sweep()
            assert state is not None
            tx.aging.put_sweep(replace(state, is_open=True))

        with ThreadPoolExecutor() as others:
            other: list[Future[None]] = []

            def report(tx: Writer) -> None:
                state = tx.aging.hold_sweep()
                assert state is not None
                other.append(others.submit(store.write, tenant, open_it))
                # Where writers come one by one it does not even begin. Where it waits for us it does not end.
                has_begun.wait(0.5)
                wait(other, timeout=0.3)
                tx.aging.put_sweep(replace(state, revision=2))

            store.write(tenant, report)
        other[0].result()
        assert store.read(tenant, lambda tx: tx.aging.get_sweep()) == SweepState(2, None, is_open=True)

    def test_due_memories_are_claimed_to_the_microsecond_the_most_overdue_first(
        self, store: Store, tenant: str, neighbour: str
    ) -> None:
        late, now, soon = (_aging(store, tenant, START + _DAY + offset) for offset in (-_DAY, _STEP - _STEP, _STEP))
        _aging(store, neighbour, START)
        moment = START + _DAY
        assert store.read(tenant, lambda tx: tx.aging.has_due(START - _STEP)) is False
        assert store.read(tenant, lambda tx: tx.aging.has_due(START)) is True
        assert store.write(tenant, lambda tx: tx.aging.claim_due(moment, 10)) == [late, now]
        assert store.write(tenant, lambda tx: tx.aging.claim_due(moment, 1)) == [late]
        assert store.write(tenant, lambda tx: tx.aging.claim_due(moment + _STEP, 10)) == [late, now, soon]

    def test_memory_without_a_deadline_is_never_due(self, store: Store, tenant: str) -> None:
        memory = make_memory(tenant)
        store.write(tenant, lambda tx: writing.insert(tx, memory))
        end = START + 10_000 * _DAY
        assert store.write(tenant, lambda tx: (tx.aging.claim_due(end, 5), tx.aging.claim_expired(end, 5))) == ([], [])

    def test_expired_memories_are_claimed_until_they_are_deleted(self, store: Store, tenant: str) -> None:
        rows = {
            status: make_memory(tenant, status=status, expires_at=START, hard_delete_at=START + _DAY)
            for status in set(Status) - {Status.PURGED}
        }
        store.write(tenant, lambda tx: [writing.insert(tx, memory) for memory in rows.values()])
        found = store.write(tenant, lambda tx: tx.aging.claim_expired(START, 10))
        assert {memory.status for memory in found} == {Status.ACTIVE, Status.ARCHIVED}
        assert store.read(tenant, lambda tx: (tx.aging.has_expired(START), tx.aging.has_expired(START - _STEP))) == (
            True,
            False,
        )

    def test_moves_of_one_door_are_told_apart(self, store: Store, tenant: str) -> None:
        _aging(store, tenant, START)
        assert not store.read(tenant, lambda tx: tx.aging.has_due(START, Governor.LIFECYCLE))
        promised = _aging(store, tenant, START, governed_by=Governor.LIFECYCLE)
        assert store.read(tenant, lambda tx: tx.aging.has_due(START, Governor.LIFECYCLE))
        assert store.write(tenant, lambda tx: tx.aging.claim_due(START, 10, Governor.LIFECYCLE)) == [promised]
        rows = store.read(tenant, lambda tx: tx.aging.scan("", 10))
        assert {row.governed_by for row, _ in rows} == {Governor.NATIVE, Governor.LIFECYCLE}

    def test_retired_facts_are_claimed_until_they_are_anonymized(self, store: Store, tenant: str) -> None:
        retired = make_memory(tenant, status=Status.ARCHIVED, superseded_by=new_id("mem"))
        others = [
            make_memory(tenant, status=Status.ARCHIVED),
            make_memory(tenant, superseded_by=new_id("mem")),
            replace(retired, id=new_id("mem"), anonymized_at=START),
            replace(retired, id=new_id("mem"), updated_at=START + _DAY),
            replace(retired, id=new_id("mem"), governed_by=Governor.COMPANION),
        ]
        store.write(tenant, lambda tx: [writing.insert(tx, memory) for memory in (retired, *others)])
        assert store.write(tenant, lambda tx: tx.aging.claim_retired(START, 10)) == [retired]
        assert store.read(tenant, lambda tx: tx.aging.retired(START)) == [retired.id]
        assert store.read(tenant, lambda tx: (tx.aging.has_retired(START), tx.aging.has_retired(START - _STEP))) == (
            True,
            False,
        )

    def test_what_is_due_is_counted_by_move_and_kind(self, store: Store, tenant: str) -> None:
        ids = [_aging(store, tenant, START, kind=Kind.CHAT_MESSAGE).id for _ in range(7)]
        _aging(store, tenant, START, expires_at=START)
        gone = make_memory(tenant, status=Status.SOFT_DELETED, deleted_at=START, hard_delete_at=START + _DAY)
        retired = make_memory(tenant, status=Status.ARCHIVED, superseded_by=gone.id)
        store.write(tenant, lambda tx: [writing.insert(tx, memory) for memory in (gone, retired)])
        counts = {
            (one.move, one.kind): one for one in store.read(tenant, lambda tx: tx.aging.count_due(START + _DAY, START))
        }
        assert {key: one.count for key, one in counts.items()} == {
            (Move.ARCHIVED, Kind.CHAT_MESSAGE): 7,
            (Move.EXPIRED, Kind.FACT): 1,
            (Move.HARD_DELETE_PENDING, Kind.FACT): 1,
            (Move.ANONYMIZED, Kind.FACT): 1,
        }
        assert set(counts[Move.ARCHIVED, Kind.CHAT_MESSAGE].samples) < set(ids)

    def test_what_comes_is_counted_and_listed_by_the_next_deadline(
        self, store: Store, tenant: str, neighbour: str
    ) -> None:
        archived = _aging(store, tenant, START + _DAY)
        ends = _aging(store, tenant, START + 3 * _DAY, expires_at=START + 2 * _DAY)
        gone = make_memory(tenant, status=Status.SOFT_DELETED, deleted_at=START, hard_delete_at=START + 4 * _DAY)
        retired = make_memory(tenant, status=Status.ARCHIVED, superseded_by=gone.id)
        of_bob = make_memory(tenant, owner=Owner("bob"), retention=Retention.POLICY, retention_expires_at=START + _DAY)
        store.write(tenant, lambda tx: [writing.insert(tx, memory) for memory in (gone, retired, of_bob)])
        ada = ComingSpan(OwnerFilter("ada", any_agent=True), START, START + 9 * _DAY, 5 * _DAY)
        expected = [
            ComingMove(archived.id, START + _DAY, Move.ARCHIVED),
            ComingMove(ends.id, START + 2 * _DAY, Move.EXPIRED),
            ComingMove(gone.id, START + 4 * _DAY, Move.HARD_DELETE_PENDING),
            ComingMove(retired.id, retired.updated_at + 5 * _DAY, Move.ANONYMIZED),
        ]

        def listed(span: ComingSpan, limit: int = 9, *, of: str = tenant) -> list[ComingMove]:
            return store.read(of, lambda tx: tx.aging.list_coming(span, limit))

        assert listed(ada) == expected
        assert listed(ada, 1) == expected[:1]
        assert listed(replace(ada, after=expected[1].at, after_id=expected[1].memory_id)) == expected[2:]
        assert listed(replace(ada, until=expected[1].at)) == expected[:1]
        assert gone.id not in [one.memory_id for one in listed(replace(ada, deleted=False))]
        everybody = replace(ada, owner=OwnerFilter(any_user=True, any_agent=True))
        assert {one.memory_id for one in listed(everybody)} == {of_bob.id, *(one.memory_id for one in expected)}
        counts = store.read(tenant, lambda tx: tx.aging.count_coming(everybody, 9))
        assert counts == {**dict.fromkeys((one.move for one in expected), 1), Move.DELETED: 1}
        assert sum(store.read(tenant, lambda tx: tx.aging.count_coming(ada, 9)).values()) == 4
        assert listed(everybody, of=neighbour) == []

    def test_two_who_claim_at_once_move_each_memory_once(self, store: Store, tenant: str) -> None:
        memories = [_aging(store, tenant, START) for _ in range(40)]

        def work(tx: Writer) -> int:
            claimed = tx.aging.claim_due(START, 5)
            return sum(writing.move(tx, lifecycle.archive(m, Policy(), START + _DAY), m.updated_at) for m in claimed)

        def drain(_: int) -> int:
            moved = 0
            while store.read(tenant, lambda tx: tx.aging.has_due(START)):
                moved += store.write(tenant, work)
            return moved

        with ThreadPoolExecutor(4) as pool:
            assert sum(pool.map(drain, range(4))) == len(memories)

    def test_move_writes_the_state_and_the_deadlines_of_an_unchanged_row_only(self, store: Store, tenant: str) -> None:
        memory = _aging(store, tenant, START, name="kept", meta={"kept": True})
        moved = lifecycle.archive(memory, Policy(), START + _DAY)
        assert store.write(tenant, lambda tx: writing.move(tx, moved, memory.updated_at))
        assert store.read(tenant, lambda tx: tx.memories.get(memory.id)) == moved
        assert not store.write(tenant, lambda tx: writing.move(tx, moved, memory.updated_at))
        assert store.read(tenant, lambda tx: tx.aging.has_due(START + _DAY)) is False
        [entry] = store.read(tenant, lambda tx: tx.index.load("ada", "", 5))
        assert entry.standing == Standing.GONE

    def test_deadlines_are_scanned_and_set(self, store: Store, tenant: str) -> None:
        aging = _aging(store, tenant, START + _DAY)
        kept, gone = make_memory(tenant), make_memory(tenant, status=Status.SOFT_DELETED, deleted_at=START)
        store.write(tenant, lambda tx: [writing.insert(tx, memory) for memory in (kept, gone)])
        rows = store.read(tenant, lambda tx: tx.aging.scan("", 10))
        assert [(row.id, row.status, row.archive_at, due) for row, due in rows] == [
            (aging.id, Status.ACTIVE, aging.archive_at, aging.archive_at),
            (gone.id, Status.SOFT_DELETED, None, None),
        ]
        assert store.read(tenant, lambda tx: tx.aging.scan(aging.id, 10)) == rows[1:]
        later = replace(rows[0][0], archive_at=START + 2 * _DAY, updated_at=aging.updated_at + _STEP)
        assert store.write(tenant, lambda tx: writing.set_deadlines(tx, later, aging.updated_at))
        assert not store.write(tenant, lambda tx: writing.set_deadlines(tx, later, aging.updated_at))
        expected = replace(aging, archive_at=later.archive_at, updated_at=later.updated_at)
        assert store.read(tenant, lambda tx: tx.memories.get(aging.id)) == expected

    def test_last_restoration_is_found(self, store: Store, tenant: str) -> None:
        first, second = (_aging(store, tenant, START) for _ in range(2))
        moments = [START + _DAY, START + 3 * _DAY]
        events = [make_event(first, "restored", created_at=moment) for moment in moments]
        store.write(tenant, lambda tx: tx.events.append(events))
        found = store.read(tenant, lambda tx: tx.aging.last_restored([first.id, second.id]))
        assert found == {first.id: moments[1]}

    def test_traces_of_a_text_are_cleared(self, store: Store, tenant: str) -> None:
        memory = _aging(store, tenant, START, content="The kiln is hot.")
        told = Event(memory.id, "updated", "cli", START, "ada", {"before": {"content": "kiln"}, "by": memory.id})

        def clear(tx: Writer) -> None:
            tx.tool_outputs.insert(memory.id, "kiln")
            tx.events.append([told])
            writing.clear_traces(tx, memory, tx.events.of([memory.id]))

        store.write(tenant, clear)
        assert store.read(tenant, lambda tx: tx.tool_outputs.get(memory.id)) is None
        [entry] = store.read(tenant, lambda tx: tx.index.load("ada", "", 5))
        assert (entry.terms, entry.vectors) == (b"", None)
        events = store.read(tenant, lambda tx: tx.events.of([memory.id]))
        assert [(event.event_type, event.actor, event.payload) for event in events] == [
            ("created", None, {}),
            ("updated", None, {"by": memory.id}),
        ]

    def test_events_of_a_purged_memory_are_kept_under_another_name(self, store: Store, tenant: str) -> None:
        memory = _aging(store, tenant, START)

        def bury(tx: Writer) -> None:
            [created] = tx.events.of([memory.id])
            tx.aging.entomb([replace(created, memory_id="tomb", payload={"to": "active"})])

        store.write(tenant, bury)
        assert store.read(tenant, lambda tx: tx.events.of([memory.id])) == []
        [event] = store.read(tenant, lambda tx: tx.events.of(["tomb"]))
        assert (event.event_type, event.actor, event.payload) == ("created", None, {"to": "active"})

    def test_what_ages_is_past_its_ttl_only_while_it_is_active(self, store: Store, tenant: str) -> None:
        past = {"status": Status.ARCHIVED, "expires_at": START}
        kept = make_memory(tenant, **past)
        store.write(tenant, lambda tx: writing.insert(tx, kept))
        aged = _aging(store, tenant, START, **past)
        claimed = store.write(tenant, lambda tx: tx.aging.claim_expired(START, 10))
        assert [memory.id for memory in claimed] == [kept.id]
        query = Query((OwnerFilter(any_user=True, any_agent=True),), status=Status.ARCHIVED)
        listed = store.read(tenant, lambda tx: tx.memories.page(query, START))
        assert [memory.id for memory in listed] == [aged.id]

    def test_neighbour_is_not_moved(self, store: Store, tenant: str, neighbour: str) -> None:
        memory = _aging(store, tenant, START)
        moved = lifecycle.archive(memory, Policy(), START + _DAY)
        for write in (partial(_move, moved, memory), partial(_set, moved, memory)):
            assert store.write(neighbour, write) is False
        assert store.read(tenant, lambda tx: tx.memories.get(memory.id)) == memory


def _aging(store: Store, tenant: str, due: datetime, **fields: object) -> Memory:
    """A stored memory that is to be archived at a moment."""
    memory = make_memory(tenant, retention=Retention.POLICY, archive_at=due, **fields)

    def work(tx: Writer) -> None:
        assert writing.insert(tx, memory)
        tx.events.append([make_event(memory)])

    store.write(tenant, work)
    return memory


def _move(moved: Memory, memory: Memory, tx: Writer) -> bool:
    return writing.move(tx, moved, memory.updated_at)


def _set(moved: Memory, memory: Memory, tx: Writer) -> bool:
    return writing.set_deadlines(tx, moved, memory.updated_at)
