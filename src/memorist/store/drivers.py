"""What SqlStore needs of a database: connections that run named statements, in transactions."""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from memorist.store.statements import SqlStatement

T = TypeVar("T")
Row = tuple[Any, ...]
Parameters = Mapping[str, Any]
Values = tuple[Any, ...]


class Connection(Protocol):
    def rows(self, statement: SqlStatement, parameters: Parameters) -> list[Row]: ...

    def rows_of_each(self, statement: SqlStatement, parameters: Sequence[Parameters]) -> list[list[Row]]:
        """The rows for each of several parameters, all of one moment."""
        ...

    def run(self, statement: SqlStatement, parameters: Parameters | Values) -> int:
        """Execute and return how many rows it changed. Values come in the order of `statement.parameters`."""
        ...

    def run_many(self, statement: SqlStatement, parameters: Sequence[Parameters | Values]) -> int:
        """The same for many parameters, without waiting for each answer. Returns how many rows changed in all."""
        ...

    def script(self, sql: str) -> None:
        """Several statements without parameters, as migrations have them."""
        ...


class Driver(Protocol):
    """A database. Its own exceptions never leave it: they come out as errors of `memorist.errors`."""

    dialect: str
    instant_reads: bool

    def read(
        self,
        tenant: str | None,
        work: Callable[[Connection], T],
        *,
        snapshot: bool = True,
        seconds: float | None = None,
    ) -> T:
        """`seconds`: how long a statement may take at most. Raises StoreBusy where one takes longer."""
        ...

    def write(self, tenant: str | None, work: Callable[[Connection], T]) -> T: ...

    def encode_list(self, values: Sequence[str]) -> Any:
        """A list of texts as this database takes it for one parameter."""
        ...

    def exclusive(self, work: Callable[[Connection], T]) -> T:
        """A write transaction that no other process runs at the same time, for migrations."""
        ...

    def prepare_migration(self, sql: str) -> str:
        """A migration's text as this server wants it."""
        ...

    def require_sound(self) -> None:
        """Raises StoreError where nothing may be written any more."""
        ...

    def trouble(self) -> str:
        """What keeps some tenants from being served while others are, or may before long keep all of them, or ''."""
        ...

    def advice(self) -> list[str]:
        """What its operator should look at, of what keeps nobody from being served now. It may take seconds."""
        ...

    def examine(self, seconds: float) -> str:
        """Look for damage for that long at most. Returns what was found, or ''; writing is refused from then on."""
        ...

    def health(self, thorough: bool) -> dict[str, str]:
        """Findings of the database's own checks: a name and `ok`, or what is wrong."""
        ...

    def checkpoint(self) -> None:
        """Empty the write-ahead log where that is ours to do, so that erased bytes are in no file."""
        ...

    def scrub(self, tenant: str, tables: Sequence[str], *, rewrite: bool) -> tuple[str, ...]:
        """Get what was erased from a tenant's rows of these tables out of the files. Returns what may still hold it."""
        ...

    def files(self) -> list[Path]:
        """The files that hold the database, brought up to date; none where they are a server's."""
        ...

    def held_by_rows(self, pieces: Collection[bytes]) -> frozenset[bytes]:
        """Those of the pieces that a living row of anybody holds as `files` have it: value after value."""
        ...

    def backup(self, path: Path) -> None:
        """A consistent copy in a file of its own, made while the database is in use."""
        ...

    def describe(self) -> dict[str, str | int]:
        """Facts for `db status` and `doctor`: engine, version, place, size."""
        ...

    def queues(self) -> dict[str, float]:
        """What waits for the database now, and how much went through it, by name."""
        ...

    def close(self) -> None: ...
