"""The dashboard speaks the reader's language: their choice, else their browser's, else English."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest
from playwright.sync_api import Page, expect

from memorist.memories.values import Draft
from memorist.platform.sign_ins import csrf_token
from memorist.platform.values import Principal, Role
from memorist.surfaces.dashboard import wording
from tests.dashboard.conftest import People, Person
from tests.dashboard.sweeps import check_page
from tests.http.conftest import Served
from tests.support.browser import DESKTOP, PHONE

GERMAN = {"Accept-Language": "de-DE,de;q=0.9,en;q=0.5"}
PAGES = (
    *("", "/about", "/people", "/memories", "/memories/new", "/conversations", "/documents", "/recall?q=Berlin"),
    *("/recall/compare?q=Berlin", "/chat?q=Berlin", "/transfer", "/people/one?name=User"),
    *("/activity", "/activity/usage", "/activity/jobs", "/activity/retention"),
    *("/turns", "/doubts", "/privacy", "/connect", "/whose", "/access", "/audit", "/system", "/nowhere"),
)
CHECKED = ("", "/memories", "/privacy", "/access")
# What reads in both languages, such as "Details", tells nothing.
_ENGLISH = sorted(
    (text for text, said in wording.CATALOGUE["de"].items() if len(text) > 9 and "{" not in text and said != text),
    key=len,
)


@pytest.fixture
def client(served: Served, tenant: str) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=served.url, timeout=30) as client:
        client.post("/dashboard/sign-in", data={"key": served.key(tenant, Role.ADMIN, "ada")})
        yield client


def _spoken(page: str) -> str:
    found = re.search(r'<html lang="(\w+)"', page)
    assert found is not None
    return found[1]


# Which language


def test_browser_is_answered_in_its_language(client: httpx2.Client) -> None:
    for headers, language, words in (
        (GERMAN, "de", "Erinnerungen"),
        ({"Accept-Language": "en-US,en"}, "en", "Memories"),
        ({"Accept-Language": "fr"}, "en", "Memories"),
    ):
        answer = client.get("/dashboard/memories", headers=headers)

        assert _spoken(answer.text) == language
        assert f"<h1>{words}</h1>" in answer.text
        assert answer.headers["content-language"] == language
        assert "Accept-Language" in answer.headers["vary"]


def test_choice_goes_before_the_browser_and_leads_back(client: httpx2.Client) -> None:
    chosen = {"language": "de", "back": "/dashboard/memories?q=a+b&kind=any"}
    answer = client.post("/dashboard/language", data=chosen)

    assert (answer.status_code, answer.headers["location"]) == (303, "/dashboard/memories?q=a+b&kind=any")
    assert "httponly" in answer.headers["set-cookie"].lower()
    assert _spoken(client.get("/dashboard", headers={"Accept-Language": "en"}).text) == "de"

    client.post("/dashboard/language", data={"language": "xx"})
    assert _spoken(client.get("/dashboard").text) == "en"


@pytest.mark.parametrize("back", ["https://evil.example", "//evil.example", "/dashboard//evil.example", "/v1/memories"])
def test_choice_leads_to_no_other_site(client: httpx2.Client, back: str) -> None:
    assert client.post("/dashboard/language", data={"back": back}).headers["location"] == "/dashboard"


def test_unreadable_choice_is_refused(client: httpx2.Client) -> None:
    assert client.post("/dashboard/language", content=b"language=\xff").status_code == 422


def test_whoever_is_not_signed_in_chooses_too(served: Served) -> None:
    with httpx2.Client(base_url=served.url) as client:
        assert "Sign in" in client.get("/dashboard/sign-in").text
        client.post("/dashboard/language", data={"language": "de", "back": "/dashboard/sign-in"})
        refused = client.post("/dashboard/sign-in", data={"key": "mst_live_wrong"})

    assert _spoken(refused.text) == "de"
    assert "Diesen API-Schlüssel gibt es hier nicht" in refused.text


def test_parts_toasts_and_errors_are_in_the_language_of_the_page(client: httpx2.Client) -> None:
    part = client.get("/dashboard/palette?q=erinn", headers=GERMAN | {"HX-Request": "true"})
    (session,) = [value for name, value in client.cookies.items() if name.startswith("memorist_session_")]
    token = {"csrf": csrf_token(session)}
    refused = client.post("/dashboard/memories/bulk/nothing", data=token, headers=GERMAN | {"HX-Request": "true"})
    nowhere = client.get("/dashboard/memories/mem_01J9Z3K4M5N6P7Q8R9S0T1V2W3", headers=GERMAN)

    assert "Neue Erinnerung schreiben" in part.text
    assert "Diese Aktion gibt es nicht." in refused.text
    assert "Hier gibt es nichts, was du sehen darfst." in nowhere.text


@pytest.mark.parametrize(
    ("path", "fields", "words"),
    [
        ("/memories/new", {"as": "fact", "body": ""}, "Der Text darf nicht leer sein."),
        (
            "/memories/new",
            {"type": "user", "profile": "p", "body": "x", "name": "Not So"},
            "Der Name muss ein Kurzname",
        ),
        ("/memories/new", {"as": "fact", "body": "x", "profile": "a b"}, "Das Profil muss 1 bis 128 Zeichen haben"),
        ("/memories/new", {"as": "fact", "body": "x", "category": "A B"}, "Die Kategorie muss ein Kurzname sein"),
        ("/home/remember", {"content": ""}, "Der Text darf nicht leer sein."),
        ("/access/keys", {"role": "user"}, "Ein Nutzerschlüssel gehört einem Nutzer"),
        ("/access/keys", {"role": "admin", "expires": "2020-01-01"}, "Der letzte Tag muss in der Zukunft liegen."),
        ("/whose", {"whose": "a b"}, "Der Nutzer muss 1 bis 128 Zeichen haben"),
        ("/memories/filters", {"name": ""}, ">Gib der Liste einen Namen"),
        ("/transfer/import", {"upload": "x"}, "Diese Id ist keine."),
    ],
)
def test_refused_form_is_told_in_german_alone(
    client: httpx2.Client, path: str, fields: dict[str, str], words: str
) -> None:
    (session,) = [value for name, value in client.cookies.items() if name.startswith("memorist_session_")]
    answer = client.post(f"/dashboard{path}", data=fields | {"csrf": csrf_token(session)}, headers=GERMAN)

    assert answer.status_code >= 400
    assert words in answer.text
    assert "must " not in answer.text


def test_refused_file_and_selection_are_told_in_german(client: httpx2.Client, served: Served, tenant: str) -> None:
    (session,) = [value for name, value in client.cookies.items() if name.startswith("memorist_session_")]
    token = {"X-CSRF-Token": csrf_token(session)}
    sent = GERMAN | token | {"Content-Type": "application/octet-stream", "HX-Request": "true"}
    stored = served.core.memories.remember(Principal(tenant, Role.ADMIN, "ada"), [Draft("Ada likes tea.")])
    no_pdf = client.post("/dashboard/documents/upload?name=a.pdf", content=b"no PDF", headers=sent)
    no_export = client.post("/dashboard/transfer/upload?name=a.txt", content=b"some words", headers=sent)
    fields = {"id": stored[0].memory.id, "category": "A B"}
    client.post("/dashboard/memories/bulk/label", data=fields, headers=GERMAN | token)
    listed = client.get("/dashboard/memories", headers=GERMAN)

    assert "Die Datei ist kein PDF, das sich lesen lässt." in no_pdf.text
    assert "Das ist kein Export, der hier bekannt ist." in no_export.text
    assert "0 neu eingeordnet, bei 1 ging es nicht: Der Typ muss ein Kurzname sein" in listed.text


def test_readers_at_the_same_time_do_not_hear_each_other(client: httpx2.Client) -> None:
    def read(number: int) -> tuple[str, str]:
        language = ("de", "en")[number % 2]
        page = client.get("/dashboard/conversations", headers={"Accept-Language": language}).text
        assert ("Gespräche" in page) == (language == "de")
        return language, _spoken(page)

    with ThreadPoolExecutor(8) as pool:
        assert all(asked == spoken for asked, spoken in pool.map(read, range(24)))


# In a browser


@pytest.fixture
def bert(people: People, tenant: str) -> Person:
    """An admin whose browser asks for German."""
    return people.sign_in(tenant, locale="de-DE")


def test_pages_are_german_throughout_and_nothing_is_cut(bert: Person) -> None:
    bert.core.sample_data.add(bert.principal)
    bert.remember("I live in Berlin.", "I live in Hamburg.")
    bert.complaints.expect("404")
    for path in PAGES:
        bert.page.set_viewport_size(DESKTOP)
        page = bert.goto(path)
        _check_german(page)
        _check_whole(page)
        page.set_viewport_size(PHONE)
        _check_whole(page)
        if path in CHECKED:
            check_page(bert, "phone")


def _check_german(page: Page) -> None:
    assert page.locator("html").get_attribute("lang") == "de"
    own = """() => {
        const page = document.body.cloneNode(true);
        const others = page.querySelectorAll(".said, code, pre, .settings, script, noscript, .memory-link");
        others.forEach((one) => one.remove());
        return page.textContent.replace(/\\s+/g, " ");
    }"""
    text = page.evaluate(own)
    assert [english for english in _ENGLISH if re.search(rf"\b{re.escape(english)}\b", text)] == [], page.url


def _check_whole(page: Page) -> None:
    """Nothing is wider than the window, and no word is cut where it stands."""
    cut = """() => [...document.querySelectorAll("button, a.button, summary, legend, th, .badge")]
        .filter((one) => one.checkVisibility() && !one.classList.contains("visually-hidden"))
        .filter((one) => one.scrollWidth > one.clientWidth + 1 && one.clientWidth)
        .filter((one) => getComputedStyle(one).overflowX !== "visible" || one.scrollWidth > innerWidth)
        .map((one) => one.textContent.trim())"""
    assert page.evaluate(cut) == [], page.url
    wide = """() => [...document.querySelectorAll(".side, main, html")]
        .filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.tagName)"""
    assert page.evaluate(wide) == [], page.url


def test_language_is_switched_on_the_page_and_stays(ada: Person) -> None:
    page = ada.goto("/people?q=x")
    page.get_by_role("button", name="Deutsch").click()
    expect(page.locator("h1")).to_have_text("Personen und Dinge")
    expect(page).to_have_url(re.compile(r"/people\?q=x$"))
    expect(page.get_by_role("button", name="Deutsch")).to_have_attribute("aria-pressed", "true")

    ada.goto("/privacy")
    expect(page.locator("h1")).to_have_text("Datenschutz")
    page.get_by_role("button", name="English").click()
    expect(page.locator("h1")).to_have_text("Privacy")


def test_language_is_switched_without_scripts(people: People) -> None:
    nobody = people.visit(java_script_enabled=False, viewport=PHONE)
    page = nobody.goto("/sign-in")
    page.get_by_role("button", name="Deutsch").click()

    expect(page.get_by_role("button", name="Anmelden")).to_be_visible()


def test_memory_is_erased_by_the_german_word(bert: Person) -> None:
    memory = bert.remember("Nobody needs this.")[0]
    page = bert.goto(f"/memories/{memory.id}")
    page.get_by_text("Endgültig löschen…").click()
    page.get_by_label("Tippe zur Bestätigung „löschen“").fill("löschen")
    page.get_by_role("button", name="Endgültig löschen").click()

    expect(page.locator("h1")).to_have_text("Einige Erinnerungen wurden endgültig gelöscht")
