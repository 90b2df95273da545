"""What adapters remember with: the library's handle and a client of a real server, each over both databases."""

import socket
import uuid
from collections.abc import Iterator

import pytest

from memorist.client import Client
from memorist.client.exchange import Retries
from memorist.platform.values import Role
from memorist.surfaces.library import Handle, Memorist
from memorist.verbs import Verbs
from tests.http.conftest import Served, by_keyword, tenant

__all__ = ["by_keyword", "tenant"]


@pytest.fixture
def handle(by_keyword: Served, tenant: str) -> Handle:
    return Memorist(by_keyword.core).user("ada", tenant=tenant)


@pytest.fixture(params=["library", "client"])
def memories(request: pytest.FixtureRequest, by_keyword: Served, tenant: str) -> Iterator[Verbs]:
    if request.param == "library":
        yield Memorist(by_keyword.core).user("ada", tenant=tenant)
        return
    with Client(by_keyword.url, api_key=by_keyword.key(tenant, Role.USER, "ada")) as client:
        yield client


@pytest.fixture
def away() -> Iterator[Client]:
    """A client of a server that is not there."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        with Client(url, api_key="a-key", retries=Retries(most=0)) as client:
            yield client


@pytest.fixture
def session_id() -> str:
    return f"chat-{uuid.uuid4()}"
