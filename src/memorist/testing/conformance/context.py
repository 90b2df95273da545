"""What every store must do with `tx.context`: what agents are given."""

from datetime import datetime, timedelta

from memorist.context.values import ChunkQuery
from memorist.memories.values import Memory, Position, Status
from memorist.platform.values import Owner, OwnerFilter
from memorist.ports import Store
from memorist.testing.clocks import START
from memorist.testing.conformance.fixtures import StoreFixtures
from memorist.testing.conformance.helpers import ADA, insert, insert_all
from memorist.testing.makers import make_memory


class ContextConformance(StoreFixtures):
    """`tx.context`: what agents are given."""

    def test_chunks_are_found_by_pattern_newest_first(self, store: Store, tenant: str) -> None:
        texts = ["Use pnpm", "USE_PNPM", "100% sure", "nothing", "möglich"]
        for number, text in enumerate(texts):
            insert(store, make_memory(tenant, content=text, category="fact", created_at=START + timedelta(number)))
        insert(store, make_memory(tenant, content="use pnpm", category="goal"))
        insert(store, make_memory(tenant, content="use pnpm", category="fact", status=Status.ARCHIVED))

        def found(pattern: str | None) -> list[str]:
            query = ChunkQuery(ADA, pattern)
            pages = store.read(tenant, lambda tx: list(tx.context.find_chunks(query, START, 2)))
            return [one.content for page in pages for one in page]

        # What is not of ASCII alone is always a candidate.
        assert found("%use%pnpm%") == ["möglich", "USE_PNPM", "Use pnpm"]
        assert found("%e!_p%") == ["möglich", "USE_PNPM"]
        assert found("%0!% s%") == ["möglich", "100% sure"]
        assert found(None) == ["möglich"]
        assert found("%") == texts[::-1]

    def test_facts_of_a_category_come_newest_first_from_a_position_on(
        self, store: Store, tenant: str, neighbour: str
    ) -> None:
        goals = [make_memory(tenant, category="goal", created_at=START + timedelta(number // 2)) for number in range(4)]
        theirs = make_memory(tenant, category="goal", owner=Owner("ada", "coder"), created_at=START - timedelta(1))
        others = [
            make_memory(tenant, category="fact"),
            make_memory(tenant, category="goal", status=Status.ARCHIVED),
            make_memory(tenant, category="goal", expires_at=START),
            make_memory(tenant, category="goal", owner=Owner("bob")),
        ]
        insert_all(store, *goals, theirs, *others)

        def listed(
            owner: OwnerFilter, of: str = tenant, *, after: Memory | None = None, since: datetime | None = None
        ) -> list[Memory]:
            position = None if after is None else Position(after.created_at, after.id)
            return store.read(
                of, lambda tx: tx.context.list_category(owner, "goal", START, 4, after=position, since=since)
            )

        wanted = sorted(goals, key=lambda goal: (goal.created_at, goal.id), reverse=True)
        assert listed(OwnerFilter("ada")) == listed(ADA) == wanted
        assert listed(ADA, after=wanted[1]) == [*wanted[2:], theirs]
        assert listed(OwnerFilter("ada"), after=wanted[1]) == wanted[2:]
        assert listed(ADA, since=START) == wanted[:2]
        assert listed(ADA, neighbour) == []
