"""The audit log: notes acts, chains them, and shows them to admins.

What an act wrote is noted in the transaction that wrote it, where it waits; what only read is noted in memory. A
second later both get their place in the chain, which one process at a time adds to. So nobody who reads or writes waits
for the chain, and no two processes fork it.
"""

import secrets
import threading
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache, partial

from memorist.audit import chain
from memorist.audit.values import NO_TENANT, AuditEntry, AuditFilter, ChainCheck, ChainHead, NotedAct, NotedDay
from memorist.errors import MemoristError, ServerBusy, TooManyRequests, Unauthenticated
from memorist.platform import access, acts, validation
from memorist.platform.acts import ACT, OK, ActKind, CurrentAct, Where
from memorist.platform.loop import Loop, do_each
from memorist.platform.paging import Cursors, Page, number_part
from memorist.platform.values import Principal
from memorist.ports import Reader, Store, Writer
from memorist.secrets.logs import redacting_logger
from memorist.times import Clock

_log = redacting_logger(__name__)

ALL, CHANGES, OFF = "all", "changes", "off"

_FLUSH_SECONDS = 1.0
_MOST_PENDING = 20_000
"""Reads of a tenant that wait in memory: of more than that in a second, only the number is noted."""
_WINDOW = 50_000
"""Entries that are looked at for a page, so that a filter which matches few keeps nobody waiting."""
_BATCH = 1000
_TRIM_EVERY = timedelta(hours=1)
_FIRSTS_KEPT_FOR = timedelta(days=40)
_NEWEST = 2**62
_COUNTED = {error.code for error in (Unauthenticated, TooManyRequests, ServerBusy)}
_NONE = ChainHead(0, "", 1, "", "")

_CURSORS: Cursors[int] = Cursors("audit", lambda number: (number,), number_part)

_Pending = tuple[datetime, ActKind, str, Where, str, Principal | None]
"""When, and a kind, a door, a place, an outcome, and who it was."""
_Same = tuple[str, ActKind, str, str, str, str]
"""A tenant, and a kind, a door, a route, an outcome and a key."""


