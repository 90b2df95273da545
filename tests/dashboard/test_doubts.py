"""Facts in doubt: decided, taken back and brought back; by mouse, by keyboard and without scripts."""

import re

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playwright.sync_api import Locator, Page, expect

from memorist.facts.values import Doubt, DoubtStatus
from memorist.memories.values import Memory, Status
from memorist.platform.sign_ins import csrf_token
from memorist.platform.values import Role
from memorist.surfaces.dashboard.word_diff import side_by_side
from memorist.testing import make_doubt, new_tenant
from tests.dashboard.conftest import People, Person
from tests.dashboard.sweeps import check_looks, check_page

OLD, NEW = "The user works at Siemens and plays the cello.", "The user no longer works at Siemens."
HOSTILE = (
    '<script>document.title = "taken"</script> & <img src=x onerror=alert(1)>',
    "\u202etxet desrever\u202c \u05d0\u05d1\u05d2 🛟 " + "w" * 10_000,
)


def tell(person: Person, *texts: str) -> list[Memory]:
    return [person.core.facts.remember(person.principal, text).memory for text in texts]


def doubted(person: Person, old: str = OLD, new: str = NEW) -> tuple[Memory, Memory, Doubt]:
    """Two facts that somebody was unsure of."""
    [older, newer] = person.remember(old, new)
    doubt = make_doubt(newer, older, reason="A part of it may have changed.", judge="local")
    person.core.store.write(person.principal.tenant, lambda tx: tx.facts.insert_doubt(doubt))
    return older, newer, doubt


def status(person: Person, memory: Memory) -> Status:
    found = person.core.store.read(memory.tenant, lambda tx: tx.memories.get(memory.id))
    assert found is not None
    return found.status


def pairs(page: Page) -> Locator:
    return page.locator(".pair")


# What is shown


def test_pair_is_shown_side_by_side_with_reason_judge_and_what_differs(ada: Person) -> None:
    tell(ada, OLD, NEW)
    page = ada.goto("/doubts")
    assert pairs(page).count() == 1
    older, newer = pairs(page).locator(".fact").all()
    assert (older.locator(".text").inner_text(), newer.locator(".text").inner_text()) == (OLD, NEW)
    assert older.locator("mark").all_inner_texts() == ["and plays the cello"]
    assert newer.locator("mark").all_inner_texts() == ["no longer"]
    assert pairs(page).locator(".badge").inner_text() == "May contradict"
    because = pairs(page).locator(".because").inner_text()
    assert "A part of it may have changed" in because
    assert re.search(r"Judged by the local model, \d+% certain, just now", because)


def test_what_is_said_again_is_merged_and_in_no_doubt(ada: Person) -> None:
    [older, newer] = tell(ada, "The user prefers dark mode.", "User prefers dark mode.")
    assert (status(ada, older), status(ada, newer)) == (Status.ARCHIVED, Status.ACTIVE)
    page = ada.goto("/doubts")
    assert page.locator(".empty h2").inner_text() == "Nothing is in doubt"


def test_empty_lists_say_what_will_be_there(ada: Person) -> None:
    page = ada.goto("/doubts")
    assert page.locator(".empty h2").inner_text() == "Nothing is in doubt"
    page.get_by_role("link", name="Retired lately").click()
    expect(page.locator(".empty h2")).to_have_text("Nothing was retired")
    page.get_by_role("link", name="Both kept").click()
    expect(page.locator(".empty h2")).to_contain_text("Nothing was kept")
    ada.goto("/doubts?show=everything")
    expect(page.locator(".tabs [aria-current]")).to_have_text("To decide")


def test_many_pairs_are_shown_page_by_page(ada: Person) -> None:
    for number in range(23):
        doubted(ada, f"The pier {number} is long.", f"The pier {number} is short.")
    page = ada.goto("/doubts")
    assert pairs(page).count() == 20
    page.get_by_role("link", name="Show more").click()
    expect(pairs(page)).to_have_count(23)
    assert page.get_by_role("link", name="Show more").count() == 0
    assert len(set(pairs(page).locator(".fact:first-child .text").all_inner_texts())) == 23


