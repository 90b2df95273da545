"""The page of one memory: its source, its versions, its life, and everything that can be done to it."""

import pytest
from playwright.sync_api import Page, expect

from memorist.context.companion import Category
from memorist.ingestion.service import Message
from memorist.memories.values import Draft, Kind, Memory, Status
from memorist.platform.values import Owner, Role
from memorist.recall.values import Question
from memorist.surfaces.dashboard.pages.memory_story import line_of
from memorist.surfaces.dashboard.word_diff import overlaid
from memorist.testing import make_memory, new_tenant
from tests.dashboard.conftest import People, Person
from tests.dashboard.sweeps import check_looks, check_page

HOSTILE = (
    "<script>document.title = 'owned'</script><img src=x onerror=alert(1)>\n"
    '\u202eright to left\u202c {{ 7 * 7 }} \' onmouseover="alert(1)" \U0001f9e0\U0001f469\u200d\U0001f680 '
)


@pytest.fixture
def learned(ada: Person) -> Memory:
    """A fact with a source in a conversation, an edit, one that it replaced, and a question that found it."""
    core, who = ada.core, ada.principal
    texts = ("Hello!", "What is new?", "I moved to Lisbon, and it rains.", "Noted.", "Bye.")
    said = core.ingestion.add_messages(who, "planning", [Message("user", text) for text in texts])
    source = said[2].memory
    meta = {"message_id": source.id, "extractor": "rules", "session_id": "planning"}
    older = ada.remember("Ada lives in Berlin.")[0]
    draft = Draft("Ada lives in Lisbon.", excerpt="I moved to Lisbon", source_ref=source.id, meta=meta)
    fact = core.memories.remember(who, [draft])[0].memory
    details = {"reason": "One lives in one city.", "judge": "rules", "confidence": 0.9}
    core.store.write(
        who.tenant, lambda tx: core.facts.retire(tx, who, tx.memories.get(older.id), tx.memories.get(fact.id), details)
    )
    core.memories.edit(who, fact.id, {"content": "Ada lives in sunny Lisbon."})
    core.recall.recall(who, Question("Where in Lisbon?", min_score=0.0))
    return core.memories.get(who, fact.id)


def state_of(person: Person, memory: Memory) -> Status | None:
    found = person.core.store.read(memory.tenant, lambda tx: tx.memories.get(memory.id))
    return None if found is None else found.status


def section(page: Page, title: str):
    return page.get_by_role("region", name=title)


# What it shows


def test_source_versions_recalls_and_events_are_shown(ada: Person, learned: Memory) -> None:
    page = ada.goto(f"/memories/{learned.id}")
    expect(page.get_by_role("heading", level=1)).to_have_text("Fact")
    origin = section(page, "Where it comes from")
    expect(origin.get_by_role("listitem")).to_have_count(5)
    expect(origin.locator("li[aria-current]")).to_contain_text("its source")
    expect(origin.locator("mark")).to_have_text("I moved to Lisbon")
    versions = section(page, "How it changed").get_by_role("listitem")
    expect(versions).to_have_count(3)
    expect(versions.nth(0).locator("ins")).to_have_text("sunny ")
    expect(versions.nth(1).locator("del")).to_have_text("Berlin")
    expect(versions.nth(1).locator("ins")).to_have_text("Lisbon")
    expect(versions.nth(1)).to_contain_text("One lives in one city.")
    recalls = section(page, "Why it was recalled").get_by_role("listitem")
    expect(recalls).to_contain_text("Where in Lisbon?")
    expect(recalls).to_contain_text("ada")
    events = section(page, "What happened to it").get_by_role("listitem")
    expect(events).to_have_count(3)
    expect(events.last).to_contain_text("Remembered")
    # From here to the older version, which says what took its place.
    versions.nth(2).get_by_role("link", name="Open").click()
    expect(page.get_by_text("took its place.")).to_be_visible()
    page.get_by_role("link", name="Another fact").click()
    page.wait_for_url(f"**/memories/{learned.id}")


def test_source_leads_to_its_message(ada: Person, learned: Memory) -> None:
    page = ada.goto(f"/memories/{learned.id}")
    page.locator("li.source").get_by_role("link", name="Open").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Message")
    expect(page.get_by_text("kept word for word")).to_be_visible()
    expect(page.get_by_role("link", name="Edit")).to_have_count(0)
    expect(page.locator("li.source")).to_contain_text("this one")


