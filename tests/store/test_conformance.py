"""The shipped suite, in full, on both databases."""

from collections.abc import Iterator

import pytest

from memorist.bootstrap import open_store
from memorist.store.sql_store import SqlStore
from memorist.testing import StoreConformance
from memorist.testing.clocks import START
from tests.support.stores import bare


class TestSqlStore(StoreConformance):
    @pytest.fixture
    def store(self, database_url: str) -> Iterator[SqlStore]:
        store = open_store(bare(database_url))
        store.migrator.migrate(START)
        yield store
        store.close()