# Deciding


def test_confirmed_pair_retires_the_older_one_and_undo_brings_it_back(ada: Person) -> None:
    older, newer, _ = doubted(ada)
    page = ada.goto("/doubts")
    page.get_by_role("button", name="Retire the older one").click()
    page.locator(".settled").wait_for()
    assert "The older fact is retired." in page.locator(".settled").inner_text()
    assert (status(ada, older), status(ada, newer)) == (Status.ARCHIVED, Status.ACTIVE)
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("button", name="Retire the older one").wait_for()
    assert status(ada, older) is Status.ACTIVE
    ada.page.reload()
    assert pairs(page).count() == 1


def test_refuted_pair_retires_the_newer_one_and_undo_brings_it_back(ada: Person) -> None:
    older, newer, _ = doubted(ada)
    page = ada.goto("/doubts")
    page.get_by_role("button", name="Retire the newer one").click()
    expect(page.locator(".settled")).to_contain_text("The newer fact is retired.")
    assert (status(ada, older), status(ada, newer)) == (Status.ACTIVE, Status.ARCHIVED)
    page.get_by_role("link", name="Retired lately").click()
    expect(pairs(page).locator(".fact .text")).to_have_text([NEW, OLD])
    pairs(page).locator(".fact").first.get_by_role("link", name="Open").click()
    expect(page.locator(".timeline li")).to_contain_text(["Retired: the one below holds", "Remembered"])
    expect(page.locator(".timeline li").first).to_contain_text("Refuted by ada")
    ada.goto("/doubts?show=retired")
    page.get_by_role("button", name="Bring it back").click()
    expect(page.locator(".settled")).to_contain_text("It is active again")
    page.get_by_role("link", name="Both kept").click()
    page.get_by_role("button", name="Decide again").click()
    page.get_by_role("button", name="Retire the newer one").click()
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("button", name="Retire the newer one").wait_for()
    assert (status(ada, older), status(ada, newer)) == (Status.ACTIVE, Status.ACTIVE)


def test_dismissed_pair_is_kept_and_can_be_decided_again(ada: Person) -> None:
    older, newer, _ = doubted(ada)
    page = ada.goto("/doubts")
    page.get_by_role("button", name="Keep both").click()
    expect(page.locator(".settled")).to_contain_text("Both facts stay")
    assert {status(ada, one) for one in (older, newer)} == {Status.ACTIVE}
    page.get_by_role("link", name="Both kept").click()
    assert pairs(page).count() == 1
    page.get_by_role("button", name="Decide again").click()
    page.get_by_role("button", name="Retire the older one").wait_for()
    page.get_by_role("link", name="To decide").click()
    expect(pairs(page)).to_have_count(1)


def test_judged_contradiction_is_listed_and_taken_back(ada: Person) -> None:
    [berlin, lisbon] = tell(ada, "The user lives in Berlin.", "The user lives in Lisbon.")
    page = ada.goto("/doubts")
    assert pairs(page).count() == 0
    page.get_by_role("link", name="Retired lately").click()
    pair = pairs(page)
    expect(pair).to_have_count(1)
    assert [one.locator("mark").inner_text() for one in pair.locator(".fact").all()] == ["Berlin", "Lisbon"]
    assert "one value" in pair.locator(".because").inner_text()
    page.get_by_role("button", name="Bring it back").click()
    expect(page.locator(".settled")).to_contain_text("It is active again")
    assert (status(ada, berlin), status(ada, lisbon)) == (Status.ACTIVE, Status.ACTIVE)
    page.get_by_role("link", name="Both kept").click()
    expect(pairs(page)).to_have_count(1)


