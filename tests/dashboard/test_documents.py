"""Documents in the browser: dropped and sent with what changed, listed, and read with their chunks marked."""

import re
from typing import Any

from playwright.sync_api import Page, expect

from memorist.ingestion.values import Document
from memorist.platform.values import Role
from memorist.testing import new_tenant
from tests.dashboard.conftest import People, Person
from tests.dashboard.sweeps import check_looks
from tests.documents.pdfs import pdf

GUIDE = """# Guide

Open the box with **care**, and read `manual.txt` or [this page](javascript:alert(1)).

- first item
- second *item*

## Code

```
run <b>me</b>
```
"""
HOSTILE = "<script>alert(1)</script> {{ 7 * 7 }} \u202eevil\u202c " + "w" * 600


def add(person: Person, title: str = "guide.md", content: str = GUIDE, **more: Any) -> Document:
    fields: dict[str, Any] = {"media_type": "text/markdown", "shared": False} | more
    return person.core.ingestion.add_document(person.principal, title=title, content=content, **fields).document


def choose(page: Page, name: str, content: bytes) -> None:
    page.locator("#files").set_input_files({"name": name, "mimeType": "", "buffer": content})


def test_no_documents_offers_to_add_one(people: People, ada: Person) -> None:
    page = ada.goto("/documents")
    expect(page.get_by_role("heading", name="No documents yet")).to_be_visible()
    check_looks(people, ada.principal.tenant, "/documents", person=ada)


def test_files_are_sent_and_what_changed_is_shown(ada: Person) -> None:
    page = ada.goto("/documents")
    choose(page, "guide.md", GUIDE.encode())
    line = page.locator("#uploads li")
    expect(line.last.get_by_role("link", name="Added")).to_be_visible()
    choose(page, "guide.md", GUIDE.encode())
    expect(line.nth(1).get_by_role("link", name="Unchanged")).to_be_visible()
    choose(page, "guide.md", GUIDE.replace("the box", "the small box").encode())
    expect(line.nth(2)).to_contain_text("1 paragraph new, 1 paragraph gone")
    expect(line.nth(2).locator("ins")).to_contain_text("the small box")
    expect(line.nth(2).locator("del")).to_contain_text("the box")
    choose(page, "photo.png", b"x")
    expect(line.nth(3)).to_contain_text("This kind of file is not read.")
    choose(page, "empty.txt", b" ")
    expect(line.nth(4)).to_contain_text("There is no text in this file.")
    assert page.locator("#uploads progress").count() == 0
    ada.complaints.expect("422")
    ada.check_axe()
    line.nth(2).get_by_role("link", name="Replaced").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("guide.md")


def test_html_pdf_and_large_files_are_taken(ada: Person) -> None:
    page = ada.goto("/documents")
    choose(page, "page.html", b"<h1>Tea</h1><p>Green tea.</p>")
    choose(page, "paper.pdf", pdf("Paper about tea."))
    choose(page, "large.txt", b"A line about nothing.\n\n" * 60_000)
    line = page.locator("#uploads li")
    for number in range(3):
        expect(line.nth(number).get_by_role("link", name="Added")).to_be_visible(timeout=60_000)
    expect(page.locator(".shelf a")).to_have_text(["large.txt", "paper.pdf", "page.html"])


def test_files_are_dropped(ada: Person) -> None:
    page = ada.goto("/documents")
    data = page.evaluate_handle(
        """() => {
            const data = new DataTransfer();
            data.items.add(new File(["Dropped words."], "drop.txt"));
            return data;
        }"""
    )
    page.dispatch_event("#drop", "dragover", {"dataTransfer": data})
    expect(page.locator("#drop")).to_have_class("card drop over")
    page.dispatch_event("#drop", "drop", {"dataTransfer": data})
    expect(page.locator("#uploads li").get_by_role("link", name="Added")).to_be_visible()
    expect(page.locator("#drop")).to_have_class("card drop")
    assert [one.title for one in ada.core.document_views.page(ada.principal).items] == ["drop.txt"]


def test_admin_shares_only_when_told_to(ada: Person) -> None:
    page = ada.goto("/documents")
    choose(page, "own.txt", b"own")
    expect(page.locator("#uploads li").get_by_role("link", name="Added")).to_be_visible()
    page.get_by_label("Share with everybody").check()
    choose(page, "ours.txt", b"ours")
    expect(page.locator("#uploads li").nth(1).get_by_role("link", name="Added")).to_be_visible()
    page.reload()
    expect(page.locator(".shelf li").first).to_contain_text("shared with everybody")
    expect(page.locator(".shelf li").last).to_contain_text("of ada")


