"""What every store must do with `tx.index`: what is searched."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest

from memorist.memories import writing
from memorist.memories.searchable import Standing
from memorist.memories.values import Governor, Kind, Memory, Query, Status
from memorist.memories.writing import row_of
from memorist.platform.values import Owner, OwnerFilter
from memorist.ports import Reader, Store, Writer
from memorist.recall.values import IndexCounts, IndexMark, IndexPage, IndexPosition, IndexRow
from memorist.testing.clocks import START
from memorist.testing.conformance.claims import ClaimConformance
from memorist.testing.conformance.helpers import change, claim_waiting, index_rows, insert, save_vectors
from memorist.testing.makers import make_embedded, make_memory
from memorist.times import to_micros


class IndexConformance(ClaimConformance):
    """`tx.index`: what is searched."""

    def test_inserted_memory_is_in_the_index_at_once(self, store: Store, tenant: str) -> None:
        memory = insert(
            store,
            make_memory(
                tenant,
                owner=Owner("ada", "coder"),
                kind=Kind.CHAT_MESSAGE,
                session="s1",
                category="goal",
                project="shop",
                event_time=START - timedelta(days=3),
                valid_from=START - timedelta(days=2),
                valid_to=START + timedelta(days=2),
                expires_at=START + timedelta(days=9),
            ),
        )
        (row,) = index_rows(store, tenant, "ada")
        assert (row.memory_id, row.agent, row.thread, row.kind) == (memory.id, "coder", "s1", "chat_message")
        assert (row.category, row.project, row.standing) == ("goal", "shop", Standing.LIVE)
        expected = (memory.event_time, memory.created_at, memory.expires_at, memory.valid_from, memory.valid_to)
        found = (row.event_time, row.created_at, row.expires_at, row.valid_from, row.valid_to)
        assert found == tuple(to_micros(moment) for moment in expected if moment is not None)
        assert (row.retired_at, row.model, row.vectors) == (None, "", None)
        assert row.terms
        assert row.digest

    def test_absent_fields_are_absent_from_the_index(self, store: Store, tenant: str) -> None:
        insert(store, make_memory(tenant, owner=Owner()))
        (row,) = index_rows(store, tenant, None)
        assert (row.agent, row.thread, row.category, row.project) == ("", "", "", "")
        assert (row.expires_at, row.valid_from, row.valid_to, row.retired_at) == (None, None, None, None)

    @pytest.mark.parametrize(
        ("fields", "standing"),
        [
            ({"status": Status.ARCHIVED}, Standing.GONE),
            ({"status": Status.ARCHIVED, "valid_to": START}, Standing.RETIRED),
            ({"valid_to": START}, Standing.LIVE),
            ({"superseded_by": "mem_01J9Z3K4M5N6P7Q8R9S0T1V2W3"}, Standing.RETIRED),
            ({"status": Status.SOFT_DELETED}, Standing.GONE),
            ({"status": Status.HARD_DELETE_PENDING}, Standing.GONE),
            ({"status": Status.PURGED}, Standing.GONE),
            ({"anonymized_at": START}, Standing.GONE),
        ],
    )
    def test_index_follows_the_standing_of_a_memory(
        self, store: Store, tenant: str, fields: dict[str, Any], standing: Standing
    ) -> None:
        memory = insert(store, make_memory(tenant))
        change(store, memory, **fields)
        (row,) = index_rows(store, tenant, "ada")
        assert row.standing == standing
        assert (row.retired_at is not None) is (fields.get("status") is Status.ARCHIVED)

    def test_failed_write_leaves_nothing_in_the_index(self, store: Store, tenant: str) -> None:
        def work(tx: Writer) -> None:
            writing.insert(tx, make_memory(tenant))
            raise RuntimeError

        with pytest.raises(RuntimeError):
            store.write(tenant, work)
        assert index_rows(store, tenant, "ada") == []
        twin = insert(store, make_memory(tenant, dedup_key="same"))
        assert store.write(tenant, lambda tx: writing.insert(tx, make_memory(tenant, dedup_key="same"))) is False
        assert [row.memory_id for row in index_rows(store, tenant, "ada")] == [twin.id]

    def test_index_is_read_by_user_in_id_order_in_pieces(self, store: Store, tenant: str) -> None:
        owners = (Owner("ada"), Owner("bob"), Owner(), Owner(None, "coder"), Owner("ada", "coder"))
        memories = [insert(store, make_memory(tenant, owner=owner)) for owner in owners for _ in range(3)]
        for user in ("ada", "bob", None, "nobody"):
            expected = sorted(memory.id for memory in memories if memory.owner.user == user)
            assert [row.memory_id for row in index_rows(store, tenant, user, page=2)] == expected
        assert set(store.read(tenant, lambda tx: tx.index.users(10))) == {"ada", "bob", None}
        assert len(store.read(tenant, lambda tx: tx.index.users(2))) == 2

    def test_states_and_sizes_of_a_users_index_are_told(self, store: Store, tenant: str) -> None:
        memories = [insert(store, make_memory(tenant)) for _ in range(4)]
        of_bob = insert(store, make_memory(tenant, owner=Owner("bob")))
        rows = sorted(index_rows(store, tenant, "ada"), key=lambda row: row.change, reverse=True)
        marks = [IndexMark(row.memory_id, row.change, row.digest) for row in rows]
        asked = [memories[0].id, memories[2].id, of_bob.id, "mem_none"]

        def work(tx: Reader) -> tuple[object, ...]:
            newest = (tx.index.newest("ada", rows[1].change, 2), tx.index.newest("ada", rows[-1].change - 1, 2))
            sizes = tx.index.size("ada"), tx.index.size("nobody"), tx.index.largest()
            return set(tx.index.marks("ada", asked)), newest, *sizes

        expected = {mark for mark in marks if mark.memory_id in asked}
        assert store.read(tenant, work) == (expected, (marks[1:3], []), 4, 0, 4)

    def test_whose_memories_are_the_newest_is_told(self, store: Store, tenant: str) -> None:
        for day, user in enumerate(("ada", None, "bob", "ada", "eve")):
            insert(store, make_memory(tenant, owner=Owner(user), created_at=START + timedelta(days=day)))
        assert store.read(tenant, lambda tx: tx.index.newest_users(3)) == ["eve", "ada", "bob"]
        assert store.read(tenant, lambda tx: tx.index.newest_users(9)) == ["eve", "ada", "bob", None]

    def test_tenant_without_memories_has_no_users_in_the_index(self, store: Store, tenant: str) -> None:
        assert store.read(tenant, lambda tx: tx.index.users(10)) == []
        assert store.read(tenant, lambda tx: tx.index.has_waiting()) is False
        assert store.read(tenant, lambda tx: tx.index.largest()) == 0

    def test_entries_of_a_user_are_named_and_left_out_of_slices_without_them(self, store: Store, tenant: str) -> None:
        entry = insert(store, make_memory(tenant, owner=Owner("ada"), governed_by=Governor.COMPANION))
        fact = insert(store, make_memory(tenant, owner=Owner("ada")))
        other = insert(store, make_memory(tenant, owner=Owner("bob"), governed_by=Governor.COMPANION))
        assert store.read(tenant, lambda tx: tx.index.entries(["ada"])) == {"ada": [entry.id]}
        expected = {None: [], "bob": [other.id], "ada": [entry.id]}
        assert store.read(tenant, lambda tx: tx.index.entries([None, "bob", "ada"])) == expected
        assert store.read(tenant, lambda tx: tx.index.entries([])) == {}
        part = OwnerFilter("ada", entries=False)

        def work(tx: Reader) -> list[list[Memory]]:
            return [tx.memories.page(Query(owners=(part,)), START), tx.memories.scan(part, "", 10)]

        assert store.read(tenant, work) == [[fact], [fact]]

    def test_changes_since_a_watermark_are_found(self, store: Store, tenant: str) -> None:
        memories = [insert(store, make_memory(tenant)) for _ in range(5)]
        watermark = store.read(tenant, lambda tx: tx.index.watermark("ada"))
        before = {row.memory_id: row.change for row in index_rows(store, tenant, "ada")}
        change(store, memories[3], content="changed")
        insert(store, make_memory(tenant, owner=Owner("bob")))
        new = insert(store, make_memory(tenant))
        seen = {row.memory_id: row.change for row in _refresh(store, tenant, "ada", watermark)}
        changed = {memory_id for memory_id, change in seen.items() if before.get(memory_id) != change}
        assert changed == {memories[3].id, new.id}
        assert {one.memory_id: one.change for one in _refresh(store, tenant, "ada", watermark, page=1)} == seen

    def test_changes_of_several_users_are_of_one_moment(self, store: Store, tenant: str) -> None:
        """A memory that is given from one user to the other and back is at all times one of theirs."""
        memory = insert(store, make_memory(tenant, owner=Owner("ada")))
        positions = [IndexPosition("ada", 0, ""), IndexPosition("bob", 0, "")]
        for snapshot in (True, False):
            with ThreadPoolExecutor(1) as threads:
                giving = threads.submit(_give_to_and_fro, store, memory, 40)
                while not giving.done():
                    pages = store.read(tenant, lambda tx: tx.index.follow(positions, 10), snapshot=snapshot)
                    assert [row.memory_id for page in pages for row in page.rows] == [memory.id]
                memory = giving.result()
        assert store.read(tenant, lambda tx: tx.index.follow([], 10)) == []

    def test_change_that_is_not_committed_is_not_behind_the_watermark(self, store: Store, tenant: str) -> None:
        """Whatever becomes visible later is found from a watermark that was read before."""
        memories = [make_memory(tenant) for _ in range(24)]
        seen: dict[str, int] = {}
        watermark = store.read(tenant, lambda tx: tx.index.watermark("ada"))
        with ThreadPoolExecutor(8) as threads:
            writes = [threads.submit(insert, store, memory) for memory in memories]
            while not all(write.done() for write in writes):
                watermark = _follow(store, tenant, watermark, seen)
        _follow(store, tenant, watermark, seen)
        assert set(seen) == {memory.id for memory in memories}

    def test_what_was_read_up_to_a_watermark_is_not_read_again(self, store: Store, tenant: str) -> None:
        memories = [make_memory(tenant) for _ in range(5)]
        store.write(tenant, lambda tx: tx.memories.insert_many([row_of(memory) for memory in memories]))
        page = _changed(store, tenant, IndexPosition("ada", 0), 10)
        assert {row.memory_id for row in page.rows} == {memory.id for memory in memories}
        assert {row.change for row in page.rows} == {page.watermark}, "of one transaction"
        assert _changed(store, tenant, IndexPosition("ada", page.watermark), 10) == (page.watermark, [])

    def test_change_of_one_transaction_is_seen_as_its_last(self, store: Store, tenant: str) -> None:
        """Whatever else a transaction does, the index tells how it left each memory."""
        memory = insert(store, make_memory(tenant))

        def work(tx: Writer) -> None:
            for content in ("changed once", "changed twice"):
                tx.memories.replace(row_of(replace(memory, content=content)), memory.updated_at)
            gone = make_memory(tenant)
            tx.memories.insert(row_of(gone))
            tx.erasure.erase_rows([gone.id])

        store.write(tenant, work)
        (row,) = index_rows(store, tenant, "ada")
        assert (row.memory_id, row.terms) == (memory.id, row_of(replace(memory, content="changed twice")).terms)

    def test_changes_after_an_erasure_are_found(self, store: Store, tenant: str) -> None:
        memories = [insert(store, make_memory(tenant)) for _ in range(5)]
        watermark = store.read(tenant, lambda tx: tx.index.watermark("ada"))
        store.write(tenant, lambda tx: tx.erasure.erase_rows([memory.id for memory in memories]))
        new = {insert(store, make_memory(tenant)).id for _ in range(3)}
        assert {row.memory_id for row in _refresh(store, tenant, "ada", watermark)} == new

    def test_vectors_are_kept_under_their_model(self, store: Store, tenant: str) -> None:
        memory = insert(store, make_memory(tenant))
        assert store.read(tenant, lambda tx: tx.index.has_waiting()) is True
        (before,) = index_rows(store, tenant, "ada")
        assert save_vectors(store, tenant, make_embedded(memory)) == 1
        (row,) = index_rows(store, tenant, "ada")
        assert (row.model, row.vectors, row.terms) == ("model-1", b"vectors", before.terms)
        assert row.change != before.change
        assert store.read(tenant, lambda tx: tx.index.has_waiting()) is False
        assert store.read(tenant, lambda tx: tx.index.count("model-1")) == IndexCounts(1, 0, 0)
        assert store.read(tenant, lambda tx: tx.index.count("model-2")) == IndexCounts(1, 0, 1)

    def test_memory_that_a_model_refuses_waits_no_more_and_is_counted(self, store: Store, tenant: str) -> None:
        memory = insert(store, make_memory(tenant))
        insert(store, make_memory(tenant))
        assert save_vectors(store, tenant, make_embedded(memory, vectors=None, tokens=b"")) == 1
        found = {row.memory_id: (row.model, row.vectors) for row in index_rows(store, tenant, "ada")}
        assert found[memory.id] == ("model-1", None)
        assert store.read(tenant, lambda tx: tx.index.count("model-1")) == IndexCounts(2, 1, 0, 0, 1)
        assert store.read(tenant, lambda tx: tx.index.count("model-2")) == IndexCounts(2, 1, 1)

    def test_vectors_of_an_old_text_are_not_kept(self, store: Store, tenant: str) -> None:
        memory = insert(store, make_memory(tenant))
        change(store, memory, content="another text")
        assert save_vectors(store, tenant, make_embedded(memory)) == 0
        assert index_rows(store, tenant, "ada")[0].model == ""
        assert save_vectors(store, tenant, make_embedded(make_memory(tenant))) == 0

    def test_tokens_are_kept_with_vectors_and_read_by_id_and_model(
        self, store: Store, tenant: str, neighbour: str
    ) -> None:
        first, second, bare, other = (
            insert(store, make_memory(tenant, owner=Owner(user))) for user in ("ada", "bob", "ada", None)
        )
        made = (make_embedded(first, tokens=bytes(range(256)) * 300), make_embedded(second, tokens=b"\0two"))
        more = (make_embedded(bare, tokens=b""), make_embedded(other, "model-2", tokens=b"other"))
        assert save_vectors(store, tenant, *made, *more) == 4
        asked = [bare.id, second.id, other.id, first.id, "mem_none"]
        for snapshot in (True, False):
            found = store.read(tenant, lambda tx: tx.index.tokens(asked, "model-1"), snapshot=snapshot)
            assert found == {first.id: bytes(range(256)) * 300, second.id: b"\0two"}
        assert store.write(tenant, lambda tx: tx.index.tokens([first.id], "model-1")).keys() == {first.id}
        assert _tokens(store, tenant, [other.id, first.id], "model-2") == {other.id: b"other"}
        assert _tokens(store, tenant, [], "model-1") == {}
        assert _tokens(store, neighbour, asked, "model-1") == {}

    def test_tokens_are_replaced_and_none_take_their_place(self, store: Store, tenant: str) -> None:
        memories = [insert(store, make_memory(tenant)) for _ in range(3)]
        ids = [memory.id for memory in memories]
        save_vectors(store, tenant, *(make_embedded(memory, tokens=b"before") for memory in memories))
        made = (make_embedded(memories[0], tokens=b"after"), make_embedded(memories[1], tokens=b""))
        save_vectors(store, tenant, *made, make_embedded(memories[2], "model-2", tokens=b"other"))
        assert _tokens(store, tenant, ids, "model-1") == {ids[0]: b"after"}
        assert _tokens(store, tenant, ids, "model-2") == {ids[2]: b"other"}

    @pytest.mark.parametrize("tokens", [b"stale", b""])
    def test_tokens_of_an_old_text_are_not_kept_and_those_of_others_are(
        self, store: Store, tenant: str, tokens: bytes
    ) -> None:
        memories = [insert(store, make_memory(tenant, owner=Owner(user))) for user in ("ada", "ada", "bob")]
        changed = change(store, memories[0], content="another text")
        ids = [memory.id for memory in memories]
        stale = [make_embedded(memory, tokens=tokens) for memory in memories[:1]]
        others = [make_embedded(memory, tokens=b"fresh") for memory in memories[1:]]
        assert save_vectors(store, tenant, *stale, *others) == 2
        expected = dict.fromkeys(ids[1:], b"fresh")
        assert _tokens(store, tenant, ids) == expected
        assert save_vectors(store, tenant, make_embedded(changed, tokens=b"new")) == 1
        assert save_vectors(store, tenant, *stale, make_embedded(make_memory(tenant))) == 0
        assert _tokens(store, tenant, ids) == expected | {changed.id: b"new"}

    @pytest.mark.parametrize("way", ["reworded", "given up", "cleared", "erased", "purged with its tenant"])
    def test_tokens_go_with_what_they_were_made_of(self, store: Store, tenant: str, neighbour: str, way: str) -> None:
        memory, other = (insert(store, make_memory(tenant)) for _ in range(2))
        twin = insert(store, replace(memory, tenant=neighbour))
        save_vectors(store, tenant, make_embedded(memory), make_embedded(other, "model-2"))
        save_vectors(store, neighbour, make_embedded(twin))

        def work(tx: Writer) -> object:
            if way == "reworded":
                after = replace(memory, content="another text", updated_at=START + timedelta(days=1))
                return writing.replace(tx, after, memory.updated_at)
            if way == "given up":
                return tx.index.unindex("model-2", 10)
            if way == "erased":
                return tx.erasure.erase_rows([memory.id])
            if way == "purged with its tenant":
                return tx.erasure.erase_leftovers()
            writing.clear_traces(tx, memory, [])
            return None

        done = store.write(tenant, work)
        if way in ("erased", "purged with its tenant"):
            assert isinstance(done, dict)
            assert done["memory_tokens"] == (1 if way == "erased" else 2)
        assert _tokens(store, tenant, [memory.id]) == {}
        assert store.read(tenant, lambda tx: tx.erasure.count_named([memory.id]))["memory_tokens"] == 0
        kept = set() if way == "purged with its tenant" else {other.id}
        assert _tokens(store, tenant, [other.id], "model-2").keys() == kept
        assert _tokens(store, neighbour, [twin.id]).keys() == {twin.id}

    def test_tokens_stay_while_the_text_does_whoever_has_it(self, store: Store, tenant: str) -> None:
        memory = insert(store, make_memory(tenant))
        save_vectors(store, tenant, make_embedded(memory, tokens=b"mine"))
        memory = change(store, memory, importance=7, category="goal", status=Status.ARCHIVED)
        memory = change(store, memory, owner=Owner("bob", "coder"))
        assert _tokens(store, tenant, [memory.id]) == {memory.id: b"mine"}
        change(store, memory, owner=Owner("ada"), content="another text")
        assert _tokens(store, tenant, [memory.id]) == {}

    def test_vectors_stay_while_the_text_does_and_go_with_it(self, store: Store, tenant: str) -> None:
        memory = insert(store, make_memory(tenant))
        save_vectors(store, tenant, make_embedded(memory))
        memory = change(store, memory, importance=7, category="goal", status=Status.ARCHIVED)
        (row,) = index_rows(store, tenant, "ada")
        assert (row.model, row.vectors) == ("model-1", b"vectors")
        change(store, memory, content="another text")
        (row,) = index_rows(store, tenant, "ada")
        assert (row.model, row.vectors) == ("", None)
        assert store.read(tenant, lambda tx: tx.index.has_waiting()) is True

    def test_memory_that_changes_hands_is_in_its_new_owners_index_alone(self, store: Store, tenant: str) -> None:
        memory = insert(store, make_memory(tenant))
        save_vectors(store, tenant, make_embedded(memory))
        change(store, memory, owner=Owner("bob", "coder"))
        assert index_rows(store, tenant, "ada") == []
        (row,) = index_rows(store, tenant, "bob")
        assert (row.memory_id, row.agent, row.model) == (memory.id, "coder", "model-1")

    def test_vectors_of_another_model_are_given_up_in_pieces(self, store: Store, tenant: str) -> None:
        owners = (Owner("ada"), Owner("bob"), Owner())
        memories = [insert(store, make_memory(tenant, owner=owner)) for owner in owners for _ in range(3)]
        save_vectors(store, tenant, *(make_embedded(memory) for memory in memories[:-1]))
        save_vectors(store, tenant, make_embedded(memories[-1], "model-2"))
        watermark = store.read(tenant, lambda tx: tx.index.watermark("bob"))
        given_up = []
        while more := store.write(tenant, lambda tx: tx.index.unindex("model-2", 5)):
            given_up.append(more)
        assert given_up == [5, 3]
        assert store.read(tenant, lambda tx: tx.index.count("model-2")) == IndexCounts(9, 8, 0)
        assert len({row.memory_id for row in _refresh(store, tenant, "bob", watermark) if row.model == ""}) == 3
        assert len(claim_waiting(store, tenant, START, START)) == 8

    def test_rows_of_some_models_are_claimed_in_order_by_one_each(self, store: Store, tenant: str) -> None:
        owners = (Owner("ada"), Owner("bob"), Owner())
        memories = [insert(store, make_memory(tenant, owner=owner)) for owner in owners for _ in range(4)]
        of_models = ("model-1", "model-2", "model-3")
        for model, part in zip(of_models, (memories[::3], memories[1::3], memories[2::3]), strict=True):
            save_vectors(store, tenant, *(make_embedded(memory, model) for memory in part))
        waiting = insert(store, make_memory(tenant))
        kept = {(memory.owner.user or "", memory.id) for one in (memories[::3], memories[1::3]) for memory in one}
        until = START + timedelta(minutes=1)

        def claim(after: tuple[str, str] = ("", ""), now: datetime = START, limit: int = 3) -> list[tuple[str, str]]:
            return store.write(tenant, lambda tx: tx.index.claim_of(of_models[:2], after, now, until, limit))

        first = claim()
        second = claim(first[-1])
        assert len(first) == len(second) == 3
        rest = claim(limit=100)
        assert len(rest) == 2, "what is taken is nobody else's"
        assert {*first, *second, *rest} == kept
        assert claim(limit=100) == claim(second[-1]) == []
        assert set(claim(now=until, limit=100)) == kept, "a claim ends by its time"
        store.write(tenant, lambda tx: tx.index.give_back(second))
        assert claim(limit=100) == second
        store.write(tenant, lambda tx: tx.index.give_back([]))
        assert claim_waiting(store, tenant, START, until) == [waiting.id]

    def test_vectors_that_are_the_same_are_renewed_and_stay_as_they_are(self, store: Store, tenant: str) -> None:
        memories = [insert(store, make_memory(tenant, owner=owner)) for owner in (Owner("ada"), Owner("ada"), Owner())]
        other, changed = (insert(store, make_memory(tenant)) for _ in range(2))
        ids = [memory.id for memory in (*memories, other, changed)]
        before = [replace(make_embedded(memory), tokens=b"") for memory in memories]
        save_vectors(store, tenant, *before, make_embedded(other, "model-0"), make_embedded(changed))
        change(store, changed, content="another text")
        rows = {row.memory_id: row for user in ("ada", None) for row in index_rows(store, tenant, user)}
        watermark = store.read(tenant, lambda tx: tx.index.watermark("ada"))
        assert store.read(tenant, lambda tx: tx.index.count("model-2", ["model-1"])) == IndexCounts(5, 1, 1, 3)
        assert store.read(tenant, lambda tx: tx.index.has_any_of(["model-1", "model-9"])) is True
        made = [
            replace(make_embedded(memory, "model-2", tokens=tokens), vectors=b"", terms=b"")
            for memory, tokens in zip((*memories, other, changed), (b"one", b"", b"three", b"no", b"no"), strict=True)
        ]
        assert store.write(tenant, lambda tx: tx.index.renew(made, ["model-1"])) == 3
        after = {row.memory_id: row for user in ("ada", None) for row in index_rows(store, tenant, user)}
        for memory in memories:
            assert after[memory.id] == rows[memory.id]._replace(model="model-2"), "not even its change"
        assert (after[other.id], after[changed.id]) == (rows[other.id], rows[changed.id])
        assert _tokens(store, tenant, ids, "model-2") == {ids[0]: b"one", ids[2]: b"three"}
        assert _changed(store, tenant, IndexPosition("ada", watermark), 100).rows == []
        assert store.read(tenant, lambda tx: tx.index.count("model-2", ["model-1"])) == IndexCounts(5, 1, 1, 0)
        assert store.read(tenant, lambda tx: tx.index.has_any_of(["model-1"])) is False
        assert store.write(tenant, lambda tx: tx.index.renew(made, ["model-1"])) == 0

    def test_nothing_is_adopted_where_everything_is_in_the_index(self, store: Store, tenant: str) -> None:
        insert(store, make_memory(tenant))
        assert store.write(tenant, lambda tx: writing.adopt(tx, 100)) == 0

    def test_turn_before_is_the_last_message_of_the_same_session_and_owner(self, store: Store, tenant: str) -> None:
        turn = partial(_turn, store, tenant)
        first = turn()
        turn(session="s2")
        turn(owner=Owner("bob"))
        turn(owner=Owner("ada", "coder"))
        turn(kind=Kind.FACT)
        turn(status=Status.SOFT_DELETED)
        output = turn(kind=Kind.TOOL_OUTPUT)
        second = turn()
        third = turn(status=Status.ARCHIVED)
        fourth = turn()
        before = [_turn_before(store, memory) for memory in (first, output, second, third, fourth)]
        assert before == [None, first, first, second, third]

    @pytest.mark.parametrize("way", ["erased", "cleared", "reworded", "said by another", "restored"])
    def test_what_is_embedded_with_a_message_waits_again_when_that_changes(
        self, store: Store, tenant: str, way: str
    ) -> None:
        turn = partial(_turn, store, tenant)
        others = [turn()]
        first = turn(status=Status.SOFT_DELETED if way == "restored" else Status.ACTIVE)
        others += [turn(session="s2"), turn(owner=Owner("bob")), turn(owner=Owner("ada", "coder"))]
        others += [turn(kind=Kind.FACT), turn(session=None)]
        followers = [turn(kind=Kind.TOOL_OUTPUT), turn(status=Status.SOFT_DELETED), turn()]
        others += [turn(kind=Kind.TOOL_OUTPUT), turn()]
        save_vectors(store, tenant, *map(make_embedded, [*others, first, *followers]))
        claimed_until = START + timedelta(days=1)
        watermark = store.read(tenant, lambda tx: tx.index.watermark("ada"))

        if way == "erased":
            store.write(tenant, lambda tx: tx.erasure.erase_rows([first.id]))
        elif way == "cleared":
            store.write(tenant, lambda tx: writing.clear_traces(tx, first, []))
        elif way == "reworded":
            change(store, first, content="another text")
        elif way == "said by another":
            change(store, first, meta={"speaker": "Bob"})
        else:
            change(store, first, status=Status.ACTIVE)

        kept = {row.memory_id for user in ("ada", "bob") for row in index_rows(store, tenant, user) if row.vectors}
        assert kept - {first.id} == {one.id for one in others}
        told = _tokens(store, tenant, [one.id for one in (*others, *followers)])
        assert told.keys() == {one.id for one in others}
        seen = {row.memory_id: row for row in _refresh(store, tenant, "ada", watermark)}
        assert {(seen[one.id].model, seen[one.id].vectors) for one in followers} == {("", None)}
        waiting = claim_waiting(store, tenant, START, claimed_until)
        assert set(waiting) - {first.id} == {one.id for one in followers}

    def test_what_is_embedded_with_a_message_stays_when_its_text_does(self, store: Store, tenant: str) -> None:
        first, second = (_turn(store, tenant) for _ in range(2))
        save_vectors(store, tenant, make_embedded(first), make_embedded(second))
        first = change(store, first, importance=7, category="goal")
        change(store, first, status=Status.SOFT_DELETED)
        assert {row.vectors for row in index_rows(store, tenant, "ada")} == {b"vectors"}
        assert store.read(tenant, lambda tx: tx.index.has_waiting()) is False

    def test_of_messages_that_are_erased_together_what_follows_the_last_waits(self, store: Store, tenant: str) -> None:
        states = [Status.ACTIVE, Status.SOFT_DELETED] * 3
        turns = [_turn(store, tenant, status=status) for status in (*states, Status.ACTIVE)]
        save_vectors(store, tenant, *map(make_embedded, turns))
        store.write(tenant, lambda tx: tx.erasure.erase_rows([one.id for one in turns[:4]]))
        waiting = claim_waiting(store, tenant, START, START)
        assert waiting == [turns[4].id]
        store.write(tenant, lambda tx: tx.erasure.erase_rows([turns[4].id]))
        assert {row.model for row in index_rows(store, tenant, "ada")} == {""}

    def test_what_comes_between_two_turns_parts_them(self, store: Store, tenant: str) -> None:
        first, between, late = (make_memory(tenant, kind=Kind.CHAT_MESSAGE, session="s1") for _ in range(3))
        insert(store, first)
        insert(store, late)
        save_vectors(store, tenant, make_embedded(first), make_embedded(late))
        insert(store, between)
        assert _tokens(store, tenant, [first.id, late.id]).keys() == {first.id}
        assert {row.memory_id for row in index_rows(store, tenant, "ada") if row.vectors} == {first.id}

    def test_turn_that_another_owner_gets_is_parted_from_those_around_it(self, store: Store, tenant: str) -> None:
        turns = [_turn(store, tenant, owner=Owner("ada", agent)) for agent in ("a", "a", "a", "b", "a")]
        turns.append(_turn(store, tenant, kind=Kind.TOOL_OUTPUT, owner=Owner("ada", "b")))
        save_vectors(store, tenant, *map(make_embedded, turns))
        change(store, turns[1], owner=Owner("ada", "b"))
        change(store, turns[5], owner=Owner("ada", "a"))
        kept = {turns[0].id, turns[4].id}
        assert {row.memory_id for row in index_rows(store, tenant, "ada") if row.vectors} == kept
        assert _tokens(store, tenant, [one.id for one in turns]).keys() == kept

    def test_message_without_words_does_not_wait_again(self, store: Store, tenant: str) -> None:
        first, second = (_turn(store, tenant) for _ in range(2))
        save_vectors(store, tenant, make_embedded(first), make_embedded(second))
        store.set_index_model(tenant, "model-1")
        second = change(store, second, content="", anonymized_at=START)
        store.write(tenant, lambda tx: writing.clear_traces(tx, second, []))
        store.write(tenant, lambda tx: tx.erasure.erase_rows([first.id]))
        assert store.read(tenant, lambda tx: tx.index.has_waiting()) is False


def _turn(store: Store, tenant: str, **fields: Any) -> Memory:
    values = {"kind": Kind.CHAT_MESSAGE, "session": "s1"} | fields
    return insert(store, make_memory(tenant, **values))


def _tokens(store: Store, tenant: str, memory_ids: Sequence[str], model: str = "model-1") -> dict[str, bytes]:
    return store.read(tenant, lambda tx: tx.index.tokens(memory_ids, model), snapshot=False)


def _give_to_and_fro(store: Store, memory: Memory, times: int) -> Memory:
    for number in range(times):
        memory = change(store, memory, owner=Owner("ada" if number % 2 else "bob"))
    return memory


def _refresh(store: Store, tenant: str, user: str | None, since: int, page: int = 100) -> list[IndexRow]:
    rows: list[IndexRow] = []
    position = IndexPosition(user, since, "")
    while piece := _changed(store, tenant, position, page).rows:
        assert len(piece) <= page
        rows += piece
        position = IndexPosition(user, piece[-1].change, piece[-1].memory_id)
    assert rows == sorted(rows, key=lambda row: (row.change, row.memory_id))
    return rows


def _follow(store: Store, tenant: str, since: int, seen: dict[str, int]) -> int:
    """Note what changed since a watermark, and return the next one, both of the same moment."""
    watermark, rows = _changed(store, tenant, IndexPosition("ada", since, ""), 1000)
    seen.update((row.memory_id, row.change) for row in rows)
    return watermark


def _changed(store: Store, tenant: str, position: IndexPosition, limit: int) -> IndexPage:
    (page,) = store.read(tenant, lambda tx: tx.index.follow([position], limit), snapshot=False)
    return page


def _turn_before(store: Store, memory: Memory) -> Memory | None:
    return store.read(memory.tenant, lambda tx: tx.index.turn_before(memory))
