"""What every part of a transaction stands on: a connection, a tenant, and statements that are always given both."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memorist.store.drivers import Connection
from memorist.store.statements import SqlStatement


class TenantStatements:
    """Runs named statements of one tenant. Every statement gets the tenant from here, never from an argument."""

    __slots__ = ("_connection", "_encode_list", "_statements", "_tenant")

    def __init__(
        self,
        connection: Connection,
        tenant: str,
        statements: Mapping[str, SqlStatement],
        encode_list: Callable[[Sequence[str]], Any],
    ) -> None:
        self._connection = connection
        self._tenant = tenant
        self._statements = statements
        self._encode_list = encode_list

    def _rows(self, statement: str, /, **parameters: Any) -> list[tuple[Any, ...]]:
        parameters["tenant"] = self._tenant
        return self._connection.rows(self._statements[statement], parameters)

    def _rows_of_each(self, statement: str, /, parameters: Sequence[dict[str, Any]]) -> list[list[tuple[Any, ...]]]:
        asked = [one | {"tenant": self._tenant} for one in parameters]
        return self._connection.rows_of_each(self._statements[statement], asked)

    def _run(self, statement: str, /, **parameters: Any) -> int:
        parameters["tenant"] = self._tenant
        return self._connection.run(self._statements[statement], parameters)
