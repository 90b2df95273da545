"""Home: what is known, changed, doubted, recalled and said, a first memory, charts; and how an agent is set up."""

import re
from dataclasses import replace
from datetime import timedelta

import httpx2
import pytest
from playwright.sync_api import expect

from memorist.ingestion.service import Message
from memorist.memories.values import AskedCount, Draft, Kind
from memorist.platform.values import Owner, Role
from memorist.recall.values import Question
from memorist.surfaces.dashboard.pages.charts import HEIGHT, draw_growth, draw_recalls
from memorist.surfaces.dashboard.wording import speaking
from memorist.testing import make_doubt, new_tenant
from memorist.testing.clocks import START
from memorist.views.values import DayCount
from tests.dashboard.conftest import People, Person
from tests.dashboard.sweeps import check_looks
from tests.dashboard.test_about import tell

HOSTILE = "<script>alert(1)</script> \u202egnp.exe\u202c 🦉 " + "long" * 2000


def test_first_memory_is_the_star_of_an_empty_home(ada: Person) -> None:
    page = ada.goto()
    box = page.get_by_role("region", name="Begin with one fact")
    expect(box).to_be_visible()
    box.get_by_label("A fact that should not be forgotten").fill("The office is in Mill Lane 4.")
    box.get_by_role("button", name="Remember").click()
    stored = page.get_by_role("region", name="Remember something")
    expect(stored.get_by_role("status")).to_contain_text("Remembered: The office is in Mill Lane 4.")
    expect(page.get_by_role("region", name="Memories", exact=True).locator(".figure")).to_have_text("1")
    link = stored.get_by_role("link", name="Open this memory").get_attribute("href")
    (memory,) = ada.core.memories.list(ada.principal).items
    assert link == f"/dashboard/memories/{memory.id}"
    assert (memory.content, memory.owner) == ("The office is in Mill Lane 4.", Owner("ada"))


def test_the_same_fact_twice_is_known_already(ada: Person) -> None:
    ada.remember("The office is in Mill Lane 4.")
    page = ada.goto()
    page.get_by_label("A fact that should not be forgotten").fill("The office is in Mill Lane 4.")
    page.get_by_role("button", name="Remember").click()
    expect(page.locator("#remember").get_by_role("status")).to_contain_text("known already")


def test_what_cannot_be_remembered_says_why(ada: Person) -> None:
    ada.complaints.expect("422", "400")
    page = ada.goto()
    page.get_by_label("A fact that should not be forgotten").fill(" \n ")
    page.get_by_role("button", name="Remember").click()
    expect(page.get_by_role("alert")).to_contain_text("The text must not be empty.")
    expect(page.get_by_label("A fact that should not be forgotten")).to_have_attribute("aria-invalid", "true")


def test_counts_and_growth_lead_to_the_memories(ada: Person) -> None:
    *_, gone = ada.remember("one", "two", "three", "four")
    ada.core.memories.forget(ada.principal, gone.id)
    page = ada.goto()
    expect(page.get_by_role("link", name="3", exact=True)).to_have_attribute("href", "/dashboard/memories?kind=any")
    expect(page.get_by_role("link", name="1 deleted")).to_have_attribute(
        "href", "/dashboard/memories?kind=any&state=deleted"
    )
    memories = page.get_by_role("region", name="Memories", exact=True)
    assert "4 facts; 4 in the last 7 days" in (memories.get_by_role("img").get_attribute("aria-label") or "")
    memories.get_by_text("The numbers").click()
    assert page.get_by_role("group", name="Memories kept, by kind").get_by_role("row").count() == 8
    facts = memories.get_by_role("link", name="Facts")
    expect(facts).to_have_attribute("href", "/dashboard/memories?kind=fact")


def test_what_waits_leads_to_where_it_is_done(ada: Person) -> None:
    page = ada.goto()
    waits = page.get_by_role("region", name="What waits")
    expect(waits).to_contain_text("Nothing.")
    for fact in ("The user likes hiking and lives in Rome.", "The user lives in Oslo."):
        ada.core.facts.remember(ada.principal, fact)
    ada.core.store.write(ada.principal.tenant, lambda tx: ada.core.jobs.add(tx, ada.principal, "unknown", {}))
    ada.core.jobs.run_due(ada.principal.tenant)
    ada.goto()
    expect(waits).to_contain_text("1 job failed for good")
    expect(waits.get_by_role("link", name="retry or drop")).to_have_attribute("href", "/dashboard/activity/jobs#work")
    expect(waits).to_contain_text("1 pair of facts is in doubt")
    expect(waits.get_by_role("link", name="which one holds?")).to_have_attribute("href", "/dashboard/doubts")
    health = page.get_by_role("region", name="Health")
    expect(health).to_contain_text("nothing is deleted yet")


