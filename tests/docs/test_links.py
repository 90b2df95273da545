"""Every link inside the project leads somewhere, every page is reachable, and every picture is well-formed."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.docs.pages import ROOT, Page, all_pages, page


@pytest.mark.parametrize("source", all_pages(), ids=lambda page: page.name)
def test_links_and_anchors_resolve(source: Page) -> None:
    broken = [link for link in source.links() if not _resolves(source, link)]
    assert broken == []


def _resolves(source: Page, link: str) -> bool:
    if link.startswith("https://"):
        return True
    file, _, anchor = link.partition("#")
    target = source.path.parent / file if file else source.path
    if not target.exists() or ROOT not in target.resolve().parents:
        return False
    return not anchor or anchor in Page(target.resolve()).anchors()


def test_every_page_is_in_the_index() -> None:
    index = page("docs/README.md")
    linked = {(index.path.parent / link.partition("#")[0]).resolve() for link in index.links()}
    pages = {path.resolve() for path in (ROOT / "docs").rglob("*.md")} - {index.path.resolve()}
    assert pages - linked == set()


def test_every_page_has_one_title() -> None:
    for each in all_pages():
        titles = [line for line in each.prose.splitlines() if line.startswith("# ")]
        assert len(titles) == 1, each.name
        assert len(set(each.headings())) == len(each.headings()) or each.name == "CHANGELOG.md", each.name


@pytest.mark.parametrize("picture", sorted((ROOT / "docs").rglob("*.svg")), ids=lambda path: path.name)
def test_pictures_have_a_title_a_description_and_a_dark_form(picture: Path) -> None:
    names = [element.tag.rpartition("}")[2] for element in ElementTree.parse(picture).getroot().iter()]
    assert "title" in names
    assert "desc" in names
    assert "prefers-color-scheme: dark" in picture.read_text("utf-8")
