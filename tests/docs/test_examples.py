"""Every example in the documentation runs, and prints what the page says that it prints."""

import json
import os
import re
import shutil
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from memorist.settings_sources import load_settings
from tests.docs.pages import Page, all_pages
from tests.docs.session import DATABASE_URL, Session, environment

# Blocks that cannot run here, each with its reason on the page: this many a page, and no more.
EXEMPT = {
    "CONTRIBUTING.md": 1,
    "README.md": 2,
    "docs/explanation/reliability.md": 1,
    "docs/howto/back-up-and-move.md": 2,
    "docs/howto/install.md": 7,
    "docs/howto/measure-recall.md": 4,
    "docs/howto/set-retention.md": 1,
    "docs/howto/shell-completion.md": 1,
    "docs/howto/upgrade.md": 1,
    "docs/howto/use-citus.md": 6,
    "docs/howto/use-in-a-browser.md": 1,
    "docs/howto/use-the-typescript-client.md": 1,
    "docs/howto/watch-a-server.md": 1,
    "docs/howto/write-another-store.md": 1,
    "docs/reference/performance.md": 2,
}

RUNNABLE = ("console", "python")
LANGUAGES = {*RUNNABLE, "text", "toml", "json", "sql", "ts"}

PAGES = [page for page in all_pages() if any(block.language in RUNNABLE for block in page.blocks())]


@pytest.fixture
def session(
    request: pytest.FixtureRequest, page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Session]:
    for name in [name for name in os.environ if name.startswith(("MEMORIST_", "XDG_"))]:
        monkeypatch.delenv(name)
    for name, value in environment(tmp_path / "home").items():
        monkeypatch.setenv(name, value)
    folder = tmp_path / "page"
    folder.mkdir(mode=0o700)
    monkeypatch.chdir(folder)
    session = Session(folder, request.getfixturevalue("new_postgres_url") if DATABASE_URL in page.text else None)
    yield session
    session.close()


@pytest.mark.skipif(shutil.which("curl") is None, reason="the pages use curl, which is not installed")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_of_the_page_do_what_it_says(page: Page, session: Session) -> None:
    blocks = page.blocks()
    for index, block in enumerate(blocks):
        if block.exempt is not None:
            continue
        if block.language == "console":
            session.console(block)
        elif block.language == "python":
            after = blocks[index + 1] if index + 1 < len(blocks) else None
            shown = after.text if after is not None and after.follows and after.language == "text" else None
            session.python(block, shown)


def test_few_blocks_are_exempt_and_each_is_known() -> None:
    found = Counter(page.name for page in all_pages() for block in page.blocks() if block.exempt is not None)
    assert dict(found) == EXEMPT


@pytest.mark.parametrize("page", all_pages(), ids=lambda page: page.name)
def test_every_block_says_what_it_is(page: Page) -> None:
    assert {block.language for block in page.blocks()} <= LANGUAGES
    assert page.text.count("```") == 2 * len(page.blocks())


@pytest.mark.parametrize("page", all_pages(), ids=lambda page: page.name)
def test_json_and_settings_files_are_valid(page: Page, tmp_path: Path) -> None:
    for block in page.blocks():
        if block.language == "json":
            json.loads(block.text)
        elif block.language == "toml":
            assert tomllib.loads(block.text)
            file = tmp_path / "config.toml"
            file.write_text(block.text)
            load_settings(environment={"MEMORIST_CONFIG": str(file)})


def test_no_page_shows_a_whole_key() -> None:
    for page in all_pages():
        assert not re.search(r"mst_live_[0-9a-f]{20}", page.text), page.name


def test_make_run_is_what_the_pages_take_it_for() -> None:
    makefile = (Path(__file__).parents[2] / "Makefile").read_text()
    assert re.search(r"^DATA \?= \.memorist$", makefile, re.MULTILINE)
    assert "$(BIN)/memorist serve --data $(DATA) $(ARGS)" in makefile