def test_sample_data_comes_and_goes_with_a_receipt(ada: Person) -> None:
    ada.remember("my own")
    page = ada.goto()
    expect(page.get_by_role("button", name="Add sample data")).to_have_count(0)
    page.get_by_role("link", name="Set up").click()
    page.get_by_role("button", name="Add sample data").click()
    expect(page.locator("#toasts")).to_contain_text("sample memories are here")
    ada.goto("/connect")
    assert ada.core.sample_data.count(ada.principal) > 45
    page.get_by_role("button", name="Erase the sample data").click()
    ada.check_axe()
    page.get_by_role("dialog").get_by_role("button", name="Keep").click()
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.get_by_role("button", name="Erase the sample data").click()
    page.get_by_role("dialog").get_by_role("button", name="Erase", exact=True).click()
    expect(page.locator("#samples").get_by_role("status")).to_contain_text("none was found")
    expect(page.locator("#samples").get_by_role("status")).to_contain_text("rcpt_")
    assert [one.content for one in ada.core.memories.list(ada.principal).items] == ["my own"]


def test_snippets_work_as_they_are_pasted(ada: Person) -> None:
    page = ada.goto("/connect")
    connect = page.get_by_role("region", name="Give an agent this memory")
    address = ada.served.url
    expect(connect.locator("pre").first).to_contain_text(f"memorist {address}/mcp")
    expect(connect.locator("pre").first).to_contain_text("Bearer YOUR_KEY")
    connect.get_by_role("button", name="Make a key for these").click()
    expect(connect.get_by_role("status")).to_contain_text("shown this once")
    expect(connect.locator("details[open]")).to_contain_text("Claude Code")
    connect.get_by_text("curl", exact=True).click()
    secret = connect.locator("#snippets > .copyable pre").inner_text()
    assert secret.startswith("mst_live_")
    pasted = connect.locator("details[open] pre").inner_text()
    assert f'"Authorization: Bearer {secret}"' in pasted
    calls = re.findall(r"curl (\S+) .*?-d '(.*?)'", pasted, re.DOTALL)
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
    answers = [httpx2.post(url, headers=headers, content=body) for url, body in calls]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert "UTC+2" in answers[1].text
    (key,) = [key for key in ada.core.identity.list_keys(ada.principal) if key.label == "made on the dashboard"]
    assert (key.role, key.user) == (Role.USER, "ada")
    assert secret not in page.goto(f"{address}/dashboard/connect").text()


def test_admin_of_everybody_shares_and_names_the_user_of_a_key(people: People, tenant: str) -> None:
    boss = people.sign_in(tenant, Role.ADMIN, None)
    page = boss.goto()
    page.get_by_label("A fact that should not be forgotten").fill("We close at six.")
    page.get_by_role("button", name="Remember").click()
    expect(page.locator("#remember").get_by_role("status")).to_contain_text("We close at six.")
    assert boss.core.memories.list(boss.principal).items[0].owner == Owner()
    assert page.get_by_role("heading", name="Sample data").count() == 0
    boss.goto("/connect")
    page.get_by_label("For the user").fill("cleo")
    page.get_by_role("button", name="Make a key for these").click()
    expect(page.locator("#snippets").get_by_role("status")).to_contain_text("cleo")


def test_reader_is_offered_no_change_and_a_forged_one_is_refused(reader: Person) -> None:
    page = reader.goto()
    expect(page.get_by_role("heading", name="Nothing is remembered yet")).to_be_visible()
    for label in ("Remember", "Add sample data", "Make a key for these"):
        assert page.get_by_role("button", name=label).count() == 0
    csrf = page.locator("input[name=csrf]").first.get_attribute("value") or ""
    for path, form in (("home/remember", {"content": "no"}), ("samples", {}), ("connect/key", {"user": "ada"})):
        answer = page.request.post(f"{reader.served.url}/dashboard/{path}", form={"csrf": csrf, **form})
        assert answer.status == 403, path
    assert reader.core.overview.totals(reader.principal, fresh=True).memories == 0


