"""Conversations in the browser: listed, read with what was learned beside the words, searched, and let go."""

from datetime import UTC, datetime

from playwright.sync_api import Page, expect

from memorist.ingestion.service import Message
from memorist.memories.values import Draft, Kind, Memory, Status
from memorist.platform.values import Role
from memorist.testing import new_tenant
from tests.dashboard.conftest import People, Person
from tests.dashboard.sweeps import check_looks

HOSTILE = "<script>alert(1)</script> <b>bold</b> \u202eevil\u202c {{ 7 * 7 }} " + "w" * 600
SAID_AT = datetime(2024, 5, 8, 12, 30, tzinfo=UTC)
READ = "/conversations/read?session=s1&user=ada"


def say(person: Person, *texts: str, session: str = "s1") -> list[Memory]:
    messages = [Message("user", text, "Ada", SAID_AT) for text in texts]
    added = person.core.ingestion.add_messages(person.principal, session, messages, extract=False)
    return [one.memory for one in added]


def learn(person: Person, source: Memory, content: str, excerpt: str) -> Memory:
    meta = {"message_id": source.id, "session_id": source.session}
    return person.remember(content, excerpt=excerpt, meta=meta, source_ref=source.id)[0]


def talk(person: Person) -> tuple[list[Memory], Memory]:
    """A short conversation with a tool and a fact."""
    said = say(person, "Hello there.", "By the way, I drink green tea every day.", HOSTILE)
    principal = person.principal
    person.core.ingestion.add_tool_output(principal, "s1", tool_call_id="c", tool_name="clock", content="It is noon.")
    return said, learn(person, said[1], "Ada drinks green tea every day.", "green tea every day")


def test_nothing_said_offers_the_next_step(people: People, ada: Person) -> None:
    page = ada.goto("/conversations")
    expect(page.get_by_role("heading", name="No conversations yet")).to_be_visible()
    check_looks(people, ada.principal.tenant, "/conversations", person=ada)


def test_list_leads_to_the_transcript_with_facts_beside_their_words(people: People, ada: Person) -> None:
    said, fact = talk(ada)
    page = ada.goto("/conversations")
    row = page.locator(".talks > li")
    expect(row).to_contain_text("Ada")
    expect(row).to_contain_text("4 lines")
    check_looks(people, ada.principal.tenant, "/conversations", person=ada)
    ada.goto("/conversations")
    row.get_by_role("link", name="Hello there.").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Hello there.")
    expect(page.locator(".transcript > li")).to_have_count(4)
    expect(page.locator(f"#{said[0].id}")).to_contain_text("2024-05-08 12:30:00 UTC")
    assert page.locator("main script, main .line b b").count() == 0
    line = page.locator(f"#{said[1].id}")
    expect(line.locator("mark")).to_have_text("green tea every day")
    line.locator("a.rests").click()
    assert page.url.endswith(f"#fact-{said[1].id}-{fact.id}")
    line.get_by_role("link", name="Its words").click()
    assert page.url.endswith(f"#{said[1].id}")
    line.get_by_role("link", name=fact.content).click()
    page.wait_for_url(f"**/memories/{fact.id}")
    page.get_by_role("link", name="Read the conversation").click()
    expect(page.locator(f"#{said[1].id}")).to_have_attribute("aria-current", "true")
    check_looks(people, ada.principal.tenant, READ, person=ada, ready=".transcript", prepare=unfold)


def test_agents_words_are_read_as_markdown_and_a_persons_as_typed(ada: Person) -> None:
    said = [
        Message("user", "I *mean* it.\n- no list"),
        Message("assistant", "# Plan\n\n**Two** steps:\n\n1. Knock\n2. Enter"),
    ]
    ada.core.ingestion.add_messages(ada.principal, "plans", said)
    page = ada.goto("/conversations/read?session=plans&user=ada")
    lines = page.locator(".transcript .line")
    expect(lines.first).to_contain_text("I *mean* it.")
    assert lines.first.locator("em, li").count() == 0
    expect(lines.last.locator("strong")).to_have_text(["Plan", "Two"])
    assert lines.last.locator("ol li").all_inner_texts() == ["Knock", "Enter"]
    ada.check_axe()


def unfold(page: Page) -> None:
    page.locator(".transcript details summary").click()


def test_who_spoke_without_a_name_is_said_in_the_language_of_the_page(people: People, ada: Person) -> None:
    ada.remember("Hello there.", kind=Kind.CHAT_MESSAGE, session="s1", meta={})
    ada.remember("It is noon.", kind=Kind.TOOL_OUTPUT, session="s1", meta={})
    expect(ada.goto(READ).locator(".line")).to_contain_text(["somebody", "a tool"])
    bert = people.sign_in(ada.principal.tenant, locale="de-DE")
    expect(bert.goto(READ).locator(".line")).to_contain_text(["jemand", "ein Werkzeug"])


def test_tool_output_is_folded(ada: Person) -> None:
    talk(ada)
    page = ada.goto(READ)
    expect(page.get_by_text("It is noon.")).to_be_hidden()
    unfold(page)
    expect(page.get_by_text("It is noon.")).to_be_visible()


def test_keyboard_alone_opens_a_conversation_and_searches_it(ada: Person) -> None:
    talk(ada)
    page = ada.goto("")
    page.keyboard.press("g")
    page.keyboard.press("c")
    page.wait_for_url("**/dashboard/conversations")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/conversations/read?**")
    page.keyboard.press("/")
    expect(page.locator("[data-search]")).to_be_focused()
    page.keyboard.type("GREEN day")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="1 line found")).to_be_visible()
    assert page.locator(".transcript mark").all_inner_texts() == ["green", "day"]
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**near=mem_**")
    expect(page.locator("[aria-current=true]")).to_contain_text("green tea")


