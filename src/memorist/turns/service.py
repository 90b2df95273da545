"""Turns: what is asked, the memory that goes with it, the answer and what is learned, as events that are kept.

A turn is a row and its events are rows, each on disk before anybody sees it: whoever follows can go on after any of
them, in another process, or after a restart. The process that works on a turn says so every few seconds; where it no
longer does, the next one that looks ends the turn.
"""

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from memorist.composing.service import Composer
from memorist.context.companion import Companion, Finding, Recorded
from memorist.errors import BudgetSpent, Forbidden, InvalidField, LlmNotConfigured, NotFound, StoreError
from memorist.ids import new_id, parse_id
from memorist.ingestion.service import Ingestion, Message
from memorist.learning.service import Extraction
from memorist.models.port import Llm
from memorist.platform import access, validation
from memorist.platform.idempotency import Idempotency
from memorist.platform.paging import Page, id_cursors, page_of
from memorist.platform.redaction import Redaction
from memorist.platform.spending import Spending
from memorist.platform.values import OwnerFilter, Principal
from memorist.ports import Reader, Store, Writer
from memorist.times import Clock
from memorist.turns.calibration import Calibration
from memorist.turns.limits import Toolbox, TurnLimits
from memorist.turns.listening import ATTENDED_FOR, Listener, Listeners, attend
from memorist.turns.run import LEASE, Run, is_lost
from memorist.turns.running import Runner
from memorist.turns.values import STARTED, VERDICT, Turn, TurnEvent, TurnStatus
from memorist.turns.work import Means, answer
from memorist.watching import Watch, carried

ROLES = ("user", "assistant", "system")
MAX_MESSAGES = 1000
_POLL_S = 0.25
_CURSORS = id_cursors("turns", "turn")