def test_service_key_that_acts_for_nobody_is_offered_nothing(people: People, tenant: str) -> None:
    service = people.sign_in(tenant, Role.SERVICE, None)
    page = service.goto()
    expect(page.get_by_role("heading", name="Nothing is remembered yet")).to_be_visible()
    assert page.get_by_role("button", name="Remember").count() == 0


def test_everything_works_without_scripts(people: People, tenant: str) -> None:
    ada = people.sign_in(tenant, java_script_enabled=False)
    page = ada.goto()
    page.get_by_role("button", name="Add sample data").click()
    assert ada.core.sample_data.count(ada.principal) > 45
    ada.goto("/connect")
    page.get_by_role("button", name="Erase it now").click()
    expect(page.locator("#samples").get_by_role("status")).to_contain_text("none was found")
    page.get_by_role("button", name="Make a key for these").click()
    secret = page.locator("#snippets > .copyable pre").inner_text()
    assert ada.core.identity.authenticate(secret).user == "ada"
    ada.goto("/access")
    page.get_by_label("User", exact=True).fill("bob")
    page.get_by_role("button", name="Create the key").click()
    assert ada.core.identity.authenticate(page.locator(".made pre").inner_text()).user == "bob"


def test_forms_without_the_token_are_refused(ada: Person) -> None:
    answer = ada.page.request.post(f"{ada.served.url}/dashboard/home/remember", form={"content": "no"})
    assert answer.status == 403
    assert ada.core.overview.totals(ada.principal).memories == 0


def test_other_tenants_see_nothing_of_it(people: People, ada: Person) -> None:
    (memory,) = ada.remember("ours alone")
    stranger = people.sign_in(new_tenant())
    page = stranger.goto(f"?stored={memory.id}&new=1")
    expect(page.get_by_role("region", name="Begin with one fact")).to_be_visible()
    assert "ours alone" not in page.content()


def test_home_in_every_look_with_hostile_texts(people: People, tenant: str) -> None:
    check_looks(people, tenant, "")
    ada = people.sign_in(tenant)
    ada.core.sample_data.add(ada.principal)
    stored = ada.core.facts.remember_all(ada.principal, [Draft(HOSTILE)])[0].memory
    check_looks(people, tenant, f"?stored={stored.id}&new=1", person=ada, ready="#remember .said")
    check_looks(people, tenant, "/connect", person=ada)
    ada.goto(f"?stored={stored.id}&new=1")
    assert "<script>alert(1)</script>" in ada.page.locator("#remember .said").first.inner_text()


def test_home_by_keyboard_alone(ada: Person) -> None:
    page = ada.goto()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_label("A fact that should not be forgotten")).to_be_focused()
    page.keyboard.type("Written without a mouse.")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#remember").get_by_role("status")).to_contain_text("Written without a mouse.")
    ada.goto("/connect")
    page.get_by_text("Python", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.locator("details[open] pre")).to_contain_text("from memorist.client import Client")
    assert page.locator("details[open] pre").count() == 1


def test_home_opens_with_what_is_known(ada: Person) -> None:
    known = tell(ada, "Ada lives in Kiel.", "home")
    tell(ada, "Ada builds boats.", "work")
    page = ada.goto()
    expect(page.get_by_role("heading", level=1)).to_have_text("What is known about you")
    assert page.locator(".topic h3").all_inner_texts() == ["Home", "Work"]
    expect(page.locator(".topic").get_by_role("link", name="Ada lives in Kiel.")).to_have_attribute(
        "href", f"/dashboard/memories/{known}"
    )
    assert page.get_by_role("heading", name="Give an agent this memory").count() == 0


def test_changes_are_undone_on_home(ada: Person) -> None:
    kept, gone = ada.remember("Ada lives in Kiel.", "Ada smokes.")
    ada.core.retention.delete(ada.principal, gone.id)
    page = ada.goto()
    changes = page.get_by_role("region", name="Latest changes")
    assert changes.locator("b").all_inner_texts() == ["Deleted", "Learned"]
    changes.get_by_role("button", name="Undo: Ada smokes.").click()
    expect(changes.locator("b").first).to_have_text("Restored")
    changes.get_by_role("button", name="Undo: Ada lives in Kiel.").click()
    expect(changes.locator("b").first).to_have_text("Deleted")
    assert ada.core.memories.list(ada.principal).items[0].id == gone.id
    assert kept.id not in [one.id for one in ada.core.memories.list(ada.principal).items]


