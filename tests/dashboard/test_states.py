"""What every page has: whom one acts for, the palette, a drawer on a phone, and a server that does not answer."""

import contextlib
import re
from typing import Literal
from urllib.parse import quote

from playwright.sync_api import Page, Route, expect

from memorist.memories.values import Draft
from memorist.platform.values import Owner, Principal, Role
from memorist.surfaces.dashboard.rendering import STATIC
from tests.dashboard.conftest import People, Person
from tests.dashboard.sweeps import check_looks
from tests.dashboard.test_memories import rows, shows
from tests.support.browser import PHONE


def fill(ada: Person) -> None:
    for user in ("bob", "bobby", "carl"):
        ada.core.memories.remember(Principal(ada.principal.tenant, Role.USER, user), [Draft(f"{user}'s own")])
    ada.remember("the coder's", owner=Owner("ada", "coder"))
    ada.remember("ada's own")


# Whose memories


def test_admin_finds_a_user_and_acts_for_them(people: People, tenant: str, ada: Person) -> None:
    fill(ada)
    page = ada.goto("/memories")
    expect(page.locator(".acting")).to_have_text("Acting for ada")
    page.get_by_role("link", name="Whose memories: change").click()
    page.get_by_label("User or agent").fill("bob")
    expect(page.locator("#whose-found button .said")).to_have_text(["bob", "bobby"])
    page.get_by_role("button", name="bob 1 memory", exact=True).click()
    page.wait_for_url("**/dashboard/memories")
    shows(page, "bob's own")
    expect(page.locator(".acting")).to_have_text("Acting for bob")
    expect(page.locator(".who-is")).to_have_text(f"UserbobRoleadminTenant{tenant}")
    check_looks(people, tenant, "/whose?q=b", person=ada)


def test_choices_keep_the_page_with_what_was_searched(ada: Person) -> None:
    fill(ada)
    page = ada.goto("/recall?q=own")
    page.get_by_role("button", name="dark", exact=True).click()
    expect(page.get_by_role("button", name="dark", exact=True)).to_have_attribute("aria-pressed", "true")
    expect(page).to_have_url(re.compile(r"/recall\?q=own$"))
    ada.goto("/memories")
    page.get_by_role("searchbox", name="Search", exact=True).fill("own")
    expect(page).to_have_url(re.compile("q=own"))
    page.get_by_role("button", name="Deutsch").click()
    expect(page.locator("h1")).to_have_text("Erinnerungen")
    expect(page).to_have_url(re.compile("q=own"))
    page.get_by_role("button", name="English").click()
    page.get_by_role("link", name="Whose memories: change").click()
    page.get_by_role("button", name="bob 1 memory", exact=True).click()
    expect(page).to_have_url(re.compile("memories.*q=own"))
    shows(page, "bob's own")


def test_whom_one_acts_for_is_changed_on_a_page_of_something_of_theirs(ada: Person) -> None:
    (memory,) = ada.remember("ada's own")
    for path, back in (
        (f"/memories/{memory.id}", "/memories"),
        ("/conversations/read?session=planning", "/conversations"),
        ("/about?person=Mia", "/about"),
        ("/activity/usage", "/activity/usage"),
        ("/memories/new", "/memories/new"),
        ("/memories?q=tea&cursor=x", "/memories?q=tea"),
    ):
        page = ada.goto(f"/whose?q=bob&back={quote('/dashboard' + path)}")
        page.get_by_role("button", name="bob a new user").click()
        page.wait_for_url(f"{ada.served.url}/dashboard{back}")
        expect(page.locator(".acting")).to_have_text("Acting for bob")


def test_admin_acts_for_an_agent_of_a_user(ada: Person) -> None:
    fill(ada)
    page = ada.goto("/whose?q=coder&back=/dashboard/memories")
    page.get_by_role("button", name="ada with the agent coder").click()
    expect(page.locator(".acting")).to_have_text("Acting for ada with coder")
    shows(page, "ada's own", "the coder's")
    ada.goto("/whose?q=nobody")
    expect(page.get_by_text("Nobody of that name has memories.")).to_be_visible()
    ada.goto("/whose")
    expect(page.locator("#whose-found .said").filter(has_text="ada").filter(has_not_text="agent")).to_have_count(1)
    page.get_by_role("button", name="ada yourself").click()
    expect(page.locator(".acting")).to_have_text("Acting for ada")


def test_others_choose_nobody(reader: Person) -> None:
    page = reader.goto()
    expect(page.get_by_role("link", name="Whose memories")).to_have_count(0)
    reader.complaints.expect("403")
    reader.goto("/whose")
    expect(page.get_by_role("alert").last).to_contain_text("Only an admin key does that.")


# The palette


