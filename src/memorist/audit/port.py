"""What a store keeps for the audit log."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from memorist.audit.values import AuditEntry, AuditFilter, ChainHead, NotedAct


class AuditReads(Protocol):
    """Who did what."""

    def head(self) -> ChainHead | None:
        """None before the first entry."""
        ...

    def page(self, wanted: AuditFilter, before: int, after: int, limit: int) -> list[AuditEntry]:
        """Entries between two numbers, neither among them, newest first."""
        ...

    def follow(self, after: int, limit: int) -> list[AuditEntry]:
        """The entries that come after a number, oldest first."""
        ...

    def count_waiting(self) -> int: ...

    def first_since(self, moment: datetime) -> int | None:
        """The number of the first entry that is not older; None where there is none."""
        ...


class AuditWrites(AuditReads, Protocol):
    """The same in a transaction that writes."""

    def wait(self, act: NotedAct) -> None:
        """Keep what this transaction does until it has its place in the chain. Waits for nobody."""
        ...

    def hold(self, salt: str) -> ChainHead:
        """The head, a new one with that salt where there is none; nobody else holds it before this transaction ends."""
        ...

    def take_waiting(self) -> list[NotedAct]:
        """Remove what waits, and return it in the order in which it came."""
        ...

    def append(self, entries: Sequence[AuditEntry]) -> None:
        """Add entries behind the head that is held, and move it."""
        ...

    def trim(self, first: int, anchor: str) -> int:
        """Remove what comes before an entry, and begin the chain there; how many that were."""
        ...
