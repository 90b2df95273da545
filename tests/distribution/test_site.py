"""The documentation as a site: it builds without a warning, loads nothing from elsewhere, and its search finds."""

import functools
import http.server
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.docs.pages import ROOT
from tests.support.browser import browsing

# What a page loads by itself; a link that somebody may follow is another matter.
LOADED = re.compile(r"<(?:script|img|iframe|source|video|audio|embed)\b[^>]*?\ssrc=[\"']?([^\"'\s>]+)")
LINKED = re.compile(r"<link\b[^>]*?\shref=[\"']?([^\"'\s>]+)")
OUTSIDE = re.compile(r"(?:https?:)?//")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=250)
    assert built.returncode == 0, built.stderr
    return folder


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 70
    for page in pages:
        text = page.read_text("utf-8")
        assert [url for url in (*LOADED.findall(text), *LINKED.findall(text)) if OUTSIDE.match(url)] == [], page.name
    for style in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?(?:https?:)?//|@import", style.read_text("utf-8")), style.name


def test_files_that_pages_link_to_are_part_of_it(site: Path) -> None:
    for name in ("README", "CHANGELOG", "CONTRIBUTING"):
        page = site / "project" / ("index.html" if name == "README" else f"{name}.html")
        assert page.is_file()
    broken = [
        (page.name, link)
        for page in site.rglob("*.html")
        for link in re.findall(r"\s(?:href|src)=\"([^\"#?]+)", page.read_text("utf-8"))
        if not re.match(r"[a-z]+:|/", link) and not (page.parent / link).exists()
    ]
    assert broken == []


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=site)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_search_finds_a_page_and_asks_nobody_else(address: str) -> None:
    asked: list[str] = []
    with browsing() as browser:
        page = browser.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{address}/index.html")
        page.keyboard.press("/")
        page.keyboard.type("reverse proxy")
        expect(page.locator(".md-search-result__item").first).to_contain_text("reverse proxy", ignore_case=True)
    assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []
