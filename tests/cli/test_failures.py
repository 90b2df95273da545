"""Exit codes, error messages, and what never happens: a traceback, or an error on stdout."""

import errno
import os
import pty
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from memorist import errors
from memorist.platform import validation
from memorist.surfaces.cli.failures import exit_code_of
from memorist.transfer.service import FORMAT, VERSION
from tests.cli.conftest import EXECUTABLE, Cli, execute

NOBODY = "mem_01J9Z3K4M5N6P7Q8R9S0T1V2W3"


def test_every_error_has_its_documented_exit_code() -> None:
    codes = {kind.__name__: exit_code_of(kind()) for kind in errors.all_errors()}
    refused = {"HeadersTooLarge", "MethodNotAllowed", "PayloadTooLarge", "UnsupportedEncoding"}
    invalid = {kind.__name__ for kind in errors.all_errors(errors.Invalid)} | refused
    conflicts = {kind.__name__ for kind in errors.all_errors(errors.Conflict)} | {"StaleVersion"}
    busy = {"RequestTimeout", "ServerBusy", "ServerUnavailable", "TooManyRequests"}
    stores = {kind.__name__ for kind in errors.all_errors(errors.StoreError)} | busy
    models = {kind.__name__ for kind in errors.all_errors(errors.ModelError)}
    assert {name for name, code in codes.items() if code == 2} == invalid
    assert {name for name, code in codes.items() if code == 3} == {"NotFound"}
    assert {name for name, code in codes.items() if code == 4} == {"Unauthenticated", "Forbidden"}
    assert {name for name, code in codes.items() if code == 5} == conflicts
    assert {name for name, code in codes.items() if code == 6} == stores
    assert {name for name, code in codes.items() if code == 7} == models
    assert {name for name, code in codes.items() if code == 1} == {"MemoristError"}


@pytest.mark.parametrize(
    ("arguments", "exit_code", "code"),
    [
        (["show", NOBODY], 3, "not_found"),
        (["show", "nonsense"], 3, "not_found"),
        (["events", NOBODY], 3, "not_found"),
        (["forget"], 2, "invalid_request"),
        (["remember", " "], 2, "invalid_field"),
        (["remember", "x", "--category", "Not A Slug"], 2, "invalid_field"),
        (["remember", "x", "--confidence", "2"], 2, "invalid_field"),
        (["remember", "x", "--confidence", "much"], 2, "invalid_request"),
        (["remember", "x", "--confidence", "nan"], 2, "invalid_request"),
        (["tokens", "create", "ada", "--minutes", "nan"], 2, "invalid_request"),
        (["tokens", "create", "ada", "--minutes", "0.5"], 2, "invalid_request"),
        (["tokens", "create", "ada", "--minutes", "1e300"], 2, "invalid_request"),
        (["top", "--every", "0"], 2, "invalid_request"),
        (["top", "--every", "1e300"], 2, "invalid_request"),
        (["remember", "x", "--importance", "1.5"], 2, "invalid_request"),
        (["remember", "x", "--importance", str(2**40)], 2, "invalid_field"),
        (["remember", "x", "--kind", "rumour"], 2, "invalid_request"),
        (["remember", "x", "--meta", "{"], 2, "invalid_json"),
        (["remember", "x", "--meta", "[" * 100_000], 2, "invalid_json"),
        (["remember", "x", "--meta", "[1]"], 2, "invalid_field"),
        (["remember", "x", "--meta", '{"a": NaN}'], 2, "invalid_field"),
        (["remember", "x" * 1_000_001], 2, "invalid_field"),
        (["remember", "nul \x00"], 2, "invalid_request"),
        (["remember", "x", "--user", "two words"], 2, "invalid_field"),
        (["remember", "x", "--user", ""], 2, "invalid_field"),
        (["remember", "x", "--tenant", "UPPER"], 2, "invalid_field"),
        (["list", "--limit", "0"], 2, "invalid_field"),
        (["list", "--cursor", "bogus"], 2, "invalid_cursor"),
        (["list", "--order", "importance"], 2, "invalid_field"),
        (["list", "--all-users", "--user", "ada"], 2, "invalid_request"),
        (["list", "--data", ""], 2, "invalid_setting"),
        (["list", "--database", "mysql://somewhere"], 2, "invalid_setting"),
        (["list", "--nonsense"], 2, "invalid_request"),
        (["list", "--key", "mst_live_wrong"], 4, "unauthenticated"),
        (["keys", "revoke", NOBODY.replace("mem_", "key_")], 3, "not_found"),
        (["keys", "create", "--role", "god"], 2, "invalid_request"),
        (["import", "/does/not/exist"], 2, "invalid_request"),
        (["export", "/does/not/exist"], 2, "invalid_request"),
        (["db", "status"], 6, "store_unavailable"),
        (["db", "check"], 6, "store_unavailable"),
        (["reset"], 2, "invalid_request"),
        (["nonsense"], 2, "invalid_request"),
    ],
)
def test_failures_have_stable_codes(cli: Cli, arguments: list[str], exit_code: int, code: str) -> None:
    failed = cli(*arguments, "--json")
    assert (failed.code, failed.error["code"]) == (exit_code, code)
    assert set(failed.error) == {"code", "message", "field"}
    plain = cli(*arguments)
    assert (plain.code, plain.out) == (exit_code, "")
    assert plain.err.startswith("error: ")
    assert plain.err.endswith(f"[{code}]\n")


