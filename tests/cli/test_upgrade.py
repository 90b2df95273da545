"""`memorist upgrade`, on a database that the release before wrote; and the notes that every release has."""

import lzma
import re
import socket
from pathlib import Path

import pytest

from memorist import __version__
from memorist.bootstrap import open_core, open_store
from memorist.running_servers import noted
from memorist.settings import Settings
from memorist.store.migrations import Migration, Migrator, load_migrations
from memorist.store.statements import load_statements
from memorist.times import SystemClock
from tests.cli.conftest import Cli
from tests.docs.pages import page
from tests.store.test_releases import RELEASE

MISSING = [f"{one.version:04} {one.name}" for one in load_migrations("sqlite")[1:]]


@pytest.fixture
def old(data: Path) -> Path:
    """The file of the release before, where the command line finds it."""
    data.mkdir(mode=0o700)
    file = data / "memorist.db"
    file.write_bytes(lzma.decompress((RELEASE / "sqlite.db.xz").read_bytes()))
    file.chmod(0o600)
    return file


def test_check_says_what_is_pending_and_changes_nothing(cli: Cli, old: Path) -> None:
    before = old.read_bytes()
    result = cli("upgrade", "--check", "--json")
    assert result.code == 1
    (step,) = result.json["pending"]
    assert (step["what"], step["finding"]) == ("migrations", ", ".join(MISSING))
    assert "memorist upgrade" in step["do"]
    assert "0002 recall" in cli("upgrade", "--check").out
    assert old.read_bytes() == before


def test_upgrade_backs_up_migrates_and_indexes(cli: Cli, old: Path) -> None:
    done = cli.json("upgrade")
    assert (done["version"], done["applied"], done["left"]) == (__version__, MISSING, [])
    backup = Path(done["backup"])
    assert backup.parent == old.parent / "backups"
    assert backup.stat().st_mode & 0o077 == 0
    assert cli.json("upgrade", "--check")["pending"] == []
    assert cli.json("db", "check")["ok"]
    assert cli("doctor").code == 0
    # As it was: the release before can go on with it.
    assert [entry["version"] for entry in cli.json("db", "status", "--database", str(backup))["applied"]] == [1]
    assert cli.json("backup", "verify", str(backup))["ok"]
    again = cli.ok("upgrade")
    assert (again.out, again.err) == ("", "The database is up to date.\n")


def test_upgrade_without_a_backup_makes_none(cli: Cli, old: Path) -> None:
    told = cli.ok("upgrade", "--no-backup")
    assert told.out.splitlines() == MISSING
    assert told.err == f"{len(MISSING)} migrations applied.\n"
    assert not (old.parent / "backups").exists()


def test_backup_that_cannot_be_made_keeps_it_from_migrating(cli: Cli, old: Path) -> None:
    (old.parent / "backups").write_text("in the way")
    assert cli("upgrade").code == 6
    assert cli("upgrade", "--check").code == 1


def test_running_server_keeps_it_from_migrating(cli: Cli, old: Path) -> None:
    with noted(Settings(data=old.parent), "http://127.0.0.1:9"):
        result = cli("upgrade", "--json")
        checked = cli("upgrade", "--check", "--json").json["pending"]
    assert (result.code, "Stop it before you upgrade" in result.error["message"]) == (5, True)
    assert [step["what"] for step in checked] == ["server", "migrations"]
    assert cli.json("upgrade")["applied"] == MISSING


@pytest.mark.parametrize("command", [["list"], ["db", "migrate"], ["serve", "--port", "0"]])
def test_running_server_of_the_version_before_keeps_every_command_from_migrating(
    cli: Cli, old: Path, command: list[str]
) -> None:
    with noted(Settings(data=old.parent), "http://127.0.0.1:9"):
        result = cli(*command, "--json")
    assert (result.code, "Stop it before you upgrade" in result.error["message"]) == (5, True)
    assert len(cli.json("db", "status")["pending"]) == len(MISSING)


@pytest.mark.usefixtures("old")
def test_server_whose_port_is_taken_migrates_nothing(cli: Cli) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert cli("serve", "--port", str(listener.getsockname()[1])).code == 2
    assert len(cli.json("db", "status")["pending"]) == len(MISSING)


def test_newer_database_is_refused(cli: Cli, old: Path) -> None:
    store = open_store(Settings(data=old.parent))
    newer = Migration(99, "future", "CREATE TABLE future (id text PRIMARY KEY)")
    Migrator(store.driver, load_statements("sqlite"), [load_migrations("sqlite")[0], newer]).migrate(
        SystemClock().now()
    )
    store.close()
    for arguments in (["upgrade"], ["upgrade", "--check"]):
        result = cli(*arguments, "--json")
        assert (result.code, result.error["code"]) == (6, "store_outdated")


def test_other_model_and_gone_settings_are_pending(cli: Cli, old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cli.ok("upgrade")
    core = open_core(Settings(data=old.parent, embedder="off"), background=False)
    core.store.set_index_model("local", "memorist-embedder-1")
    core.close()
    monkeypatch.setenv("MEMORIST_EMBEDDER", "local")
    monkeypatch.setenv("MEMORIST_GONE", "1")
    result = cli("upgrade", "--check", "--json")
    assert result.code == 1
    assert [step["what"] for step in result.json["pending"]] == ["model", "settings"]
    assert "vectors are of memorist-embedder-1" in result.json["pending"][0]["finding"]
    assert "MEMORIST_GONE" in result.json["pending"][1]["finding"]


def test_place_without_a_database_has_nothing_pending(cli: Cli, data: Path) -> None:
    for arguments in (["upgrade"], ["upgrade", "--check"]):
        assert "There is no database" in cli.ok(*arguments).err
    assert not data.exists()


def test_setting_that_is_gone_from_the_file_is_named(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.toml").write_text("gone = 1\n")
    monkeypatch.setenv("MEMORIST_CONFIG", str(tmp_path / "config.toml"))
    result = cli("upgrade", "--check", "--json")
    assert (result.code, "sets 'gone', which is no setting" in result.error["message"]) == (2, True)


def test_postgresql_is_migrated_without_a_backup(cli: Cli, new_postgres_url: str) -> None:
    database = ["--database", new_postgres_url]
    assert cli("upgrade", "--check", *database).code == 1
    done = cli.json("upgrade", *database)
    assert done["backup"] is None
    assert len(done["applied"]) == len(load_migrations("postgres"))
    assert cli.json("upgrade", "--check", *database)["pending"] == []


def test_every_release_has_its_notes() -> None:
    """A release in the changelog has a section, which says what to do or that nothing is needed."""
    releases = re.findall(r"^## \[?(Unreleased|\d+\.\d+\.\d+)", page("CHANGELOG.md").text, re.MULTILINE)
    assert releases
    notes = page("docs/howto/upgrade.md")
    for release in releases:
        assert len(notes.section(f"To {release}").split()) > 5, release
