"""The list of memories: searching, narrowing down, sorting, many at a time with undo, writing, and long lists."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from memorist.memories.values import Draft, Governor, Kind, Status, Trust
from memorist.platform.values import Owner, Principal, Role
from memorist.surfaces.dashboard.pages.memory_views import ListView
from memorist.testing import new_tenant
from memorist.views.values import Browse
from tests.dashboard.conftest import People, Person
from tests.dashboard.sweeps import check_looks
from tests.support.browser import PHONE

HOSTILE = (
    "<script>document.title = 'owned'</script><img src=x onerror=\"document.title='owned'\">",
    "\u202emirrored مرحبا بالعالم",
    "long " * 2000,
    "unbroken" * 1250,
    "👩‍👩‍👧‍👦🔥 100% _literal_ \"quoted\" 'single' {{ 7 * 7 }} ${x} --",
)


def rows(page: Page) -> Locator:
    return page.locator("#found li.memory")


def shows(page: Page, *contents: str) -> None:
    """Exactly these rows are shown, in this order, and listen: htmx sees to that a moment after it put them in."""
    expect(page.locator("#found li.memory .clip")).to_have_text(list(contents))
    expect(page.locator(".htmx-settling")).to_have_count(0)


def query(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def tick(page: Page, *contents: str) -> None:
    for content in contents:
        rows(page).filter(has_text=content).locator("[data-selectable]").check()


def statuses(person: Person, *ids: str) -> list[Status]:
    found = person.core.store.read(person.principal.tenant, lambda tx: tx.memories.get_many(ids))
    by_id = {memory.id: memory.status for memory in found}
    return [by_id[one] for one in ids]


# Finding


def test_typing_searches_and_the_address_keeps_it(ada: Person) -> None:
    ada.remember("likes green tea", "likes coffee", "100% sure")
    page = ada.goto("/memories")
    shows(page, "100% sure", "likes coffee", "likes green tea")
    page.keyboard.press("/")
    page.keyboard.type("LIKES te")
    shows(page, "likes green tea")
    expect(page).to_have_url(re.compile(r"\?q=LIKES\+te$"))
    page.reload()
    shows(page, "likes green tea")
    expect(page.get_by_label("Search")).to_have_value("LIKES te")
    page.get_by_label("Search").fill("0%")
    shows(page, "100% sure")
    page.get_by_label("Search").fill("nothing like it")
    expect(page.get_by_role("heading", name="Nothing fits")).to_be_visible()
    # The address changes when the answer is all there: what is clicked before that is answered, and then overtaken.
    expect(page).to_have_url(re.compile(r"q=nothing"))
    page.get_by_role("link", name="Show everything").last.click()
    expect(rows(page)).to_have_count(3)
    assert query(page) == {}


def test_list_begins_with_facts_and_what_people_wrote(ada: Person) -> None:
    ada.core.ingestion.add_document(ada.principal, title="guide", content="chunk of it", shared=False)
    ada.remember("said it", kind=Kind.CHAT_MESSAGE, session="s")
    ada.remember("a fact")
    page = ada.goto("/memories")
    shows(page, "a fact")
    page.locator("#facets").get_by_role("group", name="Kind").get_by_label("any").check()
    expect(rows(page)).to_have_count(3)
    assert query(page) == {"kind": ["any"]}
    page.locator("#facets").get_by_role("group", name="Kind").get_by_label("fact").check()
    shows(page, "a fact")
    assert query(page) == {}


def test_narrowing_down_combines_and_back_undoes_it(ada: Person) -> None:
    ada.remember("a goal", category="goal", owner=Owner("ada", "coder"), project="/srv/site")
    ada.remember("a wish", category="goal", trust=Trust.AGENT)
    ada.remember("said it", kind=Kind.CHAT_MESSAGE, session="s", owner=Owner("ada", "coder"))
    page = ada.goto("/memories?kind=any")
    facets = page.locator("#facets")
    expect(facets.get_by_label("goal")).to_be_visible()
    facets.get_by_label("goal").check()
    shows(page, "a wish", "a goal")
    expect(facets.get_by_label("no profile")).to_be_visible()
    expect(facets.locator("label", has_text="coder")).to_contain_text("1")
    facets.get_by_label("coder").check()
    shows(page, "a goal")
    expect(page.locator("#facets").get_by_label("coder")).to_be_focused()
    assert query(page) == {"type": ["goal"], "profile": ["coder"], "kind": ["any"]}
    page.get_by_label("Search").fill("wish")
    expect(page.get_by_role("heading", name="Nothing fits")).to_be_visible()
    page.get_by_label("Search").fill("goal")
    shows(page, "a goal")
    page.go_back()
    shows(page, "a wish", "a goal")
    expect(page.locator("#facets").get_by_label("goal")).to_be_checked()
    page.go_back()
    shows(page, "said it", "a wish", "a goal")
    for label, content in (("message", "said it"), ("agent", "a wish"), ("no type", "said it")):
        ada.goto("/memories?kind=any")
        page.locator("#facets").get_by_label(label, exact=False).check()
        shows(page, content)
    ada.goto("/memories")
    page.get_by_label("Project").select_option("/srv/site")
    shows(page, "a goal")
    assert query(page) == {"project": ["/srv/site"]}


def test_sorting(ada: Person) -> None:
    ada.remember("first", name="first_note", category="user", importance=2)
    ada.remember("second")
    ada.remember("third", name="third_note", category="user", importance=9)
    page = ada.goto("/memories")
    shows(page, "third", "second", "first")
    page.get_by_label("Sort").select_option("oldest")
    shows(page, "first", "second", "third")
    page.get_by_label("Sort").select_option("importance")
    shows(page, "third", "first", "second")
    assert query(page) == {"sort": ["importance"]}


def test_long_list_goes_on_by_itself_without_a_gap(ada: Person) -> None:
    ada.remember(*[f"number {number:03}" for number in range(130)])
    page = ada.goto("/memories")
    expect(rows(page)).to_have_count(50)
    for shown in (100, 130):
        page.keyboard.press("End")
        expect(rows(page)).to_have_count(shown)
        ada.remember("written meanwhile, " + str(shown))
    expect(page.get_by_text("That is all.")).to_be_visible()
    texts = page.locator("li.memory .clip").all_inner_texts()
    assert texts == [f"number {number:03}" for number in reversed(range(130))]


def test_search_that_takes_long_goes_on_by_itself(ada: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    ada.remember("needle", *[f"hay {number}" for number in range(20)])
    monkeypatch.setattr("memorist.views.browsing._SPAN", 5)
    monkeypatch.setattr("memorist.views.browsing._LONGEST_SPAN", 5)
    monkeypatch.setattr(ada.core.browsing, "_budget_s", 0)
    page = ada.goto("/memories")
    page.get_by_label("Search").fill("needle")
    shows(page, "needle")
    expect(page.locator(".more")).to_have_count(0)


# Many at a time


def test_bulk_archive_and_undo(ada: Person) -> None:
    one, two, three = ada.remember("one", "two", "three")
    page = ada.goto("/memories")
    tick(page, "one", "three")
    expect(page.locator("[data-selection]")).to_contain_text("2 selected")
    page.get_by_role("button", name="Archive").click()
    shows(page, "two")
    expect(page.locator("[data-selection]")).to_be_hidden()
    expect(page.locator(".states")).to_contain_text(re.compile(r"Active 1\s+Archived 2"))
    assert statuses(ada, one.id, two.id, three.id) == ["archived", "active", "archived"]
    toast = page.locator("[data-toast]")
    expect(toast).to_contain_text("2 archived.")
    toast.get_by_role("button", name="Undo").click()
    shows(page, "three", "two", "one")
    expect(page.locator("[data-toast]")).to_contain_text("2 put back.")
    assert statuses(ada, one.id, two.id, three.id) == ["active"] * 3


def test_bulk_delete_of_all_states_is_undone_to_each(ada: Person) -> None:
    active, archived = ada.remember("in use", "put away")
    ada.core.retention.archive(ada.principal, archived.id)
    page = ada.goto("/memories?state=all")
    shows(page, "put away", "in use")
    page.get_by_label("Select all shown").check()
    page.get_by_role("button", name="Delete").click()
    expect(rows(page).locator(".badge", has_text="deleted")).to_have_count(2)
    assert statuses(ada, active.id, archived.id) == ["soft_deleted"] * 2
    page.get_by_role("button", name="Undo").click()
    expect(rows(page).locator(".badge", has_text="deleted")).to_have_count(0)
    assert query(page) == {"state": ["all"]}
    assert statuses(ada, active.id, archived.id) == ["active", "archived"]


def test_bulk_restore_tells_what_could_not_be(ada: Person) -> None:
    (gone,) = ada.remember("the same words")
    ada.core.retention.delete(ada.principal, gone.id)
    ada.remember("the same words")
    (other,) = ada.remember("others")
    ada.core.retention.delete(ada.principal, other.id)
    page = ada.goto("/memories")
    page.locator("#state-deleted").check()
    shows(page, "others", "the same words")
    assert query(page) == {"state": ["deleted"]}
    expect(page.get_by_role("button", name="Archive")).to_have_count(0)
    page.get_by_label("Select all shown").check()
    page.get_by_role("button", name="Restore").click()
    expect(page.locator("[data-toast]")).to_contain_text("1 restored, 1 could not be: The same text is already")
    shows(page, "the same words")
    assert statuses(ada, other.id, gone.id) == ["active", "soft_deleted"]


def test_what_is_left_after_everything_went_says_so(ada: Person) -> None:
    ada.remember("only")
    page = ada.goto("/memories")
    page.get_by_label("Select all shown").check()
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("Nothing is left here.")).to_be_visible()


def test_enter_does_what_the_field_is_for_and_never_archives(ada: Person) -> None:
    one, two = ada.remember("one", "two")
    page = ada.goto("/memories")
    page.get_by_label("Select all shown").check()
    page.keyboard.press("Enter")
    page.get_by_text("Change", exact=True).click()
    page.get_by_label("Type", exact=True).fill("decision")
    page.keyboard.press("Enter")
    expect(page.locator("[data-toast]")).to_contain_text("2 relabelled.")
    page.wait_for_load_state()
    tick(page, "one")
    page.get_by_text("Change", exact=True).click()
    page.get_by_label("Profile", exact=True).fill("coder")
    page.keyboard.press("Enter")
    expect(page.locator("[data-toast]")).to_contain_text("1 moved.")
    now = [ada.core.memories.get(ada.principal, memory.id) for memory in (one, two)]
    assert [(memory.status, memory.category, memory.owner.agent) for memory in now] == [
        ("active", "decision", "coder"),
        ("active", "decision", None),
    ]


def test_count_and_selection_follow_what_was_changed(ada: Person) -> None:
    ada.remember(*[f"tea {number:02}" for number in range(60)])
    page = ada.goto("/memories")
    expect(rows(page)).to_have_count(50)
    page.get_by_label("Select all shown").check()
    page.get_by_role("button", name="Archive").click()
    expect(page.locator(".found-count")).to_contain_text("10 found")
    expect(rows(page)).to_have_count(10)
    expect(page.get_by_label("Select all shown")).not_to_be_checked()
    page.get_by_label("Search").fill("tea 0")
    expect(page).to_have_url(re.compile("tea"))
    tick(page, "tea 03", "tea 04")
    page.get_by_role("button", name="Delete").click()
    expect(page.locator(".found-count")).to_contain_text("8 found")


def test_what_was_deleted_is_found_whatever_kind_it_is(ada: Person) -> None:
    ada.remember("said it", kind=Kind.CHAT_MESSAGE, session="s")
    document = ada.core.ingestion.add_document(ada.principal, title="guide", content="chunk of it", shared=False)
    ada.remember("a fact")
    ada.core.ingestion.forget_document(ada.principal, document.document.id)
    ada.core.conversations.forget(ada.principal, "ada", "s")
    page = ada.goto("/memories")
    expect(page.locator(".states")).to_contain_text(re.compile(r"Active 1\s+Archived 0\s+Deleted 2\s+All 3"))
    page.locator("#state-deleted").check()
    expect(rows(page)).to_have_count(2)
    expect(page.locator(".found-count")).to_contain_text("2 found")
    assert query(page) == {"state": ["deleted"]}
    # A conversation that is gone is not linked to.
    expect(rows(page).get_by_role("link", name="s", exact=True)).to_have_count(0)
    page.locator("#facets").get_by_role("group", name="Kind").get_by_label("message").check()
    shows(page, "said it")
    page.locator("#state-active").check()
    expect(page.get_by_role("heading", name="Nothing fits")).to_be_visible()
    ada.goto("/memories?state=deleted")
    expect(rows(page)).to_have_count(2)
    page.locator("#state-active").check()
    shows(page, "a fact")
    assert query(page) == {}


# Writing


def test_note_is_written_and_mistakes_are_told_beside_the_field(ada: Person) -> None:
    ada.remember("old", name="taken", category="user", owner=Owner("ada", "coder"))
    page = ada.goto("/memories")
    page.get_by_role("link", name="New memory").click()
    page.get_by_label("Type").select_option("feedback")
    page.get_by_label("Name").fill("Not A Slug")
    page.get_by_label("Description").fill("How <b>we</b> test")
    page.get_by_label("Text").fill("\nNever mock\nthe database.")
    page.get_by_label("Profile", exact=True).fill("coder")
    page.get_by_label("Importance").fill("7")
    ada.complaints.expect("422", "409", "400")
    page.get_by_role("button", name="Remember").click()
    expect(page.locator("#name-wrong")).to_contain_text("must be a slug")
    expect(page.get_by_label("Name")).to_be_focused()
    page.get_by_label("Name").fill("taken")
    page.get_by_role("button", name="Remember").click()
    expect(page.locator("#name-wrong")).to_contain_text("A memory of that name exists in this profile.")
    for label, value in (
        ("Type", "feedback"),
        ("Description", "How <b>we</b> test"),
        ("Text", "Never mock\nthe database."),
        ("Importance", "7"),
    ):
        expect(page.get_by_label(label)).to_have_value(value)
    page.get_by_label("Name").fill("feedback_no_mocks")
    page.get_by_label("Text").fill(" ")
    page.get_by_role("button", name="Remember").click()
    expect(page.locator("#body-wrong")).to_have_text("The text must not be empty.")
    page.get_by_label("Text").fill("Never mock.")
    page.get_by_label("Importance").fill("1.5")
    page.get_by_role("button", name="Remember").click()
    expect(page.locator("#importance-wrong")).to_contain_text("whole number")
    page.get_by_label("Importance").fill("7")
    page.get_by_role("button", name="Remember").click()
    expect(page.locator("[data-toast]")).to_contain_text("Remembered.")
    expect(rows(page).first).to_contain_text("feedback_no_mocks")
    (memory,) = ada.core.browsing.page(ada.principal, Browse("no_mocks")).items
    assert (memory.content, memory.category, memory.importance) == ("Never mock.", "feedback", 7)
    assert (memory.owner, memory.description, memory.trust) == (Owner("ada", "coder"), "How <b>we</b> test", "user")
    page.get_by_role("button", name="Undo").click()
    expect(rows(page)).to_have_count(1)


def test_fact_is_written_once_and_profiles_are_shared_by_admins_alone(people: People, tenant: str) -> None:
    ada = people.sign_in(tenant)
    page = ada.goto("/memories/new?as=fact")
    for told in ("Remembered.", "That was remembered before"):
        page.get_by_label("Fact").fill("Lives in Lisbon")
        page.get_by_role("button", name="Remember").click()
        expect(page.locator("[data-toast]")).to_contain_text(told)
        ada.goto("/memories/new?as=fact")
    ada.goto("/memories/new")
    page.get_by_label("Name").fill("for_all")
    page.get_by_label("Text").fill("for all profiles")
    page.get_by_label("All profiles, instead of one").check()
    page.get_by_role("button", name="Remember").click()
    shows(page, "for all profiles", "Lives in Lisbon")
    (memory, _) = ada.core.browsing.page(ada.principal).items
    assert memory.owner == Owner("ada")
    bob = people.sign_in(tenant, Role.USER, "bob")
    bob.goto("/memories/new")
    expect(bob.page.get_by_label("All profiles, instead of one")).to_have_count(0)
    assert _post(bob, "/memories/new", {"as": "note", "type": "user", "name": "x", "body": "x", "shared": "yes"}) == 403
    assert bob.core.browsing.page(bob.principal).items == ()


def test_facts_are_edited_from_the_list_and_what_was_said_is_not(people: People, tenant: str, ada: Person) -> None:
    (fact,) = ada.remember("a fact")
    ada.remember("said", kind=Kind.CHAT_MESSAGE, session="s")
    ada.remember("everybody's", owner=Owner())
    page = ada.goto("/memories")
    expect(page.locator(".edit")).to_have_count(2)
    rows(page).filter(has_text="a fact").hover()
    page.get_by_role("link", name="Edit a fact").click()
    page.wait_for_url(f"**/dashboard/memories/{fact.id}/edit")
    user = people.sign_in(tenant, Role.USER, "ada")
    user.has_own_profile = True
    user.page.clock.install()
    expect(user.goto("/memories").locator(".edit")).to_have_count(1)
    asked: list[str] = []
    user.page.on("request", lambda request: asked.append(request.url) if "/memories?q=another" in request.url else None)
    user.page.get_by_label("Search").fill("another question")
    link = user.page.get_by_role("link", name="Search by meaning")
    expect(link).to_be_visible()
    # Leaving the field does not ask again, which would put another link into the place of the one that is clicked on.
    user.page.get_by_label("Search").blur()
    user.page.clock.run_for(300)
    link.click()
    user.page.wait_for_url("**/dashboard/recall?q=another%20question")
    assert len(asked) == 1


def test_edit_is_offered_only_where_it_may_be_done(ada: Person) -> None:
    ada.core.facts.remember_all(ada.principal, [Draft("an agent's", governed_by=Governor.AGENT_TOOLS)])
    ada.remember("by hand")
    page = ada.goto("/memories")
    expect(rows(page)).to_have_count(2)
    expect(page.locator(".edit")).to_have_count(1)
    expect(page.get_by_role("link", name="Edit by hand")).to_have_count(1)


@pytest.mark.parametrize(("path", "label"), [("", "A fact that should"), ("/memories/new?as=fact", "Fact")])
def test_lines_that_are_typed_are_those_that_an_agent_stored(ada: Person, path: str, label: str) -> None:
    ada.remember("line one\nline two")
    page = ada.goto(path)
    page.get_by_label(label).fill("line one\nline two")
    page.get_by_role("button", name="Remember").click()
    expect(page.get_by_text("This was known already" if not path else "That was remembered before")).to_be_visible()
    assert [one.content for one in ada.core.memories.list(ada.principal).items] == ["line one\nline two"]


# Keys, looks, and who may


def test_keyboard_alone_finds_selects_and_deletes(ada: Person) -> None:
    ada.remember("alpha", "beta", "gamma")
    page = ada.goto("/memories")
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(rows(page).nth(1).locator(".memory-link")).to_be_focused()
    page.keyboard.press("x")
    expect(rows(page).nth(1).locator("[data-selectable]")).to_be_checked()
    page.get_by_role("button", name="Delete").focus()
    page.keyboard.press("Enter")
    shows(page, "gamma", "alpha")
    page.get_by_role("button", name="Undo").focus()
    page.keyboard.press("Enter")
    shows(page, "gamma", "beta", "alpha")
    page.wait_for_load_state()  # The page is a new one: its rows are there before its scripts listen.
    page.locator("#state-active").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("heading", name="The archive is empty")).to_be_visible()
    expect(page.locator("#state-archived")).to_be_focused()
    page.keyboard.press("ArrowLeft")
    shows(page, "gamma", "beta", "alpha")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    panel = page.get_by_role("complementary", name="Memory")
    expect(panel.get_by_role("link", name="Open the whole page")).to_be_visible()
    page.keyboard.press("Escape")
    expect(rows(page).first.locator(".memory-link")).to_be_focused()
    expect(panel.get_by_role("link")).to_have_count(0)


def test_every_look_with_hostile_texts(people: People, tenant: str, ada: Person) -> None:
    for number, text in enumerate(HOSTILE):
        ada.remember(text, project=f"/p/{'x' * 300}" if number == 2 else None)
    ada.remember(HOSTILE[0], name="x" * 128, description=HOSTILE[4], importance=2**30)
    ada.remember("profile", owner=Owner("ada", "p" * 128), category="c" * 128)
    ada.core.retention.archive(ada.principal, ada.remember("archived")[0].id)

    def select(page: Page) -> None:
        expect(rows(page)).to_have_count(8)
        page.locator("[data-selectable]").first.check()
        if page.viewport_size == PHONE:
            page.get_by_text("Narrow down").click()

    person = check_looks(people, tenant, "/memories?state=all", person=ada, prepare=select)
    assert person.page.title() == "Memories · Memorist"
    assert person.page.locator("img[src=x], #found script").count() == 0
    for path in ("/memories/new", "/memories/new?as=fact", "/memories?q=nothing%20fits%20this"):
        check_looks(people, tenant, path, person=ada)
    for text in HOSTILE:
        ada.goto("/memories")
        ada.page.get_by_label("Search").fill(text[:150])
        expect(rows(ada.page).first).to_be_visible()
        expect(ada.page).to_have_url(re.compile("q="))


def test_reader_is_offered_nothing_and_is_refused(ada: Person, reader: Person) -> None:
    (memory,) = ada.remember("kept")
    (gone,) = ada.remember("gone")
    ada.core.retention.delete(ada.principal, gone.id)
    page = reader.goto("/memories?state=all")
    shows(page, "kept")
    assert page.get_by_role("checkbox").count() == page.get_by_text("New memory").count() == 0
    assert page.locator("#state-deleted, #bulk, .edit").count() == 0
    reader.check_axe()
    for path in ("/memories/bulk/delete", "/memories/bulk/undo", "/memories/new"):
        assert _post(reader, path, {"id": f"{memory.id}:soft_deleted" if "undo" in path else memory.id}) == 403
    assert statuses(ada, memory.id) == ["active"]
    reader.complaints.expect("403")
    reader.goto("/memories/new")
    expect(page.get_by_role("alert")).to_contain_text("only reads")


def test_another_tenant_sees_and_changes_nothing(people: People, ada: Person) -> None:
    (memory,) = ada.remember("ada's alone")
    eve = people.sign_in(new_tenant())
    page = eve.goto("/memories")
    expect(page.get_by_role("heading", name="Nothing is remembered yet")).to_be_visible()
    assert _post(eve, "/memories/bulk/delete", {"id": memory.id}) == 200
    assert statuses(ada, memory.id) == ["active"]
    eve.goto("/memories")
    expect(page.locator("[data-toast]")).to_have_count(0)
    forged = page.request.post(f"{eve.served.url}/dashboard/memories/bulk/delete", form={"id": memory.id})
    assert forged.status == 403


def test_admin_looks_at_everybody(ada: Person) -> None:
    bob = Principal(ada.principal.tenant, Role.USER, "bob")
    ada.core.memories.remember(bob, [Draft("bob's own")])
    ada.remember("ada's own")
    page = ada.goto("/memories")
    shows(page, "ada's own")
    page.get_by_role("link", name="Whose memories: change").click()
    page.get_by_role("button", name="Everybody").click()
    shows(page, "ada's own", "bob's own")
    expect(rows(page).nth(1).locator(".badge", has_text="bob")).to_be_visible()


def test_it_works_without_scripts(people: People, tenant: str, ada: Person) -> None:
    ada.remember(*[f"note {number}" for number in range(60)])
    plain = people.sign_in(tenant, java_script_enabled=False)
    page = plain.goto("/memories")
    page.get_by_role("link", name="More").click()
    expect(rows(page)).to_have_count(10)
    plain.goto("/memories")
    page.get_by_label("Search").fill("note 59")
    page.locator("#browse").get_by_role("button", name="Show").click()
    shows(page, "note 59")


def test_nonsense_in_an_address_is_explained(ada: Person) -> None:
    ada.complaints.expect("400", "422")
    for address in ("kind=nothing", "sort=sideways", "trust=%00", "cursor=zzz", "since=soon", f"q={'x' * 201}"):
        page = ada.goto(f"/memories?{address}")
        expect(page.get_by_role("heading", name="That did not work")).to_be_visible()
    ada.goto("/memories?state=nothing&profile=&type=")
    expect(page.get_by_role("heading", name="Nothing is remembered yet")).to_be_visible()


def test_address_carries_the_view() -> None:
    view = ListView(
        "tea & cake", "all", "coder", "goal", "fact", "user", "/a b", "s 1", "2027-01-02", "2027-01-03", "1", "oldest"
    )
    assert ListView.of({name: values[0] for name, values in parse_qs(urlsplit(view.address()).query).items()}) == view
    assert ListView.of({}).address() == "/dashboard/memories"


def _post(person: Person, path: str, fields: dict[str, str]) -> int:
    """Post a form with the session's token, as somebody would who writes their own page; the last status."""
    token = person.page.locator("input[name=csrf]").first.get_attribute("value") or ""
    address = f"{person.served.url}/dashboard{path}"
    return person.page.request.post(address, form={"csrf": token, **fields}).status
