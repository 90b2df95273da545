"""A real server on a real port, over each database; every test has tenants of its own."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from memorist.bootstrap import open_core
from memorist.core import Core
from memorist.observing.observer import observer
from memorist.platform.values import Principal, Role, TokenRights
from memorist.settings import Settings
from memorist.surfaces.http.server import Server, configured, listen
from memorist.testing import new_tenant
from memorist.times import Clock


@dataclass
class Served:
    """A running server and the core behind it."""

    url: str
    core: Core

    def key(self, tenant: str, role: Role, user: str | None = None, agent: str | None = None) -> str:
        operator = Principal(tenant, Role.ADMIN)
        return self.core.identity.create_key(operator, role, user=user, agent=agent)[1]

    def token(self, tenant: str, role: Role, user: str | None = None, agent: str | None = None) -> str:
        """A user's token that may do what a key of that role may."""
        rights = TokenRights.READ if role is Role.READER else TokenRights.WRITE
        operator = Principal(tenant, Role.ADMIN)
        return self.core.user_tokens.create(operator, user or "", agent=agent, rights=rights).token

    @contextmanager
    def client(
        self, tenant: str, role: Role = Role.USER, user: str | None = "ada", agent: str | None = None
    ) -> Iterator[httpx2.Client]:
        headers = {"Authorization": f"Bearer {self.key(tenant, role, user, agent)}"}
        with httpx2.Client(base_url=self.url, headers=headers, timeout=30) as client:
            yield client


@contextmanager
def serving(settings: Settings, *, clock: Clock | None = None) -> Iterator[Served]:
    core = open_core(settings, clock=clock, watch=observer(settings))
    listener = listen(settings)
    server = Server(configured(core, settings), core)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield Served(f"http://127.0.0.1:{listener.getsockname()[1]}", core)
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="session", params=["sqlite", "postgres"])
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder: Path = tmp_path_factory.mktemp("served")
    database = request.getfixturevalue("postgres_url") if request.param == "postgres" else ""
    # Many tests come with wrong keys, all from one address.
    with serving(Settings(data=folder, database=database, port=0, failed_key_delay_s=0)) as server:
        yield server


@pytest.fixture(scope="session", params=["sqlite", "postgres"])
def by_keyword(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server without models, for tests that make very many calls and are not about meaning. Nothing is learned."""
    with _by_keyword(request, tmp_path_factory, extractor="off") as server:
        yield server


@pytest.fixture(scope="session", params=["sqlite", "postgres"])
def learning(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The same with the local extractor, for tests of what is learned."""
    with _by_keyword(request, tmp_path_factory, extractor="local") as server:
        yield server


@contextmanager
def _by_keyword(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, *, extractor: str
) -> Iterator[Served]:
    folder: Path = tmp_path_factory.mktemp("by_keyword")
    database = request.getfixturevalue("postgres_url") if request.param == "postgres" else ""
    models = {"embedder": "off", "reranker": "off", "extractor": extractor}
    with serving(Settings(data=folder, database=database, port=0, failed_key_delay_s=0, **models)) as server:
        yield server


@pytest.fixture
def without_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """For servers that are started as processes, in tests that are not about meaning."""
    for name in ("EMBEDDER", "RERANKER", "EXTRACTOR"):
        monkeypatch.setenv(f"MEMORIST_{name}", "off")


@pytest.fixture
def tenant() -> str:
    return new_tenant()


@pytest.fixture
def ada(served: Served, tenant: str) -> Iterator[httpx2.Client]:
    """A user's client."""
    with served.client(tenant) as client:
        yield client


@pytest.fixture
def admin(served: Served, tenant: str) -> Iterator[httpx2.Client]:
    """The client of an admin who is also the user ada."""
    with served.client(tenant, Role.ADMIN, "ada") as client:
        yield client


def new_memory(name: str = "user_profile", **fields: object) -> dict[str, object]:
    return {"type": "user", "name": name, "description": f"About {name}", "body": f"The body of {name}.", **fields}
