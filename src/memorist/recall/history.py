"""What a memory was recalled for: by which questions, at which rank of the answer, and for whom."""

from dataclasses import replace

from memorist.ids import parse_id
from memorist.memories.accesses import AccessLog
from memorist.memories.values import Memory, PastRecall
from memorist.platform import access
from memorist.platform.values import Principal
from memorist.ports import Store


class RecallHistory:
    def __init__(self, store: Store, accesses: AccessLog, *, keep: int) -> None:
        """`keep`: how many recalls of each memory are kept; none are noted where it is 0."""
        self._store = store
        self._accesses = accesses
        self.keep = keep

    def of(self, principal: Principal, memory_id: str) -> list[PastRecall]:
        """The latest recalls of a memory that the caller may see, newest first.

        Who asked is told to an admin and to the asker; a question about what several people share is theirs as well.
        Raises NotFound or InvalidId.
        """
        memory_id = parse_id("mem", memory_id)
        found = self._store.read(principal.tenant, lambda tx: tx.memories.get(memory_id), snapshot=False)
        memory = access.require_visible(principal, found, memory_id)
        if not self.keep:
            return []
        waiting = self._accesses.recalls_of(memory)
        written = self._store.read(principal.tenant, lambda tx: tx.recalls.of(memory_id, self.keep))
        # One that is being written right now may be in both.
        every = {recall.id: recall for recall in (*waiting, *written)}
        newest = sorted(every.values(), key=lambda recall: (recall.at, recall.id), reverse=True)
        return [_as_seen(principal, memory, recall) for recall in newest[: self.keep]]


def _as_seen(principal: Principal, memory: Memory, recall: PastRecall) -> PastRecall:
    is_own = principal.user is not None and recall.user == principal.user
    if is_own or access.allows(principal, access.Action.ADMINISTER):
        return recall
    is_owner = principal.user is not None and memory.owner.user == principal.user
    return replace(recall, user=None, agent=None, query=recall.query if is_owner else "")
