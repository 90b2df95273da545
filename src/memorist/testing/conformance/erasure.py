"""What every store must do with `tx.erasure`: removing, and looking for what should be gone."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

from memorist.erasure.values import EVERYTHING
from memorist.ids import new_id
from memorist.memories import writing
from memorist.platform.values import (
    Owner,
)
from memorist.ports import Store, Writer
from memorist.testing.clocks import START
from memorist.testing.conformance.fixtures import StoreFixtures
from memorist.testing.conformance.helpers import ADA, add_key, insert, put_document, save_request
from memorist.testing.makers import (
    make_document,
    make_event,
    make_key,
    make_memory,
    make_receipt,
    make_record,
    make_turn,
)
from memorist.turns.values import TurnEvent, TurnStatus

_LATER = START + timedelta(days=30)


class ErasureConformance(StoreFixtures):
    """`tx.erasure`: removing, and looking for what should be gone."""

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

        for whose in (tenant, neighbour):
            store.write(whose, write)
        counts = store.write(tenant, lambda tx: tx.erasure.erase_rows([gone.id, new_id("mem")]))
        assert _present(counts) == {
            "memories": 1, "memory_index": 1, "memory_events": 2, "tool_outputs": 1, "idempotency_keys": 1,
        }  # fmt: skip
        assert not any(store.read(tenant, lambda tx: tx.erasure.count_named([gone.id])).values())
        assert store.read(tenant, lambda tx: tx.erasure.count_named([kept.id]))["memory_events"] == 2
        assert store.read(neighbour, lambda tx: tx.erasure.count_named([gone.id]))["memories"] == 1
        assert store.write(tenant, lambda tx: tx.erasure.erase_rows([gone.id])) == dict.fromkeys(counts, 0)
        assert store.write(tenant, lambda tx: tx.erasure.erase_rows([])) == dict.fromkeys(counts, 0)

    def test_documents_and_answers_of_a_slice_go_and_others_stay(self, store: Store, tenant: str) -> None:
        documents = [make_document(owner=owner) for owner in (Owner("ada"), Owner("ada", "coder"), Owner("bob"))]
        # Nobody's too: an admin that acts for nobody may have been answered with that user's memories.
        records = [replace(make_record(), user=user) for user in ("ada", None, "bob")]

        def write(tx: Writer) -> None:
            for document in documents:
                tx.documents.put(document)
            for record in records:
                tx.idempotency.insert(record)

        store.write(tenant, write)
        store.write(tenant, lambda tx: tx.documents.erase(documents[0]))
        gone = [store.write(tenant, lambda tx: tx.erasure.erase_owned(owner)) for owner in (ADA, ADA, EVERYTHING)]
        assert [counts["documents"] for counts in gone] == [1, 0, 1]
        assert [counts["idempotency_keys"] for counts in gone] == [2, 0, 1]

    def test_what_a_user_owns_is_counted_and_goes(self, store: Store, tenant: str) -> None:
        def write(tx: Writer) -> None:
            for user in ("ada", "bob"):
                tx.documents.put(make_document(owner=Owner(user)))
                tx.idempotency.insert(replace(make_record(), user=user))
                tx.keys.insert(make_key(tenant, user=user))

        store.write(tenant, write)
        for owner, actor in (("ada", "ada"), ("bob", "bob"), (None, "ada")):
            memory = make_memory(tenant, owner=Owner(owner))
            insert(store, memory, make_event(memory, actor=actor))
        assert set(store.read(tenant, lambda tx: tx.erasure.list_users())) == {"ada", "bob"}
        found = store.read(tenant, lambda tx: tx.erasure.count_of_user("ada", _LATER))
        history = store.read(tenant, lambda tx: tx.erasure.count_history_of_user("ada"))
        rows = store.read(tenant, lambda tx: tx.erasure.count_all_of_user("ada"))
        assert rows | {"memory_events": history} == found
        assert "memory_events" not in rows
        assert store.read(tenant, lambda tx: tx.erasure.count_memories(1)) == 1, "no more than it is asked for"
        assert _present(found) == {
            "memories": 1, "memory_index": 1, "memory_events": 2, "documents": 1, "idempotency_keys": 1, "api_keys": 1,
        }  # fmt: skip
        assert not any(
            store.read(tenant, lambda tx: tx.erasure.count_of_user("ada", START - timedelta(days=9))).values()
        )
        assert store.read(tenant, lambda tx: tx.erasure.texts_of(ADA, 9)) == []
        counts = store.write(tenant, lambda tx: tx.erasure.erase_owned(ADA))
        assert (counts["documents"], counts["idempotency_keys"]) == (1, 1)
        assert store.write(tenant, lambda tx: (tx.erasure.erase_keys("ada"), tx.erasure.forget_actor("ada"))) == (1, 2)
        left = store.read(tenant, lambda tx: tx.erasure.count_of_user("ada", _LATER))
        assert _present(left) == {
            "memories": 1, "memory_index": 1, "memory_events": 1,
        }  # fmt: skip
        assert store.read(tenant, lambda tx: tx.erasure.count_of_user("bob", _LATER))["documents"] == 1

    def test_leftovers_of_a_tenant_go_and_its_receipts_stay(self, store: Store, tenant: str, neighbour: str) -> None:
        receipt = make_receipt(tenant)
        for whose in (tenant, neighbour):
            store.write(whose, lambda tx: tx.events.append([make_event(make_memory(tenant))]))
            add_key(store, make_key(whose))
        store.write(tenant, lambda tx: tx.receipts.insert(receipt))
        counts = store.write(tenant, lambda tx: tx.erasure.erase_leftovers())
        assert (counts["memory_events"], counts["api_keys"]) == (1, 1)
        assert store.read(tenant, lambda tx: (tx.keys.all(), tx.receipts.get(receipt.id))) == ([], receipt)
        assert [key.revoked_at for key in store.read(neighbour, lambda tx: tx.keys.all())] == [None]

    def test_what_names_a_memory_is_found_page_by_page(self, store: Store, tenant: str) -> None:
        named = new_id("mem")
        rows = [
            make_memory(tenant, source_ref=named),
            make_memory(tenant, superseded_by=named),
            make_memory(tenant, meta={"from": named}),
            make_memory(tenant, source_ref="memory", meta={"a": "member"}),
        ]
        for row in rows:
            insert(store, row, make_event(row, payload={"of": named}))
        found = store.read(tenant, lambda tx: tx.erasure.scan_naming("", 2))
        assert [row.id for row in found] == sorted(row.id for row in rows[:3])[:2]
        found += store.read(tenant, lambda tx: tx.erasure.scan_naming(found[-1].id, 2))
        assert {(row.source_ref, row.superseded_by) for row in found} == {(named, None), (None, named), (None, None)}
        events = store.read(tenant, lambda tx: tx.erasure.scan_naming_events(-1, 3))
        events += store.read(tenant, lambda tx: tx.erasure.scan_naming_events(events[-1][0], 3))
        assert [json.loads(payload) for _, payload in events] == [{"of": named}] * 4
        store.write(tenant, lambda tx: tx.erasure.rewrite_event(events[0][0], lambda told: {**told, "of": None}))
        assert len(store.read(tenant, lambda tx: tx.erasure.scan_naming_events(-1, 9))) == 3

    def test_events_of_turns_that_name_a_memory_are_found(self, store: Store, tenant: str) -> None:
        turn = make_turn()
        said: list[dict[str, Any]] = [{"from": new_id("mem")}, {"text": "a member"}, {"of": [new_id("tout")]}]

        def write(tx: Writer) -> None:
            tx.turns.insert(turn)
            for seq, data in enumerate(said, start=1):
                tx.turns.append_event(turn.id, TurnEvent(seq, "recalled", data, START))

        def naming(after: tuple[str, int], limit: int) -> list[tuple[str, int]]:
            return [row[:2] for row in store.read(tenant, lambda tx: tx.erasure.scan_naming_turns(after, limit))]

        store.write(tenant, write)
        assert naming(("", 0), 1) == [(turn.id, 1)]
        assert naming((turn.id, 1), 9) == [(turn.id, 3)]

    def test_turn_is_emptied_of_what_it_was_told_and_may_say(self, store: Store, tenant: str) -> None:
        turn, other = make_turn(), make_turn()
        said: list[tuple[str, dict[str, Any]]] = [
            ("turn.started", {"turn_id": turn.id}),
            ("memory.injected", {"ids": [new_id("mem")]}),
            ("memory.injected", {"ids": []}),
            ("answer.delta", {"text": "some words"}),
            ("turn.completed", {"stop": "done"}),
        ]

        def write(tx: Writer) -> None:
            for one in (turn, other):
                tx.turns.insert(one)
                for seq, (event, data) in enumerate(said, start=1):
                    tx.turns.append_event(one.id, TurnEvent(seq, event, data, START))

        def left(turn_id: str) -> list[Any]:
            return [event.data for event in store.read(tenant, lambda tx: tx.turns.events(turn_id, 0, 9))]

        def empty() -> dict[str, int]:
            return store.write(tenant, lambda tx: tx.erasure.empty_turn(turn.id, [2]))

        store.write(tenant, write)
        assert empty() == {"turn_events.data": 2, "turns.answer": 0}
        ended = replace(turn, status=TurnStatus.COMPLETED, answer="some words", completed_at=START)
        assert store.write(tenant, lambda tx: tx.turns.finish(ended))
        assert empty()["turns.answer"] == 1
        kept = [data for _, data in said]
        assert left(turn.id) == [kept[0], {}, kept[2], {}, kept[4]]
        assert left(other.id) == kept
        found = store.read(tenant, lambda tx: tx.turns.get(turn.id))
        assert found == replace(ended, request="", answer=None)

    def test_text_is_found_where_it_is(self, store: Store, tenant: str, neighbour: str) -> None:
        memory = make_memory(tenant, description="100% of_the quetzal!", meta={"deep": ["Xylophone"]})
        insert(store, memory, make_event(memory, payload={"before": "an older text"}))
        put_document(store, tenant, make_document(content="a marimba"))
        record = make_record()
        save_request(store, tenant, record)
        for piece, table in (
            ("100% of_the", "memories"),
            ("quetzal!", "memories"),
            ("Xylophone", "memories"),
            ("older text", "memory_events"),
            ("marimba", "documents"),
            (memory.content_hash[:24], "memories"),
            (record.request_hash, "idempotency_keys"),
        ):
            assert _find_text(store, tenant, piece) == [table]
            assert _find_text(store, neighbour, piece) == []
        for piece in ("100_ of", "of%the", "quetzal%"):
            assert _find_text(store, tenant, piece) == []


def _present(counts: dict[str, int]) -> dict[str, int]:
    return {table: count for table, count in counts.items() if count}


def _find_text(store: Store, tenant: str, piece: str) -> list[str]:
    return store.read(tenant, lambda tx: tx.erasure.find_text(piece))
