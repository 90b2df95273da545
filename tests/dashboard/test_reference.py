"""The reference in a browser: found, read and tried, by keyboard too; a key stays in the tab."""

import pytest
from playwright.sync_api import Page, expect

from memorist.platform.values import Role
from tests.dashboard.conftest import People, Person
from tests.dashboard.sweeps import check_looks
from tests.support.browser import PHONE


@pytest.fixture
def visitor(people: People) -> Person:
    return people.visit()


def open_reference(person: Person, path: str = "") -> Page:
    person.page.goto(f"{person.served.url}/docs{path}")
    return person.page


def test_calls_are_listed_by_api_and_found_by_keyboard(visitor: Person) -> None:
    page = open_reference(visitor)
    assert page.get_by_role("heading", level=2).all_inner_texts()[:5] == [
        "Profile memory",
        "Agent tools",
        "Companion",
        "Coding assistant",
        "Lifecycle",
    ]
    page.keyboard.press("/")
    page.keyboard.type("post records/recall")
    expect(page.get_by_role("status")).to_have_text("1 found")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Recall")
    expect(page.get_by_role("region", name="Examples")).to_contain_text(f"{visitor.served.url}/v1/records/recall")


def test_call_is_tried_by_keyboard_and_the_key_stays_in_the_tab(visitor: Person, tenant: str) -> None:
    key = visitor.served.key(tenant, Role.USER, "ada")
    addresses: list[str] = []
    visitor.page.on("request", lambda request: addresses.append(request.url))
    page = open_reference(visitor, "/post-v1-memories")
    page.get_by_label("API key").focus()
    page.keyboard.type(key)
    page.keyboard.press("Enter")
    expect(page.locator("[data-status]")).to_contain_text("201 Created")
    expect(page.get_by_label("Answer")).to_contain_text('"name": "deploy_day"')

    page = open_reference(visitor, "/get-v1-memories")
    expect(page.get_by_label("API key")).to_have_value(key)
    page.get_by_label("limit").fill("1")
    page.get_by_role("button", name="Send GET").click()
    expect(page.get_by_label("Answer")).to_contain_text('"has_more": false')
    assert any(address.endswith("/v1/memories?limit=1") for address in addresses)
    assert not [address for address in addresses if key in address]
    assert [cookie for cookie in visitor.context.cookies() if key in str(cookie)] == []
    assert page.evaluate("localStorage.length") == 0

    page.get_by_role("button", name="Forget it now").click()
    assert page.evaluate("sessionStorage.length") == 0
    expect(page.get_by_label("API key")).to_have_value("")


def test_what_is_one_of_a_few_is_chosen(visitor: Person, tenant: str) -> None:
    addresses: list[str] = []
    visitor.page.on("request", lambda request: addresses.append(request.url))
    page = open_reference(visitor, "/get-v1-memory")
    page.get_by_label("API key").fill(visitor.served.key(tenant, Role.USER, "ada"))
    category = page.get_by_label("category")
    assert category.locator("option").all_inner_texts()[:3] == ["", "goal", "insight"]
    category.select_option("goal")
    page.get_by_role("button", name="Send GET").click()
    expect(page.locator("[data-status]")).to_contain_text("200")
    assert any(address.endswith("/v1/memory?category=goal") for address in addresses)
    visitor.check_axe()


def test_refusal_is_shown_as_it_is(visitor: Person) -> None:
    visitor.complaints.expect("401")
    page = open_reference(visitor, "/get-v1-principal")
    page.get_by_label("API key").fill("mst_live_wrong")
    page.get_by_role("button", name="Send GET").click()
    expect(page.locator("[data-status]")).to_contain_text("401")
    expect(page.get_by_label("Answer")).to_contain_text('"code": "unauthenticated"')


def test_stream_is_shown_while_it_lasts_and_can_be_stopped(visitor: Person, tenant: str) -> None:
    page = open_reference(visitor, "/get-v1-events-stream")
    page.get_by_label("API key").fill(visitor.served.key(tenant, Role.USER, "ada"))
    page.get_by_role("button", name="Send GET").click()
    expect(page.locator("[data-status]")).to_contain_text("200")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("[data-status]")).to_contain_text("stopped")


def test_what_removes_is_confirmed_first(visitor: Person, tenant: str) -> None:
    page = open_reference(visitor, "/delete-memory-user-purge")
    page.get_by_label("API key").fill(visitor.served.key(tenant, Role.USER, "ada"))
    page.get_by_role("button", name="Send DELETE").click()
    expect(page.locator("[data-status]")).to_be_empty()
    page.get_by_label("I know that this removes").check()
    page.get_by_role("button", name="Send DELETE").click()
    expect(page.locator("[data-status]")).to_contain_text("200")


def test_without_scripts_there_are_examples_and_no_form(people: People) -> None:
    page = open_reference(people.visit(java_script_enabled=False), "/post-v1-memories")
    expect(page.get_by_role("region", name="Examples")).to_contain_text("curl")
    expect(page.get_by_label("API key")).to_be_hidden()


def test_phone_reads_first_and_has_the_index_in_a_drawer(people: People) -> None:
    page = open_reference(people.visit(viewport=PHONE))
    expect(page.get_by_role("heading", level=1)).to_be_in_viewport()
    expect(page.get_by_role("link", name="Lifecycle", exact=True)).to_be_hidden()
    page.get_by_role("button", name="Menu").click()
    page.get_by_role("link", name="Retention", exact=True).click()
    expect(page.get_by_role("heading", name="Retention", exact=True)).to_be_in_viewport()
    expect(page.get_by_role("link", name="Lifecycle", exact=True)).to_be_hidden()
    page.get_by_role("button", name="Menu").click()
    page.locator("#menu").get_by_role("link", name="Errors").click()
    page.wait_for_url("**/docs/errors")


@pytest.mark.parametrize("path", ["", "/errors", "/patch-v1-memories-memory_id"])
def test_reference_in_every_look(people: People, visitor: Person, tenant: str, path: str) -> None:
    check_looks(people, tenant, f"/../docs{path}", person=visitor, ready="h1")
