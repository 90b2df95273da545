"""Import and export in the browser: a file is looked through, stored once by a job and reported; lines leave."""

import http.client
import json
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from memorist.memories.values import Kind
from memorist.platform.values import Role
from memorist.settings import Settings
from tests.dashboard.conftest import People, Person
from tests.dashboard.sweeps import check_looks, check_page
from tests.http.conftest import serving
from tests.importers import exports
from tests.support.browser import PHONE

HOSTILE = "<script>alert(1)</script> {{ 7 * 7 }} \u202eevil\u202c " + "w" * 300


def choose(page: Page, name: str, content: bytes) -> None:
    page.locator("#files").set_input_files({"name": name, "mimeType": "", "buffer": content})


def wait_until_done(page: Page) -> None:
    page.wait_for_url("**/transfer/imports/**")
    expect(page.locator("#run")).to_contain_text("The import is done.", timeout=30_000)


def texts(person: Person) -> set[str]:
    return {one.content for one in person.core.memories.list(person.principal, limit=100).items}


def test_lines_of_ones_own_are_seen_and_stored(ada: Person, tmp_path: Path) -> None:
    page = ada.goto("/transfer")
    choose(page, "notes.jsonl", exports.lines(tmp_path / "notes.jsonl").read_bytes())
    line = page.locator("#uploads li").first
    expect(line).to_contain_text("An export of JSON lines.")
    expect(line.locator(".tally")).to_have_text("New3 Already there0 Left out3")
    line.get_by_role("button", name="Import", exact=True).click()
    wait_until_done(page)
    assert texts(ada) == {"Ada likes tea.", "Deploy on Fridays.", "Acme is in Graz."}


def test_export_of_another_program_is_seen_stored_and_reported(people: People, ada: Person, tmp_path: Path) -> None:
    content = exports.mem0(tmp_path / "mem0.json").read_bytes()
    page = ada.goto("/transfer")
    choose(page, "mem0.json", content)
    line = page.locator("#uploads li").first
    expect(line).to_contain_text("An export of mem0.")
    expect(line.locator(".tally")).to_have_text("New4 Already there0 Left out1")
    expect(line.locator(".examples")).to_contain_text("Ada prefers green tea.")
    line.get_by_text("What is left out, and why").click()
    expect(line.locator(".places")).to_have_text("memory 5: It has no text.")
    check_page(ada)
    assert texts(ada) == set()
    line.get_by_role("button", name="Import", exact=True).click()
    wait_until_done(page)
    expect(page.locator(".tally")).to_have_text("Stored4 Already there0 Left out1")
    assert len(texts(ada)) == 4
    with page.expect_download() as told:
        page.get_by_role("link", name="Download the report").click()
    report = Path(told.value.path()).read_text("utf-8")
    assert "Stored: 4" in report
    assert "memory 5: It has no text." in report
    check_looks(people, ada.principal.tenant, page.url.rpartition("/dashboard")[2], person=ada)
    page = ada.goto("/transfer")
    expect(page.locator(".earlier")).to_contain_text("4 stored")
    choose(page, "mem0.json", content)
    expect(page.locator("#uploads li").first).to_contain_text("There is nothing new in it.")
    assert len(texts(ada)) == 4


def test_every_format_is_known_by_its_look(ada: Person, tmp_path: Path) -> None:
    folder = exports.claude_folder(tmp_path / "memory")
    with zipfile.ZipFile(tmp_path / "memory.zip", "w") as archive:
        for file in folder.iterdir():
            archive.write(file, f"memory/{file.name}")
    ada.remember("Own words.")
    own = "".join(f"{line}\n" for line in ada.core.transfer.export(ada.principal)).encode()
    sent = {
        "chats.zip": (exports.chatgpt(tmp_path / "chats.zip", "zip").read_bytes(), "ChatGPT", "Conversations: 2."),
        "memory.zip": ((tmp_path / "memory.zip").read_bytes(), "Claude", "Never mock."),
        "user.md": ((folder / "user.md").read_bytes(), "Claude", "Ada is an engineer."),
        "memory.jsonl": (exports.graph(tmp_path / "memory.jsonl").read_bytes(), "MCP memory", "Ada: Likes tea"),
        "mine.jsonl": (own, "Memorist", "Own words."),
    }
    page = ada.goto("/transfer")
    for number, (name, (content, label, words)) in enumerate(sent.items()):
        choose(page, name, content)
        line = page.locator("#uploads > li").nth(number)
        expect(line).to_contain_text(f"An export of {label}.")
        expect(line).to_contain_text(words)
    assert page.locator("#uploads progress").count() == 0


def test_file_is_dropped_onto_a_phone_and_not_imported(people: People, tenant: str) -> None:
    ada = people.sign_in(tenant, viewport=PHONE)
    page = ada.goto("/transfer")
    text = json.dumps([{"id": "1", "memory": HOSTILE, "user_id": HOSTILE}])
    data = page.evaluate_handle(
        """(text) => {
            const data = new DataTransfer();
            data.items.add(new File([text], "<b>drop</b>.json"));
            return data;
        }""",
        text,
    )
    page.dispatch_event("#drop", "dragover", {"dataTransfer": data})
    page.dispatch_event("#drop", "drop", {"dataTransfer": data})
    expect(page.locator(".examples")).to_contain_text("<script>alert(1)</script> {{ 7 * 7 }}")
    check_page(ada)
    page.get_by_role("button", name="Do not import").click()
    expect(page.locator("#toasts")).to_contain_text("Nothing was imported.")
    assert texts(ada) == set()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.json", b"", "This file is empty."),
        ("cut.json", b'[{"id": "1", "memory": "Tea", "user_id": "a"}, {"id"', "cut.json is not whole JSON"),
        ("photo.png", b"\x89PNG\xff", "it looks like no text"),
        ("bad.jsonl", b'{"format": "memorist-export", "version": 1}\n{"memory": 1}\n', "Line 2"),
    ],
)
def test_broken_file_is_told_in_words(ada: Person, name: str, content: bytes, words: str) -> None:
    page = ada.goto("/transfer")
    choose(page, name, content)
    expect(page.locator("#uploads .invalid")).to_contain_text(words)
    ada.complaints.expect("422", "400")
    assert page.get_by_role("button", name="Import", exact=True).count() == 0
    ada.check_axe()


