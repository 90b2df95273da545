"""Export, import and reset: what goes out comes back, byte for byte."""

import json
import os
import pty
import re
import signal
import stat
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from memorist import Draft, Memorist
from memorist.importers import files
from memorist.transfer.service import ImportReport
from tests.cli.conftest import Cli, execute


@pytest.fixture
def filled(cli: Cli, data: Path) -> None:
    """Memories of two users, named, edited, forgotten and shared, in more than one batch."""
    with Memorist.open(data) as memorist:
        memorist.user("ada").remember_all(
            Draft(f"note {number} ✓\u2028\x9b", meta={"n": number}) for number in range(450)
        )
    memory_id = cli.json("remember", "to be edited", "--user", "bob", "--agent", "coder", "--name", "n")["id"]
    cli.ok("edit", memory_id, "--content", "edited 🚀", "--user", "bob")
    cli.ok("forget", cli.json("remember", "gone")["id"])
    cli.ok("remember", "for all", "--shared")


@pytest.mark.usefixtures("filled")
def test_export_reset_import_export_gives_the_same_bytes(cli: Cli, tmp_path: Path) -> None:
    before, after = tmp_path / "before.jsonl", tmp_path / "after.jsonl"
    assert execute("export", str(before)).code == 0
    assert execute("export").out.encode() == before.read_bytes()
    assert execute("reset", "--all", "--yes").out == "453 memories erased.\n"
    assert cli.texts("--all-users") == set()
    imported = execute("import", str(before), "--json")
    nothing = asdict(ImportReport())
    assert imported.json == nothing | {"imported": 453}
    assert execute("export", str(after)).code == 0
    assert after.read_bytes() == before.read_bytes()
    again = execute("import", "-", "--json", stdin=before.read_bytes())
    assert again.json == nothing | {"already_there": 453}


@pytest.mark.usefixtures("filled")
def test_reset_erases_the_user_of_the_settings_only(cli: Cli) -> None:
    cli.ok("remember", "mine")
    assert cli("reset").code == 2
    assert cli("reset", "--all", "--user", "ada", "--yes").code == 2
    # The forgotten one goes too.
    erased = cli.json("reset", "--yes")
    assert re.fullmatch(r"rcpt_\w{26}", erased.pop("receipt"))
    assert erased == {"erased": 2, "tenant": "local", "user": "local", "agent": None}
    assert len(cli.texts("--all-users")) == 452


@pytest.mark.usefixtures("filled")
def test_export_and_import_of_one_user(cli: Cli) -> None:
    lines = cli.ok("export", "--user", "bob").out.splitlines()
    owners = {json.loads(line)["memory"]["user"] for line in lines[1:-1]}
    assert owners == {"bob", None}
    # Bob's export holds another's line only if somebody put it there, and then it is refused.
    forged = lines[0] + "\n" + lines[1].replace('"user": "bob"', '"user": "ada"') + "\n"
    key = cli.key("user", "--user", "bob")
    assert cli("import", "-", "--key", key, stdin=forged.encode()).code == 4


