"""The playground with the real models: all three arms, and a page that is shown before the reranker has decided."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Route, expect

from memorist.memories.values import Kind
from memorist.settings import Settings
from tests.dashboard.conftest import People
from tests.dashboard.test_recall import QUERY, address_of, ask, hits
from tests.http.conftest import Served, serving


@pytest.fixture(scope="module")
def with_models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(Settings(data=tmp_path_factory.mktemp("models"), port=0)) as server:
        yield server


def test_all_three_arms_have_their_bars(people: People, tenant: str, with_models: Served) -> None:
    person = people.sign_in(tenant, served=with_models)
    person.remember(
        "The user lives in Lisbon, close to the river.", "The user's dog is called Biscuit.", kind=Kind.FACT
    )
    person.remember("Deployments happen on Fridays.")
    page = person.goto("/recall")
    ask(page, "Which city is home?")
    first = hits(page).first
    assert "Lisbon" in first.inner_text()
    assert page.locator(".summary").inner_text().endswith("by words and meaning, reranked")
    assert page.locator(".notice").count() == 0
    assert first.locator(".gauge.words dd").inner_text() == "no word in common"
    assert first.locator(".gauge.meaning dd").inner_text() == "#1 · 1.00"
    assert first.locator(".gauge.rerank dd").inner_text() == "#1 · 1.00"
    ask_again = "Where does the user live, in Lisbon?"
    person.goto(f"/recall?q={quote(ask_again)}&min_score=0")
    widths = [
        int(first.locator(f".gauge.{arm} .fill").get_attribute("width") or 0) for arm in ("words", "meaning", "rerank")
    ]
    assert widths == [100, 100, 100]
    fills = {
        arm: first.locator(f".gauge.{arm} .fill").evaluate("(one) => getComputedStyle(one).fill")
        for arm in ("words", "meaning", "rerank")
    }
    assert len(set(fills.values())) == 3
    # Without the reranker it is said so, and that arm has no bar.
    page.get_by_text("Off", exact=True).click()
    expect(page.locator(".summary")).to_contain_text("not reranked")
    assert first.locator(".gauge.rerank dd").inner_text() == "not used"
    assert address_of(page)["rerank"] == ["off"]
    person.check_axe()


@pytest.mark.parametrize("without", ["a", "b"])
def test_side_without_the_reranker_stays_where_it_was_asked_for(
    people: People, tenant: str, with_models: Served, without: str
) -> None:
    person = people.sign_in(tenant, served=with_models)
    person.remember("The user lives in Lisbon, close to the river.", "The river is long.")
    other = "b" if without == "a" else "a"
    page = person.goto(f"/recall/compare?q=Which+city+is+home&{without}_rerank=off&{other}_rerank=on")
    for side, name in (("a", "Left"), ("b", "Right")):
        found = page.get_by_role("region", name=name, exact=True)
        expect(found.locator(".hit").first).to_contain_text("Lisbon")
        expect(found.get_by_text(re.compile("found in"))).to_have_text(
            re.compile(r"ms, not reranked$" if side == without else r"ms, reranked$")
        )


PARTS = pytest.mark.parametrize(
    ("path", "found"),
    [("/recall", ".hit"), ("/recall/compare", ".side-found .hit"), ("/chat", ".memory .told li")],
)


@PARTS
def test_page_is_shown_before_the_reranker_has_decided(
    people: People, tenant: str, with_models: Served, path: str, found: str
) -> None:
    person = people.sign_in(tenant, served=with_models)
    person.remember("The harbour is behind the old mill.")
    address = f"{path}?q={quote(QUERY)}"
    shown = person.page.request.get(f"{with_models.url}/dashboard{address}").text()
    assert "behind the old mill" not in shown
    assert "behind the old mill" in person.page.request.get(f"{with_models.url}/dashboard{address}&whole=1").text()
    before = person.goto("/memories/new").evaluate("history.length")
    page = person.goto(address)
    expect(page.locator(found).first).to_contain_text("behind the old mill")
    assert page.evaluate("history.length") == before + 1
    assert page.url.endswith(address)
    plain = people.sign_in(tenant, served=with_models, java_script_enabled=False)
    page = plain.goto(address)
    page.get_by_role("link", name="Show", exact=True).click()
    expect(page.locator(found).first).to_contain_text("behind the old mill")


def test_answer_that_comes_late_leaves_the_one_to_a_newer_question(
    people: People, tenant: str, with_models: Served
) -> None:
    person = people.sign_in(tenant, served=with_models)
    person.remember("The harbour is behind the old mill.", "Die Katze des Nachbarn schläft auf dem Dach.")
    page = person.goto("/recall")
    late: list[Route] = []

    def keep(route: Route) -> None:
        if route.request.headers.get("hx-trigger") == "answer":
            late.append(route)
        else:
            route.continue_()

    page.route("**/dashboard/recall?*", keep)
    with page.expect_request(lambda request: request.headers.get("hx-trigger") == "answer"):
        page.goto(f"{with_models.url}/dashboard/recall?q={quote(QUERY)}")
    page.get_by_role("searchbox", name="Question").fill("Wo schläft die Katze des Nachbarn?")
    page.get_by_role("button", name="Recall", exact=True).click()
    page.wait_for_timeout(500)  # Whatever is asked for now has come.
    late[0].continue_()
    page.wait_for_timeout(500)
    expect(hits(page).first).to_contain_text("Katze")
    expect(page.locator(".notice")).to_contain_text("reads English alone")


@PARTS
def test_part_that_is_refused_says_so_and_is_asked_for_again(
    people: People, tenant: str, with_models: Served, path: str, found: str
) -> None:
    person = people.sign_in(tenant, served=with_models)
    person.complaints.expect("503")
    person.remember("The harbour is behind the old mill.")
    page = person.page
    refusals = [{"status": 503}, {"status": 200, "headers": {"HX-Reswap": "none", "HX-Trigger": "refused"}}]
    later = re.compile(f"dashboard{path}\\?")

    def refuse(route: Route) -> None:
        is_part = "hx-request" in route.request.headers
        route.fulfill(body="", **refusals.pop()) if is_part and refusals else route.continue_()

    page.route(later, refuse)
    person.goto(f"{path}?q={quote(QUERY)}")
    for _ in range(2):
        expect(page.get_by_role("alert").filter(has_text="This part of the page could not be loaded.")).to_be_visible()
        expect(page.locator(".coming")).to_be_hidden()
        person.check_axe()
        with page.expect_response(later):
            page.get_by_role("button", name="Try again").click()
    expect(page.locator(found).first).to_contain_text("behind the old mill")


def test_part_without_an_answer_comes_by_either_button(people: People, tenant: str, with_models: Served) -> None:
    person = people.sign_in(tenant, served=with_models)
    person.complaints.expect("ERR_CONNECTION_REFUSED", "sendError", "htmx")
    person.remember("The harbour is behind the old mill.")
    page = person.page

    def refuse(route: Route) -> None:
        route.abort("connectionrefused") if "hx-request" in route.request.headers else route.continue_()

    for place in ("#answer", "#away"):
        page.context.route("**/dashboard/recall?*", refuse)
        person.goto(f"/recall?q={quote(QUERY)}")
        expect(page.get_by_text("The server does not answer.")).to_be_visible()
        expect(page.get_by_text("This part of the page could not be loaded.")).to_be_visible()
        page.context.unroute("**/dashboard/recall?*")
        page.locator(place).get_by_role("button", name="Try again").press("Enter")
        expect(hits(page).first).to_contain_text("behind the old mill")
        expect(page.locator("#answer")).to_be_focused()
        expect(page.get_by_text("The server does not answer.")).to_be_hidden()


def test_vectors_without_room_are_not_said_to_be_awaited(people: People, tenant: str, tmp_path: Path) -> None:
    with serving(Settings(data=tmp_path, port=0, reranker="off", index_memory_mb=0, index_disk_mb=0)) as server:
        ada = people.sign_in(tenant, served=server)
        ada.remember("The harbour is behind the old mill.", "The baker closes at noon.")
        page = ada.goto(f"/recall?q={quote(QUERY)}")
        expect(page.locator(".notice").filter(has_text="there is no room for their vectors")).to_be_visible()
        expect(page.get_by_text("wait for their vectors")).to_have_count(0)
        page = ada.goto("")
        expect(page.get_by_role("region", name="Health")).to_contain_text("there is no room for their vectors")
