"""Remember, read, list, edit and forget."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from memorist.errors import Conflict, DuplicateContent, InvalidField, NameTaken, NotFound, StaleVersion
from memorist.ids import new_id, parse_id
from memorist.memories import fields, lifecycle, writing
from memorist.memories.accesses import AccessLog
from memorist.memories.hashes import content_hash, dedup_key, with_hashes
from memorist.memories.policy import Policy
from memorist.memories.records import memory_from_record, memory_to_record
from memorist.memories.values import Draft, Kind, Memory, Order, Page, Query, Remembered, Retention, Status, Trust
from memorist.platform import access, validation
from memorist.platform.idempotency import Idempotency
from memorist.platform.paging import decode_cursor, encode_cursor
from memorist.platform.redaction import Counts, Redaction
from memorist.platform.values import Event, Owner, OwnerFilter, Principal
from memorist.ports import Reader, Store, Writer
from memorist.times import Clock

_EDIT_ATTEMPTS = 10
_ERASE_BATCH = 500


class Memories:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        accesses: AccessLog,
        idempotency: Idempotency,
        index: Callable[[str, list[Memory]], None],
        policy: Callable[[Reader], Policy],
        redaction: Redaction,
    ) -> None:
        """`index` is told what was written or changed, once that is durable; `policy` says which is in force."""
        self._store = store
        self.index = index
        self._clock = clock
        self._accesses = accesses
        self._idempotency = idempotency
        self._policy = policy
        self._redaction = redaction

    # Writing

    def remember(
        self,
        principal: Principal,
        drafts: Sequence[Draft],
        *,
        idempotency_key: str | None = None,
        also: Callable[[Writer, Sequence[Remembered]], None] | None = None,
    ) -> list[Remembered]:
        """Store all drafts durably, or none. A fact that its owner already has in that scope and category is not
        written again: it comes back with `was_new=False`. `also` writes what belongs to them in the same transaction.

        Raises InvalidField, Forbidden, NameTaken, IdempotencyMismatch, IdempotencyInFlight or StoreError.
        """
        if len(drafts) > validation.MAX_BATCH:
            raise InvalidField(f"At most {validation.MAX_BATCH} memories are taken at once.")
        prepared = [self.prepare(principal, draft) for draft in drafts]

        def work(tx: Writer) -> list[Remembered]:
            results = self.insert_all(tx, principal, prepared)
            if also is not None:
                also(tx, results)
            return results

        results = self._idempotency.write(
            principal,
            "remember",
            idempotency_key,
            None
            if idempotency_key is None
            else [asdict(_as_stored(draft, memory)) for draft, memory in zip(drafts, prepared, strict=True)],
            work,
            lambda results: [{"was_new": r.was_new, "memory": memory_to_record(r.memory)} for r in results],
            lambda records: [
                Remembered(memory_from_record(r["memory"], principal.tenant), r["was_new"], replayed=True)
                for r in records
            ],
        )
        self.index(principal.tenant, [result.memory for result in results if result.was_new and not result.replayed])
        return results

    def preview(self, principal: Principal, drafts: Sequence[Draft]) -> list[Remembered]:
        """What `remember` would answer for each draft by itself, where nothing is written: `was_new`, with the memory
        that would be stored, or that is there already. Raises InvalidField or Forbidden.
        """
        prepared = [self.prepare(principal, draft) for draft in drafts]
        now = self._clock.now()

        def work(tx: Reader) -> list[Remembered]:
            existing = [self._existing(tx, memory) if _clash_key(memory) else None for memory in prepared]
            return [
                Remembered(memory, was_new=True)
                if there is None or not there.is_current(now)
                else Remembered(there, was_new=False)
                for memory, there in zip(prepared, existing, strict=True)
            ]

        return self._store.read(principal.tenant, work)

    def prepare(self, principal: Principal, draft: Draft) -> Memory:
        """The memory that a draft will be, without its secrets. Raises InvalidField or Forbidden."""
        values = fields.check_draft(draft)
        owner = access.writable_owner(principal, draft.owner)
        now = self._clock.now()
        memory_id = new_id("mem")
        if draft.session is None and principal.session is not None:
            values["session"] = validation.identifier("session", principal.session)
        whose = {"user": owner.user, "agent": owner.agent}
        changed, redacted = self._redaction.fields(values | whose, fields.SECRETS)
        values |= changed
        return Memory(
            id=memory_id,
            tenant=principal.tenant,
            content_hash=content_hash(values["content"]),
            dedup_key=dedup_key(memory_id, values, draft.same_as),
            created_at=now,
            updated_at=now,
            owner=owner,
            expires_at=None if draft.ttl is None else now + draft.ttl,
            valid_from=values["event_time"] or now,
            redacted=redacted or None,
            **values,
        )

    def insert_all(self, tx: Writer, principal: Principal, memories: Sequence[Memory]) -> list[Remembered]:
        """Write prepared memories with their events, inside a transaction. Raises NameTaken."""
        events: list[Event] = []
        # What can clash goes in one order, so that two batches never wait for each other.
        order = sorted(range(len(memories)), key=lambda place: _clash_key(memories[place]))
        new = [place for place in order if not _clash_key(memories[place])]
        results = self._insert_new(tx, principal, {place: memories[place] for place in new}, events)
        for place in order[len(new) :]:
            results[place] = self._insert(tx, principal, memories[place], events)
        tx.events.append(events)
        return [results[place] for place in range(len(memories))]

    def _insert_new(
        self, tx: Writer, principal: Principal, memories: Mapping[int, Memory], events: list[Event]
    ) -> dict[int, Remembered]:
        """Write those that can clash with none, together."""
        written = {place: self._with_deadlines(tx, memory) for place, memory in memories.items()}
        if not writing.insert_many(tx, list(written.values())):
            raise Conflict
        for memory in written.values():
            events += [self._event(principal, memory, "created"), *self._redactions(principal, memory)]
        return {place: Remembered(memory, was_new=True) for place, memory in written.items()}

    def _with_deadlines(self, tx: Writer, memory: Memory) -> Memory:
        if memory.retention is not Retention.POLICY:
            return memory
        return lifecycle.with_deadlines(memory, self._policy(tx))

    def _insert(self, tx: Writer, principal: Principal, memory: Memory, events: list[Event]) -> Remembered:
        """Write one of them; what its history has to say of it is added to `events`."""
        memory = self._with_deadlines(tx, memory)
        for _ in range(_EDIT_ATTEMPTS):
            if writing.insert(tx, memory):
                events += [self._event(principal, memory, "created"), *self._redactions(principal, memory)]
                return Remembered(memory, was_new=True)
            existing = self._existing(tx, memory)
            if existing is None:
                continue  # Deleted between the two statements: the next try succeeds.
            if not existing.is_current(self._clock.now()):
                self.expire(tx, principal, existing)
                continue
            if memory.name is not None:
                raise NameTaken
            merged = lifecycle.merge(existing, memory, self._clock.now())
            if merged != existing and not writing.replace(tx, merged, existing.updated_at):
                continue  # Changed between the two statements.
            written = replace(existing, redacted=memory.redacted)
            events += [self._event(principal, existing, "deduplicated"), *self._redactions(principal, written)]
            return Remembered(merged, was_new=False)
        raise Conflict

    def _existing(self, tx: Reader, memory: Memory) -> Memory | None:
        owner = memory.owner
        if memory.name is not None:
            return tx.memories.find_named(owner.user, owner.agent, memory.name)
        return tx.memories.find_duplicate(owner.user, owner.agent, memory.dedup_key)

    def retire(self, tx: Writer, principal: Principal, memories: Sequence[Memory], event_type: str) -> None:
        """Soft-delete rows that something else takes the place of, inside a transaction."""
        for memory in memories:
            gone = lifecycle.soft_delete(memory, self._policy(tx), self._clock.now())
            if writing.replace(tx, gone, memory.updated_at):
                tx.events.append([self._event(principal, memory, event_type)])

    def expire(self, tx: Writer, principal: Principal, memory: Memory) -> None:
        """Delete a memory whose own time is over, as the sweeper would."""
        self.retire(tx, principal, [memory], "expired")

    def edit(
        self,
        principal: Principal,
        memory_id: str,
        changes: Mapping[str, Any],
        *,
        expected_version: str | None = None,
        idempotency_key: str | None = None,
    ) -> Memory:
        """Change some fields of a memory that the caller may write.

        With `expected_version` the change applies only to that version: StaleVersion otherwise.
        Raises NotFound, Forbidden, InvalidField, NameTaken or DuplicateContent.
        """
        memory_id = parse_id("mem", memory_id)
        changes = fields.check_changes(changes)
        changed, redacted = self._redaction.fields(changes, fields.SECRETS)
        changes = {**changes, **changed}
        memory = self._idempotency.write(
            principal,
            f"edit {memory_id}",
            idempotency_key,
            [changes, expected_version],
            lambda tx: self._edit(tx, principal, memory_id, changes, expected_version, redacted),
            memory_to_record,
            lambda record: memory_from_record(record, principal.tenant),
        )
        if not changes.keys().isdisjoint(fields.EMBEDDED):
            self.index(principal.tenant, [memory])
        return memory

    def require_fact(self, principal: Principal, memory_id: str) -> None:
        """Raises Conflict where a memory is no fact but something that was seen, whose words are kept as they were."""
        memory_id = parse_id("mem", memory_id)
        found = self._store.read(principal.tenant, lambda tx: tx.memories.get(memory_id))
        if found is not None and access.can_see(principal, found.owner) and found.kind is not Kind.FACT:
            raise Conflict(
                "What was said, returned or uploaded is kept verbatim. Forget it, or store a fact beside it."
            )

    def _edit(
        self,
        tx: Writer,
        principal: Principal,
        memory_id: str,
        changes: Mapping[str, Any],
        expected_version: str | None,
        redacted: Counts,
    ) -> Memory:
        for _ in range(_EDIT_ATTEMPTS):
            before = self._writable(tx, principal, memory_id)
            if expected_version is not None and before.version != expected_version:
                raise StaleVersion
            after = _apply(before, changes, self._clock.now())
            if after == before:
                return before
            self._refuse_clash(tx, principal, before, after)
            if self.write_over(tx, after, before.updated_at):
                old = {name: getattr(before, name) for name in changes if getattr(before, name) != getattr(after, name)}
                after = replace(after, redacted=redacted or None)
                updated = self._event(principal, after, "updated", {"before": old})
                tx.events.append([updated, *self._redactions(principal, after)])
                return after
        raise Conflict("The memory is being changed by too many at once. Try again.")

    def write_over(self, tx: Writer, after: Memory, expected_updated_at: datetime) -> bool:
        """Compare-and-set, inside a transaction. False where the row changed meanwhile or is gone.

        Raises NameTaken or DuplicateContent.
        """
        try:
            return writing.replace(tx, after, expected_updated_at)
        except Conflict as error:
            # Taken by another process since it was looked for.
            raise (NameTaken if after.name is not None else DuplicateContent) from error

    def _refuse_clash(self, tx: Writer, principal: Principal, before: Memory, after: Memory) -> None:
        if after.name != before.name or after.dedup_key != before.dedup_key:
            self.make_room(tx, principal, after)

    def make_room(self, tx: Writer, principal: Principal, memory: Memory) -> None:
        """See to it that no active memory has the name or the text that this one is to have, inside a transaction.

        One that is past its expiry gives way. Raises NameTaken or DuplicateContent.
        """
        existing = self._existing(tx, memory)
        if existing is None or existing.id == memory.id:
            return
        if existing.is_current(self._clock.now()):
            raise NameTaken if memory.name is not None else DuplicateContent
        self.expire(tx, principal, existing)

    def put(
        self,
        principal: Principal,
        owner: Owner,
        name: str,
        values: Mapping[str, Any],
        *,
        trust: Trust = Trust.USER,
        idempotency_key: str | None = None,
    ) -> Remembered:
        """Store a memory under a name, or change those values of the one that its owner has there: `was_new` tells.

        Raises InvalidField, Forbidden, IdempotencyMismatch, IdempotencyInFlight or StoreError.
        """
        draft = Draft(**values, name=name, owner=owner, trust=trust)
        prepared = self.prepare(principal, draft)
        changes = {field: getattr(prepared, field) for field in values}
        redacted = prepared.redacted or {}

        def work(tx: Writer) -> Remembered:
            for _ in range(_EDIT_ATTEMPTS):
                before = tx.memories.find_named(owner.user, owner.agent, name)
                if before is not None and before.is_current(self._clock.now()):
                    return Remembered(self._edit(tx, principal, before.id, changes, None, redacted), was_new=False)
                try:
                    return self.insert_all(tx, principal, [prepared])[0]
                except NameTaken:
                    continue  # Written by another process since it was looked for.
            raise Conflict("The memory is being changed by too many at once. Try again.")

        result = self._idempotency.write(
            principal,
            f"put {name}",
            idempotency_key,
            asdict(_as_stored(draft, prepared)),
            work,
            lambda result: {"was_new": result.was_new, "memory": memory_to_record(result.memory)},
            lambda record: Remembered(
                memory_from_record(record["memory"], principal.tenant), record["was_new"], replayed=True
            ),
        )
        if not result.replayed:
            self.index(principal.tenant, [result.memory])
        return result

    def forget_named(self, principal: Principal, name: str, *, idempotency_key: str | None = None) -> Memory:
        """Soft-delete the memory that `get_named` would return. Raises NotFound, Forbidden or InvalidField."""
        validation.slug("name", name)

        def work(tx: Writer) -> Memory:
            return self._forget(tx, principal, self._named(tx, principal, name).id, None)

        return self._idempotency.write(
            principal,
            f"forget name {name}",
            idempotency_key,
            [name],
            work,
            memory_to_record,
            lambda record: memory_from_record(record, principal.tenant),
        )

    def forget(
        self,
        principal: Principal,
        memory_id: str,
        *,
        expected_version: str | None = None,
        idempotency_key: str | None = None,
    ) -> Memory:
        """Soft-delete: out of every list at once; the row stays, marked, until it is erased.

        Raises NotFound, Forbidden or StaleVersion.
        """
        memory_id = parse_id("mem", memory_id)
        return self._idempotency.write(
            principal,
            f"forget {memory_id}",
            idempotency_key,
            [expected_version],
            lambda tx: self._forget(tx, principal, memory_id, expected_version),
            memory_to_record,
            lambda record: memory_from_record(record, principal.tenant),
        )

    def _forget(self, tx: Writer, principal: Principal, memory_id: str, expected_version: str | None) -> Memory:
        for _ in range(_EDIT_ATTEMPTS):
            before = self._writable(tx, principal, memory_id, archived=True)
            if expected_version is not None and before.version != expected_version:
                raise StaleVersion
            after = lifecycle.soft_delete(before, self._policy(tx), self._clock.now())
            if writing.replace(tx, after, before.updated_at):
                tx.events.append([self._event(principal, after, "deleted")])
                return after
        raise Conflict("The memory is being changed by too many at once. Try again.")

    def reset(self, principal: Principal) -> int:
        """Erase for good everything that the caller owns, in batches; an admin that acts for nobody erases the tenant.

        Rows, text entries and events go, and so do the remembered answers that quote them. Returns how many rows went.
        """
        access.require(principal, access.Action.WRITE)
        erased = 0
        for part in _own_slices(principal):
            while batch := self._store.write(principal.tenant, partial(_erase_some, part)):
                erased += batch
            self._accesses.forget_asked(principal.tenant, part)
            self._store.write(principal.tenant, partial(_erase_documents, part))
        self._store.write(principal.tenant, lambda tx: tx.idempotency.erase(principal.user))
        self._store.checkpoint(erased=True)
        return erased

    # Reading

    def get(self, principal: Principal, memory_id: str) -> Memory:
        """One memory in full; the read is counted. Raises NotFound or InvalidId."""
        memory_id = parse_id("mem", memory_id)
        found = self._store.read(principal.tenant, lambda tx: tx.memories.get(memory_id), snapshot=False)
        memory = access.require_visible(principal, found, memory_id)
        now = self._clock.now()
        if memory.is_expired(now) or memory.status not in (Status.ACTIVE, Status.ARCHIVED):
            access.require_visible(principal, None, memory_id)
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
        named: bool = False,
        kind: Kind | None = None,
        category: str | None = None,
        project: str | None = None,
        session: str | None = None,
        status: Status = Status.ACTIVE,
        order: Order = Order.NEWEST,
        limit: int = 20,
        cursor: str | None = None,
    ) -> Page:
        """A page of what the caller sees; with `agent`, of that profile and of what it shares.

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
        if agent is not None:
            principal = access.acting(principal, agent=validation.identifier("agent", agent))
        query = Query(
            owners=access.visible_slices(principal),
            named=named,
            kind=kind,
            category=category,
            project=None if project is None else validation.project(project),
            session=session,
            status=status,
            order=order,
            limit=limit + 1,  # One more than the page tells whether there is another.
        )
        if cursor is not None:
            query = replace(query, after=decode_cursor(principal.tenant, query, cursor))
        now = self._clock.now()
        found = self._store.read(principal.tenant, lambda tx: tx.memories.page(query, now))
        items = tuple(self._accesses.overlay(memory) for memory in found[:limit])
        return Page(items, encode_cursor(query, items[-1]) if len(found) > limit else None)

    def events(self, principal: Principal, memory_id: str) -> Sequence[Event]:
        """The audit trail of one memory, oldest first, deleted or not. Raises NotFound or InvalidId."""
        memory_id = parse_id("mem", memory_id)

        def work(tx: Any) -> tuple[Memory | None, Sequence[Event]]:
            return tx.memories.get(memory_id), tx.events.of([memory_id])

        memory, events = self._store.read(principal.tenant, work)
        access.require_visible(principal, memory, memory_id)
        return events

    # Shared steps

    def _named(self, tx: Reader, principal: Principal, name: str) -> Memory:
        """The current memory of that name that is nearest to the caller. Raises NotFound."""
        user, agent = principal.user, principal.agent
        now = self._clock.now()
        for owner in dict.fromkeys((Owner(user, agent), Owner(user), Owner(None, agent), Owner())):
            if access.can_see(principal, owner):
                found = tx.memories.find_named(owner.user, owner.agent, name)
                if found is not None and found.is_current(now):
                    return found
        raise NotFound(f"There is no memory named {name} here.")

    def _writable(self, tx: Writer, principal: Principal, memory_id: str, *, archived: bool = False) -> Memory:
        """The current memory (or, where that will do, the archived one), which the caller may change.

        Raises NotFound or Forbidden.
        """
        memory = access.require_visible(principal, tx.memories.get(memory_id), memory_id)
        states = (Status.ACTIVE, Status.ARCHIVED) if archived else (Status.ACTIVE,)
        if memory.status not in states or memory.is_expired(self._clock.now()):
            access.require_visible(principal, None, memory_id)
        access.require_writable(principal, memory.owner)
        return memory

    def record_redaction(self, tx: Writer, principal: Principal, memory: Memory, found: Counts) -> None:
        """Say in the memory's history that secrets were taken out of what belongs to it, inside a transaction."""
        tx.events.append(self._redactions(principal, replace(memory, redacted=found)))

    def _redactions(self, principal: Principal, memory: Memory) -> Sequence[Event]:
        """What this write took out of the memory, as an event without the secrets."""
        return [self._event(principal, memory, "redacted", {"rules": memory.redacted})] if memory.redacted else []

    def _event(
        self, principal: Principal, memory: Memory, event_type: str, payload: Mapping[str, Any] | None = None
    ) -> Event:
        actor = principal.user or principal.agent or principal.role
        return Event(memory.id, event_type, principal.source, self._clock.now(), actor, payload or {})


