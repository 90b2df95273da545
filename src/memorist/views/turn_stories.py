"""A turn looked back at: what was asked, what was told to the model, every step, and what was learned."""

from collections.abc import Sequence
from dataclasses import dataclass

from memorist.ids import parse_id
from memorist.ingestion.values import output_key
from memorist.memories.values import Memory
from memorist.platform import access
from memorist.platform.values import Principal
from memorist.ports import Reader, Store
from memorist.times import Clock
from memorist.turns.service import Turns
from memorist.turns.values import Turn, TurnEvent

INJECTED = "memory.injected"
_EVENTS_AT_ONCE = 500
_MOST_EVENTS = 10_000
_MOST_MEMORIES = 100


@dataclass(frozen=True, slots=True)
class TurnStory:
    """`said` are the messages that the turn stored, `injected` the memories that the model was told and that are still
    there, `learned` the facts that came of it, `outputs` the keys of what tools returned that is still there.
    """

    turn: Turn
    events: tuple[TurnEvent, ...]
    said: tuple[Memory, ...]
    injected: tuple[Memory, ...]
    learned: tuple[Memory, ...]
    outputs: frozenset[str]


class TurnStories:
    def __init__(self, store: Store, clock: Clock, turns: Turns) -> None:
        self._store = store
        self._clock = clock
        self._turns = turns

    def tell(self, principal: Principal, turn_id: str) -> TurnStory:
        """A turn of the caller, as far as it is. Raises NotFound or InvalidId."""
        turn = self._turns.get(principal, turn_id)
        until = turn.completed_at or self._clock.now()

        def work(tx: Reader) -> TurnStory:
            events = _events(tx, turn)
            ids = [str(id_) for event in events if event.event == INJECTED for id_ in event.data.get("ids", ())]
            there = {memory.id: memory for memory in tx.memories.get_many(ids[:_MOST_MEMORIES])} if ids else {}
            return TurnStory(
                turn,
                tuple(events),
                _seen(
                    principal,
                    tx.surroundings.list_said(turn.owner, turn.session, turn.created_at, until, _MOST_MEMORIES),
                ),
                _seen(principal, [there[id_] for id_ in ids if id_ in there]),
                _seen(principal, tx.surroundings.list_learned(turn.id, _MOST_MEMORIES)),
                _outputs(tx, events),
            )

        return self._store.read(principal.tenant, work)


def _outputs(tx: Reader, events: Sequence[TurnEvent]) -> frozenset[str]:
    keys = [key for event in events if (key := event.data.get("tool_output_key"))]
    ids = [parse_id("mem", str(key).removeprefix("tout_")) for key in keys[:_MOST_MEMORIES]]
    return frozenset(output_key(memory) for memory in tx.memories.get_many(ids)) if ids else frozenset()


def _events(tx: Reader, turn: Turn) -> list[TurnEvent]:
    events: list[TurnEvent] = []
    while len(events) < _MOST_EVENTS:
        page = tx.turns.events(turn.id, events[-1].seq if events else 0, _EVENTS_AT_ONCE)
        events += page
        if len(page) < _EVENTS_AT_ONCE:
            break
    return events


def _seen(principal: Principal, memories: Sequence[Memory]) -> tuple[Memory, ...]:
    return tuple(memory for memory in memories if access.sees(principal, memory))
