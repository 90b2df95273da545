"""Every text of the dashboard is in the catalogue, in every language, and nothing else is."""

import asyncio
import json
import re
import string
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from markupsafe import Markup
from starlette.responses import StreamingResponse
from starlette.types import Message

from memorist.surfaces.dashboard import app as dashboard
from memorist.surfaces.dashboard import rendering, wording
from tests.dashboard import wordings

_TAG = re.compile(r"<[^>]+>")


@pytest.mark.parametrize("template", list(wordings.templates()), ids=lambda one: one[0])
def test_template_says_nothing_past_the_catalogue(template: tuple[str, str]) -> None:
    name, source = template

    assert wordings.unsaid(name, source) == [], 'wrap these texts in {{ _("…") }}'


def test_messages_and_errors_of_pages_are_said() -> None:
    assert wordings.unsaid_in_code() == [], "wrap these texts in say(…)"


def test_what_is_not_wrapped_is_found() -> None:
    source = """<p title="One two">Said {{ "or so" if x else _("Fine") }}</p>{{ m.empty("Nothing here") }}
        <code>not read</code><p>{{ _("Well") }} · Memorist</p>"""

    found = " ".join(wordings.unsaid("page.html", source))

    assert all(words in found for words in ("One two", "Said", "or so", "Nothing here"))
    assert "not read" not in found
    assert "Fine" not in found


@pytest.mark.parametrize("language", wording.CATALOGUE)
class TestLanguage:
    def test_has_every_text(self, language: str) -> None:
        missing = {text: "" for text in sorted(wordings.all_said()) if text not in wording.CATALOGUE[language]}

        shown = json.dumps(missing, ensure_ascii=False, indent=2)
        assert not missing, f"translate these into catalogue/{language}.json:\n{shown}"

    def test_has_no_text_that_nobody_says(self, language: str) -> None:
        said = wordings.all_said()

        assert [text for text in wording.CATALOGUE[language] if text not in said] == []

    def test_is_sorted(self, language: str) -> None:
        assert list(wording.CATALOGUE[language]) == sorted(wording.CATALOGUE[language])

    def test_keeps_names_and_tags(self, language: str) -> None:
        changed = {
            text: other
            for text, other in wording.CATALOGUE[language].items()
            if _names(text) != _names(other) or sorted(_TAG.findall(text)) != sorted(_TAG.findall(other))
        }

        assert changed == {}

    def test_has_no_empty_text_and_no_quotes_that_would_end_an_attribute(self, language: str) -> None:
        bad = [text for text, other in wording.CATALOGUE[language].items() if not other or '"' in _TAG.sub("", other)]

        assert bad == []


def _names(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


# How it is said


@pytest.mark.parametrize(
    ("chosen", "accepted", "spoken"),
    [
        ("", "", "en"),
        ("", "de-AT,de;q=0.9,en;q=0.8", "de"),
        ("", "fr-FR,fr;q=0.9,en;q=0.5,de;q=0.7", "de"),
        ("", "fr", "en"),
        ("", "en-GB,de;q=0.9", "en"),
        ("", "de;q=0", "en"),
        ("", "de;q=nonsense", "en"),
        ("en", "de", "en"),
        ("de", "en", "de"),
        ("xx", "de", "de"),
    ],
)
def test_language_is_chosen_or_asked_for_by_the_browser(chosen: str, accepted: str, spoken: str) -> None:
    assert wording.wanted_language(chosen, accepted) == spoken


def test_values_are_escaped_in_pages() -> None:
    with wording.speaking("de"):
        said = wording.say_in_page("Who may use the memories of <strong>{tenant}</strong>", tenant="<b>")

    assert said == Markup("Wer die Erinnerungen von <strong>&lt;b&gt;</strong> benutzen darf")


def test_streams_speak_the_readers_language() -> None:
    async def words() -> AsyncIterator[str]:
        yield await asyncio.to_thread(wording.say, "Memories")

    async def listen(accepted: str) -> bytes:
        heard = b""

        async def receive() -> Message:
            await asyncio.Event().wait()
            raise AssertionError

        async def send(message: Message) -> None:
            nonlocal heard
            heard += message.get("body", b"")

        scope = {"type": "http", "headers": [(b"accept-language", accepted.encode())], "asgi": {"spec_version": "2.4"}}
        await dashboard._speaking(StreamingResponse(words()))(scope, receive, send)
        return heard

    # On a thread of its own: a browser of other tests may hold this one's loop.
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(asyncio.run, listen("de")).result() == b"Erinnerungen"
        assert pool.submit(asyncio.run, listen("en")).result() == b"Memories"


def test_numbers_and_times_are_as_the_reader_writes_them() -> None:
    at = datetime(2027, 3, 5, 14, 30, tzinfo=UTC)
    template = (
        "{{ 1234567 | count }} {{ 1 | plural('fact') }} {{ 2 | plural('fact') }} {{ at | moment }} {{ at | day }}"
    )

    def shown(language: str) -> str:
        with wording.speaking(language):
            page = rendering._environment().from_string(template + " {{ at | ago(now) }} {{ 1536 | size }}")
            return Markup(page.render(at=at, now=at + timedelta(days=3))).striptags()

    assert shown("en") == "1,234,567 1 fact 2 facts 2027-03-05 14:30:00 UTC 5 Mar 2027 3 days ago 1.5 KB"
    assert shown("de") == "1.234.567 1 Fakt 2 Fakten 05.03.2027, 14:30:00 UTC 5. März 2027 vor 3 Tagen 1,5 KB"
