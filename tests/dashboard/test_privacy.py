"""Privacy: export, retention with a preview, erasing with a receipt, and what redaction took out."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import expect

from memorist.erasure.values import ErasureKind, Verification
from memorist.memories.policy import Derived, Mode, Policy, Windows
from memorist.memories.values import Draft, Kind, Retention
from memorist.platform.values import Owner, Principal, Role
from memorist.settings import Settings
from memorist.surfaces.dashboard.pages.privacy_words import differences, findings_of, policy_sentences
from memorist.testing import new_tenant
from memorist.testing.clocks import START
from tests.dashboard.conftest import People, Person
from tests.dashboard.sweeps import check_looks, check_page
from tests.http.conftest import serving

SECRET = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
HOSTILE = "<script>alert(1)</script> \u202eevil\u202c {{ 7 * 7 }} 🙂 " + "x" * 400


def aging(person: Person, count: int = 3, user: str = "ada") -> None:
    """Messages that follow the policy."""
    principal = Principal(person.principal.tenant, Role.USER, user)
    drafts = [
        Draft(f"message {number}", kind=Kind.CHAT_MESSAGE, retention=Retention.POLICY, session="s")
        for number in range(count)
    ]
    person.core.memories.remember(principal, drafts)


def test_export_is_what_the_core_exports(ada: Person, tmp_path: Path) -> None:
    ada.remember("a first memory", HOSTILE)
    page = ada.goto("/privacy")
    with page.expect_download() as downloading:
        page.get_by_role("link", name="Download").click()
    download = downloading.value
    assert download.suggested_filename.startswith("memorist-ada-")
    assert download.suggested_filename.endswith(".jsonl")
    download.save_as(tmp_path / "export.jsonl")
    exported = (tmp_path / "export.jsonl").read_text("utf-8")
    assert exported.splitlines() == list(ada.core.transfer.export(ada.principal))


def test_admin_looking_at_everybody_exports_the_tenant(ada: Person) -> None:
    aging(ada, 2, "bob")
    page = ada.goto("/privacy")
    own = page.request.get(f"{ada.served.url}/dashboard/transfer/export").text()
    page.get_by_role("link", name="Whose memories: change").click()
    page.get_by_role("button", name="Everybody").click()
    page.wait_for_url(f"{ada.served.url}/dashboard/privacy")
    whole = page.request.get(f"{ada.served.url}/dashboard/transfer/export").text()
    assert "message 1" not in own
    assert "message 1" in whole


@pytest.mark.parametrize("role", [Role.SERVICE, Role.READER])
def test_key_of_nobody_is_promised_no_more_than_it_sees(people: People, ada: Person, role: Role) -> None:
    ada.remember("ada's own")
    ada.remember("of all", owner=Owner(None))
    person = people.sign_in(ada.principal.tenant, role, None)
    page = person.goto("/privacy")
    expect(page.locator(".acting")).to_have_text("Acting for nobody")
    expect(page.locator("#export")).to_contain_text("This key acts for nobody: it sees what the tenant shares")
    expect(page.locator("#export")).not_to_contain_text("that this tenant has")
    exported = page.request.get(f"{ada.served.url}/dashboard/transfer/export").text()
    assert ("of all" in exported, "ada's own" in exported) == (True, False)
    person.goto("/memories")
    expect(page.locator("main")).to_contain_text("of all")
    expect(page.locator("main")).not_to_contain_text("choose whose memories")
    if role is Role.SERVICE:
        person.goto("/memories/new")
        expect(page.locator(".notice.warn")).to_contain_text("This key acts for nobody")


def test_rules_are_changed_after_their_effect_was_seen(ada: Person) -> None:
    aging(ada)
    page = ada.goto("/privacy")
    policy = page.get_by_role("region", name="How long things stay")
    expect(policy).to_contain_text("is active for 90 days, then archived for 60 days, then deleted")
    policy.get_by_text("Change the rules").click()
    policy.get_by_label("Days active").fill("0")
    policy.get_by_text("Different for one kind").click()
    policy.get_by_role("group", name="Facts").get_by_label("Active").fill("10")
    policy.get_by_role("button", name="Preview the effect").click()
    effect = page.locator("#policy-effect")
    expect(effect).to_contain_text("3 messages get other deadlines")
    expect(effect).to_contain_text("3 messages to be archived")
    expect(effect.get_by_role("row", name="Days active 90")).to_contain_text("90")
    assert ada.core.policies.get(ada.principal).revision == 0  # Looking changes nothing.
    effect.get_by_role("button", name="Apply").click()
    expect(page.locator("#toasts")).to_contain_text("revision 1")
    applied = ada.core.policies.get(ada.principal).policy
    assert applied.windows.active_days == 0
    assert applied.kinds == {Kind.FACT: {"active_days": 10}}
    assert applied.mode is Mode.AUTO
    expect(policy).to_contain_text("For facts: it is active for 10 days")


def test_enforcing_shows_what_it_does_and_a_sweep_does_it(ada: Person) -> None:
    aging(ada)
    ada.core.policies.change(ada.principal, {"active_days": 0})
    page = ada.goto("/privacy")
    report = page.get_by_role("region", name="What retention would do")
    expect(report).to_contain_text("Messages archived")
    expect(report.get_by_role("cell", name="3", exact=True)).to_be_visible()
    report.get_by_role("button", name="Check now").click()
    expect(page.locator("#toasts")).to_contain_text("3 left as they are")
    page.get_by_role("button", name="Turn it on").click()
    effect = page.locator("#policy-effect")
    expect(effect).to_contain_text("At once 3 messages are archived.")
    effect.get_by_role("button", name="Apply").click()
    expect(page.get_by_text("Retention is on")).to_be_visible()
    page.get_by_role("button", name="Check now").click()
    expect(page.locator("#toasts")).to_contain_text("3 moved on")
    expect(page.get_by_role("region", name="What retention does")).to_contain_text("Nothing is due.")
    page.get_by_role("button", name="Back to preview").click()
    page.locator("#policy-effect").get_by_role("button", name="Apply").click()
    expect(page.get_by_text("Retention is in preview: nothing is deleted yet.")).to_be_visible()


def test_change_that_was_previewed_on_another_policy_is_refused(ada: Person) -> None:
    page = ada.goto("/privacy")
    page.get_by_role("button", name="Turn it on").click()
    effect = page.locator("#policy-effect")
    expect(effect).to_contain_text("Nothing is due at once.")
    ada.core.policies.change(ada.principal, {"active_days": 7, "archive_days": 0, "grace_days": 0})
    effect.get_by_role("button", name="Apply").click()
    expect(page.locator("#toasts")).to_contain_text("Preview")
    now = ada.core.policies.get(ada.principal)
    assert (now.revision, now.policy.mode) == (1, Mode.AUTO)
    ada.goto("/privacy").get_by_role("button", name="Turn it on").click()
    effect.get_by_role("button", name="Apply").click()
    expect(page.locator("#toasts")).to_contain_text("revision 2")


def test_wrong_rules_are_told_and_nothing_changes(ada: Person) -> None:
    page = ada.goto("/privacy")
    policy = page.get_by_role("region", name="How long things stay")
    policy.get_by_text("Change the rules").click()
    page.evaluate("document.querySelector('[name=active_days]').removeAttribute('max')")
    policy.get_by_label("Days active").fill("99999")
    policy.get_by_role("button", name="Preview the effect").click()
    expect(page.locator("#toasts")).to_contain_text("active_days must be a number of days from 0 to 36500.")
    csrf = str(page.locator("[name=csrf]").first.get_attribute("value"))
    for changes in ("no json", "[]", '{"mode": "maybe"}', '{"unknown": 1}'):
        form = {"csrf": csrf, "changes": changes}
        answer = page.request.post(f"{ada.served.url}/dashboard/privacy/policy/apply", form=form)
        assert 400 <= answer.status < 500
    assert ada.core.policies.get(ada.principal).revision == 0


def test_person_is_erased_after_counts_and_a_typed_name_and_the_receipt_holds(ada: Person, tmp_path: Path) -> None:
    aging(ada, 4, "bob")
    ada.remember("this one is ada's")
    page = ada.goto("/privacy")
    page.get_by_label("User", exact=True).fill("bob")
    page.get_by_role("button", name="Show what would be erased").click()
    preview = page.locator("#erase-preview")
    expect(preview).to_contain_text("Of bob there is")
    expect(preview.locator(".tally div").first).to_contain_text("4")
    expect(preview.locator(".tally > div").last).to_have_text("lines of history4")
    preview.get_by_label("Type bob to confirm").fill("bo")
    preview.get_by_role("button", name="Erase for good").click()
    expect(page.locator("#toasts")).to_contain_text("Type bob to erase. Nothing was erased.")
    assert ada.core.erasure.preview(ada.principal, "bob")["memories"] == 4
    preview.get_by_label("The API keys too").check()
    preview.get_by_label("Type bob to confirm").fill("bob")
    preview.get_by_role("button", name="Erase for good").click()
    page.wait_for_url("**/privacy/receipts/rcpt_*")
    expect(page.get_by_role("heading", level=1)).to_have_text("A person was erased")
    expect(page.get_by_role("region", name="Is it gone?")).to_contain_text("Nothing of it was found.")
    expect(page.get_by_role("region", name="Is it gone?")).to_contain_text(
        "None of 4 ids is in the bytes of the files."
    )
    expect(page.get_by_role("region", name="The receipt")).to_contain_text("Backups and exports that were made before")
    assert "bob" not in page.locator("main").inner_text()
    page.get_by_label("Look for the name too").fill("bobby-and-his-friends")
    page.get_by_role("button", name="Verify now").click()
    expect(page.locator("#toasts")).to_contain_text("The receipt is not about that name.")
    page.get_by_label("Look for the name too").fill("bob")
    page.get_by_role("button", name="Verify now").click()
    expect(page.locator("#verification")).to_contain_text("Looked just now")
    with page.expect_download() as downloading:
        page.get_by_role("link", name="Download as JSON").click()
    downloading.value.save_as(tmp_path / "receipt.json")
    record = json.loads((tmp_path / "receipt.json").read_text("utf-8"))
    assert len(record["memory_ids"]) == 4
    [receipt] = ada.core.erasure.receipts(ada.principal)
    assert (record["id"], receipt.kind) == (receipt.id, ErasureKind.USER)
    assert ada.core.memories.list(ada.principal).items[0].content == "this one is ada's"
    listed = ada.goto("/privacy").get_by_role("region", name="Receipts")
    listed.get_by_role("link", name="A person").click()
    page.wait_for_url(f"**/{receipt.id}")


def test_on_postgres_the_receipt_says_what_is_out_of_reach(
    people: People, tmp_path_factory: pytest.TempPathFactory, postgres_url: str, tenant: str
) -> None:
    settings = Settings(
        data=tmp_path_factory.mktemp("postgres"), database=postgres_url, port=0, embedder="off", reranker="off"
    )
    with serving(settings) as served:
        ada = people.sign_in(tenant, served=served)
        aging(ada, 2, "bob")
        ada.remember(f"Deploy with {SECRET}")
        page = ada.goto("/privacy")
        expect(page.get_by_role("region", name="What was redacted").get_by_role("listitem")).to_have_count(1)
        page.get_by_label("User", exact=True).fill("bob")
        page.get_by_role("button", name="Show what would be erased").click()
        page.get_by_label("Type bob to confirm").fill("bob")
        page.get_by_role("button", name="Erase for good").click()
        proof = page.get_by_role("region", name="Is it gone?")
        expect(proof).to_contain_text("No row of it is in the database.")
        expect(proof).to_contain_text("The files belong to the database server, and cannot be read from here.")
        [receipt] = ada.core.erasure.receipts(ada.principal)
        assert receipt.remains
        for line in receipt.remains:
            expect(page.get_by_role("region", name="The receipt")).to_contain_text(line)
        ada.goto("")  # Nothing of the page is left to be loaded when the server stops.


def test_whoever_is_named_in_the_history_of_others_alone_is_counted(ada: Person) -> None:
    shared = ada.remember("everybody's", owner=Owner())[0]
    carl = Principal(ada.principal.tenant, Role.ADMIN, "carl")
    ada.core.memories.forget(carl, shared.id)
    page = ada.goto("/privacy/erase?user=carl")
    expect(page.locator(".tally > div")).to_have_text(["lines of history1"])
    expect(page.get_by_label("Type carl to confirm")).to_be_visible()


def test_a_user_erases_themselves_and_nobody_else(people: People, tenant: str) -> None:
    bob = people.sign_in(tenant, Role.USER, "bob")
    bob.remember("mine")
    bob.core.user_tokens.create(Principal(tenant, Role.ADMIN), "bob")
    aging(bob, 2, "ada")
    page = bob.goto("/privacy")
    assert page.get_by_label("User", exact=True).count() == 0
    assert page.get_by_role("region", name="How long things stay").count() == 0
    csrf = str(page.locator("[name=csrf]").first.get_attribute("value"))
    address = f"{bob.served.url}/dashboard/privacy"
    form = {"csrf": csrf, "user": "ada", "confirm": "ada"}
    assert page.request.post(f"{address}/erase", form=form).status == 403
    assert page.request.get(f"{address}/erase?user=ada").status == 403
    assert page.request.get(f"{address}/erase/history?user=ada").status == 403
    assert (
        page.request.post(f"{address}/erase", form={**form, "user": "bob", "confirm": "bob", "keys": "yes"}).status
        == 403
    )
    for path, fields in (
        ("/sweep", {}),
        ("/policy", {"only": "mode", "mode": "enforce"}),
        ("/policy/apply", {"changes": "{}"}),
    ):
        assert page.request.post(f"{address}{path}", form={"csrf": csrf, **fields}).status == 403
    page.get_by_role("button", name="Show what would be erased").click()
    expect(page.locator(".tally > div").last).to_have_text("lines of history1")
    expect(page.locator(".tally dt")).to_have_text(
        ["memories", "entries of the search index", "tokens for web pages", "API keys", "lines of history"]
    )
    page.get_by_label("Type bob to confirm").fill("bob")
    page.get_by_role("button", name="Erase for good").click()
    page.wait_for_url("**/privacy/receipts/rcpt_*")
    assert bob.core.memories.list(bob.principal).items == ()
    assert len(bob.core.memories.list(Principal(tenant, Role.USER, "ada")).items) == 2


def test_redactions_are_listed_without_the_secret(ada: Person) -> None:
    [memory] = ada.remember(f"Deploy with {SECRET} and password=hunter22 please")
    ada.remember("nothing to hide")
    for number in range(10):
        ada.remember(f"again {SECRET[:-2]}{number:02}")
    page = ada.goto("/privacy")
    log = page.get_by_role("region", name="What was redacted")
    expect(log.get_by_role("listitem")).to_have_count(10)
    log.get_by_role("link", name="Older").click()
    expect(log.get_by_role("listitem")).to_have_count(1)
    expect(log.get_by_role("link", name=memory.id)).to_have_attribute("href", f"/dashboard/memories/{memory.id}")
    expect(log).to_contain_text("github-token")
    assert "ghp_" not in page.content()
    assert "hunter22" not in page.content()


def test_keyboard_alone_counts_and_erases(people: People, tenant: str) -> None:
    bob = people.sign_in(tenant, Role.USER, "bob")
    bob.remember("mine")
    page = bob.goto("")
    page.keyboard.press("g")
    page.keyboard.press("p")
    page.wait_for_url("**/dashboard/privacy")
    page.get_by_role("navigation", name="On this page").get_by_role("link", name="Erase").focus()
    page.keyboard.press("Enter")
    for _ in range(3):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent").startswith("Show what"):
            break
    page.keyboard.press("Enter")
    page.locator("#confirm").wait_for()
    page.keyboard.press("Tab")
    page.keyboard.type("bob")
    page.keyboard.press("Enter")
    page.wait_for_url("**/privacy/receipts/rcpt_*")


def test_reader_is_offered_no_action_and_is_refused(ada: Person, reader: Person) -> None:
    ada.remember(f"Deploy with {SECRET}")
    page = reader.goto("/privacy")
    assert page.locator("main button").count() == 0
    expect(page.get_by_role("region", name="What was redacted").get_by_role("listitem")).to_have_count(1)
    csrf = str(page.locator("[name=csrf]").first.get_attribute("value"))
    forged = {"csrf": csrf, "user": "ada", "confirm": "ada"}
    assert page.request.post(f"{reader.served.url}/dashboard/privacy/erase", form=forged).status == 403
    assert page.request.get(f"{reader.served.url}/dashboard/privacy/erase?user=ada").status == 403
    assert len(ada.core.memories.list(ada.principal).items) == 1


def test_another_tenant_sees_nothing(people: People, ada: Person) -> None:
    aging(ada, 2, "bob")
    ada.remember(f"Deploy with {SECRET}")
    receipt = ada.core.erasure.purge_user(ada.principal, "bob")
    stranger = people.sign_in(new_tenant())
    page = stranger.goto("/privacy")
    expect(page.get_by_role("region", name="Receipts")).to_contain_text("Nothing was erased yet")
    expect(page.get_by_role("region", name="What was redacted")).to_contain_text("Nothing was redacted")
    for path in ("", "/json"):
        answer = page.request.get(f"{stranger.served.url}/dashboard/privacy/receipts/{receipt.id}{path}")
        assert answer.status == 404
    assert ada.principal.tenant not in page.request.get(f"{stranger.served.url}/dashboard/transfer/export").text()


def test_without_javascript_rules_and_erasure_work(people: People, tenant: str) -> None:
    ada = people.sign_in(tenant, java_script_enabled=False)
    aging(ada, 2, "bob")
    page = ada.goto("/privacy")
    page.get_by_role("button", name="Turn it on").click()
    page.locator("#policy-effect").get_by_role("button", name="Apply").click()
    expect(page.get_by_text("Retention is on")).to_be_visible()
    page.get_by_label("User", exact=True).fill("bob")
    page.get_by_role("button", name="Show what would be erased").click()
    page.get_by_role("link", name="Show", exact=True).click()
    expect(page.locator(".tally > div").last).to_have_text("lines of history2")
    page.get_by_label("Type bob to confirm").fill("bob")
    page.get_by_role("button", name="Erase for good").click()
    page.get_by_role("button", name="Verify now").click()
    expect(page.get_by_role("region", name="Is it gone?")).to_contain_text("Looked just now")


def test_looks(people: People, ada: Person) -> None:
    aging(ada)
    aging(ada, 2, "b" * 120)
    ada.remember(f"Deploy with {SECRET}")
    ada.core.policies.change(ada.principal, {"active_days": 0, "kinds": {"fact": {"active_days": 3}}})
    receipt = ada.core.erasure.purge_user(ada.principal, "b" * 120)

    def open_all(page) -> None:  # type: ignore[no-untyped-def]
        page.get_by_text("Change the rules").click()
        page.get_by_role("button", name="Turn it on").click()
        page.locator("#policy-effect .effect").wait_for()
        page.get_by_role("button", name="Show what would be erased").click()
        page.locator("#erase-preview .effect").wait_for()

    check_looks(people, ada.principal.tenant, "/privacy", person=ada, prepare=open_all)
    check_looks(people, ada.principal.tenant, f"/privacy/receipts/{receipt.id}", person=ada, ready="#verification")
    ada.goto(f"/privacy/erase?user={'x' * 120}")
    check_page(ada)


def test_admin_who_looks_at_somebody_stays_the_one_who_acts(ada: Person) -> None:
    aging(ada, 1, "bob")
    page = ada.goto("/privacy")
    csrf = str(page.locator("[name=csrf]").first.get_attribute("value"))
    address = f"{ada.served.url}/dashboard"
    page.request.post(f"{address}/whose", form={"csrf": csrf, "whose": "bob"})
    page.request.post(
        f"{address}/privacy/policy/apply", form={"csrf": csrf, "changes": '{"active_days": 5}', "revision": "0"}
    )
    page.request.post(f"{address}/privacy/erase", form={"csrf": csrf, "user": "bob", "confirm": "bob"})
    assert ada.core.policies.get(ada.principal).actor == "ada"
    [receipt] = ada.core.erasure.receipts(ada.principal)
    assert receipt.asked_by["self"] is False


# In words


def test_policy_in_words() -> None:
    windows = Windows(active_days=1, archive=False, grace_days=0)
    policy = Policy(windows=windows, kinds={Kind.FACT: {"archive": True}}, derived_facts=Derived.ERASE)
    assert policy_sentences(policy)[:4] == [
        "What follows the policy is active for 1 day, then deleted; it cannot be restored, and is then erased.",
        "For facts: it is active for 1 day, then archived for 60 days, then deleted; it cannot be restored, "
        "and is then erased.",
        "A fact that was replaced is made anonymous after 30 days.",
        "A fact is erased with what it was learned from.",
    ]
    assert differences(Policy(), policy) == [
        ("Days active", "90", "1"),
        ("Archive before deleting", "yes", "no"),
        ("Days recoverable", "7", "0"),
        ("Facts learned from what is erased", "stay, without their source", "are erased too"),
        ("Only for facts", "as all", "archive before deleting: yes"),
    ]


def test_verification_in_words_says_what_could_not_be_looked_at() -> None:
    on_a_server = Verification(ok=True, checked_at=START, ids=3, samples=2)
    assert findings_of(on_a_server) == [
        (True, "No row of it is in the database."),
        (None, "The files belong to the database server, and cannot be read from here."),
    ]
    rows = {"memories": 2, "unheard_of": 1}
    left = Verification(False, START, 3, rows, 1, 1, 1, name_in_files=2)
    assert findings_of(left) == [
        (False, "Still in the database: 2 memories, 1 unheard_of."),
        (False, "1 of 3 ids are still in the bytes of the files."),
        (False, "The piece of its texts is still in the bytes of the files."),
        (False, "The name is still in the files."),
    ]
    assert findings_of(replace(left, name_in_files=0))[-1] == (True, "The name is not in the files.")


def test_page_says_when_the_observation_ends(ada: Person) -> None:
    ends = ada.core.policies.get(ada.principal).acts_from
    assert ends is not None
    policy = ada.goto("/privacy").get_by_role("region", name="How long things stay")
    expect(policy).to_contain_text(f"Retention is in preview until {ends:%-d %b %Y}")
