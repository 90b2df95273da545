"""Working on turns in this process: some at a time, of which it says every few seconds that it still does.

Where a process no longer says so, its turns are lost: whoever looks first ends them.
"""

import atexit
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial

from memorist.errors import StoreError, TurnAbandoned, TurnInterrupted, TurnTooLong
from memorist.models.fair_share import WHOSE, in_background
from memorist.models.values import Usage
from memorist.platform.acts import working
from memorist.platform.crew import Crew
from memorist.platform.loop import Loop
from memorist.platform.rounds import all_due
from memorist.platform.values import DueWork
from memorist.ports import Store, Writer
from memorist.secrets.logs import redacting_logger
from memorist.times import Clock
from memorist.turns.limits import TurnLimits
from memorist.turns.run import LEASE, Run, failure, finished, told
from memorist.turns.values import FAILED, Turn, TurnEvent, TurnStatus

_log = redacting_logger(__name__)

_BEAT_S = 2.0
# Whoever asks for a turn ends it where it is lost; this is for those that nobody asks for.
_REAP_EVERY = 30
_REAPED_AT_ONCE = 200
_GRACE_S = 5.0
"""So long what runs is waited for at the end: less than a lease."""


class Runner:
    def __init__(
        self, store: Store, clock: Clock, limits: TurnLimits, tell: Callable[[str], None], *, background: bool = True
    ) -> None:
        """`tell` wakes those who listen to a turn. Without `background`, `hold_all` and `reap` are called by hand."""
        self.name = secrets.token_hex(8)
        self._store = store
        self._clock = clock
        self._limits = limits
        self._tell = tell
        self._lock = threading.Lock()
        self._running: dict[str, Run] = {}
        self._workers = Crew("memorist-turn", limits.at_once)
        # Threads of its own: a turn waits for what is done beside it, also where every worker has a turn.
        self._helpers = Crew("memorist-beside-turn", limits.at_once)
        self._has_begun = False
        self._beats = 0
        self._loop = Loop("turns", self._beat, _BEAT_S, background=background)

    @property
    def running(self) -> int:
        """How many turns this process works on."""
        return len(self._running)

    @property
    def stopping(self) -> bool:
        """Whether everything ends: nothing long is begun then."""
        return self._loop.stopping

    def start_reaping(self) -> None:
        """For servers: end turns that nobody works on any more, now and from time to time."""
        self._loop.start()

    def begin(self, run: Run, work: Callable[[Run], None]) -> None:
        """Work on a turn in the background. `work` must not raise. Where no thread can be started the turn fails."""
        with self._lock:
            if not self._has_begun:
                # A program that ends without closing must not be torn down in the middle of a computation.
                atexit.register(self.close)
                self._has_begun = True
            self._running[run.turn.id] = run
        if self.stopping:
            run.stop(TurnInterrupted())

        def to_its_end() -> None:
            WHOSE.set((run.principal.tenant, run.principal.user or ""))
            try:
                with working(run.principal, "turn"):
                    work(run)
            finally:
                self._let_go(run)

        try:
            self._loop.start()
            self._workers.submit(to_its_end)
        except RuntimeError as error:
            _log.warning("a turn is not worked on: %s", error)
            self._let_go(run)
            with suppress(StoreError, TurnInterrupted):  # Then whoever looks ends it as a lost one.
                run.fail(TurnInterrupted(), Usage())

    def _let_go(self, run: Run) -> None:
        with self._lock:
            self._running.pop(run.turn.id, None)

    def meanwhile(self, work: Callable[[], None]) -> "Future[None] | None":
        """Do something beside a turn that is worked on; None where everything is being closed, or no thread can be
        started.
        """
        with suppress(RuntimeError):
            return None if self.stopping else self._helpers.submit(partial(_in_background, work))
        return None

    def hold_all(self) -> None:
        """Say which turns are worked on, all of a tenant in one write: one each would last as long as a lease."""
        by_tenant = self._by_tenant()
        self._loop.each(by_tenant, lambda tenant: self._hold(tenant, by_tenant[tenant]))

    def _by_tenant(self) -> dict[str, list[Run]]:
        by_tenant: dict[str, list[Run]] = {}
        for run in list(self._running.values()):
            by_tenant.setdefault(run.principal.tenant, []).append(run)
        return by_tenant

    def _hold(self, tenant: str, runs: Sequence[Run]) -> None:
        now = self._clock.now()

        def work(tx: Writer) -> list[Turn | None]:
            held = (tx.turns.hold(run.turn.id, self.name, now + LEASE) for run in runs)
            return [tx.turns.get(run.turn.id) if is_held else None for run, is_held in zip(runs, held, strict=True)]

        for run, turn in zip(runs, self._store.write(tenant, work), strict=True):
            self._look_at(run, turn, now)

    def reap(self, tenant: str) -> int:
        """End the turns of a tenant that nobody works on any more. Returns how many."""
        now = self._clock.now()
        lost = self._store.read(tenant, lambda tx: tx.turns.lost(now, _REAPED_AT_ONCE), snapshot=False)
        # One that is worked on here is late, not lost.
        return sum(self._end_lost(tenant, turn) for turn in lost if turn.id not in self._running)

    def close(self) -> None:
        """Let what runs fail soon, and give it a moment; what takes longer is ended by the next who looks."""
        self._loop.stop()
        for run in list(self._running.values()):
            run.stop(TurnInterrupted())
        self._loop.close()
        with suppress(StoreError):  # Where one cannot be written, the others are not waited for.
            # Once more, so that nobody takes for lost what is being ended here.
            for tenant, runs in self._by_tenant().items():
                self._hold(tenant, runs)
        until = time.monotonic() + _GRACE_S
        # Turns first: they wait for what is done beside them.
        self._workers.join(until)
        self._helpers.join(until)
        with suppress(StoreError):
            for run in list(self._running.values()):
                with suppress(TurnInterrupted):
                    run.leave()
        atexit.unregister(self.close)

    def _beat(self) -> None:
        self.hold_all()
        if self._beats % _REAP_EVERY == 0:
            self._loop.each(list(all_due(self._store, DueWork.LOST_TURNS, self._clock.now())), self.reap)
        self._beats += 1

    def _end_lost(self, tenant: str, turn: Turn) -> bool:
        error = TurnInterrupted()
        now = self._clock.now()

        def work(tx: Writer) -> bool:
            if not tx.turns.take(turn.id, self.name, now, now + LEASE):
                return False
            ended = replace(turn, status=TurnStatus.FAILED, runner=self.name, error=told(error), completed_at=now)
            event = TurnEvent(tx.turns.last_event(turn.id) + 1, FAILED, failure(turn.id, error), now)
            tx.turns.append_event(turn.id, event)
            return finished(tx, ended)

        ended = self._store.write(tenant, work)
        self._tell(turn.id)
        return ended

    def _look_at(self, run: Run, turn: Turn | None, now: datetime) -> None:
        """End a turn that another has taken, to which nobody listens, or which takes too long."""
        if turn is None:
            run.stop(TurnInterrupted())
        elif turn.attended_until is not None and turn.attended_until < now:
            run.stop(TurnAbandoned())
        elif (now - turn.created_at).total_seconds() > self._limits.timeout_s:
            run.stop(TurnTooLong())


def _in_background(work: Callable[[], None]) -> None:
    with in_background():
        work()
