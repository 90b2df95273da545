"""A transaction of one tenant: a class of statements for each capability of the port."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from memorist.store.aging import AgingStatements
from memorist.store.audit import AuditStatements
from memorist.store.browsing import BrowsingStatements
from memorist.store.context import ContextStatements
from memorist.store.documents import DocumentStatements, ToolOutputStatements
from memorist.store.drivers import Connection
from memorist.store.erasure import ErasureStatements
from memorist.store.events import EventStatements, FeedStatements
from memorist.store.facts import FactStatements
from memorist.store.index import IndexStatements
from memorist.store.index_changes import IndexChanges
from memorist.store.jobs import JobStatements
from memorist.store.keys import KeyStatements, SignInStatements
from memorist.store.memories import MemoryStatements
from memorist.store.overview import OverviewStatements
from memorist.store.policies import PolicyStatements
from memorist.store.recalls import RecallStatements
from memorist.store.receipts import LedgerStatements, ReceiptStatements
from memorist.store.requests import RequestStatements
from memorist.store.statements import SqlStatement
from memorist.store.surroundings import SurroundingsStatements
from memorist.store.tenant_statements import TenantStatements
from memorist.store.turns import SpendingStatements, TurnStatements

S = TypeVar("S", bound=TenantStatements)


class _Capability(Generic[S]):
    """Makes its statements when a transaction first asks for them, and then gets out of the way."""

    def __init__(self, statements: type[S]) -> None:
        self._statements = statements

    def __set_name__(self, _: type, name: str) -> None:
        self._name = name

    def __get__(self, transaction: "SqlTransaction", _: type | None = None) -> S:
        made = self._statements(*transaction.given)
        transaction.__dict__[self._name] = made
        return made


class SqlTransaction:
    """One tenant's view inside a transaction."""

    def __init__(
        self,
        connection: Connection,
        tenant: str,
        statements: Mapping[str, SqlStatement],
        encode_list: Callable[[Sequence[str]], Any],
    ) -> None:
        self._index_changes = IndexChanges(connection, tenant, statements)
        self.given = (connection, tenant, statements, encode_list, self._index_changes)

    def finish(self) -> None:
        """Called once, after the work."""
        self._index_changes.make()

    aging = _Capability(AgingStatements)
    audit = _Capability(AuditStatements)
    browsing = _Capability(BrowsingStatements)
    context = _Capability(ContextStatements)
    documents = _Capability(DocumentStatements)
    erasure = _Capability(ErasureStatements)
    events = _Capability(EventStatements)
    facts = _Capability(FactStatements)
    feed = _Capability(FeedStatements)
    idempotency = _Capability(RequestStatements)
    index = _Capability(IndexStatements)
    jobs = _Capability(JobStatements)
    keys = _Capability(KeyStatements)
    ledger = _Capability(LedgerStatements)
    memories = _Capability(MemoryStatements)
    overview = _Capability(OverviewStatements)
    policies = _Capability(PolicyStatements)
    recalls = _Capability(RecallStatements)
    receipts = _Capability(ReceiptStatements)
    sign_ins = _Capability(SignInStatements)
    spending = _Capability(SpendingStatements)
    surroundings = _Capability(SurroundingsStatements)
    tool_outputs = _Capability(ToolOutputStatements)
    turns = _Capability(TurnStatements)
