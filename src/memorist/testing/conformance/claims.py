"""What every store must do with `tx.index` for those who share the work: what waits for vectors is claimed by one."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

from memorist.platform.values import Owner
from memorist.ports import Store
from memorist.testing.clocks import START
from memorist.testing.conformance.fixtures import StoreFixtures
from memorist.testing.conformance.helpers import change, claim_waiting, insert, save_vectors
from memorist.testing.makers import make_embedded, make_memory


class ClaimConformance(StoreFixtures):
    """A part of `IndexConformance`."""

    def test_waiting_memory_is_claimed_by_one(self, store: Store, tenant: str) -> None:
        memories = [insert(store, make_memory(tenant)) for _ in range(20)]
        until = START + timedelta(minutes=1)

        def claim_all(_: int) -> list[str]:
            claimed: list[str] = []
            while store.read(tenant, lambda tx: tx.index.waiting(START, 1)):
                claimed += claim_waiting(store, tenant, START, until, 3)
            return claimed

        newest = claim_waiting(store, tenant, START, until, 3)
        assert sorted(newest) == sorted(memory.id for memory in memories[-3:]), "the newest first"
        store.write(tenant, lambda tx: tx.index.release_claims())
        with ThreadPoolExecutor(8) as threads:
            claimed = [memory_id for ids in threads.map(claim_all, range(8)) for memory_id in ids]
        assert sorted(claimed) == sorted(memory.id for memory in memories)
        assert claim_all(0) == []

    def test_waiting_memories_are_told_newest_first_with_their_sizes(self, store: Store, tenant: str) -> None:
        texts = {"ada": "Grüße", "bob": "x" * 30_000, None: "short"}
        memories = [insert(store, make_memory(tenant, owner=Owner(user), content=text)) for user, text in texts.items()]
        found = store.read(tenant, lambda tx: tx.index.waiting(START, 10))
        assert [(one.user, one.memory_id) for one in found] == [
            (memory.owner.user or "", memory.id) for memory in reversed(memories)
        ]
        short, long, other = (one.size for one in found)
        assert short <= other < 1000 < 30_000 <= long < 50_000
        assert store.read(tenant, lambda tx: tx.index.waiting(START, 1)) == found[:1]
        assert store.read(tenant, lambda tx: tx.index.waiting(START, 10, longest=1000)) == [found[0], found[2]]
        assert store.read(tenant, lambda tx: tx.index.waiting(START, 1, longest=1000)) == found[:1]

    def test_claim_is_kept_for_longer_by_who_has_it(self, store: Store, tenant: str) -> None:
        memory = insert(store, make_memory(tenant))
        first, second, third = (START + timedelta(minutes=number) for number in (1, 2, 3))

        def keep(held: datetime, until: datetime) -> list[str]:
            rows = [("ada", memory.id)]
            return store.write(tenant, lambda tx: tx.index.claim_waiting(rows, START, until, held))

        assert claim_waiting(store, tenant, START, first) == [memory.id]
        assert keep(second, third) == [], "it is another's"
        assert keep(first, second) == [memory.id]
        assert keep(first, third) == []
        store.write(tenant, lambda tx: tx.index.release_claims())
        assert keep(second, third) == [memory.id], "nobody has taken it"
        save_vectors(store, tenant, make_embedded(memory))
        assert keep(third, third) == []

    def test_claim_ends_by_time_by_release_and_with_another_text(self, store: Store, tenant: str) -> None:
        memory = insert(store, make_memory(tenant))
        later = START + timedelta(minutes=1)

        def claim(now: datetime) -> list[str]:
            return claim_waiting(store, tenant, now, now + timedelta(minutes=1))

        assert claim(START) == [memory.id]
        assert claim(later - timedelta(microseconds=1)) == []
        assert claim(later) == [memory.id]
        store.write(tenant, lambda tx: tx.index.release_claims())
        assert claim(START) == [memory.id]
        memory = change(store, memory, content="another text")
        assert claim(START) == [memory.id]
        save_vectors(store, tenant, make_embedded(memory))
        store.write(tenant, lambda tx: tx.index.release_claims())
        assert claim(later) == []

    def test_latest_claim_of_what_waits_is_told(self, store: Store, tenant: str) -> None:
        def latest() -> datetime | None:
            return store.read(tenant, lambda tx: tx.index.latest_claim())

        until = START + timedelta(minutes=1)
        later = START + timedelta(minutes=2)
        assert latest() is None
        newest = [insert(store, make_memory(tenant)) for _ in range(2)][1]
        assert latest() is None
        assert claim_waiting(store, tenant, START, later, 1) == [newest.id]
        assert claim_waiting(store, tenant, START, until, 1)
        assert latest() == later
        save_vectors(store, tenant, make_embedded(newest))
        assert latest() == until

    def test_claims_of_short_texts_are_released_and_others_stay(self, store: Store, tenant: str) -> None:
        texts = ("Grüße", "ü" * 500, "ü" * 30_000)
        memories = [insert(store, make_memory(tenant, content=text)) for text in texts]
        until = START + timedelta(minutes=1)
        assert len(claim_waiting(store, tenant, START, until)) == 3
        store.write(tenant, lambda tx: tx.index.release_claims(until + timedelta(minutes=1), longest=20_000))
        assert claim_waiting(store, tenant, START, until) == []
        store.write(tenant, lambda tx: tx.index.release_claims(longest=20_000))
        assert set(claim_waiting(store, tenant, START, until)) == {memory.id for memory in memories[:2]}

    def test_one_claim_is_released_and_others_stay(self, store: Store, tenant: str) -> None:
        for _ in range(6):
            insert(store, make_memory(tenant))
        mine, theirs = START + timedelta(minutes=1), START + timedelta(minutes=2)
        claimed = claim_waiting(store, tenant, START, mine, 2)
        others = claim_waiting(store, tenant, START, theirs, 3)
        assert (len(claimed), len(others)) == (2, 3)
        store.write(tenant, lambda tx: tx.index.release_claims(mine))
        again = claim_waiting(store, tenant, START, mine, 10)
        assert set(claimed) < set(again)
        assert len(again) == 3
