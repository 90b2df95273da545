"""The manifest of behaviours: each statement of the five published documents names the tests that pin it, and each test
of a door names a statement.
"""

import ast
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parents[1]
MANIFESTS = sorted(Path(__file__).parent.glob("*.toml"))
KINDS = ("statement", "extension", "deviation")

# Modules whose tests are all about what a document says, or about what we do where it is silent.
DOORS = (
    "http/test_agent_tools.py",
    "http/test_session_messages.py",
    "http/test_tool_outputs.py",
    "http/test_coding_assistant.py",
    "http/test_companion.py",
    "http/test_documents.py",
    "http/test_lifecycle.py",
    "http/test_profiles.py",
    "turns/test_companion.py",
    "turns/test_shortened.py",
    "turns/test_turns.py",
)


@cache
def manifest(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text("utf-8"))


@cache
def defined_in(module: str) -> frozenset[str]:
    """The ids of a module's tests, read from its text."""
    path = TESTS / module
    if not path.exists():
        return frozenset()
    nodes = ast.parse(path.read_text("utf-8")).body
    return frozenset(
        f"{module}::{node.name}"
        for node in nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    )


def named() -> Iterator[str]:
    for path in MANIFESTS:
        for kind in KINDS:
            for one in manifest(path).get(kind, []):
                yield from one["tests"]


def test_every_document_has_its_manifest() -> None:
    documents = {manifest(path)["document"] for path in MANIFESTS}
    assert documents == {"agent-tools", "coding-assistant", "companion", "lifecycle", "profiles"}


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.stem)
def test_every_statement_names_tests_that_exist(path: Path) -> None:
    found = [one for kind in KINDS for one in manifest(path).get(kind, [])]
    assert [one["says"] for one in found if not one["tests"]] == []
    missing = {test for one in found for test in one["tests"] if test not in defined_in(test.partition("::")[0])}
    assert missing == set()
    says = [one["says"] for one in found]
    assert sorted({one for one in says if says.count(one) > 1}) == []
    assert [one for one in says if not one.endswith(".")] == []


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.stem)
def test_what_is_not_done_as_the_document_says_has_a_reason(path: Path) -> None:
    others = [one for kind in ("deviation", "outside") for one in manifest(path).get(kind, [])]
    assert [one["says"] for one in others if not one["why"].endswith(".")] == []


@pytest.mark.parametrize(
    "module",
    [
        *DOORS,
        *(
            f"contracts/{path.name}"
            for path in Path(__file__).parent.glob("test_*.py")
            if path.stem != Path(__file__).stem
        ),
    ],
)
def test_every_test_of_a_door_is_named_by_a_statement(module: str) -> None:
    assert defined_in(module), "the module is there"
    assert defined_in(module) - set(named()) == set()
