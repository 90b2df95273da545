"""What every store must do for erasure: a part of StoreConformance."""

import json
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from memorist.erasure.values import Erased, ErasureKind, ErasureStatus, Receipt, Verification
from memorist.ids import new_id, to_uuid
from memorist.memories import writing
from memorist.memories.values import Kind, Memory, Status
from memorist.platform.values import Event, Owner, OwnerFilter
from memorist.ports import Reader, Store, Writer
from memorist.recall.values import PastRecall
from memorist.testing.clocks import START
from memorist.testing.makers import make_document, make_event, make_key, make_memory, make_record

_LATER = START + timedelta(days=30)
_SECOND = timedelta(seconds=1)
_ADA = OwnerFilter("ada", any_agent=True)


def make_receipt(tenant: str, **fields: Any) -> Receipt:
    """A receipt of an erasure that runs."""
    values: dict[str, Any] = {
        "id": new_id("rcpt"),
        "kind": ErasureKind.USER,
        "status": ErasureStatus.RUNNING,
        "asked_by": {"role": "admin", "key": None},
        "salt": "5a17",
        "started_at": START,
        "due_at": START,
        "subject": "ab12",
        "request": {"user": "ada"},
    }
    return Receipt(tenant=tenant, **(values | fields))


class ErasureConformance:
    """Receipts, the ledger, and what erasing removes, counts and finds."""

    # Receipts

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

    # The ledger

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

        assert store.read(tenant, read) == [lines[:2], lines[2:], [other], {lines[2].id}]
        assert store.read(neighbour, read) == [[], [], [], set()]

    # What memories were recalled for

    def test_newest_recalls_of_a_memory_are_kept(self, store: Store, tenant: str, neighbour: str) -> None:
        memory, gone = make_memory(tenant), make_memory(tenant)
        recalls = [_recall(memory, START + timedelta(seconds=number)) for number in range(4)]

        def write(tx: Writer) -> None:
            writing.insert(tx, memory)
            tx.recalls.insert([*recalls, _recall(gone, START)])
            tx.recalls.insert(recalls[:1])
            tx.recalls.trim([memory.id, gone.id], 3)

        store.write(tenant, write)
        assert store.read(tenant, lambda tx: tx.recalls.of(memory.id, 9)) == recalls[:0:-1]
        assert store.read(tenant, lambda tx: tx.recalls.of(memory.id, 1)) == recalls[3:]
        assert store.read(tenant, lambda tx: tx.recalls.of(gone.id, 9)) == []
        assert store.read(neighbour, lambda tx: tx.recalls.of(memory.id, 9)) == []

    def test_recalls_go_with_their_memory_and_with_who_asked(self, store: Store, tenant: str) -> None:
        memory, gone = make_memory(tenant), make_memory(tenant)
        by_ada, by_bob = _recall(memory, START), replace(_recall(memory, START), user="bob", agent=None)

        def write(tx: Writer) -> None:
            writing.insert(tx, memory)
            writing.insert(tx, gone)
            tx.recalls.insert([by_ada, by_bob, _recall(gone, START)])

        store.write(tenant, write)
        assert store.read(tenant, lambda tx: tx.erasure.count_named([gone.id]))["recalls"] == 1
        assert store.write(tenant, lambda tx: tx.erasure.erase_rows([gone.id]))["recalls"] == 1
        assert store.read(tenant, lambda tx: tx.erasure.count_of_user("ada", START))["recalls"] == 1
        assert "recalls" in store.read(tenant, lambda tx: tx.erasure.find_text("for which question"))
        assert store.write(tenant, lambda tx: tx.recalls.erase(OwnerFilter("ada", "another"))) == 0
        assert store.write(tenant, lambda tx: tx.recalls.erase(_ADA)) == 1
        assert store.read(tenant, lambda tx: tx.recalls.of(memory.id, 9)) == [by_bob]
        assert "bob" in store.read(tenant, lambda tx: tx.erasure.list_users())

    def test_purges_since_a_moment_are_told(self, store: Store, tenant: str, neighbour: str) -> None:
        purge = make_receipt(tenant)
        erased = make_receipt(tenant, kind=ErasureKind.MEMORIES, request={"ids": [], "documents": []})
        others = [erased, make_receipt(tenant, started_at=START - _SECOND)]
        store.write(tenant, lambda tx: [tx.receipts.insert(receipt) for receipt in (purge, *others)])
        told = [(purge.salt, purge.subject, START)]
        assert store.read(tenant, lambda tx: tx.ledger.purges_since(START)) == told
        assert store.read(neighbour, lambda tx: tx.ledger.purges_since(START)) == []

    # Erasing

    def test_held_memories_are_those_that_exist(self, store: Store, tenant: str, neighbour: str) -> None:
        memories = [make_memory(tenant), make_memory(tenant)]
        store.write(tenant, lambda tx: writing.insert_many(tx, memories))
        asked = [memories[1].id, new_id("mem"), memories[0].id]
        assert store.write(tenant, lambda tx: tx.memories.hold(asked)) == {memory.id for memory in memories}
        assert store.write(tenant, lambda tx: tx.memories.hold([])) == set()
        assert store.write(neighbour, lambda tx: tx.memories.hold(asked)) == set()

    def test_rows_go_with_what_belongs_to_them(self, store: Store, tenant: str, neighbour: str) -> None:
        gone, kept = make_memory(tenant), make_memory(tenant)
        record = replace(make_record(), user="ada", response=json.dumps({"id": gone.id}))
        other = replace(make_record(), user="ada", response=json.dumps({"id": kept.id}))

        def write(tx: Writer) -> None:
            for memory in (gone, kept):
                writing.insert(tx, memory)
                tx.events.append([make_event(memory), make_event(memory)])
                tx.tool_outputs.insert(memory.id, "payload")
            for one in (record, other):
                tx.idempotency.insert(one)

        for place in (tenant, neighbour):
            store.write(place, write)
        counts = store.write(tenant, lambda tx: tx.erasure.erase_rows([gone.id, new_id("mem")]))
        assert {place: count for place, count in counts.items() if count} == {
            "memories": 1, "memory_index": 1, "memory_events": 2, "tool_outputs": 1, "idempotency_keys": 1,
        }  # fmt: skip
        assert not any(store.read(tenant, lambda tx: tx.erasure.count_named([gone.id])).values())
        assert store.read(tenant, lambda tx: tx.erasure.count_named([kept.id]))["memory_events"] == 2
        assert store.read(neighbour, lambda tx: tx.erasure.count_named([gone.id]))["memories"] == 1
        assert store.write(tenant, lambda tx: tx.erasure.erase_rows([gone.id])) == dict.fromkeys(counts, 0)

    def test_what_a_user_owns_is_counted_and_goes(self, store: Store, tenant: str) -> None:
        def write(tx: Writer) -> None:
            for user in ("ada", "bob"):
                tx.documents.put(make_document(owner=Owner(user)))
                tx.idempotency.insert(replace(make_record(), user=user))
                tx.keys.insert(make_key(tenant, user=user))
                _insert(tx, make_memory(tenant, owner=Owner(user)), actor=user)
            _insert(tx, make_memory(tenant, owner=Owner()), actor="ada")

        store.write(tenant, write)
        assert set(store.read(tenant, lambda tx: tx.erasure.list_users())) == {"ada", "bob"}
        found = store.read(tenant, lambda tx: tx.erasure.count_of_user("ada", _LATER))
        assert store.read(tenant, lambda tx: tx.erasure.count_of_user("ada", None)) == found
        assert {place: count for place, count in found.items() if count} == {
            "memories": 1, "memory_index": 1, "memory_events": 2, "documents": 1, "idempotency_keys": 1, "api_keys": 1,
        }  # fmt: skip
        assert not any(
            store.read(tenant, lambda tx: tx.erasure.count_of_user("ada", START - timedelta(days=9))).values()
        )
        counts = store.write(tenant, lambda tx: tx.erasure.erase_owned(_ADA))
        assert (counts["documents"], counts["idempotency_keys"]) == (1, 1)
        assert store.write(tenant, lambda tx: (tx.erasure.erase_keys("ada"), tx.erasure.forget_actor("ada"))) == (1, 2)
        left = store.read(tenant, lambda tx: tx.erasure.count_of_user("ada", _LATER))
        assert {place: count for place, count in left.items() if count} == {
            "memories": 1, "memory_index": 1, "memory_events": 1,
        }  # fmt: skip
        assert store.read(tenant, lambda tx: tx.erasure.count_of_user("bob", _LATER))["documents"] == 1

    def test_leftovers_of_a_tenant_go_and_its_receipts_stay(self, store: Store, tenant: str, neighbour: str) -> None:
        receipt = make_receipt(tenant)
        for place in (tenant, neighbour):
            store.write(place, lambda tx: tx.events.append([make_event(make_memory(tenant))]))
            store.write(place, lambda tx, place=place: tx.keys.insert(make_key(place)))  # type: ignore[misc]
        store.write(tenant, lambda tx: tx.receipts.insert(receipt))
        assert store.write(tenant, lambda tx: tx.keys.revoke_all(START)) == 1
        counts = store.write(tenant, lambda tx: tx.erasure.erase_leftovers())
        assert (counts["memory_events"], counts["api_keys"]) == (1, 1)
        assert store.read(tenant, lambda tx: (tx.keys.all(), tx.receipts.get(receipt.id))) == ([], receipt)
        assert [key.revoked_at for key in store.read(neighbour, lambda tx: tx.keys.all())] == [None]

    # What names others

    def test_what_names_a_memory_is_found_page_by_page(self, store: Store, tenant: str) -> None:
        named = new_id("mem")
        rows = [
            make_memory(tenant, source_ref=named),
            make_memory(tenant, superseded_by=named),
            make_memory(tenant, meta={"from": named}),
            make_memory(tenant, source_ref="memory", meta={"a": "member"}),
        ]
        for row in rows:
            store.write(tenant, partial(_insert, memory=row, payload={"of": named}))
        found = store.read(tenant, lambda tx: tx.erasure.scan_naming("", 2))
        assert [row.id for row in found] == sorted(row.id for row in rows[:3])[:2]
        found += store.read(tenant, lambda tx: tx.erasure.scan_naming(found[-1].id, 2))
        assert {(row.source_ref, row.superseded_by) for row in found} == {(named, None), (None, named), (None, None)}
        events = store.read(tenant, lambda tx: tx.erasure.scan_naming_events(-1, 3))
        events += store.read(tenant, lambda tx: tx.erasure.scan_naming_events(events[-1][0], 3))
        assert [json.loads(payload) for _, payload in events] == [{"of": named}] * 4
        store.write(tenant, lambda tx: tx.erasure.rewrite_event(events[0][0], '{"of": null}'))
        assert len(store.read(tenant, lambda tx: tx.erasure.scan_naming_events(-1, 9))) == 3

    def test_text_is_found_where_it_is(self, store: Store, tenant: str, neighbour: str) -> None:
        memory = make_memory(tenant, description="100% of_the quetzal!", meta={"deep": ["Xylophone"]})
        store.write(tenant, lambda tx: _insert(tx, memory, payload={"before": "an older text"}))
        store.write(tenant, lambda tx: tx.documents.put(make_document(content="a marimba")))
        for piece, place in (
            ("100% of_the", "memories"),
            ("quetzal!", "memories"),
            ("Xylophone", "memories"),
            ("older text", "memory_events"),
            ("marimba", "documents"),
        ):
            assert store.read(tenant, lambda tx, piece=piece: tx.erasure.find_text(piece)) == [place]  # type: ignore[misc]
            assert store.read(neighbour, lambda tx, piece=piece: tx.erasure.find_text(piece)) == []  # type: ignore[misc]
        for piece in ("100_ of", "of%the", "quetzal%"):
            assert store.read(tenant, lambda tx, piece=piece: tx.erasure.find_text(piece)) == []  # type: ignore[misc]

    # Files

    def test_scrubbing_says_what_is_out_of_reach_and_files_are_searched(self, store: Store, tenant: str) -> None:
        memory = make_memory(tenant, content="quetzalcoatl plays the marimba")
        store.write(tenant, lambda tx: _insert(tx, memory))
        pieces = [b"quetzalcoatl plays", to_uuid(new_id("mem")).bytes]
        assert store.search_files(pieces) in (None, frozenset(pieces[:1]))
        store.write(tenant, lambda tx: tx.erasure.erase_rows([memory.id]))
        store.write(tenant, lambda tx: tx.receipts.insert(make_receipt(tenant)))
        assert store.scrub(tenant)
        assert store.search_files(pieces) in (None, frozenset())

    def test_own_words_are_in_the_files_and_nobodys(self, store: Store, tenant: str) -> None:
        memory = make_memory(tenant, content="quetzalcoatl plays the marimba")
        store.write(tenant, lambda tx: _insert(tx, memory))
        words = [word for word in store.own_words().split() if len(word) >= 8]
        assert words
        assert store.search_files(words) in (None, frozenset(words))
        assert b"quetzalcoatl" not in store.own_words()

    # What is counted apart

    def test_spending_is_counted_by_tenant_and_month_and_outlives_users(
        self, store: Store, tenant: str, neighbour: str
    ) -> None:
        for month, cost in ((START, 0.25), (START, 0.5), (_LATER, 2.0)):
            store.write(tenant, lambda tx: tx.spending.add(month, cost))

        def spent(of: str, month: datetime) -> float:
            return store.read(of, lambda tx: tx.spending.spent(month))

        store.write(tenant, lambda tx: tx.erasure.erase_owned(_ADA))
        assert (spent(tenant, START), spent(tenant, _LATER), spent(neighbour, START)) == (0.75, 2.0, 0.0)
        assert store.write(tenant, lambda tx: tx.erasure.erase_leftovers())["spending"] == 2
        assert spent(tenant, START) == 0.0

    def test_messages_are_counted_by_what_they_say(self, store: Store, tenant: str, neighbour: str) -> None:
        said = {"kind": Kind.CHAT_MESSAGE, "owner": Owner("ada"), "content_hash": "h1"}
        rows = [
            make_memory(tenant, **said, session="s1"),
            make_memory(tenant, **said, session="s2", status=Status.SOFT_DELETED),
            make_memory(tenant, **(said | {"content_hash": "h2"})),
            make_memory(tenant, **(said | {"kind": Kind.FACT})),
            make_memory(tenant, **(said | {"owner": Owner("bob")})),
        ]
        for row in rows:
            store.write(tenant, partial(_insert, memory=row))
        asked = ["h1", "h3"]
        assert store.read(tenant, lambda tx: tx.memories.count_said("ada", None, asked)) == {"h1": 2}
        assert store.read(neighbour, lambda tx: tx.memories.count_said("ada", None, asked)) == {}


def _insert(tx: Writer, memory: Memory, *, actor: str | None = None, payload: Any = None) -> None:
    writing.insert(tx, memory)
    tx.events.append([Event(memory.id, "created", "test", memory.created_at, actor, payload or {})])


def _recall(memory: Memory, at: datetime) -> PastRecall:
    return PastRecall(memory.id, at, new_id("rec"), "ada", "coder", "test", "for which question", 1, 0.5)