def test_what_cannot_be_done_any_more_is_said_and_leaves_the_page(ada: Person) -> None:
    older, _, doubt = doubted(ada)
    page = ada.goto("/doubts")
    ada.core.facts.dismiss(ada.principal, doubt.id)
    page.get_by_role("button", name="Retire the older one").click()
    expect(page.locator(".toast.bad")).to_contain_text("decided before")
    assert pairs(page).count() == 1
    assert status(ada, older) is Status.ACTIVE


def test_it_works_without_scripts(people: People, tenant: str) -> None:
    person = people.sign_in(tenant, java_script_enabled=False)
    older, _, doubt = doubted(person)
    page = person.goto("/doubts")
    page.get_by_role("button", name="Retire the older one").click()
    assert "The older fact is retired." in page.locator("#toasts").inner_text()
    assert status(person, older) is Status.ARCHIVED
    page.locator("#toasts").get_by_role("button", name="Undo").click()
    assert "in doubt again" in page.locator("#toasts").inner_text()
    assert status(person, older) is Status.ACTIVE
    [open_again] = person.core.facts.in_doubt(person.principal).items
    assert open_again.doubt.id == doubt.id
    page.get_by_role("button", name="Keep both").click()
    assert person.core.facts.in_doubt(person.principal, status=DoubtStatus.DISMISSED).items[0].doubt.id == doubt.id
    tell(person, "The user lives in Berlin.", "The user lives in Lisbon.")
    person.goto("/doubts?show=retired")
    page.get_by_role("button", name="Bring it back").click()
    assert "active again" in page.locator("#toasts").inner_text()


def test_keyboard_alone_is_enough(ada: Person) -> None:
    older, _, _ = doubted(ada)
    page = ada.goto("/recall?q=x")
    page.keyboard.press("g")
    page.keyboard.press("d")
    page.wait_for_url("**/dashboard/doubts")
    page.keyboard.press("j")
    for _ in range(6):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "Retire the older one":
            break
    page.keyboard.press("Enter")
    page.locator(".settled").wait_for()
    assert status(ada, older) is Status.ARCHIVED
    # The focus is on what takes it back.
    expect(page.get_by_role("button", name="Undo")).to_be_focused()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Retire the older one").wait_for()
    assert status(ada, older) is Status.ACTIVE


# Everybody, every look


def test_every_look_with_hostile_texts(people: People, tenant: str, ada: Person) -> None:
    doubted(ada, *HOSTILE)
    doubted(ada)
    tell(ada, "The user lives in Berlin.", "The user lives in Lisbon.")
    person = check_looks(people, tenant, "/doubts", person=ada, ready=".pair")
    page = person.page
    assert "taken" not in page.title()
    assert page.locator(".pair script, .pair img").count() == 0
    assert HOSTILE[0] in page.locator(".pairs").inner_text()
    ada.goto("/doubts?show=retired")
    check_page(ada)
    page.get_by_role("button", name="Bring it back").click()
    page.locator(".settled").wait_for()
    check_page(ada)


def test_reader_looks_but_does_not_decide(reader: Person, ada: Person) -> None:
    older, _, doubt = doubted(ada)
    [berlin, _] = tell(ada, "The user lives in Berlin.", "The user lives in Lisbon.")
    page = reader.goto("/doubts")
    assert pairs(page).count() == 1
    assert pairs(page).get_by_role("button").count() == 0
    reader.goto("/doubts?show=retired")
    assert pairs(page).get_by_role("button").count() == 0
    for action, given_id in (
        ("confirm", doubt.id),
        ("refute", doubt.id),
        ("dismiss", doubt.id),
        ("reopen", doubt.id),
        ("restore", berlin.id),
    ):
        assert forged(reader, action, given_id) == 403
    assert (status(ada, older), status(ada, berlin)) == (Status.ACTIVE, Status.ARCHIVED)


def test_user_does_not_decide_about_what_everybody_shares(people: People, tenant: str) -> None:
    admin = people.sign_in(tenant, user=None)
    _, _, doubt = doubted(admin)
    user = people.sign_in(tenant, Role.USER, "bob")
    page = user.goto("/doubts")
    assert pairs(page).count() == 1
    assert pairs(page).get_by_role("button").count() == 0
    assert forged(user, "confirm", doubt.id) == 403


