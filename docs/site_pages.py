"""What the site needs beyond the pages of docs/: its navigation, and the files of the project that pages link to.

Pages are written for whoever reads them in the repository, with links to its files. The site has its own copy of each
file that is linked to, below `project/`, and a link leads there.
"""

import posixpath
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
INDEX = "docs/README.md"
_ELSEWHERE = "project/"
_BESIDES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "CODE_OF_CONDUCT.md")
_FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"""(\]\(|<img [^>]*?src=")([^)"\s]+)""")
_PICTURES = (".png", ".svg")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    config.nav = navigation((ROOT / INDEX).read_text("utf-8"))
    config.mdx_configs["toc"]["slugify"] = anchor
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for path in sorted(linked_files()):
        files.append(File.generated(config, _on_site(path), abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    uri = page.file.src_uri
    path = uri.removeprefix(_ELSEWHERE) if uri.startswith(_ELSEWHERE) else f"docs/{uri}"
    return with_links_on_site(markdown, path)


def navigation(index: str) -> list[dict[str, Any]]:
    """The sections of the index with the pages that they link to, under the names that it gives them."""
    sections: list[dict[str, Any]] = [{"Start": ["README.md"]}]
    for part in index.split("\n## ")[1:]:
        title, _, text = part.partition("\n")
        sections.append({title: [{name: path} for name, path in re.findall(r"^- \[([^]]+)\]\(([^)]+)\)", text, re.M)]})
    tutorial = re.findall(r"\((tutorial/[^)]+)\)", index.partition("\n## ")[0])
    sections.insert(1, {"Tutorial": tutorial})
    return [*sections, {"Project": [_on_site(path) for path in _BESIDES]}]


def anchor(heading: str, _: str) -> str:
    """What can stand after `#`, as it is in the repository."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def linked_files() -> set[str]:
    """The files outside of docs/ that a page links to, or a page that is linked to, by their paths in the project."""
    seen: set[str] = set()
    waiting = [*_BESIDES, *(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))]
    while waiting:
        path = waiting.pop()
        if path not in seen:
            seen.add(path)
            if path.endswith(".md"):
                waiting += _targets((ROOT / path).read_text("utf-8"), path)
    return {path for path in seen if not path.startswith("docs/")}


def with_links_on_site(markdown: str, path: str) -> str:
    """The page at `path` in the project, with links that hold where it lies on the site."""
    folder = posixpath.dirname(_on_site(path))

    def moved(found: re.Match[str]) -> str:
        target, _, place = found[2].partition("#")
        if not target or "://" in target:
            return found[0]
        there = posixpath.relpath(_on_site(_resolved(target, path)), folder or ".")
        return f"{found[1]}{there}{'#' if place else ''}{place}"

    # Every second part is a block of code, in which nothing is a link.
    parts = _FENCE.split(markdown)
    parts[::2] = [_LINK.sub(moved, part) for part in parts[::2]]
    return "".join(parts)


def _targets(markdown: str, path: str) -> Iterable[str]:
    for part in _FENCE.split(markdown)[::2]:
        for _, link in _LINK.findall(part):
            target = link.partition("#")[0]
            if target and "://" not in target:
                yield _resolved(target, path)


def _resolved(target: str, path: str) -> str:
    """Where a link on the page at `path` leads, in the project; of a folder, to what introduces it."""
    found = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    if (ROOT / found).is_dir():
        found = next(f"{found}/{name}" for name in ("README.md", "index.html") if (ROOT / found / name).is_file())
    return found


def _on_site(path: str) -> str:
    """Where a file of the project lies on the site; what is neither page nor picture is shown as plain text."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"{_ELSEWHERE}{path}" + ("" if path.endswith((".md", *_PICTURES)) else ".txt")
