"""People and things in the browser: a picture that a keyboard reaches, a list beside it, and what is known of each."""

from playwright.sync_api import expect

from memorist.memories.values import Draft, Governor
from memorist.platform.values import Role
from memorist.testing import new_tenant
from tests.dashboard.conftest import People, Person
from tests.dashboard.sweeps import check_looks
from tests.support.browser import PHONE

FACTS = (
    "Her sister Mia moved to Oslo on 8 May 2027.",
    "She sailed with Mia to Kiel.",
    "She met <script>alert(1)</script> Bob in Kiel.",
)


def tell(person: Person, *contents: str) -> list[str]:
    drafts = [Draft(one, governed_by=Governor.AGENT_TOOLS) for one in contents]
    return [one.memory.id for one in person.core.memories.remember(person.principal, drafts)]


def test_nobody_named_offers_the_next_step(people: People, ada: Person) -> None:
    page = ada.goto("/people")
    expect(page.get_by_role("heading", name="Nobody is named yet")).to_be_visible()
    check_looks(people, ada.principal.tenant, "/people", person=ada)


def test_who_acts_for_everybody_chooses_a_person(people: People, tenant: str) -> None:
    admin = people.sign_in(tenant, Role.ADMIN, None)
    for path in ("/people", "/about"):
        page = admin.goto(path)
        expect(page.get_by_text("This page is about one person.")).to_be_visible()
        page.get_by_role("link", name="Choose a person").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Whose memories")


def test_list_and_picture_lead_to_what_is_known(people: People, ada: Person) -> None:
    ids = tell(ada, *FACTS)
    check_looks(people, ada.principal.tenant, "/people", person=ada, ready=".picture")
    page = ada.goto("/people")
    assert page.locator(".listing li a").all_inner_texts() == ["You", "Kiel", "Mia", "Bob", "Oslo"]
    assert page.locator("main script").count() == 0
    expect(page.locator(".drawing")).to_contain_text("Everybody and everything that 3 facts name.")
    page.locator("svg a").filter(has_text="Mia").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Mia")
    expect(page.locator("main")).to_contain_text("sister · 2 facts")
    known = page.get_by_role("region", name="What is known")
    expect(known.get_by_role("link")).to_have_count(2)
    expect(known.get_by_role("link", name=FACTS[0])).to_have_attribute("href", f"/dashboard/memories/{ids[0]}")
    expect(page.get_by_role("region", name="Timeline")).to_contain_text("2027-05-08")
    check_looks(people, ada.principal.tenant, "/people/one?name=Mia", person=ada, ready=".picture")
    ada.goto("/people/one?name=Mia")
    page.get_by_role("link", name="1 fact that name both Mia and Kiel").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Mia and Kiel")
    expect(page.get_by_role("region", name="What names both").get_by_role("link")).to_have_text([FACTS[1]])


def test_phone_shows_a_picture_of_twenty_whole(people: People, tenant: str) -> None:
    ada = people.sign_in(tenant, viewport=PHONE)
    towns = "Oslo Kiel Bonn Linz Graz Rome Bari Pisa Nice Metz Lyon Brest Porto Faro Cork Bath York Leeds Hull Ghent"
    tell(ada, *(f"She was in {town} in May." for town in towns.split()))
    page = ada.goto("/people")
    expect(page.locator("svg .dot")).to_have_count(21)
    assert page.locator(".picture").evaluate("one => one.scrollWidth <= one.clientWidth")


def test_search_while_typing_shows_neighbours_only(ada: Person) -> None:
    tell(ada, *FACTS)
    page = ada.goto("/people")
    page.get_by_label("Search names").press_sequentially("osl")
    expect(page.locator(".listing li")).to_have_count(1)
    expect(page.locator(".drawing")).to_contain_text("Oslo and its neighbours.")
    assert sorted(page.locator("svg text").all_text_contents()) == ["Mia", "Oslo", "You"]
    expect(page).to_have_url(f"{ada.served.url}/dashboard/people?q=osl")
    page.reload()
    expect(page.locator(".listing li")).to_have_count(1)
    page.get_by_label("Search names").fill("nobody")
    expect(page.get_by_text("No name has that.")).to_be_visible()


def test_many_names_are_drawn_in_part_and_listed_by_pages(people: People, ada: Person) -> None:
    names = [f"Q{chr(97 + first)}{chr(97 + second)}x" for first in range(6) for second in range(20)]
    tell(ada, *(f"She met {name} in Kiel." for name in names))
    page = ada.goto("/people")
    expect(page.locator(".drawing")).to_contain_text("The 50 that most facts name, of 122.")
    expect(page.locator("svg a")).to_have_count(50)
    expect(page.locator(".listing li")).to_have_count(50)
    check_looks(people, ada.principal.tenant, "/people", person=ada, ready=".picture")
    ada.goto("/people")
    page.get_by_role("link", name="After").click()
    page.get_by_role("link", name="After").click()
    expect(page.locator(".listing li")).to_have_count(22)
    page.get_by_role("link", name="Before").click()
    expect(page.locator(".listing li")).to_have_count(50)
    ada.goto("/people/one?name=Kiel")
    expect(page.locator("svg a")).to_have_count(41)
    expect(page.get_by_text("and 81 more")).to_be_visible()


def test_keyboard_alone_reaches_the_list_and_the_picture(ada: Person) -> None:
    tell(ada, *FACTS)
    page = ada.goto("")
    page.keyboard.press("g")
    page.keyboard.press("w")
    page.wait_for_url("**/dashboard/people")
    page.keyboard.press("/")
    expect(page.locator("[data-search]")).to_be_focused()
    for _ in range(3):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.classList.contains('dot')"):
            break
    expect(page.locator("svg a.dot").first).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**/people/one?name=Kiel")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/memories/mem_*")


def test_another_tenant_or_user_sees_no_names(people: People, ada: Person) -> None:
    tell(ada, *FACTS)
    stranger = people.sign_in(new_tenant(), Role.ADMIN, "ada")
    neighbour = people.sign_in(ada.principal.tenant, Role.USER, "bob")
    for other in (stranger, neighbour):
        page = other.goto("/people")
        expect(page.get_by_role("heading", name="Nobody is named yet")).to_be_visible()
        answer = page.request.get(f"{other.served.url}/dashboard/people/one?name=Mia")
        assert answer.status == 404
        assert "Oslo" not in answer.text()


def test_admin_of_everybody_is_told_to_choose_a_person(people: People, tenant: str) -> None:
    admin = people.sign_in(tenant, Role.ADMIN, None)
    page = admin.goto("/people")
    expect(page.get_by_role("heading", name="Nothing to show")).to_be_visible()
