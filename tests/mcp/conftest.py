"""The official client library, over every transport, on each database."""

import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from memorist.platform.values import Role
from memorist.settings import Settings
from memorist.testing import new_tenant
from tests.http.conftest import Served, serving

CURRENT = "2026-07-28"
PREVIOUS = "2025-11-25"
# What the client library is told, so that it speaks a revision.
MODES = {CURRENT: CURRENT, PREVIOUS: "legacy"}


@pytest.fixture(scope="session", params=["sqlite", "postgres"])
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder: Path = tmp_path_factory.mktemp("mcp")
    database = request.getfixturevalue("postgres_url") if request.param == "postgres" else str(folder / "memorist.db")
    with serving(Settings(data=folder, database=database, port=0, embedder="off", reranker="off")) as server:
        server.database = database  # type: ignore[attr-defined]
        yield server


@pytest.fixture
def tenant() -> str:
    return new_tenant()


def stdio(*arguments: str, **environment: str) -> StdioServerParameters:
    """`memorist mcp` without models, and with nothing of this machine's settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMORIST_")}
    off = {"MEMORIST_EMBEDDER": "off", "MEMORIST_RERANKER": "off"}
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "memorist", "mcp", *arguments],
        env={**kept, **off, **environment},
    )


@asynccontextmanager
async def over_http(
    url: str, key: str, revision: str = CURRENT, headers: dict[str, str] | None = None
) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}", **(headers or {})}, timeout=30) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=MODES[revision], cache=None) as client,
    ):
        yield client


@asynccontextmanager
async def over_stdio(parameters: StdioServerParameters, revision: str = CURRENT) -> AsyncIterator[Client]:
    async with Client(parameters, mode=MODES[revision], cache=None) as client:
        yield client


@dataclass
class Door:
    """One way to a tenant of the server's database."""

    served: Served
    tenant: str
    transport: str
    revision: str

    def connect(self, role: Role = Role.USER, user: str = "ada") -> AbstractAsyncContextManager[Client]:
        key = self.served.key(self.tenant, role, user)
        if self.transport == "http":
            return over_http(self.served.url, key, self.revision)
        if self.transport == "forwarded":
            parameters = stdio(MEMORIST_URL=self.served.url, MEMORIST_API_KEY=key)
        else:
            parameters = stdio("--database", self.served.database, MEMORIST_API_KEY=key)  # type: ignore[attr-defined]
        return over_stdio(parameters, self.revision)


@pytest.fixture(
    params=[
        ("http", CURRENT),
        ("http", PREVIOUS),
        ("stdio", CURRENT),
        ("stdio", PREVIOUS),
        ("forwarded", CURRENT),
    ],
    ids="-".join,
)
def door(request: pytest.FixtureRequest, served: Served, tenant: str) -> Door:
    return Door(served, tenant, *request.param)


@pytest.fixture(params=[("http", PREVIOUS), ("stdio", CURRENT)], ids="-".join)
def some_door(request: pytest.FixtureRequest, served: Served, tenant: str) -> Door:
    """One of each transport, for what is decided behind them."""
    return Door(served, tenant, *request.param)


async def call(client: Client, tool: str, /, **arguments: Any) -> dict[str, Any]:
    """The result of a tool that must not fail."""
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content
    assert answer.structured_content is not None
    return answer.structured_content


async def refused(client: Client, tool: str, /, **arguments: Any) -> dict[str, Any]:
    """The error of a tool that must fail, as a model sees it."""
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error
    assert answer.structured_content is not None
    error: dict[str, Any] = answer.structured_content["error"]
    assert answer.content[0].text == f"{error['message']} [{error['code']}]"  # type: ignore[union-attr]
    return error


def run(work: Callable[[], Any]) -> None:
    """Run a test's coroutine, and give up on one that hangs."""

    async def limited() -> None:
        with anyio.fail_after(120):
            await work()

    anyio.run(limited)
