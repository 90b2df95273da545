"""Signing in and out: by key and by link, sessions that end, forms from elsewhere, and two tenants side by side."""

from memorist.testing import new_tenant
from tests.dashboard.conftest import People, Person


def test_key_signs_in_and_sign_out_ends_it(ada: Person) -> None:
    page = ada.goto()
    assert page.get_by_role("navigation", name="Pages").get_by_role("link").count() == 8
    ada.check_axe()
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/dashboard/sign-in")
    ada.goto("/memories")
    assert page.url.endswith("/dashboard/sign-in")


def test_link_works_once(people: People, ada: Person) -> None:
    token = ada.core.sign_ins.make_link(ada.principal)
    other = people.sign_in(new_tenant())
    page = other.goto(f"/enter?link={token}")
    assert page.url.endswith("/dashboard")
    assert ada.principal.tenant in page.get_by_role("banner").inner_text()
    other.complaints.expect("401")
    other.goto(f"/enter?link={token}")
    assert "over" in page.get_by_role("alert").inner_text()