def test_session_in_which_nothing_was_said_is_no_conversation(ada: Person) -> None:
    (memory,) = ada.remember("Written in a session.", session="alone")
    origin = section(ada.goto(f"/memories/{memory.id}"), "Where it comes from")
    expect(origin).to_contain_text("No conversation is linked to it.")
    expect(origin.get_by_role("link", name="Read the conversation")).to_have_count(0)


def test_chunk_has_its_headings_and_neighbours_and_an_output_its_whole(ada: Person) -> None:
    core, who = ada.core, ada.principal
    text = "# Handbook\n\n" + "\n\n".join(f"## Part {n}\n\n" + f"What part {n} says. " * 60 for n in range(3))
    core.ingestion.add_document(who, title="Handbook", content=text, media_type="text/markdown", shared=False)
    chunks = sorted(core.memories.list(who, kind=Kind.DOCUMENT_CHUNK, limit=50).items, key=lambda one: one.id)
    page = ada.goto(f"/memories/{chunks[1].id}")
    origin = section(page, "Where it comes from")
    expect(origin).to_contain_text("Handbook ›")
    expect(origin.get_by_role("listitem")).to_have_count(3)
    whole = "<b>09:00</b> nothing\n" * 1000
    output = core.ingestion.add_tool_output(who, "s", tool_call_id="c", tool_name="calendar", content=whole).memory
    page = ada.goto(f"/memories/{output.id}")
    page.get_by_role("link", name="Read all 21,000 characters").click()
    page.wait_for_url("**/output")
    assert page.inner_text("pre").strip() == whole.strip()
    with page.expect_download() as download:
        page.get_by_role("link", name="Save as a file").click()
    assert download.value.path().read_text() == whole


# What can be done


def test_archive_restore_and_delete_with_undo(ada: Person) -> None:
    memory = ada.remember("The kettle is blue.")[0]
    page = ada.goto(f"/memories/{memory.id}")
    life = section(page, "Its life")
    expect(life.locator("[aria-current=step]")).to_contain_text("Active")
    life.get_by_role("button", name="Archive").click()
    expect(life.locator("[aria-current=step]")).to_contain_text("Archived")
    assert state_of(ada, memory) is Status.ARCHIVED
    expect(life.get_by_role("button", name="Archive")).to_have_count(0)
    life.get_by_role("button", name="Restore").click()
    expect(life.locator("[aria-current=step]")).to_contain_text("Active")
    life.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("It can be restored until")).to_be_visible()
    assert state_of(ada, memory) is Status.SOFT_DELETED
    page.get_by_role("button", name="Undo").click()
    expect(life.locator("[aria-current=step]")).to_contain_text("Active")
    assert state_of(ada, memory) is Status.ACTIVE


def test_restore_that_clashes_says_so_and_leaves_the_page(ada: Person) -> None:
    memory = ada.remember("The kettle is blue.")[0]
    ada.core.retention.delete(ada.principal, memory.id)
    ada.remember("The kettle is blue.")
    page = ada.goto(f"/memories/{memory.id}")
    page.get_by_role("button", name="Restore").click()
    expect(page.locator("[data-toast]")).to_contain_text("already remembered")
    expect(page.get_by_role("heading", level=1)).to_have_text("Fact")


def test_erasing_takes_a_typed_word_and_gives_a_receipt(ada: Person) -> None:
    memory = ada.remember("The kettle is blue.")[0]
    page = ada.goto(f"/memories/{memory.id}")
    page.get_by_text("Erase for good…").click()
    confirm = page.get_by_label("to confirm")
    confirm.fill("yes")
    page.get_by_role("button", name="Erase for good").click()
    assert page.evaluate("document.querySelector('#confirm').validity.patternMismatch")
    # Whoever gets past the browser is stopped by the server.
    page.eval_on_selector("#confirm", "box => box.removeAttribute('pattern')")
    page.get_by_role("button", name="Erase for good").click()
    expect(page.locator("[data-toast]")).to_contain_text("Nothing was erased")
    assert state_of(ada, memory) is Status.ACTIVE
    page.get_by_text("Erase for good…").click()
    page.get_by_label("to confirm").fill("erase")
    page.get_by_role("button", name="Erase for good").click()
    page.wait_for_url("**/privacy/receipts/rcpt_*")
    assert state_of(ada, memory) is None
    ada.complaints.expect("404")
    ada.goto(f"/memories/{memory.id}")
    expect(page.get_by_text("There is no memory")).to_be_visible()


