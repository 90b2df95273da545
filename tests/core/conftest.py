"""Callers of one fresh tenant."""

from collections.abc import Callable
from typing import Any

import pytest

from memorist.core import Core
from memorist.memories.values import Draft, Memory
from memorist.platform.values import Principal, Role


@pytest.fixture
def ada(tenant: str) -> Principal:
    return Principal(tenant, Role.USER, "ada")


@pytest.fixture
def bob(tenant: str) -> Principal:
    return Principal(tenant, Role.USER, "bob")


@pytest.fixture
def admin(tenant: str) -> Principal:
    """An admin that acts for nobody."""
    return Principal(tenant, Role.ADMIN)


@pytest.fixture
def remember(core: Core) -> Callable[..., Memory]:
    """Write one memory and return it."""

    def call(principal: Principal, content: str = "a text", **fields: Any) -> Memory:
        return core.memories.remember(principal, [Draft(content, **fields)])[0].memory

    return call
