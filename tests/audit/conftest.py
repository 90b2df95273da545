"""A server over each database, and what its audit log has of a tenant."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memorist.audit.values import NotedAct
from memorist.core import Core
from memorist.platform.values import Principal, Role
from memorist.settings import Settings
from memorist.store.sql_store import SqlStore
from memorist.store.statements import SqlStatement
from memorist.testing import new_tenant
from tests.http.conftest import Served, serving


@pytest.fixture(scope="session", params=["sqlite", "postgres"])
def audited(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server without models."""
    folder: Path = tmp_path_factory.mktemp("audited")
    database = request.getfixturevalue("postgres_url") if request.param == "postgres" else ""
    settings = Settings(data=folder, database=database, port=0, embedder="off", reranker="off", failed_key_delay_s=0)
    with serving(settings) as server:
        yield server


@pytest.fixture
def whose() -> str:
    """A tenant that nobody else uses."""
    return new_tenant()


def acts_of(core: Core, tenant: str) -> list[NotedAct]:
    """What is in the log, by its time, once all that waits is in it."""
    # A write may get its place a moment before a read that came first.
    return sorted((entry.act for entry in core.audit.entries(Principal(tenant, Role.ADMIN))), key=lambda act: act.at)


def told(core: Core, tenant: str) -> list[tuple[str, str, str]]:
    return [(act.kind, act.route, act.outcome) for act in acts_of(core, tenant)]


def rows_as_text(core: Core, tenant: str) -> str:
    """Every row of the audit log's tables, as it is stored."""
    assert isinstance(core.store, SqlStore)
    found = []
    for table in ("audit_log", "audit_waiting", "audit_heads"):
        statement = SqlStatement("rows", "", f"SELECT * FROM {table}")
        found += core.store.driver.read(tenant, lambda connection, one=statement: connection.rows(one, {}))  # type: ignore[misc]
    return "\n".join(map(str, found))