def test_edit_with_the_keyboard_alone(ada: Person) -> None:
    memory = ada.remember("The kettle is blue.", category="home")[0]
    page = ada.goto(f"/memories/{memory.id}")
    page.get_by_role("link", name="Edit").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/edit")
    page.get_by_label("What is true").focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("The kettle is red.")
    page.keyboard.press("Tab")
    page.keyboard.press("Control+A")
    page.keyboard.type("kitchen")
    for _ in range(3):
        page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Save")).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/memories/{memory.id}")
    edited = ada.core.memories.get(ada.principal, memory.id)
    assert (edited.content, edited.category) == ("The kettle is red.", "kitchen")
    expect(section(page, "How it changed").locator("ins").first).to_have_text("red")
    # On with the keyboard: delete, and bring it back.
    page.get_by_role("button", name="Delete").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("It can be restored until")).to_be_visible()
    page.get_by_role("button", name="Restore").focus()
    page.keyboard.press("Enter")
    expect(page.locator("[aria-current=step]")).to_contain_text("Active")


def test_type_of_a_named_memory_is_chosen_among_the_four(ada: Person) -> None:
    memory = ada.remember("Never mock a database.", name="feedback_tests", category="feedback")[0]
    page = ada.goto(f"/memories/{memory.id}/edit")
    kind = page.get_by_label("Type")
    assert kind.locator("option").all_text_contents() == ["user", "feedback", "project", "reference"]
    expect(kind).to_have_value("feedback")
    kind.select_option("project")
    page.get_by_role("button", name="Save").click()
    page.wait_for_url(f"**/memories/{memory.id}")
    assert ada.core.memories.get(ada.principal, memory.id).category == "project"


def test_saving_without_a_change_changes_nothing(ada: Person) -> None:
    memory = ada.remember("Two lines\nof text.")[0]
    page = ada.goto(f"/memories/{memory.id}/edit")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("[data-toast]")).to_contain_text("Nothing was changed")
    assert ada.core.memories.get(ada.principal, memory.id).version == memory.version


def test_stale_edit_is_refused_and_nothing_typed_is_lost(ada: Person) -> None:
    memory = ada.remember("The kettle is blue.", category="home", project="old")[0]
    page = ada.goto(f"/memories/{memory.id}/edit")
    page.get_by_label("What is true").fill("The kettle is blue and loud.")
    ada.core.memories.edit(ada.principal, memory.id, {"content": "The kettle is green.", "project": "new"})
    ada.complaints.expect("412")
    page.get_by_role("button", name="Save").click()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("Somebody changed this fact")
    expect(alert.locator("del").first).to_have_text("green")
    expect(page.get_by_label("What is true")).to_have_value("The kettle is blue and loud.")
    # What was not touched here follows the other one's change.
    expect(page.get_by_label("Project")).to_have_value("new")
    assert ada.core.memories.get(ada.principal, memory.id).content == "The kettle is green."
    ada.check_axe()
    page.get_by_role("button", name="Save over it").click()
    page.wait_for_url(f"**/memories/{memory.id}")
    now = ada.core.memories.get(ada.principal, memory.id)
    assert (now.content, now.project) == ("The kettle is blue and loud.", "new")


def test_edit_of_what_was_put_away_meanwhile_is_kept_and_saved_once_it_is_back(ada: Person) -> None:
    memory = ada.remember("The kettle is blue.")[0]
    page = ada.goto(f"/memories/{memory.id}/edit")
    page.get_by_label("What is true").fill("The kettle is blue and loud.")
    ada.core.retention.archive(ada.principal, memory.id)
    ada.complaints.expect("409", "412")
    page.get_by_role("button", name="Save").click()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("Only an active memory can be edited.")
    expect(page.get_by_label("What is true")).to_have_value("The kettle is blue and loud.")
    ada.check_axe()
    with ada.context.expect_page() as opened:
        alert.get_by_role("link", name="Open the fact, to restore it").click()
    opened.value.get_by_role("button", name="Restore").click()
    expect(opened.value.locator("[aria-current=step]")).to_contain_text("Active")
    opened.value.close()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("Somebody changed this fact")
    page.get_by_role("button", name="Save over it").click()
    page.wait_for_url(f"**/memories/{memory.id}")
    assert ada.core.memories.get(ada.principal, memory.id).content == "The kettle is blue and loud."


