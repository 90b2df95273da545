"""What every store must do, as tests. Subclass StoreConformance and override its `store` fixture.

The tests make tenants of their own and never assume that the database is empty.
"""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memorist.context.values import ChunkQuery
from memorist.errors import Conflict, StoreError
from memorist.ids import to_uuid
from memorist.ingestion.values import Document
from memorist.memories import writing
from memorist.memories.searchable import Standing
from memorist.memories.values import Kind, Memory, Order, Position, Query, Status
from memorist.platform.values import ApiKey, Event, HiddenOwner, IdempotencyRecord, Owner, OwnerFilter, Role, Tenant
from memorist.ports import Reader, Store, Writer
from memorist.recall.values import Embedded, IndexCounts, IndexPage, IndexPlace, IndexRow
from memorist.testing.browsing_conformance import BrowsingConformance
from memorist.testing.clocks import START
from memorist.testing.erasure_conformance import ErasureConformance
from memorist.testing.facts_conformance import FactsConformance
from memorist.testing.lifecycle_conformance import LifecycleConformance
from memorist.testing.makers import (
    full_memory,
    make_document,
    make_embedded,
    make_event,
    make_key,
    make_memory,
    make_record,
    new_tenant,
)
from memorist.testing.overview_conformance import OverviewConformance
from memorist.testing.sign_in_conformance import SignInConformance
from memorist.testing.traces_conformance import TracesConformance
from memorist.times import to_micros

EVERYBODY = OwnerFilter(any_user=True, any_agent=True)

TEXTS = [
    "plain",
    "quotes ' \" ` and -- comments; DROP TABLE memories; :tenant %(tenant)s %s ?1 $1 {memory_columns}",
    'NEAR("a b", 3) AND NOT col:x* OR ^y " (',
    "\u202eright to left\u202c עברית العربية",
    "e\u0301 é ﬁ ẞ İ ı 𝔘𝔫𝔦𝔠𝔬𝔡𝔢",
    "🧠" * 10_000,
    "\u200b\ufeff\u00a0 invisible",
    "tab\tnewline\ncarriage\rvertical\v\x01\x1f\x7f",
    "\\x00 \\u0000 \\N {}",
    "a-b-c_d.e@f.example/g?h=i " * 500,
]


