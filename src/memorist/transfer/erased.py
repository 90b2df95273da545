"""What was erased in a tenant, as an import has to heed it: nothing of it comes back, and no row names it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache

from memorist.erasure import naming
from memorist.erasure.ledger import erased_documents
from memorist.erasure.values import DETACHING, Erased, ErasureKind
from memorist.ingestion.values import Document
from memorist.memories import governance, lifecycle
from memorist.memories.policy import Derived
from memorist.memories.values import Kind, Memory
from memorist.platform.erased_names import DOCUMENT, MEMORY, USER, hexadecimal, ids_named_in, memory_id_of, subject_of
from memorist.platform.values import Event
from memorist.ports import Reader
from memorist.transfer.values import ExportLine


@dataclass(frozen=True, slots=True)
class Gone:
    """What the ledger says of a batch of lines."""

    memories: set[str]
    documents: Sequence[Erased]
    users: dict[str, datetime]
    """By when what these users had is gone; what they wrote since is not."""
    learned: set[str]
    """Facts among the lines that go with what they were learned from, where the policy says so."""
    aged: set[str]
    """Those of `memories` whose time was over."""

    @classmethod
    def of(cls, tx: Reader, batch: Sequence[ExportLine], derived: Derived) -> "Gone":
        named = sorted({hexadecimal(one) for line in batch for one in _named_by(line)})
        documents = tx.ledger.of_kind(DOCUMENT) if any(line.document is not None for line in batch) else []
        purges = tx.ledger.of_kind(USER)
        found = {user: _purged_at(user, purges) for user in _users_of(batch)} if purges else {}
        users = {user: at for user, at in found.items() if at is not None}
        entries = tx.ledger.find(MEMORY, named)
        kinds = {one: _kind_of(tx, one) for one in {entry.receipt_id for entry in entries}}
        aged = {memory_id_of(one.id) for one in entries if kinds[one.receipt_id] is ErasureKind.RETENTION}
        gone = cls({memory_id_of(one.id) for one in entries}, documents, users, set(), aged)
        if derived is Derived.ERASE:
            memories = [line.memory for line in batch if line.memory is not None]
            sources = {memory_id_of(one.id) for one in entries if kinds[one.receipt_id] not in DETACHING}
            sources |= {one.id for one in memories if gone._is_purged(one.owner.user, one.created_at)}
            gone.learned.update(_learned_from(sources, memories))
        return gone

    def has_memory(self, memory: Memory) -> bool:
        """Whether it was erased, goes with what was, or only repeats it."""
        quoted = lifecycle.quoted_in(memory.kind, memory.meta)
        if governance.outlives_quoted(memory.kind, memory.governed_by):
            quoted -= self.aged
        is_named = bool({memory.id, *quoted} & self.memories) or memory.id in self.learned
        return is_named or self._is_purged(memory.owner.user, memory.created_at)

    def has_document(self, document: Document) -> bool:
        is_purged = self._is_purged(document.owner.user, document.updated_at)
        return is_purged or erased_documents(self.documents, document)

    def _is_purged(self, user: str | None, at: datetime) -> bool:
        return user is not None and user in self.users and at <= self.users[user]

    def cut(self, line: ExportLine) -> ExportLine:
        """The line of a memory in which nothing names what is gone, as an erasure leaves it."""
        return line._replace(
            memory=naming.detached(line.memory, self.memories), events=[self._cut_event(one) for one in line.events]
        )

    def _cut_event(self, event: Event) -> Event:
        actor = None if self._is_purged(event.actor, event.created_at) else event.actor
        return replace(event, actor=actor, payload=naming.untold(event.payload, self.memories))


def _kind_of(tx: Reader, receipt_id: str) -> ErasureKind | None:
    receipt = tx.receipts.get(receipt_id)
    return None if receipt is None else receipt.kind


def _learned_from(sources: set[str], memories: Sequence[Memory]) -> set[str]:
    """The facts that were learned from these, or from such facts."""
    facts = [(one.id, naming.sources_of(one)) for one in memories if one.kind is Kind.FACT]
    learned: set[str] = set()
    while more := {one for one, named in facts if named & (sources | learned)} - learned:
        learned |= more
    return learned


def _named_by(line: ExportLine) -> set[str]:
    if line.memory is None:
        return set()
    named = {line.memory.id} | naming.sources_of(line.memory)
    if line.memory.superseded_by is not None:
        named.add(line.memory.superseded_by)
    return named.union(*(ids_named_in(json.dumps(event.payload)) for event in line.events))


def _users_of(batch: Sequence[ExportLine]) -> set[str]:
    owners = {line.owner.user for line in batch if line.owner is not None}
    actors = {event.actor for line in batch for event in line.events}
    return {user for user in owners | actors if user is not None}


def _purged_at(user: str, purges: Sequence[Erased]) -> datetime | None:
    """When a user was last purged."""
    subject = cache(lambda salt: subject_of(salt, user))
    return max((one.erased_at for one in purges if subject(one.salt) == one.id), default=None)
