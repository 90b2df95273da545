"""Archive, delete, restore, relabel and move many memories at once, and put them back as they were."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from memorist.errors import IllegalTransition, InvalidField, MemoristError
from memorist.ids import parse_id
from memorist.memories.governance import require_editable
from memorist.memories.retention import RetentionService
from memorist.memories.service import Memories
from memorist.memories.values import Memory, Status
from memorist.platform import access
from memorist.platform.values import Principal
from memorist.ports import Store

MOST = 1000


class BulkAction(StrEnum):
    ARCHIVE = "archive"
    DELETE = "delete"
    RESTORE = "restore"


@dataclass(frozen=True, slots=True)
class Changed:
    before: Memory
    after: Memory

    @property
    def undo_to(self) -> Status | None:
        """The state that brings it back as it was; None where a state alone does not: what replaced it is forgotten."""
        return self.before.status if self.before.superseded_by is None else None


@dataclass(frozen=True, slots=True)
class RefusedMemory:
    """A memory that stayed as it was, and why."""

    memory_id: str
    error: MemoristError


@dataclass(frozen=True, slots=True)
class BulkResult:
    changed: tuple[Changed, ...]
    refused: tuple[RefusedMemory, ...]


class Bulk:
    def __init__(self, store: Store, retention: RetentionService, memories: Memories) -> None:
        self._store = store
        self._memories = memories
        self._retention = retention

    def apply(self, principal: Principal, action: BulkAction, memory_ids: Sequence[str]) -> BulkResult:
        """Do the same to each memory, each by itself: one that cannot be changed leaves the others alone.

        Raises Forbidden where the caller changes nothing at all, and InvalidField for too many.
        """
        steps: dict[BulkAction, Callable[[Principal, str], Memory]] = {
            BulkAction.ARCHIVE: self._retention.archive,
            BulkAction.DELETE: self._retention.delete,
            BulkAction.RESTORE: self._retention.restore,
        }
        step = steps[action]
        return self._each(principal, memory_ids, lambda before: step(principal, before.id))

    def edit(
        self,
        principal: Principal,
        memory_ids: Sequence[str],
        *,
        category: str | None = None,
        profile: str | None = None,
    ) -> BulkResult:
        """Give each fact another label, or move it to another profile. Raises as `apply` does."""
        changes = {} if category is None else {"category": category or None}

        def edit(memory: Memory) -> Memory:
            require_editable(memory)
            return self._memories.edit(principal, memory.id, changes, profile=profile)

        return self._each(principal, memory_ids, edit)

    def put_back(self, principal: Principal, states: Mapping[str, Status]) -> BulkResult:
        """Bring each memory into the state that it had before a bulk action. Raises as `apply` does."""
        return self._each(principal, list(states), lambda now: self._put_back(principal, now, states[now.id]))

    def _put_back(self, principal: Principal, memory: Memory, status: Status) -> Memory:
        if status is Status.ACTIVE:
            return self._retention.restore(principal, memory.id)
        if status is Status.SOFT_DELETED:
            return self._retention.delete(principal, memory.id)
        if status is not Status.ARCHIVED:
            raise IllegalTransition
        if memory.status is Status.SOFT_DELETED:
            self._retention.restore(principal, memory.id)
        return self._retention.archive(principal, memory.id)

    def _each(self, principal: Principal, memory_ids: Sequence[str], change: Callable[[Memory], Memory]) -> BulkResult:
        access.require(principal, access.Action.WRITE)
        if len(memory_ids) > MOST:
            raise InvalidField(f"At most {MOST:,} memories are changed at once.", field="id")
        changed: list[Changed] = []
        refused: list[RefusedMemory] = []
        for memory_id in dict.fromkeys(memory_ids):
            try:
                before = self._find(principal, memory_id)
                changed.append(Changed(before, change(before)))
            except MemoristError as error:
                refused.append(RefusedMemory(memory_id, error))
        return BulkResult(tuple(changed), tuple(refused))

    def _find(self, principal: Principal, memory_id: str) -> Memory:
        memory_id = parse_id("mem", memory_id)
        found = self._store.read(principal.tenant, lambda tx: tx.memories.get(memory_id), snapshot=False)
        return access.require_visible(principal, found, memory_id)
