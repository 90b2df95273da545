"""`memorist doctor`: each fault is made for real, found, and told with what to do."""

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import pytest

from memorist.bootstrap import backup_plan, open_core, open_store
from memorist.memories.values import Draft
from memorist.models.embedder import LocalEmbedder
from memorist.platform.backups import stamp_of
from memorist.platform.values import Job, JobStatus, Principal, Role
from memorist.settings import Settings
from memorist.store.migrations import Migration, Migrator, load_migrations
from memorist.store.statements import load_statements
from memorist.surfaces.cli import checks
from memorist.surfaces.cli.checks import CHECKS
from memorist.testing import StepClock
from memorist.times import SystemClock
from tests.cli.conftest import EXECUTABLE, Cli
from tests.http.test_server import wait_until_healthy
from tests.support.stores import bare

ADA = Principal("local", Role.USER, "ada")


def finding(cli: Cli, check: str, *arguments: str) -> tuple[str, str]:
    """The state and the message of a check; of several of the same name, the last."""
    found = cli("doctor", "--json", *arguments).json["checks"]
    return next((one["state"], one["message"]) for one in reversed(found) if one["check"] == check)


@pytest.fixture(params=["sqlite", "postgres"])
def settings(request: pytest.FixtureRequest, data: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A migrated database that the command line uses."""
    if request.param == "sqlite":
        settings = bare(str(data / "memorist.db"), data=data)
    else:
        settings = bare(request.getfixturevalue("own_postgres_url"), data=data)
        monkeypatch.setenv("MEMORIST_DATABASE", settings.database)
    open_core(settings).close()
    return settings


def test_checks_are_one_list_of_different_ones() -> None:
    assert len({check.__name__ for check in CHECKS}) == len(CHECKS) == 18


def test_store_of_a_newer_version_is_found(cli: Cli, settings: Settings) -> None:
    store = open_store(settings)
    dialect = store.driver.dialect
    newer = Migration(99, "future", "CREATE TABLE future (id text PRIMARY KEY)")
    Migrator(store.driver, load_statements(dialect), [*load_migrations(dialect), newer]).migrate(SystemClock().now())
    store.close()
    state, message = finding(cli, "schema")
    assert state == "problem"
    assert "newer Memorist" in message
    assert "migration 99" in message
    assert "install the version that wrote it" in message


def test_server_of_another_version_is_found(cli: Cli) -> None:
    code = "import sys, memorist.version as v; v.__version__ = '9.9.9'; from memorist.__main__ import main; main()"
    command = [sys.executable, "-c", code, "serve", "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split('"')[3]
        wait_until_healthy(address)
        state, message = finding(cli, "server")
        process.terminate()
    assert state == "problem"
    assert f"{address} is version 9.9.9" in message
    assert "restart it" in message


def test_key_and_database_that_others_can_read_are_found(cli: Cli, data: Path) -> None:
    cli.ok("remember", "x")
    (data / "local.key").write_text("mst_live_x")
    (data / "local.key").chmod(0o600)
    for file in (data / "local.key", data / "memorist.db"):
        file.chmod(0o644)
        state, message = finding(cli, "permissions")
        assert state == "problem"
        assert message == f"others can read {file}: run `chmod 600` on it"
        file.chmod(0o600)
    assert cli("doctor").code == 0


def test_settings_file_with_a_key_that_others_can_read_is_found(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "config" / "memorist" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("llm_timeout_s = 5\n")
    file.chmod(0o644)
    assert cli("doctor").code == 0  # It holds nothing that others may not know.
    file.write_text('llm_api_key = "sk-secret"\n')
    assert finding(cli, "permissions") == ("problem", f"others can read {file}: run `chmod 600` on it")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    mount = tmp_path / "disk"
    mount.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=8m,mode=700", "tmpfs", str(mount)]
    if subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("this machine does not let the tests mount a small disk")
    yield mount
    subprocess.run(["umount", str(mount)], check=True)


def test_full_disk_is_found(cli: Cli, small_disk: Path) -> None:
    cli.ok("remember", "x", "--data", str(small_disk))
    state, message = finding(cli, "disk", "--data", str(small_disk))
    assert state == "problem"
    assert "make room" in message


def test_rows_from_the_future_are_found(cli: Cli, settings: Settings) -> None:
    assert finding(cli, "clock")[0] == "ok"
    # As if this machine's clock had been ahead by a year, or were behind now.
    ahead = open_core(settings, clock=StepClock(SystemClock().now() + timedelta(days=365)), background=False)
    ahead.identity.create_tenant("local")
    ahead.memories.remember(ADA, [Draft("From next year.")])
    ahead.close()
    state, message = finding(cli, "clock")
    assert state == "problem"
    assert message.startswith("2 rows are dated after now, up to ")
    assert "set-ntp" in message


def promised(settings: Settings, status: JobStatus, run_at: datetime) -> None:
    core = open_core(settings, background=False)
    core.identity.create_tenant("local")
    job = Job("job_01M7JCTXGCA3CTHPM53EATX8JX", "judge", ADA, {}, run_at, run_at, run_at, status=status, error="No.")
    core.store.write("local", lambda tx: tx.jobs.insert(job))
    core.close()


def test_dead_jobs_are_found(cli: Cli, settings: Settings) -> None:
    assert finding(cli, "jobs")[0] == "ok"
    promised(settings, JobStatus.DEAD, SystemClock().now())
    state, message = finding(cli, "jobs")
    assert state == "warning"
    assert message.startswith("1 job has failed for good: `memorist jobs list --status dead --all-users`")


def test_stuck_jobs_are_found(cli: Cli, settings: Settings) -> None:
    promised(settings, JobStatus.WAITING, SystemClock().now() - timedelta(hours=2))
    state, message = finding(cli, "jobs")
    assert state == "warning"
    assert message == "in 1 tenant jobs wait for more than an hour: start the server, or `memorist jobs run`"


def test_vectors_of_another_model_are_found(cli: Cli, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    core = open_core(settings, background=False)
    core.identity.create_tenant("local")
    core.store.set_index_model("local", "memorist-embedder-1")
    core.close()
    monkeypatch.setenv("MEMORIST_EMBEDDER", "local")
    state, message = finding(cli, "index")
    assert state == "warning"
    assert message.startswith("1 tenant has vectors of memorist-embedder-1, and the embedder is memorist-embedder-")
    assert "index rebuild --all" in message


def test_vectors_that_stay_are_told_with_how_many_lack_tokens(
    cli: Cli, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORIST_EMBEDDER", "local")
    with monkeypatch.context() as before:
        before.setattr(LocalEmbedder, "model_id", "memorist-embedder-6")
        before.setattr(LocalEmbedder, "same_vectors_as", ())
        core = open_core(replace(settings, embedder="local"), background=False)
        core.identity.create_tenant("local")
        core.memories.remember(ADA, [Draft("a teapot"), Draft("a kettle")])
        core.close()
    state, message = finding(cli, "index")
    assert state == "ok"
    assert message.startswith("vectors of memorist-embedder-6 are those of memorist-embedder-8, and stay; ")
    assert "tokens are still added to 2 memories" in message
    assert cli.json("upgrade", "--check")["pending"] == [], "nobody has to do anything"
    cli.ok("index", "rebuild", "--all", "--resume")
    assert not any(one["check"] == "index" for one in cli("doctor", "--json").json["checks"])


def test_index_that_finds_no_room_is_found(cli: Cli, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    core = open_core(settings, background=False)
    core.identity.create_tenant("local")
    core.memories.remember(ADA, [Draft(f"number {number}") for number in range(17)])
    core.close()
    monkeypatch.setattr(checks, "_INDEXED_BYTES", 1 << 20)
    monkeypatch.setenv("MEMORIST_INDEX_MEMORY_MB", "16")
    monkeypatch.setenv("MEMORIST_INDEX_FOLDER", str(settings.data / "shelves"))
    assert "index memory" not in str(cli("doctor", "--json").json), "it is saved"
    monkeypatch.setenv("MEMORIST_INDEX_DISK_MB", "0")
    state, message = finding(cli, "index memory")
    assert state == "warning"
    assert "the oldest are found by their words alone" in message
    monkeypatch.setenv("MEMORIST_INDEX_MEMORY_MB", "17")
    assert "index memory" not in str(cli("doctor", "--json").json)
    monkeypatch.setenv("MEMORIST_INDEX_DISK_MB", "5")
    assert "index_disk_mb is 5: it is not saved" in finding(cli, "index memory")[1]


def test_large_index_that_each_process_reads_anew_is_found(
    cli: Cli, own_postgres_url: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    core = open_core(replace(settings, database=own_postgres_url), background=False)
    core.identity.create_tenant("local")
    core.memories.remember(ADA, [Draft(f"number {number}") for number in range(17)])
    core.close()
    monkeypatch.setenv("MEMORIST_DATABASE", own_postgres_url)
    assert "index memory" not in str(cli("doctor", "--json").json)
    monkeypatch.setattr(checks, "_READ_IN_SECONDS", 17)
    state, message = finding(cli, "index memory")
    assert state == "warning"
    assert message.endswith("by each process that begins: have it saved with MEMORIST_INDEX_FOLDER")
    monkeypatch.setenv("MEMORIST_INDEX_FOLDER", str(settings.data / "shelves"))
    assert "index memory" not in str(cli("doctor", "--json").json), "it is saved"


def test_rows_that_lack_their_events_are_found(cli: Cli, data: Path) -> None:
    cli.ok("remember", "x")
    connection = apsw.Connection(str(data / "memorist.db"))
    connection.execute("DELETE FROM memory_events")
    connection.close()
    state, message = finding(cli, "tenant local")
    assert state == "problem"
    assert "0 created events" in message


def test_looking_changes_no_byte(cli: Cli, tmp_path: Path) -> None:
    cli.ok("remember", "x")
    backup = tmp_path / "backup.db"
    cli.ok("backup", "create", str(backup))
    before = backup.read_bytes()
    for command in (["doctor"], ["db", "status"], ["db", "check"], ["upgrade", "--check"]):
        cli(*command, "--database", str(backup))
    assert backup.read_bytes() == before


def test_database_of_another_program_is_found_and_left_alone(cli: Cli, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    connection = apsw.Connection(str(other))
    connection.execute("CREATE TABLE songs (title TEXT)")
    connection.close()
    before = other.read_bytes()
    state, message = finding(cli, "database", "--database", str(other))
    assert (state, "another program's" in message) == ("problem", True)
    for command in ("list", "db status", "db migrate"):
        assert cli(*command.split(), "--database", str(other), "--json").error["code"] == "store_corrupt"
    assert other.read_bytes() == before


def test_missed_backups_are_found(cli: Cli, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cli.ok("remember", "x")
    assert finding(cli, "backups")[0] == "ok"
    monkeypatch.setenv("MEMORIST_BACKUP_EVERY_HOURS", "24")
    assert finding(cli, "backups") == (
        "problem",
        "No backup was made yet. A running server makes them: its log says what fails. `memorist backup create` makes "
        "one now",
    )
    # Another database's backups of today are none of this one.
    cli.ok("backup", "create", str(data / "backups" / f"memorist-{stamp_of(SystemClock().now())}-0123abcd.db"))
    assert finding(cli, "backups")[0] == "problem"
    settings = Settings(data=data, backup_every_hours=24.0)
    with closing(open_store(settings)) as store:
        plan = backup_plan(settings, store)
    assert plan is not None
    cli.ok("backup", "create", str(plan.path_of(datetime(2026, 1, 1, tzinfo=UTC))))
    state, message = finding(cli, "backups")
    assert state == "problem"
    assert message.startswith("The last backup is of 2026-01-01T00:00:00.000000Z, and one is due every 1 day")


def test_schedule_that_does_nothing_is_found(cli: Cli, own_postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORIST_BACKUP_EVERY_HOURS", "24")
    monkeypatch.setenv("MEMORIST_DATABASE", own_postgres_url)
    state, message = finding(cli, "backups")
    assert state == "problem"
    assert "pg_dump" in message
    assert cli("serve", "--port", "0").code == 2


def shown(*arguments: str, **environment: str) -> bytes:
    """What a command prints on a terminal."""
    ours, theirs = pty.openpty()
    variables = {**os.environ, "TERM": "xterm", **environment}
    with subprocess.Popen([EXECUTABLE, *arguments], stdout=theirs, stderr=theirs, env=variables) as process:
        os.close(theirs)
        output = b""
        try:
            while piece := os.read(ours, 4096):
                output += piece
        except OSError:
            pass  # The other end was closed.
        process.wait()
    os.close(ours)
    return output


def test_findings_and_errors_have_colours_on_a_terminal_that_has_them(cli: Cli) -> None:
    assert b"\x1b[32mok" in shown("doctor")
    assert b"\x1b[1;31merror:\x1b[0m" in shown("list", "--limit", "0")
    assert b"\x1b[3" not in shown("doctor", NO_COLOR="1")
    assert b"\x1b[1;31m" not in shown("list", "--limit", "0", NO_COLOR="1")
    assert "\x1b" not in cli("doctor").out
