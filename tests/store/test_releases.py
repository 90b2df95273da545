"""Databases that earlier releases wrote: today's code opens them, and reads everything back."""

import json
import lzma
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest

from memorist import Memorist
from memorist.bootstrap import open_core, open_store
from memorist.core import Core
from memorist.errors import IdempotencyMismatch, Unauthenticated
from memorist.memories.values import Draft, Status
from memorist.platform.values import Principal, Role
from memorist.recall.values import Question
from memorist.settings import Settings
from memorist.store.migrations import load_migrations
from memorist.testing.clocks import FrozenClock
from tests.support.postgres import Postgres, few_partitions
from tests.support.stores import bare

RELEASES = Path(__file__).parent / "releases"
RELEASE = RELEASES / "0.1.0"
"""The latest in the changelog. `make.py` beside the files says how they came to be."""

_SOON_AFTER = datetime(2026, 11, 16, 16, tzinfo=UTC)
"""Within a day after the files were made: requests are not remembered any longer."""


@pytest.fixture(params=["sqlite", "postgres"])
def released(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """A database as the release left it."""
    if request.param == "sqlite":
        file = tmp_path / "memorist.db"
        file.write_bytes(lzma.decompress((RELEASE / "sqlite.db.xz").read_bytes()))
        return bare(str(file))
    server: Postgres = request.getfixturevalue("postgres")
    url = server.url(server.create_database())
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(lzma.decompress((RELEASE / "postgres.sql.xz").read_bytes()))
    return bare(url)


def opened(settings: Settings) -> Core:
    with few_partitions():  # As many as the dump has.
        return open_core(settings, clock=FrozenClock(_SOON_AFTER), background=False)


def dialect(settings: Settings) -> str:
    return "postgres" if settings.sqlite_path() is None else "sqlite"


def exported(settings: Settings) -> list[dict[str, Any]]:
    """What the release itself exported, a memory each."""
    lines = (RELEASE / f"{dialect(settings)}.jsonl").read_text("utf-8").splitlines()
    return [record for line in lines if "memory" in (record := json.loads(line))]


def noted(settings: Settings, name: str) -> str:
    found: str = json.loads((RELEASE / f"{dialect(settings)}.json").read_text("utf-8"))[name]
    return found


def test_every_release_with_a_database_of_its_own_is_tested() -> None:
    assert [one.name for one in RELEASES.iterdir() if one.is_dir()] == [RELEASE.name]


def test_everything_is_there_as_the_release_left_it(released: Settings) -> None:
    before = exported(released)
    core = opened(released)
    try:
        lines = [
            json.loads(line)
            for tenant in core.store.list_tenants()
            for line in core.transfer.export(Principal(tenant.id, Role.ADMIN))
        ]
        for tenant in core.store.list_tenants():
            core.indexer.prepare(tenant.id)
        findings = core.store.check()
    finally:
        core.close()
    after = {line["memory"]["id"]: line for line in lines if "memory" in line}
    assert len(before) == len(after) == 9
    assert {one["memory"]["kind"] for one in before} == {"fact", "chat_message", "tool_output", "document_chunk"}
    for one in before:
        now = after[one["memory"]["id"]]
        # Since then what governs a memory is part of this.
        key = one["memory"].pop("dedup_key")
        assert now["memory"]["dedup_key"].endswith(key)
        assert {name: now["memory"].get(name) for name in one["memory"]} == one["memory"]
        assert [{name: event.get(name) for name in one["events"][0]} for event in now["events"]] == one["events"]
    assert set(findings.values()) == {"ok"}


def test_it_is_used_as_before(released: Settings) -> None:
    core = opened(released)
    try:
        ada = core.identity.authenticate(noted(released, "key"))
        assert (ada.tenant, ada.user) == ("local", "ada")
        listed = core.memories.list(ada).items
        assert {one.content for one in listed} >= {"Ada drinks black tea.", "All of us share this."}
        gone = core.memories.list(ada, status=Status.SOFT_DELETED).items
        assert [one.content for one in gone] == ["Ada lives in Turin."]
        tea = core.memories.get(ada, noted(released, "edited"))
        assert tea.meta == {"cups": 3, "où": "Zürich ✓"}
        assert [event.event_type for event in core.memories.events(ada, tea.id)] == ["created", "updated"]
        assert core.recall.recall(ada, Question("Deploys on Tuesdays")).hits[0].memory.name == "deploys"
        # Requests have more fields now: one from before is not done twice, and its answer is not given again.
        local, drafts = Principal("local", Role.USER, "ada"), [Draft("Ada drinks green tea.")]
        with pytest.raises(IdempotencyMismatch):
            core.memories.remember(local, drafts, idempotency_key="tea")
        with pytest.raises(Unauthenticated):
            core.identity.authenticate("mst_live_" + "0" * 72)
    finally:
        core.close()


def test_its_migrations_are_those_that_are_missing(released: Settings) -> None:
    store = open_store(released)
    try:
        known = load_migrations(store.driver.dialect)
        assert [one.version for one in store.migrator.applied()] == [1]
        assert store.migrator.pending() == known[1:]
    finally:
        store.close()


def test_the_library_opens_it(released: Settings) -> None:
    opened(released).close()
    with Memorist.open(released.database_url()) as memorist:
        assert memorist.user("bob", tenant="other").list().items[0].content == "Bob is in another tenant."
