"""The verbs as methods to be awaited."""

from collections.abc import AsyncIterator, Callable
from typing import Any

from memorist.ingestion.values import Document
from memorist.memories.values import Memory
from memorist.verbs import memories, seen
from memorist.verbs.kinds import Verb
from memorist.verbs.listed import LARGEST_PAGE, VerbList
from memorist.verbs.methods import Awaited


class AsyncVerbs(VerbList, Awaited):
    """The same as `Verbs`, to be awaited."""

    def iterate(self, **filters: Any) -> AsyncIterator[Memory]:
        """Every memory that `list` shows page by page. Raises as it does."""
        return self._items(memories.list, filters)

    def iterate_documents(self) -> AsyncIterator[Document]:
        """Every document that `list_documents` shows page by page."""
        return self._items(seen.list_documents, {})

    async def _items(self, describe: Callable[..., Verb[Any]], filters: dict[str, Any]) -> AsyncIterator[Any]:
        cursor = None
        while True:
            page = await self._do(describe(**{"limit": LARGEST_PAGE, **filters, "cursor": cursor}))
            for item in page.items:
                yield item
            cursor = page.next_cursor
            if cursor is None:
                return
