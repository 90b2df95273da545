"""What a memory was recalled for: by which questions, at which rank of the answer, and for whom."""

from dataclasses import dataclass, replace
from datetime import datetime

from memorist.ids import parse_id
from memorist.memories.accesses import AccessLog
from memorist.memories.entries import note_reading
from memorist.memories.values import AskedCount, Memory, PastRecall
from memorist.platform import access
from memorist.platform.values import Principal
from memorist.ports import Reader, Store

_MOST = 20_000
"""Recalls that are looked through for what was asked lately: those of the newest memories."""


@dataclass(frozen=True, slots=True)
class AskedLately:
    """A question, and the first memory that it brought back."""

    recall: PastRecall
    memory: Memory


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

    def lately(self, principal: Principal, now: datetime, *, limit: int) -> list[AskedLately]:
        """What the caller asked last or, for an admin of everybody, what anybody did; with memories that it sees."""

        def work(tx: Reader) -> list[AskedLately]:
            found = [one for part in access.followed_slices(principal) for one in tx.recalls.asked(part, limit, _MOST)]
            newest = sorted(found, key=lambda one: (one.at, one.id), reverse=True)[:limit]
            memories = {memory.id: memory for memory in tx.memories.get_many([one.memory_id for one in newest])}
            return [AskedLately(one, memories[one.memory_id]) for one in newest if one.memory_id in memories]

        asked = [one for one in self._store.read(principal.tenant, work) if access.sees(principal, one.memory)]
        note_reading(self._store, principal, [one.memory for one in asked], now)
        return asked

    def usage(self, principal: Principal, since: datetime) -> list[AskedCount]:
        """How often each agent of the caller asked on each day since then, as far as recalls are kept."""
        parts = access.followed_slices(principal)
        return self._store.read(
            principal.tenant, lambda tx: [one for part in parts for one in tx.recalls.count_asked(part, since, _MOST)]
        )


def _as_seen(principal: Principal, memory: Memory, recall: PastRecall) -> PastRecall:
    is_own = principal.user is not None and recall.user == principal.user
    if is_own or access.allows(principal, access.Action.ADMINISTER):
        return recall
    is_owner = principal.user is not None and memory.owner.user == principal.user
    return replace(recall, user=None, agent=None, query=recall.query if is_owner else "")
