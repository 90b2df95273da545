"""Access: keys are made, shown once and revoked; who is signed in, and whose memories there are. For admins alone."""

from dataclasses import replace

import pytest
from playwright.sync_api import expect

from memorist.errors import Unauthenticated
from memorist.memories.values import Draft
from memorist.platform.values import Role
from memorist.testing import new_tenant
from tests.dashboard.conftest import People, Person
from tests.dashboard.sweeps import check_looks
from tests.support.browser import PHONE

HOSTILE = "<script>alert(1)</script>"


def test_key_is_made_and_shown_once(ada: Person) -> None:
    page = ada.goto("/access")
    form = page.get_by_role("region", name="New key")
    form.get_by_role("radio", name="reader").check()
    form.get_by_label("User", exact=True).fill("bob")
    form.get_by_label("Agent", exact=True).fill("coder")
    form.get_by_label("Label", exact=True).fill("Bob’s <b>laptop</b>")
    form.get_by_role("button", name="Create the key").click()
    made = page.locator(".made")
    expect(made).to_contain_text("shown this once")
    ada.check_axe()
    secret = made.locator("pre").inner_text()
    holder = ada.core.identity.authenticate(secret)
    assert (holder.role, holder.user, holder.agent) == (Role.READER, "bob", "coder")
    ada.context.grant_permissions(["clipboard-read", "clipboard-write"])
    made.get_by_role("button", name="Copy").click()
    expect(made.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == secret
    keys = page.get_by_role("region", name="Keys")
    expect(keys).to_contain_text("Bob’s <b>laptop</b>")
    ada.goto("/access")
    expect(keys).to_contain_text("Bob’s <b>laptop</b>")
    assert secret not in page.content()


def test_impossible_key_says_why_and_keeps_what_was_written(ada: Person) -> None:
    page = ada.goto("/access")
    form = page.get_by_role("region", name="New key")
    form.get_by_label("Label", exact=True).fill("for the robot")
    form.get_by_role("button", name="Create the key").click()
    expect(form.get_by_role("alert")).to_contain_text("name the user")
    expect(form.get_by_label("Label", exact=True)).to_have_value("for the robot")
    expect(form.get_by_label("User", exact=True)).to_have_attribute("aria-invalid", "true")
    assert len(ada.core.identity.list_keys(ada.principal)) == 1


def test_revoked_key_stops_and_is_folded_away(ada: Person) -> None:
    key, secret = ada.core.identity.create_key(ada.principal, Role.USER, user="bob", label="phone")
    page = ada.goto("/access")
    keys = page.get_by_role("region", name="Keys")
    row = keys.locator("li", has_text=key.id)
    row.locator("summary").click()
    row.get_by_role("button", name="Revoke this key").click()
    expect(page.locator("#toasts")).to_contain_text("revoked")
    with pytest.raises(Unauthenticated):
        ada.core.identity.authenticate(secret)
    expect(keys.get_by_text("phone")).to_be_hidden()
    keys.get_by_text("1 revoked key").click()
    expect(keys.get_by_text("phone")).to_be_visible()


def test_revoking_ones_own_key_warns_and_signs_out(ada: Person) -> None:
    page = ada.goto("/access")
    own = page.get_by_role("region", name="Keys").locator("li", has_text="you are signed in with it")
    own.locator("summary").click()
    expect(own.get_by_text("is signed out at once")).to_be_visible()
    own.get_by_role("button", name="Revoke this key").click()
    assert page.url.endswith("/access")  # The box is not ticked.
    csrf = page.locator("input[name=csrf]").first.get_attribute("value") or ""
    key_id = ada.principal.key_id
    answer = page.request.post(f"{ada.served.url}/dashboard/access/keys/{key_id}/revoke", form={"csrf": csrf})
    assert answer.status in (400, 422)
    own.get_by_label("Sign me out, too").check()
    own.get_by_role("button", name="Revoke this key").click()
    page.wait_for_url("**/dashboard/sign-in")
    ada.goto("/access")
    assert page.url.endswith("/dashboard/sign-in?back=%2Fdashboard%2Faccess")


def test_users_are_listed_and_their_memories_looked_at(people: People, ada: Person) -> None:
    for user, agent in (("bob", None), ("bob", "coder"), (HOSTILE, "writer")):
        ada.core.memories.remember(replace(ada.principal, user=user, agent=agent), [Draft(f"of {user}")])
    people.sign_in(ada.principal.tenant, Role.READER, "bob")
    page = ada.goto("/access")
    users = page.get_by_role("region", name="Users and profiles")
    assert users.get_by_role("row").count() == 4
    expect(users).to_contain_text(HOSTILE)
    expect(page.get_by_role("region", name="Signed in here").locator("li")).to_have_count(2)
    users.get_by_role("button", name="Their memories (bob)").click()
    page.wait_for_url("**/dashboard/memories")
    expect(page.get_by_role("banner")).to_contain_text("Acting for bob")


def test_long_lists_come_in_pages(ada: Person) -> None:
    for number in range(25):
        ada.core.memories.remember(replace(ada.principal, user=f"user{number:02}"), [Draft("a text")])
    for number in range(102):
        ada.core.identity.create_key(ada.principal, Role.USER, user=f"user{number:02}")
    page = ada.goto("/access")
    assert page.get_by_role("region", name="Keys").locator("li.key").count() == 100
    page.get_by_role("link", name="Older keys").click()
    expect(page.get_by_role("region", name="Keys").locator("li.key")).to_have_count(3)
    page.get_by_role("link", name="More users").click()
    expect(page.get_by_role("region", name="Users and profiles").get_by_role("row")).to_have_count(6)


def test_others_get_a_clear_refusal_and_no_entry_in_the_menu(people: People, tenant: str) -> None:
    for role in (Role.READER, Role.USER):
        person = people.sign_in(tenant, role)
        person.complaints.expect("403")
        for path in ("/access", "/system"):
            page = person.goto(path)
            expect(page.get_by_role("alert")).to_contain_text("Only an admin key does that.")
            assert page.get_by_role("navigation", name="Pages").get_by_role("link", name="Access").count() == 0
        csrf = page.locator("input[name=csrf]").first.get_attribute("value") or ""
        base = f"{person.served.url}/dashboard/access/keys"
        made = page.request.post(base, form={"csrf": csrf, "role": "admin"})
        ended = page.request.post(f"{base}/{person.principal.key_id}/revoke", form={"csrf": csrf, "own": "yes"})
        assert (made.status, ended.status) == (403, 403)
    assert person.core.identity.authenticate(person.key).role is Role.USER


def test_other_tenants_keys_are_neither_seen_nor_revoked(people: People, ada: Person) -> None:
    stranger = people.sign_in(new_tenant())
    page = stranger.goto("/access")
    assert str(ada.principal.key_id) not in page.content()
    csrf = page.locator("input[name=csrf]").first.get_attribute("value") or ""
    path = f"{stranger.served.url}/dashboard/access/keys/{ada.principal.key_id}/revoke"
    assert page.request.post(path, form={"csrf": csrf}).status == 404
    assert ada.core.identity.authenticate(ada.key).tenant == ada.principal.tenant


def test_access_in_every_look(people: People, tenant: str) -> None:
    ada = people.sign_in(tenant)
    ada.core.identity.create_key(ada.principal, Role.SERVICE, label=HOSTILE + " 🦉 \u202egnp.exe " + "x" * 400)
    ada.core.memories.remember(replace(ada.principal, user="u" * 120, agent="a" * 120), [Draft("a text")])
    check_looks(
        people, tenant, "/access", person=ada, prepare=lambda page: page.locator(".confirm summary").first.click()
    )


def test_users_are_stacked_on_a_phone_and_nothing_is_cut_off(people: People, tenant: str) -> None:
    ada = people.sign_in(tenant, viewport=PHONE)
    shared = replace(ada.principal, user=None, agent="planner")
    for who in (shared, replace(ada.principal, user="bob", agent="coding-assistant")):
        ada.core.memories.remember(who, [Draft("a text")])
    page = ada.goto("/access")
    users = page.get_by_role("region", name="Users and profiles")
    expect(users.get_by_role("table").get_by_role("row")).to_have_count(3)
    expect(users.get_by_role("rowheader", name="everybody")).to_be_visible()
    lines = "element => element.getClientRects().length"
    for word in users.locator("th[scope=row] span, td span:not(.visually-hidden)").all():
        assert word.evaluate(lines) == 1, word.inner_text()
    for cell in users.locator("td:visible").all():
        box = cell.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= PHONE["width"]
    users.get_by_role("button", name="Their memories (bob)").click()
    page.wait_for_url("**/dashboard/memories")


def test_access_by_keyboard_alone(ada: Person) -> None:
    page = ada.goto("/access")
    page.keyboard.press("g")
    page.keyboard.press("a")
    page.wait_for_url("**/dashboard/access")
    page.get_by_label("User", exact=True).focus()
    page.keyboard.type("cleo")
    page.keyboard.press("Enter")
    expect(page.locator(".made")).to_contain_text("shown this once")
    row = page.locator("li.key", has_text="cleo")
    row.locator("summary").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(row.get_by_role("button", name="Revoke this key")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#toasts")).to_contain_text("revoked")
