"""What every store must do with `tx.memories`: the rows."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memorist.errors import Conflict
from memorist.ids import new_id
from memorist.memories import writing
from memorist.memories.values import Kind, Memory, Query, Status
from memorist.platform.values import Owner, OwnerFilter
from memorist.ports import Store
from memorist.testing.clocks import START
from memorist.testing.conformance.helpers import EVERYBODY, by_id, index_rows, insert
from memorist.testing.conformance.memory_lists import MemoryListConformance
from memorist.testing.makers import full_memory, make_event, make_memory

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


class MemoryConformance(MemoryListConformance):
    """`tx.memories`: the rows."""

    def test_every_field_comes_back_as_written(self, store: Store, tenant: str) -> None:
        memory = full_memory(tenant)
        insert(store, memory)
        found = store.read(tenant, lambda tx: tx.memories.get(memory.id))
        assert found == memory
        assert isinstance(found.kind, Kind)
        assert isinstance(found.status, Status)
        assert found.created_at.tzinfo is UTC

    def test_absent_fields_come_back_absent(self, store: Store, tenant: str) -> None:
        memory = make_memory(tenant, owner=Owner())
        insert(store, memory)
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
        insert(store, memory, event)
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
        insert(store, memory)
        assert store.read(tenant, lambda tx: tx.memories.get(memory.id)) == memory

    def test_unknown_id_is_none(self, store: Store, tenant: str) -> None:
        assert store.read(tenant, lambda tx: tx.memories.get(make_memory(tenant).id)) is None

    def test_get_memories_gives_those_that_exist(self, store: Store, tenant: str) -> None:
        here = [insert(store, make_memory(tenant)) for _ in range(3)]
        wanted = [here[2].id, make_memory(tenant).id, here[0].id, here[0].id]
        found = store.read(tenant, lambda tx: tx.memories.get_many(wanted))
        assert sorted(found, key=by_id) == sorted([here[0], here[2]], key=by_id)

    def test_get_memories_of_nothing_is_nothing(self, store: Store, tenant: str) -> None:
        insert(store, make_memory(tenant))
        assert store.read(tenant, lambda tx: tx.memories.get_many([])) == []

    def test_get_memories_takes_a_thousand_ids(self, store: Store, tenant: str) -> None:
        memory = insert(store, make_memory(tenant))
        ids = [make_memory(tenant).id for _ in range(1000)] + [memory.id]
        assert store.read(tenant, lambda tx: tx.memories.get_many(ids)) == [memory]

    def test_second_insert_of_an_id_writes_nothing(self, store: Store, tenant: str) -> None:
        memory = insert(store, make_memory(tenant))
        twin = make_memory(tenant, id=memory.id, content="other")
        assert store.write(tenant, lambda tx: writing.insert(tx, twin)) is False
        assert store.read(tenant, lambda tx: tx.memories.get(memory.id)) == memory

    def test_active_text_exists_once_an_owner(self, store: Store, tenant: str) -> None:
        first = insert(store, make_memory(tenant, dedup_key="same"))
        assert store.write(tenant, lambda tx: writing.insert(tx, make_memory(tenant, dedup_key="same"))) is False
        for owner in (Owner("bob"), Owner("ada", "coder"), Owner(None, "coder"), Owner()):
            insert(store, make_memory(tenant, dedup_key="same", owner=owner))
        assert store.read(tenant, lambda tx: tx.memories.find_duplicate("ada", None, "same")) == first

    def test_active_name_exists_once_an_owner(self, store: Store, tenant: str) -> None:
        first = insert(store, make_memory(tenant, name="deploy"))
        assert store.write(tenant, lambda tx: writing.insert(tx, make_memory(tenant, name="deploy"))) is False
        for owner in (Owner("bob"), Owner("ada", "coder"), Owner(None, "coder"), Owner()):
            insert(store, make_memory(tenant, name="deploy", owner=owner))
        assert store.read(tenant, lambda tx: tx.memories.find_named("ada", None, "deploy")) == first

    def test_memories_without_a_name_do_not_clash(self, store: Store, tenant: str) -> None:
        insert(store, make_memory(tenant))
        insert(store, make_memory(tenant))
        assert store.read(tenant, lambda tx: tx.memories.find_named("ada", None, "")) is None

    @pytest.mark.parametrize("status", [status for status in Status if status is not Status.ACTIVE])
    def test_inactive_memory_blocks_neither_name_nor_text(self, store: Store, tenant: str, status: Status) -> None:
        insert(store, make_memory(tenant, name="deploy", dedup_key="same", status=status))
        assert store.read(tenant, lambda tx: tx.memories.find_named("ada", None, "deploy")) is None
        assert store.read(tenant, lambda tx: tx.memories.find_duplicate("ada", None, "same")) is None
        insert(store, make_memory(tenant, name="deploy", dedup_key="same"))

    def test_find_named_wants_exactly_that_owner(self, store: Store, tenant: str) -> None:
        memory = insert(store, make_memory(tenant, name="deploy", owner=Owner("ada", "coder")))
        found = [
            _find_named(store, tenant, *owner)
            for owner in (("ada", "coder"), ("ada", None), (None, "coder"), (None, None), ("bob", "coder"))
        ]
        assert found == [memory, None, None, None, None]

    def test_find_duplicate_wants_exactly_that_owner(self, store: Store, tenant: str) -> None:
        memory = insert(store, make_memory(tenant, dedup_key="same", owner=Owner(None, "coder")))
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
        assert [row.memory_id for row in index_rows(store, tenant, "ada")] == ids
        assert store.read(neighbour, lambda tx: tx.memories.get_many(ids)) == []
        assert store.write(tenant, lambda tx: writing.insert_many(tx, [])) is True
        assert store.write(tenant, lambda tx: writing.insert_many(tx, [make_memory(tenant), memories[1]])) is False

    def test_one_of_many_concurrent_equal_inserts_wins(self, store: Store, tenant: str) -> None:
        def insert(_: int) -> bool:
            memory = make_memory(tenant, dedup_key="same")
            return store.write(tenant, lambda tx: writing.insert(tx, memory))

        with ThreadPoolExecutor(16) as threads:
            assert sum(threads.map(insert, range(48))) == 1

    def test_replace_changes_every_field_but_identity_and_reads(self, store: Store, tenant: str) -> None:
        before = insert(store, make_memory(tenant, access_count=3, last_accessed_at=START))
        after = replace(
            full_memory(tenant),
            id=before.id,
            created_at=before.created_at,
            governed_by=before.governed_by,
            access_count=99,
            last_accessed_at=None,
        )
        assert store.write(tenant, lambda tx: writing.replace(tx, after, before.updated_at)) is True
        found = store.read(tenant, lambda tx: tx.memories.get(before.id))
        assert found == replace(after, access_count=3, last_accessed_at=START)

    def test_replace_of_a_changed_memory_does_nothing(self, store: Store, tenant: str) -> None:
        memory = insert(store, make_memory(tenant))
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
        insert(store, make_memory(tenant, **clash))
        memory = insert(store, make_memory(tenant))
        with pytest.raises(Conflict):
            store.write(tenant, lambda tx: writing.replace(tx, replace(memory, **clash), memory.updated_at))
        assert store.read(tenant, lambda tx: tx.memories.get(memory.id)) == memory

    def test_one_of_many_concurrent_replacements_wins(self, store: Store, tenant: str) -> None:
        memory = insert(store, make_memory(tenant))

        def change(number: int) -> bool:
            after = replace(memory, importance=number, updated_at=START + timedelta(seconds=number))
            return store.write(tenant, lambda tx: writing.replace(tx, after, memory.updated_at))

        with ThreadPoolExecutor(16) as threads:
            assert sum(threads.map(change, range(1, 33))) == 1

    def test_accesses_add_up(self, store: Store, tenant: str) -> None:
        one, two = insert(store, make_memory(tenant)), insert(store, make_memory(tenant))
        later = START + timedelta(seconds=1)
        store.write(tenant, lambda tx: tx.memories.add_accesses({one.id: (2, START), two.id: (1, START)}))
        counts = store.write(tenant, lambda tx: tx.memories.add_accesses({one.id: (3, later)}))
        assert counts == {one.id: 5}
        found = store.read(tenant, lambda tx: [tx.memories.get(one.id), tx.memories.get(two.id)])
        assert found == [
            replace(one, access_count=5, last_accessed_at=later),
            replace(two, access_count=1, last_accessed_at=START),
        ]

    def test_accesses_that_arrive_late_count_but_do_not_turn_time_back(self, store: Store, tenant: str) -> None:
        memory = insert(store, make_memory(tenant))
        later = START + timedelta(seconds=1)
        store.write(tenant, lambda tx: tx.memories.add_accesses({memory.id: (1, later)}))
        store.write(tenant, lambda tx: tx.memories.add_accesses({memory.id: (4, START)}))
        found = store.read(tenant, lambda tx: tx.memories.get(memory.id))
        assert found == replace(memory, access_count=5, last_accessed_at=later)

    def test_accesses_of_missing_memories_and_none_at_all_do_nothing(self, store: Store, tenant: str) -> None:
        assert store.write(tenant, lambda tx: tx.memories.add_accesses({})) == {}
        missing = {make_memory(tenant).id: (1, START)}
        assert store.write(tenant, lambda tx: tx.memories.add_accesses(missing)) == {}
        assert store.read(tenant, lambda tx: tx.memories.scan(EVERYBODY, "", 10)) == []

    def test_held_memories_are_those_that_exist(self, store: Store, tenant: str, neighbour: str) -> None:
        memories = [make_memory(tenant), make_memory(tenant)]
        store.write(tenant, lambda tx: writing.insert_many(tx, memories))
        asked = [memories[1].id, new_id("mem"), memories[0].id]
        assert store.write(tenant, lambda tx: tx.memories.hold(asked)) == {memory.id for memory in memories}
        assert store.write(tenant, lambda tx: tx.memories.hold(asked, wait=False)) == {one.id for one in memories}
        assert store.write(tenant, lambda tx: tx.memories.hold([])) == set()
        assert store.write(neighbour, lambda tx: tx.memories.hold(asked)) == set()


def _find_named(store: Store, tenant: str, user: str | None, agent: str | None) -> Memory | None:
    return store.read(tenant, lambda tx: tx.memories.find_named(user, agent, "deploy"))


def _find_duplicate(store: Store, tenant: str, user: str | None, agent: str | None) -> Memory | None:
    return store.read(tenant, lambda tx: tx.memories.find_duplicate(user, agent, "same"))
