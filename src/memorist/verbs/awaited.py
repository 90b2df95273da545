"""The verbs as methods to be awaited."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from memorist.ingestion.values import Document
from memorist.memories.values import Memory
from memorist.verbs import facts, keeping, memories, seen
from memorist.verbs.blocking import LARGEST_PAGE, as_method
from memorist.verbs.kinds import Stream, Verb

P = ParamSpec("P")
T = TypeVar("T")


def _doing(describe: Callable[P, Verb[T]]) -> "Callable[Concatenate[AsyncVerbs, P], Awaitable[T]]":
    @wraps(describe)
    async def method(self: "AsyncVerbs", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._do(describe(*args, **kwargs))

    return as_method(method, describe)


def _streaming(describe: Callable[P, Stream[T]]) -> "Callable[Concatenate[AsyncVerbs, P], AsyncIterator[T]]":
    @wraps(describe)
    def method(self: "AsyncVerbs", /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        return self._stream(describe(*args, **kwargs))

    return as_method(method, describe, AsyncIterator)


class AsyncVerbs(ABC):
    """The same as `Verbs`, to be awaited."""

    @abstractmethod
    async def _do(self, verb: Verb[T]) -> T: ...

    @abstractmethod
    def _stream(self, stream: Stream[T]) -> AsyncIterator[T]: ...

    remember = _doing(memories.remember)
    remember_all = _doing(memories.remember_all)
    recall = _doing(memories.recall)
    get = _doing(memories.get)
    list = _doing(memories.list)
    edit = _doing(memories.edit)
    forget = _doing(memories.forget)
    archive = _doing(memories.archive)
    restore = _doing(memories.restore)
    events = _doing(memories.events)
    section = _doing(memories.section)

    remember_fact = _doing(facts.remember_fact)
    extract = _doing(facts.extract)
    history = _doing(facts.history)
    restore_fact = _doing(facts.restore_fact)
    in_doubt = _doing(facts.in_doubt)
    confirm_doubt = _doing(facts.confirm_doubt)
    refute_doubt = _doing(facts.refute_doubt)
    dismiss_doubt = _doing(facts.dismiss_doubt)
    jobs = _doing(facts.jobs)
    get_job = _doing(facts.get_job)
    retry_job = _doing(facts.retry_job)
    drop_job = _doing(facts.drop_job)

    add_messages = _doing(seen.add_messages)
    add_tool_output = _doing(seen.add_tool_output)
    read_tool_output = _doing(seen.read_tool_output)
    add_document = _doing(seen.add_document)
    get_document = _doing(seen.get_document)
    list_documents = _doing(seen.list_documents)
    forget_document = _doing(seen.forget_document)
    tools = _doing(seen.tools)
    run_tool = _doing(seen.run_tool)
    get_turn = _doing(seen.get_turn)
    turns = _doing(seen.turns)
    turn = _streaming(seen.turn)
    turn_events = _streaming(seen.turn_events)
    changes = _streaming(seen.changes)

    policy = _doing(keeping.policy)
    set_policy = _doing(keeping.set_policy)
    sweep = _doing(keeping.sweep)
    erase = _doing(keeping.erase)
    purge = _doing(keeping.purge)
    delete_tenant = _doing(keeping.delete_tenant)
    receipt = _doing(keeping.receipt)
    receipts = _doing(keeping.receipts)
    verify = _doing(keeping.verify)
    reset = _doing(keeping.reset)
    wait_until_indexed = _doing(keeping.wait_until_indexed)
    import_ = _doing(keeping.import_)
    export = _streaming(keeping.export)

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
