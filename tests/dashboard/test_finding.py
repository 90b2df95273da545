"""Finding memories: marked words, wrong letters, meaning, days, saved lists, many changed at once, and the panel."""

import json
import re
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from memorist.ingestion.service import Message
from memorist.memories.values import Draft, Governor
from memorist.surfaces.dashboard.pages.memory_snippets import snippet_of
from tests.dashboard.conftest import People, Person
from tests.dashboard.sweeps import check_looks, check_page
from tests.dashboard.test_memories import rows, shows, tick
from tests.support.browser import PHONE
from tests.test_patterns import ended_after


def search(page: Page, text: str) -> None:
    page.get_by_label("Search").fill(text)


def test_what_was_typed_is_marked_and_counted(ada: Person) -> None:
    ada.remember("likes green tea", "likes coffee")
    page = ada.goto("/memories")
    expect(page.locator("#found").get_by_role("status").first).to_contain_text("2 found")
    search(page, "TEA")
    shows(page, "likes green tea")
    expect(page.locator("#found mark")).to_have_text("tea")
    expect(page.locator("#found").get_by_role("status").first).to_contain_text("1 found")


def test_wrong_letter_finds_what_is_spelt_nearly_so(ada: Person) -> None:
    ada.remember("The workshop opens in May.", "Something else.")
    page = ada.goto("/memories")
    search(page, "workhsop")
    shows(page, "The workshop opens in May.")
    expect(page.locator("#found mark")).to_have_text("workshop")
    expect(page.locator("#found").get_by_role("status").first).to_contain_text("spelt nearly like")


def test_what_means_the_same_follows_and_is_no_recall(ada: Person) -> None:
    ada.remember("Opening day is the third of May.", "The opening hours are on the door.")
    page = ada.goto("/memories")
    search(page, "opening hours")
    meaning = page.locator("#meaning")
    expect(meaning.get_by_role("heading", name="Similar in meaning")).to_be_visible()
    expect(meaning.locator(".clip")).to_have_text(["Opening day is the third of May."])
    ada.core.accesses.flush()
    assert ada.core.recall_history.lately(ada.principal, ada.core.clock.now(), limit=5) == []


def test_days_and_sessions_narrow_down(ada: Person) -> None:
    ada.remember("a fact")
    ada.core.ingestion.add_messages(ada.principal, "planning", [Message("user", "Hello", "Ines")])
    page = ada.goto("/memories?kind=any")
    expect(rows(page).first).to_contain_text("by Ines")
    page.locator("#facets").get_by_label("To").fill("2001-01-01")
    expect(page.get_by_role("heading", name="Nothing fits")).to_be_visible()
    page.locator("#facets").get_by_label("To").fill("")
    page.locator("#facets").get_by_label("From").fill("2001-01-01")
    shows(page, "Hello", "a fact")
    rows(page).first.get_by_role("link", name="planning").click()
    page.wait_for_url("**/conversations/read*")
    assert parse_qs(urlsplit(page.url).query)["session"] == ["planning"]
    shows(ada.goto("/memories?kind=any&session=planning"), "Hello")


def test_messages_are_dated_by_when_they_were_said(ada: Person) -> None:
    said = Message("user", "Hello", event_time=ada.core.clock.now() - timedelta(days=800))
    ada.core.ingestion.add_messages(ada.principal, "planning", [said])
    page = ada.goto("/memories?kind=any")
    expect(rows(page).first).to_contain_text("by ada")
    expect(rows(page).first).to_contain_text("2 years ago")
    assert rows(page).first.locator(".about > span").last.inner_text() == "2 years ago"


def test_list_is_saved_under_a_name_and_removed(people: People, tenant: str, ada: Person) -> None:
    ada.remember("a goal", category="goal")
    ada.remember("a wish", category="wish")
    page = ada.goto("/memories?type=goal")
    page.get_by_label("Name of this list").fill("My <b>goals</b>")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("link", name="My <b>goals</b>")).to_be_visible()
    ada.goto("/memories")
    shows(page, "a wish", "a goal")
    page.get_by_role("link", name="My <b>goals</b>").click()
    shows(page, "a goal")
    check_looks(people, tenant, "/memories?type=goal", person=ada)
    page.get_by_role("button", name="Remove the list").click()
    expect(page.get_by_role("link", name="My <b>goals</b>")).to_have_count(0)


