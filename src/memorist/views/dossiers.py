"""Everything about one memory, in whatever state it is: where it comes from, how it got here, and what comes next."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from memorist.errors import Conflict, Forbidden, IllegalTransition, MemoristError, NotFound
from memorist.ids import parse_id
from memorist.memories import lifecycle
from memorist.memories.accesses import AccessLog
from memorist.memories.earlier import told_events
from memorist.memories.entries import note_reading
from memorist.memories.governance import RULES, TESTED, is_editable, require_editable
from memorist.memories.policies import Policies
from memorist.memories.policy import Move, Policy, Reach
from memorist.memories.values import Governor, Kind, Memory, Status
from memorist.platform import access
from memorist.platform.values import Event, Principal
from memorist.ports import Reader, Store
from memorist.times import Clock

LATEST_EVENTS = 50
_LINES_BEFORE = 3
_LINES_AFTER = 2


class Act(StrEnum):
    """What somebody may do to a memory now."""

    EDIT = "edit"
    REWRITE = "rewrite"
    ARCHIVE = "archive"
    RESTORE = "restore"
    DELETE = "delete"
    ERASE = "erase"


@dataclass(frozen=True, slots=True)
class Origin:
    """What a memory was made of. `source` is the message, output or chunk itself, where it is still there and may be
    seen; `before` and `after` stand around it, or around the memory's own time where it names no source.
    """

    source: Memory | None = None
    before: tuple[Memory, ...] = ()
    after: tuple[Memory, ...] = ()
    session: str | None = None
    turn_id: str | None = None
    has_turn: bool = False
    """Whether that turn can still be read."""
    is_payload_longer: bool = False
    """Whether a tool returned more than the memory shows."""
    has_document: bool = False
    """Whether the document of a chunk can still be read."""


@dataclass(frozen=True, slots=True)
class LifeStep:
    """A state of a memory's life: when it was reached, or will be as the policy is now; None where that is open."""

    status: Status
    at: datetime | None
    is_past: bool = False
    is_now: bool = False


@dataclass(frozen=True, slots=True)
class Dossier:
    """`steps` is the memory's life from active to purged, without what it skipped. `events` are the latest first."""

    memory: Memory
    origin: Origin
    steps: tuple[LifeStep, ...]
    acts: frozenset[Act]
    events: tuple[Event, ...]
    has_more_events: bool
    is_expired: bool
    is_enforced: bool
    """Whether the policy moves memories, or only says what it would move."""
    anonymized_from: datetime | None
    """When a fact that another replaced loses its text."""


class Dossiers:
    def __init__(self, store: Store, clock: Clock, accesses: AccessLog, policies: Policies) -> None:
        self._store = store
        self._clock = clock
        self._accesses = accesses
        self._policies = policies

    def get(self, principal: Principal, memory_id: str) -> Dossier:
        """A memory that the caller may see; one that is deleted or expired only if it is the caller's to look after.

        Looking is no read: it is not counted. Raises NotFound or InvalidId.
        """
        memory_id = parse_id("mem", memory_id)
        now = self._clock.now()

        def work(tx: Reader) -> Dossier:
            memory = _require_inspectable(principal, tx.memories.get(memory_id), memory_id, now)
            policy = self._policies.of(tx)
            events = tx.events.latest(memory_id, LATEST_EVENTS + 1)
            is_retired = memory.status is Status.ARCHIVED and memory.superseded_by is not None
            return Dossier(
                memory=self._accesses.overlay(memory),
                origin=_origin(tx, principal, memory, now),
                steps=_steps(memory, policy, events),
                acts=_acts(principal, memory, policy, now),
                events=tuple(told_events(principal, memory, events[:LATEST_EVENTS])),
                has_more_events=len(events) > LATEST_EVENTS,
                is_expired=memory.is_expired(now),
                is_enforced=self._policies.reach(tx) in (Reach.ALL, *_promised(memory)),
                anonymized_from=_anonymized_from(memory, policy) if is_retired else None,
            )

        found = self._store.read(principal.tenant, work)
        note_reading(self._store, principal, [found.memory], now)
        return found

    def require_editable(self, principal: Principal, memory_id: str) -> Memory:
        """A memory that the caller may change now. Raises NotFound, InvalidId, Forbidden or Conflict."""
        memory_id = parse_id("mem", memory_id)
        now = self._clock.now()
        found = self._store.read(principal.tenant, lambda tx: tx.memories.get(memory_id), snapshot=False)
        memory = _require_inspectable(principal, found, memory_id, now)
        access.require_changeable(principal, memory)
        if not memory.is_current(now):
            raise Conflict("Only an active memory can be edited. Restore it first.")
        require_editable(memory)
        return memory

    def payload(self, principal: Principal, memory_id: str) -> tuple[Memory, str]:
        """The memory of a tool's output, and all that the tool returned. Raises NotFound or InvalidId."""
        memory_id = parse_id("mem", memory_id)

        def work(tx: Reader) -> tuple[Memory, str]:
            memory = _require_inspectable(principal, tx.memories.get(memory_id), memory_id, self._clock.now())
            if memory.kind is not Kind.TOOL_OUTPUT:
                raise NotFound(f"{memory_id} is no tool output.")
            return memory, tx.tool_outputs.get(memory_id) or memory.content

        return self._store.read(principal.tenant, work)


def _promised(memory: Memory) -> tuple[Reach, ...]:
    return (Reach.PROMISED,) if RULES[memory.governed_by].is_aged_at_once else ()


def _anonymized_from(memory: Memory, policy: Policy) -> datetime | None:
    if not RULES[memory.governed_by].is_one_set:
        return None
    return memory.updated_at + timedelta(days=policy.anonymize_after_days)


