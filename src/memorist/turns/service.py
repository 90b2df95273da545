"""Turns: what is asked, the memory that goes with it, the answer and what is learned, as events that are kept.

A turn is a row and its events are rows, each on disk before anybody sees it: whoever follows can go on after any of
them, in another process, or after a restart. The process that works on a turn says so every few seconds; where it no
longer does, the next one that looks ends the turn.
"""

import json
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from itertools import count
from typing import Any

from memorist.context.companion import Companion
from memorist.errors import (
    BudgetSpent,
    Forbidden,
    InvalidField,
    LlmNotConfigured,
    MemoristError,
    NotFound,
    TurnAbandoned,
    TurnInterrupted,
    TurnTooLong,
)
from memorist.ids import new_id, parse_id
from memorist.ingestion.service import Ingestion, Message
from memorist.learning.service import Extraction
from memorist.models.port import Llm
from memorist.models.values import Usage
from memorist.platform import access, validation
from memorist.platform.idempotency import Idempotency
from memorist.platform.paging import Page, id_cursors, page_of
from memorist.platform.redaction import Redaction
from memorist.platform.spending import Spending
from memorist.platform.values import OwnerFilter, Principal, Role
from memorist.ports import Reader, Store, Writer
from memorist.secrets.logs import redacting_logger
from memorist.times import Clock
from memorist.turns.limits import Toolbox, TurnLimits
from memorist.turns.values import Turn, TurnEvent, TurnStatus

_log = redacting_logger(__name__)

STARTED = "turn.started"
COMPLETED = "turn.completed"
FAILED = "turn.failed"
LAST = (COMPLETED, FAILED)
"""The events of which one ends every turn."""

ROLES = ("user", "assistant", "system")
MAX_MESSAGES = 1000

_BEAT_S = 2.0
# Whoever asks for a turn ends it where it is lost; this is for those that nobody asks for.
_REAP_EVERY = 30
_LEASE = timedelta(seconds=10)
_ATTENDED_FOR = timedelta(seconds=30)
_POLL_S = 0.25
_PAGE = 200
_CURSORS = id_cursors("turns", "turn")


