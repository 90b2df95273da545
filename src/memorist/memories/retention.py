"""Archive, restore and delete by hand. What time does to memories is `sweeper`'s; the rules are `lifecycle`'s."""

from collections.abc import Callable

from memorist.errors import IllegalTransition
from memorist.ids import parse_id
from memorist.memories import lifecycle, writing
from memorist.memories.entries import note_reading
from memorist.memories.policies import Policies
from memorist.memories.policy import Policy
from memorist.memories.rows import write_over
from memorist.memories.service import Memories
from memorist.memories.values import Kind, Memory, Status
from memorist.platform import access
from memorist.platform.actors import event_by
from memorist.platform.attempts import until_written
from memorist.platform.values import Event, Principal
from memorist.ports import Reader, Store, Writer
from memorist.times import Clock


class RetentionService:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        memories: Memories,
        policies: Policies,
        restore_fact: Callable[[Principal, str], Memory],
    ) -> None:
        """`restore_fact` brings back a fact that another replaced."""
        self._restore_fact = restore_fact
        self._store = store
        self._clock = clock
        self._memories = memories
        self._policies = policies

    def read(self, principal: Principal, memory_id: str) -> Memory:
        """One memory as `Memories.get` has it; for those who may restore it also one that is deleted, until it is
        purged, and one that is past its TTL, as a sweep leaves it.

        Raises NotFound or InvalidId.
        """
        memory_id = parse_id("mem", memory_id)

        def work(tx: Reader) -> tuple[Memory | None, Policy]:
            return tx.memories.get(memory_id), self._policies.of(tx)

        found, policy = self._store.read(principal.tenant, work, snapshot=False)
        now = self._clock.now()
        if found is None or found.is_in_use(now):
            return self._memories.get(principal, memory_id)
        memory = lifecycle.as_swept(found, policy, now)
        viewer = principal if memory.status.in_use else access.looking_after(principal, memory)
        memory = access.require_recoverable(viewer, memory, memory_id)
        note_reading(self._store, principal, [memory], now)
        return memory

    def archive(self, principal: Principal, memory_id: str) -> Memory:
        """Take a memory out of recall and of lists; it stays readable by its id.

        Raises NotFound, Forbidden or IllegalTransition.
        """
        memory_id = parse_id("mem", memory_id)
        return self._store.write(principal.tenant, lambda tx: self._archive(tx, principal, memory_id))

    def _archive(self, tx: Writer, principal: Principal, memory_id: str) -> Memory:
        def attempt() -> Memory | None:
            before = self._changeable(tx, principal, memory_id)
            # Where its time is over, it is in the archive already, or deleted.
            before = lifecycle.as_swept(before, self._policies.of(tx), self._clock.now())
            after = lifecycle.archive(before, self._policies.of(tx), self._clock.now())
            if not writing.move(tx, after, before.updated_at):
                return None
            tx.events.append([self._event(principal, before, after, "archived")])
            return after

        return until_written(attempt)

    def restore(self, principal: Principal, memory_id: str) -> Memory:
        """Bring a memory back that is archived, replaced by another, or deleted and still inside its recovery window:
        the caller's or, for an admin, anybody's in the tenant.

        One whose TTL is over counts as deleted, whether or not a sweep has come by.

        Raises NotFound, Forbidden, IllegalTransition after the window and for a chunk of a deleted document, and
        NameTaken or DuplicateContent where an active memory has its name or its text by now.
        """
        memory_id = parse_id("mem", memory_id)
        found = self._store.read(principal.tenant, lambda tx: tx.memories.get(memory_id), snapshot=False)
        if found is not None and found.status is Status.ARCHIVED and found.superseded_by is not None:
            memory = self._restore_fact(access.looking_after(principal, found), memory_id)
        else:
            memory = self._store.write(principal.tenant, lambda tx: self._restore(tx, principal, memory_id))
        self._memories.index(principal.tenant, [memory])
        return memory

    def _restore(self, tx: Writer, principal: Principal, memory_id: str) -> Memory:
        def attempt() -> Memory | None:
            before = self._recoverable(tx, principal, memory_id)
            if before.status is Status.ACTIVE and before.is_expired(self._clock.now()):
                # Its time is over, swept or not: it is restored as if it had been.
                self._memories.rows.expire(tx, principal, before)
                before = self._recoverable(tx, principal, memory_id)
            after = lifecycle.restore(before, self._policies.of(tx), self._clock.now())
            _require_document(tx, after)
            self._memories.rows.make_room(tx, principal, after)
            if not write_over(tx, after, before.updated_at):
                return None
            tx.events.append([self._event(principal, before, after, "restored")])
            return after

        return until_written(attempt)

    def delete(self, principal: Principal, memory_id: str, *, idempotency_key: str | None = None) -> Memory:
        """Soft-delete: recoverable until its `hard_delete_at`. Raises NotFound or Forbidden."""
        return self._memories.forget(principal, memory_id, idempotency_key=idempotency_key)

    def _changeable(self, tx: Writer, principal: Principal, memory_id: str) -> Memory:
        """The memory in whatever state, which the caller owns or administers. Raises NotFound or Forbidden."""
        memory = access.require_visible(principal, tx.memories.get(memory_id), memory_id)
        access.require_changeable(principal, memory)
        return memory

    def _recoverable(self, tx: Writer, principal: Principal, memory_id: str) -> Memory:
        """The same for what an admin of the tenant may restore, whomever it acts for."""
        return self._changeable(tx, access.looking_after(principal, tx.memories.get(memory_id)), memory_id)

    def _event(self, principal: Principal, before: Memory, after: Memory, event_type: str) -> Event:
        payload = lifecycle.moved_payload(before, after)
        return event_by(principal, after.id, event_type, self._clock.now(), payload)


def _require_document(tx: Writer, memory: Memory) -> None:
    """Raises IllegalTransition for a chunk whose document is gone: no list of documents would show it, and deleting the
    document would not reach it.
    """
    if memory.kind is not Kind.DOCUMENT_CHUNK or memory.source_ref is None:
        return
    # Whoever deletes the document meanwhile waits, and then finds this chunk as one of its own.
    tx.documents.hold(memory.owner, document_id=memory.source_ref)
    if tx.documents.get(memory.owner, memory.source_ref) is None:
        raise IllegalTransition(
            "Its document was deleted, and its parts do not come back alone. Add the document again."
        )
