"""`memorist dashboard`: a link that signs in once, at the address of a server that runs."""

import json
import os
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from memorist.bootstrap import open_core
from memorist.errors import Unauthenticated
from memorist.platform.values import Role
from memorist.running_servers import noted, running
from memorist.settings import Settings
from tests.cli.conftest import Cli
from tests.http.test_server import running as serving

ADDRESS = "http://127.0.0.1:8377"


@pytest.fixture
def data(data: Path) -> Path:
    """Below a folder that is there, for the log of a server."""
    data.parent.mkdir(parents=True, exist_ok=True)
    return data


@pytest.fixture
def server(data: Path) -> Iterator[None]:
    """As if a server ran at the usual address."""
    with noted(Settings(data=data), ADDRESS):
        yield


def enter(data: Path, link: str) -> tuple[str, str | None, Role]:
    """Use a link up: the tenant, the user and the role that it signs in as."""
    core = open_core(Settings(data=data, embedder="off", reranker="off"))
    try:
        principal, _ = core.sign_ins.find(core.sign_ins.enter(link.split("link=")[1].strip()))
        return principal.tenant, principal.user, principal.role
    finally:
        core.close()


@pytest.mark.usefixtures("server")
def test_link_signs_the_operator_in_once(cli: Cli, data: Path) -> None:
    result = cli.ok("dashboard")
    assert result.out.startswith(f"{ADDRESS}/dashboard/enter?link=")
    assert result.out.count("\n") == 1
    assert "15 minutes" in result.err
    assert enter(data, result.out) == ("local", "local", Role.ADMIN)
    with pytest.raises(Unauthenticated):
        enter(data, result.out)


@pytest.mark.usefixtures("server")
def test_link_for_programs_says_how_long_it_lives(cli: Cli, data: Path) -> None:
    printed = cli.json("dashboard")
    assert set(printed) == {"url", "expires_in_s"}
    assert printed["expires_in_s"] == 900
    assert enter(data, printed["url"])[2] is Role.ADMIN


@pytest.mark.usefixtures("server")
def test_second_link_makes_no_second_key(cli: Cli) -> None:
    for _ in range(3):
        cli.ok("dashboard")
    (key,) = cli.json("keys", "list")["items"]
    assert (key["role"], key["user"], key["label"]) == ("admin", "local", "dashboard")


# Which address


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize(
    ("options", "address"),
    [
        (["--url", "https://memory.example.com/"], "https://memory.example.com"),
        (["--url", "http://[::1]:9000"], "http://[::1]:9000"),
    ],
)
def test_address_is_the_one_that_was_given(cli: Cli, options: list[str], address: str) -> None:
    assert cli.json("dashboard", *options)["url"].startswith(f"{address}/dashboard/enter?link=")


def test_address_is_that_of_the_server_that_runs_wherever_it_listens(cli: Cli, data: Path) -> None:
    with serving(data) as (_, address):
        link = cli.ok("dashboard").out.strip()
        assert link.startswith(f"{address}/dashboard/enter?link=")
        assert httpx2.get(link, follow_redirects=False).headers["location"] == "/dashboard"
        (note,) = (data / "servers").iterdir()
        assert stat.S_IMODE(note.stat().st_mode) == 0o600
        assert set(json.loads(note.read_text())) == {"address", "answers", "database", "encrypts"}
    # It was ended by a signal, and took its note along.
    assert list((data / "servers").iterdir()) == []
    assert cli("dashboard").code == 6


def test_note_of_a_server_that_crashed_is_not_followed(cli: Cli, data: Path) -> None:
    with serving(data) as (process, _):
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert len(list((data / "servers").iterdir())) == 1
    result = cli("dashboard")
    assert (result.code, result.out) == (6, "")
    assert "memorist serve" in result.err
    assert "--url" in result.err
    assert cli.json("keys", "list")["items"][0]["label"] != "dashboard", "no link, and so no key for one"
    assert list((data / "servers").iterdir()) == []
    # With an address it is the caller's word.
    assert cli.ok("dashboard", "--url", "http://127.0.0.1:9").out.startswith("http://127.0.0.1:9/dashboard/enter?link=")


def test_of_two_servers_the_one_of_the_settings_comes_first_else_the_last_started(
    cli: Cli, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(data) as (_, first), serving(data) as (process, second):
        result = cli.ok("dashboard")
        assert result.out.startswith(f"{second}/dashboard/enter?link=")
        assert f"Other servers of these memories run here too: {first}." in result.err
        monkeypatch.setenv("MEMORIST_PORT", first.rpartition(":")[2])
        assert cli.ok("dashboard").out.startswith(f"{first}/dashboard/enter?link=")
        monkeypatch.delenv("MEMORIST_PORT")
        assert cli.ok("dashboard", "--url", second).err.count("--url") == 0
        process.terminate()
        process.wait()
        result = cli.ok("dashboard")
        assert result.out.startswith(f"{first}/dashboard/enter?link=")
        assert "Other servers" not in result.err


def test_server_of_another_database_is_none_of_these_memories(cli: Cli, data: Path, tmp_path: Path) -> None:
    other = str(tmp_path / "other.db")
    with noted(Settings(data=data, database=other), ADDRESS):
        assert cli("dashboard").code == 6
        assert "There is no database at" in cli("dashboard", "--database", other).err
        cli.ok("db", "migrate", "--database", other)
        assert cli.ok("dashboard", "--database", other).out.startswith(ADDRESS)
    database = "postgresql://ada:secret@db.example.com/memories"
    with noted(Settings(data=data, database=database), ADDRESS):
        (note,) = (data / "servers").iterdir()
        assert "secret" not in note.read_text()
        assert running(Settings(data=data, database=database)) == [ADDRESS]


@pytest.mark.parametrize(
    ("listens", "reached"),
    [
        ("http://0.0.0.0:9000", "http://127.0.0.1:9000"),
        ("http://[::]:9000", "http://[::1]:9000"),
        ("http://[::1]:9000", "http://[::1]:9000"),
    ],
)
def test_server_that_listens_everywhere_is_reached_here(data: Path, listens: str, reached: str) -> None:
    with noted(Settings(data=data), listens):
        assert running(Settings(data=data)) == [reached]


def test_damaged_note_is_passed_over(data: Path) -> None:
    with noted(Settings(data=data), ADDRESS):
        (note,) = (data / "servers").iterdir()
        for text in ("", "[]", "{", "{}", "\x00"):
            note.write_text(text)
            assert running(Settings(data=data)) == []


def test_folder_that_cannot_be_written_keeps_nobody_from_serving(tmp_path: Path) -> None:
    (tmp_path / "servers").write_text("a file, not a folder")
    with noted(Settings(data=tmp_path), ADDRESS):
        assert running(Settings(data=tmp_path)) == []


# Whom it is for


@pytest.mark.usefixtures("server")
def test_link_is_for_the_user_and_tenant_that_were_named(cli: Cli, data: Path) -> None:
    link = cli.json("dashboard", "--tenant", "acme", "--user", "ada")["url"]
    assert enter(data, link) == ("acme", "ada", Role.ADMIN)


@pytest.mark.usefixtures("server")
def test_only_an_admin_key_makes_links(cli: Cli, data: Path) -> None:
    for role in ("user", "reader", "service"):
        assert cli("dashboard", "--key", cli.key(role, "--user", "ada")).code == 4, role
    link = cli.json("dashboard", "--key", cli.key("admin", "--user", "ada"))["url"]
    assert enter(data, link) == ("local", "ada", Role.ADMIN)
