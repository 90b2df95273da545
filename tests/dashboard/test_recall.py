"""The playground: what comes back and why, the text that an agent gets, why not, time travel, and asking elsewhere."""

import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import parse_qs, quote, urlsplit

import httpx2
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import Locator, Page, expect
from starlette.datastructures import QueryParams

from memorist.ingestion.service import Message
from memorist.memories.values import Draft, Trust
from memorist.platform.tokens import count_tokens
from memorist.platform.values import Owner, Role
from memorist.surfaces.dashboard.pages.recall_answer import marked
from memorist.surfaces.dashboard.pages.recall_question import RecallForm
from memorist.surfaces.dashboard.visits import Visit
from memorist.testing import new_tenant
from tests.dashboard.conftest import People, Person
from tests.dashboard.sweeps import check_looks, check_page

HOSTILE = (
    '<script>document.title = "taken"</script><img src=x onerror=alert(1)> about the harbour',
    "\u202etxet desrever\u202c harbour \U0001f9ff " + "\u05d0\u05d1\u05d2 \u0645\u0631\u062d\u0628\u0627",
    "harbour " + "w" * 10_000,
)
QUERY = "Where is the harbour?"


def ask(page: Page, query: str) -> None:
    page.get_by_role("searchbox", name="Question").fill(query)
    page.get_by_role("button", name="Recall", exact=True).click()
    page.locator(".summary, .notice.bad").first.wait_for()


def hits(page: Page) -> Locator:
    return page.locator(".hit")


def exact_text(page: Page) -> str:
    return page.locator(".told .exact pre").first.inner_text()


def snippet(page: Page, language: str) -> str:
    details = page.locator(".told details").filter(has=page.get_by_text(language, exact=True))
    return cast(str, details.locator("pre").evaluate("(element) => element.textContent"))


def by_tool(person: Person, **arguments: Any) -> dict[str, Any]:
    """What an agent with the same key gets."""
    headers = {"Authorization": f"Bearer {person.key}"}
    answer = httpx2.post(f"{person.served.url}/v1/tools/recall", json=arguments, headers=headers, timeout=30)
    assert answer.status_code == 200, answer.text
    return cast(dict[str, Any], answer.json())


