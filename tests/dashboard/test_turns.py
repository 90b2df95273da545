"""Turns: taken and followed in the browser, and what each shows."""

import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest
from playwright.sync_api import expect

from memorist.ids import new_id
from memorist.ingestion.service import Message
from memorist.memories.values import Draft
from memorist.platform.values import Owner, Principal, Role
from memorist.ports import Writer
from memorist.testing import new_tenant
from memorist.turns.values import Turn, TurnStatus
from tests.dashboard.conftest import People, Person
from tests.dashboard.sweeps import check_looks
from tests.http.conftest import Served, serving
from tests.support.cutting import cutting
from tests.support.scripted_http import ScriptedServer, scripted_server
from tests.support.talking import fails, says
from tests.turns.conftest import turn_settings

ANSWER = "You prefer oat milk, and you told me so last week."
HOSTILE = "<script>alert(1)</script> <b>bold</b> \u202eevil\u202c {{ 7 * 7 }} 🙂"


@pytest.fixture(scope="module")
def talking() -> Iterator[ScriptedServer]:
    with scripted_server(says(ANSWER)) as server:
        yield server


@pytest.fixture(scope="module")
def speaking(talking: ScriptedServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with a language model that says what it is told to."""
    with serving(turn_settings(tmp_path_factory.mktemp("turns"), talking.url)) as server:
        yield server


@pytest.fixture
def model(talking: ScriptedServer) -> ScriptedServer:
    talking.scripts.clear()
    talking.requests.clear()
    talking.always = says(ANSWER)
    return talking


@pytest.fixture
def asker(people: People, speaking: Served, model: ScriptedServer, tenant: str) -> Person:  # noqa: ARG001
    """An admin who is also ada, on the server that has a model."""
    return people.sign_in(tenant, served=speaking)


def take(
    person: Person,
    text: str = "What milk do I like?",
    principal: Principal | None = None,
    session: str | None = None,
) -> Turn:
    """A turn, until it is over."""
    principal = principal or person.principal
    turn = person.core.turns.start(principal, [Message("user", text)], session=session)
    for _ in person.core.turns.follow(principal, turn.id):
        pass
    return person.core.turns.get(principal, turn.id)


def test_turn_is_followed_while_it_runs(asker: Person, model: ScriptedServer) -> None:
    asker.core.memories.remember(asker.principal, [Draft("I prefer oat milk.", category="preference")])
    hurry = threading.Event()
    model.always = says(ANSWER, pause=0.25, hurry=hurry)
    said = [Message("user", "I moved to Lisbon last year. What milk do I like?")]
    turn = asker.core.turns.start(asker.principal, said)
    page = asker.goto(f"/turns/{turn.id}")
    answer = page.locator("[data-answer]")
    expect(answer).to_contain_text("You prefer")
    assert not answer.inner_text().endswith("last week.")  # It is still coming.
    expect(page.locator("[data-live]")).to_have_text("running")
    hurry.set()
    expect(page.locator("[data-live]")).to_have_text("completed")
    expect(page.locator("[data-answer]")).to_have_text(ANSWER)
    trace = page.get_by_role("complementary", name="What happened")
    assert trace.get_by_role("heading", level=3).all_inner_texts() == ["Remembered", "Model", "Learned", "Done"]
    expect(trace).to_contain_text("1 memory")
    expect(trace).to_contain_text("100 in, 10 out")
    learned = page.get_by_role("region", name="Learned").get_by_role("link")
    expect(learned.first).to_have_attribute("href", "/dashboard/memories/" + _learned(asker))
    expect(page.get_by_role("region", name="Asked")).to_contain_text("is not kept")
    asker.check_axe()


def _learned(person: Person) -> str:
    turn = person.core.turns.list(person.principal).items[0]
    return person.core.turn_stories.tell(person.principal, turn.id).learned[0].id


def test_page_that_lost_its_connection_goes_on_without_a_gap(
    people: People, speaking: Served, model: ScriptedServer, tenant: str
) -> None:
    words = " ".join(f"word{number}" for number in range(30))
    hurry = threading.Event()
    model.always = says(words, pause=0.1, hurry=hurry)
    with cutting(speaking.url, "/events?") as door:
        person = people.sign_in(tenant, served=Served(door.url, speaking.core))
        person.complaints.expect("ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_EMPTY_RESPONSE", "ERR_CONNECTION")
        turn = person.core.turns.start(person.principal, [Message("user", "Count.")])
        page = person.goto(f"/turns/{turn.id}")
        expect(page.locator("[data-answer]")).to_contain_text("word5")
        assert door.cut() == 1
        expect(page.locator("[data-live]")).to_have_text("reconnecting")
        hurry.set()
        expect(page.locator("[data-live]")).to_have_text("completed", timeout=15_000)
        # Chromium, not the page's reload, went on after the last event that it had.
        assert b"last-event-id" in door.requests[1].lower()
        expect(page.locator("[data-answer]")).to_have_text(words)


def test_who_is_signed_out_meanwhile_is_told_no_more(asker: Person, model: ScriptedServer) -> None:
    model.always = says(" ".join(["word"] * 100), pause=0.1)
    turn = asker.core.turns.start(asker.principal, [Message("user", "Talk.")])
    page = asker.goto(f"/turns/{turn.id}")
    expect(page.locator("[data-answer]")).to_contain_text("word word")
    asker.complaints.expect("401", "MIME type")
    key_id = asker.principal.key_id
    assert key_id is not None
    asker.core.identity.revoke_key(asker.principal, key_id)
    page.wait_for_url("**/dashboard/sign-in?back=*")


def test_failed_turn_says_why(asker: Person, model: ScriptedServer) -> None:
    model.always = fails(401)
    turn = take(asker)
    page = asker.goto("/turns")
    row = page.get_by_role("listitem").filter(has_text="failed")
    row.get_by_role("link").click()
    page.wait_for_url(f"**/{turn.id}")
    assert turn.error is not None
    expect(page.get_by_role("region", name="Answer")).to_contain_text(turn.error["message"])
    expect(page.get_by_role("region", name="Answer").get_by_role("link")).to_have_text(turn.error["code"])


def test_tool_calls_are_shown_with_what_they_asked(asker: Person, model: ScriptedServer) -> None:
    model.scripts.append(says("", [("recall", {"query": HOSTILE})]))
    turn = take(asker, HOSTILE, session="s")
    page = asker.goto(f"/turns/{turn.id}")
    trace = page.get_by_role("complementary", name="What happened")
    expect(trace.get_by_role("heading", name="Tool recall")).to_be_visible()
    expect(trace.get_by_label("Arguments of Tool recall")).to_contain_text("<script>alert(1)</script>")
    expect(page.get_by_role("region", name="Asked")).to_contain_text("{{ 7 * 7 }}")
    assert page.locator("main script, main b").count() == 0


def test_list_goes_back_by_pages(asker: Person) -> None:
    now = asker.core.clock.now()

    def write(tx: Writer) -> None:
        for _ in range(21):
            id_ = new_id("turn")
            turn = Turn(id_, Owner("ada"), id_, TurnStatus.RUNNING, now, lease_until=now, attended_until=now)
            tx.turns.insert(turn)
            tx.turns.finish(replace(turn, status=TurnStatus.COMPLETED, answer="An answer.", completed_at=now))

    asker.core.store.write(asker.principal.tenant, write)
    page = asker.goto("/turns")
    expect(page.locator(".turns > li")).to_have_count(20)
    page.get_by_role("link", name="Older").click()
    expect(page.locator(".turns > li")).to_have_count(1)
    page.get_by_role("link", name="Newest").click()
    expect(page.locator(".turns > li")).to_have_count(20)


def test_page_without_turns_leads_to_the_chat(people: People, ada: Person) -> None:
    page = ada.goto("/turns")
    expect(page.get_by_role("heading", name="No turns yet")).to_be_visible()
    assert page.locator("main form").count() == 0
    page.get_by_role("link", name="Take a turn in the chat").click()
    page.wait_for_url("**/dashboard/chat")
    check_looks(people, ada.principal.tenant, "/turns", person=ada, ready=".empty")


def test_keyboard_alone_opens_a_turn(asker: Person) -> None:
    take(asker)
    page = asker.goto("")
    page.keyboard.press("g")
    page.keyboard.press("t")
    page.wait_for_url("**/dashboard/turns")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/dashboard/turns/turn_*")
    expect(page.locator("[data-live]")).to_have_text("completed")


def test_another_tenant_or_user_sees_no_turn(people: People, asker: Person) -> None:
    turn = take(asker)
    stranger = people.sign_in(new_tenant(), served=asker.served)
    neighbour = people.sign_in(asker.principal.tenant, Role.USER, "bob", served=asker.served)
    for other in (stranger, neighbour):
        other.complaints.expect("404")
        page = other.goto("/turns")
        expect(page.get_by_role("heading", name="No turns yet")).to_be_visible()
        for path in ("", "/events", "/steps"):
            answer = page.request.get(f"{other.served.url}/dashboard/turns/{turn.id}{path}")
            assert answer.status == 404
            assert ANSWER not in answer.text()


def test_stream_needs_a_session_ends_with_the_turn_and_has_nothing_after_it(asker: Person) -> None:
    turn = take(asker)
    address = f"{asker.served.url}/dashboard/turns/{turn.id}/events"
    whole = asker.page.request.get(address)
    assert whole.headers["content-type"].startswith("text/event-stream")
    assert whole.headers["content-security-policy"].startswith("default-src 'none'")
    assert "event: turn.started" in whole.text()
    assert "event: turn.completed" in whole.text()
    last = whole.text().count("\nid: ") + whole.text().startswith("id: ")
    rest = asker.page.request.get(address, headers={"Last-Event-ID": "1"})
    assert "turn.started" not in rest.text()
    assert "turn.completed" in rest.text()
    assert asker.page.request.get(address, headers={"Last-Event-ID": str(last)}).status == 204
    assert asker.page.request.get(address, headers={"Last-Event-ID": "x"}).status == 422
    asker.context.clear_cookies()
    refused = asker.page.request.get(address, max_redirects=0)
    assert refused.status == 303


def test_looks(people: People, asker: Person) -> None:
    asker.core.memories.remember(asker.principal, [Draft(HOSTILE, category="preference")])
    turn = take(asker, HOSTILE + " word" * 2000 + "x" * 300)
    check_looks(people, asker.principal.tenant, "/turns", person=asker, ready=".turns")
    check_looks(people, asker.principal.tenant, f"/turns/{turn.id}", person=asker, ready=".steps")
