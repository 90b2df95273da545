"""Signing in and out with a browser: by key and by link, sessions that end, tenants and servers side by side."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Page, expect

from memorist.platform.values import Role
from memorist.settings import Settings
from memorist.testing import new_tenant
from memorist.testing.clocks import FrozenClock
from memorist.times import SystemClock
from tests.dashboard.conftest import People, Person
from tests.dashboard.sweeps import check_looks, check_page
from tests.http.conftest import Served, serving

PAGES = ("", "/about", "/memories", "/recall", "/turns", "/doubts", "/privacy", "/access", "/system")
DARK = "rgb(20, 22, 26)"


@pytest.fixture(scope="module")
def clock() -> FrozenClock:
    # From now on, because the browser forgets cookies by its own clock.
    return FrozenClock(SystemClock().now())


@pytest.fixture(scope="module")
def timed(tmp_path_factory: pytest.TempPathFactory, clock: FrozenClock) -> Iterator[Served]:
    """A server of its own, whose time the test moves."""
    settings = Settings(data=tmp_path_factory.mktemp("timed"), port=0, embedder="off", reranker="off", session_hours=2)
    with serving(settings, clock=clock) as server:
        yield server


@pytest.fixture
def ada(people: People, tenant: str) -> Person:
    """Signed in as people are: by the form."""
    person = people.sign_in(tenant)
    person.context.clear_cookies()
    person.sign_in_by_form()
    return person


def who(page: Page) -> str:
    """Whom the menu names: user, role and tenant."""
    return " · ".join(page.locator(".who-is dd").all_inner_texts())


def act_for(page: Page, label: str) -> None:
    page.get_by_role("link", name="Whose memories: change").click()
    page.get_by_role("button", name=label).click()


# Coming and going


def test_key_signs_in_and_sign_out_ends_it(ada: Person) -> None:
    page = ada.goto()
    assert page.get_by_role("navigation", name="Pages").get_by_role("link").count() == 16
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/dashboard/sign-in")
    ada.goto("/memories")
    assert page.url.endswith("/dashboard/sign-in?back=%2Fdashboard%2Fmemories")
    assert ada.context.cookies(f"{ada.served.url}/dashboard/sign-in") == [
        cookie for cookie in ada.context.cookies() if "session" not in cookie["name"]
    ]


def test_who_is_signed_in_already_need_not_again(ada: Person) -> None:
    page = ada.goto("/sign-in")
    assert page.url.endswith("/dashboard")


def test_sign_in_leads_to_the_page_that_was_wanted(people: People, ada: Person) -> None:
    nobody = people.visit()
    page = nobody.goto("/recall/compare?q=tea+%26+cake&r.rerank=off")
    nobody.complaints.expect("401")
    for key in ("mst_live_wrong", ada.key):
        page.get_by_label("API key").fill(key)
        page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/dashboard/recall/compare?q=tea+%26+cake&r.rerank=off")


def test_sign_in_leads_to_no_other_site(ada: Person) -> None:
    for back in ("https://evil.example", "//evil.example", "/dashboard//evil.example", "%2F%2Fevil.example"):
        address = f"{ada.served.url}/dashboard/sign-in?back={back}"
        answer = httpx2.post(address, data={"key": ada.key})
        assert (answer.status_code, answer.headers["location"]) == (303, "/dashboard")


def test_wrong_key_is_told_and_nothing_of_it_is_shown(people: People, tenant: str) -> None:
    person = people.visit()
    person.complaints.expect("401")
    page = person.goto("/sign-in")
    page.get_by_label("API key").fill("mst_live_not_a_key")
    page.get_by_role("button", name="Sign in").click()
    # In words for a person, who sends no headers.
    assert "Check that you copied all of it: a key begins with mst_live_." in page.get_by_role("alert").inner_text()
    assert "Authorization" not in page.content()
    assert "not_a_key" not in page.content()
    check_page(person)
    page.get_by_label("API key").fill(person.served.key(tenant, Role.USER, "ada"))
    page.keyboard.press("Enter")
    page.wait_for_url("**/dashboard")
    assert who(page).startswith("ada · user")


def test_sign_in_page_looks_right_everywhere(people: People, tenant: str) -> None:
    check_looks(people, tenant, "/sign-in", person=people.visit())


def test_start_page_leads_to_the_dashboard(ada: Person) -> None:
    for path in ("/", "/dashboard/"):
        ada.page.goto(f"{ada.served.url}{path}")
        assert ada.page.url == f"{ada.served.url}/dashboard"


def test_page_that_is_not_there_says_so(ada: Person) -> None:
    ada.complaints.expect("404")
    page = ada.goto("/nothing")
    assert "no such page" in page.get_by_role("alert").inner_text()
    check_page(ada)
    assert page.get_by_role("link", name="Sign in").count() == 0
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Memories").click()
    page.wait_for_url("**/dashboard/memories")


def test_page_that_is_not_there_leads_strangers_to_sign_in(people: People) -> None:
    stranger = people.visit()
    stranger.complaints.expect("404")
    page = stranger.goto("/nothing")
    assert "no such page" in page.get_by_role("alert").inner_text()
    assert page.get_by_role("navigation").count() == 0
    page.get_by_role("link", name="Sign in").click()
    page.wait_for_url("**/dashboard/sign-in")


# Links


def test_link_works_once(people: People, ada: Person) -> None:
    token = ada.core.sign_ins.make_link(ada.principal)
    other = people.visit()
    page = other.goto(f"/enter?link={token}")
    assert page.url.endswith("/dashboard")
    assert ada.principal.tenant in who(page)
    # Who is signed in by it stays so, and need not again.
    assert other.goto(f"/enter?link={token}").url.endswith("/dashboard")
    assert ada.principal.tenant in who(other.goto())
    third = people.visit()
    third.complaints.expect("401")
    assert "over" in third.goto(f"/enter?link={token}").get_by_role("alert").inner_text()


def test_link_of_another_tenant_takes_over_and_its_choices_do_not_stay(people: People, ada: Person) -> None:
    page = ada.goto()
    act_for(page, "Everybody")
    expect(page.locator(".acting")).to_contain_text("everybody")
    other = people.sign_in(new_tenant(), user="zoe")
    ada.goto(f"/enter?link={other.core.sign_ins.make_link(other.principal)}")
    assert who(page).startswith("zoe")
    assert other.principal.tenant in who(page)


def test_link_on_somebody_elses_page_does_not_sign_in(people: People, ada: Person, served: Served) -> None:
    """Or that page would sign a visitor in to an account that its author reads."""
    token = ada.core.sign_ins.make_link(ada.principal)
    victim = people.visit()
    victim.complaints.expect("403")
    # Another name of this machine is another site.
    elsewhere = served.url.replace("127.0.0.1", "localhost")
    victim.page.goto(f"{elsewhere}/docs")
    victim.page.evaluate(f"location.href = '{served.url}/dashboard/enter?link={token}'")
    victim.page.get_by_role("alert").wait_for()
    assert "Another page" in victim.page.get_by_role("alert").inner_text()
    # By hand it still works.
    assert victim.goto(f"/enter?link={token}").url.endswith("/dashboard")


# Sessions that end


def test_expired_session_leads_to_sign_in(people: People, timed: Served, clock: FrozenClock) -> None:
    person = people.sign_in(new_tenant(), served=timed)
    clock.advance(timedelta(hours=1, minutes=59))
    assert person.goto("/memories").url.endswith("/memories")
    clock.advance(timedelta(minutes=1))
    for path in PAGES:
        expect(person.goto(path).get_by_label("API key")).to_be_visible()


def test_htmx_leads_to_sign_in_when_the_session_ends_under_it(
    people: People, timed: Served, clock: FrozenClock
) -> None:
    person = people.sign_in(new_tenant(), served=timed)
    page = person.goto("/memories")
    clock.advance(timedelta(hours=3))
    person.complaints.expect("401")
    page.evaluate("htmx.ajax('GET', '/dashboard/memories', {target: '#main'})")
    page.wait_for_url("**/dashboard/sign-in?back=%2Fdashboard%2Fmemories")


def test_form_of_a_session_that_ended_leads_to_sign_in(people: People, timed: Served, clock: FrozenClock) -> None:
    person = people.sign_in(new_tenant(), served=timed)
    page = person.goto()
    clock.advance(timedelta(hours=3))
    page.get_by_role("button", name="dark", exact=True).click()
    page.wait_for_url("**/dashboard/sign-in")


def test_revoked_key_ends_the_session(ada: Person) -> None:
    assert ada.principal.key_id is not None
    ada.core.identity.revoke_key(ada.principal, ada.principal.key_id)
    expect(ada.goto("/memories").get_by_label("API key")).to_be_visible()


# Side by side


def test_two_tenants_side_by_side_see_their_own(people: People) -> None:
    persons = [people.sign_in(new_tenant(), user=user) for user in ("ada", "bob")]
    for person in (*persons, *persons):
        for path in PAGES:
            text = person.goto(path).locator("body").inner_text()
            assert person.principal.tenant in text
            assert all(other.principal.tenant not in text for other in persons if other is not person)


def test_second_tenant_in_one_browser_replaces_the_first(ada: Person) -> None:
    page = ada.goto()
    page.get_by_role("button", name="Sign out").click()
    second = new_tenant()
    page.get_by_label("API key").fill(ada.served.key(second, Role.ADMIN, "bob"))
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/dashboard")
    assert second in who(page)
    assert ada.principal.tenant not in page.locator("body").inner_text()


def test_two_servers_on_one_machine_do_not_sign_each_other_out(ada: Person, tmp_path: Path) -> None:
    with serving(Settings(data=tmp_path, port=0, embedder="off", reranker="off")) as second:
        tenant = new_tenant()
        page = ada.page
        page.goto(f"{second.url}/dashboard")
        page.get_by_label("API key").fill(second.key(tenant, Role.ADMIN, "bob"))
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(f"{second.url}/dashboard")
        act_for(page, "Everybody")
        expect(page.locator(".acting")).to_contain_text("everybody")
        ada.goto()
        assert who(page).startswith("ada")
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_url("**/dashboard/sign-in")
        page.goto(f"{second.url}/dashboard")
        assert tenant in who(page)


# Choices


def test_admin_chooses_whose_memories_it_looks_at(ada: Person) -> None:
    page = ada.goto("/memories")
    assert who(page).startswith("ada · admin")
    act_for(page, "Everybody")
    expect(page.locator(".acting")).to_contain_text("everybody")
    assert page.url.endswith("/dashboard/memories")
    act_for(page, "ada yourself")
    expect(page.locator(".acting")).to_contain_text("ada")


def test_page_writes_for_nobody_but_whom_it_was_shown_for(ada: Person) -> None:
    ada.remember("there is something")
    page, other = ada.goto(), ada.context.new_page()
    page.get_by_label("A fact that should not").fill("ada's alone")
    other.goto(f"{ada.served.url}/dashboard")
    act_for(other, "Everybody")
    expect(other.locator(".acting")).to_contain_text("everybody")
    ada.complaints.expect("409")
    page.get_by_role("button", name="Remember").click()
    expect(page.get_by_role("alert")).to_contain_text("you chose to act for somebody else than this page was for")
    assert len(ada.core.memories.list(ada.principal).items) == 1
    act_for(other, "ada yourself")
    expect(other.locator(".acting")).to_contain_text("ada")
    other.close()
    page.go_back()
    expect(page.locator(".acting")).to_contain_text("ada")
    expect(page.get_by_label("A fact that should not")).to_have_value("ada's alone")
    page.get_by_role("button", name="Remember").click()
    expect(page.get_by_text("Remembered:")).to_be_visible()
    stored = ada.core.memories.list(ada.principal).items[0]
    assert (stored.content, stored.owner.user) == ("ada's alone", "ada")


def test_file_and_parts_of_a_page_for_somebody_else_are_refused_and_choices_are_not(ada: Person) -> None:
    (memory,) = ada.remember("ada's alone")
    page, other = ada.goto("/memories"), ada.context.new_page()
    other.goto(f"{ada.served.url}/dashboard/documents")
    act_for(other, "Everybody")
    expect(other.locator(".acting")).to_contain_text("everybody")
    page.locator("[data-selectable]").check()
    page.get_by_role("button", name="Archive").click()
    expect(page.locator("#toasts")).to_contain_text("somebody else than this page was for")
    assert ada.core.memories.get(ada.principal, memory.id).status == "active"
    token = other.locator("#drop").get_attribute("data-csrf") or ""
    act_for(other, "ada yourself")
    expect(other.locator(".acting")).to_contain_text("ada")
    headers = {"X-CSRF-Token": token, "Content-Type": "application/octet-stream"}
    address = f"{ada.served.url}/dashboard/documents/upload?name=guide.txt"
    assert other.request.post(address, headers=headers, data=b"for everybody").status == 409
    act_for(other, "Everybody")
    expect(other.locator(".acting")).to_contain_text("everybody")
    other.close()
    page.get_by_role("button", name="dark").click()
    expect(page.locator(".acting")).to_contain_text("everybody")


def test_admin_of_nobody_looks_at_everybody(people: People, tenant: str) -> None:
    page = people.sign_in(tenant, user=None).goto()
    assert who(page).startswith("everybody · admin")


def test_theme_is_kept(people: People, tenant: str) -> None:
    person = people.sign_in(tenant, color_scheme="light")
    page = person.goto("/memories")
    assert _background(page) != DARK
    page.get_by_role("button", name="dark", exact=True).click()
    expect(page.get_by_role("button", name="dark", exact=True)).to_have_attribute("aria-pressed", "true")
    assert page.url.endswith("/dashboard/memories")
    for path in PAGES:
        assert _background(person.goto(path)) == DARK
    assert page.get_by_role("button", name="dark", exact=True).get_attribute("aria-pressed") == "true"
    # It is the machine's, not the session's.
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/sign-in")
    assert _background(page) == DARK


# Keyboard


def test_everything_to_get_around_is_on_the_keyboard(people: People, tenant: str) -> None:
    person = people.visit()
    page = person.goto("/sign-in")
    expect(page.get_by_label("API key")).to_be_focused()
    page.keyboard.type(person.served.key(tenant, Role.ADMIN, "ada"))
    page.keyboard.press("Enter")
    page.wait_for_url("**/dashboard")

    page.keyboard.press("Tab")
    assert _focused(page) == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"

    for key, path in zip("hymrtdpas", PAGES, strict=True):
        page.keyboard.press("Escape")  # Out of a field that a page begins in.
        page.keyboard.press("g")
        page.keyboard.press(key)
        page.wait_for_url(f"**/dashboard{path}")
        current = page.get_by_role("navigation", name="Pages").locator('[aria-current="page"]')
        assert current.count() == 1

    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keyboard")
    dialog.wait_for()
    person.check_axe()
    # Keys of the page do nothing behind it.
    page.keyboard.press("g")
    page.keyboard.press("h")
    page.keyboard.press("Escape")
    dialog.wait_for(state="hidden")
    assert page.url.endswith("/system")

    page.get_by_role("button", name="Sign out").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/sign-in")


def test_slash_goes_to_the_search(ada: Person) -> None:
    page = ada.goto("/memories")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.matches('[data-search]')")
    page.keyboard.type("/g?")
    assert page.locator("[data-search]").input_value() == "/g?"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement === document.body")


def _focused(page: Page) -> str:
    text: str = page.evaluate("document.activeElement.innerText")
    return text


def _background(page: Page) -> str:
    colour: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return colour
