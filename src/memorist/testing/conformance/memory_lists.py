"""What every store must do: how memories are listed and scanned: a part of MemoryConformance."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from memorist.memories.values import Kind, Memory, Order, Position, Query, Retention, Status
from memorist.platform.values import (
    Owner,
    OwnerFilter,
)
from memorist.ports import Store
from memorist.testing.clocks import START
from memorist.testing.conformance.fixtures import StoreFixtures
from memorist.testing.conformance.helpers import EVERYBODY, by_id, insert
from memorist.testing.makers import make_memory


class MemoryListConformance(StoreFixtures):
    """How memories are listed and scanned: a part of MemoryConformance."""

    def test_list_is_newest_first_and_by_id_within_a_moment(self, store: Store, tenant: str) -> None:
        memories = _insert_series(store, tenant, 6, same_time_every=3)
        expected = sorted(memories, key=lambda memory: (memory.created_at, memory.id), reverse=True)
        assert _list(store, tenant) == expected

    def test_named_memories_are_counted_and_found_by_their_name(self, store: Store, tenant: str) -> None:
        fields = [("a", "user", "ada"), ("b", "project", "ada"), ("a", "user", "bob"), (None, "user", "ada")]
        memories = [make_memory(tenant, name=name, category=type_, owner=Owner(user)) for name, type_, user in fields]
        expired = make_memory(tenant, name="c", category="user", owner=Owner("ada"), expires_at=START)
        for memory in (*memories, expired):
            insert(store, memory)

        def count(category: str | None, *users: str) -> int:
            owners = [OwnerFilter(user) for user in users]
            return store.read(tenant, lambda tx: tx.memories.count_named(owners, category, START))

        assert (count(None, "ada"), count(None, "ada", "bob"), count("user", "ada", "bob")) == (2, 3, 2)
        found = _list(store, tenant, named=True, name="a")
        assert {memory.id for memory in found} == {memories[0].id, memories[2].id}

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
        wanted = insert(store, make_memory(tenant, **filters))
        insert(store, make_memory(tenant))
        assert _list(store, tenant, owners=(breadth,), **filters) == [wanted]

    @pytest.mark.parametrize("order", list(Order))
    @pytest.mark.parametrize("breadth", [EVERYBODY, OwnerFilter("ada", any_agent=True), OwnerFilter("ada")])
    def test_what_is_past_its_time_is_listed_where_a_sweep_brings_it(
        self, store: Store, tenant: str, order: Order, breadth: OwnerFilter
    ) -> None:
        names = (f"name_{number}" for number in range(9))

        def past(**fields: Any) -> Memory:
            return insert(store, make_memory(tenant, name=next(names), expires_at=START, **fields))

        ageing = {"retention": Retention.POLICY}
        messages = [past(**ageing, kind=Kind.CHAT_MESSAGE) for _ in range(2)]
        deleted = [past(**ageing), past(kind=Kind.CHAT_MESSAGE), past(status=Status.ARCHIVED)]
        archived = past(**ageing, status=Status.ARCHIVED)
        asked: dict[str, Any] = {
            "owners": (breadth,), "order": order, "named": True, "archiving": frozenset({Kind.CHAT_MESSAGE}),
        }  # fmt: skip

        def ids(status: Status, **fields: Any) -> set[str]:
            return {memory.id for memory in _list(store, tenant, status=status, **(asked | fields))}

        assert ids(Status.ACTIVE) == set()
        assert ids(Status.ARCHIVED) == {archived.id, *(memory.id for memory in messages)}
        assert ids(Status.SOFT_DELETED) == {memory.id for memory in deleted}
        assert ids(Status.ARCHIVED, archiving=None) == {archived.id}
        first, *_ = _list(store, tenant, status=Status.SOFT_DELETED, **asked)
        last = Position(first.created_at, first.id, first.importance)
        rest = _list(store, tenant, status=Status.SOFT_DELETED, **asked, after=last, limit=2)
        assert len({first.id} | {memory.id for memory in rest}) == 3

    @pytest.mark.parametrize("order", list(Order))
    @pytest.mark.parametrize("breadth", [EVERYBODY, OwnerFilter("ada")], ids=["tenant", "user"])
    def test_named_list_leaves_out_memories_without_a_name(
        self, store: Store, tenant: str, order: Order, breadth: OwnerFilter
    ) -> None:
        named = insert(store, make_memory(tenant, name="deploy"))
        insert(store, make_memory(tenant))
        assert _list(store, tenant, owners=(breadth,), named=True, order=order) == [named]

    def test_list_leaves_out_what_is_past_its_expiry(self, store: Store, tenant: str) -> None:
        insert(store, make_memory(tenant, expires_at=START))
        alive = insert(store, make_memory(tenant, expires_at=START + timedelta(microseconds=1)))
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
        rows = {label: insert(store, make_memory(tenant, owner=whose)) for label, whose in owners.items()}
        expected = {rows[label].id for label in seen}
        assert {memory.id for memory in _list(store, tenant, owners=(owner,))} == expected
        scanned = store.read(tenant, lambda tx: tx.memories.scan(owner, "", 100))
        assert {memory.id for memory in scanned} == expected

    def test_scan_gives_every_status_in_id_order_in_pieces(self, store: Store, tenant: str) -> None:
        memories = [
            insert(store, make_memory(tenant, status=status, expires_at=START)) for status in Status for _ in range(2)
        ]
        found: list[Memory] = []
        after = ""
        while piece := _scan(store, tenant, after, 3):
            assert len(piece) <= 3
            found += piece
            after = piece[-1].id
        assert found == sorted(memories, key=by_id)


def _insert_series(store: Store, tenant: str, count: int, *, same_time_every: int) -> list[Memory]:
    """Named memories of several owners, among which some of one owner share their time and their importance."""
    owners = (Owner("ada"), Owner("bob", "coder"), Owner())
    return [
        insert(
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


def _scan(store: Store, tenant: str, after: str, limit: int) -> list[Memory]:
    return store.read(tenant, lambda tx: tx.memories.scan(EVERYBODY, after, limit))
