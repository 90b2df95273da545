"""Facts as tests tell them, and what became of them."""

from typing import Any

from memorist.core import Core
from memorist.memories.values import Memory
from memorist.platform.values import Principal
from memorist.recall.values import Question

BERLIN, LISBON, OSLO = (f"The user lives in {city}." for city in ("Berlin", "Lisbon", "Oslo"))


def tell(core: Core, who: Principal, content: str, **options: Any) -> Memory:
    return core.facts.remember(who, content, **options).memory


def now(core: Core, memory: Memory) -> Memory:
    """The row as it is."""
    found = core.store.read(memory.tenant, lambda tx: tx.memories.get(memory.id))
    assert found is not None
    return found


def events(core: Core, memory: Memory) -> list[str]:
    return [event.event_type for event in core.store.read(memory.tenant, lambda tx: tx.events.of([memory.id]))]


def recalled(core: Core, who: Principal, query: str, **fields: Any) -> list[str]:
    return [hit.memory.content for hit in core.recall.recall(who, Question(query, **fields)).hits]