class StoreConformance(
    BrowsingConformance,
    ErasureConformance,
    FactsConformance,
    LifecycleConformance,
    OverviewConformance,
    SignInConformance,
    TracesConformance,
):
    @pytest.fixture
    def store(self) -> Iterator[Store]:
        """An open, migrated store. Override this one."""
        raise NotImplementedError("override the fixture `store` with the store to be tested")

    @pytest.fixture
    def tenant(self, store: Store) -> str:
        return _create_tenant(store)

    @pytest.fixture
    def neighbour(self, store: Store) -> str:
        """Another tenant, which must notice nothing."""
        return _create_tenant(store)

    # Transactions

    def test_write_returns_what_the_work_returned(self, store: Store, tenant: str) -> None:
        assert store.write(tenant, lambda tx: ["anything", tx is not None]) == ["anything", True]

    def test_read_returns_what_the_work_returned(self, store: Store, tenant: str) -> None:
        assert store.read(tenant, lambda tx: ["anything", tx is not None]) == ["anything", True]

    def test_written_memory_is_there_for_the_next_reader(self, store: Store, tenant: str) -> None:
        memory = _insert(store, make_memory(tenant))
        assert store.read(tenant, lambda tx: tx.memories.get(memory.id)) == memory

    def test_work_sees_its_own_writes(self, store: Store, tenant: str) -> None:
        memory = make_memory(tenant)

        def work(tx: Writer) -> Memory | None:
            writing.insert(tx, memory)
            return tx.memories.get(memory.id)

        assert store.write(tenant, work) == memory

    @pytest.mark.parametrize("error", [RuntimeError("stop"), Conflict("stop"), KeyError("stop")])
    def test_failed_work_writes_nothing_and_raises_its_own_error(
        self, store: Store, tenant: str, error: Exception
    ) -> None:
        memory = make_memory(tenant)

        def work(tx: Writer) -> None:
            writing.insert(tx, memory)
            tx.events.append([make_event(memory)])
            tx.keys.insert(make_key(tenant))
            raise error

        with pytest.raises(type(error), match="stop") as caught:
            store.write(tenant, work)
        assert caught.value is error
        assert store.read(tenant, lambda tx: tx.memories.get(memory.id)) is None
        assert store.read(tenant, lambda tx: tx.events.of([memory.id])) == []
        assert store.read(tenant, lambda tx: tx.keys.all()) == []

    def test_store_works_on_after_failed_work(self, store: Store, tenant: str) -> None:
        for _ in range(30):  # More often than any pool has connections.
            with pytest.raises(RuntimeError):
                store.write(tenant, _stop)
            with pytest.raises(RuntimeError):
                store.read(tenant, _stop)
        _insert(store, make_memory(tenant))

    def test_reader_sees_one_moment(self, store: Store, tenant: str) -> None:
        memory = make_memory(tenant)

        def work(tx: Reader) -> tuple[Memory | None, Memory | None]:
            before = tx.memories.get(memory.id)
            _in_thread(lambda: _insert(store, memory))
            return before, tx.memories.get(memory.id)

        assert store.read(tenant, work) == (None, None)
        assert store.read(tenant, lambda tx: tx.memories.get(memory.id)) == memory

    def test_many_threads_lose_nothing(self, store: Store, tenant: str) -> None:
        memories = [make_memory(tenant) for _ in range(64)]
        with ThreadPoolExecutor(16) as threads:
            list(threads.map(lambda memory: _insert(store, memory), memories))
        found = store.read(tenant, lambda tx: tx.memories.get_many([memory.id for memory in memories]))
        assert sorted(found, key=_by_id) == sorted(memories, key=_by_id)

    # One memory

    def test_every_field_comes_back_as_written(self, store: Store, tenant: str) -> None:
        memory = full_memory(tenant)
        _insert(store, memory)
        found = store.read(tenant, lambda tx: tx.memories.get(memory.id))
        assert found == memory
        assert isinstance(found.kind, Kind)
        assert isinstance(found.status, Status)
        assert found.created_at.tzinfo is UTC

    def test_absent_fields_come_back_absent(self, store: Store, tenant: str) -> None:
        memory = make_memory(tenant, owner=Owner())
        _insert(store, memory)
        found = store.read(tenant, lambda tx: tx.memories.get(memory.id))
        assert found == memory

    @pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
    def test_any_text_comes_back_as_written(self, store: Store, tenant: str, text: str) -> None:
        memory = make_memory(
            tenant,
            content=text,
            excerpt=text,
            description=text,
            project=text[:500],
            meta={text[:500]: text},
            owner=Owner(text[:100], text[:100]),
        )
        event = make_event(memory, payload={"text": text}, actor=text)
        _insert(store, memory, event)
        assert store.read(tenant, lambda tx: tx.memories.get(memory.id)) == memory
        (found,) = store.read(tenant, lambda tx: tx.events.of([memory.id]))
        assert (found.payload, found.actor) == (event.payload, event.actor)
        query = Query((OwnerFilter(text[:100], text[:100]),), project=text[:500])
        assert store.read(tenant, lambda tx: tx.memories.page(query, START)) == [memory]

    @pytest.mark.parametrize(
        "moment",
        [
            datetime(1, 1, 1, tzinfo=UTC),
            datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
            datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
        ],
    )
    def test_any_time_comes_back_to_the_microsecond(self, store: Store, tenant: str, moment: datetime) -> None:
        memory = make_memory(tenant, event_time=moment, created_at=moment)
        _insert(store, memory)
        assert store.read(tenant, lambda tx: tx.memories.get(memory.id)) == memory

    def test_unknown_id_is_none(self, store: Store, tenant: str) -> None:
        assert store.read(tenant, lambda tx: tx.memories.get(make_memory(tenant).id)) is None

    def test_get_memories_gives_those_that_exist(self, store: Store, tenant: str) -> None:
        here = [_insert(store, make_memory(tenant)) for _ in range(3)]
        wanted = [here[2].id, make_memory(tenant).id, here[0].id, here[0].id]
        found = store.read(tenant, lambda tx: tx.memories.get_many(wanted))
        assert sorted(found, key=_by_id) == sorted([here[0], here[2]], key=_by_id)

    def test_get_memories_of_nothing_is_nothing(self, store: Store, tenant: str) -> None:
        _insert(store, make_memory(tenant))
        assert store.read(tenant, lambda tx: tx.memories.get_many([])) == []

    def test_get_memories_takes_a_thousand_ids(self, store: Store, tenant: str) -> None:
        memory = _insert(store, make_memory(tenant))
        ids = [make_memory(tenant).id for _ in range(1000)] + [memory.id]
        assert store.read(tenant, lambda tx: tx.memories.get_many(ids)) == [memory]

    # Inserting

    def test_second_insert_of_an_id_writes_nothing(self, store: Store, tenant: str) -> None:
        memory = _insert(store, make_memory(tenant))
        twin = make_memory(tenant, id=memory.id, content="other")
        assert store.write(tenant, lambda tx: writing.insert(tx, twin)) is False
        assert store.read(tenant, lambda tx: tx.memories.get(memory.id)) == memory

    def test_active_text_exists_once_an_owner(self, store: Store, tenant: str) -> None:
        first = _insert(store, make_memory(tenant, dedup_key="same"))
        assert store.write(tenant, lambda tx: writing.insert(tx, make_memory(tenant, dedup_key="same"))) is False
        for owner in (Owner("bob"), Owner("ada", "coder"), Owner(None, "coder"), Owner()):
            _insert(store, make_memory(tenant, dedup_key="same", owner=owner))
        assert store.read(tenant, lambda tx: tx.memories.find_duplicate("ada", None, "same")) == first

    def test_active_name_exists_once_an_owner(self, store: Store, tenant: str) -> None:
        first = _insert(store, make_memory(tenant, name="deploy"))
        assert store.write(tenant, lambda tx: writing.insert(tx, make_memory(tenant, name="deploy"))) is False
        for owner in (Owner("bob"), Owner("ada", "coder"), Owner(None, "coder"), Owner()):
            _insert(store, make_memory(tenant, name="deploy", owner=owner))
        assert store.read(tenant, lambda tx: tx.memories.find_named("ada", None, "deploy")) == first

    def test_memories_without_a_name_do_not_clash(self, store: Store, tenant: str) -> None:
        _insert(store, make_memory(tenant))
        _insert(store, make_memory(tenant))
        assert store.read(tenant, lambda tx: tx.memories.find_named("ada", None, "")) is None

    @pytest.mark.parametrize("status", [status for status in Status if status is not Status.ACTIVE])
    def test_inactive_memory_blocks_neither_name_nor_text(self, store: Store, tenant: str, status: Status) -> None:
        _insert(store, make_memory(tenant, name="deploy", dedup_key="same", status=status))
        assert store.read(tenant, lambda tx: tx.memories.find_named("ada", None, "deploy")) is None
        assert store.read(tenant, lambda tx: tx.memories.find_duplicate("ada", None, "same")) is None
        _insert(store, make_memory(tenant, name="deploy", dedup_key="same"))

    def test_find_named_wants_exactly_that_owner(self, store: Store, tenant: str) -> None:
        memory = _insert(store, make_memory(tenant, name="deploy", owner=Owner("ada", "coder")))
        found = [
            _find_named(store, tenant, *owner)
            for owner in (("ada", "coder"), ("ada", None), (None, "coder"), (None, None), ("bob", "coder"))
        ]
        assert found == [memory, None, None, None, None]

    def test_find_duplicate_wants_exactly_that_owner(self, store: Store, tenant: str) -> None:
        memory = _insert(store, make_memory(tenant, dedup_key="same", owner=Owner(None, "coder")))
        found = [
            _find_duplicate(store, tenant, *owner)
            for owner in ((None, "coder"), ("ada", "coder"), (None, None), (None, "other"))
        ]
        assert found == [memory, None, None, None]

    def test_many_are_inserted_at_once_unless_one_exists(self, store: Store, tenant: str, neighbour: str) -> None:
        memories = [make_memory(tenant) for _ in range(3)]
        assert store.write(tenant, lambda tx: writing.insert_many(tx, memories)) is True
        ids = [memory.id for memory in memories]
        assert sorted(store.read(tenant, lambda tx: tx.memories.get_many(ids)), key=lambda one: one.id) == memories
        assert [row.memory_id for row in _index(store, tenant, "ada")] == ids
        assert store.read(neighbour, lambda tx: tx.memories.get_many(ids)) == []
        assert store.write(tenant, lambda tx: writing.insert_many(tx, [])) is True
        assert store.write(tenant, lambda tx: writing.insert_many(tx, [make_memory(tenant), memories[1]])) is False

    def test_one_of_many_concurrent_equal_inserts_wins(self, store: Store, tenant: str) -> None:
        def insert(_: int) -> bool:
            memory = make_memory(tenant, dedup_key="same")
            return store.write(tenant, lambda tx: writing.insert(tx, memory))

        with ThreadPoolExecutor(16) as threads:
            assert sum(threads.map(insert, range(48))) == 1

    # Replacing

    def test_replace_changes_every_field_but_identity_and_reads(self, store: Store, tenant: str) -> None:
        before = _insert(store, make_memory(tenant, access_count=3, last_accessed_at=START))
        after = replace(
            full_memory(tenant), id=before.id, created_at=before.created_at, access_count=99, last_accessed_at=None
        )
        assert store.write(tenant, lambda tx: writing.replace(tx, after, before.updated_at)) is True
        found = store.read(tenant, lambda tx: tx.memories.get(before.id))
        assert found == replace(after, access_count=3, last_accessed_at=START)

    def test_replace_of_a_changed_memory_does_nothing(self, store: Store, tenant: str) -> None:
        memory = _insert(store, make_memory(tenant))
        newer = replace(memory, content="newer", updated_at=START + timedelta(microseconds=1))
        assert store.write(tenant, lambda tx: writing.replace(tx, newer, memory.updated_at)) is True
        lost = replace(memory, content="lost", updated_at=START + timedelta(microseconds=2))
        assert store.write(tenant, lambda tx: writing.replace(tx, lost, memory.updated_at)) is False
        assert store.read(tenant, lambda tx: tx.memories.get(memory.id)) == newer

    def test_replace_of_a_missing_memory_does_nothing(self, store: Store, tenant: str) -> None:
        memory = make_memory(tenant)
        assert store.write(tenant, lambda tx: writing.replace(tx, memory, memory.updated_at)) is False
        assert store.read(tenant, lambda tx: tx.memories.get(memory.id)) is None

    @pytest.mark.parametrize("clash", [{"name": "deploy"}, {"dedup_key": "same"}])
    def test_replace_with_another_memorys_name_or_text_conflicts(
        self, store: Store, tenant: str, clash: dict[str, Any]
    ) -> None:
        _insert(store, make_memory(tenant, **clash))
        memory = _insert(store, make_memory(tenant))
        with pytest.raises(Conflict):
            store.write(tenant, lambda tx: writing.replace(tx, replace(memory, **clash), memory.updated_at))
        assert store.read(tenant, lambda tx: tx.memories.get(memory.id)) == memory

    def test_one_of_many_concurrent_replacements_wins(self, store: Store, tenant: str) -> None:
        memory = _insert(store, make_memory(tenant))

        def change(number: int) -> bool:
            after = replace(memory, importance=number, updated_at=START + timedelta(seconds=number))
            return store.write(tenant, lambda tx: writing.replace(tx, after, memory.updated_at))

        with ThreadPoolExecutor(16) as threads:
            assert sum(threads.map(change, range(1, 33))) == 1

    # Counting reads

    def test_accesses_add_up(self, store: Store, tenant: str) -> None:
        one, two = _insert(store, make_memory(tenant)), _insert(store, make_memory(tenant))
        later = START + timedelta(seconds=1)
        store.write(tenant, lambda tx: tx.memories.add_accesses({one.id: (2, START), two.id: (1, START)}))
        store.write(tenant, lambda tx: tx.memories.add_accesses({one.id: (3, later)}))
        found = store.read(tenant, lambda tx: [tx.memories.get(one.id), tx.memories.get(two.id)])
        assert found == [
            replace(one, access_count=5, last_accessed_at=later),
            replace(two, access_count=1, last_accessed_at=START),
        ]

    def test_accesses_that_arrive_late_count_but_do_not_turn_time_back(self, store: Store, tenant: str) -> None:
        memory = _insert(store, make_memory(tenant))
        later = START + timedelta(seconds=1)
        store.write(tenant, lambda tx: tx.memories.add_accesses({memory.id: (1, later)}))
        store.write(tenant, lambda tx: tx.memories.add_accesses({memory.id: (4, START)}))
        found = store.read(tenant, lambda tx: tx.memories.get(memory.id))
        assert found == replace(memory, access_count=5, last_accessed_at=later)

    def test_accesses_of_missing_memories_and_none_at_all_do_nothing(self, store: Store, tenant: str) -> None:
        store.write(tenant, lambda tx: tx.memories.add_accesses({}))
        store.write(tenant, lambda tx: tx.memories.add_accesses({make_memory(tenant).id: (1, START)}))
        assert store.read(tenant, lambda tx: tx.memories.scan(EVERYBODY, "", 10)) == []

    # Listing

    def test_list_is_newest_first_and_by_id_within_a_moment(self, store: Store, tenant: str) -> None:
        memories = _insert_series(store, tenant, 6, same_time_every=3)
        expected = sorted(memories, key=lambda memory: (memory.created_at, memory.id), reverse=True)
        assert _list(store, tenant) == expected

    @pytest.mark.parametrize("size", [1, 2, 3, 100])
    @pytest.mark.parametrize(
        ("order", "named"), [(Order.NEWEST, False), (Order.NEWEST, True), (Order.IMPORTANCE, True)]
    )
    @pytest.mark.parametrize("owners", ["one slice", "many slices"])
    def test_pages_join_to_the_whole_list(
        self, store: Store, tenant: str, size: int, order: Order, named: bool, owners: str
    ) -> None:
        memories = _insert_series(store, tenant, 9, same_time_every=3)
        slices = (
            (EVERYBODY,)
            if owners == "one slice"
            else (
                OwnerFilter("ada", any_agent=True),
                OwnerFilter("bob", any_agent=True),
                OwnerFilter(None, any_agent=True),
            )
        )
        pages, after = [], None
        while True:
            page = _list(store, tenant, owners=slices, order=order, named=named, limit=size, after=after)
            assert len(page) <= size
            if not page:
                break
            pages += page
            after = Position(page[-1].created_at, page[-1].id, page[-1].importance)
        keys: dict[Order, Callable[[Memory], Any]] = {
            Order.NEWEST: lambda memory: (memory.created_at, memory.id),
            Order.IMPORTANCE: lambda memory: (memory.importance, memory.created_at, memory.id),
        }
        assert pages == sorted(memories, key=keys[order], reverse=True)

    @pytest.mark.parametrize(
        "filters",
        [
            {"kind": Kind.CHAT_MESSAGE},
            {"category": "goal"},
            {"project": "shop"},
            {"session": "s1"},
            {"status": Status.ARCHIVED},
        ],
        ids=lambda filters: next(iter(filters)),
    )
    @pytest.mark.parametrize("breadth", [EVERYBODY, OwnerFilter("ada")], ids=["tenant", "user"])
    def test_filter_leaves_out_everything_else(
        self, store: Store, tenant: str, filters: dict[str, Any], breadth: OwnerFilter
    ) -> None:
        wanted = _insert(store, make_memory(tenant, **filters))
        _insert(store, make_memory(tenant))
        assert _list(store, tenant, owners=(breadth,), **filters) == [wanted]

    @pytest.mark.parametrize("order", list(Order))
    @pytest.mark.parametrize("breadth", [EVERYBODY, OwnerFilter("ada")], ids=["tenant", "user"])
    def test_named_list_leaves_out_memories_without_a_name(
        self, store: Store, tenant: str, order: Order, breadth: OwnerFilter
    ) -> None:
        named = _insert(store, make_memory(tenant, name="deploy"))
        _insert(store, make_memory(tenant))
        assert _list(store, tenant, owners=(breadth,), named=True, order=order) == [named]

    def test_list_leaves_out_what_is_past_its_expiry(self, store: Store, tenant: str) -> None:
        _insert(store, make_memory(tenant, expires_at=START))
        alive = _insert(store, make_memory(tenant, expires_at=START + timedelta(microseconds=1)))
        assert _list(store, tenant) == [alive]

    @pytest.mark.parametrize(
        ("owner", "seen"),
        [
            (OwnerFilter(), {"tenant"}),
            (OwnerFilter("ada"), {"ada"}),
            (OwnerFilter("ada", "coder"), {"ada+coder"}),
            (OwnerFilter(None, "coder"), {"coder"}),
            (OwnerFilter("ada", any_agent=True), {"ada", "ada+coder"}),
            (OwnerFilter(None, any_agent=True), {"tenant", "coder"}),
            (OwnerFilter(agent="coder", any_user=True), {"coder", "ada+coder"}),
            (OwnerFilter(any_user=True), {"tenant", "ada", "bob"}),
            (EVERYBODY, {"tenant", "ada", "bob", "ada+coder", "coder"}),
            (OwnerFilter("nobody"), set()),
        ],
    )
    def test_slice_of_owners_is_exact(self, store: Store, tenant: str, owner: OwnerFilter, seen: set[str]) -> None:
        owners = {
            "tenant": Owner(),
            "ada": Owner("ada"),
            "bob": Owner("bob"),
            "ada+coder": Owner("ada", "coder"),
            "coder": Owner(None, "coder"),
        }
        rows = {label: _insert(store, make_memory(tenant, owner=whose)) for label, whose in owners.items()}
        expected = {rows[label].id for label in seen}
        assert {memory.id for memory in _list(store, tenant, owners=(owner,))} == expected
        scanned = store.read(tenant, lambda tx: tx.memories.scan(owner, "", 100))
        assert {memory.id for memory in scanned} == expected

    def test_scan_gives_every_status_in_id_order_in_pieces(self, store: Store, tenant: str) -> None:
        memories = [
            _insert(store, make_memory(tenant, status=status, expires_at=START)) for status in Status for _ in range(2)
        ]
        found: list[Memory] = []
        after = ""
        while piece := _scan(store, tenant, after, 3):
            assert len(piece) <= 3
            found += piece
            after = piece[-1].id
        assert found == sorted(memories, key=_by_id)

    # Events

    def test_events_come_back_in_the_order_they_were_written(self, store: Store, tenant: str) -> None:
        one, two = make_memory(tenant), make_memory(tenant)
        _insert(store, one, make_event(one, actor="ada", payload={"n": 1}))
        _insert(store, two, make_event(two))
        # The order is the database's, not that of the clock.
        earlier = START - timedelta(days=1)
        store.write(tenant, lambda tx: tx.events.append([make_event(one, "updated", created_at=earlier)]))
        store.write(tenant, lambda tx: tx.events.append([make_event(two, "deleted"), make_event(one, "deleted")]))
        events = store.read(tenant, lambda tx: tx.events.of([one.id]))
        assert [event.event_type for event in events] == ["created", "updated", "deleted"]
        assert replace(events[0], seq=0) == make_event(one, actor="ada", payload={"n": 1})
        both = store.read(tenant, lambda tx: tx.events.of([two.id, one.id]))
        assert [event.event_type for event in both] == ["created", "created", "updated", "deleted", "deleted"]
        assert [event.seq for event in both] == sorted({event.seq for event in both})

    def test_events_of_nothing_are_none(self, store: Store, tenant: str) -> None:
        store.write(tenant, lambda tx: tx.events.append([]))
        assert store.read(tenant, lambda tx: tx.events.of([])) == []
        assert store.read(tenant, lambda tx: tx.events.of([make_memory(tenant).id])) == []

    # The feed of changes

    def test_feed_gives_events_in_their_order_with_their_owners(self, store: Store, tenant: str) -> None:
        start = store.read(tenant, lambda tx: tx.feed.head())
        owners = (Owner("ada"), Owner(), Owner("b", "c"))
        memories = [_created(store, make_memory(tenant, owner=owner)) for owner in owners]
        page = store.read(tenant, lambda tx: tx.feed.read(start, 10))
        assert [(row.memory_id, row.event_type, row.owner) for row in page.rows] == [
            (memory.id, "created", memory.owner) for memory in memories
        ]
        assert [row.position for row in page.rows] == sorted(row.position for row in page.rows)
        assert (page.is_last, page.has_unsafe) == (True, False)
        assert store.read(tenant, lambda tx: tx.feed.head()) == page.rows[-1].position

    def test_feed_goes_on_after_a_position(self, store: Store, tenant: str) -> None:
        start = store.read(tenant, lambda tx: tx.feed.head())
        memories = [_created(store, make_memory(tenant)) for _ in range(5)]
        found: list[str] = []
        page = store.read(tenant, lambda tx: tx.feed.read(start, 2))
        while page.rows:
            found += [row.memory_id for row in page.rows]
            page = store.read(tenant, lambda tx: tx.feed.read(page.rows[-1].position, 2))
        assert found == [memory.id for memory in memories]

    def test_feed_tells_of_an_erasure_without_naming_the_owner(self, store: Store, tenant: str) -> None:
        memory = _created(store, make_memory(tenant, owner=Owner("ada", "coder")))
        start = store.read(tenant, lambda tx: tx.feed.head())
        store.write(tenant, lambda tx: tx.memories.erase([memory.id]))
        (row,) = store.read(tenant, lambda tx: tx.feed.read(start, 10)).rows
        assert (row.event_type, row.memory_id) == ("erased", to_uuid(memory.id).hex)
        assert isinstance(row.owner, HiddenOwner)
        for part in (OwnerFilter("ada", "coder"), OwnerFilter("ada", any_agent=True), EVERYBODY):
            assert row.owner.is_in(part)
        for part in (OwnerFilter(), OwnerFilter("ada"), OwnerFilter("bob", any_agent=True), OwnerFilter("ada", "no")):
            assert not row.owner.is_in(part)
        assert "coder" not in str(row)

    def test_feed_of_a_tenant_has_nothing_of_another(self, store: Store, tenant: str, neighbour: str) -> None:
        start = store.read(tenant, lambda tx: tx.feed.head())
        _created(store, make_memory(neighbour))
        assert store.read(tenant, lambda tx: tx.feed.read(start, 10)).rows == ()
        assert not store.read(tenant, lambda tx: tx.feed.is_foreign())
        assert store.write(tenant, lambda tx: tx.feed.restart()) == 0

    def test_writes_are_told_once_they_are_durable(self, store: Store, tenant: str) -> None:
        told: list[tuple[str, bool]] = []
        memory = make_memory(tenant)

        def tell(written: str) -> None:
            told.append((written, store.read(tenant, lambda tx: tx.memories.get(memory.id)) is not None))

        store.on_write(tell)
        with pytest.raises(ZeroDivisionError):
            store.write(tenant, lambda _: 1 / 0)
        assert told == []
        _insert(store, memory)
        assert told == [(tenant, True)]

    # What coding assistants search

    def test_chunks_are_found_by_pattern_newest_first(self, store: Store, tenant: str) -> None:
        texts = ["Use pnpm", "USE_PNPM", "100% sure", "nothing", "möglich"]
        for number, text in enumerate(texts):
            _insert(store, make_memory(tenant, content=text, category="fact", created_at=START + timedelta(number)))
        _insert(store, make_memory(tenant, content="use pnpm", category="goal"))
        _insert(store, make_memory(tenant, content="use pnpm", category="fact", status=Status.ARCHIVED))

        def found(pattern: str | None) -> list[str]:
            query = ChunkQuery(OwnerFilter("ada", any_agent=True), pattern)
            pages = store.read(tenant, lambda tx: list(tx.context.find_chunks(query, START, 2)))
            return [one.content for page in pages for one in page]

        # What is not of ASCII alone is always a candidate.
        assert found("%use%pnpm%") == ["möglich", "USE_PNPM", "Use pnpm"]
        assert found("%e!_p%") == ["möglich", "USE_PNPM"]
        assert found("%0!% s%") == ["möglich", "100% sure"]
        assert found(None) == ["möglich"]
        assert found("%") == texts[::-1]

    # Erasing

    def test_erased_memory_leaves_neither_row_nor_events(self, store: Store, tenant: str) -> None:
        gone, stays = make_memory(tenant), make_memory(tenant)
        for memory in (gone, stays):
            _insert(store, memory, make_event(memory))
        assert store.write(tenant, lambda tx: tx.memories.erase([gone.id, make_memory(tenant).id])) == 1
        assert store.read(tenant, lambda tx: tx.memories.scan(EVERYBODY, "", 10)) == [stays]
        assert store.read(tenant, lambda tx: tx.events.of([gone.id])) == []
        assert len(store.read(tenant, lambda tx: tx.events.of([stays.id]))) == 1

    def test_erasing_nothing_erases_nothing(self, store: Store, tenant: str) -> None:
        _insert(store, make_memory(tenant))
        assert store.write(tenant, lambda tx: tx.memories.erase([])) == 0
        assert len(store.read(tenant, lambda tx: tx.memories.scan(EVERYBODY, "", 10))) == 1

    # What is searched

    def test_inserted_memory_is_in_the_index_at_once(self, store: Store, tenant: str) -> None:
        memory = _insert(
            store,
            make_memory(
                tenant,
                owner=Owner("ada", "coder"),
                kind=Kind.CHAT_MESSAGE,
                session="s1",
                category="goal",
                project="shop",
                event_time=START - timedelta(days=3),
                valid_from=START - timedelta(days=2),
                valid_to=START + timedelta(days=2),
                expires_at=START + timedelta(days=9),
            ),
        )
        (row,) = _index(store, tenant, "ada")
        assert (row.memory_id, row.agent, row.thread, row.kind) == (memory.id, "coder", "s1", "chat_message")
        assert (row.category, row.project, row.standing) == ("goal", "shop", Standing.LIVE)
        expected = (memory.event_time, memory.created_at, memory.expires_at, memory.valid_from, memory.valid_to)
        found = (row.event_time, row.created_at, row.expires_at, row.valid_from, row.valid_to)
        assert found == tuple(to_micros(moment) for moment in expected if moment is not None)
        assert (row.retired_at, row.model, row.vectors) == (None, "", None)
        assert row.terms
        assert row.digest

    def test_absent_fields_are_absent_from_the_index(self, store: Store, tenant: str) -> None:
        _insert(store, make_memory(tenant, owner=Owner()))
        (row,) = _index(store, tenant, None)
        assert (row.agent, row.thread, row.category, row.project) == ("", "", "", "")
        assert (row.expires_at, row.valid_from, row.valid_to, row.retired_at) == (None, None, None, None)

    @pytest.mark.parametrize(
        ("fields", "standing"),
        [
            ({"status": Status.ARCHIVED}, Standing.RETIRED),
            ({"superseded_by": "mem_01J9Z3K4M5N6P7Q8R9S0T1V2W3"}, Standing.RETIRED),
            ({"status": Status.SOFT_DELETED}, Standing.GONE),
            ({"status": Status.HARD_DELETE_PENDING}, Standing.GONE),
            ({"status": Status.PURGED}, Standing.GONE),
            ({"anonymized_at": START}, Standing.GONE),
        ],
    )
    def test_index_follows_the_standing_of_a_memory(
        self, store: Store, tenant: str, fields: dict[str, Any], standing: Standing
    ) -> None:
        memory = _insert(store, make_memory(tenant))
        _replace(store, memory, **fields)
        (row,) = _index(store, tenant, "ada")
        assert row.standing == standing
        assert (row.retired_at is not None) is (fields.get("status") is Status.ARCHIVED)

    def test_failed_write_leaves_nothing_in_the_index(self, store: Store, tenant: str) -> None:
        def work(tx: Writer) -> None:
            writing.insert(tx, make_memory(tenant))
            raise RuntimeError

        with pytest.raises(RuntimeError):
            store.write(tenant, work)
        assert _index(store, tenant, "ada") == []
        twin = _insert(store, make_memory(tenant, dedup_key="same"))
        assert store.write(tenant, lambda tx: writing.insert(tx, make_memory(tenant, dedup_key="same"))) is False
        assert [row.memory_id for row in _index(store, tenant, "ada")] == [twin.id]

    def test_index_is_read_by_user_in_id_order_in_pieces(self, store: Store, tenant: str) -> None:
        owners = (Owner("ada"), Owner("bob"), Owner(), Owner(None, "coder"), Owner("ada", "coder"))
        memories = [_insert(store, make_memory(tenant, owner=owner)) for owner in owners for _ in range(3)]
        for user in ("ada", "bob", None, "nobody"):
            expected = sorted(memory.id for memory in memories if memory.owner.user == user)
            assert [row.memory_id for row in _index(store, tenant, user, page=2)] == expected
        assert set(store.read(tenant, lambda tx: tx.index.users())) == {"ada", "bob", None}

    def test_tenant_without_memories_has_no_users_in_the_index(self, store: Store, tenant: str) -> None:
        assert store.read(tenant, lambda tx: tx.index.users()) == []
        assert store.read(tenant, lambda tx: tx.index.has_waiting()) is False

    def test_changes_since_a_watermark_are_found(self, store: Store, tenant: str) -> None:
        memories = [_insert(store, make_memory(tenant)) for _ in range(5)]
        watermark = store.read(tenant, lambda tx: tx.index.watermark("ada"))
        before = {row.memory_id: row.change for row in _index(store, tenant, "ada")}
        _replace(store, memories[3], content="changed")
        _insert(store, make_memory(tenant, owner=Owner("bob")))
        new = _insert(store, make_memory(tenant))
        seen = {row.memory_id: row.change for row in _refresh(store, tenant, "ada", watermark)}
        changed = {memory_id for memory_id, change in seen.items() if before.get(memory_id) != change}
        assert changed == {memories[3].id, new.id}
        assert {one.memory_id: one.change for one in _refresh(store, tenant, "ada", watermark, page=1)} == seen

    def test_changes_of_several_users_are_of_one_moment(self, store: Store, tenant: str) -> None:
        """A memory that is given from one user to the other and back is at all times one of theirs."""
        memory = _insert(store, make_memory(tenant, owner=Owner("ada")))
        places = [IndexPlace("ada", 0, ""), IndexPlace("bob", 0, "")]
        for snapshot in (True, False):
            with ThreadPoolExecutor(1) as threads:
                giving = threads.submit(_give_to_and_fro, store, memory, 40)
                while not giving.done():
                    pages = store.read(tenant, lambda tx: tx.index.follow(places, 10), snapshot=snapshot)
                    assert [row.memory_id for page in pages for row in page.rows] == [memory.id]
                memory = giving.result()
        assert store.read(tenant, lambda tx: tx.index.follow([], 10)) == []

    def test_change_that_is_not_committed_is_not_behind_the_watermark(self, store: Store, tenant: str) -> None:
        """Whatever becomes visible later is found from a watermark that was read before."""
        memories = [make_memory(tenant) for _ in range(24)]
        seen: dict[str, int] = {}
        watermark = store.read(tenant, lambda tx: tx.index.watermark("ada"))
        with ThreadPoolExecutor(8) as threads:
            writes = [threads.submit(_insert, store, memory) for memory in memories]
            while not all(write.done() for write in writes):
                watermark = _follow(store, tenant, watermark, seen)
        _follow(store, tenant, watermark, seen)
        assert set(seen) == {memory.id for memory in memories}

    def test_changes_after_an_erasure_are_found(self, store: Store, tenant: str) -> None:
        memories = [_insert(store, make_memory(tenant)) for _ in range(5)]
        watermark = store.read(tenant, lambda tx: tx.index.watermark("ada"))
        store.write(tenant, lambda tx: tx.memories.erase([memory.id for memory in memories]))
        new = {_insert(store, make_memory(tenant)).id for _ in range(3)}
        assert {row.memory_id for row in _refresh(store, tenant, "ada", watermark)} == new

    def test_vectors_are_kept_under_their_model(self, store: Store, tenant: str) -> None:
        memory = _insert(store, make_memory(tenant))
        assert store.read(tenant, lambda tx: tx.index.has_waiting()) is True
        (before,) = _index(store, tenant, "ada")
        assert _save_vectors(store, tenant, make_embedded(memory)) == 1
        (row,) = _index(store, tenant, "ada")
        assert (row.model, row.vectors, row.terms) == ("model-1", b"vectors", before.terms)
        assert row.change != before.change
        assert store.read(tenant, lambda tx: tx.index.has_waiting()) is False
        assert store.read(tenant, lambda tx: tx.index.count("model-1")) == IndexCounts(1, 0, 0)
        assert store.read(tenant, lambda tx: tx.index.count("model-2")) == IndexCounts(1, 0, 1)

    def test_vectors_of_an_old_text_are_not_kept(self, store: Store, tenant: str) -> None:
        memory = _insert(store, make_memory(tenant))
        _replace(store, memory, content="another text")
        assert _save_vectors(store, tenant, make_embedded(memory)) == 0
        assert _index(store, tenant, "ada")[0].model == ""
        assert _save_vectors(store, tenant, make_embedded(make_memory(tenant))) == 0

    def test_vectors_stay_while_the_text_does_and_go_with_it(self, store: Store, tenant: str) -> None:
        memory = _insert(store, make_memory(tenant))
        _save_vectors(store, tenant, make_embedded(memory))
        memory = _replace(store, memory, importance=7, category="goal", status=Status.ARCHIVED)
        (row,) = _index(store, tenant, "ada")
        assert (row.model, row.vectors) == ("model-1", b"vectors")
        _replace(store, memory, content="another text")
        (row,) = _index(store, tenant, "ada")
        assert (row.model, row.vectors) == ("", None)
        assert store.read(tenant, lambda tx: tx.index.has_waiting()) is True

    def test_memory_that_changes_hands_is_in_its_new_owners_index_alone(self, store: Store, tenant: str) -> None:
        memory = _insert(store, make_memory(tenant))
        _save_vectors(store, tenant, make_embedded(memory))
        _replace(store, memory, owner=Owner("bob", "coder"))
        assert _index(store, tenant, "ada") == []
        (row,) = _index(store, tenant, "bob")
        assert (row.memory_id, row.agent, row.model) == (memory.id, "coder", "model-1")

    def test_waiting_memory_is_claimed_by_one(self, store: Store, tenant: str) -> None:
        memories = [_insert(store, make_memory(tenant)) for _ in range(20)]
        until = START + timedelta(minutes=1)

        def claim(_: int) -> list[str]:
            return store.write(tenant, lambda tx: tx.index.claim_waiting(START, until, 3))

        with ThreadPoolExecutor(8) as threads:
            claimed = [memory_id for ids in threads.map(claim, range(20)) for memory_id in ids]
        assert sorted(claimed) == sorted(memory.id for memory in memories)
        assert claim(0) == []

    def test_claim_ends_by_time_by_release_and_with_another_text(self, store: Store, tenant: str) -> None:
        memory = _insert(store, make_memory(tenant))
        later = START + timedelta(minutes=1)

        def claim(now: datetime) -> list[str]:
            return store.write(tenant, lambda tx: tx.index.claim_waiting(now, now + timedelta(minutes=1), 10))

        assert claim(START) == [memory.id]
        assert claim(later - timedelta(microseconds=1)) == []
        assert claim(later) == [memory.id]
        store.write(tenant, lambda tx: tx.index.release_claims())
        assert claim(START) == [memory.id]
        memory = _replace(store, memory, content="another text")
        assert claim(START) == [memory.id]
        _save_vectors(store, tenant, make_embedded(memory))
        store.write(tenant, lambda tx: tx.index.release_claims())
        assert claim(later) == []

    def test_one_claim_is_released_and_others_stay(self, store: Store, tenant: str) -> None:
        for _ in range(6):
            _insert(store, make_memory(tenant))
        mine, theirs = START + timedelta(minutes=1), START + timedelta(minutes=2)
        claimed = store.write(tenant, lambda tx: tx.index.claim_waiting(START, mine, 2))
        others = store.write(tenant, lambda tx: tx.index.claim_waiting(START, theirs, 3))
        assert (len(claimed), len(others)) == (2, 3)
        store.write(tenant, lambda tx: tx.index.release_claims(mine))
        again = store.write(tenant, lambda tx: tx.index.claim_waiting(START, mine, 10))
        assert set(claimed) < set(again)
        assert len(again) == 3

    def test_vectors_of_another_model_are_given_up_in_pieces(self, store: Store, tenant: str) -> None:
        owners = (Owner("ada"), Owner("bob"), Owner())
        memories = [_insert(store, make_memory(tenant, owner=owner)) for owner in owners for _ in range(3)]
        _save_vectors(store, tenant, *(make_embedded(memory) for memory in memories[:-1]))
        _save_vectors(store, tenant, make_embedded(memories[-1], "model-2"))
        watermark = store.read(tenant, lambda tx: tx.index.watermark("bob"))
        given_up = []
        while more := store.write(tenant, lambda tx: tx.index.unindex("model-2", 5)):
            given_up.append(more)
        assert given_up == [5, 3]
        assert store.read(tenant, lambda tx: tx.index.count("model-2")) == IndexCounts(9, 8, 0)
        assert len({row.memory_id for row in _refresh(store, tenant, "bob", watermark) if row.model == ""}) == 3
        assert len(store.write(tenant, lambda tx: tx.index.claim_waiting(START, START, 100))) == 8

    def test_nothing_is_adopted_where_everything_is_in_the_index(self, store: Store, tenant: str) -> None:
        _insert(store, make_memory(tenant))
        assert store.write(tenant, lambda tx: writing.adopt(tx, 100)) == 0

    def test_model_of_a_tenant_is_noted(self, store: Store, tenant: str, neighbour: str) -> None:
        assert store.index_model(tenant) == ""
        store.set_index_model(tenant, "model-1")
        assert (store.index_model(tenant), store.index_model(neighbour)) == ("model-1", "")
        assert store.index_model(new_tenant()) is None

    def test_turn_before_is_the_last_message_of_the_same_session_and_owner(self, store: Store, tenant: str) -> None:
        def turn(**fields: Any) -> Memory:
            values = {"kind": Kind.CHAT_MESSAGE, "session": "s1"} | fields
            return _insert(store, make_memory(tenant, **values))

        first = turn()
        turn(session="s2")
        turn(owner=Owner("bob"))
        turn(owner=Owner("ada", "coder"))
        turn(kind=Kind.FACT)
        turn(status=Status.SOFT_DELETED)
        output = turn(kind=Kind.TOOL_OUTPUT)
        second = turn()
        third = turn(status=Status.ARCHIVED)
        fourth = turn()
        before = [_turn_before(store, memory) for memory in (first, output, second, third, fourth)]
        assert before == [None, first, first, second, third]

    # Payloads and documents

    def test_payload_comes_back_whole_and_goes_with_its_memory(self, store: Store, tenant: str) -> None:
        memory = _insert(store, make_memory(tenant, kind=Kind.TOOL_OUTPUT))
        assert store.read(tenant, lambda tx: tx.tool_outputs.get(memory.id)) is None
        payload = "ответ 🚀\n" * 100_000
        store.write(tenant, lambda tx: tx.tool_outputs.insert(memory.id, payload))
        assert store.read(tenant, lambda tx: tx.tool_outputs.get(memory.id)) == payload
        store.write(tenant, lambda tx: tx.memories.erase([memory.id]))
        assert store.read(tenant, lambda tx: tx.tool_outputs.get(memory.id)) is None
        assert _index(store, tenant, "ada") == []

    def test_document_comes_back_as_written_and_is_written_over(self, store: Store, tenant: str) -> None:
        for owner in (Owner("ada"), Owner("ada", "coder"), Owner()):
            document = make_document(owner=owner, content="ответ 🚀" * 1000)
            _put(store, tenant, document)
            assert store.read(tenant, lambda tx: tx.documents.get(owner, document.id)) == document
            newer = replace(document, content="new", chunks=7, updated_at=START + timedelta(days=1))
            _put(store, tenant, newer)
            assert store.read(tenant, lambda tx: tx.documents.get(owner, document.id)) == newer
            assert store.read(tenant, lambda tx: tx.documents.find_titled(owner, document.title)) == newer
            assert store.read(tenant, lambda tx: tx.documents.find_titled(Owner("eve"), document.title)) is None
            assert store.read(tenant, lambda tx: tx.documents.get(Owner("eve"), document.id)) is None

    def test_documents_of_a_slice_are_listed_in_pieces(self, store: Store, tenant: str) -> None:
        owners = (Owner("ada"), Owner("ada", "coder"), Owner("bob"), Owner())
        documents = [make_document(owner=owner) for owner in owners for _ in range(3)]
        shared = [make_document(owner=owner, id="manual") for owner in owners]
        for document in documents + shared:
            _put(store, tenant, document)
        for part in (EVERYBODY, OwnerFilter("ada", any_agent=True), OwnerFilter("ada"), OwnerFilter()):
            expected = [one for one in documents + shared if part.matches(one.owner)]
            found = _documents(store, tenant, part, 2)
            assert sorted(found, key=_document_key) == sorted(expected, key=_document_key)
            assert [one.id for one in found] == sorted(one.id for one in expected)
            one = store.read(tenant, lambda tx: tx.documents.find(part, "manual"))
            assert one in expected
        assert store.read(tenant, lambda tx: tx.documents.find(OwnerFilter("eve"), "manual")) is None

    def test_erased_documents_are_gone_and_others_stay(self, store: Store, tenant: str) -> None:
        mine, theirs, shared = (make_document(owner=owner) for owner in (Owner("ada"), Owner("bob"), Owner()))
        also_mine = make_document(owner=Owner("ada", "coder"))
        for document in (mine, theirs, shared, also_mine):
            _put(store, tenant, document)
        store.write(tenant, lambda tx: tx.documents.erase(mine))
        assert len(_documents(store, tenant, EVERYBODY, 10)) == 3
        assert store.write(tenant, lambda tx: tx.documents.erase_all(OwnerFilter("ada", any_agent=True))) == 1
        assert sorted(one.id for one in _documents(store, tenant, EVERYBODY, 10)) == sorted([theirs.id, shared.id])

    def test_chunks_of_a_document_are_its_active_ones_in_order(self, store: Store, tenant: str) -> None:
        document = make_document()

        def chunk(**fields: Any) -> Memory:
            values = {"kind": Kind.DOCUMENT_CHUNK, "source_ref": document.id} | fields
            return _insert(store, make_memory(tenant, **values))

        chunks = [chunk() for _ in range(3)]
        chunk(status=Status.SOFT_DELETED)
        chunk(source_ref="another")
        chunk(owner=Owner("bob"))
        chunk(kind=Kind.FACT)
        assert store.read(tenant, lambda tx: tx.documents.chunks_of(document)) == chunks

    # Remembered requests

    def test_remembered_request_comes_back_as_written(self, store: Store, tenant: str) -> None:
        for record in (make_record(), make_record(user=None, response="ответ 🚀" * 1000)):
            assert _save(store, tenant, record) is True
            assert _find_record(store, tenant, record) == record

    def test_request_is_found_by_all_three_parts_only(self, store: Store, tenant: str) -> None:
        record = make_record()
        store.write(tenant, lambda tx: tx.idempotency.insert(record))
        others = [replace(record, principal="other"), replace(record, route="other"), replace(record, key="other")]
        assert [_find_record(store, tenant, other) for other in others] == [None] * 3

    def test_taken_key_is_not_written_again(self, store: Store, tenant: str) -> None:
        record = make_record()
        store.write(tenant, lambda tx: tx.idempotency.insert(record))
        other = replace(record, response="{}")
        assert store.write(tenant, lambda tx: tx.idempotency.insert(other)) is False
        found = store.read(tenant, lambda tx: tx.idempotency.find(record.principal, record.route, record.key))
        assert found == record

    def test_expired_requests_are_dropped_and_others_stay(self, store: Store, tenant: str) -> None:
        expired = make_record(expires_at=START)
        alive = make_record(expires_at=START + timedelta(microseconds=1))
        for record in (expired, alive):
            _save(store, tenant, record)
        assert store.write(tenant, lambda tx: tx.idempotency.drop_expired(START)) == 1
        assert _find_record(store, tenant, expired) is None
        assert _find_record(store, tenant, alive) == alive

    def test_erasing_a_users_answers_leaves_those_of_other_users(self, store: Store, tenant: str) -> None:
        ada, bob = make_record(), make_record(user="bob")
        for record in (ada, bob):
            _save(store, tenant, record)
        assert store.write(tenant, lambda tx: tx.idempotency.erase("ada")) == 1
        assert _find_record(store, tenant, ada) is None
        assert _find_record(store, tenant, bob) == bob

    def test_erasing_a_users_answers_takes_those_given_on_behalf_of_nobody(self, store: Store, tenant: str) -> None:
        # An admin that acts for nobody may have been answered with that user's memories.
        record = make_record(principal="admin", user=None)
        store.write(tenant, lambda tx: tx.idempotency.insert(record))
        assert store.write(tenant, lambda tx: tx.idempotency.erase("ada")) == 1
        assert _find_record(store, tenant, record) is None

    def test_erasing_everybodys_answers_leaves_none(self, store: Store, tenant: str) -> None:
        records = [make_record(), make_record(user="bob"), make_record(user=None)]
        for record in records:
            _save(store, tenant, record)
        assert store.write(tenant, lambda tx: tx.idempotency.erase(None)) == 3
        assert [_find_record(store, tenant, record) for record in records] == [None] * 3

    # Tenants and keys

    def test_tenant_is_created_once(self, store: Store) -> None:
        tenant = Tenant(new_tenant(), START)
        assert store.create_tenant(tenant) is True
        assert store.create_tenant(Tenant(tenant.id, START + timedelta(days=1))) is False
        assert [found for found in store.list_tenants() if found.id == tenant.id] == [tenant]

    def test_tenants_are_listed_oldest_first(self, store: Store) -> None:
        older, newer = new_tenant(), new_tenant()
        store.create_tenant(Tenant(newer, START + timedelta(seconds=1)))
        store.create_tenant(Tenant(older, START))
        ids = [tenant.id for tenant in store.list_tenants()]
        assert ids.index(older) < ids.index(newer)

    @pytest.mark.parametrize("role", list(Role))
    def test_key_is_found_by_its_hash(self, store: Store, tenant: str, role: Role) -> None:
        bare = make_key(tenant, role=role, user=None)
        full = make_key(tenant, role=role, agent="coder", label="laptop", last_used_at=START, revoked_at=START)
        for key in (bare, full):
            _add_key(store, key)
            assert store.find_key(key.secret_hash) == key
        assert store.has_keys()

    def test_unknown_hash_is_no_key(self, store: Store, tenant: str) -> None:
        assert store.find_key(make_key(tenant).secret_hash) is None

    def test_keys_are_listed_oldest_first(self, store: Store, tenant: str) -> None:
        newer = make_key(tenant, created_at=START + timedelta(seconds=1))
        older = make_key(tenant)
        for key in (newer, older):
            _add_key(store, key)
        assert store.read(tenant, lambda tx: tx.keys.all()) == [older, newer]

    def test_second_key_with_the_same_hash_conflicts(self, store: Store, tenant: str) -> None:
        key = make_key(tenant)
        store.write(tenant, lambda tx: tx.keys.insert(key))
        twin = make_key(tenant, secret_hash=key.secret_hash)
        with pytest.raises(Conflict):
            store.write(tenant, lambda tx: tx.keys.insert(twin))

    def test_key_is_revoked_once(self, store: Store, tenant: str) -> None:
        key = make_key(tenant)
        store.write(tenant, lambda tx: tx.keys.insert(key))
        later = START + timedelta(seconds=1)
        assert store.write(tenant, lambda tx: tx.keys.revoke(key.id, START)) is True
        assert store.write(tenant, lambda tx: tx.keys.revoke(key.id, later)) is False
        assert store.write(tenant, lambda tx: tx.keys.revoke(make_key(tenant).id, START)) is False
        assert store.find_key(key.secret_hash) == replace(key, revoked_at=START)

    def test_last_use_of_a_key_moves_forward_only(self, store: Store, tenant: str) -> None:
        key = make_key(tenant)
        store.write(tenant, lambda tx: tx.keys.insert(key))
        for at in (START, START + timedelta(seconds=5), START + timedelta(seconds=1)):
            store.write(tenant, lambda tx: tx.keys.touch({key.id: at, make_key(tenant).id: at}))
        store.write(tenant, lambda tx: tx.keys.touch({}))
        assert store.find_key(key.secret_hash) == replace(key, last_used_at=START + timedelta(seconds=5))

    # One tenant sees nothing of another

    def test_neighbour_reads_nothing(self, store: Store, tenant: str, neighbour: str) -> None:
        memory = make_memory(tenant, name="deploy", dedup_key="same", kind=Kind.CHAT_MESSAGE, session="s1")
        record, document = make_record(), make_document()
        _insert(store, memory, make_event(memory))
        _insert(store, make_memory(tenant, kind=Kind.DOCUMENT_CHUNK, source_ref=document.id))
        _save(store, tenant, record)
        _add_key(store, make_key(tenant))
        _put(store, tenant, document)
        store.write(tenant, lambda tx: tx.tool_outputs.insert(memory.id, "payload"))

        def snoop(tx: Reader) -> list[Any]:
            return [
                tx.memories.get(memory.id),
                tx.memories.find_named("ada", None, "deploy"),
                tx.memories.find_duplicate("ada", None, "same"),
                tx.idempotency.find(record.principal, record.route, record.key),
                *tx.memories.get_many([memory.id]),
                *tx.memories.page(Query((EVERYBODY,)), START),
                *tx.memories.scan(EVERYBODY, "", 10),
                *tx.events.of([memory.id]),
                *tx.keys.all(),
                tx.tool_outputs.get(memory.id),
                tx.index.turn_before(replace(memory, id="mem_7ZZZZZZZZZZZZZZZZZZZZZZZZZ", session="s1")),
                tx.documents.get(document.owner, document.id),
                tx.documents.find_titled(document.owner, document.title),
                tx.documents.find(EVERYBODY, document.id),
                *tx.index.load("ada", "", 10),
                *(row for page in tx.index.follow([IndexPlace("ada", 0, "")], 10) for row in page.rows),
                *tx.index.users(),
                *tx.documents.page(EVERYBODY, None, 10, whole=True),
                *tx.documents.chunks_of(document),
                tx.index.has_waiting() or None,
                tx.index.count("model-1").total or None,
            ]

        nothing = store.read(neighbour, snoop)
        assert nothing == [None] * len(nothing)
        nothing = store.write(neighbour, snoop)
        assert nothing == [None] * len(nothing)

    def test_neighbour_changes_nothing(self, store: Store, tenant: str, neighbour: str) -> None:
        memory, key, record = make_memory(tenant), make_key(tenant), make_record()
        document = make_document()
        _insert(store, memory, make_event(memory))
        _save(store, tenant, record)
        _add_key(store, key)
        _put(store, tenant, document)
        store.write(tenant, lambda tx: tx.tool_outputs.insert(memory.id, "payload"))
        _save_vectors(store, tenant, make_embedded(memory))
        index = _index(store, tenant, "ada")

        def vandalise(tx: Writer) -> list[Any]:
            tx.memories.add_accesses({memory.id: (1, START)})
            tx.keys.touch({key.id: START})
            tx.index.release_claims()
            tx.documents.erase(document)
            return [
                writing.replace(tx, replace(memory, tenant=neighbour, content="mine"), memory.updated_at),
                tx.memories.erase([memory.id]),
                tx.idempotency.drop_expired(START + timedelta(days=999)),
                tx.idempotency.erase(None),
                tx.idempotency.erase("ada"),
                tx.keys.revoke(key.id, START),
                tx.index.save_vectors([make_embedded(memory, vectors=b"mine")]),
                tx.index.unindex("another", 10),
                tx.index.claim_waiting(START, START, 10),
                writing.adopt(tx, 10),
                tx.documents.erase_all(EVERYBODY),
            ]

        assert not any(store.write(neighbour, vandalise))
        assert _index(store, tenant, "ada") == index
        assert store.read(tenant, lambda tx: tx.tool_outputs.get(memory.id)) == "payload"
        assert _documents(store, tenant, EVERYBODY, 10) == [document]
        assert store.read(tenant, lambda tx: tx.memories.get(memory.id)) == memory
        assert len(store.read(tenant, lambda tx: tx.events.of([memory.id]))) == 1
        assert _find_record(store, tenant, record) == record
        assert store.find_key(key.secret_hash) == key

    def test_neighbours_share_ids_names_texts_and_requests_without_clashing(
        self, store: Store, tenant: str, neighbour: str
    ) -> None:
        memory, record = make_memory(tenant, name="deploy", dedup_key="same"), make_record()
        twin = replace(memory, tenant=neighbour)
        _insert(store, memory)
        _insert(store, twin)
        for whose in (tenant, neighbour):
            assert store.write(whose, lambda tx: tx.idempotency.insert(record)) is True
        store.write(neighbour, lambda tx: tx.memories.erase([memory.id]))
        assert store.read(tenant, lambda tx: tx.memories.get(memory.id)) == memory

    def test_memory_is_stored_under_the_transactions_tenant(self, store: Store, tenant: str, neighbour: str) -> None:
        memory = make_memory(neighbour)
        assert store.write(tenant, lambda tx: writing.insert(tx, memory)) is True
        assert store.read(neighbour, lambda tx: tx.memories.get(memory.id)) is None
        assert store.read(tenant, lambda tx: tx.memories.get(memory.id)) == replace(memory, tenant=tenant)

    def test_tenants_working_at_once_stay_apart(self, store: Store, tenant: str, neighbour: str) -> None:
        def work(number: int) -> bool:
            whose = (tenant, neighbour)[number % 2]
            memory = _insert(store, make_memory(whose, importance=number))
            seen = store.read(whose, lambda tx: tx.memories.page(Query((EVERYBODY,), limit=100), START))
            return memory in seen and all(row.tenant == whose and row.importance % 2 == number % 2 for row in seen)

        with ThreadPoolExecutor(8) as threads:
            assert all(threads.map(work, range(64)))

    # Upkeep

    def test_ping_of_an_open_store_is_silent(self, store: Store) -> None:
        store.ping()

    @pytest.mark.parametrize("thorough", [True, False])
    def test_check_of_whole_memories_finds_nothing(self, store: Store, tenant: str, thorough: bool) -> None:
        memory = make_memory(tenant)
        _insert(store, memory, make_event(memory), make_event(memory, "updated"))
        assert _finding(store, tenant, thorough) == "ok"

    def test_check_finds_a_memory_without_its_created_event(self, store: Store, tenant: str) -> None:
        _insert(store, make_memory(tenant))
        assert _finding(store, tenant, True) != "ok"

    def test_check_finds_events_of_no_memory(self, store: Store, tenant: str) -> None:
        store.write(tenant, lambda tx: tx.events.append([make_event(make_memory(tenant), "deleted")]))
        assert _finding(store, tenant, True) != "ok"

    def test_erased_memories_leave_a_whole_store(self, store: Store, tenant: str) -> None:
        memories = [make_memory(tenant) for _ in range(3)]
        for memory in memories:
            _insert(store, memory, make_event(memory))
        store.write(tenant, lambda tx: tx.memories.erase([memory.id for memory in memories[:2]]))
        store.checkpoint()
        assert _finding(store, tenant, True) == "ok"

    def test_upkeep_beside_writers_harms_nobody(self, store: Store, tenant: str) -> None:
        stop = threading.Event()

        def keep_up() -> None:
            while not stop.is_set():
                store.checkpoint()
                assert _finding(store, tenant, False) == "ok"

        def write(_: int) -> None:
            memory = make_memory(tenant)
            _insert(store, memory, make_event(memory))

        with ThreadPoolExecutor(5) as threads:
            upkeep = threads.submit(keep_up)
            try:
                list(threads.map(write, range(60)))
            finally:
                stop.set()
            upkeep.result()
        assert len(store.read(tenant, lambda tx: tx.memories.scan(EVERYBODY, "", 100))) == 60

    def test_closed_store_refuses_everything(self, store: Store, tenant: str) -> None:
        store.close()
        calls: list[Callable[[], Any]] = [
            store.ping,
            store.list_tenants,
            lambda: store.read(tenant, lambda tx: tx.keys.all()),
            lambda: store.write(tenant, lambda tx: writing.insert(tx, make_memory(tenant))),
        ]
        for call in calls:
            with pytest.raises(StoreError):
                call()

    def test_closing_twice_is_harmless(self, store: Store) -> None:
        store.close()
        store.close()