def test_text_is_rendered_with_its_chunks_marked(people: People, ada: Person) -> None:
    document = add(ada)
    add(ada, HOSTILE[:400], HOSTILE, media_type="text/plain")
    check_looks(people, ada.principal.tenant, "/documents", person=ada)
    page = ada.goto("/documents")
    page.get_by_role("link", name="guide.md").click()
    text = page.locator(".pages")
    assert text.get_by_role("heading").all_inner_texts() == ["Guide", "Code"]
    expect(text.locator("strong")).to_have_text("care")
    expect(text.locator("code")).to_have_text("manual.txt")
    assert text.get_by_role("listitem").all_inner_texts() == ["first item", "second item"]
    expect(text.locator("pre")).to_have_text("run <b>me</b>")
    assert text.locator("a[href^=javascript], b").count() == 0
    path = f"/documents/read?id={document.id}"
    check_looks(people, ada.principal.tenant, path, person=ada, ready=".chunk")
    ada.goto(path)
    page.get_by_role("link", name="Chunk 2").click()
    page.wait_for_url("**/memories/mem_*")
    page.get_by_role("link", name="Read the document").click()
    expect(page.locator(".chunk.here")).to_contain_text("run")


def test_tables_and_numbered_lists_are_read_as_such(ada: Person) -> None:
    text = "| Day | Opens |\n|:--|--:|\n| Mon | **nine** |\n| Tue | a \\| b |\n\n1. Knock\n2. Enter\n"
    page = ada.goto(f"/documents/read?id={add(ada, content=text).id}")
    assert page.get_by_role("columnheader").all_inner_texts() == ["Day", "Opens"]
    assert page.get_by_role("cell").all_inner_texts() == ["Mon", "nine", "Tue", "a \\| b"]
    assert page.locator(".pages ol li").all_inner_texts() == ["Knock", "Enter"]
    ada.check_axe()


def test_long_document_goes_on_by_parts(ada: Person) -> None:
    text = "\n\n".join(f"## Part {number}\n\nWords of it." for number in range(60))
    document = add(ada, content=text)
    page = ada.goto(f"/documents/read?id={document.id}")
    expect(page.locator(".chunk")).to_have_count(40)
    page.get_by_role("link", name="Later parts").click()
    expect(page.locator(".chunk")).to_have_count(document.chunks - 40)
    page.get_by_role("link", name="Earlier parts").click()
    expect(page.locator(".chunk")).to_have_count(40)


def test_keyboard_alone_pastes_a_text_opens_and_deletes_it(ada: Person) -> None:
    page = ada.goto("")
    page.keyboard.press("g")
    page.keyboard.press("f")
    page.wait_for_url("**/dashboard/documents")
    page.get_by_text("Paste a text instead").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.type("Note")
    page.keyboard.press("Tab")
    page.keyboard.type("Some words.")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**/documents/read?**")
    page.goto(f"{ada.served.url}/dashboard/documents")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/documents/read?**")
    page.get_by_text("Delete this document…").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**/dashboard/documents")
    expect(page.locator("#toasts")).to_contain_text("“Note” and its chunk are deleted.")
    expect(page.get_by_role("heading", name="No documents yet")).to_be_visible()


def test_document_with_a_long_title_is_deleted_with_a_word(ada: Person) -> None:
    document = add(ada, title="🫧" * 500)
    page = ada.goto(f"/documents/read?id={document.id}")
    page.get_by_text("Delete this document…").click()
    page.get_by_role("button", name="Delete").click()
    expect(page.locator("#toasts")).to_contain_text(re.compile("“.+ … .+” and its 2 chunks are deleted."))


def test_reader_reads_and_is_offered_nothing(ada: Person, reader: Person) -> None:
    document = add(ada)
    page = reader.goto(f"/documents/read?id={document.id}")
    expect(page.locator(".chunk").first).to_be_visible()
    assert page.locator("main form").count() == 0
    assert reader.goto("/documents").locator("#drop").count() == 0
    csrf = page.locator("[name=csrf]").first.get_attribute("value") or ""
    address = f"{reader.served.url}/dashboard/documents"
    assert page.request.post(f"{address}/forget", form={"csrf": csrf, "id": document.id}).status == 403
    headers = {"X-CSRF-Token": csrf, "Content-Type": "application/octet-stream"}
    assert page.request.post(f"{address}/upload?name=a.txt", data=b"x", headers=headers).status == 403
    del headers["X-CSRF-Token"]
    answer = ada.page.request.post(f"{address}/upload?name=a.txt", data=b"x", headers=headers)
    assert answer.status == 403
    assert "did not come from this page" in answer.text()


def test_another_tenant_or_user_sees_no_document(people: People, ada: Person) -> None:
    document = add(ada)
    stranger = people.sign_in(new_tenant(), Role.ADMIN, "ada")
    neighbour = people.sign_in(ada.principal.tenant, Role.USER, "bob")
    for other in (stranger, neighbour):
        page = other.goto("/documents")
        expect(page.get_by_role("heading", name="No documents yet")).to_be_visible()
        csrf = page.locator("[name=csrf]").first.get_attribute("value") or ""
        answer = page.request.get(f"{other.served.url}/dashboard/documents/read?id={document.id}")
        assert answer.status == 404
        form = page.request.post(
            f"{other.served.url}/dashboard/documents/forget", form={"csrf": csrf, "id": document.id}
        )
        assert form.status == 404
    assert ada.core.ingestion.get_document(ada.principal, document.id) == document