@pytest.mark.parametrize("group", ["keys", "jobs", "policy", "backup", "db", "config"])
def test_group_without_a_command_shows_which_it_has(cli: Cli, group: str) -> None:
    shown = cli(group)
    assert (shown.code, shown.out) == (2, "")
    assert shown.err.startswith(f"Usage: memorist {group} ")
    assert "Commands:" in shown.err
    asked = cli(group, "--json")
    assert (asked.code, asked.error["code"]) == (2, "invalid_request")


def test_memory_without_entries_says_where_the_others_are(cli: Cli) -> None:
    cli("remember", "Deploys happen on Fridays.")
    shown = cli("memory")
    assert (shown.code, shown.out) == (0, "")
    assert "memorist list" in shown.err


def test_a_name_is_taken_once(cli: Cli) -> None:
    cli.ok("remember", "a", "--name", "n")
    assert cli("remember", "b", "--name", "n").code == 5


def test_a_mistyped_command_gets_a_suggestion() -> None:
    result = execute("remeber", "x")
    assert (result.code, result.out) == (2, "")
    assert "memorist remember" in result.err
    assert "options come after a command" in execute("--data", "x", "list").err


def test_arguments_that_are_no_text_are_refused() -> None:
    result = execute("remember", b"broken \xff")
    assert (result.code, result.out) == (2, "")
    assert "UTF-8" in result.err


def test_a_bad_key_is_told_in_words_of_the_command_line(cli: Cli) -> None:
    told = cli("list", "--key", "mst_live_wrong").err
    assert "--key or MEMORIST_API_KEY" in told
    assert "Authorization" not in told


def test_chat_without_a_language_model_is_an_error(cli: Cli) -> None:
    cli.ok("remember", "hello")
    plain = cli("chat", stdin=b"hi\nanybody there?\n")
    assert (plain.code, plain.out) == (7, "")
    assert plain.err.startswith("error: No language model is configured.")
    assert plain.err.count("[llm_not_configured]") == 1
    failed = cli("chat", "--json", stdin=b"hi\nanybody there?\n")
    assert (failed.code, failed.error["code"]) == (7, "llm_not_configured")


def test_stdin_that_is_no_text_is_refused(cli: Cli) -> None:
    assert cli("remember", "-", stdin=b"\xff").code == 2
    assert cli("remember", "-", stdin=b"").code == 2
    too_long = cli("remember", "-", "--json", stdin="€".encode() * (validation.MAX_CONTENT + 1))
    assert (too_long.code, too_long.error["field"]) == (2, "content")


