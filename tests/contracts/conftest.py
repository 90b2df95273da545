"""A server without models over each database, and one with a scripted language model."""

from collections.abc import Iterator

import httpx2
import pytest

from tests.http.conftest import Served, by_keyword, learning, tenant
from tests.turns.conftest import model, talking
from tests.turns.conftest import served as conversing

__all__ = ["by_keyword", "conversing", "learning", "model", "talking", "tenant"]


@pytest.fixture
def ada(by_keyword: Served, tenant: str) -> Iterator[httpx2.Client]:
    """A user's client."""
    with by_keyword.client(tenant) as client:
        yield client
