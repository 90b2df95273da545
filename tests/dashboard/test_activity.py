"""Activity in the browser: what happens live and back in time, and usage."""

import re
from dataclasses import replace
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Page, expect

from memorist.ingestion.service import Message
from memorist.models.values import CallUsage, Usage
from memorist.platform.spending import Spending
from memorist.platform.values import Role
from memorist.recall.values import Question
from memorist.testing import make_turn
from memorist.turns.values import TurnStatus
from tests.dashboard.conftest import People, Person
from tests.dashboard.sweeps import check_looks
from tests.http.conftest import Served
from tests.support.cutting import cutting

HOSTILE = "<script>alert(1)</script> <b>bold</b> \u202eevil\u202c {{ 7 * 7 }} " + "w" * 600


def ask(person: Person, text: str) -> None:
    person.core.recall.recall(person.principal, Question(text))
    person.core.accesses.flush()


def expect_live(page: Page) -> None:
    expect(page.locator("[data-state]")).to_have_text("Live")


def test_nothing_happened_offers_the_next_step_and_is_live(people: People, ada: Person) -> None:
    page = ada.goto("/activity")
    expect(page.get_by_role("heading", name="Nothing happened yet")).to_be_visible()
    expect_live(page)
    ada.remember("Ada drinks tea.")
    expect(page.locator(".feed > li")).to_contain_text("Ada drinks tea.")
    expect(page.get_by_role("heading", name="Nothing happened yet")).to_have_count(0)
    check_looks(people, ada.principal.tenant, "/activity", person=ada, ready=".feed > li")


def test_changes_and_recalls_come_as_they_happen(people: People, ada: Person) -> None:
    (tea,) = ada.remember("Ada drinks tea.")
    page = ada.goto("/activity")
    expect_live(page)
    ask(ada, "What does Ada drink?")
    first = page.locator(".feed > li").first
    expect(first).to_contain_text("Recalled")
    expect(first).to_contain_text("What does Ada drink?")
    expect(first).to_contain_text("1 memory came back")
    ada.core.retention.delete(ada.principal, tea.id)
    expect(first).to_contain_text("Deleted")
    ada.remember(HOSTILE)
    expect(first).to_contain_text("<script>alert(1)</script>")
    assert page.locator(".feed script, .feed b").count() == 0
    expect(page.locator(".feed > li")).to_have_count(4)
    ada.check_axe()
    check_looks(people, ada.principal.tenant, "/activity", person=ada, ready=".feed > li")


def test_reading_is_paused_and_resumed_without_a_gap_by_keyboard(ada: Person) -> None:
    page = ada.goto("/activity")
    expect_live(page)
    page.get_by_role("button", name="Pause").focus()
    page.keyboard.press("Enter")
    expect(page.locator("[data-state]")).to_have_text("Paused")
    ada.remember("Said while nobody looked.")
    ask(ada, "while nobody looked")
    expect(page.locator(".feed > li")).to_have_count(0)
    page.keyboard.press("Enter")
    expect_live(page)
    expect(page.locator(".feed > li")).to_have_count(2)
    expect(page.get_by_role("button", name="Pause")).to_be_focused()


def test_lost_connection_is_marked_and_goes_on_without_a_gap(people: People, served: Served, tenant: str) -> None:
    with cutting(served.url, "/activity/events?") as door:
        person = people.sign_in(tenant, served=Served(door.url, served.core))
        person.complaints.expect("ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_EMPTY_RESPONSE", "ERR_CONNECTION")
        page = person.goto("/activity")
        expect_live(page)
        page.evaluate(
            """() => {
                window.states = [];
                const watched = document.querySelector("[data-state]");
                new MutationObserver(() => window.states.push(watched.textContent)).observe(watched, {childList: true});
            }"""
        )
        assert door.cut() == 1
        person.remember("Said meanwhile.")
        expect(page.locator(".feed > li")).to_contain_text("Said meanwhile.", timeout=15_000)
        expect_live(page)
        assert page.evaluate("window.states")[0].startswith("Connection lost")


def test_who_is_signed_out_meanwhile_is_told_no_more(ada: Person) -> None:
    page = ada.goto("/activity")
    expect_live(page)
    ada.complaints.expect("401", "MIME type")
    key_id = ada.principal.key_id
    assert key_id is not None
    ada.core.identity.revoke_key(ada.principal, key_id)
    ada.remember("Not for those who left.")
    expect(page.locator("[data-state]")).to_have_text("Connection lost. Load the page again.", timeout=15_000)
    expect(page.locator(".feed > li")).to_have_count(0)


def test_filters_are_in_the_address_and_hold_for_what_comes(ada: Person) -> None:
    (tea,) = ada.remember("Ada drinks tea.")
    page = ada.goto("")
    page.keyboard.press("g")
    page.keyboard.press("v")
    page.wait_for_url("**/dashboard/activity")
    page.get_by_label("What", exact=True).select_option("deleted")
    page.get_by_label("Who").fill("ada")
    page.get_by_role("button", name="Show").click()
    page.wait_for_url("**/activity?what=deleted**")
    assert parse_qs(urlsplit(page.url).query)["who"] == ["ada"]
    expect(page.get_by_role("heading", name="Nothing of this happened")).to_be_visible()
    expect_live(page)
    ada.remember("Ada drinks milk.")
    ada.core.retention.delete(ada.principal, tea.id)
    expect(page.locator(".feed > li")).to_have_count(1)
    expect(page.locator(".feed > li")).to_contain_text("Ada drinks tea.")
    page.get_by_role("link", name="Everything", exact=True).click()
    expect(page.locator(".feed > li")).to_have_count(3)
    assert page.request.get(f"{ada.served.url}/dashboard/activity?since=never").status == 422
    assert page.request.get(f"{ada.served.url}/dashboard/activity?what=nothing").status == 422
    assert page.request.get(f"{ada.served.url}/dashboard/activity/events?after=x").status == 400