class Turns:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        companion: Companion,
        composer: Composer,
        ingestion: Ingestion,
        extraction: Extraction,
        idempotency: Idempotency,
        llm: Callable[[], Llm | None],
        toolbox: Callable[[], Toolbox | None],
        limits: TurnLimits,
        redaction: Redaction,
        *,
        background: bool = True,
        watch: Watch | None = None,
    ) -> None:
        self.spending = Spending(store, clock)
        self.listeners = Listeners()
        self.runner = Runner(store, clock, limits, self.listeners.tell, background=background)
        self._store = store
        self._clock = clock
        self._limits = limits
        self._redaction = redaction
        self._idempotency = idempotency
        self._llm = llm
        self._means = Means(
            companion,
            composer,
            ingestion,
            extraction,
            toolbox,
            limits,
            redaction,
            self.spending,
            self.runner,
            Calibration(),
            watch or Watch(),
        )

    # Asking

    def start(
        self,
        principal: Principal,
        messages: Sequence[Message],
        *,
        include_memory: bool = True,
        session: str | None = None,
        trial: bool = False,
        idempotency_key: str | None = None,
    ) -> Turn:
        """Write down a turn and begin to work on it in the background. Messages end with the user's. A `trial` is of no
        session, nothing is learned from it, and what it recalls is not noted.

        Raises LlmNotConfigured, BudgetSpent, InvalidField, Forbidden, IdempotencyMismatch, IdempotencyInFlight or
        StoreError.
        """
        access.require(principal, access.Action.WRITE)
        if principal.user is None:
            raise Forbidden("A turn is one user's. Use a user's key, or name the user with X-Memorist-User.")
        _validate(messages)
        session = None if trial else session or principal.session
        if session is not None:
            self._redaction.refuse("session", validation.identifier("session", session))
        llm = self._llm()
        if llm is None:
            raise LlmNotConfigured
        request = {
            "messages": [{"role": one.role, "content": self._redaction.text(one.content)} for one in messages],
            "include_memory": include_memory,
            "trial": trial,
        }
        turn = self._new(principal, session, request)
        turn_id = self._idempotency.write(
            principal,
            "turn",
            idempotency_key,
            [request, session],
            lambda tx: self._insert(tx, turn, llm),
            str,
            str,
        )
        if turn_id != turn.id:
            # Read once that transaction is over: whoever holds one connection must not wait for a second one.
            return replace(self._known(principal.tenant, turn_id), replayed=True)
        who = replace(principal, session=turn.session)
        run = Run(self._store, self._clock, self.listeners.tell, who, turn)
        self.runner.begin(run, carried(lambda run: answer(run, llm, self._means)))
        return turn

    def _new(self, principal: Principal, session: str | None, request: Mapping[str, Any]) -> Turn:
        turn_id = new_id("turn")
        now = self._clock.now()
        return Turn(
            id=turn_id,
            owner=access.writable_owner(principal, None),
            session=session or turn_id,
            status=TurnStatus.RUNNING,
            created_at=now,
            request=json.dumps(request, ensure_ascii=False),
            runner=self.runner.name,
            lease_until=now + LEASE,
            attended_until=now + ATTENDED_FOR,
        )

    def _insert(self, tx: Writer, turn: Turn, llm: Llm) -> str:
        if 0 < self._limits.budget_usd <= self.spending.this_month(tx):
            raise BudgetSpent
        tx.turns.insert(turn)
        told = {"turn_id": turn.id, "session_id": turn.session, "model": llm.model_id}
        tx.turns.append_event(turn.id, TurnEvent(1, STARTED, told, turn.created_at))
        return turn.id

    def _known(self, tenant: str, turn_id: str) -> Turn:
        found = self._store.read(tenant, lambda tx: tx.turns.get(turn_id))
        if found is None:
            raise NotFound(f"The turn {turn_id} was erased.")
        return found

    # Findings

    def record(self, principal: Principal, finding: Finding) -> Recorded:
        """Record a finding as `Companion.record` does; the turn that it was tested for tells the verdict, once.

        Raises as that does, and NotFound or InvalidId where there is no such turn of the caller.
        """
        validation.kind_of("finding", finding, Finding, "a Finding")
        turn = None if finding.source_turn_id is None else self.get(principal, finding.source_turn_id)
        recorded = self._means.companion.record(principal, finding)
        if turn is not None and recorded.was_new:
            ids = [one.id for one in (recorded.tested, recorded.insight) if one is not None]
            told = {"finding_id": finding.finding_id, "verdict": finding.verdict, "effect": finding.effect, "ids": ids}
            now = self._clock.now()

            def work(tx: Writer) -> None:
                if tx.turns.lock(turn.id):
                    tx.turns.append_event(turn.id, TurnEvent(tx.turns.last_event(turn.id) + 1, VERDICT, told, now))

            self._store.write(principal.tenant, work)
            self.listeners.tell(turn.id)
        return recorded

    # Reading

    def get(self, principal: Principal, turn_id: str) -> Turn:
        """A turn of the caller; whoever asks for it listens to it. Raises Forbidden, NotFound or InvalidId."""
        turn_id = parse_id("turn", turn_id)
        found = self._store.read(principal.tenant, lambda tx: tx.turns.get(turn_id))
        if found is None or not any(part.matches(found.owner) for part in _visible(principal)):
            raise NotFound(f"There is no turn {turn_id} that you may see.")
        if is_lost(found, self._clock.now()):
            with suppress(StoreError):  # It can be read all the same.
                if self.reap(principal.tenant):
                    return self._known(principal.tenant, turn_id)
        if found.status is TurnStatus.RUNNING:
            with suppress(StoreError):  # It can be read all the same.
                attend(self._store, self._clock, principal.tenant, turn_id, found.attended_until)
        return found

    def list(self, principal: Principal, *, limit: int = 20, cursor: str | None = None) -> Page[Turn]:
        """A page of the caller's turns, newest first. Raises Forbidden, InvalidField or InvalidCursor."""
        validation.page_limit(limit)
        before = _CURSORS.decode(cursor)
        parts = _visible(principal)

        def work(tx: Reader) -> Sequence[Turn]:
            found = [turn for part in parts for turn in tx.turns.page(part, before, limit + 1)]
            return sorted(found, key=lambda turn: turn.id, reverse=True)

        found = self._store.read(principal.tenant, work)
        return page_of(found, limit, lambda last: _CURSORS.encode(last.id))

    def listen(
        self, principal: Principal, turn_id: str, after: int = 0, *, wake: Callable[[], None] = lambda: None
    ) -> Listener:
        """The events of a turn after one of them, those to come too. `wake` is called when there may be more.

        Raises Forbidden, NotFound or InvalidField.
        """
        validation.event_number(after)
        turn = self.get(principal, turn_id)
        return Listener(self._store, self._clock, self.reap, self.listeners, principal.tenant, turn, after, wake)

    def events(self, principal: Principal, turn_id: str, after: int = 0, *, limit: int) -> Sequence[TurnEvent]:
        """The events of a turn so far, after one of them, the first of them first. Raises as `listen` does."""
        validation.event_number(after)
        turn = self.get(principal, turn_id)
        return self._store.read(principal.tenant, lambda tx: tx.turns.events(turn.id, after, limit))

    def follow(self, principal: Principal, turn_id: str, after: int = 0) -> Iterator[TurnEvent]:
        """The events of a turn as they come, until it is over."""
        woken = threading.Event()
        with self.listen(principal, turn_id, after, wake=woken.set) as listener:
            while not listener.is_over:
                woken.clear()
                found = listener.read()
                for event in found:
                    yield event
                    listener.attend()
                if not found:
                    woken.wait(_POLL_S)

    # Working

    def start_reaping(self) -> None:
        """For servers: end turns that nobody works on any more, now and from time to time."""
        self.runner.start_reaping()

    def reap(self, tenant: str) -> int:
        """End the turns of a tenant that nobody works on any more. Returns how many."""
        return self.runner.reap(tenant)

    def close(self) -> None:
        """Let what runs fail soon; what does not is ended by the next who looks."""
        self.runner.close()


def _validate(messages: Sequence[Message]) -> None:
    if not 0 < len(messages) <= MAX_MESSAGES:
        raise InvalidField(f"From 1 to {MAX_MESSAGES} messages are taken.", field="messages")
    for index, message in enumerate(messages):
        if message.role not in ROLES:
            raise InvalidField(f"role must be one of {', '.join(ROLES)}.", field=f"messages.{index}.role")
        validation.text(f"messages.{index}.content", message.content, longest=validation.MAX_CONTENT)
    if messages[-1].role != "user":
        raise InvalidField("The last message must be the user's.", field=f"messages.{len(messages) - 1}.role")


def _visible(principal: Principal) -> tuple[OwnerFilter, ...]:
    """Whose turns the caller sees: the user's own, since answers may repeat entries of the companion. Raises
    Forbidden.
    """
    if not access.reads_entries(principal):
        raise Forbidden("Only the user reads these turns. A service or admin key may act for them.")
    return access.user_slices(principal)
