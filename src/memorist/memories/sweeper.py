"""The sweeper: does what time brings to memories, a little at a time, in as many processes as there are.

A sweep moves each memory by one step at most, as of the moment when the sweep began. Its transactions are short, and it
rests between them, so that recall and writes stay fast. Claiming and moving are one transaction: whoever claims a
memory moves it, once, and what is interrupted was not done.
"""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Protocol

from memorist.errors import MemoristError
from memorist.memories import lifecycle, writing
from memorist.memories.policies import Counts, Policies
from memorist.memories.policy import DueCount, Mode, Move, Policy, Reach, SweepState
from memorist.memories.values import Governor, Kind, Memory, Status
from memorist.platform import access, acts
from memorist.platform.acts import working
from memorist.platform.erased_names import hexadecimal
from memorist.platform.loop import Loop
from memorist.platform.rounds import all_due
from memorist.platform.values import DueWork, Event, Principal, Role
from memorist.ports import Reader, Store, Writer
from memorist.secrets.logs import redacting_logger
from memorist.times import Clock, to_iso
from memorist.watching import Watch

_log = redacting_logger(__name__)

SOURCE = "sweeper"
_ROWS = 100
"""Memories that one transaction moves at most."""
_BUSY_SECONDS = 0.05
"""A transaction that takes longer makes the next one smaller."""
_FEWEST_ROWS = 20
_REST = 2.0
"""So many times as long as it worked the sweeper rests, and no longer than this:"""
_LONGEST_REST_SECONDS = 0.2
_JOBS_KEPT_FOR = timedelta(days=7)
_COUNTED_FOR_S = 60.0

# Of which door's memories the policy moves those that are due.
_MOVED = {Reach.PROMISED: Governor.LIFECYCLE, Reach.ALL: None}

_Moved = Counter[tuple[Move, Kind]]

PurgeNewQuotes = Callable[[Writer, Collection[str]], None]


class Eraser(Protocol):
    """Removes memories with all that belongs to them."""

    def purge_rows(self, tx: Writer, memory_ids: Sequence[str]) -> None: ...

    def purge_quotes(self, tenant: str, memory_ids: Collection[str]) -> PurgeNewQuotes:
        """Remove what repeats these memories word for word, and what other memories' events say of them. All that names
        a memory is looked at, outside of any transaction. Returns what does the same, inside one, with what came since.
        """
        ...


@dataclass(frozen=True, slots=True)
class Sweep:
    """What a sweep did and, where the policy only observes or it was a dry run, would have done."""

    tenant: str
    as_of: datetime
    mode: Mode
    done: Counts = field(default_factory=dict)
    due: Counts = field(default_factory=dict)
    samples: dict[str, list[str]] = field(default_factory=dict)
    dry_run: bool = False

    def to_record(self) -> dict[str, Any]:
        return {
            "tenant": self.tenant,
            "as_of": to_iso(self.as_of),
            "mode": self.mode,
            "dry_run": self.dry_run,
            "done": self.done,
            "due": self.due,
            "samples": self.samples,
        }


