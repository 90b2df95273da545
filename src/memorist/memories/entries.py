"""Entries of the companion are read by their user; who else reads one, acting for the user, is told in its history."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from memorist.memories.values import Governor, Memory
from memorist.platform.actors import event_by
from memorist.platform.values import Principal
from memorist.ports import Reader, Store, Writer

READ_FOR_USER = "read_for_user"
"""The event of an entry that a service or an admin read on behalf of its user."""

_NOTED_FOR = timedelta(days=1)


def note_reading(store: Store, principal: Principal, memories: Sequence[Memory], now: datetime) -> None:
    """Say in the history of those that are entries who read them for the user, once a day. Raises StoreError."""
    ids = [memory.id for memory in memories if memory.governed_by is Governor.COMPANION]
    is_user = principal.user is not None and not principal.on_behalf
    if not ids or is_user or (principal.user is None and principal.key_id is None):
        return  # Nobody else reads them, or the operator, who has the database itself.
    by = {"role": principal.role, "key": principal.key_id}

    def unnoted(tx: Reader) -> list[str]:
        noted = {
            event.memory_id
            for event in tx.events.of(ids)
            if event.event_type == READ_FOR_USER and event.payload == by and now - event.created_at < _NOTED_FOR
        }
        return [id_ for id_ in ids if id_ not in noted]

    def note(tx: Writer) -> None:
        # Anew: the same may have been read beside.
        tx.events.append([event_by(principal, id_, READ_FOR_USER, now, by) for id_ in unnoted(tx)])

    if store.read(principal.tenant, unnoted):
        store.write(principal.tenant, note)
