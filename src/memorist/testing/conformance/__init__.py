"""What every store must do, as tests: a class for each capability of the port, and StoreConformance for all of it.

Subclass one of them and override its `store` fixture. The tests make tenants of their own.
"""

from collections.abc import Mapping

from memorist.testing.conformance.aging import AgingConformance
from memorist.testing.conformance.audit import AuditConformance
from memorist.testing.conformance.browsing import BrowsingConformance
from memorist.testing.conformance.context import ContextConformance
from memorist.testing.conformance.documents import DocumentConformance, ToolOutputConformance
from memorist.testing.conformance.erasure import ErasureConformance
from memorist.testing.conformance.events import EventConformance, FeedConformance
from memorist.testing.conformance.facts import FactConformance
from memorist.testing.conformance.fixtures import StoreFixtures
from memorist.testing.conformance.idempotency import IdempotencyConformance
from memorist.testing.conformance.index import IndexConformance
from memorist.testing.conformance.jobs import JobConformance
from memorist.testing.conformance.keys import KeyConformance, SignInConformance
from memorist.testing.conformance.memories import MemoryConformance
from memorist.testing.conformance.overview import OverviewConformance
from memorist.testing.conformance.policies import PolicyConformance
from memorist.testing.conformance.recalls import RecallConformance
from memorist.testing.conformance.receipts import LedgerConformance, ReceiptConformance
from memorist.testing.conformance.surroundings import SurroundingsConformance
from memorist.testing.conformance.tenants import TenantConformance
from memorist.testing.conformance.transactions import TransactionConformance
from memorist.testing.conformance.turns import SpendingConformance, TurnConformance
from memorist.testing.conformance.upkeep import UpkeepConformance

CAPABILITIES: Mapping[str, type[StoreFixtures]] = {
    "memories": MemoryConformance,
    "events": EventConformance,
    "index": IndexConformance,
    "keys": KeyConformance,
    "idempotency": IdempotencyConformance,
    "jobs": JobConformance,
    "policies": PolicyConformance,
    "aging": AgingConformance,
    "feed": FeedConformance,
    "documents": DocumentConformance,
    "tool_outputs": ToolOutputConformance,
    "recalls": RecallConformance,
    "facts": FactConformance,
    "context": ContextConformance,
    "turns": TurnConformance,
    "spending": SpendingConformance,
    "receipts": ReceiptConformance,
    "ledger": LedgerConformance,
    "erasure": ErasureConformance,
    "sign_ins": SignInConformance,
    "browsing": BrowsingConformance,
    "overview": OverviewConformance,
    "surroundings": SurroundingsConformance,
    "audit": AuditConformance,
}
"""The class of each capability, in an order in which a store can be written."""


class StoreConformance(
    TransactionConformance,
    TenantConformance,
    UpkeepConformance,
    MemoryConformance,
    EventConformance,
    IndexConformance,
    KeyConformance,
    IdempotencyConformance,
    JobConformance,
    PolicyConformance,
    AgingConformance,
    FeedConformance,
    DocumentConformance,
    ToolOutputConformance,
    RecallConformance,
    FactConformance,
    ContextConformance,
    TurnConformance,
    SpendingConformance,
    ReceiptConformance,
    LedgerConformance,
    ErasureConformance,
    SignInConformance,
    BrowsingConformance,
    OverviewConformance,
    SurroundingsConformance,
    AuditConformance,
):
    """All of it."""
