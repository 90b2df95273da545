"""What adapters remember with: the library's handle and a client of a real server, each over both databases."""

import uuid
from collections.abc import Iterator

import pytest

from memorist.client import Client
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
def session_id() -> str:
    return f"chat-{uuid.uuid4()}"
