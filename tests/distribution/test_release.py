"""A release is refused where the version, the changelog and the tag disagree; and the site shows every page."""

import datetime
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]

from docs import site_pages
from memorist import __version__
from ops import release, sizes
from tests.docs.pages import ROOT


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository of what says a version, with one commit."""
    for name in (*release.stated(ROOT), "CHANGELOG.md", "docs/howto/upgrade.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name)
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n\n- Something new.\n\n## 0.0.9\n\n- Old.\n")
    git(tmp_path, "init", "--quiet")
    commit(tmp_path)
    return tmp_path


def git(tree: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "tag.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], cwd=tree, check=True, capture_output=True)


def commit(tree: Path) -> None:
    git(tree, "add", "--all")
    git(tree, "-c", "commit.gpgsign=false", "commit", "--quiet", "--message", "A commit")


def problems(tree: Path, *, strict: bool = True) -> str:
    return "\n".join(release.disagreements(tree, strict=strict))


def test_every_place_says_this_version() -> None:
    assert release.stated(ROOT) == {place: {__version__} for place in release.stated(ROOT)}
    assert problems(ROOT, strict=False) == ""


def test_every_example_with_this_version_is_written_anew() -> None:
    """Otherwise the documentation would not hold once the next version is written down."""
    shown = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "docs").rglob("*.md")
        if re.search(rf"(?<![\d.]){re.escape(__version__)}\b", path.read_text("utf-8"))
    }
    assert shown - {"docs/howto/upgrade.md"} == {place for place in release.stated(ROOT) if place.startswith("docs/")}


def test_release_from_writing_the_version_down_to_the_tag(tree: Path) -> None:
    release.write_version(tree, "3.2.1", datetime.date(2026, 12, 24))
    assert release.stated(tree) == {place: {"3.2.1"} for place in release.stated(tree)}
    changelog = (tree / "CHANGELOG.md").read_text()
    assert "## Unreleased\n\n## 3.2.1 - 2026-12-24\n\n- Something new.\n\n## 0.0.9" in changelog
    notes = (tree / "docs/howto/upgrade.md").read_text()
    before = (ROOT / "docs/howto/upgrade.md").read_text().partition("### To Unreleased\n")[2]
    assert (
        notes.partition("### To Unreleased\n\nNone are needed: nothing has changed yet.\n\n### To 3.2.1\n")[2] == before
    )
    assert "not committed" in problems(tree)
    commit(tree)
    assert problems(tree) == "this commit has not the tag v3.2.1: it has none"
    git(tree, "tag", "v3.2.0")
    assert problems(tree) == "this commit has not the tag v3.2.1: v3.2.0"
    git(tree, "tag", "v3.2.1")
    assert problems(tree) == ""


def test_what_has_no_version_yet_is_no_release(tree: Path) -> None:
    git(tree, "tag", f"v{__version__}")
    assert "no heading" in problems(tree)
    assert "under Unreleased" in problems(tree)
    assert "under Unreleased" not in problems(tree, strict=False)


def test_place_that_was_forgotten_is_named(tree: Path) -> None:
    (tree / "src/memorist/version.py").write_text('__version__ = "9.9.9"\n')
    assert f"clients/typescript/package.json says {__version__}, and src/memorist/version.py 9.9.9" in problems(tree)


@pytest.mark.parametrize("version", ["1.2", "v1.2.3", "1.2.3-rc1"])
def test_version_is_three_numbers(tree: Path, version: str) -> None:
    with pytest.raises(SystemExit, match="three numbers"):
        release.write_version(tree, version, datetime.date(2026, 12, 24))


def test_few_packages_are_installed() -> None:
    assert 10 < len(sizes.installed()) <= sizes.MOST_PACKAGES


def test_workflow_releases_what_is_tagged() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())
    assert workflow[True]["push"]["tags"] == ["v*"]
    steps = workflow["jobs"]["release"]["steps"]
    assert any("make release" in step.get("run", "") for step in steps)
    # Tags and the time of the commit are there only with the history.
    assert steps[0]["with"]["fetch-depth"] == 0


def test_navigation_of_the_site_has_every_page_in_four_parts() -> None:
    found = site_pages.navigation((ROOT / site_pages.INDEX).read_text("utf-8"))
    parts = {title: pages for part in found for title, pages in part.items()}
    assert list(parts) == ["Start", "Tutorial", "How-to guides", "Reference", "Explanation", "Project"]
    named = {page if isinstance(page, str) else next(iter(page.values())) for pages in parts.values() for page in pages}
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert pages - named == set()


def test_links_that_leave_the_documentation_lead_to_copies() -> None:
    text = "[a](../reference/http.md#x) [b](../../CHANGELOG.md) [c](https://example.org/d)\n\n```md\n[d](../../e)\n```"
    assert site_pages.with_links_on_site(text, "docs/howto/extend.md") == (
        "[a](../reference/http.md#x) [b](../project/CHANGELOG.md) [c](https://example.org/d)\n\n```md\n[d](../../e)\n```"
    )
    assert site_pages.with_links_on_site("[a](docs/README.md#x) [l](LICENSE)", "README.md") == (
        "[a](../README.md#x) [l](LICENSE.txt)"
    )
    assert {"CHANGELOG.md", "LICENSE", "clients/typescript/examples/browser/index.html"} <= site_pages.linked_files()