def test_too_large_is_refused_and_interrupted_leaves_nothing(people: People, tmp_path: Path, tenant: str) -> None:
    settings = Settings(
        data=tmp_path, port=0, embedder="off", reranker="off", upload_limit=2_000_000, body_limit=1_000_000
    )
    with serving(settings) as small:
        ada = people.sign_in(tenant, served=small)
        page = ada.goto("/transfer")
        choose(page, "large.json", b"x" * 2_000_001)
        expect(page.locator("#uploads .invalid")).to_have_text("This file is too large: at most 1.9 MB are taken.")
        csrf = page.locator("#drop").get_attribute("data-csrf") or ""
        headers = {
            "X-CSRF-Token": csrf,
            "Content-Type": "application/octet-stream",
            "Cookie": "; ".join(f"{one['name']}={one['value']}" for one in ada.context.cookies()),
        }
        address = "/dashboard/transfer/upload?name=a.json"
        assert _post(small.url, address, headers | {"Content-Length": "3000000"}, b"") == 413
        _post(small.url, address, headers | {"Content-Length": "1000"}, b'[{"memory": "half"', leave=True)
        assert _post(small.url, address, headers | {"Content-Length": "0"}, b"") == 400
        assert list((tmp_path / "uploads").glob("*")) == []
        people.close()


def _post(url: str, path: str, headers: dict[str, str], body: bytes, *, leave: bool = False) -> int:
    """The status; 0 where the connection is closed before the body is whole."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=30)
    connection.putrequest("POST", path)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders(body)
    status = 0 if leave else connection.getresponse().status
    connection.close()
    return status


def test_export_has_the_bytes_of_the_core_and_what_was_chosen(ada: Person) -> None:
    ada.remember("A fact.")
    ada.remember("Something said.", kind=Kind.CHAT_MESSAGE, meta={"role": "user"})
    page = ada.goto("/transfer")
    with page.expect_download() as told:
        page.get_by_role("button", name="Download").click()
    assert told.value.suggested_filename.startswith("memorist-ada-")
    whole = Path(told.value.path()).read_text("utf-8")
    assert whole == "".join(f"{line}\n" for line in ada.core.transfer.export(ada.principal))
    page.get_by_label("Messages").uncheck()
    with page.expect_download() as told:
        page.get_by_role("button", name="Download").click()
    facts = Path(told.value.path()).read_text("utf-8")
    assert "A fact." in facts
    assert "Something said." not in facts
    page.get_by_label("Until").fill("2020-01-01")
    with page.expect_download() as told:
        page.get_by_role("button", name="Download").click()
    assert len(Path(told.value.path()).read_text("utf-8").splitlines()) == 2
    for asked in ("since=yesterday", "until=9999-12-31"):
        assert page.request.get(f"{ada.served.url}/dashboard/transfer/export?{asked}").status == 422


def test_keyboard_alone_imports(ada: Person, tmp_path: Path) -> None:
    page = ada.goto("")
    page.keyboard.press("g")
    page.keyboard.press("i")
    page.wait_for_url("**/dashboard/transfer")
    choose(page, "mem0.json", exports.mem0(tmp_path / "mem0.json").read_bytes())
    button = page.get_by_role("button", name="Import", exact=True)
    expect(button).to_be_visible()
    page.locator("#source").focus()
    for _ in range(10):
        page.keyboard.press("Tab")
        if button.evaluate("(element) => element === document.activeElement"):
            break
    page.keyboard.press("Enter")
    wait_until_done(page)


def test_reader_exports_and_may_not_import(ada: Person, reader: Person) -> None:
    ada.remember("A fact.")
    page = reader.goto("/transfer")
    assert page.locator("#drop").count() == 0
    assert "A fact." in page.request.get(f"{reader.served.url}/dashboard/transfer/export").text()
    csrf = page.locator("[name=csrf]").first.get_attribute("value") or ""
    headers = {"X-CSRF-Token": csrf, "Content-Type": "application/octet-stream"}
    address = f"{reader.served.url}/dashboard/transfer/upload?name=a.json"
    assert page.request.post(address, data=b"[]", headers=headers).status == 403
    del headers["X-CSRF-Token"]
    assert ada.page.request.post(address, data=b"[]", headers=headers).status == 403


def test_import_is_its_owners_alone(people: People, ada: Person, tmp_path: Path) -> None:
    page = ada.goto("/transfer")
    choose(page, "mem0.json", exports.mem0(tmp_path / "mem0.json").read_bytes())
    page.get_by_role("button", name="Import", exact=True).click()
    wait_until_done(page)
    bob = people.sign_in(ada.principal.tenant, Role.USER, "bob")
    assert bob.goto("/transfer").locator(".earlier").count() == 0
    assert bob.page.request.get(page.url).status == 404
    assert bob.page.request.get(f"{page.url}/report").status == 404


def test_looks(people: People, ada: Person) -> None:
    check_looks(people, ada.principal.tenant, "/transfer", person=ada)
