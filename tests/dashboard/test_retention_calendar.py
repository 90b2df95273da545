"""Retention on a calendar in the browser: what comes when, to which memories, and whether it is done."""

import re
from datetime import date, timedelta

from playwright.sync_api import expect

from memorist.memories.values import Retention
from memorist.platform.values import Role
from tests.dashboard.conftest import People, Person
from tests.dashboard.sweeps import check_looks
from tests.support.browser import PHONE

ADDRESS = "/activity/retention"


def month_of(day: date) -> str:
    return f"{ADDRESS}?month={day:%Y-%m}"


def test_days_with_counts_lead_to_the_memories(people: People, ada: Person) -> None:
    ages, again = ada.remember("The offer holds.", "The old price list.", retention=Retention.POLICY)
    (ends,) = ada.remember("The door code is 1234.", ttl=timedelta(days=90))
    due = (ages.created_at + timedelta(days=90)).date()
    page = ada.goto(month_of(due))
    cell = page.locator("td a", has_text="3")
    expect(cell).to_contain_text("2 archived")
    expect(cell).to_contain_text("1 ended")
    expect(page.get_by_role("region", name="Day by day")).to_contain_text("2 archived, 1 ended")
    cell.click()
    page.wait_for_url(f"**day={due.isoformat()}")
    expect(page.locator("td a[aria-current]")).to_contain_text("3")
    listed = page.get_by_role("region", name=due.isoformat())
    for memory, words in ((ages, "will be archived"), (again, "will be archived"), (ends, "reaches its end date")):
        row = listed.get_by_role("listitem").filter(has_text=memory.content)
        expect(row).to_contain_text(words)
        expect(row.get_by_role("link")).to_have_attribute("href", f"/dashboard/memories/{memory.id}")
    check_looks(people, ada.principal.tenant, f"{month_of(due)}&day={due.isoformat()}", person=ada)


def test_preview_says_so_and_policy_that_is_on_too(ada: Person) -> None:
    (one,) = ada.remember("The offer holds.", retention=Retention.POLICY)
    due = (one.created_at + timedelta(days=90)).date()
    ada.core.policies.change(ada.principal, {"mode": "observe"})
    page = ada.goto(month_of(due))
    expect(page.get_by_text("Retention is in preview: nothing of this happens")).to_be_visible()
    expect(page.locator("td.told a")).to_have_count(1)
    expect(page.get_by_role("region", name="Day by day")).to_contain_text("preview")
    (ends,) = ada.remember("The door code is 1234.", ttl=timedelta(days=40))
    ada.goto(month_of((ends.created_at + timedelta(days=40)).date()))
    expect(page.locator("td:not(.told) a", has_text="1 ended")).to_have_count(1)
    ada.core.policies.change(ada.principal, {"mode": "enforce"})
    ada.goto(f"{month_of(due)}&day={due.isoformat()}")
    expect(page.get_by_text("Retention is on: this happens on these days.")).to_be_visible()
    expect(page.get_by_role("region", name=due.isoformat())).to_contain_text("will be archived")
    expect(page.locator("td.told a")).to_have_count(0)


def test_what_is_due_already_is_told_apart(ada: Person) -> None:
    ada.remember("The offer held.", retention=Retention.POLICY)
    ada.core.policies.change(ada.principal, {"mode": "observe", "active_days": 0})
    page = ada.goto(ADDRESS)
    page.get_by_role("link", name="Due already: 1 archived").click()
    expect(page.get_by_role("region", name="Due already")).to_contain_text("The offer held.")
    expect(page.get_by_role("region", name="Due already")).to_contain_text("would be archived")


def test_keyboard_alone_goes_through_months_and_days(ada: Person) -> None:
    (one,) = ada.remember("The offer holds.", retention=Retention.POLICY)
    due = (one.created_at + timedelta(days=90)).date()
    page = ada.goto(ADDRESS)
    while page.locator("td a").count() == 0:
        before = page.url
        page.get_by_role("link", name="Later").focus()
        page.keyboard.press("Enter")
        page.wait_for_url(re.compile(f"^(?!{re.escape(before)}$)"))
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**day={due.isoformat()}")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/memories/{one.id}")


def test_calendar_fits_a_phone_and_nothing_to_come_is_said(people: People, ada: Person) -> None:
    check_looks(people, ada.principal.tenant, ADDRESS, person=ada)
    page = ada.page
    page.set_viewport_size(PHONE)
    ada.goto(ADDRESS)
    expect(page.get_by_role("region", name="Day by day")).to_contain_text("Nothing comes in this month.")
    assert page.locator("td.today").count() == 1
    for asked in ("month=2020-01", "month=never", "day=never", "day=9999-12-31", "month=9999-12"):
        assert page.request.get(f"{ada.served.url}/dashboard{ADDRESS}?{asked}").status == 422


def test_user_sees_what_comes_to_theirs(people: People, ada: Person) -> None:
    bob = people.sign_in(ada.principal.tenant, Role.USER, "bob")
    (one,) = ada.remember("Ada's offer.", retention=Retention.POLICY)
    bob.remember("Bob's offer.", retention=Retention.POLICY)
    due = (one.created_at + timedelta(days=90)).date()
    page = bob.goto(f"{month_of(due)}&day={due.isoformat()}")
    expect(page.locator("td a .much")).to_have_text("1")
    expect(page.get_by_role("region", name=due.isoformat()).get_by_role("listitem")).to_contain_text("Bob's offer.")
    assert page.get_by_role("link", name="The policy").count() == 0
