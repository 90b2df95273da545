"""A server with a dashboard, a tenant of the test's own, and a browser that is signed in and may not complain."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Error, Page

from memorist.core import Core
from memorist.memories.values import Draft, Memory
from memorist.platform.values import Principal, Role
from memorist.settings import Settings
from memorist.testing import new_tenant
from tests.http.conftest import Served, serving
from tests.support.browser import DESKTOP, Complaints, browsing

SERIOUS = ("serious", "critical")


@cache
def _axe_script() -> str:
    script: str = Axe().axe_script
    return script


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Gone when these tests are over: while it is there, its event loop counts as running, and no other may be run."""
    with browsing() as browser:
        yield browser


class Desks:
    """Profiles with a page that tests use after one another: a new one costs more than most of what is done on it."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._free: list[Page] = []

    def take(self) -> Page:
        """One as if it were new, but for what the browser keeps of scripts and styles."""
        return self._free.pop() if self._free else self.new()

    def new(self, **options: Any) -> Page:
        context = self._browser.new_context(**({"viewport": DESKTOP} | options))
        context.set_default_timeout(30_000)
        return context.new_page()

    def give_back(self, page: Page) -> None:
        try:
            self._clear(page)
        except Error:
            page.context.close()  # The test left it as nobody else would want it.
        else:
            self._free.append(page)

    def _clear(self, page: Page) -> None:
        """Raises Error where it is not to be used again."""
        if page.is_closed() or len(page.context.pages) > 1:
            raise Error("not the only page, or none")
        page.context.unroute_all(behavior="ignoreErrors")
        page.unroute_all(behavior="ignoreErrors")
        if page.url.startswith("http"):
            page.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
        page.goto("about:blank")
        page.context.clear_cookies()
        page.context.clear_permissions()
        page.mouse.move(0, 0)
        page.set_viewport_size(DESKTOP)
        page.emulate_media(color_scheme="light")
        browser = page.context.new_cdp_session(page)
        browser.send("Page.resetNavigationHistory")
        browser.detach()


@pytest.fixture(scope="package")
def desks(browser: Browser) -> Desks:
    return Desks(browser)


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for all tests, without models: what a page shows does not depend on them."""
    folder: Path = tmp_path_factory.mktemp("dashboard")
    with serving(Settings(data=folder, port=0, embedder="off", reranker="off")) as server:
        yield server


@dataclass
class Person:
    """Somebody who is signed in: their browser, and the core behind it."""

    served: Served
    principal: Principal
    key: str
    context: BrowserContext
    page: Page
    complaints: Complaints
    has_own_profile: bool = False
    """One that nobody uses afterwards: what is done to it, such as another clock, cannot be undone."""

    @property
    def core(self) -> Core:
        return self.served.core

    def goto(self, path: str = "") -> Page:
        """Open a page of the dashboard, and wait until htmx is there."""
        address = f"{self.served.url}/dashboard{path}"
        try:
            self.page.goto(address)
        except Error as error:
            if "ERR_ABORTED" not in error.message:
                raise
            self.page.goto(address)  # A form that was sent just before left the page meanwhile.
        return self.page

    def sign_in_by_form(self) -> None:
        self.goto("/sign-in")
        self.page.get_by_label("API key").fill(self.key)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.wait_for_url(f"{self.served.url}/dashboard")

    def remember(self, *contents: str, **fields: Any) -> list[Memory]:
        drafts = [Draft(content, **fields) for content in contents]
        return [result.memory for result in self.core.memories.remember(self.principal, drafts)]

    def check_axe(self, *rules: str) -> None:
        """No serious finding on what is shown now, by these rules of axe's, or by all."""
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(f"{_axe_script()}\n;0")
        # Of what is no violation there is much, and handing it over takes long.
        options = {"resultTypes": ["violations"]} | ({"runOnly": list(rules)} if rules else {})
        findings = self.page.evaluate("(options) => axe.run(options).then((found) => found.violations)", options)
        serious = [
            f"{finding['id']}: {finding['help']}: {[node['target'] for node in finding['nodes']]}"
            for finding in findings
            if finding["impact"] in SERIOUS
        ]
        assert serious == []


class People:
    """Signs people in, each in a browser profile of their own."""

    def __init__(self, desks: Desks, served: Served) -> None:
        self._desks = desks
        self._served = served
        self._made: list[Person] = []
        self._here: list[Person] = []

    def visit(self, *, served: Served | None = None, **options: Any) -> Person:
        """Somebody who is not signed in. `options` are Playwright's for a browser context: viewport, color_scheme, …"""
        return self._open(served or self._served, Principal("nobody", Role.READER), "", options)

    def sign_in(
        self,
        tenant: str,
        role: Role = Role.ADMIN,
        user: str | None = "ada",
        *,
        served: Served | None = None,
        **options: Any,
    ) -> Person:
        """Somebody with the cookie that signing in gives, and no page open yet.

        `options` are Playwright's for a browser context: viewport, color_scheme, …
        """
        served = served or self._served
        key = served.key(tenant, role, user)
        person = self._open(served, served.core.identity.authenticate(key), key, options)
        person.context.add_cookies(
            [
                {
                    "name": f"memorist_session_{served.url.rpartition(':')[2]}",
                    "value": served.core.sign_ins.sign_in(key),
                    "domain": "127.0.0.1",
                    "path": "/dashboard",
                    "httpOnly": True,
                    "sameSite": "Lax",
                }
            ]
        )
        return person

    def _open(self, served: Served, principal: Principal, key: str, options: dict[str, Any]) -> Person:
        page = self._desks.new(**options) if options else self._desks.take()
        person = Person(served, principal, key, page.context, page, Complaints(page))
        person.has_own_profile = bool(options)
        self._made.append(person)
        self._here.append(person)
        return person

    def check(self) -> None:
        for person in self._made:
            person.complaints.check()

    def close(self) -> None:
        while self._here:
            person = self._here.pop()
            if person.has_own_profile:
                person.context.close()
            else:
                person.complaints.end()
                self._desks.give_back(person.page)


@pytest.fixture
def people(desks: Desks, served: Served) -> Iterator[People]:
    """Everybody that a test signs in. At its end nobody's page may have complained."""
    people = People(desks, served)
    yield people
    people.close()
    people.check()


@pytest.fixture
def tenant() -> str:
    return new_tenant()


@pytest.fixture
def ada(people: People, tenant: str) -> Person:
    """An admin who is also the user ada, at a desk."""
    return people.sign_in(tenant)


@pytest.fixture
def reader(people: People, tenant: str) -> Person:
    """Somebody who may only read."""
    return people.sign_in(tenant, Role.READER, "ada")