class AuditLog:
    def __init__(
        self, store: Store, clock: Clock, *, level: str = ALL, keep_days: float = 365, background: bool = True
    ) -> None:
        """`level`: what is noted. `keep_days`: how long; 0 is for ever. Without `background` only `flush` writes."""
        self._store = store
        self._clock = clock
        self.level = level
        self._keep_for = timedelta(days=keep_days)
        self._lock = threading.Lock()
        self._one_flush = threading.Lock()
        self._pending: dict[str, list[_Pending]] = defaultdict(list)
        self._counted: Counter[_Same] = Counter()
        self._lost: Counter[str] = Counter()
        self._written: set[str] = set()
        self._salts: dict[str, str] = {}
        self._trimmed: dict[str, datetime] = {}
        self._firsts: dict[tuple[str, datetime], int] = {}
        self._is_failing = False
        self._loop = Loop("audit", self._flush_quietly, _FLUSH_SECONDS, at_once=False, background=background)
        if level != OFF:
            store.beside_writes(self._beside)
            store.on_write(self._note_written)

    # Noting

    def acting(self, door: str, what: str, principal: Principal | None = None) -> "_Acting":
        """What is done inside is one act, and noted at its end. Within another one it stands for that."""
        return _Acting(CurrentAct(door, lambda: (what, {}), principal), self.finish)

    def finish(self, act: CurrentAct) -> None:
        """Note an act that is over, unless what it wrote was noted and went well. Never waits and never fails."""
        is_known = act.principal is not None
        if act.is_finished or self.level == OFF or (act.outcome == OK and (act.is_noted or not is_known)):
            return
        act.is_finished = True
        if act.kind is ActKind.READ and self.level != ALL:
            return
        now = self._clock.now()
        with self._lock:
            tenant, key_id = (who.tenant, who.key_id or "") if (who := act.principal) is not None else (NO_TENANT, "")
            if who is None or act.outcome in _COUNTED:
                # Whoever is turned away must not be able to fill the disk.
                self._counted[tenant, act.kind, act.door, act.where()[0], act.outcome, key_id] += 1
            elif len(pending := self._pending[tenant]) < _MOST_PENDING:
                pending.append((now, act.kind, act.door, act.where(), act.outcome, who))
            else:
                self._lost[tenant] += 1
        self._loop.start()

    def _beside(self, tenant: str) -> Callable[[Writer], None] | None:
        """What the act at hand, which is about to write, leaves in its own transaction."""
        act = ACT.get()
        if act is None or act.is_noted:
            return None
        kind = ActKind.WRITE if act.kind in (ActKind.READ, ActKind.FAILED, ActKind.DENIED) else act.kind
        now, salt = self._clock.now(), self._salt(tenant)
        noted = _noted((now, kind, act.door, act.where(), OK, act.principal), partial(chain.hidden, salt))
        return lambda tx: tx.audit.wait(noted)

    def _note_written(self, tenant: str) -> None:
        act = ACT.get()
        if act is None or act.is_noted:
            return
        act.is_noted = True
        # Where it is there already, its flush begins later than this, and finds what was just written.
        if tenant not in self._written:
            with self._lock:
                self._written.add(tenant)
            self._loop.start()

    def _salt(self, tenant: str) -> str:
        known = self._salts.get(tenant)
        if known is None:
            with acts.aside():
                head = self._store.read(tenant, _head, snapshot=False) or self._store.write(tenant, _hold)
            known = self._salts[tenant] = head.salt
        return known

    # Chaining

    def flush(self) -> None:
        """Give what was noted here, and what waits, its place in the chain. Raises StoreError; nothing is lost then,
        and every tenant whose chain can be written has its own.
        """
        with self._one_flush, acts.aside():
            with self._lock:
                pending, self._pending = self._pending, defaultdict(list)
                counted, self._counted = self._counted, Counter()
                lost, self._lost = self._lost, Counter()
                written, self._written = self._written, set()

            def work(tenant: str) -> None:
                self._flush_tenant(tenant, pending[tenant], counted, lost)
                written.discard(tenant)

            try:
                do_each(sorted({*pending, *lost, *written, *(same[0] for same in counted)}), work)
            finally:
                self._take_back(pending, counted, lost, written)

    def _flush_tenant(self, tenant: str, pending: list[_Pending], counted: Counter[_Same], lost: Counter[str]) -> None:
        """What is chained is taken out of what is given. Some at a time, so that no writer waits for many."""
        is_over = False
        while not is_over:
            own = list(_told(counted, lost[tenant], tenant, self._clock.now()))
            self._store.write(tenant, partial(self._seal, tenant, pending[:_BATCH], own), is_told=False)
            del pending[:_BATCH], lost[tenant]
            for same in [same for same in counted if same[0] == tenant]:
                del counted[same]
            is_over = not pending

    def _seal(self, tenant: str, pending: Sequence[_Pending], own: Sequence[NotedAct], tx: Writer) -> None:
        head = _hold(tx)
        self._salts[tenant] = head.salt
        # Many are of the same users; their names are known here for no longer than it takes.
        hidden = cache(partial(chain.hidden, head.salt))
        noted = [_noted(one, hidden) for one in pending]
        tx.audit.append(chain.linked(tenant, head, chain.merged(tx.audit.take_waiting(), noted, own)))
        self._trim(tenant, tx)

    def _trim(self, tenant: str, tx: Writer) -> None:
        """Remove what is older than is kept, and say so in the chain itself."""
        now = self._clock.now()
        if not self._keep_for or now - self._trimmed.get(tenant, now - _TRIM_EVERY) < _TRIM_EVERY:
            return
        self._trimmed[tenant] = now
        head = _hold(tx)
        first = tx.audit.first_since(now - self._keep_for) or head.number + 1
        if first <= head.first:
            return
        (last,) = tx.audit.follow(first - 2, 1)
        removed = tx.audit.trim(first, last.hash)
        told = NotedAct(
            now, ActKind.TRIMMED, "background", "audit", OK, ids=chain.anchor_of(last.number, last.hash), times=removed
        )
        tx.audit.append(chain.linked(tenant, head, [told]))

    def _take_back(
        self, pending: dict[str, list[_Pending]], counted: Counter[_Same], lost: Counter[str], written: set[str]
    ) -> None:
        with self._lock:
            for tenant, waiting in pending.items():
                if waiting:
                    self._pending[tenant] = waiting + self._pending[tenant]
            self._written |= written
            self._lost.update(lost)
            self._counted.update(counted)

    def _flush_quietly(self, *, is_last: bool = False) -> None:
        if not (self._pending or self._written or self._counted or self._lost):
            with self._one_flush:  # Whoever looks finds what another is about to write.
                return
        try:
            self.flush()
            self._is_failing = False
        except MemoristError as error:
            if is_last and (self._pending or self._counted or self._lost):
                # What was written waits in the database; what was read is known here alone.
                _log.warning("what was read last is not in the audit log, as it was not written: %s", error.message)
            elif not self._is_failing:
                _log.warning("the audit log was not written, and is written later: %s", error.message)
            self._is_failing = True

    def _catch_up(self, tenant: str) -> None:
        """Whoever looks finds also what waits of other processes, such as one that was killed. Raises StoreError."""
        if self._store.read(tenant, lambda tx: tx.audit.count_waiting(), snapshot=False):
            with self._lock:
                self._written.add(tenant)
        self._flush_quietly()

    def close(self) -> None:
        self._loop.close()
        self._flush_quietly(is_last=True)

    # Looking

    def list(
        self,
        principal: Principal,
        *,
        kind: str | None = None,
        outcome: str | None = None,
        route: str | None = None,
        key: str | None = None,
        user: str | None = None,
        about: str | None = None,
        limit: int = 20,
        cursor: str | None = None,
    ) -> Page[AuditEntry]:
        """A page of the tenant's log, newest first. `about`: the id or name that a route had in it.

        It may hold fewer than `limit`, even none, and still have a `next_cursor`. Raises Forbidden, InvalidField or
        InvalidCursor.
        """
        access.require(principal, access.Action.ADMINISTER)
        validation.page_limit(limit)
        for field, value in (("kind", kind), ("outcome", outcome), ("route", route), ("key", key)):
            validation.text(field, value or "", longest=validation.MAX_QUERY, empty=True)
        tenant = principal.tenant
        self._catch_up(tenant)
        salt = (self._store.read(tenant, _head, snapshot=False) or _NONE).salt
        wanted = AuditFilter(
            kind or "", outcome or "", route or "", key or "", chain.hidden(salt, user), chain.hidden(salt, about)
        )
        asked = (tenant, wanted)
        before = _CURSORS.decode(cursor, asked)
        return self._store.read(tenant, partial(_page, wanted, before, limit, asked))

    def count_days(self, principal: Principal, days: int) -> Sequence[NotedDay]:
        """How many entries the tenant's log has of each of the last days, the first first. Raises Forbidden.

        Numbers follow the times, so that finding the first entry of each day counts them, however many there are.
        """
        access.require(principal, access.Action.ADMINISTER)
        self._catch_up(principal.tenant)
        today = self._clock.now().astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        wanted = [today - timedelta(days=back) for back in reversed(range(days))]

        def work(tx: Reader) -> list[NotedDay]:
            head = tx.audit.head() or _NONE
            firsts = [self._first_of(tx, principal.tenant, day, head) for day in wanted]
            ends = [*firsts[1:], head.number + 1]
            return [NotedDay(*each) for each in zip(wanted, map(int.__sub__, ends, firsts), strict=True)]

        return self._store.read(principal.tenant, work)

    def _first_of(self, tx: Reader, tenant: str, moment: datetime, head: ChainHead) -> int:
        """The number of the first entry that is not before a moment; of a day that has one it stays the same."""
        known = self._firsts.get((tenant, moment))
        if known is not None:
            return max(known, head.first)
        numbers = range(head.first, head.number + 1)
        found = bisect_left(numbers, True, key=lambda number: tx.audit.follow(number - 1, 1)[0].act.at >= moment)
        if found < len(numbers):
            kept = {key: number for key, number in self._firsts.items() if key[1] > moment - _FIRSTS_KEPT_FOR}
            self._firsts = {**kept, (tenant, moment): numbers[found]}
        return head.first + found

    def entries(self, principal: Principal) -> Iterator[AuditEntry]:
        """The whole log, oldest first. Raises Forbidden."""
        access.require(principal, access.Action.ADMINISTER)
        self._catch_up(principal.tenant)
        return self._followed(principal.tenant)

    def _followed(self, tenant: str) -> Iterator[AuditEntry]:
        after = 0
        while found := self._store.read(tenant, partial(_following, after))[1]:
            yield from found
            after = found[-1].number

    def verify(self, principal: Principal, expected: tuple[int, str] | None = None) -> ChainCheck:
        """Look through the whole chain of the tenant. `expected` as for ChainReader. Raises Forbidden."""
        access.require(principal, access.Action.ADMINISTER)
        self._catch_up(principal.tenant)
        tenant = principal.tenant
        reader = chain.ChainReader(tenant, expected)
        after, is_over = 0, False
        while not is_over:
            # The head of the same moment as the entries: others go on meanwhile.
            head, found = self._store.read(tenant, partial(_following, after))
            is_over = len(found) < _BATCH
            reader.read(head, found)
            after = found[-1].number if found else after
        waiting = self._store.read(tenant, lambda tx: tx.audit.count_waiting())
        return ChainCheck(reader.entries, head.first, head.number, head.hash, waiting, reader.finish())


