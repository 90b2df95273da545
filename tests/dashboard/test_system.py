"""System: versions, models, queues and settings, for admins; what is secret stays so."""

from dataclasses import fields
from pathlib import Path

import pytest
from playwright.sync_api import expect

from memorist import __version__
from memorist.platform.values import JobStatus
from memorist.settings import Settings
from memorist.settings_sources import shown_settings
from memorist.surfaces.dashboard.pages import system
from memorist.surfaces.dashboard.visits import Site
from tests.dashboard.conftest import People, Person
from tests.dashboard.sweeps import check_looks

SECRETS = ("hunter2", "hunter3", "sk-very-secret")


def test_system_tells_what_it_is_made_of(ada: Person) -> None:
    ada.core.store.write(ada.principal.tenant, lambda tx: ada.core.jobs.add(tx, ada.principal, "unknown", {}))
    ada.core.jobs.run_due(ada.principal.tenant)
    ada.remember("one", "two")
    page = ada.goto("/system")
    expect(page.get_by_role("region", name="Versions")).to_contain_text(__version__)
    expect(page.get_by_role("region", name="Database")).to_contain_text("SQLite")
    expect(page.get_by_role("region", name="Index")).to_contain_text("2 memories")
    expect(page.get_by_role("region", name="Models")).to_contain_text("Embedder off")
    jobs = page.get_by_role("region", name="Jobs")
    expect(jobs.locator("li", has_text=JobStatus.DEAD)).to_contain_text("1")
    expect(jobs.get_by_role("link", name="Look at them")).to_have_attribute("href", "/dashboard/activity/jobs#work")
    expect(page.get_by_role("region", name="Retention")).to_contain_text("preview")


def test_every_setting_is_shown_with_where_it_came_from(ada: Person) -> None:
    page = ada.goto("/system")
    settings = page.get_by_role("region", name="Settings")
    # What was changed comes first, by itself.
    expect(settings.get_by_role("group", name="Settings").first.get_by_role("row", name="embedder")).to_contain_text(
        "off"
    )
    settings.locator("summary").focus()
    page.keyboard.press("Enter")
    shown = settings.locator("details[open] tbody tr")
    assert shown.count() == len(fields(Settings))
    expect(shown.filter(has=page.get_by_text("log_level", exact=True))).to_contain_text("default")


def test_system_in_every_look(people: People, tenant: str) -> None:
    check_looks(people, tenant, "/system", prepare=lambda page: page.locator(".all > summary").click())


def test_settings_that_are_secret_are_masked() -> None:
    settings = Settings(
        database="postgresql://me:hunter2@host/db?password=hunter3",
        api_key="mst_live_hunter2",
        llm_api_key="sk-very-secret",
        embedder_url="https://me:hunter2@models.example.org/v1",
        data=Path("/srv/memories"),
    )
    origins = {"database": "MEMORIST_DATABASE", "data": "flag"}
    shown = {one.name: one for one in system._settings(Site(None, settings, lambda _: 500, origins))}  # type: ignore[arg-type]
    text = str(shown)
    assert not [secret for secret in SECRETS if secret in text]
    assert shown["database"].origin == "MEMORIST_DATABASE"
    assert shown["data"].value == "/srv/memories"
    assert shown["embedder_api_key"].value == ""
    assert shown["llm_api_key"].value == "********"


@pytest.mark.parametrize("name", [one.name for one in fields(Settings) if one.metadata["secret"]])
def test_no_secret_setting_is_ever_shown(name: str) -> None:
    assert shown_settings(Settings(**{name: "hunter2"}))[name] == "********"
