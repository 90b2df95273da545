"""What was erased in a tenant, as an import has to heed it: nothing of it comes back, and no row names it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache

from memorist.erasure import naming
from memorist.erasure.ledger import erased_documents
from memorist.erasure.values import Erased
from memorist.ingestion.values import Document
from memorist.memories.values import QUOTES, Memory
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

    @classmethod
    def of(cls, tx: Reader, batch: Sequence[ExportLine]) -> "Gone":
        named = sorted({hexadecimal(one) for line in batch for one in _named_by(line)})
        documents = tx.ledger.of_kind(DOCUMENT) if any(line.document is not None for line in batch) else []
        purges = tx.ledger.of_kind(USER)
        found = {user: _purged_at(user, purges) for user in _users_of(batch)} if purges else {}
        users = {user: at for user, at in found.items() if at is not None}
        return cls({memory_id_of(one) for one in tx.ledger.find(MEMORY, named)}, documents, users)

    def has_memory(self, memory: Memory) -> bool:
        """Whether it was erased, or only repeats what was."""
        quoted = ids_named_in(json.dumps((memory.meta or {})[QUOTES])) if memory.repeats else set()
        return bool({memory.id, *quoted} & self.memories) or self._is_purged(memory.owner.user, memory.created_at)

    def has_document(self, document: Document) -> bool:
        is_purged = self._is_purged(document.owner.user, document.updated_at)
        return is_purged or erased_documents(self.documents, document.owner, document.id)

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
