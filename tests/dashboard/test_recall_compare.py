"""Two settings of recall side by side: what changes is marked, and the address says it all."""

import re
from dataclasses import replace
from threading import Barrier
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect
from starlette.datastructures import QueryParams

from memorist.memories.values import Kind
from memorist.recall.values import Weights
from memorist.surfaces.dashboard.pages import recall_compare
from memorist.surfaces.dashboard.pages.recall_answer import ShownMemory
from memorist.surfaces.dashboard.pages.recall_compare import RecalledSide, compare
from memorist.surfaces.dashboard.pages.recall_question import RecallForm
from tests.dashboard.conftest import People, Person
from tests.dashboard.sweeps import check_looks, check_page
from tests.support.browser import PHONE

HOSTILE = "<script>alert(1)</script> <b>harbour</b> \u202eevil\u202c {{ 7 * 7 }} 🙂"


def side(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=name, exact=True)


def texts(page: Page, name: str) -> list[str]:
    return [one.strip() for one in side(page, name).locator(".hit .said").all_inner_texts()]


def found(*ids: str) -> RecalledSide:
    """A side that found these, best first."""
    hits = [cast(Any, SimpleNamespace(memory=SimpleNamespace(id=one))) for one in ids]
    shown = [ShownMemory(rank, hit, (), (), (), (), 0) for rank, hit in enumerate(hits, start=1)]
    return RecalledSide(shown)


def test_places_are_compared() -> None:
    compared = compare(found("x", "y", "z"), found("y", "x", "w", "v"))
    (_, left), (_, right) = compared.sides
    assert [(one.elsewhere, one.gained) for one in left] == [(2, 1), (1, -1), (None, 0)]
    assert [(one.elsewhere, one.gained) for one in right] == [(2, 1), (1, -1), (None, 0), (None, 0)]
    assert (compared.both, compared.moved, compared.alone) == (2, 2, (1, 2))


def test_neither_side_waits_for_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    both_are_here = Barrier(2, timeout=30)

    def recalled(_: object, side: str, __: object) -> RecalledSide:
        both_are_here.wait()
        return found(side)

    monkeypatch.setattr(recall_compare, "_recalled", recalled)
    told = recall_compare._recalled_at_once(cast(Any, None), cast(Any, ["x", "y"]), cast(Any, None))
    assert [[one.hit.memory.id for one in side.found] for side in told] == [["x"], ["y"]]


def test_what_was_true_then_is_compared_with_now(ada: Person) -> None:
    [old, new] = ada.remember("The harbour is in Rome.", "The harbour is in Lisbon.", kind=Kind.FACT)
    ada.core.store.write(
        ada.principal.tenant,
        lambda tx: ada.core.facts.retire(tx, ada.principal, old, new, {"reason": "It moved.", "judge": "test"}),
    )
    then = quote(f"{old.created_at:%Y-%m-%dT%H:%M:%S.%f}")
    page = ada.goto(f"/recall/compare?q=harbour&a_rerank=on&b_rerank=on&b_as_of={then}&b_known_at={then}")
    assert texts(page, "Left") == ["The harbour is in Lisbon."]
    assert texts(page, "Right") == ["The harbour is in Rome."]
    expect(side(page, "Left").locator(".hit")).to_contain_text("only here")
    box = side(page, "Left").locator(".hit").bounding_box()
    assert box is not None and box["height"] < 200  # noqa: PT018
    expect(page.locator("[data-summary]")).to_contain_text("0 on both sides")
    expect(page.locator("[data-summary]")).to_contain_text("1 on the left alone, 1 on the right alone")


def test_weights_change_the_places_and_the_address_says_so(ada: Person) -> None:
    [fact] = ada.remember("The harbour is old.", kind=Kind.FACT)
    for session, text in (("s1", "Old is the harbour."), ("s2", "The baker closes at noon.")):
        ada.remember(text, kind=Kind.CHAT_MESSAGE, session=session)
    page = ada.goto("/recall")
    page.get_by_role("link", name="Compare two settings").click()
    page.get_by_label("Question").fill("harbour")
    right = page.get_by_role("group", name="Right", exact=True)
    right.locator("summary").click()
    right.get_by_label("Facts of the user").fill("0.1")
    page.get_by_role("button", name="Compare").click()
    expect(side(page, "Left").locator(".hit").first).to_contain_text("1 higher")
    expect(side(page, "Right").locator(".hit").last).to_contain_text("1 lower")
    expect(page.locator("[data-summary]")).to_contain_text("2 on both sides, 2 of them at another place")
    expect(page.locator("#compare-status")).to_contain_text("2 of them at another place")
    assert parse_qs(urlsplit(page.url).query)["b_w_user"] == ["0.1"]
    assert texts(page, "Left")[0] == texts(page, "Right")[1] == "The harbour is old."
    page.reload()
    expect(side(page, "Right").locator(".hit").last).to_contain_text("1 lower")
    expect(page.get_by_role("group", name="Right", exact=True).get_by_label("Facts of the user")).to_have_value("0.1")
    # Whoever compares has recalled nothing.
    assert ada.core.recall_history.of(ada.principal, fact.id) == []


