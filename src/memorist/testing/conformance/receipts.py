"""What every store must do for receipts and ledger."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from memorist.erasure.values import Erased, ErasureKind, ErasureStatus, Verification
from memorist.ports import Reader, Store
from memorist.testing.clocks import START
from memorist.testing.conformance.fixtures import StoreFixtures
from memorist.testing.makers import make_receipt

_LATER = START + timedelta(days=30)
_SECOND = timedelta(seconds=1)


class ReceiptConformance(StoreFixtures):
    """`tx.receipts`: proofs of erasures."""

    def test_receipt_comes_back_as_it_was_saved(self, store: Store, tenant: str, neighbour: str) -> None:
        receipt = make_receipt(tenant)
        assert store.write(tenant, lambda tx: tx.receipts.insert(receipt))
        assert not store.write(tenant, lambda tx: tx.receipts.insert(receipt))
        assert store.read(tenant, lambda tx: tx.receipts.get(receipt.id)) == receipt
        done = replace(
            receipt,
            status=ErasureStatus.DONE,
            request=None,
            counts={"memories": 3},
            verification=Verification(True, START, ids=3, rows={"memories": 0}, ids_in_files=0, samples=5),
            remains=("backups",),
            finished_at=_LATER,
        )
        store.write(tenant, lambda tx: tx.receipts.save(done))
        assert store.write(tenant, lambda tx: tx.receipts.lock(receipt.id)) == done
        assert store.read(neighbour, lambda tx: (tx.receipts.get(receipt.id), tx.receipts.page(None, 9))) == (None, [])

    def test_receipts_are_listed_newest_first(self, store: Store, tenant: str) -> None:
        receipts = [make_receipt(tenant) for _ in range(3)]
        store.write(tenant, lambda tx: [tx.receipts.insert(receipt) for receipt in receipts])
        assert store.read(tenant, lambda tx: tx.receipts.page(None, 2)) == [receipts[2], receipts[1]]
        assert store.read(tenant, lambda tx: tx.receipts.page(receipts[1].id, 2)) == [receipts[0]]

    def test_unfinished_are_those_that_were_begun_or_are_due(self, store: Store, tenant: str) -> None:
        later = make_receipt(tenant, status=ErasureStatus.DUE, due_at=_LATER)
        begun = [make_receipt(tenant, status=status) for status in (ErasureStatus.RUNNING, ErasureStatus.SCRUBBING)]
        done = make_receipt(tenant, status=ErasureStatus.DONE)
        store.write(tenant, lambda tx: [tx.receipts.insert(receipt) for receipt in (later, *begun, done)])
        assert store.read(tenant, lambda tx: tx.receipts.unfinished(START)) == begun
        assert store.read(tenant, lambda tx: tx.receipts.unfinished(_LATER)) == [*begun, later]


class LedgerConformance(StoreFixtures):
    """`tx.ledger`: what was erased, without a word of it."""

    def test_ledger_is_found_by_receipt_by_kind_and_by_id(self, store: Store, tenant: str, neighbour: str) -> None:
        lines = [Erased("memory", f"{number:032x}", "", "rcpt_1", START) for number in range(3)]
        other = Erased("document", "ff", "salt", "rcpt_2", START)
        store.write(tenant, lambda tx: tx.ledger.insert([*lines, other]))
        store.write(tenant, lambda tx: tx.ledger.insert([replace(lines[0], receipt_id="rcpt_2")]))

        def read(tx: Reader) -> list[Any]:
            return [
                tx.ledger.of_receipt("rcpt_1", "memory", "", 2),
                tx.ledger.of_receipt("rcpt_1", "memory", lines[1].id, 2),
                tx.ledger.of_kind("document"),
                tx.ledger.find("memory", [lines[2].id, "unknown", other.id]),
            ]

        assert store.read(tenant, read) == [lines[:2], lines[2:], [other], lines[2:]]
        assert store.read(neighbour, read) == [[], [], [], []]
        for whose in (tenant, neighbour):
            store.write(whose, lambda tx: tx.ledger.drop("rcpt_2"))
        assert store.read(tenant, read) == [lines[:2], lines[2:], [], lines[2:]]

    def test_purges_since_a_moment_are_told(self, store: Store, tenant: str, neighbour: str) -> None:
        purge = make_receipt(tenant)
        erased = make_receipt(tenant, kind=ErasureKind.MEMORIES, request={"ids": [], "documents": []})
        others = [erased, make_receipt(tenant, started_at=START - _SECOND)]
        reset = make_receipt(tenant, kind=ErasureKind.RESET, subject="cd34", request={"user": "bob", "agent": None})
        store.write(tenant, lambda tx: [tx.receipts.insert(receipt) for receipt in (purge, reset, *others)])
        told = {(purge.salt, purge.subject, START), (reset.salt, reset.subject, START)}
        assert set(store.read(tenant, lambda tx: tx.ledger.purges_since(START))) == told
        assert store.read(neighbour, lambda tx: tx.ledger.purges_since(START)) == []
