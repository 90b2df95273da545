"""Chat: answered live with what memory put in, kept or only tried, and nothing lost where the model fails."""

import threading
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from memorist.errors import LlmNotConfigured
from memorist.facts.values import Doubt
from memorist.ids import new_id
from memorist.memories.values import Draft, Governor, Kind, Memory
from memorist.platform.values import Role
from memorist.ports import Writer
from memorist.turns import work as turn_work
from tests.dashboard.conftest import People, Person
from tests.dashboard.sweeps import check_looks, check_page
from tests.http.conftest import Served, serving
from tests.support.browser import PHONE
from tests.support.scripted_http import Body, Reply, ScriptedServer, scripted_server
from tests.support.talking import fails, says
from tests.turns.conftest import turn_settings

ANSWER = "You like oat milk best."
HOSTILE = "<script>alert(1)</script> <b>bold</b> \u202eevil\u202c {{ 7 * 7 }}"


@pytest.fixture(scope="module")
def talking() -> Iterator[ScriptedServer]:
    with scripted_server(says(ANSWER)) as server:
        yield server


@pytest.fixture(scope="module")
def speaking(talking: ScriptedServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(turn_settings(tmp_path_factory.mktemp("chat"), talking.url, llm_timeout_s=1)) as server:
        yield server


@pytest.fixture
def model(talking: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> ScriptedServer:
    monkeypatch.setattr(turn_work, "_LONGEST_WAIT_S", 0.0)
    talking.scripts.clear()
    talking.requests.clear()
    talking.always = says(ANSWER)
    return talking


@pytest.fixture
def talker(people: People, speaking: Served, model: ScriptedServer, tenant: str) -> Person:  # noqa: ARG001
    """An admin who is also ada, on the server that has a model."""
    return people.sign_in(tenant, served=speaking)


def send(page: Page, text: str) -> None:
    page.get_by_label("Your message").fill(text)
    page.get_by_role("button", name="Send").click()


def last(page: Page) -> Locator:
    return page.locator(".exchange").last


def is_over(page: Page, count: int, state: str = "completed") -> Locator:
    """Wait until so many exchanges are there, and the last is over."""
    expect(page.locator(".exchange")).to_have_count(count)
    expect(last(page).locator("[data-live]")).to_have_text(state)
    return last(page)


def messages(request: Body) -> list[tuple[str, str]]:
    return [(one["role"], one["content"]) for one in request["messages"] if one["role"] != "system"]


def said(person: Person) -> list[str]:
    return [one.content for one in person.core.memories.list(person.principal, kind=Kind.CHAT_MESSAGE).items][::-1]


# With a model


def test_answer_is_live_with_what_memory_put_in_and_what_was_learned(talker: Person, model: ScriptedServer) -> None:
    [known] = talker.remember("I prefer oat milk.", category="preference")
    hurry = threading.Event()
    model.always = says(ANSWER, pause=0.25, hurry=hurry)
    page = talker.goto("/chat")
    send(page, "I moved to Lisbon last year. What milk do I like?")
    expect(last(page).locator("[data-answer]")).to_contain_text("You like")
    expect(last(page).locator("[data-live]")).to_have_text("running")
    memory = last(page).get_by_label("From memory")
    expect(memory.get_by_role("link", name="I prefer oat milk.")).to_have_attribute(
        "href", f"/dashboard/memories/{known.id}"
    )
    expect(memory.locator("[data-tokens]")).to_contain_text("of 5,000 tokens")
    expect(memory.locator(".share")).to_contain_text("tokens, 0.")
    assert last(page).get_by_label("Learned").count() == 0
    hurry.set()
    over = is_over(page, 1)
    expect(over.locator("[data-answer]")).to_have_text(ANSWER)
    expect(over.get_by_label("Learned").get_by_role("link").first).to_contain_text("Lisbon")
    expect(page.get_by_label("Your message")).to_have_value("")
    expect(page.get_by_label("Your message")).to_be_focused()
    check_page(talker)


def test_answer_is_read_as_markdown_once_it_is_whole(talker: Person, model: ScriptedServer) -> None:
    model.always = says("**Yes.** <b>No</b>\n\n- oat milk\n- soy milk")
    page = talker.goto("/chat")
    send(page, "What milk?")
    answer = is_over(page, 1).locator("[data-answer]")
    expect(answer.locator("strong")).to_have_text("Yes.")
    expect(answer.locator("li")).to_have_text(["oat milk", "soy milk"])
    expect(answer).to_contain_text("<b>No</b>")


def test_next_message_is_close_however_much_memory_put_in(talker: Person) -> None:
    talker.remember(*(f"I want to see the town number {number} one day." for number in range(60)), category="goal")
    page = talker.goto("/chat")
    send(page, "Where shall we go?")
    over = is_over(page, 1)
    expect(over.locator(".told li").nth(10)).to_be_attached()
    box = over.bounding_box()
    assert box is not None and box["height"] < 900  # noqa: PT018


def test_chat_is_a_conversation_that_goes_on_after_the_page_was_left(talker: Person, model: ScriptedServer) -> None:
    page = talker.goto("/chat")
    send(page, "yes")
    is_over(page, 1)
    session = page.url.partition("session=")[2]
    assert session.startswith("chat_")
    page.reload()
    is_over(page, 1)
    expect(last(page).locator("[data-asked]")).to_have_text("yes")
    send(page, "yes")
    is_over(page, 2)
    assert messages(model.requests[1].body) == [("user", "yes"), ("assistant", ANSWER), ("user", "yes")]
    assert said(talker) == ["yes", ANSWER, "yes", ANSWER]
    page.goto(f"{talker.served.url}/dashboard/conversations/read?session={session}&user=ada")
    expect(page.get_by_role("main")).to_contain_text(ANSWER)
    page.get_by_role("link", name="Go on with this chat").click()
    is_over(page, 2)


def test_what_is_only_tried_is_not_remembered(talker: Person, model: ScriptedServer) -> None:
    page = talker.goto("/chat")
    page.get_by_label("Keep this chat").uncheck()
    send(page, "I moved to Lisbon last year.")
    expect(is_over(page, 1).get_by_label("Learned")).to_contain_text("not kept")
    assert page.get_by_label("Keep this chat").count() == 0
    expect(page.locator("[data-kept]")).to_contain_text("not kept")
    assert "session=" not in page.url
    send(page, "And now?")
    is_over(page, 2)
    # The page itself knows what was said.
    assert [text for _, text in messages(model.requests[-1].body)] == [
        "I moved to Lisbon last year.",
        ANSWER,
        "And now?",
    ]
    assert talker.core.memories.list(talker.principal).items == ()
    check_page(talker)


def test_model_is_told_nothing_where_memory_is_off(talker: Person, model: ScriptedServer) -> None:
    talker.remember("I prefer oat milk.", category="preference")
    page = talker.goto("/chat")
    page.get_by_label("Tell the model").uncheck()
    send(page, "What milk do I like?")
    expect(is_over(page, 1).get_by_label("From memory")).to_contain_text("Nothing of what is remembered was told.")
    assert "oat milk" not in str(model.requests[0].body["messages"])


def test_what_was_replaced_and_is_in_doubt_is_shown(talker: Person) -> None:
    page = talker.goto("/chat")
    send(page, "I live in Lisbon now. I am allergic to peanuts.")
    is_over(page, 1)
    core, principal = talker.core, talker.principal
    turn = core.turns.list(principal).items[0]
    learned = core.turn_stories.tell(principal, turn.id).learned
    old, other = talker.remember("The user lives in Rome.", "The user eats peanuts.", governed_by=Governor.AGENT_TOOLS)
    _judge(talker, learned[0], old, other)
    page.reload()
    part = is_over(page, 1).get_by_label("Learned")
    expect(part.get_by_role("listitem").filter(has_text="Rome")).to_contain_text("replaced")
    expect(part.get_by_role("listitem").filter(has_text="eats peanuts")).to_contain_text("in doubt")
    part.get_by_role("link", name="Decide").click()
    page.wait_for_url("**/dashboard/doubts")


def _judge(person: Person, learned: Memory, old: Memory, other: Memory) -> None:
    core = person.core
    now = core.clock.now()

    def work(tx: Writer) -> None:
        assert core.facts.retire(tx, person.principal, old, learned, {"reason": "It changed.", "judge": "test"})
        doubt = Doubt(new_id("dbt"), learned.owner, learned.id, other.id, "Both?", "test", now, now)
        assert tx.facts.insert_doubt(doubt)

    core.store.write(person.principal.tenant, work)


def test_tools_that_the_model_called_are_shown(talker: Person, model: ScriptedServer) -> None:
    talker.remember("The harbour is behind the old mill.")
    model.scripts.append(says("", [("recall", {"query": HOSTILE})]))
    page = talker.goto("/chat")
    send(page, HOSTILE)
    over = is_over(page, 1)
    expect(over.get_by_label("From memory")).to_contain_text("Tool recall")
    expect(over.get_by_label("From memory")).to_contain_text("<script>alert(1)</script>")
    assert page.locator("main script, main b").count() == 0


# A model that fails


@pytest.mark.parametrize(
    ("script", "says_why"),
    [
        (fails(429, Retry_After="0"), "asked too often"),
        (fails(401), "answered 401"),
        (lambda reply, _: reply.hang_up(), "cannot be reached"),
        (says("Half of it", cut_after=1), "takes too long"),
    ],
    ids=["rate limited", "refused", "hung up", "cut off"],
)
def test_failure_is_told_and_nothing_is_lost(
    talker: Person, model: ScriptedServer, script: Callable[[Reply, Body], None], says_why: str
) -> None:
    model.always = script
    page = talker.goto("/chat")
    send(page, "I moved to Lisbon last year.")
    failed = is_over(page, 1, "failed")
    expect(failed.get_by_role("alert")).to_contain_text(says_why)
    expect(page.get_by_label("Your message")).to_have_value("I moved to Lisbon last year.")
    expect(failed.get_by_label("Learned")).to_contain_text("Lisbon")
    talker.check_axe()
    page.reload()
    expect(page.get_by_label("Your message")).to_have_value("I moved to Lisbon last year.")
    model.always = says(ANSWER)
    page.get_by_role("button", name="Send").click()
    is_over(page, 2)
    assert messages(model.requests[-1].body) == [("user", "I moved to Lisbon last year.")]
    assert said(talker) == ["I moved to Lisbon last year.", ANSWER]


def test_model_that_hangs_is_given_up_and_one_waits_for_it(talker: Person, model: ScriptedServer) -> None:
    asked = threading.Event()

    def hang(_: Reply, __: Body) -> None:
        asked.set()
        model.released.wait()

    model.always = hang
    page = talker.goto("/chat")
    send(page, "Hello.")
    assert asked.wait(30)
    expect(last(page)).to_contain_text("is given up after 300 seconds")
    page.get_by_label("Your message").fill("Are you there?")
    page.keyboard.press("Enter")
    expect(page.locator("#chat-note")).to_contain_text("still coming")
    failed = is_over(page, 1, "failed")
    expect(failed.get_by_role("alert")).to_contain_text("took longer than MEMORIST_LLM_TIMEOUT_S allows")
    # What was typed meanwhile stays.
    expect(page.get_by_label("Your message")).to_have_value("Are you there?")


def test_spent_budget_leaves_the_message_in_the_box(
    people: People, model: ScriptedServer, tenant: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    settings = turn_settings(tmp_path_factory.mktemp("spent"), model.url, turn_budget_usd=0.0000001)
    with serving(settings) as served:
        person = people.sign_in(tenant, served=served)
        page = person.goto("/chat")
        send(page, "First.")
        is_over(page, 1)
        send(page, "Second.")
        expect(page.locator("#toasts")).to_contain_text("budget")
        expect(page.get_by_label("Your message")).to_have_value("Second.")
        expect(page.locator(".exchange")).to_have_count(1)
        assert len(model.requests) == 1


def test_session_of_an_agent_does_not_go_on_here(talker: Person) -> None:
    page = talker.goto("/chat")
    answer = page.request.get(f"{talker.served.url}/dashboard/chat?session=s1")
    assert answer.status == 422
    assert "began as a chat" in answer.text()


# Without


def test_without_a_model_the_composed_context_is_shown_alone(ada: Person) -> None:
    [known] = ada.remember("The user lives in Lisbon.", kind=Kind.FACT)
    ada.remember("The harbour is behind the old mill.")
    page = ada.goto("/chat")
    expect(page.locator(".notice")).to_contain_text(LlmNotConfigured().message)
    assert page.get_by_label("Your message").count() == 0
    page.get_by_label("Question").fill("Where is the harbour?")
    page.get_by_label("Budget in tokens").fill("400")
    page.get_by_role("button", name="Show").click()
    memory = page.get_by_role("region", name="From memory")
    expect(memory.locator("[data-tokens]")).to_contain_text("of 400 tokens")
    expect(memory.get_by_role("link", name="The user lives in Lisbon.")).to_have_attribute(
        "href", f"/dashboard/memories/{known.id}"
    )
    expect(memory).to_contain_text("The harbour is behind the old mill.")
    expect(memory.locator("pre")).to_contain_text("<memories>")
    assert ada.core.recall_history.of(ada.principal, known.id) == []
    # The address says the same.
    page.reload()
    expect(page.get_by_role("region", name="From memory").locator("[data-tokens]")).to_contain_text("of 400 tokens")
    expect(page.get_by_label("Question")).to_have_value("Where is the harbour?")


def test_reader_sees_the_context_and_may_not_chat(people: People, talker: Person, model: ScriptedServer) -> None:
    talker.remember("The harbour is behind the old mill.")
    reader = people.sign_in(talker.principal.tenant, Role.READER, "ada", served=talker.served)
    page = reader.goto("/chat?q=harbour")
    expect(page.locator(".notice").first).to_contain_text("This key only reads")
    expect(page.get_by_role("region", name="From memory")).to_contain_text("old mill")
    assert page.get_by_label("Your message").count() == 0
    csrf = str(page.locator("[name=csrf]").first.get_attribute("value"))
    form = {"csrf": csrf, "message": "hi", "keep": "yes"}
    for more in ({}, {"keep": ""}):
        assert page.request.post(f"{reader.served.url}/dashboard/chat", form=form | more).status == 403
    assert model.requests == []


def test_another_user_sees_nothing_of_a_chat(people: People, talker: Person) -> None:
    page = talker.goto("/chat")
    send(page, "A secret plan.")
    is_over(page, 1)
    path = page.url.partition("/dashboard")[2]
    turn = talker.core.turns.list(talker.principal).items[0]
    neighbour = people.sign_in(talker.principal.tenant, Role.USER, "bob", served=talker.served)
    page = neighbour.goto(path)
    expect(page.get_by_role("heading", name="Chat", exact=True)).to_be_visible()
    assert "secret plan" not in page.content()
    for part in ("", "/memory"):
        assert page.request.get(f"{talker.served.url}/dashboard/chat/turns/{turn.id}{part}").status == 404


def test_it_works_without_scripts(people: People, speaking: Served, model: ScriptedServer, tenant: str) -> None:  # noqa: ARG001
    person = people.sign_in(tenant, served=speaking, java_script_enabled=False)
    page = person.goto("/chat")
    send(page, "What milk do I like?")
    page.wait_for_url("**/dashboard/chat?session=chat_*")
    turn = person.core.turns.list(person.principal).items[0]
    for _ in person.core.turns.follow(person.principal, turn.id):
        pass
    page.reload()
    expect(page.locator("[data-answer]")).to_have_text(ANSWER)


# Every look


def test_keyboard_alone_chats(talker: Person) -> None:
    page = talker.goto("")
    page.keyboard.press("g")
    page.keyboard.press("k")
    page.wait_for_url("**/dashboard/chat")
    page.keyboard.press("/")
    expect(page.get_by_label("Your message")).to_be_focused()
    page.keyboard.type("One")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("two")
    page.keyboard.press("Enter")
    expect(is_over(page, 1).locator("[data-asked]")).to_have_text("One\ntwo")
    page.keyboard.type("Three")
    page.keyboard.press("Enter")
    is_over(page, 2)


def test_looks(people: People, talker: Person) -> None:
    talker.core.memories.remember(talker.principal, [Draft(HOSTILE, category="preference")])
    page = talker.goto("/chat")
    check_page(talker)
    send(page, HOSTILE + " word" * 300 + "x" * 300)
    is_over(page, 1)
    path = page.url.partition("/dashboard")[2]
    check_looks(people, talker.principal.tenant, path, person=talker, ready=".exchange")
    page.set_viewport_size(PHONE)
    answer, memory = (page.locator(one).bounding_box() for one in (".answer", ".reply .memory"))
    assert answer is not None
    assert memory is not None
    assert memory["y"] >= answer["y"] + answer["height"], "stacked on a phone"


def test_looks_without_a_model(people: People, ada: Person) -> None:
    ada.remember(HOSTILE, category="preference")
    check_looks(people, ada.principal.tenant, "/chat?q=bold", person=ada, ready=".told")
