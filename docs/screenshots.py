"""Makes the pictures of the dashboard: `make screenshots`.

A server is filled with a few invented weeks, and each page is opened in Chromium. The pictures are those in
docs/images/dashboard-*.png.
"""

import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import Browser, Page

from docs.small_pictures import shrink
from memorist.core import Core
from memorist.ids import new_id
from memorist.ingestion.service import Message
from memorist.memories.values import Draft
from memorist.platform.values import Principal, Role
from memorist.recall.values import Question
from memorist.testing.clocks import FrozenClock
from memorist.times import SystemClock
from tests.http.conftest import Served, serving
from tests.support.browser import PHONE, browsing
from tests.support.scripted_http import scripted_server
from tests.support.talking import says
from tests.turns.conftest import turn_settings

IMAGES = Path(__file__).parent / "images"
MOST_BYTES = 120_000

_TENANT = "second-spin"
_DESK = {"width": 1200, "height": 780}
_DAYS = 28
_USUAL_MS = 150
_TRIES = 12
_REPAIRS = (
    "brakes checked",
    "front wheel trued",
    "chain and cassette replaced",
    "saddle raised for a taller rider",
    "lights wired anew",
    "puncture mended",
    "gears set after a winter in the cellar",
)
_KEPT_ELSEWHERE = (
    "Ines rides a steel frame from the eighties.",
    "The workshop's landlord is Mr Okafor.",
    "Theo is learning to weld frames.",
    " ",
)


@dataclass(frozen=True)
class Shot:
    """One picture of a page."""

    name: str
    path: str | Callable[["Scene"], str]
    is_dark: bool = False
    is_phone: bool = False
    prepare: Callable[[Page], None] = lambda _: None
    """What is done on the page first."""


@dataclass(frozen=True)
class Scene:
    """What there is to be shown."""

    memory: str
    turn: str
    chat: str


def _send_an_export(page: Page) -> None:
    rows = [{"id": str(number), "memory": text, "user_id": "ines"} for number, text in enumerate(_KEPT_ELSEWHERE)]
    file: Any = {"name": "mem0-export.json", "mimeType": "", "buffer": json.dumps(rows).encode()}
    page.locator("#files").set_input_files(file)
    page.locator(".preview").wait_for()


def _ask_again(page: Page) -> None:
    """So that a picture tells how long a question takes, not what else the machine had to do meanwhile."""
    for _ in range(_TRIES):
        took = re.search(r"in (\d+) ms", page.locator(".summary").inner_text())
        if took is None or int(took[1]) <= _USUAL_MS:
            return
        page.reload(wait_until="networkidle")


SHOTS = (
    Shot("home", ""),
    Shot("people", "/people"),
    Shot("conversations", "/conversations"),
    Shot("documents", "/documents"),
    Shot("transfer", "/transfer", prepare=_send_an_export),
    Shot("memories", "/memories?kind=fact"),
    Shot("memory", lambda scene: f"/memories/{scene.memory}"),
    Shot("recall", "/recall?q=When+do+we+open%3F", prepare=_ask_again),
    Shot("chat", lambda scene: f"/chat?session={scene.chat}"),
    Shot("turns", "/turns"),
    Shot("turn", lambda scene: f"/turns/{scene.turn}"),
    Shot("doubts", "/doubts"),
    Shot("privacy", "/privacy"),
    Shot("access", "/access"),
    Shot("system", "/system"),
    Shot("home-dark", "", is_dark=True),
    Shot("recall-dark", "/recall?q=When+do+we+open%3F", is_dark=True, prepare=_ask_again),
    Shot("phone", "/memories?kind=fact", is_phone=True),
)


def main() -> None:
    clock = FrozenClock(SystemClock().now() - timedelta(days=_DAYS))
    with (
        TemporaryDirectory(prefix="memorist-screenshots-") as folder,
        scripted_server(says("Amina does: brakes and gears, every other Wednesday. She used to race.")) as model,
        serving(turn_settings(Path(folder), model.url, embedder="local", reranker="local"), clock=clock) as served,
        browsing() as browser,
    ):
        ines = Principal(_TENANT, Role.ADMIN, "ines")
        scene = fill(served.core, clock, ines)
        state = sign_in(browser, served, served.key(_TENANT, Role.ADMIN, "ines"))
        for shot in SHOTS:
            make(browser, served, state, scene, shot)
    print(f"{len(SHOTS)} pictures are in {IMAGES.name}/", file=sys.stderr)


# Data