def test_list_too_many_is_refused_and_drops_none(ada: Person) -> None:
    page = ada.goto("/memories")
    csrf = page.locator("[name=csrf]").first.get_attribute("value") or ""

    def save(name: str, address: str = "/dashboard/memories?type=goal") -> int:
        address_of = f"{ada.served.url}/dashboard/memories/filters"
        return page.request.post(address_of, form={"csrf": csrf, "name": name, "address": address}).status

    assert {save(f"list {number}") for number in range(12)} == {200}
    assert save("one more") == 422
    assert save("list 3", "/dashboard/memories?type=wish") == 200
    ada.goto("/memories")
    expect(page.locator("#saved a")).to_have_count(12)
    expect(page.get_by_role("link", name="list 3")).to_have_attribute("href", re.compile("type=wish"))


def test_list_that_was_narrowed_by_a_click_is_saved(ada: Person) -> None:
    ada.remember("a goal", category="goal")
    ada.remember("a wish", category="wish")
    page = ada.goto("/memories")
    expect(page.get_by_label("Name of this list")).to_be_hidden()
    page.locator("#facets").get_by_label("goal").check()
    shows(page, "a goal")
    page.get_by_label("Name of this list").fill("Goals")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("link", name="Goals").wait_for()
    shows(page, "a goal")


def test_name_that_is_being_typed_stays_when_a_search_is_answered(ada: Person) -> None:
    ada.remember("likes tea", "likes coffee")
    page = ada.goto("/memories?q=likes")
    name = page.get_by_label("Name of this list")
    name.press_sequentially("Dri")
    page.evaluate("q.value = 'likes tea'; q.dispatchEvent(new Event('input', { bubbles: true }))")
    shows(page, "likes tea")
    expect(name).to_have_value("Dri")
    expect(name).to_be_focused()
    page.keyboard.type("nks")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("link", name="Drinks").click()
    shows(page, "likes tea")


def test_phone_shows_what_was_found_before_what_to_narrow_by(people: People, tenant: str) -> None:
    ada = people.sign_in(tenant, viewport=PHONE)
    ada.remember("likes tea")
    page = ada.goto("/memories?q=tea")
    expect(rows(page).first).to_be_in_viewport()
    page.get_by_text("Narrow down").click()
    expect(page.locator("#facets").get_by_label("From")).to_be_visible()


def test_states_do_not_widen_the_page_where_they_have_no_room(people: People, tenant: str) -> None:
    ada = people.sign_in(tenant, viewport={"width": 320, "height": 640})
    ada.remember("likes tea")
    page = ada.goto("/memories")
    check_page(ada)
    every = page.locator("#states").get_by_text("All")
    every.scroll_into_view_if_needed()
    expect(every).to_be_in_viewport()
    check_page(ada)


def test_selection_is_relabelled_moved_and_exported(ada: Person) -> None:
    one, two, three = ada.remember("one", "two", "three")
    page = ada.goto("/memories")
    tick(page, "one", "two")
    page.get_by_text("Change", exact=True).click()
    page.get_by_label("Type", exact=True).fill("feedback")
    page.get_by_role("button", name="Set the type").click()
    expect(page.locator("[data-toast]")).to_contain_text("2 relabelled.")
    tick(page, "two")
    page.get_by_text("Change", exact=True).click()
    page.get_by_label("Profile", exact=True).fill("coder")
    page.get_by_role("button", name="Move to this profile").click()
    expect(page.locator("[data-toast]")).to_contain_text("1 moved.")
    found = {memory.id: memory for memory in ada.core.browsing.page(ada.principal).items}
    assert [found[memory.id].category for memory in (one, two, three)] == ["feedback", "feedback", None]
    assert [found[memory.id].owner.agent for memory in (one, two, three)] == [None, "coder", None]
    tick(page, "three")
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    lines = [json.loads(line) for line in download.value.path().read_text().splitlines()]
    assert [line["memory"]["content"] for line in lines[1:-1]] == ["three"]


