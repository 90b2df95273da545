"""Remember, edit and forget; what is read is `reading`'s, and what happens inside a transaction `rows`'."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from memorist.errors import InvalidField, NameTaken, NotFound, StaleVersion
from memorist.ids import new_id, parse_id
from memorist.memories import fields, lifecycle, writing
from memorist.memories.accesses import AccessLog
from memorist.memories.governance import RULES, governor_of, require_editable
from memorist.memories.hashes import content_hash, dedup_key, with_hashes
from memorist.memories.policy import Policy
from memorist.memories.reading import Reading
from memorist.memories.records import memory_from_record, memory_to_record
from memorist.memories.rows import MemoryRows, clash_key, existing_like, write_over
from memorist.memories.values import Draft, Governor, Memory, NamedType, Remembered, Retention, Trust
from memorist.platform import access, validation
from memorist.platform.actors import event_by
from memorist.platform.attempts import until_written
from memorist.platform.idempotency import Idempotency
from memorist.platform.redaction import Counts, Redaction
from memorist.platform.values import Owner, Principal
from memorist.ports import Reader, Store, Writer
from memorist.times import Clock
from memorist.watching import Watch


class Memories(Reading):
    def __init__(
        self,
        store: Store,
        clock: Clock,
        accesses: AccessLog,
        idempotency: Idempotency,
        index: Callable[[str, list[Memory]], None],
        policy: Callable[[Reader], Policy],
        redaction: Redaction,
        watch: Watch | None = None,
    ) -> None:
        """`index` is told what was written or changed, once that is durable; `policy` says which is in force."""
        super().__init__(store, clock, accesses, policy)
        self.rows = MemoryRows(clock, policy)
        self.index = index
        self._idempotency = idempotency
        self._redaction = redaction
        self._watch = watch or Watch()

    def remember(
        self,
        principal: Principal,
        drafts: Sequence[Draft],
        *,
        idempotency_key: str | None = None,
        also: Callable[[Writer, Sequence[Remembered]], None] | None = None,
        finish: Callable[[Memory], Memory] = lambda memory: memory,
        beside: Mapping[str, Any] | None = None,
    ) -> list[Remembered]:
        """Store all drafts durably, or none. A fact that its owner already has in that scope and category is not
        written again: it comes back with `was_new=False`. `also` writes what belongs to them in the same transaction.
        `finish` makes of each memory what is stored, where that names its own id; a retry is known by the draft, and
        by what the request asks for `beside`.

        Raises InvalidField, Forbidden, NameTaken, IdempotencyMismatch, IdempotencyInFlight or StoreError.
        """
        with self._watch.timed("remember", facts={"memorist.memories": len(drafts)}):
            return self._remember(principal, drafts, idempotency_key, also, finish, beside)

    def _remember(
        self,
        principal: Principal,
        drafts: Sequence[Draft],
        idempotency_key: str | None,
        also: Callable[[Writer, Sequence[Remembered]], None] | None,
        finish: Callable[[Memory], Memory],
        beside: Mapping[str, Any] | None,
    ) -> list[Remembered]:
        if len(drafts) > validation.MAX_BATCH:
            raise InvalidField(f"At most {validation.MAX_BATCH} memories are taken at once.", field="records")
        prepared = [self.prepare(principal, draft) for draft in drafts]

        def work(tx: Writer) -> list[Remembered]:
            results = self.rows.insert_all(tx, principal, list(map(finish, prepared)))
            if also is not None:
                also(tx, results)
            # What was there already may have been read since it was last written.
            return [one if one.was_new else replace(one, memory=self._accesses.overlay(one.memory)) for one in results]

        results = self._idempotency.write(
            principal,
            "remember",
            idempotency_key,
            None
            if idempotency_key is None
            else [
                *(asdict(_as_stored(draft, memory)) for draft, memory in zip(drafts, prepared, strict=True)),
                *([beside] if beside else ()),
            ],
            work,
            lambda results: [_remembered_to_record(one) for one in results],
            lambda records: [_remembered_from_record(one, principal.tenant) for one in records],
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
            existing = [existing_like(tx, memory) if clash_key(memory) else None for memory in prepared]
            return [
                Remembered(memory, was_new=True)
                if there is None or not there.is_current(now)
                else Remembered(there, was_new=False)
                for memory, there in zip(prepared, existing, strict=True)
            ]

        return self._store.read(principal.tenant, work)

    def prepare(self, principal: Principal, draft: Draft, *, allowed: Owner | None = None) -> Memory:
        """The memory that a draft will be, without its secrets. `allowed`: whose it may be is decided already.

        Raises InvalidField or Forbidden.
        """
        values = fields.check_draft(draft)
        owner = allowed or access.writable_owner(principal, draft.owner, named=draft.name is not None)
        now = self._clock.now()
        memory_id = new_id("mem")
        if draft.session is None and principal.session is not None:
            values["session"] = validation.identifier("session", principal.session)
        whose = {"user": owner.user, "agent": owner.agent}
        changed, redacted = self._redaction.fields(values | whose, fields.SECRETS)
        values |= changed
        values["governed_by"] = governor_of(draft)
        if not RULES[values["governed_by"]].is_aged:
            values["retention"] = Retention.KEEP
        return Memory(
            id=memory_id,
            tenant=principal.tenant,
            content_hash=content_hash(values["content"]),
            dedup_key=dedup_key(memory_id, values, draft.same_as, draft.ttl),
            created_at=now,
            updated_at=now,
            owner=owner,
            expires_at=None if draft.ttl is None else now + draft.ttl,
            valid_from=values["event_time"] or now,
            redacted=redacted or None,
            **values,
        )

    def edit(
        self,
        principal: Principal,
        memory_id: str,
        changes: Mapping[str, Any],
        *,
        share: bool = False,
        profile: str | None = None,
        expected_version: str | None = None,
        idempotency_key: str | None = None,
    ) -> Memory:
        """Change some fields of a memory that the caller may write. With `share`, for admins, it is of no profile and
        shared by all from now on; with `profile` it is of that one.

        With `expected_version` the change applies only to that version: StaleVersion otherwise.
        Raises NotFound, Forbidden, InvalidField, NotEditable, NameTaken or DuplicateContent.
        """
        memory_id = parse_id("mem", memory_id)
        changes = fields.check_changes(changes)
        changed, redacted = self._redaction.fields(changes, fields.SECRETS)
        changes = {**changes, **changed}
        if share:
            access.require(principal, access.Action.SHARE)
            changes["agent"] = None
        elif profile is not None:
            changes["agent"] = validation.identifier("agent", profile)
        memory = self._once(
            principal,
            f"edit {memory_id}",
            idempotency_key,
            [changes, expected_version],
            lambda tx: self._accesses.overlay(
                self._edit(tx, principal, memory_id, changes, expected_version, redacted)
            ),
        )
        if not changes.keys().isdisjoint(fields.EMBEDDED):
            self.index(principal.tenant, [memory])
        return memory

    def _edit(
        self,
        tx: Writer,
        principal: Principal,
        memory_id: str,
        changes: Mapping[str, Any],
        expected_version: str | None,
        redacted: Counts,
        *,
        kept: bool = False,
    ) -> Memory:
        """`kept`: whatever time it had, it has no end from now on."""

        def attempt() -> Memory | None:
            before = self._writable(tx, principal, memory_id, expected_version)
            require_editable(before, changes)
            after = _apply(before, changes, self._clock.now(), kept=kept)
            access.require_writable(principal, after.owner)
            if before.name is None and after.name is not None:
                access.require_nameable(principal, after.owner)
            if after == before:
                return before
            if (after.owner, after.name, after.dedup_key) != (before.owner, before.name, before.dedup_key):
                self.rows.make_room(tx, principal, after)
            if not write_over(tx, after, before.updated_at):
                return None
            old = {name: getattr(before, name) for name in changes if getattr(before, name) != getattr(after, name)}
            updated = event_by(principal, after.id, "updated", self._clock.now(), {"before": old})
            after = replace(after, redacted=redacted or None)
            tx.events.append([updated, *self.rows.told(principal, after)])
            return after

        return until_written(attempt)

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
        """Store a memory under a name, or change those values of the one that its owner has there: `was_new` tells. It
        is kept from now on, whatever time that one had.

        Raises InvalidField, Forbidden, IdempotencyMismatch, IdempotencyInFlight or StoreError.
        """
        draft = Draft(**values, name=name, owner=owner, trust=trust, governed_by=Governor.PROFILE)
        prepared = self.prepare(principal, draft)
        changes = {field: getattr(prepared, field) for field in values}
        redacted = prepared.redacted or {}

        def attempt(tx: Writer) -> Remembered | None:
            before = tx.memories.find_named(owner.user, owner.agent, name)
            if before is not None and before.is_current(self._clock.now()):
                edited = self._edit(tx, principal, before.id, changes, None, redacted, kept=True)
                return Remembered(edited, was_new=False)
            try:
                return self.rows.insert_all(tx, principal, [prepared])[0]
            except NameTaken:
                return None  # Written by another process since it was looked for.

        result = self._idempotency.write(
            principal,
            f"put {name}",
            idempotency_key,
            asdict(_as_stored(draft, prepared)),
            lambda tx: until_written(partial(attempt, tx)),
            _remembered_to_record,
            lambda record: _remembered_from_record(record, principal.tenant),
        )
        if not result.replayed:
            self.index(principal.tenant, [result.memory])
        return result

    def forget_named(self, principal: Principal, name: str, *, idempotency_key: str | None = None) -> Remembered:
        """Soft-delete the caller's own memory of that name, never one that is shared with it.

        Raises NotFound, Forbidden or InvalidField.
        """
        validation.slug("name", name)

        def work(tx: Writer) -> Remembered:
            own = tx.memories.find_named(principal.user, principal.agent, name)
            if own is None or not own.is_current(self._clock.now()):
                raise NotFound(f"There is no memory named {name} of your own here.")
            return Remembered(self._forget(tx, principal, own.id, None), was_new=False)

        return self._idempotency.write(
            principal,
            f"forget name {name}",
            idempotency_key,
            [name],
            work,
            lambda gone: memory_to_record(gone.memory),
            lambda record: Remembered(memory_from_record(record, principal.tenant), was_new=False, replayed=True),
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
        return self._once(
            principal,
            f"forget {memory_id}",
            idempotency_key,
            [expected_version],
            lambda tx: self._forget(tx, principal, memory_id, expected_version),
        )

    def _forget(self, tx: Writer, principal: Principal, memory_id: str, expected_version: str | None) -> Memory:
        def attempt() -> Memory | None:
            before = self._writable(tx, principal, memory_id, expected_version, archived=True)
            after = lifecycle.soft_delete(before, self.rows.policy(tx), self._clock.now())
            if not writing.replace(tx, after, before.updated_at):
                return None
            payload = lifecycle.moved_payload(before, after)
            tx.events.append([event_by(principal, after.id, "deleted", self._clock.now(), payload)])
            return after

        return until_written(attempt)

    def _writable(
        self, tx: Writer, principal: Principal, memory_id: str, expected_version: str | None, *, archived: bool = False
    ) -> Memory:
        """The current memory (or, where that will do, the archived one, be it that its time is over and no sweep came
        by), which the caller may change.

        Raises NotFound, Forbidden or, where it has another version than was expected, StaleVersion.
        """
        memory = access.require_visible(principal, tx.memories.get(memory_id), memory_id)
        version, now = memory.version, self._clock.now()
        if archived and memory.status.in_use and memory.is_expired(now):
            access.require_changeable(principal, memory)
            self.rows.expire(tx, principal, memory)
            memory = access.require_visible(principal, tx.memories.get(memory_id), memory_id)
        is_there = memory.status.in_use if archived else memory.is_current(now)
        if not is_there:
            access.require_visible(principal, None, memory_id)
        access.require_changeable(principal, memory)
        if expected_version is not None and version != expected_version:
            raise StaleVersion
        return memory

    def _once(
        self, principal: Principal, route: str, key: str | None, request: Any, work: Callable[[Writer], Memory]
    ) -> Memory:
        """Do what changes a memory, once for an idempotency key."""
        return self._idempotency.write(
            principal,
            route,
            key,
            request,
            work,
            memory_to_record,
            lambda record: memory_from_record(record, principal.tenant),
        )


def _apply(before: Memory, changes: Mapping[str, Any], now: datetime, *, kept: bool) -> Memory:
    if before.name is not None and "name" in changes and changes["name"] is None:
        raise InvalidField("A named memory keeps a name.", field="name")
    values = {name: value for name, value in changes.items() if name != "agent"}
    owner = replace(before.owner, agent=changes.get("agent", before.owner.agent))
    after = with_hashes(replace(before, owner=owner, **values), before)
    if after.name is not None and (after.name, after.category) != (before.name, before.category):
        given = after.category or ("" if "category" in changes else NamedType.REFERENCE)
        after = replace(after, category=validation.choice("category", given, NamedType).value)
    if kept:
        after = replace(lifecycle.keep(after), expires_at=None)
    return before if after == before else replace(after, updated_at=_later(before.updated_at, now))


def _as_stored(draft: Draft, memory: Memory) -> Draft:
    """What an idempotency key remembers of a request: nothing that the memory itself may not hold, and the session
    whether the draft names it or who asks.
    """
    return replace(draft, session=memory.session, **{name: getattr(memory, name) for name in fields.REPLACED})


def _remembered_to_record(result: Remembered) -> dict[str, Any]:
    return {"was_new": result.was_new, "memory": memory_to_record(result.memory)}


def _remembered_from_record(record: Mapping[str, Any], tenant: str) -> Remembered:
    return Remembered(memory_from_record(record["memory"], tenant), record["was_new"], replayed=True)


def _later(before: datetime, now: datetime) -> datetime:
    # updated_at doubles as the version, so it moves forward even when the clock does not.
    return max(now, before + timedelta(microseconds=1))
