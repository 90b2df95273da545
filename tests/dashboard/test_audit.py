"""Audit log: who did what, for admins, with filters, pages and a check of the chain."""

from playwright.sync_api import expect

from memorist.platform.values import Role
from tests.dashboard.conftest import People, Person
from tests.dashboard.sweeps import check_looks


def test_entries_are_shown_filtered_and_checked(ada: Person) -> None:
    page = ada.goto("/memories")
    page = ada.goto("/audit")
    entries = page.get_by_role("region", name="Entries")
    expect(entries).to_contain_text("GET /dashboard/memories")
    expect(entries).to_contain_text(str(ada.principal.key_id))
    page.get_by_label("Route").fill("GET /dashboard/audit")
    page.get_by_role("button", name="Show").click()
    expect(entries).not_to_contain_text("GET /dashboard/memories")
    expect(entries).to_contain_text("GET /dashboard/audit")
    page.get_by_label("User").fill("nobody-at-all")
    page.get_by_role("button", name="Show").click()
    expect(entries).to_contain_text("There are no such entries.")
    page.get_by_role("button", name="Check all entries").click()
    expect(page.get_by_role("region", name="Is it whole?")).to_contain_text("whole")
    expect(page.get_by_text("none was changed")).to_be_visible()


def test_older_entries_are_a_page_away(ada: Person) -> None:
    for number in range(60):
        with ada.core.audit.acting("library", f"look {number}", ada.principal):
            pass
    page = ada.goto("/audit")
    page.get_by_role("link", name="Older").click()
    expect(page.get_by_text("look 3", exact=True)).to_be_visible()
    page.get_by_role("link", name="Newest").click()
    expect(page.get_by_text("look 59", exact=True)).to_be_visible()


def test_audit_in_every_look(people: People, tenant: str) -> None:
    check_looks(people, tenant, "/audit")


def test_only_admins_see_it(people: People, tenant: str) -> None:
    bob = people.sign_in(tenant, Role.USER, "bob")
    bob.complaints.expect("403")
    page = bob.goto("/audit")
    expect(page.get_by_text("Only an admin key does that.")).to_be_visible()
    expect(page.get_by_role("link", name="Audit log")).to_have_count(0)