class Turns:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        companion: Companion,
        ingestion: Ingestion,
        extraction: Extraction,
        idempotency: Idempotency,
        llm: Callable[[], Llm | None],
        toolbox: Callable[[], Toolbox | None],
        limits: TurnLimits,
        redaction: Redaction,
    ) -> None:
        self.store = store
        self.clock = clock
        self.companion = companion
        self.ingestion = ingestion
        self.extraction = extraction
        self.toolbox = toolbox
        self.limits = limits
        self.redaction = redaction
        self.spending = Spending(store, clock)
        self._idempotency = idempotency
        self._llm = llm
        self._runner = secrets.token_hex(8)
        self._lock = threading.Lock()
        self._running: dict[str, Run] = {}
        self._listeners: dict[str, set[Callable[[], None]]] = {}
        self._workers: ThreadPoolExecutor | None = None
        self._heart: threading.Thread | None = None
        self._stopping = threading.Event()

    # Asking

    def start(
        self,
        principal: Principal,
        messages: Sequence[Message],
        *,
        include_memory: bool = True,
        session: str | None = None,
        idempotency_key: str | None = None,
    ) -> Turn:
        """Write down a turn and begin to work on it in the background. Messages end with the user's.

        Raises LlmNotConfigured, BudgetSpent, InvalidField, Forbidden, IdempotencyMismatch, IdempotencyInFlight or
        StoreError.
        """
        access.require(principal, access.Action.WRITE)
        if principal.user is None:
            raise Forbidden("A turn is one user's. Use a user's key, or name the user with X-Memorist-User.")
        _validate(messages)
        session = session or principal.session
        if session is not None:
            self.redaction.refuse("session", validation.identifier("session", session))
        llm = self._llm()
        if llm is None:
            raise LlmNotConfigured
        request = {
            "messages": [{"role": one.role, "content": self.redaction.text(one.content)} for one in messages],
            "include_memory": include_memory,
        }
        turn_id = new_id("turn")
        now = self.clock.now()
        turn = Turn(
            id=turn_id,
            owner=access.writable_owner(principal, None),
            session=session or turn_id,
            status=TurnStatus.RUNNING,
            created_at=now,
            request=json.dumps(request, ensure_ascii=False),
            runner=self._runner,
            lease_until=now + _LEASE,
            attended_until=now + _ATTENDED_FOR,
        )
        first = TurnEvent(1, STARTED, {"turn_id": turn_id, "session_id": turn.session, "model": llm.model_id}, now)

        def work(tx: Writer) -> Turn:
            if 0 < self.limits.budget_usd <= self.spending.this_month(tx):
                raise BudgetSpent
            tx.turns.insert(turn)
            tx.turns.append_event(turn_id, first)
            return turn

        made = self._idempotency.write(
            principal,
            "turn",
            idempotency_key,
            [request, session],
            work,
            lambda one: one.id,
            lambda known: replace(self._known(principal.tenant, known), replayed=True),
        )
        if made is turn:
            self._begin(replace(principal, session=turn.session), turn, llm)
        return made

    def _known(self, tenant: str, turn_id: str) -> Turn:
        found = self.store.read(tenant, lambda tx: tx.turns.get(turn_id))
        if found is None:
            raise NotFound(f"The turn {turn_id} was erased.")
        return found

    # Reading

    def get(self, principal: Principal, turn_id: str) -> Turn:
        """A turn of the caller. Raises NotFound or InvalidId."""
        turn_id = parse_id("turn", turn_id)
        found = self.store.read(principal.tenant, lambda tx: tx.turns.get(turn_id))
        if found is None or not any(part.matches(found.owner) for part in _visible(principal)):
            raise NotFound(f"There is no turn {turn_id} that you may see.")
        if _is_lost(found, self.clock.now()) and self.reap(principal.tenant):
            return self._known(principal.tenant, turn_id)
        return found

    def list(self, principal: Principal, *, limit: int = 20, cursor: str | None = None) -> Page[Turn]:
        """A page of the caller's turns, newest first. Raises InvalidField or InvalidCursor."""
        validation.page_limit(limit)
        before = _CURSORS.decode(cursor)
        parts = _visible(principal)

        def work(tx: Reader) -> Sequence[Turn]:
            found = [turn for part in parts for turn in tx.turns.page(part, before, limit + 1)]
            return sorted(found, key=lambda turn: turn.id, reverse=True)

        found = self.store.read(principal.tenant, work)
        return page_of(found, limit, lambda last: _CURSORS.encode(last.id))

    def listen(
        self, principal: Principal, turn_id: str, after: int = 0, *, wake: Callable[[], None] = lambda: None
    ) -> "Listener":
        """The events of a turn after one of them, those to come too. `wake` is called when there may be more.

        Raises NotFound or InvalidField.
        """
        if after < 0:
            raise InvalidField("The position must be the number of an event.", field="after")
        return Listener(self, principal, self.get(principal, turn_id), after, wake)

    def follow(self, principal: Principal, turn_id: str, after: int = 0) -> Iterator[TurnEvent]:
        """The events of a turn as they come, until it is over."""
        woken = threading.Event()
        with self.listen(principal, turn_id, after, wake=woken.set) as listener:
            while not listener.is_over:
                woken.clear()
                found = listener.read()
                yield from found
                if not found:
                    woken.wait(_POLL_S)

    # Working

    def start_reaping(self) -> None:
        """For servers: end turns that nobody works on any more, now and from time to time."""
        self._beat_from_now_on()

    def _begin(self, principal: Principal, turn: Turn, llm: Llm) -> None:
        from memorist.turns.work import answer  # What works on a turn needs all of this.

        run = Run(self, principal, turn)
        with self._lock:
            self._running[turn.id] = run
            if self._workers is None:
                self._workers = ThreadPoolExecutor(self.limits.at_once, thread_name_prefix="memorist-turn")
            workers = self._workers
        self._beat_from_now_on()

        def work() -> None:
            try:
                answer(run, llm)
            finally:
                with self._lock:
                    self._running.pop(turn.id, None)

        workers.submit(work)

    @property
    def running(self) -> int:
        """How many turns this process works on."""
        return len(self._running)

    def meanwhile(self, work: Callable[[], None]) -> "Future[None] | None":
        """Do something beside a turn that is worked on; None where everything is being closed."""
        with self._lock:
            if self._workers is None or self._stopping.is_set():
                return None
            return self._workers.submit(work)

    def _beat_from_now_on(self) -> None:
        with self._lock:
            if self._heart is None and not self._stopping.is_set():
                self._heart = threading.Thread(target=self._beat, name="memorist-turns", daemon=True)
                self._heart.start()

    def _beat(self) -> None:
        for beat in count():
            if self._stopping.is_set():
                return
            try:
                self._hold_all()
                for tenant in self.store.list_tenants() if beat % _REAP_EVERY == 0 else ():
                    self.reap(tenant.id)
            except MemoristError as error:
                _log.warning("turns could not be looked after: %s", error.message)
            self._stopping.wait(_BEAT_S)

    def _hold_all(self) -> None:
        """Say which turns are worked on, all of a tenant in one write: one each would last as long as a lease."""
        by_tenant: dict[str, list[Run]] = {}
        for run in list(self._running.values()):
            by_tenant.setdefault(run.principal.tenant, []).append(run)
        for tenant, runs in by_tenant.items():
            now = self.clock.now()

            def work(tx: Writer, runs: Sequence[Run] = runs, now: datetime = now) -> list[Turn | None]:
                held = (tx.turns.hold(run.turn.id, self._runner, now + _LEASE) for run in runs)
                return [tx.turns.get(run.turn.id) if is_held else None for run, is_held in zip(runs, held, strict=True)]

            for run, turn in zip(runs, self.store.write(tenant, work), strict=True):
                self._look_at(run, turn, now)

    def _look_at(self, run: "Run", turn: Turn | None, now: datetime) -> None:
        """End a turn that another has taken, to which nobody listens, or which takes too long."""
        if turn is None:
            run.stop(TurnInterrupted())
        elif turn.attended_until is not None and turn.attended_until < now:
            run.stop(TurnAbandoned())
        elif (now - turn.created_at).total_seconds() > self.limits.timeout_s:
            run.stop(TurnTooLong())

    def reap(self, tenant: str) -> int:
        """End the turns of a tenant that nobody works on any more. Returns how many."""
        now = self.clock.now()
        lost = self.store.read(tenant, lambda tx: tx.turns.lost(now, _PAGE), snapshot=False)
        # One that is worked on here is late, not lost.
        return sum(self._end_lost(tenant, turn) for turn in lost if turn.id not in self._running)

    def _end_lost(self, tenant: str, turn: Turn) -> bool:
        error = TurnInterrupted()
        now = self.clock.now()

        def work(tx: Writer) -> bool:
            if not tx.turns.take(turn.id, self._runner, now, now + _LEASE):
                return False
            ended = replace(turn, status=TurnStatus.FAILED, runner=self._runner, error=told(error), completed_at=now)
            event = TurnEvent(tx.turns.last_event(turn.id) + 1, FAILED, failure(turn.id, error), now)
            tx.turns.append_event(turn.id, event)
            return tx.turns.finish(ended)

        ended = self.store.write(tenant, work)
        self.tell(turn.id)
        return ended

    # Telling

    def tell(self, turn_id: str) -> None:
        """Wake those in this process who listen to a turn."""
        with self._lock:
            listeners = list(self._listeners.get(turn_id, ()))
        for wake in listeners:
            wake()

    def subscribe(self, turn_id: str, wake: Callable[[], None]) -> None:
        with self._lock:
            self._listeners.setdefault(turn_id, set()).add(wake)

    def unsubscribe(self, turn_id: str, wake: Callable[[], None]) -> None:
        with self._lock:
            listeners = self._listeners.get(turn_id, set())
            listeners.discard(wake)
            if not listeners:
                self._listeners.pop(turn_id, None)

    def close(self) -> None:
        """Let what runs fail soon; what does not is ended by the next who looks."""
        self._stopping.set()
        for run in list(self._running.values()):
            run.stop(TurnInterrupted())
        if self._workers is not None:
            self._workers.shutdown(wait=True, cancel_futures=True)
        if self._heart is not None:
            self._heart.join()


