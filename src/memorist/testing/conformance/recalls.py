"""What every store must do with `tx.recalls`: what memories were recalled for."""

from dataclasses import replace
from datetime import datetime, timedelta

from memorist.ids import new_id
from memorist.memories import writing
from memorist.memories.values import Memory, PastRecall
from memorist.platform.values import OwnerFilter
from memorist.ports import Store, Writer
from memorist.testing.clocks import START
from memorist.testing.conformance.fixtures import StoreFixtures
from memorist.testing.conformance.helpers import ADA, EVERYBODY
from memorist.testing.makers import make_memory


class RecallConformance(StoreFixtures):
    """`tx.recalls`: what memories were recalled for."""

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

    def test_many_recalls_are_noted_at_once_each_once(self, store: Store, tenant: str) -> None:
        memory, gone = make_memory(tenant), make_memory(tenant)
        recalls = [replace(_recall(memory, START + timedelta(seconds=n)), rank=n, score=n / 7) for n in range(150)]

        def write(tx: Writer) -> None:
            writing.insert(tx, memory)
            tx.recalls.insert([*recalls[:100], *recalls[50:], _recall(gone, START), recalls[0]])

        store.write(tenant, write)
        assert store.read(tenant, lambda tx: tx.recalls.of(memory.id, 200)) == recalls[::-1]

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
        texts = store.read(tenant, lambda tx: (tx.erasure.texts_of(ADA, 9), tx.erasure.texts_of(ADA, 0)))
        assert texts == ([by_ada.query], [])
        assert "recalls" in store.read(tenant, lambda tx: tx.erasure.find_text("for which question"))
        assert store.write(tenant, lambda tx: tx.erasure.erase_owned(OwnerFilter("ada", "another")))["recalls"] == 0
        assert store.write(tenant, lambda tx: tx.erasure.erase_owned(ADA))["recalls"] == 1
        assert store.read(tenant, lambda tx: tx.recalls.of(memory.id, 9)) == [by_bob]
        assert "bob" in store.read(tenant, lambda tx: tx.erasure.list_users())

    def test_what_was_asked_lately_is_told_by_answer_and_counted_by_day(self, store: Store, tenant: str) -> None:
        first, second = make_memory(tenant), make_memory(tenant)
        asked, later = _recall(first, START), _recall(second, START + timedelta(days=1))
        beside = replace(_recall(second, START), id=asked.id, rank=2)
        by_bob = replace(_recall(first, START), user="bob")

        def write(tx: Writer) -> None:
            writing.insert(tx, first)
            writing.insert(tx, second)
            tx.recalls.insert([asked, beside, later, by_bob])

        store.write(tenant, write)
        assert store.read(tenant, lambda tx: tx.recalls.asked(ADA, 9, 99)) == [later, asked]
        assert store.read(tenant, lambda tx: tx.recalls.asked(ADA, 1, 99)) == [later]
        counted = store.read(tenant, lambda tx: tx.recalls.count_asked(ADA, START, 99))
        days = {(one.day, one.agent): (one.questions, one.memories) for one in counted}
        assert days == {(START.date(), "coder"): (1, 2), (later.at.date(), "coder"): (1, 1)}
        assert store.read(tenant, lambda tx: tx.recalls.count_asked(ADA, later.at, 99))[0].questions == 1

    def test_recalls_are_read_back_by_time(self, store: Store, tenant: str, neighbour: str) -> None:
        memory = make_memory(tenant)
        recalls = [_recall(memory, START + timedelta(seconds=number)) for number in range(4)]
        by_bob = replace(recalls[2], id=new_id("rec"), user="bob")

        def write(tx: Writer) -> None:
            writing.insert(tx, memory)
            tx.recalls.insert([*recalls, by_bob])

        store.write(tenant, write)
        end = (START + timedelta(days=1), "")

        def back(owner: OwnerFilter, before: tuple[datetime, str], since: datetime, limit: int) -> list[PastRecall]:
            return store.read(tenant, lambda tx: tx.recalls.back(owner, before, since, limit))

        assert back(ADA, end, START, 9) == recalls[::-1]
        assert back(ADA, end, START, 2) == recalls[:1:-1]
        assert back(ADA, (recalls[2].at, recalls[2].id), START, 9) == recalls[1::-1]
        assert back(ADA, end, recalls[3].at, 9) == recalls[3:]
        assert set(back(EVERYBODY, end, START, 9)) == {*recalls, by_bob}
        assert back(OwnerFilter("ada", "another"), end, START, 9) == []
        assert store.read(neighbour, lambda tx: tx.recalls.back(EVERYBODY, end, START, 9)) == []


def _recall(memory: Memory, at: datetime) -> PastRecall:
    return PastRecall(memory.id, at, new_id("rec"), "ada", "coder", "test", "for which question", 1, 0.5)