def test_an_unexpected_error_has_no_traceback(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def explode(*_: object, **__: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr("memorist.memories.service.Memories.list", explode)
    result = cli("list")
    assert (result.code, result.out) == (1, "")
    assert "boom" in result.err
    assert "Traceback" not in result.err
    monkeypatch.setenv("MEMORIST_LOG_LEVEL", "debug")
    assert "Traceback" in cli("list").err


def test_a_file_that_is_no_database_is_named(cli: Cli, data: Path) -> None:
    data.mkdir(parents=True)
    (data / "memorist.db").write_bytes(b"this is a diary, not a database " * 100)
    for command in (["list"], ["remember", "x"], ["db", "check"], ["db", "migrate"]):
        assert cli(*command).code == 6, command
    assert cli("doctor").code == 1
    assert (data / "memorist.db").read_bytes().startswith(b"this is a diary")


def test_a_folder_that_cannot_be_made_is_named(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    result = cli("list", "--data", str(tmp_path / "file" / "data"))
    assert result.code == 6
    assert str(tmp_path / "file") in result.err


@pytest.fixture
def locked(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a database that may be read but not written, also where root runs the tests."""
    folder = Path(tempfile.mkdtemp())
    monkeypatch.setenv("MEMORIST_DATA", str(folder))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
    # Whatever is imported late is imported now: it may be out of reach later.
    for command in (["remember", "x"], ["list"], ["doctor"], ["db", "status"]):
        cli.ok(*command)
    (folder / "memorist.db").chmod(0o444)
    folder.chmod(0o555)
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)
    yield folder
    if is_root:
        os.seteuid(0)
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_a_read_only_place_is_named(cli: Cli, locked: Path) -> None:
    written = cli("remember", "y", "--json")
    assert (written.code, written.error["code"]) == (6, "store_read_only")
    made = cli("remember", "y", "--data", str(locked / "new"), "--json")
    assert (made.code, made.error["code"]) == (6, "store_unavailable")
    doctor = cli("doctor", "--json")
    assert doctor.code == 1
    problems = {check["check"] for check in doctor.json["checks"] if check["state"] == "problem"}
    assert problems == {"data folder", "database", "permissions"}  # Others may read it, too.


def test_a_database_of_the_future_is_left_alone(cli: Cli, data: Path) -> None:
    import apsw

    cli.ok("remember", "x")
    connection = apsw.Connection(str(data / "memorist.db"))
    connection.execute("UPDATE schema_migrations SET version = version + 9999")
    connection.close()
    result = cli("list", "--json")
    assert (result.code, result.error["code"]) == (6, "store_outdated")


READING = (
    "list", "show mem_01J9Z3K4M5N6P7Q8R9S0T1V2W3", "events mem_01J9Z3K4M5N6P7Q8R9S0T1V2W3", "section", "recall tea",
    "history mem_01J9Z3K4M5N6P7Q8R9S0T1V2W3", "doubts list", "index status", "jobs list", "keys list", "tenants list",
    "export", "erase list", "erase ledger", "policy show", "watch --once", "memory",
)  # fmt: skip


@pytest.mark.parametrize("command", READING)
def test_reading_makes_no_database_where_a_place_was_named(cli: Cli, tmp_path: Path, command: str) -> None:
    folder = tmp_path / "mistyped"
    result = cli(*command.split(), "--data", str(folder))
    assert (result.code, result.out) == (6, "")
    assert f"There is no database at {folder / 'memorist.db'}. Check --data;" in result.err
    assert not folder.exists()


@pytest.mark.parametrize(("variable", "file"), [("MEMORIST_DATA", "x/memorist.db"), ("MEMORIST_DATABASE", "x")])
def test_place_that_the_environment_names_is_checked_too(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, file: str
) -> None:
    monkeypatch.setenv(variable, str(tmp_path / "x"))
    result = cli("list", "--json")
    assert (result.code, result.error["code"]) == (6, "store_unavailable")
    assert f"There is no database at {tmp_path / file}. Check {variable};" in result.error["message"]
    assert not (tmp_path / "x").exists()


def test_writing_makes_the_database_that_is_then_read(cli: Cli, tmp_path: Path) -> None:
    data = ("--data", str(tmp_path / "new"))
    cli.ok("remember", "tea", *data)
    assert cli.texts(*data) == {"tea"}
    assert cli("list").code == 0  # The usual place is nobody's typing mistake.


def test_broken_settings_are_named(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "config.toml"
    monkeypatch.setenv("MEMORIST_CONFIG", str(file))
    for content in ("port = ", "nonsense = 1", "port = 99999", "data = 3", 'user = "a\\u0000b"'):
        file.write_text(content)
        result = cli("list", "--json")
        assert (result.code, result.error["code"]) == (2, "invalid_setting"), content
    doctor = cli("doctor", "--json")
    assert doctor.code == 1
    assert doctor.json["checks"][-1]["state"] == "problem"


def test_a_closed_pipe_ends_quietly(cli: Cli) -> None:
    cli.ok("remember", "x")
    process = subprocess.Popen([EXECUTABLE, "export"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    complaint = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=30) == 141
    assert b"Error" not in complaint
    assert b"Traceback" not in complaint


def test_a_full_disk_under_stdout_is_an_error(cli: Cli) -> None:
    cli.ok("remember", "x")
    with open("/dev/full", "wb") as full:
        done = subprocess.run([EXECUTABLE, "list"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 1
    assert os.strerror(errno.ENOSPC) in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
def test_a_closed_stream_is_no_crash(cli: Cli, closed: str) -> None:
    cli.ok("remember", "x")
    for command in ("list", "list --limit 0", "reset"):
        line = f"{EXECUTABLE} {command} {closed}"
        done = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=60)
        assert done.returncode in (0, 2), line
        assert "Traceback" not in done.stderr


def test_ctrl_c_ends_quietly_with_130() -> None:
    process = subprocess.Popen(
        [EXECUTABLE, "import", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stderr is not None
    process.stdin.write(b'{"format": "%s", "version": %d}\n' % (FORMAT.encode(), VERSION))
    process.stdin.flush()
    # The note about the new tenant says that it has read the first line, and is now waiting for more.
    assert process.stderr.readline() == b"The tenant local is new.\n"
    # A signal that comes just before it begins to wait does not end the waiting: whoever presses Ctrl-C presses again.
    for _ in range(20):
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=1)
            break
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, b"", b"")


def test_data_is_utf8_whatever_the_locale(cli: Cli) -> None:
    cli.ok("remember", "grün ✓ 🚀")
    shown = execute("list", environment={"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert shown.code == 0
    assert "grün ✓ 🚀" in shown.out


def on_a_terminal(*arguments: str, typed: bytes) -> tuple[int, bytes, bytes]:
    """Run the executable with a terminal as stdin. Returns its exit code, stdout and stderr."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [EXECUTABLE, *arguments], stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, close_fds=True
    )
    os.close(theirs)
    os.write(ours, typed)
    out, err = process.communicate(timeout=30)
    os.close(ours)
    return process.returncode, out, err


def test_reset_asks_on_a_terminal(cli: Cli) -> None:
    cli.ok("remember", "x", "--user", "ada")
    code, out, err = on_a_terminal("reset", "--user", "ada", typed=b"yes\n")
    assert (code, out) == (2, b"")
    assert b"Nothing was erased" in err
    assert cli.texts("--user", "ada") == {"x"}
    code, out, err = on_a_terminal("reset", "--user", "ada", typed=b"ada\n")
    assert (code, out) == (0, b"1 memory erased.\n")
    assert b"'ada'" in err
    assert cli.texts("--all-users") == set()
