"""`memorist import --from`."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli, clean_environment, cli, data
from tests.importers import exports

__all__ = ["clean_environment", "cli", "data"]


@pytest.fixture
def export(tmp_path: Path) -> str:
    return str(exports.mem0(tmp_path / "export.json"))


def test_dry_run_says_what_would_happen_and_stores_nothing(cli: Cli, export: str, data: Path) -> None:
    result = cli.ok("import", "--from", "mem0", export, "--dry-run")
    assert result.err.splitlines() == [
        "4 would be imported, 0 are there already; nothing was stored.",
        "  goal: 1",
        "  history: 2",
        "  preference: 1",
        "1 skipped:",
        "  memory 5: It has no text.",
    ]
    assert not data.exists()


def test_dry_run_looks_at_what_is_there(cli: Cli, export: str, tmp_path: Path) -> None:
    cli.ok("import", "--from", "mem0", export, "--user", "ada")
    assert cli.json("import", "--from", "mem0", export, "--user", "ada", "--dry-run")["already_there"] == 4
    other = cli.ok("import", "--from", "mem0", export, "--user", "bob", "--dry-run")
    assert "4 would be imported, 0 are there already; nothing was stored." in other.err
    folder = tmp_path / "memory"
    folder.mkdir()
    for number, name in enumerate(("user-role", "user_role")):
        (folder / f"{name}.md").write_text(f"---\nname: {name}\ntype: user\n---\nNumber {number}.\n", "utf-8")
    result = cli.ok("import", "--from", "claude", str(folder), "--dry-run")
    assert "1 would be imported, 0 are there already, 1 names are taken; nothing was stored." in result.err
    assert "1 imported" in cli.ok("import", "--from", "claude", str(folder)).err


def test_import_is_reported_and_can_be_repeated(cli: Cli, export: str) -> None:
    first = cli.json("import", "--from", "mem0", export, "--user", "ada")
    assert first == {
        "dry_run": False,
        "imported": 4,
        "already_there": 0,
        "categories": {"goal": 1, "history": 2, "preference": 1},
        "skipped": [{"place": "memory 5", "reason": "It has no text."}],
    }
    again = cli.ok("import", "--from", "mem0", export, "--user", "ada")
    assert "0 imported, 4 were there already." in again.err
    assert len(cli.texts("--user", "ada")) == 4
    assert cli.texts("--user", "bob") == set()


def test_broken_export_stores_nothing(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    rows = [{"memory": f"Fact {number}."} for number in range(300)]
    path.write_text(json.dumps(rows)[:-1])
    result = cli("import", "--from", "mem0", str(path))
    assert result.code == 2
    assert "not whole JSON" in result.err
    assert cli.texts() == set()


def test_many_reasons_are_summed_up(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "many.json"
    path.write_text(json.dumps([{"memory": ""}] * 50 + [{"memory": "Fine."}]))
    assert "  40 more: It has no text." in cli.ok("import", "--from", "mem0", str(path)).err


@pytest.mark.parametrize(
    "arguments", [("--from", "elsewhere", "x"), ("x", "--dry-run"), ("--from", "chatgpt", "/nowhere/at/all")]
)
def test_wrong_calls_are_refused(cli: Cli, arguments: tuple[str, ...]) -> None:
    result = cli("import", *arguments)
    assert result.code == 2
    assert "error" in result.err.lower()
