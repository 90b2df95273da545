"""`memorist import --from`."""

import json
import os
import threading
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


def test_dry_run_without_a_database_tells_what_an_import_does(cli: Cli, tmp_path: Path, data: Path) -> None:
    file = tmp_path / "export.json"
    rows = [{"id": str(number), "memory": f"Fact {number % 3}.", "user_id": "ada"} for number in range(5)]
    file.write_text(json.dumps(rows), "utf-8")
    folder = tmp_path / "memory"
    folder.mkdir()
    for number, name in enumerate(("user-role", "user_role")):
        (folder / f"{name}.md").write_text(f"---\nname: {name}\ntype: user\n---\nNumber {number}.\n", "utf-8")
    exports_there = (str(file), str(folder))
    expected = [cli.json("import", one, "--dry-run") for one in exports_there]
    assert not data.exists()
    assert [(one["imported"], one["already_there"], len(one["skipped"])) for one in expected] == [(3, 2, 0), (1, 0, 1)]
    assert [cli.json("import", one) | {"dry_run": True} for one in exports_there] == expected


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


@pytest.mark.parametrize("shape", ["results", "list", "lines"])
def test_export_of_mem0_is_recognized(cli: Cli, tmp_path: Path, shape: str) -> None:
    path = exports.mem0(tmp_path / "mem0.json", shape)
    result = cli.ok("import", str(path), "--dry-run")
    assert result.err.startswith("It looks like an export of mem0.\n4 would be imported")


@pytest.mark.parametrize("shape", ["folder", "zip", "file"])
def test_export_of_chatgpt_is_recognized(cli: Cli, tmp_path: Path, shape: str) -> None:
    path = exports.chatgpt(tmp_path / {"folder": "export", "zip": "export.zip", "file": "chats.json"}[shape], shape)
    assert cli.ok("import", str(path), "--dry-run").err.startswith("It looks like an export of chatgpt.\n")


def test_graphs_and_folders_of_memories_are_recognized(cli: Cli, tmp_path: Path) -> None:
    graph = cli.ok("import", str(exports.graph(tmp_path / "graph.jsonl")))
    assert graph.err.startswith("It looks like an export of mcp-memory.\n")
    folder = exports.claude_folder(tmp_path / "memory")
    assert cli.ok("import", str(folder)).err.startswith("It looks like an export of claude.\n")
    assert cli.ok("import", str(folder / "user.md"), "--dry-run").err.startswith("It looks like an export of claude.")
    assert cli.json("import", str(folder), "--user", "bob")["imported"] == 4


def test_own_export_is_taken_for_what_it_is(cli: Cli, tmp_path: Path) -> None:
    cli.ok("remember", '{"memory": "It looks like one of mem0."}')
    cli.ok("export", str(tmp_path / "export.jsonl"))
    cli.ok("reset", "--all", "--yes")
    assert cli.ok("import", str(tmp_path / "export.jsonl")).err == "1 imported, 0 were there already.\n"
    dry = cli("import", str(tmp_path / "export.jsonl"), "--dry-run")
    assert (dry.code, "one of Memorist" in dry.err) == (2, True)


@pytest.mark.parametrize(
    ("content", "looks"),
    [
        ('[{"role": "user", "content": "Hello."}]', "a JSON list with 'content', 'role'"),
        ('{"rows": [1, 2]}', "a JSON object with 'rows'"),
        ('{"a": 1}\n{"a": 2}\n', "lines of JSON with 'a'"),
        ("# Notes\n\nNothing else.\n", "a text"),
        ("", "an empty file"),
    ],
)
def test_unknown_file_is_told_what_it_looks_like(cli: Cli, tmp_path: Path, content: str, looks: str) -> None:
    path = tmp_path / "file.md"
    path.write_text(content, "utf-8")
    result = cli("import", str(path))
    assert result.code == 2
    assert f"it looks like {looks}." in result.err
    assert "mem0, mcp-memory, claude, chatgpt" in result.err
    path.write_bytes(b"\xff\xfe\x00\x01")
    assert "it looks like no text." in cli("import", str(path)).err


def test_what_may_be_of_two_programs_is_asked_back(cli: Cli, tmp_path: Path) -> None:
    folder = exports.claude_folder(tmp_path / "both")
    exports.chatgpt(folder / "conversations.json", "file")
    result = cli("import", str(folder))
    assert result.code == 2
    assert "may be of claude or of chatgpt: say which with --from" in result.err
    assert "imported" in cli.ok("import", "--from", "claude", str(folder)).err


def test_pipe_is_read_as_a_file_is(cli: Cli, export: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    assert cli.json("import", "-", "--from", "mem0", stdin=Path(export).read_bytes())["imported"] == 4
    talks = exports.chatgpt(tmp_path / "conversations.json", "file").read_bytes()
    assert cli.json("import", "-", "--from", "chatgpt", stdin=b"\xef\xbb\xbf\n" + talks)["imported"] > 1
    archive = exports.chatgpt(tmp_path / "export.zip", "zip").read_bytes()
    assert cli.json("import", "-", "--from", "chatgpt", "--user", "bob", stdin=archive)["imported"] > 1
    head = b"---\nname: role\ntype: user\n---\nAda leads.\n"
    assert cli.json("import", "-", "--from", "claude", stdin=head)["categories"] == {"user": 1}
    for text, count in ((b"One note.", 1), (b"Another note.", 1), (b"One note.", 0)):
        assert cli.json("import", "-", "--from", "claude", stdin=text)["imported"] == count
    broken = cli("import", "-", "--from", "mem0", stdin=b"[1,")
    assert (broken.code, "stdin.json is not whole JSON" in broken.err) == (2, True)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(Path(export).read_bytes(),))
    writer.start()
    assert cli.json("import", str(pipe), "--from", "mem0", "--user", "carl")["imported"] == 4
    writer.join()
    assert list(temporary.iterdir()) == []
