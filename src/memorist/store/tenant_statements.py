"""What every part of a transaction stands on: a connection, a tenant, and statements that are always given both."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from memorist.memories.values import Row
from memorist.store.drivers import Connection
from memorist.store.index_changes import IndexChanges
from memorist.store.rows import index_to_parameters
from memorist.store.statements import SqlStatement


class TenantStatements:
    """Runs named statements of one tenant. Every statement gets the tenant from here, never from an argument."""

    __slots__ = ("_connection", "_encode_list", "_index_changes", "_statements", "_tenant")

    def __init__(
        self,
        connection: Connection,
        tenant: str,
        statements: Mapping[str, SqlStatement],
        encode_list: Callable[[Sequence[str]], Any],
        index_changes: IndexChanges,
    ) -> None:
        self._connection = connection
        self._tenant = tenant
        self._statements = statements
        self._encode_list = encode_list
        self._index_changes = index_changes

    def _rows(self, statement: str, /, **parameters: Any) -> list[tuple[Any, ...]]:
        parameters["tenant"] = self._tenant
        return self._connection.rows(self._statements[statement], parameters)

    def _rows_of_each(self, statement: str, /, parameters: Sequence[dict[str, Any]]) -> list[list[tuple[Any, ...]]]:
        asked = [one | {"tenant": self._tenant} for one in parameters]
        return self._connection.rows_of_each(self._statements[statement], asked)

    def _index(self, rows: Iterable[Row]) -> None:
        """Put memories into the index, as far as they are not there."""
        by_user: dict[str, list[dict[str, Any]]] = {}
        for row in rows:
            entry = index_to_parameters(row)
            entry["tenant"] = self._tenant
            by_user.setdefault(entry["user_id"], []).append(entry)
        for user, entries in by_user.items():
            self._index_changes.later(user, partial(self._insert_entries, entries))

    def _insert_entries(self, entries: Sequence[dict[str, Any]], change: int) -> None:
        statement = self._statements["insert_index"]
        for entry in entries:
            entry["change"] = change
        if len(entries) == 1:
            self._connection.run(statement, entries[0])
        else:
            self._connection.run_many(statement, entries)

    def _unindex_followers(self, messages: Sequence[str]) -> None:
        """Put what is embedded with the words of messages that go back among what waits, where the transaction ends.

        They are held first: whoever embeds something with their words meanwhile has done so before, or does not.
        """
        self._rows("hold_for_good", ids=self._encode_list(messages))
        by_user: dict[str, list[str]] = {}
        for user, memory_id in self._rows("list_followers", ids=self._encode_list(messages)):
            by_user.setdefault(user, []).append(memory_id)
        for user, ids in by_user.items():
            self._index_changes.later(user, partial(self._unindex_some, user, ids))

    def _unindex_some(self, user: str, memory_ids: Sequence[str], change: int) -> int:
        unindexed = self._run("unindex", user_id=user, ids=self._encode_list(memory_ids), change=change)
        self._erase_tokens(memory_ids)
        return unindexed

    def _erase_tokens(self, memory_ids: Sequence[str]) -> None:
        """Remove what was made of the words of memories, after their rows of the index were changed."""
        self._run("erase_tokens", ids=self._encode_list(memory_ids))

    def _run(self, statement: str, /, **parameters: Any) -> int:
        parameters["tenant"] = self._tenant
        return self._connection.run(self._statements[statement], parameters)
