"""The verbs as methods that return their answers."""

from collections.abc import Callable, Iterator
from typing import Any

from memorist.ingestion.values import Document
from memorist.memories.values import Memory
from memorist.platform.values import Principal
from memorist.verbs import keeping, memories, seen
from memorist.verbs.kinds import Verb
from memorist.verbs.listed import LARGEST_PAGE, VerbList
from memorist.verbs.methods import Blocking


class Verbs(VerbList, Blocking):
    """What one principal can do, wherever it is done."""

    @property
    def principal(self) -> Principal:
        """Whom this acts as. Raises Unauthenticated once the API key is revoked."""
        return self._do(keeping.principal())

    def iterate(self, **filters: Any) -> Iterator[Memory]:
        """Every memory that `list` shows page by page. Raises as it does."""
        return self._items(memories.list, filters)

    def iterate_documents(self) -> Iterator[Document]:
        """Every document that `list_documents` shows page by page."""
        return self._items(seen.list_documents, {})

    def _items(self, describe: Callable[..., Verb[Any]], filters: dict[str, Any]) -> Iterator[Any]:
        cursor = None
        while True:
            page = self._do(describe(**{"limit": LARGEST_PAGE, **filters, "cursor": cursor}))
            yield from page.items
            cursor = page.next_cursor
            if cursor is None:
                return