def test_feed_goes_back_by_pages(ada: Person) -> None:
    ada.remember(*(f"Fact {number} is kept." for number in range(60)))
    page = ada.goto("/activity")
    expect(page.locator(".feed > li")).to_have_count(50)
    page.get_by_role("link", name="Older").click()
    expect(page.locator(".feed > li")).to_have_count(10)
    assert page.locator("[data-state]").count() == 0
    page.get_by_role("link", name="Newest").click()
    expect(page.locator(".feed > li")).to_have_count(50)


def test_each_sees_their_own_and_an_admin_whom_it_acts_for(people: People, ada: Person) -> None:
    bob = people.sign_in(ada.principal.tenant, Role.USER, "bob")
    ada.remember("Ada's own.")
    bob.remember("Bob's own.")
    page = bob.goto("/activity")
    expect(page.locator(".feed > li")).to_have_count(1)
    expect(page.locator(".feed > li")).to_contain_text("Bob's own.")
    expect_live(page)
    ada.remember("Another of Ada's.")
    bob.remember("Another of Bob's.")
    expect(page.locator(".feed > li")).to_have_count(2)
    page = ada.goto("/activity")
    expect(page.locator(".feed > li")).to_have_count(2)
    everybody = people.sign_in(ada.principal.tenant, Role.ADMIN, None)
    expect(everybody.goto("/activity").locator(".feed > li")).to_have_count(4)


def test_question_that_found_itself_is_told_once(ada: Person) -> None:
    ada.core.ingestion.add_messages(ada.principal, "chat", [Message("user", "When do we open?")])
    ask(ada, "When do we open?")
    expect(ada.goto("/activity").locator(".feed > li").first).to_contain_text("1 memory came back")
    assert ada.page.get_by_text("First:").count() == 0
    recalled = ada.goto().get_by_role("region", name="Recalled lately")
    expect(recalled).to_contain_text("When do we open?")
    expect(recalled).not_to_contain_text("brought back")


# Usage


def test_usage_tells_turns_calls_and_requests_by_day(people: People, ada: Person) -> None:
    core, tenant = ada.core, ada.principal.tenant
    page = ada.goto("/activity/usage")
    now = core.clock.now()
    turn = replace(make_turn(created_at=now - timedelta(days=1)), completed_at=now - timedelta(days=1, seconds=-4))
    over = replace(turn, status=TurnStatus.COMPLETED, usage=Usage(900, 100, 0.25))
    core.store.write(tenant, lambda tx: tx.turns.insert(turn))
    assert core.store.write(tenant, lambda tx: tx.turns.finish(over))
    calls = [CallUsage(10, 5, 0.5, 2.0), CallUsage(10, 5, None, 4.0)]
    Spending(core.store, core.clock).add(tenant, calls, budgeted=False)
    ada.goto("/activity/usage")
    expect(page.get_by_role("region", name="Turns a day", exact=True)).to_contain_text("1 in 30 days; 0 failed.")
    expect(page.get_by_role("region", name="How long a turn took")).to_contain_text("4.0 s")
    expect(page.get_by_role("region", name="Cost of turns a day")).to_contain_text("$0.25 in 30 days.")
    expect(page.get_by_role("region", name="Calls of language models a day")).to_contain_text(
        "2 in 30 days, with 30 tokens."
    )
    latency = page.get_by_role("region", name="How long a call took")
    expect(latency).to_contain_text("The slowest call took 4.0 s.")
    latency.get_by_text("The numbers").click()
    expect(latency.locator("tbody tr").first).to_contain_text("3.0 s, 4.0 s")
    expect(page.get_by_role("region", name="Cost of calls a day")).to_contain_text("$0.50 in 30 days.")
    expect(page.get_by_text("Without a known price, and counted as free: 1.")).to_be_visible()
    expect(page.get_by_role("region", name="Requests a day").locator("rect")).to_have_count(1)
    check_looks(people, tenant, "/activity/usage", person=ada, ready=".plot")


def test_usage_tells_how_long_requests_took(people: People, tenant: str, ada: Person) -> None:
    page = ada.goto("/activity/usage")
    row = page.locator("#times tbody tr").first
    expect(row).to_have_text(re.compile(r"^(GET|POST) /\S+ ?[\d.,]+ m?s[\d.,]+ m?s\d+$"))
    check_looks(people, tenant, "/activity/usage", person=ada, ready="#times table")
    bob = people.sign_in(tenant, Role.USER, "bob")
    assert bob.page.request.get(f"{bob.served.url}/dashboard/activity/usage/times").status == 403


def test_user_sees_no_usage_of_others(people: People, ada: Person) -> None:
    Spending(ada.core.store, ada.core.clock).add(ada.principal.tenant, [CallUsage(10, 5, 0.5, 2.0)])
    bob = people.sign_in(ada.principal.tenant, Role.USER, "bob")
    page = bob.goto("/activity/usage")
    expect(page.get_by_role("heading", name="No usage yet")).to_be_visible()
    assert page.locator(".plot").count() == 0
    assert page.get_by_role("heading", name="Requests").count() == 0