def test_edit_of_what_was_replaced_meanwhile_leads_to_the_newer_fact(ada: Person) -> None:
    core, who = ada.core, ada.principal
    memory, newer = ada.remember("The kettle is blue.", "The kettle is green.")
    page = ada.goto(f"/memories/{memory.id}/edit")
    page.get_by_label("What is true").fill("The kettle is blue and loud.")
    core.store.write(
        who.tenant, lambda tx: core.facts.retire(tx, who, tx.memories.get(memory.id), tx.memories.get(newer.id), {})
    )
    ada.complaints.expect("409")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_label("What is true")).to_have_value("The kettle is blue and loud.")
    link = page.get_by_role("alert").get_by_role("link", name="Open the fact that took its place")
    expect(link).to_have_attribute("href", f"/dashboard/memories/{newer.id}")


def test_invalid_edit_is_explained_beside_its_field(ada: Person) -> None:
    memory = ada.remember("The kettle is blue.")[0]
    ada.remember("The kettle is red.")
    page = ada.goto(f"/memories/{memory.id}/edit")
    ada.complaints.expect("422", "409", "400")
    page.get_by_label("Category").fill("Not A Slug!")
    page.get_by_label("What is true").fill("The kettle is new.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_label("Category")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("What is true")).to_have_value("The kettle is new.")
    page.get_by_label("Category").fill("")
    page.get_by_label("What is true").fill("The kettle is red.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("already remembered")
    assert ada.core.memories.get(ada.principal, memory.id).content == "The kettle is blue."


# Who may


def test_reader_sees_it_and_is_offered_nothing(ada: Person, reader: Person) -> None:
    memory = ada.remember("The kettle is blue.")[0]
    page = reader.goto(f"/memories/{memory.id}")
    expect(section(page, "Its life").get_by_role("button")).to_have_count(0)
    expect(page.get_by_role("link", name="Edit")).to_have_count(0)
    reader.check_axe()
    token = page.get_attribute("input[name=csrf]", "value")
    for action in ("archive", "restore", "delete", "erase", "edit"):
        answer = reader.context.request.post(
            f"{reader.served.url}/dashboard/memories/{memory.id}/{action}",
            form={"csrf": token or "", "confirm": "erase", "content": "forged", "version": memory.version},
        )
        assert answer.status == 403, action
    assert ada.core.memories.get(ada.principal, memory.id).content == "The kettle is blue."


def test_form_from_elsewhere_is_refused(ada: Person) -> None:
    memory = ada.remember("The kettle is blue.")[0]
    address = f"{ada.served.url}/dashboard/memories/{memory.id}/delete"
    assert ada.context.request.post(address, form={"csrf": "guessed"}).status == 403
    assert state_of(ada, memory) is Status.ACTIVE


def test_what_is_no_id_is_refused(ada: Person) -> None:
    token = ada.goto("/memories").get_attribute("input[name=csrf]", "value")
    for action in ("archive", "erase", "edit"):
        address = f"{ada.served.url}/dashboard/memories/%0ASet-Cookie:%20x%E2%82%AC/{action}"
        assert ada.context.request.post(address, form={"csrf": token or ""}).status in (400, 404, 422), action


def test_others_see_nothing_of_it(people: People, ada: Person, tenant: str) -> None:
    memory = ada.remember("The kettle is blue.")[0]
    for other in (people.sign_in(new_tenant()), people.sign_in(tenant, Role.USER, "bob")):
        other.complaints.expect("404")
        page = other.goto(f"/memories/{memory.id}")
        expect(page.get_by_text("There is no memory")).to_be_visible()
        assert "kettle" not in page.content()


def test_question_of_somebody_else_about_what_is_shared_is_not_told(people: People, ada: Person, tenant: str) -> None:
    memory = ada.remember("The kettle is blue.", owner=Owner())[0]
    bob = people.sign_in(tenant, Role.USER, "bob")
    ada.core.recall.recall(ada.principal, Question("kettle for a secret party", min_score=0.0))
    recalls = section(bob.goto(f"/memories/{memory.id}"), "Why it was recalled")
    expect(recalls).to_contain_text("Somebody else's question")
    assert "party" not in bob.page.content()
    expect(section(ada.goto(f"/memories/{memory.id}"), "Why it was recalled")).to_contain_text("secret party")


# How it looks


def test_looks(people: People, ada: Person, learned: Memory, tenant: str) -> None:
    check_looks(people, tenant, f"/memories/{learned.id}", person=ada, prepare=_open_everything)
    check_looks(people, tenant, f"/memories/{learned.id}/edit", person=ada)


def _open_everything(page: Page) -> None:
    page.evaluate("document.querySelectorAll('main details').forEach((one) => { one.open = true })")


def test_hostile_texts_stay_texts(people: People, ada: Person, tenant: str) -> None:
    core, who = ada.core, ada.principal
    text = HOSTILE + "x" * 6000 + " long " * 700
    said = core.ingestion.add_messages(who, "s-<b>1</b>", [Message("user", text, name="<i>Eve</i>")])[0].memory
    draft = Draft(text[:9000], source_ref=said.id, excerpt=HOSTILE[:40], project="<u>p</u>", meta={"<k>": HOSTILE})
    fact = core.memories.remember(who, [draft])[0].memory
    core.memories.edit(who, fact.id, {"content": f"{HOSTILE} and </div></main> more"})
    core.recall.recall(who, Question(f"right left {HOSTILE}", min_score=0.0))
    check_looks(people, tenant, f"/memories/{fact.id}", person=ada, prepare=_open_everything)
    for path in (f"/memories/{said.id}", f"/memories/{fact.id}", f"/memories/{fact.id}/edit"):
        ada.goto(path)
        check_page(ada)
        assert "owned" not in ada.page.title()
        assert ada.page.locator("main script, main img, main i, main u").count() == 0
    assert ada.page.get_by_label("What is true").input_value() == f"{HOSTILE} and </div></main> more"


def test_deleted_fact_is_not_edited(ada: Person) -> None:
    memory = ada.remember("The kettle is blue.")[0]
    ada.core.retention.delete(ada.principal, memory.id)
    ada.goto(f"/memories/{memory.id}")
    check_page(ada)
    expect(ada.page.get_by_role("link", name="Edit")).to_have_count(0)
    ada.complaints.expect("409")
    ada.goto(f"/memories/{memory.id}/edit")
    expect(ada.page.get_by_text("Restore it first")).to_be_visible()


# The words that changed


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "new"),
        ("Ada lives in Berlin.", "Ada lives in Lisbon."),
        ("a b c", "a  b\nc d"),
        ("same", "same"),
        ("one two " * 900, "one three " * 900),
        ("x " * 5000 + "old end", "x " * 5000 + "new end"),
    ],
)
def test_diff_holds_both_texts(before: str, after: str) -> None:
    pieces = overlaid(before, after)
    assert "".join(piece.text for piece in pieces if piece.op != "del") == after
    removed = "".join(piece.text for piece in pieces if piece.op != "ins")
    assert removed.split() == before.split()


