"""What is known of a person, in the browser: by topic, with its changes and doubts; hostile texts stay texts."""

from playwright.sync_api import expect

from memorist.memories.values import Draft, Governor
from memorist.platform.values import Role
from memorist.testing import make_doubt
from tests.dashboard.conftest import People, Person
from tests.dashboard.sweeps import check_looks

HOSTILE = '<script>document.title = "taken"</script> </main> ' + "w" * 2000


def tell(person: Person, content: str, topic: str, about: str = "") -> str:
    meta = {"topic": topic} | ({"about": about} if about else {})
    draft = Draft(content, meta=meta, governed_by=Governor.AGENT_TOOLS)
    return person.core.facts.remember_all(person.principal, [draft])[0].memory.id


def test_nothing_known_offers_the_next_step(ada: Person, reader: Person, people: People, tenant: str) -> None:
    for path in ("/about", "/people"):
        page = reader.goto(path)
        expect(page.get_by_role("heading", name="yet")).to_be_visible()
        expect(page.get_by_role("link", name="Write one down")).to_have_count(0)
    page = ada.goto("/people")
    expect(page.get_by_role("link", name="Write one down")).to_be_visible()
    page = ada.goto("/about")
    expect(page.get_by_role("heading", name="Nothing is known yet")).to_be_visible()
    expect(page.get_by_role("link", name="Write one down")).to_have_attribute("href", "/dashboard/memories/new")
    check_looks(people, tenant, "/about", person=ada)


def test_facts_stand_under_their_topics_and_lead_to_the_memory(ada: Person, people: People, tenant: str) -> None:
    home = tell(ada, "Ada lives in Kiel with her sister Mia.", "home")
    tell(ada, "Bob likes tea.", "taste", "Bob")
    tell(ada, HOSTILE, "work")
    for number in range(7):
        tell(ada, f"Ada owns boat {number}.", "possession")
    tell(ada, "Ada sailed to Oslo on 8 May 2027.", "event")
    page = ada.goto("/about")
    assert page.locator(".person h2").all_inner_texts() == ["You 10 facts", "Bob 1 fact"]
    headings = page.locator(".person").first.locator("h3").all_inner_texts()
    assert headings == ["Home", "Work", "Possessions", "Timeline"]
    expect(page.get_by_role("link", name="Ada lives in Kiel")).to_have_attribute("href", f"/dashboard/memories/{home}")
    expect(page.get_by_text("and 2 more")).to_be_visible()
    expect(page.get_by_text("2027-05-08")).to_be_visible()
    assert page.title() == "What is known · Memorist"
    check_looks(people, tenant, "/about", person=ada)
    page.get_by_role("link", name="Show all lines").click()
    expect(page.get_by_text("boat 0")).to_be_visible()
    page.get_by_role("link", name="Mia", exact=True).click()
    expect(page.get_by_role("heading", name="What is known of Mia")).to_be_visible()
    expect(page.get_by_text("boat 0")).to_have_count(0)


def test_doubts_are_shown_with_the_way_to_decide(ada: Person) -> None:
    older, newer = ada.remember("Ada smokes.", "Ada stopped smoking.")
    doubt = make_doubt(newer, older, reason="One may have ended.", judge="local")
    ada.core.store.write(ada.principal.tenant, lambda tx: tx.facts.insert_doubt(doubt))
    page = ada.goto("/about")
    expect(page.get_by_role("heading", name="In doubt")).to_be_visible()
    expect(page.get_by_role("link", name="Decide")).to_have_attribute("href", "/dashboard/doubts")


def test_key_opens_the_page_and_unknown_people_are_told(ada: Person) -> None:
    page = ada.goto("")
    page.keyboard.press("g")
    page.keyboard.press("y")
    page.wait_for_url("**/dashboard/about")
    ada.complaints.expect("404")
    answer = page.goto(f"{page.url}?person=Zoe")
    assert answer is not None
    assert answer.status == 404
    expect(page.get_by_text("Nothing is known of Zoe.")).to_be_visible()


def test_admin_of_everybody_is_told_to_choose_a_person(people: People, tenant: str) -> None:
    admin = people.sign_in(tenant, Role.ADMIN, None)
    page = admin.goto("/about")
    expect(page.get_by_role("heading", name="Nothing to show")).to_be_visible()