def test_only_decisions_that_would_be_taken_are_offered(people: People, tenant: str) -> None:
    admin = people.sign_in(tenant, user=None)
    bob = people.sign_in(tenant, Role.USER, "bob")
    [older], [newer] = bob.remember(OLD), admin.remember(NEW)
    doubt = make_doubt(newer, older)
    admin.core.store.write(tenant, lambda tx: tx.facts.insert_doubt(doubt))
    page = bob.goto("/doubts")
    assert pairs(page).get_by_role("button").all_inner_texts() == ["Retire the older one"]
    assert [forged(bob, action, doubt.id) for action in ("refute", "dismiss")] == [403, 403]
    admin.core.facts.dismiss(admin.principal, doubt.id)
    bob.goto("/doubts?show=kept")
    assert pairs(page).count() == 1
    assert pairs(page).get_by_role("button").count() == 0
    assert forged(bob, "reopen", doubt.id) == 403


def test_two_tenants_do_not_meet(people: People, ada: Person) -> None:
    older, _, doubt = doubted(ada)
    [berlin, _] = tell(ada, "The user lives in Berlin.", "The user lives in Lisbon.")
    stranger = people.sign_in(new_tenant())
    for tab in ("open", "retired", "kept"):
        page = stranger.goto(f"/doubts?show={tab}")
        assert pairs(page).count() == 0
    for action, given_id in (
        ("confirm", doubt.id),
        ("refute", doubt.id),
        ("dismiss", doubt.id),
        ("reopen", doubt.id),
        ("restore", berlin.id),
    ):
        assert forged(stranger, action, given_id) == 404
    assert (status(ada, older), status(ada, berlin)) == (Status.ACTIVE, Status.ARCHIVED)


def test_form_from_elsewhere_is_refused(ada: Person) -> None:
    older, _, doubt = doubted(ada)
    assert forged(ada, "confirm", doubt.id, csrf="made up") == 403
    assert status(ada, older) is Status.ACTIVE


def forged(person: Person, action: str, memory_id: str, *, csrf: str | None = None) -> int:
    """Post what the page does not offer, with the session of the browser. Returns the status."""
    cookies = {one["name"]: one["value"] for one in person.context.cookies()}
    token = next(value for name, value in cookies.items() if name.startswith("memorist_session"))
    form = {"id": memory_id, "csrf": csrf or csrf_token(token)}
    answer = httpx2.post(f"{person.served.url}/dashboard/doubts/{action}", data=form, cookies=cookies)
    return answer.status_code


# What differs

texts = st.text(st.sampled_from(["a", "b", "B", " ", "\n", ".", "é", "🛟"]), max_size=30)


@settings(deadline=None)
@given(before=texts | st.text(max_size=30), after=texts | st.text(max_size=30))
def test_pieces_are_the_texts_again_and_what_is_common_is_alike(before: str, after: str) -> None:
    left, right = side_by_side(before, after)
    assert "".join(piece.text for piece in left) == before
    assert "".join(piece.text for piece in right) == after
    common = ["".join("".join(one.text for one in side if not one.differs).split()) for side in (left, right)]
    assert common[0].casefold() == common[1].casefold()
    assert all(piece.text.strip() == piece.text for piece in (*left, *right) if piece.differs)


@pytest.mark.parametrize(
    ("before", "after", "differing"),
    [
        ("The port is 80.", "The port is 443.", (["80"], ["443"])),
        ("same", "Same", ([], [])),
        ("one two three", "four five six", (["one two three"], ["four five six"])),
        ("word " * 5000, "other " * 5000, ([], [])),
    ],
)
def test_only_words_that_differ_are_marked(before: str, after: str, differing: tuple[list[str], list[str]]) -> None:
    found = tuple([piece.text for piece in side if piece.differs] for side in side_by_side(before, after))
    assert found == differing