def _replace(store: Store, memory: Memory, **fields: Any) -> Memory:
    after = replace(memory, updated_at=memory.updated_at + timedelta(seconds=1), **fields)
    assert store.write(memory.tenant, lambda tx: writing.replace(tx, after, memory.updated_at)) is True
    return after


def _give_to_and_fro(store: Store, memory: Memory, times: int) -> Memory:
    for number in range(times):
        memory = _replace(store, memory, owner=Owner("ada" if number % 2 else "bob"))
    return memory


def _index(store: Store, tenant: str, user: str | None, page: int = 100) -> list[IndexRow]:
    rows: list[IndexRow] = []
    while piece := store.read(tenant, lambda tx: tx.index.load(user, rows[-1].memory_id if rows else "", page)):
        assert len(piece) <= page
        rows += piece
    return rows


def _refresh(store: Store, tenant: str, user: str | None, since: int, page: int = 100) -> list[IndexRow]:
    rows: list[IndexRow] = []
    place = IndexPlace(user, since, "")
    while piece := _changed(store, tenant, place, page).rows:
        assert len(piece) <= page
        rows += piece
        place = IndexPlace(user, piece[-1].change, piece[-1].memory_id)
    assert rows == sorted(rows, key=lambda row: (row.change, row.memory_id))
    return rows


