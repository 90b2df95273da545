"""What the features need of a database, as Protocols: a capability each, and the store that has them all."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Protocol, TypeVar

from memorist.audit.port import AuditReads, AuditWrites
from memorist.context.port import ContextReads
from memorist.erasure.port import ErasureReads, ErasureWrites, LedgerReads, LedgerWrites, ReceiptReads, ReceiptWrites
from memorist.facts.port import FactReads, FactWrites
from memorist.ingestion.port import DocumentReads, DocumentWrites, ToolOutputReads, ToolOutputWrites
from memorist.memories.port import AgingReads, AgingWrites, MemoryReads, MemoryWrites, PolicyReads, PolicyWrites
from memorist.platform.port import (
    EventReads,
    EventWrites,
    FeedReads,
    FeedWrites,
    JobReads,
    JobWrites,
    KeyReads,
    KeyWrites,
    RequestReads,
    RequestWrites,
    SignInReads,
    SignInWrites,
    SpendingReads,
    SpendingWrites,
)
from memorist.platform.values import ApiKey, DueWork, SignIn, Tally, Tenant
from memorist.recall.port import IndexReads, IndexWrites, PastRecallReads, PastRecallWrites
from memorist.turns.port import TurnReads, TurnWrites
from memorist.views.port import BrowsingReads, OverviewReads, SurroundingsReads

T = TypeVar("T")


class Reader(Protocol):
    """A consistent view of one tenant. Nothing here can see another tenant."""

    @property
    def memories(self) -> MemoryReads: ...

    @property
    def policies(self) -> PolicyReads: ...

    @property
    def aging(self) -> AgingReads: ...

    @property
    def events(self) -> EventReads: ...

    @property
    def feed(self) -> FeedReads: ...

    @property
    def idempotency(self) -> RequestReads: ...

    @property
    def keys(self) -> KeyReads: ...

    @property
    def sign_ins(self) -> SignInReads: ...

    @property
    def jobs(self) -> JobReads: ...

    @property
    def spending(self) -> SpendingReads: ...

    @property
    def index(self) -> IndexReads: ...

    @property
    def recalls(self) -> PastRecallReads: ...

    @property
    def documents(self) -> DocumentReads: ...

    @property
    def tool_outputs(self) -> ToolOutputReads: ...

    @property
    def facts(self) -> FactReads: ...

    @property
    def turns(self) -> TurnReads: ...

    @property
    def receipts(self) -> ReceiptReads: ...

    @property
    def ledger(self) -> LedgerReads: ...

    @property
    def erasure(self) -> ErasureReads: ...

    @property
    def context(self) -> ContextReads: ...

    @property
    def browsing(self) -> BrowsingReads: ...

    @property
    def overview(self) -> OverviewReads: ...

    @property
    def surroundings(self) -> SurroundingsReads: ...

    @property
    def audit(self) -> AuditReads: ...


class Writer(Reader, Protocol):
    """A transaction of one tenant: all of it happens, or none."""

    @property
    def memories(self) -> MemoryWrites: ...

    @property
    def policies(self) -> PolicyWrites: ...

    @property
    def aging(self) -> AgingWrites: ...

    @property
    def events(self) -> EventWrites: ...

    @property
    def feed(self) -> FeedWrites: ...

    @property
    def idempotency(self) -> RequestWrites: ...

    @property
    def keys(self) -> KeyWrites: ...

    @property
    def sign_ins(self) -> SignInWrites: ...

    @property
    def jobs(self) -> JobWrites: ...

    @property
    def spending(self) -> SpendingWrites: ...

    @property
    def index(self) -> IndexWrites: ...

    @property
    def recalls(self) -> PastRecallWrites: ...

    @property
    def documents(self) -> DocumentWrites: ...

    @property
    def tool_outputs(self) -> ToolOutputWrites: ...

    @property
    def facts(self) -> FactWrites: ...

    @property
    def turns(self) -> TurnWrites: ...

    @property
    def receipts(self) -> ReceiptWrites: ...

    @property
    def ledger(self) -> LedgerWrites: ...

    @property
    def erasure(self) -> ErasureWrites: ...

    @property
    def audit(self) -> AuditWrites: ...


class Store(Protocol):
    """Durable memory. A write is on disk when `write` returns."""

    instant_reads: bool
    """Whether a read by key never waits, for a network or for a lock."""

    def read(self, tenant: str, work: Callable[[Reader], T], *, snapshot: bool = True) -> T:
        """Run `work` on one consistent view. Without `snapshot` each of its statements has a view of its own."""
        ...

    def write(self, tenant: str, work: Callable[[Writer], T], *, is_told: bool = True) -> T:
        """Run `work` in one transaction. It may run more than once, so it must have no effect outside. Nobody is told
        of what changes nothing that a view shows, such as counts of reads.
        """
        ...

    def on_write(self, tell: Callable[[str], None]) -> None:
        """Have `tell` called with the tenant after each write of this process that is durable. It must not block."""
        ...

    def beside_writes(self, find: Callable[[str], Callable[[Writer], None] | None]) -> None:
        """Have `find` asked, before each write of this process, for what is to be done in the same transaction."""
        ...

    def create_tenant(self, tenant: Tenant) -> bool:
        """False where it exists."""
        ...

    def list_tenants(self) -> list[Tenant]: ...

    def find_tenant(self, name: str) -> Tenant | None: ...

    def due_tenants(self, work: DueWork, now: datetime, *, after: str = "", limit: int = 100) -> list[str]:
        """Who has such work that is due, in the order of their names, after a name. It costs what waits, whoever waits
        for it: no more where there are more tenants.
        """
        ...

    def count_all(self, what: Tally, now: datetime, *, seconds: float) -> dict[str, int]:
        """How much there is of all tenants together, by its state, in one statement: '' where it has none. Raises
        StoreBusy where counting takes longer than that.
        """
        ...

    def tenants_of_other_models(self, model: str, same: Sequence[str] = (), *, limit: int = 100) -> list[str]:
        """Some of those whose vectors are neither of this model nor of those that make the same, likewise."""
        ...

    def tenants_of_model(self, model: str, *, limit: int = 100) -> list[str]:
        """Some of those whose vectors are of this model."""
        ...

    def index_model(self, tenant: str) -> str | None:
        """The model that a tenant's vectors are made with, '' before the first; None where there is no such tenant."""
        ...

    def set_index_model(self, tenant: str, model: str) -> None: ...

    def find_key(self, secret_hash: str) -> ApiKey | None:
        """The key with that hash, revoked or not: looked up before the tenant is known."""
        ...

    def has_keys(self) -> bool: ...

    def find_sign_in(self, token_hash: str) -> SignIn | None:
        """A link, session or token of any tenant, over or not, whose key still exists."""
        ...

    def ping(self) -> None:
        """Raises StoreError where the database cannot answer, or takes no writes."""
        ...

    def trouble(self) -> str:
        """What keeps some tenants from being served while others are, or may before long keep all of them, or ''.

        Raises StoreError.
        """
        ...

    def examine(self, seconds: float) -> str:
        """Look for damage for that long at most. Returns what was found, or ''; writing is refused from then on."""
        ...

    def check(self, *, thorough: bool = True) -> Mapping[str, str]:
        """Findings by name: `ok`, or what is wrong."""
        ...

    def checkpoint(self) -> None:
        """Move erased bytes out of the database's logs."""
        ...

    def scrub(self, tenant: str, *, rewrite: bool = True) -> tuple[str, ...]:
        """After an erasure: get what was erased out of the database's files, as far as that can be done from here.

        Without `rewrite` only what costs little: most often that is enough, but only a look at the files tells.
        Returns what may still hold copies. Raises StoreError where it could not be done now.
        """
        ...

    def search_files(self, pieces: Collection[bytes]) -> frozenset[bytes] | None:
        """Which of these pieces, of 8 bytes or more, the files of the database hold; None where they are a server's."""
        ...

    def held_by_rows(self, pieces: Collection[bytes]) -> frozenset[bytes]:
        """Which of these pieces, which the files hold, are a living row's, also where one of its values ends and the
        next begins: they are no trace of what was erased.
        """
        ...

    def own_words(self) -> bytes:
        """What the files of the database hold whatever is stored: the definitions of tables, and the like."""
        ...

    def describe(self) -> Mapping[str, str | int]:
        """What database it is: `engine`, `version`, `place` and `size_bytes`. Raises StoreError."""
        ...

    def queues(self) -> Mapping[str, float]:
        """What waits for the database now, and how much went through it, by names that whoever watches knows."""
        ...

    def backup(self, path: Path) -> None:
        """Write a consistent copy to a file while the database is in use; it appears when it is complete, in place of
        one that was there. Raises StoreError where it cannot.
        """
        ...

    def close(self) -> None: ...
