"""Erasure, receipts and backups at the command line."""

import json
from pathlib import Path

import apsw
import pytest

from tests.cli.conftest import Cli


def test_hard_forget_prints_a_receipt_that_verifies(cli: Cli, tmp_path: Path) -> None:
    memory_id = cli.json("remember", "a text that will be gone for good", "--user", "ada")["id"]
    file = tmp_path / "receipt.json"
    receipt = cli.json("forget", memory_id, "--hard", "--user", "ada", "--receipt", str(file))
    assert receipt["status"] == "done"
    assert receipt["counts"]["memories"] == 1
    assert receipt["verification"]["ok"]
    written = json.loads(file.read_text())
    assert written == {**receipt, "memory_ids": [memory_id]}
    assert file.stat().st_mode & 0o077 == 0
    assert cli("show", memory_id, "--user", "ada").code == 3
    for reference in (receipt["id"], str(file)):
        found = cli.json("erase", "verify", reference)
        assert (found["ok"], found["ids"], found["ids_in_files"], found["rows"]) == (True, 1, 0, {})
    assert "none" in cli.ok("erase", "verify", receipt["id"]).out
    assert cli("forget", memory_id, "--receipt", "x").code == 2


def test_purge_asks_and_erases(cli: Cli) -> None:
    for number in range(3):
        cli.ok("remember", f"fact number {number}", "--user", "ada")
    cli.ok("remember", "what bob said", "--user", "bob")
    refused = cli("purge", "--user", "ada")
    assert refused.code == 2
    assert "3 memories" in refused.err
    assert "Nothing was erased" in refused.err
    result = cli.ok("purge", "--user", "ada", "--yes")
    assert result.out.startswith("rcpt_")
    assert "3 memories" in result.err
    assert cli.texts("--user", "ada") == set()
    assert cli.texts("--user", "bob") == {"what bob said"}
    (listed,) = cli.json("erase", "list")["items"]
    assert listed["id"] == result.out.strip()
    assert listed["id"] in cli.ok("erase", "list").out


def test_verify_fails_where_something_is_left(cli: Cli, data: Path, tmp_path: Path) -> None:
    """Rows that somebody put back, an id that lies in the file, the name that does."""
    memory_id = cli.json("remember", "comes back by magic", "--user", "ada-of-the-long-name")["id"]
    backup = data / "copy"
    cli.ok("export", str(backup), "--user", "ada-of-the-long-name")
    file = tmp_path / "receipt.json"
    receipt = cli.json("purge", "--user", "ada-of-the-long-name", "--yes", "--receipt", str(file))["id"]
    assert cli.json("erase", "verify", receipt, "--name", "ada-of-the-long-name")["name_in_files"] == 0
    with apsw.Connection(str(data / "memorist.db")) as raw:
        raw.execute("CREATE TABLE notes (text TEXT)")
        raw.execute("INSERT INTO notes VALUES (?)", (f"{memory_id} of ada-of-the-long-name",))
    found = cli("erase", "verify", receipt, "--name", "ada-of-the-long-name", "--json")
    assert found.code == 1
    assert (found.json["ids_in_files"], found.json["name_in_files"], found.json["rows"]) == (1, 1, {})
    # In another database, which never heard of it, the file says what to look for.
    elsewhere = str(tmp_path / "elsewhere")
    cli.ok("import", str(backup), "--data", elsewhere)
    found = cli("erase", "verify", str(file), "--data", elsewhere, "--json")
    assert found.code == 1
    assert found.json["rows"]["memories"] >= 1
    assert cli("erase", "verify", "rcpt_01J9Z3K4M5N6P7Q8R9S0T1V2W3").code == 3
    assert cli("erase", "verify", "nonsense").code == 2
    (tmp_path / "other").write_text("[1]")
    assert cli("erase", "verify", str(tmp_path / "other")).code == 2


def test_backup_restore_and_ledger_at_the_command_line(cli: Cli, data: Path, tmp_path: Path) -> None:
    gone = cli.json("remember", "erased after the backup", "--user", "ada")["id"]
    cli.ok("remember", "kept in the backup", "--user", "ada")
    backup, ledger = str(tmp_path / "backup.db"), str(tmp_path / "ledger.jsonl")
    assert cli.json("backup", "create", backup)["size_bytes"] > 4096
    assert cli("backup", "create", backup).code == 5
    cli.ok("backup", "create", backup, "--force")
    cli.ok("forget", gone, "--hard", "--user", "ada")
    cli.ok("erase", "ledger", ledger)
    assert cli.ok("erase", "ledger").out == Path(ledger).read_text()
    assert cli("backup", "restore", backup).code == 5
    restored = cli.json("backup", "restore", backup, "--force")
    assert len(restored["erasures_applied"]) == 1
    assert cli.texts("--user", "ada") == {"kept in the backup"}
    # Elsewhere nobody knows what was erased, unless a ledger says it, before or after.
    elsewhere = str(tmp_path / "elsewhere")
    cli.ok("backup", "restore", backup, "--data", elsewhere)
    assert cli.texts("--user", "ada", "--data", elsewhere) == {"kept in the backup", "erased after the backup"}
    assert len(cli.json("erase", "apply", ledger, "--data", elsewhere)["applied"]) == 1
    assert cli.texts("--user", "ada", "--data", elsewhere) == {"kept in the backup"}
    cli.ok("backup", "restore", backup, "--data", elsewhere, "--force", "--ledger", ledger)
    assert cli.texts("--user", "ada", "--data", elsewhere) == {"kept in the backup"}
    assert cli("backup", "create", str(tmp_path / "x"), "--data", str(tmp_path / "nothing")).code == 6
    assert data.exists()