def test_doubts_are_answered_on_home(ada: Person) -> None:
    older, newer = ada.remember("Ada smokes.", "Ada stopped smoking.")
    doubt = make_doubt(newer, older, reason="One may have ended.", judge="local")
    ada.core.store.write(ada.principal.tenant, lambda tx: tx.facts.insert_doubt(doubt))
    page = ada.goto()
    asked = page.get_by_role("region", name="Which one holds?")
    asked.get_by_role("button", name="Retire the older one").click()
    expect(asked.get_by_role("status")).to_contain_text("The older fact is retired.")
    asked.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("button", name="Keep both")).to_be_visible()


def test_recalls_and_conversations_of_today(people: People, tenant: str, ada: Person) -> None:
    ada.remember("The workshop opens in May.")
    ada.core.ingestion.add_messages(ada.principal, "planning", [Message("user", "Shall we open in June?")])
    ada.core.recall.recall(replace(ada.principal, agent="coder"), Question("When does the workshop open?"))
    ada.core.accesses.flush()
    page = ada.goto()
    recalled = page.get_by_role("region", name="Recalled lately")
    expect(recalled).to_contain_text("When does the workshop open? brought back The workshop opens in May.")
    expect(page.get_by_role("region", name="What agents used")).to_contain_text("coder")
    expect(page.get_by_role("region", name="Recalls a day")).to_contain_text("1 recall in the last 30 days, today 1.")
    talks = page.get_by_role("region", name="Conversations today")
    expect(talks).to_contain_text("1 message")
    talks.get_by_role("link", name="Shall we open in June?").click()
    expect(page).to_have_url(re.compile("/dashboard/conversations/read"))
    expect(page.get_by_role("main")).to_contain_text("Shall we open in June?")
    check_looks(people, tenant, "", person=ada)


def test_first_paint_needs_one_page_and_one_stylesheet(ada: Person) -> None:
    ada.remember("one")
    kinds: list[str] = []
    ada.page.on("request", lambda request: kinds.append(request.resource_type))
    page = ada.goto()
    page.wait_for_load_state("load")
    assert [kind for kind in kinds if kind in ("document", "stylesheet")] == ["document", "stylesheet"]
    blocking = "performance.getEntriesByType('resource').filter(one => one.renderBlockingStatus === 'blocking').length"
    assert page.evaluate(blocking) == 1


@pytest.mark.parametrize("age", [0, 3, 40, 400, 4000])
def test_growth_says_something_at_any_age(age: int) -> None:
    today = START.date()
    days = [DayCount(today - timedelta(days=back), Kind.FACT, 2) for back in range(0, age + 1, max(1, age // 7))]
    plot = draw_growth([*days, DayCount(today, Kind.CHAT_MESSAGE, 1000)], today)
    assert 7 <= len(plot.columns) <= 45
    assert plot.columns[-1].counts == (2 * len(days), 1000)
    first = [column.counts[0] for column in plot.columns]
    assert first == sorted(first)
    assert all(part.y >= 0 and part.y + part.height <= HEIGHT + 0.01 for one in plot.columns for part in one.parts)
    assert f"{2 * len(days):,} facts, 1,000 messages" in plot.words


def test_charts_of_nothing() -> None:
    assert draw_growth([], START.date()).words == "Nothing is kept yet."
    assert draw_recalls([], START.date()).words == "0 recalls in the last 30 days, today 0."


@pytest.mark.parametrize(
    ("language", "grown", "asked"),
    [
        ("en", ": 1 fact; 1 in the last 7 days.", "1 recall in the last 30 days, today 1."),
        ("de", ": 1 Fakt; davon 1 in den letzten 7 Tagen.", "1 Abruf in den letzten 30 Tagen, heute 1."),
    ],
)
def test_charts_of_one_say_so_in_each_language(language: str, grown: str, asked: str) -> None:
    today = START.date()
    with speaking(language):
        assert grown in draw_growth([DayCount(today, Kind.FACT, 1)], today).words
        assert draw_recalls([AskedCount(today, None, 1, 0)], today).words == asked
