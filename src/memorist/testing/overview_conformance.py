"""What every store must do for an overview: counting, and telling who there is. A part of StoreConformance."""

from datetime import timedelta
from typing import Any

import pytest

from memorist.memories import writing
from memorist.memories.values import Kind, Memory, Status
from memorist.platform.values import Owner, OwnerFilter, SignIn, SignInKind
from memorist.ports import Store, Writer
from memorist.testing.clocks import START
from memorist.testing.makers import make_key, make_memory
from memorist.views.values import KindCount

_EVERYBODY = OwnerFilter(any_user=True, any_agent=True)
_ADA = OwnerFilter("ada", any_agent=True)
_CODER = Owner("ada", "coder")
_TODAY = START.replace(hour=0, minute=0, second=0, microsecond=0)


class OverviewConformance:
    """Expects the fixtures of StoreConformance: `store`, `tenant` and `neighbour`."""

    @pytest.mark.parametrize(
        ("owner", "count"),
        [
            (_EVERYBODY, 5),
            (_ADA, 3),
            (OwnerFilter("ada"), 2),
            (OwnerFilter("ada", "coder"), 1),
            (OwnerFilter(), 1),
            (OwnerFilter(agent="coder", any_user=True), 1),
        ],
    )
    def test_slice_is_counted_alone(
        self, store: Store, tenant: str, neighbour: str, owner: OwnerFilter, count: int
    ) -> None:
        owners = (Owner("ada"), Owner("ada"), _CODER, Owner("bob"), Owner())
        _insert(store, *(make_memory(tenant, owner=one) for one in owners), make_memory(neighbour))
        counted = store.read(tenant, lambda tx: tx.overview.count_kinds(owner, START))
        by_day = store.read(tenant, lambda tx: tx.overview.count_days(owner, _TODAY, 3))
        assert sum(one.count for one in counted) == count
        assert by_day == [count, 0, 0]

    def test_each_state_and_kind_is_counted_and_nothing_that_is_not_listed(self, store: Store, tenant: str) -> None:
        _insert(
            store,
            make_memory(tenant),
            make_memory(tenant, kind=Kind.CHAT_MESSAGE),
            make_memory(tenant, kind=Kind.CHAT_MESSAGE, expires_at=START + timedelta(seconds=1)),
            make_memory(tenant, status=Status.ARCHIVED),
            make_memory(tenant, status=Status.ARCHIVED, anonymized_at=START),
            make_memory(tenant, expires_at=START),
        )
        counted = store.read(tenant, lambda tx: tx.overview.count_kinds(_ADA, START))
        assert len(counted) == 3
        assert set(counted) == {
            KindCount(Status.ACTIVE, Kind.CHAT_MESSAGE, 2),
            KindCount(Status.ACTIVE, Kind.FACT, 1),
            KindCount(Status.ARCHIVED, Kind.FACT, 1),
        }

    def test_day_begins_and_ends_to_the_microsecond(self, store: Store, tenant: str) -> None:
        moments = (-1, 0, 86_400_000_000 - 1, 86_400_000_000)
        times = [_TODAY + timedelta(microseconds=one) for one in moments]
        _insert(store, *(make_memory(tenant, created_at=time) for time in times))
        assert store.read(tenant, lambda tx: tx.overview.count_days(_EVERYBODY, _TODAY, 2)) == [2, 1]

    def test_what_waits_is_counted_up_to_a_bound(self, store: Store, tenant: str, neighbour: str) -> None:
        _insert(store, *(make_memory(tenant) for _ in range(3)), make_memory(tenant, owner=Owner("bob")))

        def count(tx: Any) -> tuple[int, int, int]:
            return (
                tx.overview.count_waiting(_EVERYBODY, 10),
                tx.overview.count_waiting(_ADA, 10),
                tx.overview.count_waiting(_EVERYBODY, 2),
            )

        assert store.read(tenant, count) == (4, 3, 2)
        assert store.read(neighbour, count) == (0, 0, 0)

    def test_owners_come_in_the_order_of_their_names(self, store: Store, tenant: str, neighbour: str) -> None:
        owners = (Owner("bob", "coder"), Owner("ada"), _CODER, Owner("bob"), _CODER)
        _insert(store, *(make_memory(tenant, owner=one) for one in owners), make_memory(neighbour))
        found = store.read(tenant, lambda tx: tx.overview.list_owners(Owner(), 3, 1))
        assert [one.owner for one in found] == [Owner("ada"), _CODER, Owner("bob")]
        assert [one.count for one in found] == [1, 1, 1]
        assert found[0].newest_at == START
        rest = store.read(tenant, lambda tx: tx.overview.list_owners(found[-1].owner, 3, 10))
        assert [one.owner for one in rest] == [Owner("bob", "coder")]

    def test_sessions_are_listed_while_they_last(self, store: Store, tenant: str, neighbour: str) -> None:
        key, other = make_key(tenant), make_key(neighbour)
        later = START + timedelta(hours=1)

        def begin(tx: Writer) -> None:
            tx.keys.insert(key)
            for place, (kind, end) in enumerate(
                [(SignInKind.SESSION, later), (SignInKind.SESSION, START), (SignInKind.LINK, later)]
            ):
                tx.sign_ins.insert(f"{tenant}-{place}", SignIn(kind, key, START, end))

        store.write(tenant, begin)
        store.write(neighbour, lambda tx: tx.keys.insert(other))
        assert store.read(tenant, lambda tx: tx.sign_ins.sessions(START, 10)) == [
            SignIn(SignInKind.SESSION, key, START, later)
        ]
        assert store.read(neighbour, lambda tx: tx.sign_ins.sessions(START, 10)) == []
        store.write(tenant, lambda tx: tx.keys.revoke(key.id, START))
        assert store.read(tenant, lambda tx: tx.sign_ins.sessions(START, 10)) == []

    def test_memories_of_a_session_and_of_a_document_are_found_in_any_state(self, store: Store, tenant: str) -> None:
        said = make_memory(tenant, session="s1")
        gone = make_memory(tenant, session="s1", status=Status.SOFT_DELETED)
        part = make_memory(tenant, kind=Kind.DOCUMENT_CHUNK, source_ref="d1", status=Status.ARCHIVED)
        _insert(store, said, gone, part, make_memory(tenant, session="s1", owner=_CODER), make_memory(tenant))
        found = store.read(tenant, lambda tx: tx.surroundings.list_session_ids(Owner("ada"), "s1", 10))
        assert found == sorted([said.id, gone.id])
        assert store.read(tenant, lambda tx: tx.surroundings.list_chunk_ids(Owner("ada"), "d1", 10)) == [part.id]
        assert store.read(tenant, lambda tx: tx.surroundings.list_session_ids(Owner("ada"), "", 10)) == []

    def test_store_tells_what_it_is(self, store: Store) -> None:
        assert {"engine", "version", "place", "size_bytes"} <= set(store.describe())


def _insert(store: Store, *memories: Memory) -> None:
    for memory in memories:
        assert store.write(memory.tenant, lambda tx, memory=memory: writing.insert(tx, memory))  # type: ignore[misc]