def test_what_is_written_whole_goes_to_no_stream(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory_id = cli.json("remember", "stays", "--user", "ada")["id"]
    monkeypatch.chdir(tmp_path)
    forget = ["forget", memory_id, "--user", "ada", "--hard", "--receipt", "-"]
    for command in (["backup", "create", "-"], ["support-bundle", "-"], forget):
        refused = cli(*command)
        assert (refused.code, refused.out) == (2, ""), command
        assert "Name a file" in refused.err
    assert not Path("-").exists()
    assert cli.texts("--user", "ada") == {"stays"}
    cli.ok("backup", "create", "./-")
    assert Path("-").read_bytes().startswith(b"SQLite format 3")


def test_ledger_replaces_an_older_one_and_never_the_database(cli: Cli, data: Path, tmp_path: Path) -> None:
    cli.ok("remember", "stays", "--user", "ada")
    database, ledger = data / "memorist.db", tmp_path / "ledger.jsonl"
    refused = cli("erase", "ledger", str(database))
    assert refused.code == 5
    assert "belongs to the database itself" in refused.err
    assert cli.texts("--user", "ada") == {"stays"}
    ledger.write_text("older")
    cli.ok("erase", "ledger", str(ledger))
    assert ledger.read_text() == cli.ok("erase", "ledger").out
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".ledger")] == []


def test_nothing_is_erased_where_the_receipt_cannot_be_written(cli: Cli, tmp_path: Path) -> None:
    memory_id = cli.json("remember", "stays", "--user", "ada")["id"]
    for file in (str(tmp_path / "nowhere" / "receipt.json"), str(tmp_path)):
        for command in (["purge", "--yes"], ["forget", memory_id, "--hard"]):
            refused = cli(*command, "--user", "ada", "--receipt", file)
            assert refused.code == 2
            assert "Nothing was erased" in refused.err
    assert cli.texts("--user", "ada") == {"stays"}


def test_verifying_a_backup_leaves_the_folder_of_the_index(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.ok("remember", "in the backup", "--user", "ada")
    cli.ok("backup", "create", str(tmp_path / "backup.db"))
    folder = tmp_path / "indexes"
    folder.mkdir()
    (folder / "of-the-database.shelf").write_bytes(b"kept")
    monkeypatch.setenv("MEMORIST_INDEX_FOLDER", str(folder))
    cli.ok("backup", "verify", str(tmp_path / "backup.db"))
    assert (folder / "of-the-database.shelf").read_bytes() == b"kept"


def test_tenant_is_deleted_by_its_name(cli: Cli, data: Path) -> None:
    cli.ok("remember", "of acme", "--tenant", "acme", "--user", "ada")
    cli.ok("remember", "of another", "--tenant", "other", "--user", "ada")
    key = cli.key("admin", "--tenant", "acme")
    assert cli("tenants", "delete", "acme").code == 2
    assert cli("tenants", "delete", "nobody", "--yes").code == 3
    marked = cli.json("tenants", "delete", "acme", "--yes")
    assert marked["status"] == "due"
    assert cli("list", "--key", key).code == 4
    assert cli.json("erase", "resume") == {"items": []}
    done = cli.json("tenants", "delete", "acme", "--yes", "--at-once")
    assert (done["id"], done["status"], done["counts"]["memories"]) == (marked["id"], "done", 1)
    assert cli.texts("--tenant", "other", "--user", "ada") == {"of another"}
    assert b"of acme" not in (data / "memorist.db").read_bytes()


def test_roles_at_the_command_line(cli: Cli) -> None:
    cli.ok("remember", "of ada", "--user", "ada")
    ada, bob, reader = (
        cli.key("user", "--user", "ada"),
        cli.key("user", "--user", "bob"),
        cli.key("reader", "--user", "ada"),
    )
    assert cli("purge", "--yes", "--key", reader).code == 4
    assert cli("purge", "--yes", "--key", bob, "--user", "ada").code == 4
    assert cli("purge", "--yes", "--keys", "--key", ada).code == 4
    for command in (["erase", "ledger"], ["erase", "resume"], ["backup", "create", "x"], ["tenants", "delete", "t"]):
        assert cli(*command, "--key", ada).code == 4
    receipt = cli.json("purge", "--yes", "--key", ada)["id"]
    assert cli.json("erase", "verify", receipt, "--key", ada)["ok"]
    assert cli("erase", "verify", receipt, "--key", bob).code == 3
    assert cli.json("erase", "list", "--key", bob) == {"items": []}
    assert cli.json("purge", "--yes", "--user", "ada", "--keys")["counts"]["api_keys"] == 2