def _follow(store: Store, tenant: str, since: int, seen: dict[str, int]) -> int:
    """Note what changed since a watermark, and return the next one, both of the same moment."""
    watermark, rows = _changed(store, tenant, IndexPlace("ada", since, ""), 1000)
    seen.update((row.memory_id, row.change) for row in rows)
    return watermark


def _changed(store: Store, tenant: str, place: IndexPlace, limit: int) -> IndexPage:
    (page,) = store.read(tenant, lambda tx: tx.index.follow([place], limit), snapshot=False)
    return page


def _save_vectors(store: Store, tenant: str, *embedded: Embedded) -> int:
    return store.write(tenant, lambda tx: tx.index.save_vectors(embedded))


def _turn_before(store: Store, memory: Memory) -> Memory | None:
    return store.read(memory.tenant, lambda tx: tx.index.turn_before(memory))


def _put(store: Store, tenant: str, document: Document) -> None:
    store.write(tenant, lambda tx: tx.documents.put(document))


def _documents(store: Store, tenant: str, part: OwnerFilter, page: int) -> list[Document]:
    found: list[Document] = []
    while piece := store.read(
        tenant, lambda tx: tx.documents.page(part, found[-1] if found else None, page, whole=True)
    ):
        assert len(piece) <= page
        found += piece
    bare = store.read(tenant, lambda tx: tx.documents.page(part, None, len(found) + 1, whole=False))
    assert bare == [replace(document, content="") for document in found]
    return found