class _Acting:
    """Around what is one act. A class, not a generator: it stands around every call of the library."""

    __slots__ = ("_act", "_around", "_finish", "_token")

    def __init__(self, act: CurrentAct, finish: Callable[[CurrentAct], None]) -> None:
        self._act = act
        self._finish = finish

    def __enter__(self) -> CurrentAct:
        self._around = ACT.get()
        self._token = ACT.set(self._act)
        return self._act

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if error is not None:
            self._act.fail(error)
        ACT.reset(self._token)
        self._finish(self._act)
        if self._around is not None:
            self._around.is_finished = self._around.is_noted = True


def _head(tx: Reader) -> ChainHead | None:
    return tx.audit.head()


def _following(after: int, tx: Reader) -> tuple[ChainHead, Sequence[AuditEntry]]:
    return tx.audit.head() or _NONE, tx.audit.follow(after, _BATCH)


def _hold(tx: Writer) -> ChainHead:
    return tx.audit.hold(secrets.token_hex(16))


def _page(wanted: AuditFilter, before: int | None, limit: int, asked: object, tx: Reader) -> Page[AuditEntry]:
    head = tx.audit.head() or _NONE
    end = min(_NEWEST if before is None else before, head.number + 1)
    least = max(end - 1 - _WINDOW, head.first - 1)
    found = tx.audit.page(wanted, end, least, limit + 1)
    if len(found) > limit:
        return Page(tuple(found[:limit]), _CURSORS.encode(found[limit - 1].number, asked))
    return Page(tuple(found), _CURSORS.encode(least + 1, asked) if least >= head.first else None)


def _noted(pending: _Pending, hidden: Callable[[str | None], str]) -> NotedAct:
    at, kind, door, (route, named), outcome, who = pending
    ids = " ".join([hidden(str(value)) for value in named.values()])
    if who is None:
        return NotedAct(at, kind, door, route, outcome, ids=ids)
    return NotedAct(
        at,
        kind,
        door,
        route,
        outcome,
        who.key_id or "",
        who.role,
        hidden(who.user),
        hidden(who.agent),
        who.on_behalf,
        ids,
    )


def _told(counted: Counter[_Same], lost: int, tenant: str, now: datetime) -> Iterator[NotedAct]:
    if lost:
        yield NotedAct(now, ActKind.LOST, "background", "audit", OK, times=lost)
    for (whose, kind, door, route, outcome, key_id), times in counted.items():
        if whose == tenant:
            yield NotedAct(now, kind, door, route, outcome, key_id, times=times)
