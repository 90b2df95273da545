"""Three stdio servers and an HTTP server on one SQLite file, two thousand mixed calls: nothing lost, nothing locked."""

from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
from mcp import Client

from memorist import tools
from memorist.memories.values import Kind
from memorist.platform.values import Principal, Role
from memorist.settings import Settings
from tests.http.conftest import serving
from tests.mcp.conftest import call, over_http, over_stdio, run, stdio

CLIENTS = 4
CALLS = 500
AT_ONCE = 8


def test_two_thousand_calls(tmp_path: Path) -> None:
    done: Counter[str] = Counter()

    async def step(client: Client, who: int, number: int) -> None:
        kind = number % 5
        if kind == 0:
            await call(client, "remember_fact", content=f"Client {who} visited town {number}.")
        elif kind == 1:
            await call(client, "memory_write", name=f"own_{who}_{number}", type="project", description="d", body="b")
        elif kind == 2:
            # All of them change the same few.
            body = f"By {who} at {number}."
            await call(client, "memory_write", name=f"shared_{number % 7}", type="user", description="d", body=body)
        elif kind == 3:
            await call(client, "recall", query=f"town {number - 3}", top_k=3)
        else:
            found = await call(client, "memory_read", name=f"own_{who}_{number - 3}")
            assert found["body"] == "b"
        done[str(kind)] += 1

    async def drive(client: Client, who: int) -> None:
        """Several calls at once, but a memory is read after it was written."""
        for start in range(0, CALLS, AT_ONCE * 5):
            for kind in range(5):
                async with anyio.create_task_group() as tasks:
                    for number in range(start + kind, min(start + AT_ONCE * 5, CALLS), 5):
                        tasks.start_soon(step, client, who, number)

    async def work(url: str, key: str) -> None:
        async with AsyncExitStack() as open_clients:
            clients = [await open_clients.enter_async_context(over_http(url, key))]
            for _ in range(CLIENTS - 1):
                door = over_stdio(stdio("--data", str(tmp_path), "--user", "ada", MEMORIST_JUDGE_MODEL=""))
                clients.append(await open_clients.enter_async_context(door))
            async with anyio.create_task_group() as tasks:
                for who, client in enumerate(clients):
                    tasks.start_soon(drive, client, who)

    settings = Settings(data=tmp_path, port=0, embedder="off", reranker="off", judge_model="")
    with serving(settings) as served:
        key = served.key("local", Role.USER, "ada")
        run(lambda: work(served.url, key))
        assert sum(done.values()) == CLIENTS * CALLS
        ada = Principal("local", Role.USER, "ada")
        listed = set()
        cursor = None
        while True:
            page = served.core.memories.list(ada, kind=Kind.FACT, limit=100, cursor=cursor)
            listed |= {memory.name or memory.content for memory in page.items}
            cursor = page.next_cursor
            if cursor is None:
                break
        facts = {f"Client {who} visited town {number}." for who in range(CLIENTS) for number in range(0, CALLS, 5)}
        own = {f"own_{who}_{number}" for who in range(CLIENTS) for number in range(1, CALLS, 5)}
        assert listed == facts | own | {f"shared_{number}" for number in range(7)}
        assert set(served.core.store.check().values()) == {"ok"}
        assert tools.run(served.core, ada, "recall", {"query": "Client 3 visited town 495"}).result["total"] > 0