def address_of(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


# What comes back


def test_answer_shows_texts_scores_and_the_words_asked_for(ada: Person) -> None:
    ada.remember("The harbour is behind the old mill.", "The baker closes at noon.")
    page = ada.goto("/recall")
    ask(page, QUERY)
    assert hits(page).count() == 1
    hit = hits(page).first
    assert "The harbour is behind the old mill." in hit.inner_text()
    assert hit.locator("mark").all_inner_texts() == ["harbour"]
    assert 0 < float(hit.locator(".score").inner_text().split()[-1]) <= 1
    assert hit.locator(".gauge.words dd").inner_text() == "#1 · 1.00"
    assert hit.locator(".gauge.words .fill").get_attribute("width") == "100"
    assert hit.locator(".gauge.meaning dd").inner_text() == "not searched"
    assert hit.locator(".gauge.rerank dd").inner_text() == "not used"
    hit.get_by_text("How it came to this place").click()
    assert "BM25" in hit.locator(".steps dl").inner_text()
    # Asked by htmx: the address can be shared, without what is the default.
    assert address_of(page) == {"q": [QUERY]}
    expect(page.locator("#recall-status")).to_contain_text("1 memory")


def test_asking_here_is_no_recall_of_an_agents(ada: Person) -> None:
    ada.remember("The harbour is behind the old mill.")
    page = ada.goto(f"/recall?q={quote(QUERY)}")
    ask(page, "harbour")
    page.reload()
    assert hits(page).count() == 1
    ada.core.accesses.flush()
    assert ada.core.recall_history.lately(ada.principal, ada.core.clock.now(), limit=5) == []


def test_degraded_and_not_reranked_are_said(ada: Person) -> None:
    ada.remember("The harbour is behind the old mill.")
    page = ada.goto(f"/recall?q={quote(QUERY)}")
    notices = page.locator(".notice").all_inner_texts()
    assert any("does not search by meaning" in notice for notice in notices)
    assert any("no reranker" in notice for notice in notices)
    assert "by words alone, not reranked" in page.locator(".summary").inner_text()


def test_agent_receives_this_text_to_the_letter(ada: Person) -> None:
    ada.remember("The harbour is behind the old mill.", 'Harbour "master": Zoë\n<b>& sons</b> 🛟')
    page = ada.goto(f"/recall?q={quote(QUERY)}&top_k=2")
    expected = json.dumps(by_tool(ada, query=QUERY, top_k=2), ensure_ascii=False)
    shown = cast(str, page.locator(".told .exact pre").first.evaluate("(element) => element.textContent"))
    assert shown == expected
    assert page.locator("[data-tokens]").inner_text() == f"{count_tokens(expected):,}"
    page.get_by_text("Indented, to read").click()
    indented = cast(str, page.locator("pre.sunken").evaluate("(element) => element.textContent"))
    assert json.loads(indented) == json.loads(expected)


def test_memory_section_is_what_a_session_begins_with(ada: Person) -> None:
    owner = Owner("ada", "default")
    fields = {"content": "Ships first.", "category": "user", "description": "How the harbour works"}
    ada.core.memories.put(ada.principal, owner, "user_harbour", fields, trust=Trust.USER)
    page = ada.goto(f"/recall?q={quote(QUERY)}")
    page.get_by_text("The memory section").click()
    section = page.locator(".section pre")
    section.wait_for()
    headers = {"Authorization": f"Bearer {ada.key}", "Accept": "text/plain"}
    answer = httpx2.get(f"{ada.served.url}/v1/memories/section?profile_id=default", headers=headers)
    assert section.evaluate("(element) => element.textContent") == answer.text
    assert "user_harbour (user): How the harbour works" in answer.text
    assert f"{count_tokens(answer.text)} tokens" in page.locator(".section").inner_text()


def test_choices_narrow_the_answer_and_are_part_of_the_address(ada: Person) -> None:
    ada.remember("The harbour opens at six.", category="hours", project="port")
    ada.remember("The harbour belongs to the town.", category="owner", project="port")
    ada.core.ingestion.add_messages(ada.principal, "s1", [Message("user", "I walked to the harbour.")], extract=False)
    page = ada.goto("/recall")
    ask(page, "harbour")
    assert hits(page).count() == 3
    page.get_by_text("Kinds, time travel and limits").click()
    page.get_by_label("Facts").check()
    page.get_by_label("Category").fill("hours")
    page.get_by_label("Project").fill("port")
    page.get_by_label("At most").fill("7")
    page.get_by_label("Least score").fill("0.01")
    page.get_by_role("button", name="Recall", exact=True).click()
    expect(hits(page)).to_have_count(1)
    expected = {"q": ["harbour"], "top_k": ["7"], "min_score": ["0.01"], "category": ["hours"], "project": ["port"]}
    assert address_of(page) == {**expected, "kind": ["fact"]}
    # The address alone brings the same page, with the same choices.
    ada.page.reload()
    assert hits(page).count() == 1
    assert "opens at six" in hits(page).first.inner_text()
    assert page.get_by_label("Facts").is_checked()
    assert page.get_by_label("Category").input_value() == "hours"


def test_scope_is_asked_again_at_once(ada: Person) -> None:
    ada.remember("The harbour opens at six.")
    ada.core.ingestion.add_messages(ada.principal, "s1", [Message("user", "I walked to the harbour.")], extract=False)
    page = ada.goto("/recall?q=harbour&session=s1")
    assert hits(page).count() == 2
    page.get_by_text("This session", exact=True).click()
    expect(hits(page)).to_have_count(1)
    assert "I walked" in hits(page).first.inner_text()
    page.get_by_text("The user", exact=True).click()
    expect(hits(page).first).to_contain_text("opens at six")
    page.get_by_text("The agent", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("As the agent")
    page.get_by_text("Shared", exact=True).click()
    expect(page.locator(".empty h2")).to_have_text("Nothing relevant is remembered")
    assert address_of(page)["scope"] == ["tenant"]


def test_back_brings_the_question_before(ada: Person) -> None:
    ada.remember("The harbour opens at six.", "The baker closes at noon.")
    page = ada.goto("/recall")
    ask(page, "harbour")
    page.get_by_role("searchbox", name="Question").fill("baker")
    page.get_by_role("button", name="Recall", exact=True).click()
    expect(hits(page).first).to_contain_text("baker")
    page.go_back()
    expect(hits(page).first).to_contain_text("harbour")
    expect(page.get_by_role("searchbox", name="Question")).to_have_value("harbour")
    assert page.locator("nav[aria-label=Pages]").count() == 1


def test_page_keeps_a_quarter_of_the_time_of_a_recall() -> None:
    begun: list[tuple[str, float]] = []
    recall = SimpleNamespace(begin=lambda what, ago_s: begun.append((what, ago_s)))
    core = SimpleNamespace(recall=recall, options=SimpleNamespace(recall_budget_ms=100))
    Visit.reading(cast(Visit, SimpleNamespace(core=core, began=time.perf_counter() - 0.01)), "recall")
    ((what, ago_s),) = begun
    assert what == "recall"
    assert 0.035 <= ago_s < 0.035 + 10, "what the page took until here, and what it will take"


def test_budget_counts_tokens_instead(ada: Person) -> None:
    ada.remember(*(f"The harbour has a pier with the number {number}." for number in range(12)))
    page = ada.goto("/recall?q=harbour+pier&budget_tokens=60")
    found = hits(page).count()
    assert found == len(by_tool(ada, query="harbour pier", budget_tokens=60)["items"])
    assert "of 60 tokens" in page.locator(".summary").inner_text()
    used = int(page.locator(".summary").inner_text().rpartition(", ")[2].split()[0])
    assert 0 < used <= 60


def test_time_travel_brings_the_past_back(ada: Person) -> None:
    old = ada.core.facts.remember(ada.principal, "The user lives in Berlin.").memory
    ada.core.facts.remember(ada.principal, "The user lives in Lisbon.")
    page = ada.goto("/recall?q=where+does+the+user+live")
    assert "Lisbon" in hits(page).first.inner_text()
    assert "Berlin" not in page.locator(".hits").inner_text()
    assert old.valid_from is not None
    page = ada.goto(f"/recall?q=where+does+the+user+live&as_of={quote(old.valid_from.isoformat())}")
    assert "Berlin" in hits(page).first.inner_text()
    assert "archived" in hits(page).first.inner_text()
    assert page.get_by_label("True at").input_value().startswith(f"{old.valid_from:%Y-%m-%dT%H:%M}")
    page.get_by_label("True at").fill("1999-01-01T00:00")
    page.get_by_role("button", name="Recall", exact=True).click()
    expect(page.locator(".empty h2")).to_have_text("Nothing relevant is remembered")


def test_nothing_relevant_says_what_to_do(ada: Person) -> None:
    page = ada.goto("/recall?q=zeppelin")
    assert "no memories here yet" in page.locator(".empty").inner_text()
    ada.remember("The baker closes at noon.")
    page = ada.goto("/recall?q=zeppelin&kind=fact")
    assert "nothing rather than with a guess" in page.locator(".empty").inner_text()
    assert page.get_by_role("link", name="Ask without filters").get_attribute("href") == "/dashboard/recall?q=zeppelin"
    page.get_by_role("link", name="Show even what hardly fits").click()
    page.locator(".hit").first.wait_for()
    assert hits(page).first.locator(".gauge.words dd").inner_text() == "no word in common"


def test_bad_choice_is_explained_and_the_form_kept(ada: Person) -> None:
    ada.complaints.expect("422")
    page = ada.goto("/recall?q=harbour&top_k=many&category=x")
    assert page.get_by_role("alert").inner_text().startswith("top_k")
    assert page.get_by_label("Category").input_value() == "x"
    ada.goto("/recall?q=harbour&as_of=yesterday")
    assert page.get_by_role("alert").inner_text().startswith("as_of")
    page.get_by_label("True at").fill("")
    page.get_by_role("button", name="Recall", exact=True).click()
    page.locator(".summary").wait_for()


# Why not


def test_why_not_is_answered_for_a_pasted_and_for_a_picked_memory(ada: Person) -> None:
    [near, far] = ada.remember("The harbour is behind the old mill.", "The baker closes at noon.")
    page = ada.goto("/recall?q=harbour&min_score=0&top_k=1")
    page.get_by_label("Id of a memory").fill(near.id)
    page.get_by_role("button", name="Tell me why").click()
    expect(page.locator(".verdict .reason")).to_have_text("It is number 1 of the answer.")
    page.get_by_text("Or pick one").click()
    page.get_by_role("link", name="The baker closes at noon.").click()
    expect(page.locator(".verdict .reason")).to_have_text("Others fit better: it is number 2, and 1 came back.")
    assert page.locator(".verdict .gauge.words dd").inner_text() == "no word in common"
    assert address_of(page)["why_not"] == [far.id]
    assert json.loads(exact_text(page))["why_not"]["recalled"] is False


def test_why_not_of_a_retired_fact_says_how_to_see_it(ada: Person) -> None:
    ada.core.facts.remember(ada.principal, "The user lives in Berlin.")
    ada.core.facts.remember(ada.principal, "The user lives in Lisbon.")
    page = ada.goto("/recall?q=where+does+the+user+live")
    page.get_by_text("Or pick one").click()
    page.get_by_role("link", name="The user lives in Berlin.").click()
    expect(page.locator(".verdict .reason")).to_contain_text("“True at” and “Known at” ask for what was superseded")
    assert "archived" in page.locator(".verdict").inner_text()


def test_why_not_of_what_is_no_id_or_somebody_elses_leaves_the_answer(people: People, ada: Person) -> None:
    ada.remember("The harbour is behind the old mill.")
    [hidden] = people.sign_in(new_tenant()).remember("The harbour of others.")
    page = ada.goto("/recall?q=harbour")
    for wanted, said in (("nonsense", "is not an id"), (hidden.id, "There is no memory")):
        page.get_by_label("Id of a memory").fill(wanted)
        page.get_by_role("button", name="Tell me why").click()
        expect(page.get_by_role("alert")).to_contain_text(said)
        assert hits(page).count() == 1
    assert "of others" not in page.content()


# Asking elsewhere

NASTY = 'harbour\'; rm -rf $HOME "`id`" \\ !! %s 🛟 \u202e\u2028 $(reboot) --data @/etc/passwd'


def test_copied_command_and_program_ask_the_same(ada: Person, tmp_path: Path) -> None:
    ada.remember("The harbour is behind the old mill.", project="it's")
    chosen = {"q": NASTY, "project": "it's", "top_k": "3", "after": "2020-01-01T10:00", "min_score": "0"}
    address = "&".join(f"{name}={quote(value)}" for name, value in chosen.items())
    page = ada.goto(f"/recall?{address}&kind=fact&agent=a'gent")
    shown = json.loads(cast(str, page.locator(".told .exact pre").first.evaluate("(one) => one.textContent")))
    assert len(shown["items"]) == 1
    environment = {**os.environ, "MEMORIST_API_KEY": ada.key}
    ran = subprocess.run(
        ["bash", "-c", snippet(page, "curl")],
        capture_output=True,
        env=environment,
        cwd=tmp_path,
        timeout=60,
        check=True,
    )
    assert json.loads(ran.stdout) == shown
    program = snippet(page, "Python")
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, env=environment, cwd=tmp_path, timeout=60, check=True
    )
    assert ran.stdout.decode().strip() == f"{shown['items'][0]['score']} The harbour is behind the old mill."


def test_snippet_is_copied(ada: Person) -> None:
    ada.remember("The harbour is behind the old mill.")
    ada.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = ada.goto("/recall?q=harbour")
    page.locator(".told details[open]").get_by_role("button", name="Copy").click()
    expect(page.locator(".told details[open]").get_by_role("button")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == snippet(page, "curl")
    assert f"{ada.served.url}/v1/tools/recall" in snippet(page, "curl")


def test_admin_who_looks_at_another_user_asks_for_them(ada: Person) -> None:
    bob = ada.core.identity.authenticate(ada.served.key(ada.principal.tenant, Role.USER, "bob"))
    ada.core.memories.remember(bob, [Draft("Bob knows the harbour.")])
    page = ada.goto("/recall?q=harbour")
    assert hits(page).count() == 0
    ada.context.add_cookies([_whose(ada, "bob")])
    page = ada.goto("/recall?q=harbour")
    assert "Bob knows" in hits(page).first.inner_text()
    assert "-H 'X-Memorist-User: bob'" in snippet(page, "curl")
    assert "user='bob'" in snippet(page, "Python")
    ada.context.add_cookies([_whose(ada, "*")])
    page = ada.goto("/recall?q=harbour")
    assert "Bob knows" in hits(page).first.inner_text()
    assert "asks for its own user" in page.locator(".told").inner_text()


def _whose(person: Person, whose: str) -> Any:
    port = urlsplit(person.served.url).port
    return {"name": f"memorist_whose_{port}", "value": quote(whose), "url": f"{person.served.url}/dashboard"}


plain = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=40)


names = st.sampled_from(["", "coder", "o'neil", '"; id'])


@given(query=plain, category=plain, agent=names, whose=names)
def test_whatever_a_question_holds_the_snippets_are_one_command_and_valid(
    query: str, category: str, agent: str, whose: str
) -> None:
    pairs = [("q", query), ("category", category), ("kind", "fact"), ("rerank", "off"), ("agent", agent)]
    asked = RecallForm.of(QueryParams(pairs))
    visit = cast(Visit, SimpleNamespace(address="http://127.0.0.1:1", whose=whose))
    split = shlex.split(asked.curl(visit))
    assert split[:3] == ["curl", "-s", "http://127.0.0.1:1/v1/tools/recall"]
    assert split[-2] == "-d"
    assert json.loads(split[-1]) == asked.arguments
    assert all(one.isprintable() or one == "\n" for one in asked.curl(visit))
    compile(asked.python(visit), "copied", "exec")
    # The address says the same again.
    assert RecallForm.of(QueryParams(urlsplit(asked.address()).query)).arguments == asked.arguments


@given(text=st.text(max_size=200), query=st.text(max_size=40))
def test_marking_keeps_the_text(text: str, query: str) -> None:
    assert "".join(piece.text for piece in marked(text, query)) == text


# Everybody, every look


def test_keyboard_alone_is_enough(ada: Person) -> None:
    [near, far] = ada.remember("The harbour is behind the old mill.", "The baker closes at noon.")
    page = ada.goto("/recall?q=nothing")
    page.keyboard.press("g")
    page.keyboard.press("r")
    page.wait_for_url("**/dashboard/recall")
    # Where nothing is asked yet, one can type at once: the browser gives the field its focus when it first draws it.
    expect(page.locator("#q")).to_be_focused()
    page.keyboard.type("mill")
    page.keyboard.press("Enter")
    expect(hits(page)).to_have_count(1)
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("harbour")
    page.keyboard.press("Enter")
    expect(hits(page)).to_have_count(1)
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(f"{ada.served.url}/dashboard/recall?q=harbour&scope=user")
    page.keyboard.press("Escape")
    page.get_by_label("Id of a memory").focus()
    page.keyboard.type(far.id)
    page.keyboard.press("Enter")
    page.locator(".verdict").wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.getAttribute('href')") == f"/dashboard/memories/{near.id}"


def test_every_look_with_hostile_texts(people: People, tenant: str, ada: Person) -> None:
    ada.remember(*HOSTILE)
    [unlike] = ada.remember("other", project="\u202e<b>project</b>")
    page = ada.goto("/recall")
    check_page(ada)

    def open_all(page: Page) -> None:
        page.evaluate("document.querySelectorAll('main details').forEach((one) => { one.open = true })")
        page.locator(".section pre").wait_for()

    path = f"/recall?q={quote(HOSTILE[0])}&min_score=0&top_k=3&why_not={unlike.id}"
    check_looks(people, tenant, path, person=ada, ready=".hit", prepare=open_all)
    assert page.title().endswith("Recall · Memorist")
    assert page.locator("#answer script, #answer img").count() == 0
    assert HOSTILE[0] in page.locator(".hits").inner_text()


def test_reader_may_ask_and_other_tenants_see_nothing(people: People, ada: Person, reader: Person) -> None:
    ada.remember("The harbour is behind the old mill.")
    assert hits(reader.goto("/recall?q=harbour")).count() == 1
    stranger = people.sign_in(new_tenant())
    page = stranger.goto("/recall?q=harbour")
    assert hits(page).count() == 0
    assert "old mill" not in page.content()


def test_expired_session_leads_to_the_sign_in(ada: Person) -> None:
    ada.complaints.expect("401", "htmx:responseError", "Response Status Error")
    page = ada.goto("/recall")
    ada.context.clear_cookies()
    page.get_by_role("searchbox", name="Question").fill("harbour")
    page.get_by_role("button", name="Recall", exact=True).click()
    page.wait_for_url("**/dashboard/sign-in?back=*")


def test_it_works_without_scripts(people: People, tenant: str) -> None:
    person = people.sign_in(tenant, java_script_enabled=False)
    person.remember("The harbour is behind the old mill.")
    page = person.goto("/recall")
    ask(page, "harbour")
    assert hits(page).count() == 1
