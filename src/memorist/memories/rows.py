"""Memories as they are written inside a transaction, with the events that tell of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from memorist.errors import Conflict, DuplicateContent, NameTaken
from memorist.memories import lifecycle, writing
from memorist.memories.fields import EDITABLE
from memorist.memories.policy import Move, Policy
from memorist.memories.values import Memory, Remembered, Retention
from memorist.platform.actors import event_by
from memorist.platform.attempts import until_written
from memorist.platform.redaction import Counts
from memorist.platform.values import Event, Principal
from memorist.ports import Reader, Writer
from memorist.times import Clock


class MemoryRows:
    def __init__(self, clock: Clock, policy: Callable[[Reader], Policy]) -> None:
        """`policy` says which is in force."""
        self._clock = clock
        self.policy = policy

    def insert_all(self, tx: Writer, principal: Principal, memories: Sequence[Memory]) -> list[Remembered]:
        """Write prepared memories with their events. Raises NameTaken."""
        events: list[Event] = []
        if len(memories) == 1 and clash_key(memories[0]):
            results = {0: self._insert(tx, principal, memories[0], events)}
        else:
            # What can clash goes in one order, so that two batches never wait for each other.
            order = sorted(range(len(memories)), key=lambda index: clash_key(memories[index]))
            new = [index for index in order if not clash_key(memories[index])]
            results = self._insert_new(tx, principal, {index: memories[index] for index in new}, events)
            for index in order[len(new) :]:
                results[index] = self._insert(tx, principal, memories[index], events)
        tx.events.append(events)
        return [results[index] for index in range(len(memories))]

    def _insert_new(
        self, tx: Writer, principal: Principal, memories: Mapping[int, Memory], events: list[Event]
    ) -> dict[int, Remembered]:
        """Write those that can clash with none, together."""
        written = {index: self._with_deadlines(tx, memory) for index, memory in memories.items()}
        if not writing.insert_many(tx, list(written.values())):
            raise Conflict
        for memory in written.values():
            events += self.told(principal, memory, "created")
        return {index: Remembered(memory, was_new=True) for index, memory in written.items()}

    def _with_deadlines(self, tx: Writer, memory: Memory) -> Memory:
        if memory.retention is not Retention.POLICY:
            return memory
        return lifecycle.with_deadlines(memory, self.policy(tx))

    def _insert(self, tx: Writer, principal: Principal, memory: Memory, events: list[Event]) -> Remembered:
        """Write one of them; what its history has to say of it is added to `events`."""
        memory = self._with_deadlines(tx, memory)

        def attempt() -> Remembered | None:
            if writing.insert(tx, memory):
                events.extend(self.told(principal, memory, "created"))
                return Remembered(memory, was_new=True)
            existing = existing_like(tx, memory)
            if existing is None:
                return None  # Deleted between the two statements: the next try succeeds.
            if not existing.is_current(self._clock.now()):
                self.expire(tx, principal, existing)
                return None
            if memory.name is not None:
                raise NameTaken
            merged = lifecycle.merge(existing, memory, self._clock.now())
            if merged != existing and not writing.replace(tx, merged, existing.updated_at):
                return None  # Changed between the two statements.
            events.extend(self.told(principal, replace(existing, redacted=memory.redacted), "deduplicated"))
            before = {name: old for name in EDITABLE if (old := getattr(existing, name)) != getattr(merged, name)}
            if before:
                events.append(event_by(principal, merged.id, "updated", self._clock.now(), {"before": before}))
            return Remembered(merged, was_new=False)

        return until_written(attempt)

    def retire(self, tx: Writer, principal: Principal, memories: Sequence[Memory], event_type: str) -> None:
        """Soft-delete rows that something else replaces."""
        for memory in memories:
            gone = lifecycle.soft_delete(memory, self.policy(tx), self._clock.now())
            self._move(tx, principal, memory, gone, event_type)

    def expire(self, tx: Writer, principal: Principal, memory: Memory) -> None:
        """Let a memory go whose own time is over, as the sweeper would."""
        gone = lifecycle.by_time(memory, Move.EXPIRED, self.policy(tx), self._clock.now())
        self._move(tx, principal, memory, gone, Move.EXPIRED)

    def _move(self, tx: Writer, principal: Principal, before: Memory, after: Memory, event_type: str) -> None:
        if writing.replace(tx, after, before.updated_at):
            payload = lifecycle.moved_payload(before, after)
            tx.events.append([event_by(principal, before.id, event_type, self._clock.now(), payload)])

    def make_room(self, tx: Writer, principal: Principal, memory: Memory) -> None:
        """See to it that no active memory has the name or the text that this one is to have.

        One that is past its expiry gives way. Raises NameTaken or DuplicateContent.
        """
        existing = existing_like(tx, memory)
        if existing is None or existing.id == memory.id:
            return
        if existing.is_current(self._clock.now()):
            raise NameTaken if memory.name is not None else DuplicateContent
        self.expire(tx, principal, existing)

    def record_redaction(self, tx: Writer, principal: Principal, memory: Memory, found: Counts) -> None:
        """Say in the memory's history that secrets were taken out of what belongs to it."""
        tx.events.append(self.told(principal, replace(memory, redacted=found)))

    def told(self, principal: Principal, memory: Memory, *event_types: str) -> list[Event]:
        """Events of a write and, without the secrets, of what it took out of the memory."""
        now = self._clock.now()
        events = [event_by(principal, memory.id, event_type, now) for event_type in event_types]
        if memory.redacted:
            events.append(event_by(principal, memory.id, "redacted", now, {"rules": memory.redacted}))
        return events


def write_over(tx: Writer, after: Memory, expected_updated_at: datetime) -> bool:
    """Compare-and-set. False where the row changed meanwhile or is gone. Raises NameTaken or DuplicateContent."""
    try:
        return writing.replace(tx, after, expected_updated_at)
    except Conflict as error:
        # Taken by another process since it was looked for.
        raise (NameTaken if after.name is not None else DuplicateContent) from error


def existing_like(tx: Reader, memory: Memory) -> Memory | None:
    """The memory of its owner that has its name or, where it has none, its text."""
    owner = memory.owner
    if memory.name is not None:
        return tx.memories.find_named(owner.user, owner.agent, memory.name)
    return tx.memories.find_duplicate(owner.user, owner.agent, memory.dedup_key)


def clash_key(memory: Memory) -> str:
    """What another memory may have too: its name or what stands for its text; '' where nothing can."""
    return memory.name or ("" if memory.dedup_key == memory.id else memory.dedup_key)
