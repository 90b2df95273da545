"""Clients of a real server on loopback, over each database; every test has a tenant of its own."""

from collections.abc import Iterator

import pytest

from memorist.client import Client
from memorist.platform.values import Role
from tests.http.conftest import Served, by_keyword, learning, tenant

__all__ = ["by_keyword", "learning", "tenant"]


@pytest.fixture
def ada(by_keyword: Served, tenant: str) -> Iterator[Client]:
    """A user's client."""
    with Client(by_keyword.url, api_key=by_keyword.key(tenant, Role.USER, "ada")) as client:
        yield client


@pytest.fixture
def admin(by_keyword: Served, tenant: str) -> Iterator[Client]:
    """The client of an admin who is also the user ada."""
    with Client(by_keyword.url, api_key=by_keyword.key(tenant, Role.ADMIN, "ada")) as client:
        yield client
