"""The fixtures of every conformance class."""

from collections.abc import Iterator

import pytest

from memorist.platform.values import Tenant
from memorist.ports import Store
from memorist.testing.clocks import START
from memorist.testing.makers import new_tenant


class StoreFixtures:
    """A store, and two tenants of it. The tests never assume that the database is empty."""

    @pytest.fixture
    def store(self) -> Iterator[Store]:
        """An open, migrated store. Override this one."""
        raise NotImplementedError("override the fixture `store` with the store to be tested")

    @pytest.fixture
    def tenant(self, store: Store) -> str:
        return _create_tenant(store)

    @pytest.fixture
    def neighbour(self, store: Store) -> str:
        """Another tenant, which must notice nothing."""
        return _create_tenant(store)


def _create_tenant(store: Store) -> str:
    tenant = new_tenant()
    assert store.create_tenant(Tenant(tenant, START))
    return tenant