def test_answer_is_compared_with_its_filters(ada: Person) -> None:
    ada.remember("The harbour is behind the mill.", project="maps", kind=Kind.FACT)
    ada.remember("The harbour is elsewhere.")
    page = ada.goto("/recall?q=harbour&project=maps&kind=fact&kind=chat_message&top_k=3")
    page.get_by_role("link", name="Compare with other settings").click()
    expect(page.locator(".ask")).to_contain_text("project=maps")
    for name in ("Left", "Right"):
        assert texts(page, name) == ["The harbour is behind the mill."]
        expect(side(page, name).locator(".hit")).to_contain_text("same place")
    asked = parse_qs(urlsplit(page.url).query)
    assert (asked["a_top_k"], asked["b_top_k"], asked["b_rerank"]) == (["3"], ["3"], ["off"])
    assert asked["kind"] == ["fact", "chat_message"]
    assert page.get_by_role("group", name="Right", exact=True).get_by_label("Off").is_checked()


def test_side_that_is_refused_says_why_and_the_other_answers(ada: Person) -> None:
    ada.remember("The harbour is behind the mill.")
    page = ada.goto("/recall/compare?q=harbour&a_top_k=99&b_w_user=many")
    expect(side(page, "Left").get_by_role("alert")).to_contain_text("top_k")
    expect(side(page, "Right").get_by_role("alert")).to_contain_text("A weight must be a number from 0 to 100.")
    page = ada.goto("/recall/compare?q=harbour&a_top_k=99&b_top_k=99&b_rerank=off")
    for name in ("Left", "Right"):
        expect(side(page, name).get_by_role("alert")).to_contain_text("top_k")
    page = ada.goto("/recall/compare?q=harbour&a_w_words=2&b_w_words=1")
    expect(side(page, "Left").get_by_role("alert")).to_contain_text("from 0 to 1.")
    assert texts(page, "Right") == ["The harbour is behind the mill."]


@pytest.mark.parametrize(("asked", "other"), [("", "off"), ("off", "on")])
def test_comparison_turns_the_reranker_around(asked: str, other: str) -> None:
    form = RecallForm.of(QueryParams([("q", "x"), ("rerank", asked), ("why_not", "mem_1"), ("as_of", "2026-01-01")]))
    pairs = parse_qs(urlsplit(form.comparison()).query)
    assert pairs.pop("a_rerank", [""]) == [asked]
    assert pairs == {"q": ["x"], "a_as_of": ["2026-01-01"], "b_as_of": ["2026-01-01"], "b_rerank": [other]}


def test_other_weights_leave_recall_as_it_is(ada: Person) -> None:
    usual = ada.core.recall
    other = usual.weighing(weights=replace(Weights(), user=0.0), words=1.0)
    assert (other._weights.user, other._fusion.text) == (0.0, 1.0)
    assert (usual._weights, usual.weighing()._fusion) == (Weights(), usual._fusion)


def test_keyboard_alone_compares(ada: Person) -> None:
    ada.remember("The harbour is behind the mill.")
    page = ada.goto("/recall/compare")
    page.keyboard.press("/")
    page.keyboard.type("harbour")
    page.keyboard.press("Enter")
    expect(side(page, "Left").locator(".hit")).to_have_count(1)
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("a_rerank=off"))
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.getAttribute('href')").startswith("/dashboard/memories/mem_")


def test_looks_side_by_side_and_stacked_on_a_phone(people: People, ada: Person) -> None:
    ada.remember(HOSTILE, "The harbour is behind the mill." + "x" * 300, kind=Kind.FACT)
    ada.goto("/recall/compare")
    check_page(ada)

    def open_all(page: Page) -> None:
        page.evaluate("document.querySelectorAll('main details').forEach((one) => { one.open = true })")

    path = "/recall/compare?q=harbour&min_score=0&b_w_words=0&a_scope=user"
    check_looks(people, ada.principal.tenant, path, person=ada, ready=".hit", prepare=open_all)
    page = ada.page
    assert page.locator("#compared script, #compared b").count() == 0
    left, right = (side(page, name).bounding_box() for name in ("Left", "Right"))
    assert left is not None
    assert right is not None
    assert right["x"] >= left["x"] + left["width"]
    page.set_viewport_size(PHONE)
    left, right = (side(page, name).bounding_box() for name in ("Left", "Right"))
    assert left is not None
    assert right is not None
    assert right["y"] >= left["y"] + left["height"]


def test_reader_may_compare_and_it_works_without_scripts(people: People, ada: Person, reader: Person) -> None:
    ada.remember("The harbour is behind the mill.")
    assert texts(reader.goto("/recall/compare?q=harbour"), "Right") == ["The harbour is behind the mill."]
    plain = people.sign_in(ada.principal.tenant, java_script_enabled=False)
    page = plain.goto("/recall/compare")
    page.get_by_label("Question").fill("harbour")
    page.get_by_role("button", name="Compare").click()
    assert texts(page, "Left") == ["The harbour is behind the mill."]


def test_side_that_finds_nothing_offers_what_hardly_fits(ada: Person) -> None:
    ada.remember("The harbour is in Lisbon.", kind=Kind.FACT)
    page = ada.goto("/recall/compare?q=Which+colour+has+the+teapot&a_min_score=0.9&b_rerank=off")
    expect(side(page, "Left").locator(".hit")).to_have_count(0)
    side(page, "Left").get_by_role("link", name="Show even what hardly fits").click()
    expect(side(page, "Left")).not_to_contain_text("Show even what hardly fits")
    assert "a_min_score=0" in page.url
    assert "b_rerank=off" in page.url
    expect(page.get_by_role("link", name="Show even what hardly fits")).to_have_count(0)
