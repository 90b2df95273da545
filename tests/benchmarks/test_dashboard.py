"""Every view of the dashboard is asked for, over memories of every kind and state, on both databases."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from memorist.bootstrap import open_core
from memorist.core import Core
from memorist.memories.values import Kind, Status
from memorist.platform.values import OwnerFilter, Principal, Role
from memorist.settings import Settings
from memorist.surfaces.dashboard.rendering import menu
from memorist_bench.dashboard import measure_dashboard
from tests.support.stores import bare, checked

EVERYTHING = OwnerFilter(any_user=True, any_agent=True)


@pytest.fixture(autouse=True)
def keywords_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """For the server that is started."""
    monkeypatch.setenv("MEMORIST_EMBEDDER", "off")
    monkeypatch.setenv("MEMORIST_RERANKER", "off")


@pytest.fixture
def settings(own_database_url: str) -> Settings:
    """Of its own: the server that is started looks after all tenants that there are, and a page counts them."""
    return bare(own_database_url)


@pytest.fixture
def core(settings: Settings) -> Iterator[Core]:
    """With the clock of the server, which would otherwise take the link for an old one."""
    core = open_core(settings)
    yield core
    core.close()


@pytest.fixture
def own_settings(settings: Settings, tmp_path: Path) -> Settings:
    """The database of the core, and a folder for what a server writes."""
    return replace(settings, data=tmp_path / "data")


def test_every_view_is_timed_over_memories_of_every_kind_and_nobody_stays_signed_in(
    core: Core, own_settings: Settings, tenant: str
) -> None:
    result = measure_dashboard(core, own_settings, tenant, "run", memories=300, rounds=2, report=lambda *_: None)

    assert set(result) == {
        "memories", "users", "turns", "rounds", "database", "embedder", "slowest_ms_p95", "reranked_recall", "views",
    }  # fmt: skip
    assert (result["memories"], result["rounds"], result["embedder"], result["reranked_recall"]) == (300, 2, None, None)
    pages = {item.label.lower() for item in menu(is_admin=True)}
    others = {"memory", "turn", "recall, a question", "conversation", "document", "memories, while typing", "set up"}
    assert {name.split(" (")[0] for name in result["views"]} >= pages | others
    for view in result["views"].values():
        assert 0 < view["ms_p50"] <= view["ms_p95"] <= result["slowest_ms_p95"]
        assert view["kb"] > 0

    stored = core.store.read(tenant, lambda tx: tx.memories.scan(EVERYTHING, "", 1000))
    assert sum(memory.kind is not Kind.DOCUMENT_CHUNK for memory in stored) == 300
    assert {memory.status for memory in stored} >= {Status.ACTIVE, Status.ARCHIVED, Status.SOFT_DELETED}
    assert {memory.kind for memory in stored} >= set(Kind)
    assert sum(memory.user == "run-0" for memory in stored if memory.kind is not Kind.DOCUMENT_CHUNK) == 150
    admin = Principal(tenant, Role.ADMIN)
    assert all(key.revoked_at is not None for key in core.identity.list_keys(admin))
    assert checked(core.store, tenant) == "ok"
