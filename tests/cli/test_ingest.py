"""`memorist ingest`: files and folders become documents and messages, and what cannot be read stops nothing else."""

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from memorist.platform import validation
from memorist.surfaces.cli import files as cli_files
from memorist.surfaces.cli import ingest as cli_ingest
from memorist.surfaces.cli.files import FoundFile, in_batches, read_conversations
from tests.cli.conftest import Cli, execute


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "notes"
    path.mkdir()
    return path


def lines(*values: Any) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


def said(*texts: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text} for text in texts]


def test_documents_by_their_endings(cli: Cli, folder: Path) -> None:
    (folder / "plain.txt").write_text("Kettles are descaled in May.")
    (folder / "rules.md").write_text("# Rules\n\n## Keys\n\nThe spare key hangs behind the clock.\n")
    (folder / "page.html").write_text("<h1>Kiln</h1><p>It fires at 1240 degrees.</p><script>no()</script>")
    (folder / "noending").write_text("A file without an ending.")
    summary = cli.json("ingest", str(folder))
    assert (summary["files"], summary["documents"], summary["failed"], summary["skipped"]) == (4, 4, [], [])
    assert cli.texts("--kind", "document_chunk") == {
        "Kettles are descaled in May.",
        "# Rules\n\n## Keys\n\nThe spare key hangs behind the clock.",
        "Kiln\n\nIt fires at 1240 degrees.",
        "A file without an ending.",
    }
    found = cli.json("recall", "where is the spare key")["items"][0]
    assert (found["source_kind"], found["source_ref"][:4]) == ("document_chunk", "doc_")


def test_ingesting_a_document_again_replaces_it(cli: Cli, folder: Path) -> None:
    file = folder / "a.txt"
    file.write_text("old text")
    cli.ok("ingest", str(file))
    assert cli.json("ingest", str(file))["unchanged"] == 1
    file.write_text("new text")
    summary = cli.json("ingest", str(file))
    assert (summary["documents"], summary["replaced"]) == (1, 1)
    assert cli.texts() == {"new text"}
    file.write_text("newest text")
    assert "1 document (1 replaced) in 1 chunk from 1 file." in cli.ok("ingest", str(file)).err


def test_files_of_one_name_do_not_replace_each_other(cli: Cli, folder: Path) -> None:
    talk = lines(*said("Hello."))
    for name in ("a", "b"):
        (folder / name).mkdir()
        (folder / name / "README.md").write_text(f"This is {name}.")
        (folder / name / "talk.jsonl").write_text(talk)
    first, second = folder / "a" / "README.md", folder / "b" / "README.md"
    result = cli("ingest", str(first), str(second), str(first))
    assert (result.code, f"error: {second}: {first} is called README.md, too." in result.err) == (2, True)
    assert cli.texts() == {"This is a."}
    assert cli("ingest", str(folder / "a"), str(folder / "b")).err.count("error: ") == 2
    talks = [str(folder / name / "talk.jsonl") for name in ("a", "b")]
    assert cli("ingest", *talks, "--session", "talk").code == 0
    assert cli.json("ingest", str(folder))["failed"] == []
    assert cli.texts() >= {"This is a.", "This is b."}