def test_selection_is_archived_without_scripts(people: People, ada: Person) -> None:
    ada.remember("a goal", "a wish")
    person = people.sign_in(ada.principal.tenant, java_script_enabled=False)
    page = person.goto("/memories")
    expect(page.get_by_label("Select all shown")).to_be_hidden()
    page.get_by_label("Select a wish").check()
    page.get_by_role("button", name="Archive", exact=True).click()
    expect(page.locator("#toasts")).to_contain_text("1 archived.")
    shows(page, "a goal")


def test_messages_are_not_relabelled(ada: Person) -> None:
    ada.core.ingestion.add_messages(ada.principal, "planning", [Message("user", "Hello")])
    page = ada.goto("/memories?kind=any")
    tick(page, "Hello")
    page.get_by_text("Change", exact=True).click()
    page.get_by_label("Type", exact=True).fill("feedback")
    page.get_by_role("button", name="Set the type").click()
    expect(page.locator("[data-toast]")).to_contain_text("0 relabelled, 1 could not be: What was said")


def test_panel_shows_a_memory_beside_the_list(people: People, tenant: str, ada: Person) -> None:
    draft = Draft("Ada lives in Kiel.", governed_by=Governor.AGENT_TOOLS)
    ada.core.facts.remember_all(ada.principal, [draft])

    def open_panel(page: Page) -> None:
        rows(page).first.locator(".memory-link").click()
        page.get_by_role("complementary", name="Memory").get_by_role("heading", name="Details").wait_for()

    check_looks(people, tenant, "/memories", person=ada, prepare=open_panel)
    page = ada.page
    panel = page.get_by_role("complementary", name="Memory")
    expect(panel).to_contain_text("It was written through the agent tools.")
    expect(panel).to_contain_text("A newer fact that contradicts it may take its place")
    panel.get_by_role("button", name="Close the panel").click()
    expect(panel).to_be_hidden()
    assert urlsplit(page.url).path == "/dashboard/memories"


def test_panel_leads_to_the_whole_of_a_long_text(ada: Person) -> None:
    (memory,) = ada.remember("word " * 5000 + "the end")
    page = ada.goto("/memories?q=word")
    rows(page).first.locator(".memory-link").click()
    page.get_by_role("complementary", name="Memory").get_by_role("link", name="Show all of it").click()
    page.wait_for_url(f"**/dashboard/memories/{memory.id}?whole=yes")
    expect(page.get_by_role("group", name="What it says")).to_contain_text("the end")


def test_panel_shows_the_words_that_a_fact_rests_on(ada: Person) -> None:
    [said] = ada.core.ingestion.add_messages(ada.principal, "planning", [Message("user", "Hello. I live in Kiel.")])
    ada.remember("Lives in Kiel.", excerpt="I live in Kiel.", source_ref=said.memory.id)
    page = ada.goto("/memories")
    rows(page).first.locator(".memory-link").click()
    lines = page.get_by_role("complementary", name="Memory").locator(".lines")
    expect(lines.locator("mark")).to_have_text("I live in Kiel.")
    expect(lines).to_have_css("list-style-type", "none")
    expect(lines.locator(".source")).not_to_have_css("background-color", "rgba(0, 0, 0, 0)")


@pytest.mark.parametrize(
    ("text", "asked", "shown"),
    [
        ("# Title\n**bold** and `code` at [a page](https://example.com)", "", "Title\nbold and code at a page"),
        ("a _literal_ 100%", "literal", "a _literal_ 100%"),
        ("", "x", ""),
    ],
)
def test_snippets_are_plain_words(text: str, asked: str, shown: str) -> None:
    assert "".join(piece.text for piece in snippet_of(text, asked)) == shown


@pytest.mark.parametrize("hostile", ["[", "[a](", "**a", "`a", "[a](b"])
def test_long_text_is_shown_in_no_time(hostile: str) -> None:
    """Nobody else is served meanwhile."""
    with ended_after(1.0):
        assert "".join(piece.text for piece in snippet_of(hostile * 300_000, "")).endswith("…")
        assert snippet_of(hostile * 300_000 + " needle", "needle")[-1].text == "needle"


@pytest.mark.parametrize("times", [500, 20_000])
def test_snippet_begins_near_what_was_found(times: int) -> None:
    pieces = snippet_of("far " * times + "needle " + "away " * times, "NEEDLE")
    assert [piece.text for piece in pieces if piece.is_found] == ["needle"]
    assert pieces[0].text.startswith("…")
    assert pieces[-1].text.endswith("…")