def _apply(before: Memory, changes: Mapping[str, Any], now: datetime) -> Memory:
    if before.name is not None and "name" in changes and changes["name"] is None:
        raise InvalidField("A named memory keeps a name.", field="name")
    after = with_hashes(replace(before, **changes))
    return before if after == before else replace(after, updated_at=_later(before.updated_at, now))


def _as_stored(draft: Draft, memory: Memory) -> Draft:
    """What an idempotency key remembers of a request: nothing that the memory itself may not hold."""
    return replace(draft, **{name: getattr(memory, name) for name in fields.REPLACED})


def _clash_key(memory: Memory) -> str:
    return memory.name or ("" if memory.dedup_key == memory.id else memory.dedup_key)


def _later(before: datetime, now: datetime) -> datetime:
    # updated_at doubles as the version, so it moves forward even when the clock does not.
    return max(now, before + timedelta(microseconds=1))


def _erase_some(part: OwnerFilter, tx: Writer) -> int:
    return tx.memories.erase([memory.id for memory in tx.memories.scan(part, "", _ERASE_BATCH)])


def _erase_documents(part: OwnerFilter, tx: Writer) -> int:
    tx.jobs.erase(part)
    tx.recalls.erase(part)
    return tx.documents.erase_all(part)


def _own_slices(principal: Principal) -> tuple[OwnerFilter, ...]:
    if principal.user is None:
        access.require(principal, access.Action.ADMINISTER)
    user, agent = principal.user, principal.agent
    return (OwnerFilter(user, agent, any_user=user is None, any_agent=agent is None),)