def test_long_texts_are_compared_where_they_differ() -> None:
    pieces = overlaid("x " * 5000 + "old end", "x " * 5000 + "new end")
    assert [piece.text for piece in pieces if piece.op != "same"] == ["old ", "new "]


def test_line_is_cut_around_its_quote() -> None:
    memory = make_memory("t", content="a" * 5000 + "the quote" + "b" * 5000)
    line = line_of(memory, "the quote")
    assert (line.quote, line.is_cut) == ("the quote", True)
    assert len(line.before) < 500
    assert len(line.after) < 500
    assert line_of(memory, "elsewhere").quote == ""


# What other doors keep


def test_entry_of_the_companion_is_written_anew_and_never_edited(ada: Person) -> None:
    entry = ada.core.companion.add(ada.principal, "Run a marathon.", Category.GOAL).memory
    page = ada.goto(f"/memories/{entry.id}")
    expect(section(page, "Details")).to_contain_text("the companion API")
    expect(page.get_by_role("link", name="Edit")).to_have_count(0)
    page.get_by_role("link", name="Write anew").click()
    check_page(ada)
    page.get_by_label("What is true").fill("Run a half marathon.")
    page.get_by_label("Category").select_option("history")
    page.get_by_role("button", name="Write it, and erase the old one").click()
    page.wait_for_url("**/memories/mem_*")
    expect(page.get_by_text("Written anew.")).to_be_visible()
    (left,) = ada.core.companion.list(ada.principal).items
    assert (left.content, left.category) == ("Run a half marathon.", "history")
    assert state_of(ada, entry) is None


def test_fact_of_the_agent_tools_says_how_it_is_changed(ada: Person) -> None:
    fact = ada.core.facts.remember(ada.principal, "Ada likes tea.").memory
    page = ada.goto(f"/memories/{fact.id}")
    expect(page.get_by_role("link", name="Edit")).to_have_count(0)
    expect(section(page, "Details")).to_contain_text("Remember the fact anew")
