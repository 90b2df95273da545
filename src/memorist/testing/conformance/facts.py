"""What every store must do with `tx.facts`: chains of facts, and doubts between them."""

from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from memorist.facts.values import Doubt, DoubtStatus
from memorist.memories import writing
from memorist.memories.values import Memory, Position, Status
from memorist.platform.values import Owner, OwnerFilter
from memorist.ports import Reader, Store, Writer
from memorist.testing.clocks import START
from memorist.testing.conformance.fixtures import StoreFixtures
from memorist.testing.conformance.helpers import ADA, EVERYBODY, insert_all
from memorist.testing.makers import make_doubt, make_memory

_SOON = START + timedelta(minutes=5)
_DISMISSED = DoubtStatus.DISMISSED


class FactConformance(StoreFixtures):
    """`tx.facts`: chains of facts, and doubts between them."""

    def test_what_a_fact_took_the_place_of_is_found(self, store: Store, tenant: str) -> None:
        newer = make_memory(tenant)
        older = [make_memory(tenant, superseded_by=newer.id, status=Status.ARCHIVED) for _ in range(2)]
        insert_all(store, newer, *older, make_memory(tenant))
        found = store.read(tenant, lambda tx: tx.facts.superseded(newer.id))
        assert {memory.id for memory in found} == {memory.id for memory in older}

    def test_retired_facts_are_listed_by_their_last_change(self, store: Store, tenant: str, neighbour: str) -> None:
        newer = make_memory(tenant)
        gone = {"superseded_by": newer.id, "status": Status.ARCHIVED}
        # Two changed at the same moment: then the id decides.
        retired = [make_memory(tenant, updated_at=START + timedelta(hours=hour), **gone) for hour in (3, 1, 2, 2)]
        bobs = make_memory(tenant, owner=Owner("bob"), updated_at=START, **gone)
        others = [
            make_memory(tenant, status=Status.ARCHIVED),
            make_memory(tenant, **{**gone, "status": Status.SOFT_DELETED}),
            make_memory(tenant, anonymized_at=START, **gone),
            make_memory(tenant, expires_at=START, **gone),
        ]
        insert_all(store, newer, *retired, bobs, *others)
        wanted = sorted(retired, key=lambda one: (one.updated_at, one.id), reverse=True)

        def listed(owner: OwnerFilter, before: Memory | None = None, limit: int = 9, at: str = tenant) -> list[str]:
            position = None if before is None else Position(before.updated_at, before.id)
            return [one.id for one in store.read(at, lambda tx: tx.facts.retired(owner, position, _SOON, limit))]

        ids = [one.id for one in wanted]
        assert listed(OwnerFilter("ada")) == ids
        assert listed(OwnerFilter("ada"), limit=2) == ids[:2]
        assert [listed(OwnerFilter("ada"), one) for one in wanted] == [ids[1:], ids[2:], ids[3:], []]
        assert listed(EVERYBODY) == [*ids, bobs.id]
        assert listed(EVERYBODY, at=neighbour) == []

    def test_doubt_links_two_facts_once(self, store: Store, tenant: str) -> None:
        newer, older = make_memory(tenant), make_memory(tenant)
        insert_all(store, newer, older)
        doubt = make_doubt(newer, older)
        assert store.write(tenant, lambda tx: tx.facts.insert_doubt(doubt))
        assert not store.write(tenant, lambda tx: tx.facts.insert_doubt(make_doubt(newer, older)))
        assert store.read(tenant, lambda tx: tx.facts.get_doubt(doubt.id)) == doubt
        assert store.read(tenant, lambda tx: tx.facts.find_doubt(newer.id, older.id)) == doubt
        assert store.read(tenant, lambda tx: tx.facts.find_doubt(older.id, newer.id)) is None

    def test_doubt_is_decided_once(self, store: Store, tenant: str) -> None:
        newer, older = make_memory(tenant), make_memory(tenant)
        insert_all(store, newer, older)
        doubt = make_doubt(newer, older)
        store.write(tenant, lambda tx: tx.facts.insert_doubt(doubt))
        settle = partial(_settle, doubt.id)
        assert store.write(tenant, partial(settle, DoubtStatus.DISMISSED))
        assert not store.write(tenant, partial(settle, DoubtStatus.CONFIRMED))
        assert store.read(tenant, lambda tx: tx.facts.get_doubt(doubt.id)) == replace(
            doubt, status=DoubtStatus.DISMISSED, updated_at=_SOON
        )

    def test_doubt_that_somebody_touched_is_not_removed(self, store: Store, tenant: str, neighbour: str) -> None:
        facts = [make_memory(tenant) for _ in range(4)]
        insert_all(store, *facts)
        doubts = [make_doubt(newer, facts[0]) for newer in facts[1:]]
        for doubt in doubts:
            store.write(tenant, partial(_insert_doubt, doubt))
        store.write(tenant, partial(_settle, doubts[1].id, DoubtStatus.OPEN))
        store.write(tenant, partial(_settle, doubts[2].id, DoubtStatus.CONFIRMED))
        assert not store.write(neighbour, lambda tx: tx.facts.remove_doubt(doubts[0].id))
        assert [store.write(tenant, partial(_remove, doubt.id)) for doubt in doubts] == [True, False, False]
        left = [doubt for doubt in doubts if store.read(tenant, partial(_get_doubt, doubt.id)) is not None]
        assert left == doubts[1:]

    def test_open_doubts_are_listed_while_both_facts_are_current(
        self, store: Store, tenant: str, neighbour: str
    ) -> None:
        facts = [make_memory(tenant, expires_at=expires_at) for expires_at in (None, None, START + timedelta(hours=1))]
        bobs = [make_memory(tenant, owner=Owner("bob")) for _ in range(2)]
        insert_all(store, *facts, *bobs)
        doubts = [make_doubt(facts[1], facts[0]), make_doubt(facts[2], facts[1]), make_doubt(bobs[1], bobs[0])]
        for doubt in doubts:
            store.write(tenant, partial(_insert_doubt, doubt))

        def listed(
            owner: OwnerFilter,
            before: str | None = None,
            in_tenant: str = tenant,
            now: datetime = START,
            status: DoubtStatus = DoubtStatus.OPEN,
        ) -> list[str]:
            found = store.read(in_tenant, lambda tx: tx.facts.doubts(owner, before, 10, now, status=status))
            return [doubt.id for doubt in found]

        assert listed(OwnerFilter("ada")) == [doubts[1].id, doubts[0].id]
        assert listed(OwnerFilter("ada"), doubts[1].id) == [doubts[0].id]
        assert listed(EVERYBODY) == [doubt.id for doubt in doubts[::-1]]
        assert listed(EVERYBODY, in_tenant=neighbour) == []
        assert _counted(store, tenant) == (3, 2, 1)
        later = START + timedelta(hours=1)
        assert listed(EVERYBODY, now=later) == [doubts[2].id, doubts[0].id]
        assert _counted(store, tenant, later) == (2, 1, 1)
        gone = replace(facts[0], status=Status.ARCHIVED, updated_at=_SOON)
        store.write(tenant, lambda tx: writing.replace(tx, gone, facts[0].updated_at))
        assert listed(OwnerFilter("ada")) == [doubts[1].id]
        assert _counted(store, tenant) == (2, 1, 1)
        assert _counted(store, neighbour) == (0, 0, 0)
        store.write(tenant, lambda tx: tx.facts.settle_doubt(doubts[1].id, DoubtStatus.OPEN, _DISMISSED, later))
        assert listed(EVERYBODY, now=later, status=_DISMISSED) == [doubts[1].id], "decided, whatever became of them"

    def test_erased_fact_takes_its_doubts_along(self, store: Store, tenant: str) -> None:
        facts = [make_memory(tenant) for _ in range(3)]
        insert_all(store, *facts)
        doubts = [make_doubt(facts[1], facts[0]), make_doubt(facts[2], facts[1]), make_doubt(facts[2], facts[0])]
        for doubt in doubts:
            store.write(tenant, partial(_insert_doubt, doubt))
        store.write(tenant, lambda tx: tx.erasure.erase_rows([facts[1].id]))
        left = [doubt.id for doubt in doubts if store.read(tenant, partial(_get_doubt, doubt.id)) is not None]
        assert left == [doubts[2].id]


def _counted(store: Store, tenant: str, now: datetime = START) -> tuple[int, int, int]:
    """Open doubts of everybody and of `ada`, and of everybody with a bound of one."""

    def count(tx: Reader) -> tuple[int, int, int]:
        return (
            _in_all(tx.facts.count_open_doubts(EVERYBODY, 9, now)),
            _in_all(tx.facts.count_open_doubts(ADA, 9, now)),
            _in_all(tx.facts.count_open_doubts(EVERYBODY, 1, now)),
        )

    return store.read(tenant, count)


def _in_all(counted: list[tuple[Owner, Owner, int]]) -> int:
    return sum(count for _, _, count in counted)


def _insert_doubt(doubt: Doubt, tx: Writer) -> None:
    assert tx.facts.insert_doubt(doubt)


def _get_doubt(doubt_id: str, tx: Reader) -> Doubt | None:
    return tx.facts.get_doubt(doubt_id)


def _settle(doubt_id: str, status: DoubtStatus, tx: Writer) -> bool:
    return tx.facts.settle_doubt(doubt_id, DoubtStatus.OPEN, status, _SOON)


def _remove(doubt_id: str, tx: Writer) -> bool:
    return tx.facts.remove_doubt(doubt_id)