def _document_key(document: Document) -> tuple[str, str, str]:
    return document.id, document.owner.user or "", document.owner.agent or ""


def _create_tenant(store: Store) -> str:
    tenant = new_tenant()
    assert store.create_tenant(Tenant(tenant, START))
    return tenant


def _insert(store: Store, memory: Memory, *events: Event) -> Memory:
    def work(tx: Writer) -> bool:
        inserted = writing.insert(tx, memory)
        tx.events.append(events)
        return inserted

    assert store.write(memory.tenant, work) is True
    return memory


def _created(store: Store, memory: Memory) -> Memory:
    return _insert(store, memory, make_event(memory))


def _insert_series(store: Store, tenant: str, count: int, *, same_time_every: int) -> list[Memory]:
    """Named memories of several owners, among which some of one owner share their time and their importance."""
    owners = (Owner("ada"), Owner("bob", "coder"), Owner())
    return [
        _insert(
            store,
            make_memory(
                tenant,
                name=f"name-{number}",
                owner=owners[number * 2 // 3 % 3],
                importance=number // same_time_every % 2,
                created_at=START + timedelta(seconds=number // same_time_every),
            ),
        )
        for number in range(count)
    ]


def _list(store: Store, tenant: str, *, owners: tuple[OwnerFilter, ...] = (EVERYBODY,), **fields: Any) -> list[Memory]:
    query = Query(owners, **({"limit": 100} | fields))
    return store.read(tenant, lambda tx: tx.memories.page(query, START))


def _save(store: Store, tenant: str, record: IdempotencyRecord) -> bool:
    return store.write(tenant, lambda tx: tx.idempotency.insert(record))


def _add_key(store: Store, key: ApiKey) -> None:
    store.write(key.tenant, lambda tx: tx.keys.insert(key))


def _find_named(store: Store, tenant: str, user: str | None, agent: str | None) -> Memory | None:
    return store.read(tenant, lambda tx: tx.memories.find_named(user, agent, "deploy"))


def _find_duplicate(store: Store, tenant: str, user: str | None, agent: str | None) -> Memory | None:
    return store.read(tenant, lambda tx: tx.memories.find_duplicate(user, agent, "same"))


def _scan(store: Store, tenant: str, after: str, limit: int) -> list[Memory]:
    return store.read(tenant, lambda tx: tx.memories.scan(EVERYBODY, after, limit))


def _find_record(store: Store, tenant: str, record: IdempotencyRecord) -> IdempotencyRecord | None:
    return store.read(tenant, lambda tx: tx.idempotency.find(record.principal, record.route, record.key))


def _finding(store: Store, tenant: str, thorough: bool) -> str:
    """What the check says about one tenant, whose name is part of the finding's name."""
    (finding,) = [said for name, said in store.check(thorough=thorough).items() if tenant in name]
    return finding


def _by_id(memory: Memory) -> str:
    return memory.id


def _stop(_: Any) -> None:
    raise RuntimeError


def _in_thread(call: Callable[[], object]) -> None:
    with ThreadPoolExecutor(1) as thread:
        thread.submit(call).result()