def test_palette_opens_pages_and_memories_by_keyboard(people: People, tenant: str, ada: Person) -> None:
    ada.remember("The workshop opens in May.")
    page = ada.goto()
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Go to, do or find")
    expect(palette.get_by_role("link", name="Erase everything about me")).to_be_visible()
    page.keyboard.type("workshop")
    expect(palette.get_by_role("link", name="The workshop opens in May.")).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/dashboard/memories/mem_*")
    page.keyboard.press("Control+k")
    page.keyboard.type("audi")
    expect(palette.get_by_role("link", name="Audit log")).to_be_visible()
    page.keyboard.press("Enter")
    page.wait_for_url("**/dashboard/audit")

    def open_palette(page: Page) -> None:
        page.keyboard.press("Control+k")
        palette.get_by_role("link", name="Home").wait_for()

    check_looks(people, tenant, "/memories", person=ada, prepare=open_palette)


# A phone


def test_phone_reaches_everything_by_a_drawer(people: People, tenant: str) -> None:
    ada = people.sign_in(tenant, viewport=PHONE)
    page = ada.goto()
    expect(page.locator(".acting")).to_be_in_viewport()
    expect(page.get_by_role("link", name="Privacy")).to_be_hidden()
    page.get_by_role("button", name="Menu").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    expect(page.get_by_role("link", name="Whose memories: change")).to_be_visible()
    ada.check_axe()
    cut = "[...document.querySelectorAll('#menu a, #menu button')].filter(one => one.scrollWidth > one.clientWidth + 1)"
    assert page.evaluate(f"{cut}.length") == 0
    page.get_by_role("link", name="Privacy").click()
    page.wait_for_url("**/dashboard/privacy")
    page.get_by_role("button", name="Menu").click()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Sign out")).to_be_hidden()


# A server that does not answer


def no_answer(route: Route) -> None:
    route.abort("connectionrefused")


def test_search_without_an_answer_keeps_what_was_typed(ada: Person) -> None:
    ada.complaints.expect("ERR_CONNECTION_REFUSED", "sendError", "htmx")
    ada.remember("likes tea", "likes coffee")
    page = ada.goto("/memories")
    page.context.route(re.compile("dashboard|healthz"), no_answer)
    page.get_by_label("Search").fill("tea")
    banner = page.get_by_text("The server does not answer.")
    expect(banner).to_be_visible()
    expect(page.get_by_text("from before: the server does not answer")).to_be_visible()
    expect(rows(page)).to_have_count(2)
    expect(page.get_by_label("Search")).to_have_value("tea")
    below = "document.querySelector('#away').getBoundingClientRect().bottom <= q.getBoundingClientRect().top"
    assert page.evaluate(below), "The banner covers what was typed."
    ada.check_axe()
    page.context.unroute(re.compile("dashboard|healthz"))
    page.get_by_role("button", name="Try again").press("Enter")
    shows(page, "likes tea")
    expect(banner).to_be_hidden()
    expect(page.get_by_label("Search")).to_be_focused()


def try_again(ada: Person, path: str, label: str, text: str, role: Literal["button", "link"], name: str) -> Page:
    """Type something and press something while no server answers; what was typed stays. Then the server answers."""
    ada.complaints.expect("ERR_CONNECTION_REFUSED")
    page = ada.goto(path)
    page.context.route(re.compile("healthz"), no_answer)
    page.get_by_label(label).fill(text)
    page.get_by_role(role, name=name).click()
    expect(page.get_by_text("The server does not answer.")).to_be_visible()
    expect(page.get_by_label(label)).to_have_value(text)
    page.context.unroute(re.compile("healthz"))
    page.get_by_role("button", name="Try again").click()
    return page


def test_form_without_an_answer_keeps_what_was_typed(ada: Person) -> None:
    page = try_again(ada, "", "A fact that should not be forgotten", "Not lost.", "button", "Remember")
    expect(page.locator("#remember").get_by_role("status")).to_contain_text("Not lost.")


def test_link_without_an_answer_keeps_what_was_typed(ada: Person) -> None:
    page = try_again(ada, "/memories/new", "Text", "Not lost.", "link", "Privacy")
    page.wait_for_url("**/dashboard/privacy")


def asked_again(page: Page, what: str) -> None:
    """Press until the page has seen that the server is back: on a busy machine that may take it too long once."""
    for _ in range(5):
        # No click, for which it would have to stand still: the page may see that by itself.
        page.locator("[data-retry]").dispatch_event("click")
        with contextlib.suppress(AssertionError):
            expect(page.locator("#found li.memory .clip")).to_contain_text([what], timeout=6000)
            break


