"""A real Chromium, driven by Playwright. Where there is none the tests fail, and say how to get it."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Error, Page, Request, ViewportSize, expect, sync_playwright

# The first is the same browser without the windows that nobody sees here, which cost it half of its time.
_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PHONE: ViewportSize = {"width": 390, "height": 844}
DESKTOP: ViewportSize = {"width": 1280, "height": 900}


def find_chromium() -> str:
    """The path of the browser. Fails the test where there is none."""
    for name in _NAMES:
        path = shutil.which(name)
        if path is not None:
            return path
    pytest.fail("The dashboard's tests need Chromium on the PATH: `apt-get install chromium`, or your own system's.")


@contextmanager
def browsing() -> Iterator[Browser]:
    # Pages are drawn by the processor: a process of its own for that only copies.
    drawn_here = ["--disable-gpu", "--in-process-gpu", "--disable-gpu-compositing"]
    expect.set_options(timeout=30_000)  # A busy machine is slow, and not wrong.
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox", *drawn_here])
        try:
            yield browser
        finally:
            browser.close()


class Complaints:
    """What a page complained of: errors on its console (CSP violations too), exceptions, and failed requests."""

    def __init__(self, page: Page) -> None:
        self.found: list[str] = []
        self.expected: tuple[str, ...] = ()
        self._page = page
        page.on("console", self._on_console)
        page.on("pageerror", self._on_error)
        page.on("requestfailed", self._on_failed)

    def end(self) -> None:
        """What the page complains of from now on is somebody else's."""
        self._page.remove_listener("console", self._on_console)
        self._page.remove_listener("pageerror", self._on_error)
        self._page.remove_listener("requestfailed", self._on_failed)

    def expect(self, *pieces: str) -> None:
        """Complaints with one of these in them are what the test is about, such as an answer 401."""
        self.expected = (*self.expected, *pieces)

    def check(self) -> None:
        unexpected = [text for text in self.found if not any(piece in text for piece in self.expected)]
        assert unexpected == [], unexpected

    def _on_error(self, error: Error) -> None:
        # The driver of the browser evaluates strings in a page, which it is told of while it is being left. A script of
        # ours that did so would be named.
        if "Evaluating a string" in str(error) and "/dashboard/" not in (error.stack or ""):
            return
        self.found.append(f"exception: {error}")

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.found.append(f"{message.type}: {message.text}")

    def _on_failed(self, request: Request) -> None:
        # A page that is left cancels what it still waited for.
        if request.failure != "net::ERR_ABORTED":
            self.found.append(f"{request.method} {request.url}: {request.failure}")
