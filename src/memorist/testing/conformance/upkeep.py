"""What every store must do: what is asked of the store itself: checks, its files, its end."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from memorist.errors import StoreError
from memorist.ids import new_id, to_uuid
from memorist.memories import writing
from memorist.platform.values import Owner
from memorist.ports import Store
from memorist.testing.conformance.fixtures import StoreFixtures
from memorist.testing.conformance.helpers import EVERYBODY, created, insert
from memorist.testing.makers import (
    make_event,
    make_memory,
    make_receipt,
)


class UpkeepConformance(StoreFixtures):
    """What is asked of the store itself: checks, its files, its end."""

    def test_ping_of_an_open_store_is_silent(self, store: Store) -> None:
        store.ping()

    @pytest.mark.parametrize("thorough", [True, False])
    def test_check_of_whole_memories_finds_nothing(self, store: Store, tenant: str, thorough: bool) -> None:
        memory = make_memory(tenant)
        insert(store, memory, make_event(memory), make_event(memory, "updated"))
        assert _finding(store, tenant, thorough) == "ok"

    def test_check_finds_a_memory_without_its_created_event(self, store: Store, tenant: str) -> None:
        insert(store, make_memory(tenant))
        assert _finding(store, tenant, True) != "ok"

    def test_check_finds_events_of_no_memory(self, store: Store, tenant: str) -> None:
        store.write(tenant, lambda tx: tx.events.append([make_event(make_memory(tenant), "deleted")]))
        assert _finding(store, tenant, True) != "ok"

    def test_erased_memories_leave_a_whole_store(self, store: Store, tenant: str) -> None:
        memories = [make_memory(tenant) for _ in range(3)]
        for memory in memories:
            insert(store, memory, make_event(memory))
        store.write(tenant, lambda tx: tx.erasure.erase_rows([memory.id for memory in memories[:2]]))
        store.checkpoint()
        assert _finding(store, tenant, True) == "ok"

    def test_upkeep_beside_writers_harms_nobody(self, store: Store, tenant: str) -> None:
        stop = threading.Event()

        def keep_up() -> None:
            while not stop.is_set():
                store.checkpoint()
                assert _finding(store, tenant, False) == "ok"

        def write(_: int) -> None:
            memory = make_memory(tenant)
            insert(store, memory, make_event(memory))

        with ThreadPoolExecutor(5) as threads:
            upkeep = threads.submit(keep_up)
            try:
                list(threads.map(write, range(60)))
            finally:
                stop.set()
            upkeep.result()
        assert len(store.read(tenant, lambda tx: tx.memories.scan(EVERYBODY, "", 100))) == 60

    def test_closed_store_refuses_everything(self, store: Store, tenant: str) -> None:
        store.close()
        calls: list[Callable[[], Any]] = [
            store.ping,
            store.list_tenants,
            lambda: store.read(tenant, lambda tx: tx.keys.all()),
            lambda: store.write(tenant, lambda tx: writing.insert(tx, make_memory(tenant))),
        ]
        for call in calls:
            with pytest.raises(StoreError):
                call()

    def test_closing_twice_is_harmless(self, store: Store) -> None:
        store.close()
        store.close()

    def test_store_tells_what_it_is(self, store: Store) -> None:
        assert {"engine", "version", "place", "size_bytes"} <= set(store.describe())

    def test_scrubbing_says_what_is_out_of_reach_and_files_are_searched(self, store: Store, tenant: str) -> None:
        memory = make_memory(tenant, content="quetzalcoatl plays the marimba")
        created(store, memory)
        pieces = [b"quetzalcoatl plays", to_uuid(new_id("mem")).bytes]
        assert store.search_files(pieces) in (None, frozenset(pieces[:1]))
        store.write(tenant, lambda tx: tx.erasure.erase_rows([memory.id]))
        store.write(tenant, lambda tx: tx.receipts.insert(make_receipt(tenant)))
        assert store.scrub(tenant)
        assert store.search_files(pieces) in (None, frozenset())

    def test_own_words_are_in_the_files_and_nobodys(self, store: Store, tenant: str) -> None:
        memory = make_memory(tenant, content="quetzalcoatl plays the marimba")
        created(store, memory)
        words = [word for word in store.own_words().split() if len(word) >= 8]
        assert words
        assert store.search_files(words) in (None, frozenset(words))
        assert b"quetzalcoatl" not in store.own_words()

    def test_rows_explain_what_the_files_hold_also_across_their_values(self, store: Store, tenant: str) -> None:
        memory = make_memory(tenant, owner=Owner("quetzalcoatl"), content="plays the marimba")
        created(store, memory)
        across = f"quetzalcoatl{memory.kind}plays".encode()
        pieces = {b"plays the marimba", across, b"plays no marimba"}
        # A sealed text is in no file.
        found = store.search_files(pieces)
        assert found is None or store.held_by_rows(pieces) == found <= pieces - {b"plays no marimba"}


def _finding(store: Store, tenant: str, thorough: bool) -> str:
    """What the check says about one tenant, whose name is part of the finding's name."""
    (finding,) = [said for name, said in store.check(thorough=thorough).items() if tenant in name]
    return finding
