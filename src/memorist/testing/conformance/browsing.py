"""What every store must do with `tx.browsing`: walks over what a caller sees."""

from datetime import timedelta
from functools import partial

import pytest

from memorist.memories.values import Kind, Memory, Retention, Status
from memorist.platform.values import Owner, OwnerFilter
from memorist.ports import Reader, Store
from memorist.testing.clocks import START
from memorist.testing.conformance.fixtures import StoreFixtures
from memorist.testing.conformance.helpers import ADA, EVERYBODY, insert_all
from memorist.testing.makers import make_memory
from memorist.times import to_micros
from memorist.views.values import BrowseOrder, BrowsePosition, FacetRow, ProjectRow, Stretch, Walk


class BrowsingConformance(StoreFixtures):
    """`tx.browsing`: walks over what a caller sees."""

    @pytest.mark.parametrize("order", list(BrowseOrder))
    @pytest.mark.parametrize("owner", [EVERYBODY, ADA, OwnerFilter("ada")])
    @pytest.mark.parametrize(("span", "limit"), [(1, 9), (2, 9), (9, 2), (9, 9)])
    def test_stretches_of_a_walk_join_to_all_of_it(
        self, store: Store, tenant: str, neighbour: str, order: BrowseOrder, owner: OwnerFilter, span: int, limit: int
    ) -> None:
        # Some of them are as old as others, and as important.
        memories = [
            make_memory(tenant, created_at=START + timedelta(seconds=number // 2), importance=1 + number % 2)
            for number in range(6)
        ]
        insert_all(store, *memories, make_memory(tenant, status=Status.ARCHIVED, importance=1))
        insert_all(store, make_memory(neighbour, importance=1))
        expected = sorted((_order_key(memory, order) for memory in memories), reverse=order is not BrowseOrder.OLDEST)
        found = _walked(store, tenant, Walk(owner, Status.ACTIVE, order), span, limit)
        assert [
            (position.importance if order is BrowseOrder.IMPORTANCE else 0, *position[1:]) for position in found
        ] == expected

    def test_every_text_that_may_fit_is_a_candidate(self, store: Store, tenant: str) -> None:
        fits = [
            make_memory(tenant, content="100% Sure"),
            make_memory(tenant, content="x", name="is_100sure"),
            make_memory(tenant, content="x", description="they are 100% SURE"),
            make_memory(tenant, content="Straße"),
        ]
        insert_all(store, *fits, make_memory(tenant, content="1000 sure"), make_memory(tenant, content="100 sure"))
        for pattern, wanted in (("%100!% sure%", {0, 2, 3}), ("%100sure%", {1, 3}), (None, {3})):
            found = _walked(store, tenant, Walk(ADA, Status.ACTIVE, pattern=pattern), 100, 100)
            assert {position.id for position in found} == {fits[number].id for number in wanted}, pattern

    def test_a_ttl_ends_what_is_in_use_and_anonymized_rows_are_nobodys(self, store: Store, tenant: str) -> None:
        insert_all(
            store,
            make_memory(tenant, expires_at=START),
            make_memory(tenant, status=Status.ARCHIVED, anonymized_at=START),
            make_memory(tenant, status=Status.SOFT_DELETED, expires_at=START),
        )
        shown = [len(_walked(store, tenant, Walk(ADA, status), 10, 10)) for status in list(Status)[:3]]
        assert shown == [0, 0, 1]
        counted = store.read(tenant, lambda tx: tx.browsing.count_facets("ada", None, START, 10, any_user=False))
        assert counted == [FacetRow("ada", "soft_deleted", "fact", "", "user", "", 1)]

    @pytest.mark.parametrize("order", list(BrowseOrder))
    @pytest.mark.parametrize("owner", [EVERYBODY, ADA, OwnerFilter("ada")])
    def test_what_is_past_its_time_is_walked_to_where_a_sweep_brings_it(
        self, store: Store, tenant: str, order: BrowseOrder, owner: OwnerFilter
    ) -> None:
        past, ageing = {"expires_at": START, "importance": 1}, {"retention": Retention.POLICY}
        message = make_memory(tenant, kind=Kind.CHAT_MESSAGE, **past, **ageing)
        fact, kept = make_memory(tenant, **past, **ageing), make_memory(tenant, **past)
        archived = make_memory(tenant, status=Status.ARCHIVED, **past)
        aged = make_memory(tenant, status=Status.ARCHIVED, **past, **ageing)
        insert_all(store, message, fact, kept, archived, aged, make_memory(tenant))

        def walked(status: Status, ended: Status) -> set[str]:
            walk = Walk(owner, status, order, ended=ended, archiving=frozenset({Kind.CHAT_MESSAGE}))
            return {position.id for position in _walked(store, tenant, walk, 2, 2)}

        assert walked(Status.ACTIVE, Status.ARCHIVED) == {message.id}
        assert walked(Status.ACTIVE, Status.SOFT_DELETED) == {fact.id, kept.id}
        assert walked(Status.ARCHIVED, Status.SOFT_DELETED) == {archived.id}

    def test_combinations_are_counted_from_one_on(self, store: Store, tenant: str, neighbour: str) -> None:
        owners = (Owner("ada"), Owner("ada"), Owner("ada", "coder"), Owner("bob"), Owner())
        insert_all(store, *(make_memory(tenant, owner=owner) for owner in owners), make_memory(neighbour))
        for any_user, users in ((False, {"ada"}), (True, {"", "ada", "bob"})):
            rows: list[FacetRow] = []
            while True:
                after = rows[-1] if rows else None
                some = store.read(tenant, partial(_count_one, after, any_user))
                rows += some
                if not some:
                    break
            assert {row.user for row in rows} == users
            assert sorted(row.memories for row in rows if row.user == "ada") == [1, 2]

    def test_projects_come_one_after_another(self, store: Store, tenant: str, neighbour: str) -> None:
        for project in ("b", "a", "a", None, "\U0001f600" * 300):
            insert_all(store, make_memory(tenant, project=project))
        insert_all(store, make_memory(tenant, project="a", owner=Owner("ada", "coder")))
        insert_all(store, make_memory(tenant, project="a", owner=Owner("bob")), make_memory(neighbour, project="c"))
        own = [("ada", "a", "", "active"), ("ada", "a", "coder", "active"), ("ada", "b", "", "active")]
        assert _projects(store, tenant, any_user=False) == own
        assert _projects(store, tenant, any_user=True) == [*own, ("bob", "a", "", "active")]


def _walked(store: Store, tenant: str, walk: Walk, span: int, limit: int) -> list[BrowsePosition]:
    found: list[BrowsePosition] = []
    position: BrowsePosition | None = None
    while True:
        stretch = store.read(tenant, partial(_stretch, walk, position, span, limit))
        found += [candidate.position for candidate in stretch.candidates]
        position = stretch.end
        if position is None:
            return found


def _count_one(after: FacetRow | None, any_user: bool, tx: Reader) -> list[FacetRow]:
    return tx.browsing.count_facets("ada", after, START, 1, any_user=any_user)


def _projects(store: Store, tenant: str, *, any_user: bool) -> list[ProjectRow]:
    found: list[ProjectRow] = []
    position = ProjectRow()
    while True:
        following = store.read(tenant, partial(_next_project, position, any_user))
        if following is None:
            return found
        found.append(following)
        position = following


def _stretch(walk: Walk, after: BrowsePosition | None, span: int, limit: int, tx: Reader) -> Stretch:
    return tx.browsing.walk(walk, after, START, span=span, limit=limit, texts=True)


def _next_project(after: ProjectRow, any_user: bool, tx: Reader) -> ProjectRow | None:
    return tx.browsing.next_project("ada", after, any_user=any_user)


def _order_key(memory: Memory, order: BrowseOrder) -> tuple[int, int, str]:
    importance = memory.importance if order is BrowseOrder.IMPORTANCE else 0
    return importance, to_micros(memory.created_at), memory.id