def test_what_was_given_up_is_not_done_with_a_later_try(ada: Person) -> None:
    ada.complaints.expect("ERR_CONNECTION_REFUSED", "sendError", "htmx")
    ada.remember("likes tea", "likes coffee")
    page = ada.goto("/memories")
    banner = page.get_by_text("The server does not answer.")
    away = re.compile("dashboard|healthz")
    page.context.route(away, no_answer)
    page.get_by_label("Search").fill("tea")
    expect(banner).to_be_visible()
    with page.expect_event("requestfailed", lambda request: "healthz" in request.url):
        page.get_by_role("link", name="Privacy").click()
    page.context.unroute(away)
    page.get_by_label("Search").fill("coffee")
    expect(banner).to_be_hidden()
    shows(page, "likes coffee")
    page.context.route(away, no_answer)
    with page.expect_event("requestfailed", lambda request: "tea" in request.url):
        page.get_by_label("Search").fill("tea")
    expect(banner).to_be_visible()
    page.context.unroute(away)
    asked_again(page, "tea")
    shows(page, "likes tea")
    expect(page).to_have_url(re.compile("/dashboard/memories"))


def test_answer_that_was_asked_for_before_gives_up_nothing(ada: Person) -> None:
    ada.complaints.expect("ERR_CONNECTION_REFUSED", "sendError", "htmx")
    ada.remember("likes tea", "likes coffee")
    page = ada.goto("/memories")
    held: list[Route] = []
    page.context.route(re.compile("meaning"), lambda route: route.fallback() if held else held.append(route))
    with page.expect_request(re.compile("meaning")):
        page.get_by_label("Search").fill("coffee")
    shows(page, "likes coffee")
    page.context.route(re.compile("dashboard|healthz"), no_answer)
    with page.expect_event("requestfailed", lambda request: "q=tea" in request.url):
        page.get_by_label("Search").fill("tea")
    banner = page.get_by_text("The server does not answer.")
    expect(banner).to_be_visible()
    page.context.unroute(re.compile("dashboard|healthz"))
    with page.expect_response(re.compile("meaning")):
        held[0].continue_()
    expect(page.locator("#by-meaning .coming")).to_have_count(0)
    expect(banner).to_be_visible()
    asked_again(page, "tea")
    shows(page, "likes tea")
    expect(banner).to_be_hidden()


def test_what_a_page_loads_by_itself_gives_up_nothing(ada: Person) -> None:
    ada.complaints.expect("ERR_CONNECTION_REFUSED", "sendError", "htmx")
    ada.remember("likes tea", "likes coffee")
    page = ada.goto("/memories?q=coffee")
    shows(page, "likes coffee")
    expect(page.locator("#by-meaning .coming")).to_have_count(0)
    page.context.route(re.compile("dashboard|healthz"), no_answer)
    with page.expect_event("requestfailed", lambda request: "q=tea" in request.url):
        page.get_by_label("Search").fill("tea")
    banner = page.get_by_text("The server does not answer.")
    expect(banner).to_be_visible()
    page.context.unroute(re.compile("dashboard|healthz"))
    # As on a busy machine, where what is to follow the list comes only now.
    page.evaluate("htmx.ajax('get', '/dashboard/memories/meaning?q=coffee', {source: '#by-meaning'})")
    expect(banner).to_be_visible()
    asked_again(page, "tea")
    shows(page, "likes tea")
    expect(banner).to_be_hidden()


def test_question_without_an_answer_is_asked_again(ada: Person) -> None:
    page = try_again(ada, "/activity", "Who", "ada", "button", "Show")
    page.wait_for_url("**/dashboard/activity?*who=ada*")


def test_form_that_is_too_large_stays_with_what_was_typed(ada: Person) -> None:
    page = ada.goto("/memories/new?as=fact")
    page.locator("#body").fill("ж" * 180_000)
    page.get_by_role("button", name="Remember").click()
    expect(page.locator("#toasts")).to_contain_text("more than the server takes in one form")
    assert page.url.endswith("/memories/new?as=fact")
    assert len(page.locator("#body").input_value()) == 180_000


def test_slow_page_shows_that_it_comes(ada: Person) -> None:
    ada.has_own_profile = True
    ada.page.clock.install()
    page = ada.goto()
    # The page never comes: nothing of the browser waits for it.
    page.evaluate("addEventListener('click', (event) => event.preventDefault())")
    page.get_by_role("link", name="Privacy").click()
    page.clock.run_for(300)
    expect(page.locator("main.waiting")).to_have_count(0)
    page.clock.run_for(200)
    expect(page.locator("main.waiting")).to_have_count(1)
    page.evaluate("dispatchEvent(new Event('pageshow'))")
    expect(page.locator("main.waiting")).to_have_count(0)


def test_scripts_stay_small() -> None:
    ours = [path for path in STATIC.rglob("*.js") if path.name != "htmx.min.js"]
    assert sum(path.stat().st_size for path in ours) <= 40_000