class Sweeper:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        policies: Policies,
        eraser: Eraser,
        *,
        turn_events_kept_for: timedelta = timedelta(days=30),
        rest: Callable[[float], object] | None = None,
        watch: Watch | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._policies = policies
        self._eraser = eraser
        self._turn_events_kept_for = turn_events_kept_for
        self._counted: dict[tuple[str, int], tuple[float, dict[str, Any]]] = {}
        self._loop = Loop("sweeper", self._sweep_all, 0, at_once=False)
        self._rest = rest or self._loop.rest
        self._watch = watch or Watch()

    # One sweep

    def sweep(self, tenant: str) -> Sweep:
        """Do everything that is due now, in small steps; where the policy only observes, that is what TTLs ask for and
        what the lifecycle API promised.

        Then count what is still due, and keep that as the tenant's report.
        """
        with self._watch.timed("sweep"):
            found = self._sweep(tenant)
        for move, kinds in found.done.items():
            self._watch.count("swept", move, sum(kinds.values()))
        return found

    def _sweep(self, tenant: str) -> Sweep:
        as_of = self._clock.now()
        look = self._look(tenant, as_of)
        if not look.settled:
            self._settle(tenant)
            look = self._look(tenant, as_of)
        done: _Moved = Counter()
        if look.expired:
            done += self._drain(tenant, lambda tx, rows: self._expire_some(tx, as_of, rows))
        if look.due:
            done += self._drain(tenant, lambda tx, rows: self._move_some(tx, as_of, rows))
        if look.retired:
            done += self._anonymize(tenant, look.policy, as_of)
        if any(move is Move.PURGED for move, _ in done):
            self._empty_logs()
        found = Sweep(tenant, as_of, look.reach.mode, done=_by_move(done))
        found = self._store.read(tenant, partial(_survey, found, look.policy))
        with acts.aside():
            self._store.write(tenant, partial(self._conclude, found))
        return found

    def dry_run(self, tenant: str) -> Sweep:
        """What an enforced sweep would do now. Changes nothing."""
        as_of = self._clock.now()

        def work(tx: Reader) -> Sweep:
            policy = self._policies.of(tx)
            return _survey(Sweep(tenant, as_of, self._policies.reach(tx).mode, dry_run=True), policy, tx)

        return self._store.read(tenant, work)

    def report(self, principal: Principal) -> dict[str, Any]:
        """The last sweep's report of the caller's tenant, or what one would do now. Raises Forbidden."""
        return self.last_report(principal) or self.dry_run(principal.tenant).to_record()

    def recent_report(self, principal: Principal) -> dict[str, Any]:
        """The same for those who look often: before the first sweep, what was counted a minute ago will do."""
        report = self.last_report(principal)
        if report is not None:
            return report
        key = (principal.tenant, self._policies.get(principal).revision)
        until, counted = self._counted.get(key, (0.0, {}))
        if time.monotonic() >= until:
            counted = self.dry_run(principal.tenant).to_record()
            self._counted = {key: (time.monotonic() + _COUNTED_FOR_S, counted)}
        return counted

    def last_report(self, principal: Principal) -> dict[str, Any] | None:
        """The last sweep's report of the caller's tenant; None before the first. Raises Forbidden."""
        access.require(principal, access.Action.ADMINISTER)
        state = self._store.read(principal.tenant, lambda tx: tx.aging.get_sweep(), snapshot=False)
        return None if state is None or state.report is None else dict(state.report)

    def _look(self, tenant: str, as_of: datetime) -> "_Look":
        """What there is to do, in one read: mostly nothing."""

        def work(tx: Reader) -> _Look:
            policy = self._policies.of(tx)
            reach = self._policies.reach(tx)
            return _Look(
                policy,
                reach,
                self._policies.is_settled(tx),
                tx.aging.has_expired(as_of),
                reach is not Reach.NOTHING and tx.aging.has_due(as_of, _MOVED[reach]),
                reach is Reach.ALL and tx.aging.has_retired(lifecycle.anonymizable_before(policy, as_of)),
            )

        return self._store.read(tenant, work, snapshot=False)

    def _settle(self, tenant: str) -> None:
        """Deadlines first: those of a policy that is no longer in force decide nothing."""
        while not self._loop.stopping:
            started = time.monotonic()
            if self._policies.recompute(tenant):
                return
            self._rest(min(_LONGEST_REST_SECONDS, _REST * (time.monotonic() - started)))

    def _drain(self, tenant: str, step: Callable[[Writer, int], tuple[int, _Moved]]) -> _Moved:
        """Repeat a step until it finds no more, in transactions that stay short."""
        moved: _Moved = Counter()
        rows = _ROWS
        while not self._loop.stopping:
            started = time.monotonic()
            with working(Principal(tenant, Role.ADMIN), "sweep"):
                claimed, counts = self._store.write(tenant, partial(_with_rows, step, rows))
            took = time.monotonic() - started
            moved += counts
            if claimed < rows:
                break  # Nothing is left, or others are writing it: then the next sweep sees to it.
            rows = max(_FEWEST_ROWS, rows // 2) if took > _BUSY_SECONDS else min(_ROWS, rows * 2)
            self._rest(min(_LONGEST_REST_SECONDS, _REST * took))
        return moved

    def _anonymize(self, tenant: str, policy: Policy, as_of: datetime) -> _Moved:
        """First what others say of them goes: where it is cut off, they are still due."""
        before = lifecycle.anonymizable_before(policy, as_of)
        ids = frozenset(self._store.read(tenant, lambda tx: tx.aging.retired(before)))
        with working(Principal(tenant, Role.ADMIN), "sweep"):
            purge_new_quotes = self._eraser.purge_quotes(tenant, ids)
        return self._drain(tenant, lambda tx, rows: self._anonymize_some(tx, as_of, purge_new_quotes, rows))

    # Steps, each inside one transaction

    def _expire_some(self, tx: Writer, as_of: datetime, rows: int) -> tuple[int, _Moved]:
        claimed = tx.aging.claim_expired(as_of, rows)
        return len(claimed), self._move(tx, self._policies.of(tx), claimed, as_of)

    def _move_some(self, tx: Writer, as_of: datetime, rows: int) -> tuple[int, _Moved]:
        reach = self._policies.reach(tx)
        if reach is Reach.NOTHING:
            return 0, Counter()  # Somebody changed it meanwhile.
        claimed = tx.aging.claim_due(as_of, rows, _MOVED[reach])
        return len(claimed), self._move(tx, self._policies.of(tx), claimed, as_of)

    def _move(self, tx: Writer, policy: Policy, claimed: Iterable[Memory], as_of: datetime) -> _Moved:
        moved: _Moved = Counter()
        purged: list[Memory] = []
        now = self._clock.now()
        for before in claimed:
            move = lifecycle.due_move(before, as_of)
            if move is None:
                writing.set_deadlines(tx, before, before.updated_at)  # Its `due_at` did not say what its deadlines do.
            elif move is Move.PURGED:
                purged.append(before)
            else:
                after = lifecycle.by_time(before, move, policy, now)
                if writing.move(tx, after, before.updated_at):
                    tx.events.append([_event(before, after, move, now)])
                    moved[move, before.kind] += 1
        if purged:
            ids = [memory.id for memory in purged]
            self._entomb(tx, ids)
            self._eraser.purge_rows(tx, ids)
            tx.events.append(_purged(memory, now) for memory in purged)
            moved.update((Move.PURGED, memory.kind) for memory in purged)
        return moved

    def _entomb(self, tx: Writer, memory_ids: Sequence[str]) -> None:
        """Keep of these memories' events, for admins, what happened and when: no text, nobody's name."""
        tx.aging.entomb(
            replace(one, memory_id=hexadecimal(one.memory_id), payload=lifecycle.without_names(one.payload))
            for one in tx.events.of(memory_ids)
        )

    def _anonymize_some(
        self, tx: Writer, as_of: datetime, purge_new_quotes: PurgeNewQuotes, rows: int
    ) -> tuple[int, _Moved]:
        moved: _Moved = Counter()
        policy = self._policies.of(tx)
        if self._policies.reach(tx) is not Reach.ALL:
            return 0, moved
        claimed = tx.aging.claim_retired(lifecycle.anonymizable_before(policy, as_of), rows)
        anonymized: list[str] = []
        now = self._clock.now()
        for memory in claimed:
            after = lifecycle.anonymize(memory, now)
            if writing.replace(tx, after, memory.updated_at):
                writing.clear_traces(tx, after, tx.events.of([memory.id]))
                tx.events.append([Event(memory.id, Move.ANONYMIZED, SOURCE, now)])
                moved[Move.ANONYMIZED, memory.kind] += 1
                anonymized.append(memory.id)
        if anonymized:
            purge_new_quotes(tx, anonymized)
        return len(claimed), moved

    def _conclude(self, found: Sweep, tx: Writer) -> None:
        """Keep the report, and drop what other parts of the program need no longer."""
        state = tx.aging.hold_sweep() or SweepState(0, "")
        is_open = bool(found.due) or self._policies.stays_open(tx)
        tx.aging.put_sweep(replace(state, report=found.to_record(), reported_at=found.as_of, is_open=is_open))
        tx.idempotency.drop_expired(found.as_of)
        tx.jobs.drop_done(found.as_of - _JOBS_KEPT_FOR)
        tx.turns.drop_unkept(found.as_of - self._turn_events_kept_for)

    def _empty_logs(self) -> None:
        try:
            self._store.checkpoint()
        except MemoristError as error:
            _log.info("purged texts leave the log with a later sweep: %s", error.message)

    # In the background

    def start(self, every_s: float) -> None:
        """Sweep whoever has something due, now and then, until closed."""
        self._loop.every = every_s
        self._loop.start()

    def close(self) -> None:
        self._loop.close()

    def _sweep_all(self) -> None:
        self._loop.each(self._due(), self.sweep)

    def _due(self) -> Iterator[str]:
        """Whoever has something to sweep, once each. Raises StoreError."""
        now = self._clock.now()
        by = {
            DueWork.MOVES: now,
            DueWork.RETIRED: self._policies.looked_for_before(now),
            DueWork.OLD_ANSWERS: now,
            DueWork.OLD_TURNS: now - self._turn_events_kept_for,
        }
        seen: set[str] = set()
        for work, moment in by.items():
            for tenant in all_due(self._store, work, moment):
                if tenant not in seen:
                    seen.add(tenant)
                    yield tenant


@dataclass(frozen=True, slots=True)
class _Look:
    """What a sweep found to do."""

    policy: Policy
    reach: Reach
    settled: bool
    expired: bool
    due: bool
    retired: bool


def _survey(found: Sweep, policy: Policy, tx: Reader) -> Sweep:
    """The sweep with what is due at its moment."""
    counts = tx.aging.count_due(found.as_of, lifecycle.anonymizable_before(policy, found.as_of))
    return replace(found, due=_due(counts), samples=_samples(counts))


def _with_rows(step: Callable[[Writer, int], tuple[int, _Moved]], rows: int, tx: Writer) -> tuple[int, _Moved]:
    return step(tx, rows)


def _event(before: Memory, after: Memory, move: Move, now: datetime) -> Event:
    return Event(before.id, move, SOURCE, now, payload=lifecycle.moved_payload(before, after))


def _purged(memory: Memory, now: datetime) -> Event:
    payload = {"from": memory.status, "to": Status.PURGED}
    return Event(hexadecimal(memory.id), Move.PURGED, SOURCE, now, payload=payload)


def _by_move(moved: _Moved) -> Counts:
    counts: Counts = {}
    for (move, kind), count in sorted(moved.items()):
        counts.setdefault(move.value, {})[kind.value] = count
    return counts


def _due(counts: Iterable[DueCount]) -> Counts:
    return _by_move(Counter({(one.move, one.kind): one.count for one in counts}))


def _samples(counts: Iterable[DueCount]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in counts:
        found.setdefault(one.move.value, []).extend(one.samples)
    return found