def fill(core: Core, clock: FrozenClock, ines: Principal) -> Scene:
    """A few weeks of a bicycle workshop, as the sample data tells them, and what agents noted beside."""
    coder = Principal(_TENANT, Role.ADMIN, "ines", "coder")
    notes = [
        Draft("Prices on the website are shown with tax.", category="decision", project="github.com/second-spin/site"),
        Draft("Never deploy the website on a Saturday.", category="feedback", importance=5),
        Draft("Ines reads reports in the morning and wants them short.", category="preference", importance=3),
        Draft("The shop's newsletter goes out on the first Monday of a month.", category="project"),
        Draft("Use British spelling in everything that customers read.", category="feedback", importance=2),
        Draft("The till closes at half past six, and at two on Saturdays.", category="reference"),
        Draft("Spare parts come from the wholesaler in Linz, on Tuesdays.", category="reference"),
        Draft("Bookings older than a year are not shown in the calendar.", category="decision"),
        Draft("Theo answers messages on weekdays only.", category="preference"),
        Draft("The booking form must work with a screen reader.", category="decision", importance=4),
        Draft("Amina teaches the evening class with Theo.", category="person"),
        Draft("Amina moved from Graz to Linz, and races on Sundays with Lucía.", category="person"),
        Draft("Lucía lives in Linz and paints frames for Second Spin.", category="person"),
        Draft("Theo met Berger, the wholesaler, in Vienna.", category="person"),
        Draft("Berger delivers tyres from Vienna on Tuesdays.", category="reference"),
    ]
    written = []
    for day in range(_DAYS - 1):
        clock.advance(timedelta(days=1))
        note = notes[day % len(notes)]
        if day < len(notes):
            written += core.memories.remember(coder if day % 2 and note.category != "person" else ines, [note])
        if day == _DAYS // 3:
            core.sample_data.add(ines)
        for number in range(4 + day * 7 % 9):
            text = f"Repair {day * 10 + number}: {_REPAIRS[(day + number) % len(_REPAIRS)]}, handed back the same day."
            core.ingestion.add_messages(ines, f"shift-{day}", [Message("assistant", text, "Till", clock.now())])
    for title, text in (
        (
            "opening-hours.md",
            "# Opening hours\n\nTuesday to Friday, ten to half past six.\n\n## Saturdays\n\nUntil two.",
        ),
        ("brakes.md", "# Brakes\n\nPads are changed in pairs.\n\n## Discs\n\nThinner than 1.5 mm: replace."),
    ):
        core.ingestion.add_document(ines, title=title, content=text, media_type="text/markdown", shared=False)
    core.retention.archive(ines, written[3].memory.id)
    core.retention.delete(ines, written[8].memory.id)
    for role, user in ((Role.USER, "theo"), (Role.READER, "ines"), (Role.SERVICE, None)):
        core.identity.create_key(ines, role, user=user, label={"theo": "Theo's laptop"}.get(user or "", "website"))
    core.memories.remember(Principal(_TENANT, Role.ADMIN, "theo"), [Draft("Theo keeps the spare key of the cellar.")])
    clock.advance(timedelta(days=1))
    for _ in core.indexer.finish(_TENANT):
        pass
    core.jobs.run_due(_TENANT)
    for question in ("When do we open?", "Why do we open in June?", "What is the name above the window?"):
        core.recall.recall(coder, Question(question))
    asked = [Message("user", "Who gives the first evening class?")]
    chat, turn = (core.turns.start(ines, asked, session=session) for session in (new_id("chat"), None))
    for taken in (chat, turn):
        for _ in core.turns.follow(ines, taken.id):
            pass
    facts = core.memories.list(ines, category="sample", limit=100).items
    memory = next(fact for fact in facts if fact.content.startswith("The workshop opens"))
    return Scene(memory.id, turn.id, chat.session)


# Pictures


def sign_in(browser: Browser, served: Served, key: str) -> Any:
    """The cookies of somebody who is signed in, for all pictures."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{served.url}/dashboard/sign-in")
    page.get_by_label("API key").fill(key)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{served.url}/dashboard")
    state = context.storage_state()
    context.close()
    return state


def make(browser: Browser, served: Served, state: Any, scene: Scene, shot: Shot) -> None:
    viewport: Any = PHONE if shot.is_phone else _DESK
    scheme: Any = "dark" if shot.is_dark else "light"
    context = browser.new_context(viewport=viewport, color_scheme=scheme, storage_state=state)
    try:
        page = context.new_page()
        path = shot.path(scene) if callable(shot.path) else shot.path
        page.goto(f"{served.url}/dashboard{path}")
        page.wait_for_load_state("networkidle")
        page.reload(wait_until="networkidle")  # So that no picture tells how long a first question takes.
        shot.prepare(page)
        picture = shrink(context.new_page(), page.screenshot(animations="disabled", caret="hide"))
    finally:
        context.close()
    if len(picture) > MOST_BYTES:
        print(
            f"The picture {shot.name} has {len(picture):,} bytes; at most {MOST_BYTES:,} are wanted.", file=sys.stderr
        )
    (IMAGES / f"dashboard-{shot.name}.png").write_bytes(picture)


if __name__ == "__main__":
    main()
