"""What the tests of PostgreSQL share."""

import pytest

from memorist.bootstrap import open_core
from tests.support.postgres import Postgres
from tests.support.stores import bare


@pytest.fixture(scope="module")
def whole_postgres_url(postgres: Postgres) -> str:
    """A database with as many partitions as one in production has; the one that all others share has fewer."""
    url = postgres.url(postgres.create_database())
    open_core(bare(url)).close()
    return url
