"""A turn looked back at: what was asked, what was told to the model, every step, and what was learned."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

from memorist.errors import NotFound
from memorist.facts.values import DoubtStatus
from memorist.ids import parse_id
from memorist.ingestion.values import output_key
from memorist.memories.values import Memory
from memorist.platform import access, validation
from memorist.platform.values import OwnerFilter, Principal
from memorist.ports import Reader, Store
from memorist.times import Clock
from memorist.turns.service import Turns
from memorist.turns.values import Turn, TurnEvent

INJECTED = "memory.injected"
_EVENTS_AT_ONCE = 500
_MOST_EVENTS = 10_000
_MOST_MEMORIES = 100
_MOST_TOLD = 500


@dataclass(frozen=True, slots=True)
class TurnStory:
    """`said` are the messages that the turn stored, `injected` the memories that the model was told and that are still
    there, `learned` the facts that came of it, `outputs` the keys of what tools returned that is still there.
    `replaced` are facts that one of the learned took the place of, `doubted` those that one of them may contradict.
    """

    turn: Turn
    events: tuple[TurnEvent, ...]
    said: tuple[Memory, ...]
    injected: tuple[Memory, ...]
    learned: tuple[Memory, ...]
    outputs: frozenset[str]
    replaced: tuple[Memory, ...] = ()
    doubted: tuple[Memory, ...] = ()
    told: Mapping[str, Memory] = field(default_factory=dict)
    """By its id, what the lines of the prompt tell of, and is still there."""


class TurnStories:
    def __init__(self, store: Store, clock: Clock, turns: Turns) -> None:
        self._store = store
        self._clock = clock
        self._turns = turns

    def of_session(self, principal: Principal, session: str, most: int) -> list[TurnStory]:
        """The last turns of a session that the caller sees, in their order. Raises InvalidField."""
        validation.identifier("session", session)
        if not access.reads_entries(principal):
            return []
        user = principal.user
        ids = self._store.read(principal.tenant, lambda tx: tx.surroundings.session_turns(user, session, most))
        found: list[TurnStory] = []
        for one in reversed(ids):
            with suppress(NotFound):  # Of another agent.
                found.append(self.tell(principal, one))
        return found

    def tell(self, principal: Principal, turn_id: str) -> TurnStory:
        """A turn of the caller, as far as it is. Raises Forbidden, NotFound or InvalidId."""
        turn = self._turns.get(principal, turn_id)
        now = self._clock.now()
        until = turn.completed_at or now

        def work(tx: Reader) -> TurnStory:
            events = _events(tx, turn)
            ids = [str(id_) for event in events if event.event == INJECTED for id_ in event.data.get("ids", ())]
            told = [str(id_) for one in events for line in one.data.get("lines", ()) for id_ in line["ids"]]
            wanted = list(dict.fromkeys(ids + told))[:_MOST_TOLD]
            there = {memory.id: memory for memory in tx.memories.get_many(wanted)} if wanted else {}
            learned = _seen(principal, tx.surroundings.list_learned(turn.id, _MOST_MEMORIES))
            return TurnStory(
                turn,
                tuple(events),
                _seen(
                    principal,
                    tx.surroundings.list_said(turn.owner, turn.session, turn.created_at, until, _MOST_MEMORIES),
                ),
                _seen(principal, [there[id_] for id_ in ids[:_MOST_MEMORIES] if id_ in there]),
                learned,
                _outputs(tx, events),
                _seen(principal, [old for one in learned for old in tx.facts.superseded(one.id)]),
                _seen(principal, _doubted(tx, turn, {one.id for one in learned}, now)),
                {one.id: one for one in _seen(principal, list(there.values()))},
            )

        return self._store.read(principal.tenant, work)


def _doubted(tx: Reader, turn: Turn, learned: Collection[str], now: datetime) -> list[Memory]:
    """The other side of every open doubt that what was learned is in."""
    if not learned:
        return []
    owner = OwnerFilter(turn.owner.user, any_agent=True, entries=True)
    doubts = tx.facts.doubts(owner, None, _MOST_MEMORIES, now, status=DoubtStatus.OPEN)
    pairs = [(one.fact_id, one.other_id) for one in doubts]
    others = [old if new in learned else new for new, old in pairs if new in learned or old in learned]
    return tx.memories.get_many(others) if others else []


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