class Run:
    """A turn that is worked on here: adds its events, each on disk before anybody sees it."""

    def __init__(self, turns: Turns, principal: Principal, turn: Turn) -> None:
        self.turns = turns
        self.principal = principal
        self.turn = turn
        self._seq = 1
        self._stop: MemoristError | None = None
        self.stopped = threading.Event()

    @property
    def seconds(self) -> float:
        return (self.turns.clock.now() - self.turn.created_at).total_seconds()

    def stop(self, reason: MemoristError) -> None:
        self._stop = self._stop or reason
        self.stopped.set()

    def check(self) -> None:
        """Raises the reason why the turn is to be ended, where there is one."""
        if self._stop is not None:
            raise self._stop

    def emit(self, event: str, data: Mapping[str, Any]) -> None:
        """Add an event. Raises TurnInterrupted where another has taken the turn, and as `check` does."""
        self.check()
        self._append(event, data)

    def complete(self, answer: str, usage: Usage, data: Mapping[str, Any], at: datetime) -> None:
        """`at` is when the answer was whole: what was learned from it is newer."""
        ended = replace(self.turn, status=TurnStatus.COMPLETED, answer=answer, usage=usage, completed_at=at)
        self._append(COMPLETED, data, ended)

    def fail(self, error: MemoristError, usage: Usage) -> None:
        ended = replace(
            self.turn, status=TurnStatus.FAILED, error=told(error), usage=usage, completed_at=self.turns.clock.now()
        )
        self._append(FAILED, failure(self.turn.id, error), ended)

    def _append(self, event: str, data: Mapping[str, Any], ended: Turn | None = None) -> None:
        now = self.turns.clock.now()
        one = TurnEvent(self._seq + 1, event, data, now)

        def work(tx: Writer) -> bool:
            if not tx.turns.hold(self.turn.id, self.turn.runner, now + _LEASE):
                return False
            tx.turns.append_event(self.turn.id, one)
            return ended is None or tx.turns.finish(ended)

        if not self.turns.store.write(self.principal.tenant, work):
            raise TurnInterrupted
        self._seq += 1
        self.turns.tell(self.turn.id)


