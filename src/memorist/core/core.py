"""The core as one object: what every surface is given."""

from memorist.core.accesses import AccessLog
from memorist.core.context import Context
from memorist.core.idempotency import Idempotency
from memorist.core.identity import Identity
from memorist.core.memories import Memories
from memorist.core.transfer import Transfer
from memorist.ports import Clock, Store


class Core:
    """Owns the store: closing the core writes what is pending and closes it."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self.store = store
        self.accesses = AccessLog(store)
        self.identity = Identity(store, clock, self.accesses)
        self.memories = Memories(store, clock, self.accesses, Idempotency(store, clock))
        self.context = Context(self.memories)
        self.transfer = Transfer(store)

    def close(self) -> None:
        self.accesses.close()
        self.store.close()
