"""Erasure in the library, and in a server that starts."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from memorist.bootstrap import open_core
from memorist.erasure.values import ErasureKind, ErasureStatus
from memorist.surfaces.library import AsyncMemorist, Memorist
from memorist.testing import FrozenClock
from tests.support.stores import bare


@pytest.fixture(autouse=True)
def no_models(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MEMORIST_EMBEDDER", "MEMORIST_RERANKER"):
        monkeypatch.setenv(name, "off")


def test_library_erases_and_verifies(tmp_path: Path) -> None:
    with Memorist.open(tmp_path / "memories") as m:
        me, admin = m.user("ada"), m.admin()
        one = me.remember("one thing to forget for good").memory
        me.remember("another thing to forget for good")
        receipt = me.erase(one.id)
        assert me.receipt(receipt.id) == receipt
        assert me.verify(receipt.id).ok
        assert me.purge().counts["memories"] == 1
        me.remember("back again")
        assert admin.purge("ada", keys=True).counts["memories"] == 1
        assert len(admin.receipts()) == len(me.receipts()) == 3
        assert admin.delete_tenant(admin.principal.tenant).status is ErasureStatus.DUE


def test_library_for_asyncio(tmp_path: Path) -> None:
    async def run() -> None:
        async with await AsyncMemorist.open(tmp_path / "memories") as m:
            me = await m.user("ada")
            memory = (await me.remember("one thing to forget for good")).memory
            receipt = await me.erase(memory.id)
            assert (await me.verify(receipt.id)).ok
            assert await me.receipts() == [await me.receipt(receipt.id)]
            assert (await me.purge()).status is ErasureStatus.DONE

    asyncio.run(run())


def test_sweeps_of_the_library_finish_what_retention_purged(sqlite_url: str) -> None:
    clock = FrozenClock()
    core = open_core(bare(sqlite_url), clock=clock)
    core.identity.create_tenant("t")
    with Memorist(core) as m:
        me, admin = m.user("ada", tenant="t"), m.admin(tenant="t")
        admin.set_policy({"mode": "enforce"})
        memory = me.remember("a text whose time is over").memory
        me.forget(memory.id)
        for _ in range(10):
            clock.advance(timedelta(days=1))
            admin.sweep()
        (receipt,) = admin.receipts()
        assert (receipt.kind, receipt.status) == (ErasureKind.RETENTION, ErasureStatus.DONE)
        assert admin.verify(receipt.id).ok


def test_server_finishes_what_was_interrupted(sqlite_url: str) -> None:
    core = open_core(bare(sqlite_url))
    core.identity.create_tenant("t")
    with Memorist(core) as m:
        me = m.user("ada", tenant="t")
        memory = me.remember("a text that stays for a moment").memory
        receipt = core.erasure._begin(me.principal, ErasureKind.MEMORIES, {"ids": [memory.id], "documents": []}, "ada")
        core.erasure.start(3600)
        core.erasure.close()
        assert me.receipt(receipt.id).status is ErasureStatus.DONE
        assert memory.content.encode() not in Path(sqlite_url).read_bytes()