def test_a_title_is_for_one_document(cli: Cli, folder: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (folder / name).write_text(name)
    assert cli("ingest", str(folder), "--title", "x").code == 2
    assert cli("ingest", str(folder / "a.txt"), "--title", "The title").code == 0
    assert "The title" in cli.ok("recall", "a.txt title", "--min-score", "0").out


def test_documents_are_shared_unless_they_are_ones_own(cli: Cli, folder: Path) -> None:
    (folder / "all.txt").write_text("for all")
    (folder / "mine.txt").write_text("for me")
    cli.ok("ingest", str(folder / "all.txt"))
    cli.ok("ingest", str(folder / "mine.txt"), "--own")
    assert cli.texts("--user", "somebody") == {"for all"}
    key = cli.key("user", "--user", "ada")
    (folder / "all.txt").write_text("for all, anew")
    assert cli("ingest", str(folder / "all.txt"), "--shared", "--key", key).code == 4
    cli.ok("ingest", str(folder / "all.txt"), "--key", key)
    assert len(cli.json("list", "--user", "ada")["items"]) == 2


def test_lines_of_messages_are_a_session_named_like_the_file(cli: Cli, folder: Path) -> None:
    file = folder / "team standup.jsonl"
    file.write_text(
        lines(
            {"role": "user", "content": "Good morning", "name": "Ada", "event_time": "2026-05-02T16:23:01+02:00"},
            {"role": "assistant", "content": [{"type": "text", "text": "Good"}, {"type": "text", "text": "day"}]},
            {"role": "assistant", "content": None, "tool_calls": []},
            {"role": "tool", "content": "42"},
        )
        + "\n\n"
    )
    assert cli.json("ingest", str(file))["messages"] == 3
    items = cli.json("list", "--session", "team_standup")["items"]
    assert [item["content"] for item in items] == ["42", "Good\nday", "Good morning"]
    assert items[2]["meta"] == {"role": "user", "speaker": "Ada", "utc_offset_minutes": 120}
    assert items[2]["event_time"] == "2026-05-02T14:23:01.000000Z"
    assert items[0]["trust"] == "tool"


def test_json_in_its_other_shapes(cli: Cli, folder: Path) -> None:
    (folder / "list.json").write_text(json.dumps(said("in a list")))
    (folder / "object.json").write_text(json.dumps({"messages": said("in an object")}))
    (folder / "many.jsonl").write_text(lines({"messages": said("first talk")}, {"messages": said("second talk")}))
    (folder / "settings.json").write_text('{"colour": "blue"}')
    summary = cli.json("ingest", str(folder))
    assert (summary["messages"], summary["documents"], summary["failed"]) == (4, 1, [])
    sessions = {item["content"]: item["session"] for item in cli.json("list", "--kind", "chat_message")["items"]}
    assert sessions == {
        "in a list": "list", "in an object": "object", "first talk": "many-1", "second talk": "many-2",
    }  # fmt: skip
    assert cli.texts("--kind", "document_chunk") == {'{"colour": "blue"}'}


def test_session_and_format_can_be_named(cli: Cli, folder: Path) -> None:
    file = folder / "talk.jsonl"
    file.write_text(lines({"messages": said("one")}, {"messages": said("two")}))
    cli.ok("ingest", str(file), "--session", "s1")
    assert {item["session"] for item in cli.json("list", "--kind", "chat_message")["items"]} == {"s1"}
    cli.ok("ingest", str(file), "--format", "document")
    assert len(cli.json("list", "--kind", "document_chunk")["items"]) == 1
    (folder / "text.txt").write_text("no JSON")
    refused = cli("ingest", str(folder / "text.txt"), "--format", "messages", "--json")
    assert refused.code == 2
    assert "not JSON" in refused.json["failed"][0]["message"]
    assert cli("ingest", str(file), "--session", "a b").code == 2


def test_repeating_a_conversation_adds_nothing(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli_ingest, "_MESSAGES_AT_ONCE", 10)
    file = folder / "talk.jsonl"
    file.write_text(lines(*said(*(f"text {number % 7}" for number in range(25)))))
    assert cli.json("ingest", str(file))["messages"] == 25
    again = cli.json("ingest", str(file))
    assert (again["messages"], again["already_there"]) == (0, 25)
    for options in ((), ("--no-extract",)):
        assert "25 messages already there from 1 file." in cli.ok("ingest", str(file), *options).err
    assert len(cli.json("list", "--all")["items"]) == 25


def test_folders_are_walked_without_what_is_hidden_linked_or_no_text(cli: Cli, folder: Path) -> None:
    deep = folder / "deep" / "er"
    deep.mkdir(parents=True)
    (deep / "a.txt").write_text("deep text")
    (deep / "loop").symlink_to(folder)
    (folder / "link.txt").symlink_to(deep / "a.txt")
    (folder / ".git").mkdir()
    (folder / ".git" / "config.txt").write_text("hidden")
    (folder / ".env").write_text("hidden")
    (folder / "photo.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00")
    (folder / "latin.txt").write_bytes("Käse".encode("latin-1"))
    (folder / "empty.txt").write_text("")
    os.mkfifo(folder / "pipe.txt")
    result = cli.ok("ingest", str(folder), "--json")
    assert result.json["documents"] == 1
    skipped = {Path(entry["path"]).name: entry["reason"] for entry in result.json["skipped"]}
    assert skipped == {
        "loop": "a link", "link.txt": "a link", ".git": "hidden", ".env": "hidden", "photo.png": "no text",
        "latin.txt": "no text", "empty.txt": "empty", "pipe.txt": "no file",
    }  # fmt: skip
    assert cli.texts() == {"deep text"}
    assert "Skipped, hidden: " in cli.ok("ingest", str(folder)).err
    # The name of a document is its path below the folder, so that two of one name stay apart.
    assert "deep/er/a.txt" in cli.ok("recall", "deep text").out


def test_a_broken_file_is_told_and_the_others_go_on(cli: Cli, folder: Path) -> None:
    (folder / "a.txt").write_text("before")
    (folder / "b.jsonl").write_text(lines({"role": "user", "content": 5}))
    (folder / "c.jsonl").write_text('{"role": "user", "content": "fine"}\n{broken\n')
    (folder / "d.json").write_text(json.dumps([{"role": "user", "content": "x", "event_time": "soon"}]))
    (folder / "e.pdf").write_bytes(b"%PDF-1.4 broken")
    (folder / "z.txt").write_text("after")
    result = cli("ingest", str(folder), "--json")
    assert result.code == 2
    assert {Path(one["path"]).name for one in result.json["failed"]} == {"b.jsonl", "c.jsonl", "d.json", "e.pdf"}
    assert cli.texts("--kind", "document_chunk") == {"before", "after"}
    told = cli("ingest", str(folder))
    assert told.code == 2
    assert "c.jsonl: Line 2 is not JSON" in told.err


def test_an_unreadable_file_is_told(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "a.txt").write_text("before")
    (folder / "b.txt").write_text("cannot be read")
    (folder / "c.txt").write_text("after")
    whole = Path.read_bytes

    def refuse(path: Path) -> bytes:
        if path.name == "b.txt":
            raise PermissionError(13, "Permission denied")
        return whole(path)

    monkeypatch.setattr(Path, "read_bytes", refuse)
    result = cli("ingest", str(folder), "--json")
    assert result.code == 2
    assert result.json["failed"][0]["message"] == "It cannot be read: Permission denied."
    assert cli.texts() == {"before", "after"}


def test_a_path_that_does_not_exist_is_told_and_the_others_go_on(cli: Cli, folder: Path, data: Path) -> None:
    missing = str(folder / "none.md")
    alone = cli("ingest", missing, "--title", "x")
    assert (alone.code, alone.err.splitlines()[1:]) == (
        2, [f"error: {missing}: It cannot be read: No such file or directory."]
    )  # fmt: skip
    assert not data.exists()
    (folder / "a.txt").write_text("x")
    assert cli("ingest", missing, str(folder / "a.txt"), "--title", "x").code == 2
    result = cli("ingest", missing, str(folder), "--json")
    assert (result.code, result.json["files"]) == (2, 1)
    assert result.json["failed"] == [{"path": missing, "message": "It cannot be read: No such file or directory."}]
    assert cli.texts() == {"x"}


def test_a_folder_that_cannot_be_listed_is_told(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "closed").mkdir()
    (folder / "a.txt").write_text("x")
    listed = os.scandir

    def refuse(path: str) -> Any:
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied", path)
        return listed(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", refuse)
        result = cli("ingest", str(folder), "--json")
    assert (result.code, Path(result.json["failed"][0]["path"]).name) == (2, "closed")
    assert cli.texts() == {"x"}


def test_a_message_that_is_too_long_is_named(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli_ingest, "_MESSAGES_AT_ONCE", 2)
    file = folder / "talk.jsonl"
    file.write_text(lines(*said("a", "b", "c", "x" * (validation.MAX_CONTENT + 1))))
    result = cli("ingest", str(file), "--json")
    assert result.code == 2
    assert result.json["failed"][0]["message"].startswith("After 2 messages: Line 4: content has")
    assert result.json["messages"] == 2


_LONG = "x" * (validation.MAX_CONTENT + 1)


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("a.jsonl", lines(*said("a")) + "\n" + lines({"role": "user"}), "Line 3 needs"),
        ("a.jsonl", lines(*said("a", " ", _LONG)), "Line 3: content has"),
        ("a.jsonl", lines({"messages": said("a")}, {"messages": said("b", _LONG)}), "Line 2, messages.1: content has"),
        ("a.jsonl", lines({"messages": said("a")}, *said("b")), "Line 2 holds no"),
        ("a.json", json.dumps(said("a", " ", _LONG)), "messages.2: content has"),
        ("a.json", json.dumps([*said("a"), {"role": "user", "content": 5}]), "messages.1: content must be"),
        ("a.json", json.dumps({"messages": [{"role": "user"}]}), "messages.0 needs"),
        ("a.json", json.dumps([{"messages": said("a")}, {"messages": said(_LONG)}]), "Item 2, messages.0: content has"),
        ("a.json", json.dumps([{"messages": said("a")}, *said("b")]), "Item 2 holds no"),
    ],
)
def test_a_bad_message_is_named_by_its_place(cli: Cli, folder: Path, name: str, text: str, place: str) -> None:
    (folder / name).write_text(text)
    result = cli("ingest", str(folder / name), "--format", "messages", "--json")
    assert result.code == 2
    assert result.json["failed"][0]["message"].startswith(place)