def test_part_of_everything_is_exported(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("some words")
    cli.ok("remember", "a fact")
    cli.ok("ingest", str(tmp_path / "notes.md"))

    def texts(*options: str) -> list[str]:
        rows = map(json.loads, cli.ok("export", *options).out.splitlines()[1:-1])
        return [row["memory"]["content"] if "memory" in row else row["document"]["title"] for row in rows]

    assert texts("--kind", "fact") == ["a fact"]
    assert texts("--kind", "document_chunk") == ["some words", "notes.md"]
    assert texts("--kind", "fact", "--kind", "document_chunk", "--since", "2020-01-01") == texts()
    assert texts("--until", "2020-01-01") == texts("--since", "2999-01-01T10:00+02:00") == []
    refused = cli("export", "--since", "yesterday")
    assert (refused.code, "must be a date or time" in refused.err) == (2, True)


def test_settings_do_not_narrow_a_backup(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    cli.ok("remember", "ada's", "--user", "ada", "--agent", "coder")
    monkeypatch.setenv("MEMORIST_USER", "bob")
    monkeypatch.setenv("MEMORIST_AGENT", "writer")
    assert "ada's" in cli.ok("export").out


def test_an_exported_file_is_private_and_replaced_only_when_complete(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.ok("remember", "x")
    file = tmp_path / "backup.jsonl"
    assert cli.json("export", str(file)) == {"file": str(file), "memories": 1, "documents": 0}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    good = file.read_bytes()

    def interrupted(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", interrupted)
    assert cli("export", str(file), "--force").code == 2
    assert file.read_bytes() == good
    assert list(tmp_path.glob(".export-*")) == []


@pytest.mark.parametrize("command", [["export"], ["backup", "create"]], ids=" ".join)
def test_a_file_that_is_there_is_replaced_by_force_and_the_databases_own_never(
    cli: Cli, data: Path, tmp_path: Path, command: list[str]
) -> None:
    cli.ok("remember", "x")
    file = tmp_path / "out"
    file.write_text("mine")
    refused = cli(*command, str(file))
    assert (refused.code, file.read_text()) == (5, "mine"), refused
    cli.ok(*command, str(file), "--force")
    assert file.read_bytes() != b"mine"
    link = tmp_path / "link"
    link.symlink_to(data / "memorist.db")
    for own in (data / "memorist.db", data / "memorist.db-wal", link):
        refused = cli(*command, str(own), "--force")
        assert refused.code == 5
        assert "belongs to the database itself" in refused.err
    assert cli.texts() == {"x"}


def test_a_pipe_or_a_device_is_never_replaced_by_a_backup(cli: Cli, tmp_path: Path) -> None:
    cli.ok("remember", "x")
    os.mkfifo(pipe := tmp_path / "pipe")
    (link := tmp_path / "link").symlink_to(pipe)
    for place in (pipe, link):
        refused = cli("backup", "create", str(place), "--force")
        assert (refused.code, "is no file" in refused.err) == (6, True), refused
    assert pipe.is_fifo()
    assert {file.name for file in tmp_path.iterdir() if file.is_file()} == set()


@pytest.mark.parametrize("command", [["export"], ["backup", "create"]], ids=" ".join)
def test_a_command_that_is_ended_leaves_no_half_of_a_file(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    cli.ok("remember", "x")
    (folder := tmp_path / "backups").mkdir()

    def ended(*_: object) -> None:
        assert list(folder.iterdir()) != []
        os.kill(os.getpid(), signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    monkeypatch.setattr(os, "fsync", ended)
    try:
        with pytest.raises(SystemExit) as end:
            cli(*command, str(folder / "out"))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert end.value.code == 143
    assert list(folder.iterdir()) == []


def test_memories_and_documents_are_counted_apart(cli: Cli, tmp_path: Path) -> None:
    assert cli.ok("export", str(tmp_path / "nothing")).err.endswith("0 memories exported.\n")
    cli.ok("remember", 'a "document": of sorts')
    assert "1 memory exported." in cli.ok("export").err
    (tmp_path / "guide.md").write_text("# Guide\n\nWhat to do.\n\n" + "## More\n\nAnd why so.\n\n" * 300)
    (tmp_path / "note.txt").write_text("A short one.")
    for name in ("guide.md", "note.txt"):
        cli.ok("ingest", str(tmp_path / name))
    file = tmp_path / "all.jsonl"
    told = cli.ok("export", str(file)).err
    chunks = cli.json("export", str(file), "--force")["memories"]
    assert chunks > 3
    assert f"{chunks} memories and 2 documents exported." in told
    assert cli.ok("export").err == told
    report = cli.ok("import", str(file), "--data", str(tmp_path / "elsewhere"), "--no-wait").err
    assert f"{chunks} imported, 0 were there already." in report


def test_a_device_is_written_to_and_not_replaced(cli: Cli) -> None:
    cli.ok("export", "/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_file_that_stdout_goes_to_is_written_to(cli: Cli, data: Path, tmp_path: Path) -> None:
    cli.ok("remember", "one")
    file = tmp_path / "out.jsonl"
    file.write_text("before\n")
    ours, theirs = pty.openpty()
    try:
        with file.open("ab") as out:
            command = [sys.executable, "-m", "memorist", "export", "/dev/stdout", "--data", str(data)]
            subprocess.run(command, check=True, stdout=out, stderr=theirs)
        said = os.read(ours, 4096).decode()
    finally:
        os.close(ours)
        os.close(theirs)
    assert file.read_text() == "before\n" + cli.ok("export").out
    assert said.count("Store: ") == 1


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "empty"),
        (b"hello\n", "not JSON"),
        (b"[]\n", "not a JSON object"),
        (b'{"format": "other", "version": 1}\n', "no Memorist export"),
        (b'{"format": "memorist-export", "version": 1}\n{"memory": {}}\n', "Line 2"),
        (b'{"format": "memorist-export", "version": 1}\n\xff\n', "Line 2 is not valid UTF-8"),
        (b"[" * 200_000, "not JSON"),
    ],
)
def test_a_file_that_is_no_export_is_refused(cli: Cli, content: bytes, complaint: str) -> None:
    result = cli("import", "-", stdin=content)
    assert (result.code, result.out) == (2, "")
    assert complaint in result.err


def test_an_export_that_is_cut_off_is_told(cli: Cli) -> None:
    for text in ("one", "two"):
        cli.ok("remember", text)
    lines = cli.ok("export").out.encode().splitlines(keepends=True)
    cli.ok("reset", "--yes")
    cut = cli("import", "-", "--json", stdin=b"".join(lines[:2]))
    assert (cut.code, cut.json["imported"], cut.json["incomplete"]) == (1, 1, 1)
    assert "the export is cut off: lines at its end are missing" in cut.err
    whole = cli.ok("import", "-", stdin=b"".join(lines))
    assert "1 imported, 1 were there already." in whole.err
    assert "cut off" not in whole.err
    older = cli.ok("import", "-", stdin=lines[0].replace(b', "counted": true', b"") + lines[1])
    assert "whether it is whole cannot be told" in older.err


def test_a_line_without_end_is_refused(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_LONGEST_LINE", 1000)
    result = cli("import", "-", stdin=b"x" * 1_000_000)
    assert result.code == 2
    assert "longer than 1000 bytes" in result.err


@pytest.mark.usefixtures("filled")
def test_what_was_imported_before_a_broken_line_is_told(cli: Cli) -> None:
    export = cli.ok("export").out.encode()
    cli.ok("reset", "--all", "--yes")
    result = cli("import", "-", stdin=export + b"broken\n")
    assert result.code == 2
    assert "400 memories were imported before this." in result.err
    assert "Line 456" in result.err


def test_conflicts_are_counted_and_told(cli: Cli) -> None:
    cli.ok("remember", "one", "--name", "n")
    export = cli.ok("export").out.encode()
    cli.ok("reset", "--yes")
    cli.ok("remember", "two", "--name", "n")
    result = cli.ok("import", "-", "--json", stdin=export)
    assert result.json["conflicting"] == 1
    assert (
        "1 not imported: their name or text belongs to another memory here, or their document is newer here."
        in result.err
    )


def test_an_export_with_a_mark_before_it_is_read(cli: Cli) -> None:
    cli.ok("remember", "one")
    export = cli.ok("export").out.encode()
    cli.ok("reset", "--yes")
    assert cli.ok("import", "-", "--json", stdin=b"\xef\xbb\xbf" + export).json["imported"] == 1


def test_rows_from_the_beginning_of_time_are_listed_west_of_greenwich(cli: Cli) -> None:
    made = cli.json("remember", "one")["created_at"]
    export = cli.ok("export").out.replace(made, "0001-01-01T00:00:00.000000Z").encode()
    cli.ok("reset", "--yes")
    cli.ok("import", "-", stdin=export)
    listed = execute("list", environment={"TZ": "XYZ+5"})
    assert listed.code == 0, listed.err
    assert "1-01-01 00:00" in listed.out


def test_no_database_is_made_for_what_is_no_export(cli: Cli, tmp_path: Path) -> None:
    refused = cli("import", "-", "--json", "--data", str(tmp_path / "new"), stdin=b"nonsense\n")
    assert refused.code == 2
    assert json.loads(refused.err)["error"]["code"]
    assert not (tmp_path / "new").exists()
