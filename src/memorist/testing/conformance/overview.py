"""What every store must do with `tx.overview`: counts, and who there is."""

from datetime import timedelta

import pytest

from memorist.memories.values import Kind, Status
from memorist.platform.values import Owner, OwnerFilter
from memorist.ports import Reader, Store
from memorist.testing.clocks import START
from memorist.testing.conformance.fixtures import StoreFixtures
from memorist.testing.conformance.helpers import ADA, EVERYBODY, insert_all
from memorist.testing.makers import make_memory
from memorist.views.values import DayCount, KindCount

_CODER = Owner("ada", "coder")
_TODAY = START.replace(hour=0, minute=0, second=0, microsecond=0)


class OverviewConformance(StoreFixtures):
    """`tx.overview`: counts, and who there is."""

    @pytest.mark.parametrize(
        ("owner", "count"),
        [
            (EVERYBODY, 5),
            (ADA, 3),
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
        insert_all(store, *(make_memory(tenant, owner=one) for one in owners), make_memory(neighbour))
        counted = store.read(tenant, lambda tx: tx.overview.count_kinds(owner, START))
        by_day = store.read(tenant, lambda tx: tx.overview.count_days(owner))
        assert sum(one.count for one in counted) == count
        assert by_day == [DayCount(_TODAY.date(), Kind.FACT, count)]

    def test_each_state_and_kind_is_counted_and_nothing_that_is_not_listed(self, store: Store, tenant: str) -> None:
        insert_all(
            store,
            make_memory(tenant),
            make_memory(tenant, kind=Kind.CHAT_MESSAGE),
            make_memory(tenant, kind=Kind.CHAT_MESSAGE, expires_at=START + timedelta(seconds=1)),
            make_memory(tenant, status=Status.ARCHIVED),
            make_memory(tenant, status=Status.ARCHIVED, anonymized_at=START),
            make_memory(tenant, expires_at=START),
        )
        counted = store.read(tenant, lambda tx: tx.overview.count_kinds(ADA, START))
        assert len(counted) == 3
        assert set(counted) == {
            KindCount(Status.ACTIVE, Kind.CHAT_MESSAGE, 2),
            KindCount(Status.ACTIVE, Kind.FACT, 1),
            KindCount(Status.ARCHIVED, Kind.FACT, 1),
        }
        assert store.read(tenant, lambda tx: tx.overview.count_facts(ADA, START)) == 1

    def test_day_begins_and_ends_to_the_microsecond(self, store: Store, tenant: str) -> None:
        moments = (-1, 0, 86_400_000_000 - 1, 86_400_000_000)
        times = [_TODAY + timedelta(microseconds=one) for one in moments]
        insert_all(store, *(make_memory(tenant, created_at=time) for time in times))
        days = [_TODAY.date() + timedelta(days=number) for number in (-1, 0, 1)]
        counted = store.read(tenant, lambda tx: tx.overview.count_days(EVERYBODY))
        assert sorted(counted) == [DayCount(day, Kind.FACT, count) for day, count in zip(days, (1, 2, 1), strict=True)]

    def test_what_waits_is_counted_up_to_a_bound(self, store: Store, tenant: str, neighbour: str) -> None:
        insert_all(store, *(make_memory(tenant) for _ in range(3)), make_memory(tenant, owner=Owner("bob")))

        def count(tx: Reader) -> tuple[int, int, int]:
            return (
                tx.overview.count_waiting(EVERYBODY, 10),
                tx.overview.count_waiting(ADA, 10),
                tx.overview.count_waiting(EVERYBODY, 2),
            )

        assert store.read(tenant, count) == (4, 3, 2)
        assert store.read(neighbour, count) == (0, 0, 0)

    def test_rows_are_counted_by_table_and_those_dated_later_apart(
        self, store: Store, tenant: str, neighbour: str
    ) -> None:
        later = START + timedelta(days=1)
        insert_all(store, make_memory(tenant), make_memory(tenant, created_at=later), make_memory(neighbour))
        rows = store.read(tenant, lambda tx: tx.overview.count_rows())
        assert (rows["memories"], rows["jobs"]) == (2, 0)
        assert store.read(tenant, lambda tx: tx.overview.count_dated_after(later)) == (0, None)
        count, last = store.read(tenant, lambda tx: tx.overview.count_dated_after(START))
        assert (count >= 1, last) == (True, later)
        assert store.read(neighbour, lambda tx: tx.overview.count_dated_after(START)) == (0, None)

    def test_owners_come_in_the_order_of_their_names(self, store: Store, tenant: str, neighbour: str) -> None:
        owners = (Owner("bob", "coder"), Owner("ada"), _CODER, Owner("bob"), _CODER)
        insert_all(store, *(make_memory(tenant, owner=one) for one in owners), make_memory(neighbour))
        found = store.read(tenant, lambda tx: tx.overview.list_owners(Owner(), 3, 1))
        assert [one.owner for one in found] == [Owner("ada"), _CODER, Owner("bob")]
        assert [one.count for one in found] == [1, 1, 1]
        assert found[0].newest_at == START
        rest = store.read(tenant, lambda tx: tx.overview.list_owners(found[-1].owner, 3, 10))
        assert [one.owner for one in rest] == [Owner("bob", "coder")]