def test_lines_are_read_as_they_are_stored(tmp_path: Path) -> None:
    """A file of any length needs the memory of a batch."""
    source = io.BytesIO(lines(*said(*map(str, range(1000)))).encode())
    (talk,) = read_conversations(FoundFile(tmp_path / "x.jsonl", "x.jsonl", 1), source)
    batches = in_batches(talk.messages, 100, 10**9)
    assert [one.message.content for one in next(batches)] == [str(number) for number in range(100)]
    assert source.tell() < len(source.getvalue()) / 5
    assert sum(map(len, batches)) == 900


def test_batches_are_bounded_by_their_length_too(tmp_path: Path) -> None:
    source = io.BytesIO(lines(*said(*("x" * 600 for _ in range(5)))).encode())
    (talk,) = read_conversations(FoundFile(tmp_path / "x.jsonl", "x.jsonl", 1), source)
    assert [len(batch) for batch in in_batches(talk.messages, 100, 1000)] == [2, 2, 1]


def test_json_that_is_too_large_to_read_at_once_is_refused(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli_files, "_LARGEST_JSON", 10)
    monkeypatch.setattr(cli_files, "_LONGEST_LINE", 100)
    (folder / "a.json").write_text(json.dumps(said("x" * 50)))
    (folder / "b.jsonl").write_text(lines(*said("x" * 200)))
    result = cli("ingest", str(folder), "--format", "messages", "--json")
    assert [one["message"].split(":")[0][:30] for one in result.json["failed"]] == [
        "It is larger than 0 MB, which ",
        "Line 1 is longer than 100 byte",
    ]