def test_long_conversation_goes_on_by_parts(ada: Person) -> None:
    say(ada, *(f"line {number}" for number in range(70)))
    page = ada.goto(READ)
    expect(page.locator(".transcript > li")).to_have_count(60)
    page.get_by_role("link", name="Later lines").click()
    expect(page.locator(".transcript > li")).to_have_count(10)
    page.get_by_role("link", name="Earlier lines").click()
    expect(page.locator(".transcript > li")).to_have_count(60)


def test_imported_conversation_stands_where_it_was_said(ada: Person) -> None:
    ada.core.ingestion.add_messages(ada.principal, "now", [Message("user", "Said just now.", "Ada")], extract=False)
    say(ada, "Said long ago.", session="then")
    page = ada.goto("/conversations")
    expect(page.locator(".talks > li")).to_contain_text(["Said just now.", "Said long ago."])


def test_list_goes_back_by_pages(ada: Person) -> None:
    for number in range(21):
        say(ada, f"talk {number}", session=f"s{number}")
    page = ada.goto("/conversations")
    expect(page.locator(".talks > li")).to_have_count(20)
    page.get_by_role("link", name="Older").click()
    expect(page.locator(".talks > li")).to_have_count(1)
    page.get_by_role("link", name="Latest").click()
    expect(page.locator(".talks > li")).to_have_count(20)


def test_what_would_go_is_shown_before_it_is_deleted(people: People, ada: Person) -> None:
    said, fact = talk(ada)
    page = ada.goto(READ)
    page.get_by_role("link", name="Show what would go").click()
    leave = page.get_by_role("region", name="Delete this conversation")
    expect(leave).to_contain_text("4 lines would go. 1 fact learned from it alone stays unless you say otherwise.")
    check_looks(people, ada.principal.tenant, READ.replace("/read", "/leaving"), person=ada)
    ada.goto(READ)
    page.get_by_role("link", name="Show what would go").click()
    leave.get_by_role("button", name="Delete").click()
    page.wait_for_url("**/dashboard/conversations")
    expect(page.locator("#toasts")).to_contain_text("4 deleted.")
    expect(page.get_by_role("heading", name="No conversations yet")).to_be_visible()
    assert ada.core.memories.get(ada.principal, fact.id).status is Status.ACTIVE
    assert ada.core.dossiers.get(ada.principal, said[0].id).memory.status is Status.SOFT_DELETED


def test_erasing_needs_the_word_and_gives_a_receipt(ada: Person) -> None:
    said, fact = talk(ada)
    page = ada.goto(READ.replace("/read", "/leaving"))
    csrf = page.locator("[name=csrf]").first.get_attribute("value") or ""
    refused = page.request.post(
        f"{ada.served.url}/dashboard/conversations/erase", form={"csrf": csrf, "session": "s1", "user": "ada"}
    )
    assert "Nothing was erased" in refused.text()
    page.get_by_text("Erase for good…").click()
    form = page.locator(".erase form")
    form.get_by_label("learned from it alone").check()
    form.get_by_label("Type “erase” to confirm").fill("erase")
    form.get_by_role("button", name="Erase for good").click()
    page.wait_for_url("**/privacy/receipts/rcpt_*")
    gone = [*(one.id for one in said), fact.id]
    assert ada.core.store.read(ada.principal.tenant, lambda tx: tx.memories.get_many(gone)) == []


def test_reader_reads_and_is_offered_nothing(ada: Person, reader: Person) -> None:
    talk(ada)
    page = reader.goto(READ)
    expect(page.locator(".transcript > li")).to_have_count(4)
    assert page.get_by_role("region", name="Delete this conversation").count() == 0
    csrf = page.locator("[name=csrf]").first.get_attribute("value") or ""
    for path in ("forget", "erase"):
        address = f"{reader.served.url}/dashboard/conversations/{path}"
        answer = page.request.post(address, form={"csrf": csrf, "session": "s1", "user": "ada", "confirm": "erase"})
        assert answer.status == 403
    assert page.request.get(f"{reader.served.url}/dashboard{READ.replace('/read', '/leaving')}").status == 403


def test_another_tenant_or_user_sees_no_conversation(people: People, ada: Person) -> None:
    said, _ = talk(ada)
    stranger = people.sign_in(new_tenant(), Role.ADMIN, "ada")
    neighbour = people.sign_in(ada.principal.tenant, Role.USER, "bob")
    for other in (stranger, neighbour):
        page = other.goto("/conversations")
        expect(page.get_by_role("heading", name="No conversations yet")).to_be_visible()
        for path in (READ, f"{READ}&near={said[1].id}", f"{READ}&q=tea", READ.replace("/read", "/leaving")):
            answer = page.request.get(f"{other.served.url}/dashboard{path}")
            assert answer.status == 404
            assert "green tea" not in answer.text()


def test_admin_of_everybody_sees_whose_it_is(people: People, ada: Person) -> None:
    talk(ada)
    ada.core.memories.remember(ada.principal, [Draft("not said")])
    admin = people.sign_in(ada.principal.tenant, Role.ADMIN, None)
    page = admin.goto("/conversations")
    expect(page.locator(".talks > li")).to_contain_text("of ada")
    page.get_by_role("link", name="Hello there.").click()
    expect(page.locator(".transcript > li")).to_have_count(4)
