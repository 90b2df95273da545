"""What every store must do with `tx.audit`: who did what."""

from dataclasses import replace
from datetime import timedelta

from memorist.audit.values import AuditEntry, AuditFilter, ChainHead, NotedAct
from memorist.ports import Store, Writer
from memorist.testing.clocks import START
from memorist.testing.conformance.fixtures import StoreFixtures

_ACT = NotedAct(START, "read", "http", "GET /v1/things/{id}", "ok", "key_1", "user", "ada", "coder", True, "one two", 3)
_ANY = AuditFilter()
_END = 10**9


class AuditConformance(StoreFixtures):
    """`tx.audit`: who did what."""

    def test_entries_come_back_as_they_were_and_move_the_head(self, store: Store, tenant: str, neighbour: str) -> None:
        assert store.read(tenant, lambda tx: (tx.audit.head(), tx.audit.follow(0, 9))) == (None, [])
        entries = _append(store, tenant, 3)
        head = store.read(tenant, lambda tx: tx.audit.head())
        assert head == ChainHead(3, entries[-1].hash, 1, "", "salt")
        assert store.read(tenant, lambda tx: tx.audit.follow(1, 9)) == entries[1:]
        assert store.read(tenant, lambda tx: tx.audit.follow(0, 1)) == entries[:1]
        assert store.read(tenant, lambda tx: tx.audit.page(_ANY, _END, 0, 2)) == entries[:0:-1]
        assert store.read(tenant, lambda tx: tx.audit.page(_ANY, 3, 1, 9)) == entries[1:2]
        assert store.read(neighbour, lambda tx: (tx.audit.head(), tx.audit.follow(0, 9))) == (None, [])
        assert store.write(tenant, lambda tx: tx.audit.hold("another")) == head

    def test_entries_are_found_by_what_they_hold(self, store: Store, tenant: str) -> None:
        _append(store, tenant, 1)
        same = AuditFilter("read", "ok", _ACT.route, "key_1", "ada", "two")
        others = [replace(same, **{name: "other"}) for name in ("kind", "outcome", "route", "key_id", "user", "about")]
        found = [
            len(store.read(tenant, lambda tx, one=one: tx.audit.page(one, _END, 0, 9)))  # type: ignore[misc]
            for one in (same, *others, AuditFilter(route="/v1/things/{id}"))
        ]
        assert found == [1, 0, 0, 0, 0, 0, 0, 1]

    def test_what_waits_is_taken_once_and_in_its_order(self, store: Store, tenant: str, neighbour: str) -> None:
        acts = [_ACT._replace(times=number) for number in range(1, 4)]
        for act in acts:
            store.write(tenant, lambda tx, act=act: tx.audit.wait(act))  # type: ignore[misc]
        assert store.read(tenant, lambda tx: tx.audit.count_waiting()) == 3
        assert store.write(neighbour, lambda tx: tx.audit.take_waiting()) == []
        assert store.write(tenant, lambda tx: tx.audit.take_waiting()) == acts
        assert store.read(tenant, lambda tx: tx.audit.count_waiting()) == 0

    def test_the_beginning_of_the_log_is_cut_off(self, store: Store, tenant: str) -> None:
        entries = _append(store, tenant, 4)
        assert store.read(tenant, lambda tx: tx.audit.first_since(START + timedelta(seconds=2))) == 3
        assert store.read(tenant, lambda tx: tx.audit.first_since(START + timedelta(days=2))) is None
        assert store.write(tenant, lambda tx: tx.audit.trim(3, entries[1].hash)) == 2
        assert store.read(tenant, lambda tx: tx.audit.follow(0, 9)) == entries[2:]
        assert store.read(tenant, lambda tx: tx.audit.head()) == ChainHead(
            4, entries[3].hash, 3, entries[1].hash, "salt"
        )

    def test_what_goes_beside_a_write_is_in_its_transaction(self, store: Store, tenant: str) -> None:
        store.beside_writes(lambda whose: (lambda tx: tx.audit.wait(_ACT)) if whose == tenant else None)
        store.write(tenant, lambda tx: tx.audit.hold("salt"))
        assert store.read(tenant, lambda tx: tx.audit.count_waiting()) == 1


def _append(store: Store, tenant: str, count: int) -> list[AuditEntry]:
    acts = [_ACT._replace(at=START + timedelta(seconds=number)) for number in range(count)]

    def work(tx: Writer) -> list[AuditEntry]:
        tx.audit.hold("salt")
        entries = [AuditEntry(number, act, f"hash {number}") for number, act in enumerate(acts, start=1)]
        tx.audit.append(entries)
        return entries

    return store.write(tenant, work)
