"""The glossary has words that are used, and pages name files and modules that exist."""

import re
from importlib import import_module

import pytest

from tests.docs.pages import ROOT, Page, all_pages, page

_GLOSSARY = "docs/reference/glossary.md"
_ARCHITECTURE = "docs/explanation/architecture.md"
_CODE = re.compile(r"`([^`\n]+)`")
_FILE = re.compile(r"(?:[\w-]+/)*[\w-]+\.(?:py|sql|jsonl|json|md|toml|txt)|(?:[\w-]+/)+")
_MODULE = re.compile(r"memorist(?:_bench)?(?:\.\w+)+")
# A page may begin a path in any of them.
_ROOMS = (".", "src", "src/memorist", "src/memorist/surfaces", "bench", "docs", "tests", "training")
# What looks like a file or a module, and is none of ours.
_NOT_OURS = {"memorist.db", "memorist.db-wal", "memorist.db-shm", "memorist.toml", "memorist.service", "memorist.http"}


def test_every_word_of_the_glossary_is_used_in_the_docs() -> None:
    words = re.findall(r"^\| ([a-z ]+) \|", page(_GLOSSARY).text, re.MULTILINE)
    words = [word for word in words if word != "word"]
    assert len(words) == len(set(words)) > 40
    text = " ".join(one.prose.lower() for one in all_pages() if one.name != _GLOSSARY)
    assert [word for word in words if not re.search(rf"\b{word}(?:s|es)?\b", text)] == []


@pytest.mark.parametrize("one", all_pages(), ids=lambda one: one.name)
def test_files_that_a_page_names_exist(one: Page) -> None:
    named = {span for span in _CODE.findall(one.prose) if _FILE.fullmatch(span)}
    if one.name != _ARCHITECTURE:  # Elsewhere a bare name may be the reader's.
        named = {span for span in named if "/" in span[:-1]}
    assert {span for span in named if not _is_there(span)} == set()


def _is_there(file: str) -> bool:
    return any((ROOT / room / file).exists() for room in _ROOMS) or any((ROOT / "src" / "memorist").rglob(file))


@pytest.mark.parametrize("one", all_pages(), ids=lambda one: one.name)
def test_modules_that_a_page_names_exist(one: Page) -> None:
    named = {span for span in _CODE.findall(one.prose) if _MODULE.fullmatch(span)} - _NOT_OURS
    assert {span for span in named if not _exists(span)} == set()


def _exists(name: str) -> bool:
    """Whether it is a module, or a name in one."""
    package, _, last = name.rpartition(".")
    for module, attribute in ((name, "__name__"), (package, last)):
        try:
            if hasattr(import_module(module), attribute):
                return True
        except ModuleNotFoundError:
            continue
    return False
