"""Dependencies are justified, and no file tells of the machine that it was written on."""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from memorist import __version__
from tests.docs.pages import ROOT, all_pages, page
from tests.docs.session import commands_of

_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
_NAME = re.compile(r"[A-Za-z0-9._-]+")

_NOT_OURS = {"data", "dist", "build", "site"}
_ENDINGS = {".py", ".md", ".toml", ".txt", ".sql", ".svg", ".cfg", ".yml", ".yaml", ".json", ""}

# In pieces, so that this file does not hold what it looks for.
_REGISTRIES = [
    "py" + "pi.",
    "python" + "hosted",
    "conda.ana" + "conda",
    "npm" + "js.",
    "arti" + "factory",
    "--index" + "-url",
]


def _names(requirements: list[str]) -> set[str]:
    return {match[0] for requirement in requirements if (match := _NAME.match(requirement))}


def _listed(heading: str) -> set[str]:
    section = page("docs/explanation/dependencies.md").section(heading)
    return set(re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE))


def test_every_dependency_is_justified_and_no_other() -> None:
    assert _listed("To run") == _names(_PROJECT["project"]["dependencies"])
    development = _names(_PROJECT["dependency-groups"]["dev"]) | _names(_PROJECT["build-system"]["requires"])
    assert _listed("To develop") == development
    extras = _PROJECT["project"]["optional-dependencies"].values()
    assert _listed("On request") == {name for extra in extras for name in _names(extra)}


def test_every_package_of_the_typescript_client_is_justified() -> None:
    package = json.loads((ROOT / "clients/typescript/package.json").read_text("utf-8"))
    assert _listed("To develop the TypeScript client") == set(package["devDependencies"])


def test_what_was_turned_down_is_not_installed() -> None:
    section = page("docs/explanation/dependencies.md").section("Turned down")
    refused = set(re.findall(r"^\| ([a-z-]+) \|", section, re.MULTILINE))
    assert len(refused) >= 6
    assert refused & _names((ROOT / "requirements" / "dev.txt").read_text("utf-8").splitlines()) == set()


@pytest.mark.parametrize(("recipe", "most"), [("field", 6), ("kind", 12), ("door", 6), ("database", 6)])
def test_recipe_names_few_files_and_all_exist(recipe: str, most: int) -> None:
    section = page("docs/howto/extend.md").section(f"Add a {recipe}")
    named = re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE)
    assert 3 <= len(named) <= most
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_time_to_store_a_billion_follows_from_what_was_measured() -> None:
    runs = [json.loads(line) for line in (ROOT / "bench/results/recall-speed.json").read_text().splitlines()]
    rate = runs[-1]["ingest_per_s"]
    (line,) = [one for one in page("docs/explanation/scale.md").text.splitlines() if one.startswith("| storing")]
    assert f"{rate:.0f} memories a second" in line
    assert f"{1e9 / rate / 86_400:.0f} days on one" in line
    assert f"--memories {runs[-1]['memories']}`" in line


def test_changelog_has_this_version() -> None:
    # With its day, once it is released.
    assert __version__ in [heading.partition(" - ")[0] for heading in page("CHANGELOG.md").headings()]


# What tools leave beside our files.
_MADE = {"__pycache__", "node_modules", "dist"}


def _files() -> Iterator[Path]:
    for top in ROOT.iterdir():
        if not top.name.startswith(".") and top.name not in _NOT_OURS:
            for path in [top, *top.rglob("*")]:
                if path.is_file() and path.suffix in _ENDINGS and _MADE.isdisjoint(path.parts):
                    yield path


def test_no_file_names_a_package_registry_or_a_place_on_this_machine() -> None:
    paths = re.compile("|".join([re.escape(str(ROOT)), r"/(?:home|Users)/[a-z]\w+/", r"(?<![\w.])/ro" + "ot/"]))
    found = []
    for path in _files():
        text = path.read_text("utf-8", errors="replace")
        found += [
            (path.name, registry) for registry in _REGISTRIES if registry in text.replace("--no-emit-index-url", "")
        ]
        found += [(path.name, match[0]) for match in paths.finditer(text)]
    assert found == []


# What has to do with the sources themselves.
_OF_THE_SOURCES = {"docs/howto/extend.md"}


def test_no_command_of_a_guide_needs_a_clone() -> None:
    folders = r"(?<![\w./-])(bench|clients|docs|src|tests|training)/"
    in_clone = re.compile(rf"^(make\b|\.venv/|\. \.venv)|{folders}", re.MULTILINE)
    found = [
        (one.name, command)
        for one in all_pages()
        if one.name.startswith(("docs/tutorial/", "docs/howto/")) and one.name not in _OF_THE_SOURCES
        for block in one.blocks()
        if block.language == "console"
        for command, _ in commands_of(block)
        if in_clone.search(command)
    ]
    assert found == []