def test_a_reader_cannot_ingest(cli: Cli, folder: Path) -> None:
    (folder / "a.txt").write_text("x")
    cli.ok("tenants", "create", "local")
    assert cli("ingest", str(folder), "--key", cli.key("reader", "--user", "ada")).code == 4


@pytest.mark.usefixtures("models")
def test_vectors_are_waited_for_unless_told_otherwise(cli: Cli, folder: Path) -> None:
    (folder / "talk.jsonl").write_text(lines(*said(*(f"message number {number}" for number in range(20)))))
    summary = cli.json("ingest", str(folder))
    assert (summary["messages"], summary["waiting"]) == (20, 0)
    (folder / "more.jsonl").write_text(lines(*said(*(f"another number {number}" for number in range(60)))))
    hasty = execute("ingest", str(folder / "more.jsonl"), "--no-wait", "--json").json
    assert hasty["waiting"] > 0
    assert cli.json("index", "rebuild", "--resume")["waiting"] == 0


@pytest.mark.usefixtures("models")
def test_what_is_imported_gets_its_vectors(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export = tmp_path / "export.jsonl"
    with monkeypatch.context() as patch:
        patch.setenv("MEMORIST_EMBEDDER", "off")
        for number in range(12):
            cli.ok("remember", f"note {number}")
        cli.ok("export", str(export))
        cli.ok("reset", "--all", "--yes")
    cli.ok("import", str(export), "--no-wait")
    cli.ok("reset", "--all", "--yes")
    assert cli.json("import", str(export))["imported"] == 12
    assert cli.json("index", "status")["waiting"] == 0


def test_vectors_that_cannot_be_made_are_told_and_nothing_is_lost(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORIST_EMBEDDER_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("MEMORIST_EMBEDDER_MODEL", "away")
    (folder / "a.txt").write_text("kept")
    result = cli.ok("ingest", str(folder), "--json")
    assert result.json["waiting"] == 1
    assert "1 memories wait for their vectors" in result.err
    assert cli.texts() == {"kept"}
