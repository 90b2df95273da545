"""One page in every look: light, dark, and on a phone."""

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page

from memorist.platform.values import Role
from tests.dashboard.conftest import People, Person
from tests.support.browser import DESKTOP, PHONE

# The rules of axe that look at colours; a third is off unless it is asked for.
_OF_COLOURS = ("color-contrast", "link-in-text-block")


def check_looks(
    people: People,
    tenant: str,
    path: str = "",
    *,
    person: Person | None = None,
    role: Role = Role.ADMIN,
    user: str | None = "ada",
    ready: str | None = None,
    prepare: Callable[[Page], Any] | None = None,
) -> Person:
    """Open `path` in every look and check what holds for each page: see `check_page`. Returns who looked.

    `ready` is a selector that must be visible before anything is checked; `prepare` gets the page and brings it into
    the state that is to be checked, such as an open dialog. Both are used in every look. `person` looks instead of
    somebody new who is signed in to the tenant.
    """
    person = person or people.sign_in(tenant, role, user)
    page = person.page
    before = page.viewport_size
    for look, viewport in (("light", DESKTOP), ("phone", PHONE)):
        page.set_viewport_size(viewport)
        person.goto(path)
        page.wait_for_load_state("load")
        if ready is not None:
            page.locator(ready).first.wait_for()
        if prepare is not None:
            prepare(page)
        check_page(person, look)
        if look == "light":
            _check_dark(person)
    if before is not None:
        page.set_viewport_size(before)
    return person


def _check_dark(person: Person) -> None:
    """What is shown now, once more in the dark: only the style sheet knows of that, and only colours differ there."""
    person.page.emulate_media(color_scheme="dark")
    check_page(person, "dark", *_OF_COLOURS)
    person.page.emulate_media(color_scheme="light")


def check_page(person: Person, look: str = "now", *rules: str) -> None:
    """What is shown now has one main heading, is not wider than the window, and nobody complained; axe neither, by
    these of its rules, or by all.
    """
    page = person.page
    headings = page.locator("h1").all_inner_texts()
    assert len(headings) == 1, f"{look}: {page.url} has these main headings: {headings}"
    width = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert width[0] <= width[1], f"{look}: {page.url} is {width[0]} wide in a window of {width[1]}: {_widest(page)}"
    try:
        person.check_axe(*rules)
    except AssertionError as finding:
        raise AssertionError(f"{look}: {page.url}: {finding}") from None
    person.complaints.check()


def _widest(page: Page) -> list[str]:
    """What sticks out at the right, for the message."""
    script = """() => [...document.querySelectorAll("body *")]
        .filter((element) => element.getBoundingClientRect().right > innerWidth + 1)
        .slice(0, 8)
        .map((element) => `${element.tagName.toLowerCase()}.${element.className}`)"""
    found: list[str] = page.evaluate(script)
    return found
