"""What every store must do: work inside transactions: all of it or nothing, at one moment, and told of afterwards."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from memorist.errors import Conflict
from memorist.memories import writing
from memorist.memories.values import Memory
from memorist.ports import Reader, Store, Writer
from memorist.testing.clocks import START
from memorist.testing.conformance.fixtures import StoreFixtures
from memorist.testing.conformance.helpers import by_id, insert
from memorist.testing.makers import make_event, make_key, make_memory


class TransactionConformance(StoreFixtures):
    """Work inside transactions: all of it or nothing, at one moment, and told of afterwards."""

    def test_write_returns_what_the_work_returned(self, store: Store, tenant: str) -> None:
        assert store.write(tenant, lambda tx: ["anything", tx is not None]) == ["anything", True]

    def test_read_returns_what_the_work_returned(self, store: Store, tenant: str) -> None:
        assert store.read(tenant, lambda tx: ["anything", tx is not None]) == ["anything", True]

    def test_written_memory_is_there_for_the_next_reader(self, store: Store, tenant: str) -> None:
        memory = insert(store, make_memory(tenant))
        assert store.read(tenant, lambda tx: tx.memories.get(memory.id)) == memory

    def test_work_sees_its_own_writes(self, store: Store, tenant: str) -> None:
        memory = make_memory(tenant)

        def work(tx: Writer) -> Memory | None:
            writing.insert(tx, memory)
            return tx.memories.get(memory.id)

        assert store.write(tenant, work) == memory

    @pytest.mark.parametrize("error", [RuntimeError("stop"), Conflict("stop"), KeyError("stop")])
    def test_failed_work_writes_nothing_and_raises_its_own_error(
        self, store: Store, tenant: str, error: Exception
    ) -> None:
        memory = make_memory(tenant)

        def work(tx: Writer) -> None:
            writing.insert(tx, memory)
            tx.events.append([make_event(memory)])
            tx.keys.insert(make_key(tenant))
            raise error

        with pytest.raises(type(error), match="stop") as caught:
            store.write(tenant, work)
        assert caught.value is error
        assert store.read(tenant, lambda tx: tx.memories.get(memory.id)) is None
        assert store.read(tenant, lambda tx: tx.events.of([memory.id])) == []
        assert store.read(tenant, lambda tx: tx.keys.all()) == []

    def test_store_works_on_after_failed_work(self, store: Store, tenant: str) -> None:
        for _ in range(30):  # More often than any pool has connections.
            with pytest.raises(RuntimeError):
                store.write(tenant, _stop)
            with pytest.raises(RuntimeError):
                store.read(tenant, _stop)
        insert(store, make_memory(tenant))

    def test_reader_sees_one_moment(self, store: Store, tenant: str) -> None:
        memory = make_memory(tenant)

        def work(tx: Reader) -> tuple[Memory | None, Memory | None]:
            before = tx.memories.get(memory.id)
            _in_thread(lambda: insert(store, memory))
            return before, tx.memories.get(memory.id)

        assert store.read(tenant, work) == (None, None)
        assert store.read(tenant, lambda tx: tx.memories.get(memory.id)) == memory

    def test_many_threads_lose_nothing(self, store: Store, tenant: str) -> None:
        memories = [make_memory(tenant) for _ in range(64)]
        with ThreadPoolExecutor(16) as threads:
            list(threads.map(lambda memory: insert(store, memory), memories))
        found = store.read(tenant, lambda tx: tx.memories.get_many([memory.id for memory in memories]))
        assert sorted(found, key=by_id) == sorted(memories, key=by_id)

    def test_writes_are_told_once_they_are_durable(self, store: Store, tenant: str) -> None:
        told: list[tuple[str, bool]] = []
        memory = make_memory(tenant)

        def tell(written: str) -> None:
            told.append((written, store.read(tenant, lambda tx: tx.memories.get(memory.id)) is not None))

        store.on_write(tell)
        with pytest.raises(ZeroDivisionError):
            store.write(tenant, lambda _: 1 / 0)
        assert told == []
        insert(store, memory)
        assert told == [(tenant, True)]
        store.write(tenant, lambda tx: tx.memories.add_accesses({memory.id: (1, START)}), is_told=False)
        assert told == [(tenant, True)]


def _stop(_: Any) -> None:
    raise RuntimeError


def _in_thread(call: Callable[[], object]) -> None:
    with ThreadPoolExecutor(1) as thread:
        thread.submit(call).result()