class Listener:
    """Somebody who follows a turn. While there is one, the turn goes on."""

    def __init__(self, turns: Turns, principal: Principal, turn: Turn, after: int, wake: Callable[[], None]) -> None:
        self.turn = turn
        self.position = after
        self.is_over = False
        self._turns = turns
        self._tenant = principal.tenant
        self._wake = wake
        self._attended_until = turn.attended_until
        turns.subscribe(turn.id, wake)

    def __enter__(self) -> "Listener":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._turns.unsubscribe(self.turn.id, self._wake)

    def read(self) -> list[TurnEvent]:
        """What is new. `is_over` once the last event was given out. Raises StoreError."""
        found, turn = self._turns.store.read(
            self._tenant,
            lambda tx: (tx.turns.events(self.turn.id, self.position, _PAGE), tx.turns.get(self.turn.id)),
        )
        if found:
            self.position = found[-1].seq
            self.is_over = found[-1].event in LAST
        elif turn is None or turn.status is not TurnStatus.RUNNING:
            self.is_over = True  # Erased meanwhile, or followed from its end.
        else:
            self._look_after(turn)
        return found

    def _look_after(self, turn: Turn) -> None:
        now = self._turns.clock.now()
        if _is_lost(turn, now):
            self._turns.reap(self._tenant)
        elif self._attended_until is None or self._attended_until - now < _ATTENDED_FOR * 0.8:
            until = self._attended_until = now + _ATTENDED_FOR
            self._turns.store.write(self._tenant, lambda tx: tx.turns.attend(self.turn.id, until))


def told(error: MemoristError) -> dict[str, str]:
    """An error as a turn tells it."""
    return {"code": error.code, "message": error.message}


def failure(turn_id: str, error: MemoristError) -> dict[str, Any]:
    return {"turn_id": turn_id, "status": str(TurnStatus.FAILED), "error": told(error)}


def spent(usage: Usage) -> dict[str, Any]:
    return asdict(usage)


def _is_lost(turn: Turn, now: datetime) -> bool:
    """Whether a turn runs that nobody works on any more."""
    return turn.status is TurnStatus.RUNNING and turn.lease_until is not None and turn.lease_until <= now


def _validate(messages: Sequence[Message]) -> None:
    if not 0 < len(messages) <= MAX_MESSAGES:
        raise InvalidField(f"From 1 to {MAX_MESSAGES} messages are taken.", field="messages")
    for place, message in enumerate(messages):
        if message.role not in ROLES:
            raise InvalidField(f"role must be one of {', '.join(ROLES)}.", field=f"messages.{place}.role")
        validation.text(f"messages.{place}.content", message.content, longest=validation.MAX_CONTENT)
    if messages[-1].role != "user":
        raise InvalidField("The last message must be the user's.", field=f"messages.{len(messages) - 1}.role")


def _visible(principal: Principal) -> tuple[OwnerFilter, ...]:
    """Whose turns the caller sees: the user's own; an admin that acts for nobody sees everybody's."""
    access.require(principal, access.Action.READ)
    if principal.user is None and principal.role is Role.ADMIN:
        return access.visible_slices(principal)
    if principal.user is None:
        raise Forbidden("Turns are one user's. Use a user's key, or name the user with X-Memorist-User.")
    return access.user_slices(principal)