def _require_inspectable(principal: Principal, memory: Memory | None, memory_id: str, now: datetime) -> Memory:
    memory = access.require_visible(principal, memory, memory_id)
    if not memory.is_in_use(now) and not _looks_after(principal, memory):
        access.require_visible(principal, None, memory_id)
    return memory


def _looks_after(principal: Principal, memory: Memory) -> bool:
    if access.allows(principal, access.Action.ADMINISTER):
        return True
    try:
        return any(part.matches(memory.owner) for part in access.own_slices(principal))
    except Forbidden:  # It acts for nobody.
        return False


# Where it comes from


def _origin(tx: Reader, principal: Principal, memory: Memory, now: datetime) -> Origin:
    if memory.kind is Kind.DOCUMENT_CHUNK:
        before, after = tx.surroundings.chunks_around(memory, 1, 1)
        has_document = bool(memory.source_ref) and tx.documents.get(memory.owner, memory.source_ref or "") is not None
        return Origin(memory, tuple(before), tuple(after), has_document=has_document)
    if memory.kind is not Kind.FACT:
        is_longer = memory.kind is Kind.TOOL_OUTPUT and (memory.meta_whole("size") or 0) > len(memory.content)
        return replace(
            _conversation(tx, principal, memory, memory.session, now), source=memory, is_payload_longer=is_longer
        )
    turn_id = memory.source_ref if memory.source_ref and memory.source_ref.startswith("turn_") else None
    source = _source(tx, principal, memory, now)
    session = source.session if source is not None else memory.session or memory.meta_text("session_id")
    found = _conversation(tx, principal, source or memory, session, now)
    has_turn = turn_id is not None and access.reads_entries(principal) and tx.turns.get(turn_id) is not None
    return replace(found, source=source, turn_id=turn_id, has_turn=has_turn)


def _source(tx: Reader, principal: Principal, memory: Memory, now: datetime) -> Memory | None:
    """The message that a fact was learned from, where it is still there."""
    for named in (memory.meta_text("message_id"), memory.source_ref):
        if named and named.startswith("mem_"):
            found = tx.memories.get(named)
            if found is not None and access.sees(principal, found) and found.is_in_use(now):
                return found
    return None


def _conversation(tx: Reader, principal: Principal, memory: Memory, session: str | None, now: datetime) -> Origin:
    """What stands around a memory in a session of its owner, who is seen by whoever sees the memory."""
    if session is None:
        return Origin()
    before, after = tx.surroundings.said_around(memory, session, _LINES_BEFORE, _LINES_AFTER)
    return Origin(
        before=tuple(one for one in before if one.is_in_use(now) and access.sees(principal, one)),
        after=tuple(one for one in after if one.is_in_use(now) and access.sees(principal, one)),
        session=session,
    )


# What may be done


def _acts(principal: Principal, memory: Memory, policy: Policy, now: datetime) -> frozenset[Act]:
    try:
        access.require_writable(principal, memory.owner)
    except MemoristError:
        return frozenset()
    acts = {Act.ERASE}
    if not memory.is_expired(now):
        if memory.status is Status.ACTIVE:
            acts |= {Act.ARCHIVE, Act.DELETE}
            if is_editable(memory):
                acts.add(Act.EDIT)
            elif memory.governed_by is Governor.COMPANION and memory.category != TESTED and principal.user:
                acts.add(Act.REWRITE)
        elif memory.status is Status.ARCHIVED:
            acts.add(Act.DELETE)
    try:
        lifecycle.restore(memory, policy, now)
        acts.add(Act.RESTORE)
    except IllegalTransition:
        pass
    return frozenset(acts)


# Its life

_REACHED_BY = {
    Status.ARCHIVED: ("archived", "superseded"),
    Status.SOFT_DELETED: ("deleted", "replaced"),
    Status.HARD_DELETE_PENDING: ("hard_delete_pending",),
}


def _steps(memory: Memory, policy: Policy, events: list[Event]) -> tuple[LifeStep, ...]:
    here = list(Status).index(memory.status)
    ahead = _foreseen(memory, policy)
    steps = []
    for index, status in enumerate(Status):
        if index > here:
            steps.append(LifeStep(status, ahead.get(status)))
        else:
            at = _reached(memory, status, events)
            if index == here or at is not None:
                steps.append(LifeStep(status, at, is_past=index < here, is_now=index == here))
    return tuple(steps)


def _reached(memory: Memory, status: Status, events: list[Event]) -> datetime | None:
    """When a state was last reached, as far as the latest events tell; None of one that was skipped."""
    if status is Status.ACTIVE:
        return memory.created_at
    if status is Status.SOFT_DELETED and memory.deleted_at is not None:
        return memory.deleted_at
    for event in events:
        if event.event_type == "restored":
            break
        if status == event.payload.get("to") or event.event_type in _REACHED_BY.get(status, ()):
            return event.created_at
    return None


def _foreseen(memory: Memory, policy: Policy) -> dict[Status, datetime]:
    """When each state will be reached if nobody does anything, as the policy is now and if it were enforced."""
    found: dict[Status, datetime] = {}
    while True:
        due = lifecycle.due_at(memory)
        is_alive = memory.status.in_use
        ends = memory.expires_at
        if is_alive and ends is not None and memory.is_expired(ends) and (due is None or ends <= due):
            due = ends
        move = None if due is None else lifecycle.due_move(memory, due)
        if due is None or move is None:
            return found
        if move is Move.PURGED:
            return found | {Status.PURGED: due}
        memory = lifecycle.by_time(memory, move, policy, due)
        found[memory.status] = due
