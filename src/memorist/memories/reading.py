"""What of memories is read: one by its id or its name, a page of a list, and the history of one."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from memorist.errors import InvalidField, NotFound
from memorist.ids import parse_id
from memorist.memories import lifecycle
from memorist.memories.accesses import AccessLog
from memorist.memories.earlier import told_events
from memorist.memories.entries import note_reading
from memorist.memories.policy import Policy
from memorist.memories.positions import position_cursors, position_of
from memorist.memories.values import ENDS_FROM, Kind, Memory, Order, Query, Status
from memorist.platform import access, validation
from memorist.platform.erased_names import hexadecimal, tombstone
from memorist.platform.paging import Page, page_of
from memorist.platform.values import Event, Owner, OwnerFilter, Principal
from memorist.ports import Reader, Store
from memorist.times import Clock

_CURSORS = position_cursors("memories")
_RETIRED = (Status.ARCHIVED, Status.SOFT_DELETED, Status.HARD_DELETE_PENDING)
_AT_ONCE = 500


class Reading:
    def __init__(self, store: Store, clock: Clock, accesses: AccessLog, policy: Callable[[Reader], Policy]) -> None:
        self._policy = policy
        self._store = store
        self._clock = clock
        self._accesses = accesses

    def get(self, principal: Principal, memory_id: str) -> Memory:
        """One memory in full; the read is counted. Raises NotFound or InvalidId."""
        memory_id = parse_id("mem", memory_id)
        found = self._store.read(principal.tenant, lambda tx: tx.memories.get(memory_id), snapshot=False)
        memory = access.require_visible(principal, found, memory_id)
        now = self._clock.now()
        if memory.is_expired(now):
            memory = lifecycle.as_swept(memory, self._store.read(principal.tenant, self._policy), now)
        if not memory.is_in_use(now):
            access.require_visible(principal, None, memory_id)
        note_reading(self._store, principal, [memory], now)
        return self._accesses.record_read(memory, now)

    def get_named(self, principal: Principal, name: str) -> Memory:
        """One memory in full by its name: the caller's own, else one shared with it; the read is counted.

        Raises NotFound or InvalidField.
        """
        return self._accesses.record_read(self.find_named(principal, name), self._clock.now())

    def find_named(self, principal: Principal, name: str) -> Memory:
        """The same, for a program that only compares: the read is not counted. Raises NotFound or InvalidField."""
        validation.slug("name", name)
        return self._store.read(principal.tenant, lambda tx: self._named(tx, principal, name))

    def list(
        self,
        principal: Principal,
        *,
        agent: str | None = None,
        every_agent: bool = False,
        named: bool = False,
        name: str | None = None,
        kind: Kind | None = None,
        category: str | None = None,
        project: str | None = None,
        session: str | None = None,
        status: Status = Status.ACTIVE,
        order: Order = Order.NEWEST,
        limit: int = 20,
        cursor: str | None = None,
    ) -> Page[Memory]:
        """A page of what the caller is shown; with `agent`, of that profile and of what it shares, and with
        `every_agent` of all that it may see. `name` narrows it down to memories of that name.

        In the order NEWEST, paging neither skips nor repeats a row, whatever is written meanwhile; in the order
        IMPORTANCE (of named memories) the same holds unless somebody changes that row's importance.
        Raises InvalidField or InvalidCursor.
        """
        validation.page_limit(limit)
        order = validation.choice("order", order, Order)
        status = validation.choice("status", status, Status)
        kind = None if kind is None else validation.choice("kind", kind, Kind)
        for field, value in (("category", category), ("project", project), ("session", session)):
            if value is not None:
                validation.text(field, value, longest=validation.MAX_LINE, empty=True)
        if order is Order.IMPORTANCE and not named:
            raise InvalidField("Only named memories are listed by importance.", field="order")
        if name is not None:
            validation.slug("name", name)
        if agent is not None:
            principal = access.acting(principal, agent=validation.identifier("agent", agent))
        query = Query(
            owners=(access.slices_of if every_agent else access.shown_slices)(principal, in_use=status.in_use),
            named=named,
            name=name,
            kind=kind,
            category=category,
            project=None if project is None else validation.project(project),
            session=session,
            status=status,
            order=order,
        )
        return self._page(principal, query, limit, cursor)

    def turns(self, principal: Principal, session: str, *, limit: int = 20, cursor: str | None = None) -> Page[Memory]:
        """A page of what was said in a session of the caller's, newest first, to whichever agent it was said.

        Raises InvalidField or InvalidCursor.
        """
        validation.page_limit(limit)
        validation.text("session", session, longest=validation.MAX_LINE, empty=True)
        query = Query(owners=access.session_slices(principal), kind=Kind.CHAT_MESSAGE, session=session)
        return self._page(principal, query, limit, cursor)

    def _page(self, principal: Principal, query: Query, limit: int, cursor: str | None) -> Page[Memory]:
        # The page size may change from page to page.
        filters = (principal.tenant, replace(query, limit=0))
        query = replace(query, limit=limit + 1, after=_CURSORS.decode(cursor, filters))
        now = self._clock.now()
        found = self._store.read(principal.tenant, lambda tx: self._in_their_states(tx, query, now))
        found = [self._accesses.overlay(memory) for memory in found]
        note_reading(self._store, principal, found[:limit], now)
        return page_of(found, limit, lambda last: _CURSORS.encode(position_of(last), filters))

    def _in_their_states(self, tx: Reader, query: Query, now: datetime) -> Sequence[Memory]:
        """A page of memories as they are once what is past its time was swept, whether or not it was."""
        if query.status not in ENDS_FROM or not tx.aging.has_expired(now):
            return tx.memories.page(query, now)
        policy = self._policy(tx)
        found = tx.memories.page(replace(query, archiving=lifecycle.archiving(policy)), now)
        return [lifecycle.as_swept(memory, policy, now) for memory in found]

    def retired(self, principal: Principal) -> Iterator[Memory]:
        """What is the caller's, also in the profile of those who name none where it names none, still has its text and
        is active no more, for a program that only compares: no read is noted. Raises Forbidden.
        """
        owners = {access.default_owner(principal), access.usual_profile(principal)}
        whose, now = tuple(OwnerFilter(owner.user, owner.agent) for owner in owners), self._clock.now()
        for status in _RETIRED:
            query: Query | None = Query(whose, status=status, limit=_AT_ONCE)
            while query is not None:
                found = self._store.read(principal.tenant, partial(_rows, query, now))
                yield from found
                query = replace(query, after=position_of(found[-1])) if len(found) == _AT_ONCE else None

    def count_named(self, principal: Principal, *, category: str | None = None) -> int:
        """How many named memories the caller is shown."""
        owners, now = access.shown_slices(principal), self._clock.now()
        return self._store.read(principal.tenant, lambda tx: tx.memories.count_named(owners, category, now))

    def events(self, principal: Principal, memory_id: str) -> Sequence[Event]:
        """The history of one memory, oldest first; of one that is deleted for those who may restore it. Admins are
        also told, without a text or a name, what happened to one that is purged; of an erased entry of the companion
        nobody is.

        Raises NotFound or InvalidId.
        """
        memory_id = parse_id("mem", memory_id)

        def work(tx: Reader) -> tuple[Memory | None, Sequence[Event], Sequence[Event]]:
            return tx.memories.get(memory_id), tx.events.of([memory_id]), tx.events.of([hexadecimal(memory_id)])

        memory, events, buried = self._store.read(principal.tenant, work)
        told = tombstone(buried)
        if memory is None and told and access.allows(principal, access.Action.ADMINISTER):
            return [replace(event, memory_id=memory_id) for event in told]
        memory = access.require_visible(principal, memory, memory_id)
        if not memory.is_in_use(self._clock.now()):
            access.require_recoverable(principal, memory, memory_id)
        return told_events(principal, memory, events)

    def _named(self, tx: Reader, principal: Principal, name: str) -> Memory:
        """The current memory of that name that is nearest to the caller. Raises NotFound."""
        user, agent = principal.user, principal.agent
        now = self._clock.now()
        # Where the caller would write comes first.
        near = [Owner(user, agent), access.usual_profile(principal)]
        if not access.allows(principal, access.Action.SHARE):
            near.reverse()
        for owner in dict.fromkeys((*near, Owner(user), Owner(None, agent), Owner())):
            if access.can_see(principal, owner):
                found = tx.memories.find_named(owner.user, owner.agent, name)
                if found is not None and found.is_current(now):
                    return found
        raise NotFound(f"There is no memory named {name} here.")


def _rows(query: Query, now: datetime, tx: Reader) -> Sequence[Memory]:
    return tx.memories.page(query, now)
