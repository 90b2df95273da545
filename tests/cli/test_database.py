"""`memorist db` and `memorist doctor`, on both databases."""

from pathlib import Path

import apsw
import pytest

from tests.cli.conftest import Cli, execute


def test_migrate_makes_the_database_once(cli: Cli, data: Path) -> None:
    assert not data.exists()
    applied = cli.json("db", "migrate")["applied"]
    assert [entry["version"] for entry in applied] == list(range(1, len(applied) + 1))
    assert cli.json("db", "migrate") == {"applied": []}
    assert "up to date" in cli.ok("db", "migrate").err


def test_status_tells_what_the_database_is(cli: Cli) -> None:
    cli.ok("db", "migrate")
    status = cli.json("db", "status")
    assert set(status) == {"database", "applied", "pending", "warnings"}
    assert status["database"]["engine"] == "SQLite"
    assert status["applied"][0]["applied_at"]
    assert status["pending"] == []
    assert "SQLite" in cli.ok("db", "status").out


def test_status_and_check_of_a_new_file_do_not_migrate(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "empty.db"
    file.touch()
    status = cli.json("db", "status", "--database", str(file))
    assert status["applied"] == []
    assert status["pending"]
    check = cli("db", "check", "--database", str(file), "--json")
    assert check.code == 1
    assert "db migrate" in check.json["findings"]["schema"]


def test_check_of_a_sound_database_is_ok(cli: Cli) -> None:
    cli.ok("remember", "x")
    checked = cli.json("db", "check")
    assert checked["ok"]
    assert set(checked["findings"].values()) == {"ok"}
    assert "tenant local" in cli.ok("db", "check").out


def test_check_finds_a_row_without_its_event(cli: Cli, data: Path) -> None:
    cli.ok("remember", "x")
    connection = apsw.Connection(str(data / "memorist.db"))
    connection.execute("DELETE FROM memory_events")
    connection.close()
    checked = cli("db", "check", "--json")
    assert (checked.code, checked.json["ok"]) == (1, False)
    assert cli("db", "check").code == 1
    doctor = cli("doctor", "--json")
    assert doctor.code == 1
    assert "problem" in {check["state"] for check in doctor.json["checks"]}


def states(cli: Cli, *arguments: str) -> dict[str, tuple[str, str]]:
    found = cli("doctor", "--json", *arguments).json["checks"]
    return {check["check"]: (check["state"], check["message"]) for check in found}


def test_doctor_of_a_sound_installation_is_content(cli: Cli) -> None:
    cli.ok("keys", "create", "--role", "admin")
    result = execute("doctor")
    assert (result.code, result.err) == (0, "Everything works.\n")
    found = states(cli)
    assert {"python", "memorist", "settings", "sqlite", "data folder", "disk", "schema", "keys"} <= set(found)
    assert {state for state, _ in found.values()} == {"ok"}


def test_doctor_makes_nothing(cli: Cli, data: Path) -> None:
    assert states(cli)["database"][0] == "ok"
    assert not data.exists()


def test_doctor_advises(cli: Cli, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cli.ok("remember", "x")
    data.chmod(0o755)
    monkeypatch.setenv("MEMORIST_USR", "ada")
    found = states(cli)
    assert found["data folder"][0] == "warning"
    assert "chmod 700" in found["data folder"][1]
    assert found["settings"][0] == "warning"
    assert "MEMORIST_USER" in found["settings"][1]


def test_doctor_tells_pending_migrations(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "empty.db"
    file.touch()
    state, message = states(cli, "--database", str(file))["schema"]
    assert state == "warning"
    assert "db migrate" in message


def test_doctor_tells_an_unreachable_server(cli: Cli) -> None:
    state, message = states(cli, "--database", "postgresql://nobody@127.0.0.1:1/none")["database"]
    assert state == "problem"
    assert "cannot be reached" in message
    assert cli("list", "--database", "postgresql://nobody@127.0.0.1:1/none").code == 6


def test_the_commands_work_on_postgresql(cli: Cli, new_postgres_url: str) -> None:
    database = ["--database", new_postgres_url]
    assert cli("db", "check", *database).code == 1
    cli.ok("db", "migrate", *database)
    memory_id = cli.json("remember", "on a server ✓", *database)["id"]
    assert cli.json("show", memory_id, *database)["content"] == "on a server ✓"
    before = cli.ok("export", *database).out
    assert cli.json("reset", "--all", "--yes", *database)["erased"] == 1
    cli.ok("import", "-", *database, stdin=before.encode())
    assert cli.ok("export", *database).out == before
    assert cli.json("db", "check", *database)["ok"]
    assert cli.json("db", "status", *database)["database"]["engine"].startswith("PostgreSQL")
    found = states(cli, *database)
    assert found["postgresql"][0] == "ok"
    assert found["embedder"][0] == "ok"
