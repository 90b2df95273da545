"""The example page in a real browser, on another origin than the server's, with a user's token."""

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from memorist.platform.values import Principal, Role
from memorist.settings import Settings
from memorist.testing import new_tenant
from tests.http.conftest import Served, serving
from tests.support.browser import Complaints, browsing
from tests.typescript.conftest import PACKAGE

_EXAMPLE = PACKAGE / "examples/browser/server.mjs"


@pytest.fixture
def browser() -> Iterator[Browser]:
    with browsing() as browser:
        yield browser


@contextmanager
def site(node: str, folder: Path, *, allowed: bool = True) -> Iterator[tuple[Served, str, str]]:
    """A server, the tenant of its service key, and the address of the site that has the page."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    origins = address if allowed else "https://elsewhere.example"
    settings = Settings(data=folder, port=0, embedder="off", reranker="off", allowed_origins=origins)
    with serving(settings) as served:
        tenant = new_tenant()
        key = served.key(tenant, Role.SERVICE)
        variables = os.environ | {"MEMORIST_URL": served.url, "MEMORIST_API_KEY": key, "PORT": str(port)}
        with subprocess.Popen([node, _EXAMPLE], stdout=subprocess.PIPE, env=variables, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline().strip() == address
            try:
                yield served, tenant, address
            finally:
                process.terminate()


def add(page: Page, text: str, category: str) -> None:
    page.get_by_label("Remember").fill(text)
    page.get_by_label("as").select_option(category)
    page.get_by_role("button", name="Add").click()


def test_page_lists_adds_and_deletes_what_is_its_users(built: str, browser: Browser, tmp_path: Path) -> None:
    with site(built, tmp_path) as (served, tenant, address):
        companion = served.core.companion
        companion.add(Principal(tenant, Role.USER, "bob"), "Bob's own.", "goal")  # type: ignore[arg-type]
        page = browser.new_page()
        complaints = Complaints(page)
        page.goto(address)
        add(page, "Vegetarian. No fish.", "preference")
        expect(page.get_by_role("listitem")).to_have_count(1)
        add(page, "Lift deep sleep.", "goal")
        expect(page.get_by_role("listitem")).to_have_count(2)
        page.reload()
        expect(page.get_by_role("listitem")).to_have_count(2)
        page.get_by_label("Delete: Vegetarian. No fish.").click()
        expect(page.get_by_role("listitem")).to_have_text(["Lift deep sleep. (goal) Delete"])
        ada = Principal(tenant, Role.USER, "ada")
        assert [entry.content for entry in companion.list(ada).items] == ["Lift deep sleep."]
        complaints.check()
        assert "mst_live_" not in page.content()

        complaints.expect("401")
        served.core.user_tokens.revoke(Principal(tenant, Role.ADMIN), "ada")
        add(page, "Too late.", "goal")
        expect(page.get_by_role("alert")).to_contain_text("Ask for a new one")
        complaints.check()
        page.close()


def test_page_of_an_origin_that_is_not_allowed_gets_nothing(built: str, browser: Browser, tmp_path: Path) -> None:
    with site(built, tmp_path, allowed=False) as (_, _, address):
        page = browser.new_page()
        page.goto(address)
        expect(page.get_by_role("alert")).to_contain_text("did not answer", timeout=30_000)
        expect(page.get_by_role("listitem")).to_have_count(0)
        page.close()
