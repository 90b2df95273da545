"""Which server the command line speaks to, with which key, and what it says where that cannot be."""

import json
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from memorist.errors import InvalidSetting
from memorist.ids import new_id
from memorist.known_servers import KnownServer, KnownServers
from memorist.platform.values import Role
from memorist.running_servers import noted
from memorist.settings import Settings
from memorist.settings_sources import load_settings
from memorist.surfaces.cli import connect
from memorist.surfaces.http.server import ensure_local_key
from tests.cli.conftest import Cli
from tests.http.conftest import Served, serving

NOWHERE = "http://127.0.0.1:9"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    settings = Settings(
        data=tmp_path_factory.mktemp("served"), port=0, embedder="off", reranker="off", failed_key_delay_s=0
    )
    with serving(settings) as server:
        yield server


@pytest.fixture
def key(served: Served) -> str:
    return served.key("acme", Role.USER, "ada")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config" / "memorist" / "connections.json"


# Connections


def test_connection_is_kept_for_its_owner_and_used_by_name(cli: Cli, served: Served, key: str, file: Path) -> None:
    made = cli.ok("connect", served.url + "/", "--name", "work", "--key", key)
    assert made.out == "work\n"
    assert "the user 'ada' in the tenant 'acme'" in made.err
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    cli.ok("remember", "Through the connection.", "--connection", "work")
    assert cli.texts("--connection", "work") == cli.texts("--url", served.url, "--key", key)
    assert "Through the connection." in cli.texts("--connection", "work")
    assert cli.texts() == set(), "nothing is used that is not named"
    listed = cli.json("connect", "--list")["items"]
    assert listed == [{"name": "work", "url": served.url, "key": f"…{key[-4:]}", "default": False}]
    cli.ok("connect", "--remove", "work")
    assert key not in file.read_text()
    assert cli("connect", "--remove", "work").code == 3
    assert cli("list", "--connection", "work").code == 2
    assert "There is no connection yet" in cli.ok("connect", "--list").err


def test_connection_of_the_environment_and_the_default_one_come_after_a_store_that_is_named(
    cli: Cli, served: Served, key: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cli.ok("connect", served.url, "--key", key, "--default")
    [kept] = cli.json("connect", "--list")["items"]
    assert (kept["name"], kept["default"]) == ("127.0.0.1", True)
    shown = cli.json("config", "show")["settings"]
    assert shown["url"] == {"value": served.url, "origin": "connection 127.0.0.1"}
    assert shown["api_key"]["origin"] == "connection 127.0.0.1"
    assert key not in json.dumps(shown)
    here = ["--data", str(tmp_path / "here")]
    cli.ok("remember", "Here.", *here)
    assert cli.texts(*here) == {"Here."}
    monkeypatch.setenv("MEMORIST_DATA", str(tmp_path / "here"))
    assert cli.texts() == {"Here."}
    monkeypatch.setenv("MEMORIST_CONNECTION", "127.0.0.1")
    assert "Here." not in cli.texts()
    assert cli.texts(*here) == {"Here."}


def test_dashboard_of_a_connection_is_where_its_database_is(cli: Cli, served: Served, key: str, data: Path) -> None:
    cli.ok("connect", served.url, "--name", "work", "--key", key, "--default")
    refused = cli("dashboard")
    assert (refused.code, "connection work" in refused.err, "--data" in refused.err) == (2, True, True)
    assert not (data / "memorist.db").exists()


def test_key_of_a_connection_goes_to_no_other_server(cli: Cli, served: Served, key: str) -> None:
    cli.ok("connect", served.url, "--name", "work", "--key", key, "--default")
    other = cli("list", "--url", NOWHERE)
    assert (other.code, "wants an API key" in other.err) == (4, True)
    assert load_settings({"url": NOWHERE}).settings.api_key == ""


def test_two_places_at_once_are_refused(
    cli: Cli, served: Served, key: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cli.ok("connect", served.url, "--name", "work", "--key", key)
    for options in (
        ["--url", served.url, "--connection", "work"],
        ["--url", served.url, "--data", str(tmp_path)],
        ["--connection", "work", "--database", str(tmp_path / "a.db")],
    ):
        refused = cli("list", *options)
        assert (refused.code, options[0] in refused.err, options[2] in refused.err) == (2, True, True), options
    monkeypatch.setenv("MEMORIST_URL", served.url)
    monkeypatch.setenv("MEMORIST_API_KEY", key)
    cli.ok("list", "--connection", "work")
    monkeypatch.setenv("MEMORIST_CONNECTION", "work")
    refused = cli("list")
    assert (refused.code, "MEMORIST_URL" in refused.err, "MEMORIST_CONNECTION" in refused.err) == (2, True, True)


def test_connections_that_others_may_read_or_that_are_none_are_refused(
    cli: Cli, served: Served, key: str, file: Path
) -> None:
    cli.ok("connect", served.url, "--name", "work", "--key", key)
    file.chmod(0o644)
    refused = cli("list", "--connection", "work")
    assert (refused.code, "chmod 600" in refused.err) == (2, True)
    file.chmod(0o600)
    for text in ("", "[]", '{"servers": {"a": {}}}'):
        file.write_text(text)
        assert cli("list", "--connection", "work").code == 2, text


def test_key_that_was_typed_is_kept(cli: Cli, served: Served, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "_typed_key", lambda _: key)
    assert cli.json("connect", served.url, "--name", "typed")["user"] == "ada"
    cli.ok("list", "--connection", "typed")


def test_connect_keeps_nothing_that_does_not_work(cli: Cli, served: Served, key: str, file: Path) -> None:
    wrong = key[:-4] + ("0000" if key[-4:] != "0000" else "1111")
    for options, code in (
        ([served.url, "--key", wrong], 4),
        ([NOWHERE, "--key", key], 6),
        ([served.url], 2),
        (["127.0.0.1:8377", "--key", key], 2),
        ([served.url.replace("//", "//me:hunter2@"), "--key", key], 2),
        ([], 2),
        ([served.url, "--list"], 2),
    ):
        refused = cli("connect", *options)
        assert refused.code == code, (options, refused.err)
        assert not any(secret in refused.err for secret in (key, wrong, "hunter2"))
    assert not file.exists()


def test_second_server_of_a_host_takes_no_name_that_it_was_not_given(
    cli: Cli, served: Served, key: str, tmp_path: Path
) -> None:
    host = cli.ok("connect", served.url, "--key", key).out.strip()
    assert cli.ok("connect", served.url, "--key", key).out.strip() == host, "the same again"
    with serving(Settings(data=tmp_path / "second", port=0, embedder="off", reranker="off")) as second:
        other = second.key("acme", Role.USER, "bob")
        refused = cli("connect", second.url, "--key", other)
        assert (refused.code, served.url in refused.err, "--name" in refused.err) == (5, True, True)
        assert [one["url"] for one in cli.json("connect", "--list")["items"]] == [served.url]
        cli.ok("connect", second.url, "--key", other, "--name", "second")
        cli.ok("connect", second.url, "--key", other, "--name", host)
        assert {one["url"] for one in cli.json("connect", "--list")["items"]} == {second.url}


def test_connections_that_cannot_be_put_in_place_leave_nothing_behind(file: Path) -> None:
    file.mkdir(parents=True)
    with pytest.raises(InvalidSetting):
        KnownServers(file, {"work": KnownServer(NOWHERE, "not-a-key")}).save()
    assert list(file.parent.iterdir()) == [file]


# What goes wrong


def test_refused_connection_names_the_address_and_says_what_to_do(cli: Cli) -> None:
    refused = cli("list", "--url", NOWHERE, "--key", "mst_live_secret")
    assert refused.code == 6
    assert NOWHERE in refused.err
    assert "that it runs" in refused.err
    assert "mst_live_secret" not in refused.err


def test_refused_key_is_told_by_its_end_and_where_it_came_from(
    cli: Cli, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORIST_URL", served.url)
    assert cli("list").code == 4
    monkeypatch.setenv("MEMORIST_API_KEY", "mst_live_wrongabcd")
    refused = cli("list")
    assert refused.code == 4
    assert f"{served.url} does not take the key that ends in abcd, from MEMORIST_API_KEY:" in refused.err
    assert "mst_live_wrongabcd" not in refused.err
    assert "from --key" in cli("list", "--key", "mst_live_otherwxyz").err


def test_key_as_it_comes_from_a_file_is_taken_and_one_that_cannot_be_sent_is_not_quoted(
    cli: Cli, served: Served, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORIST_URL", served.url)
    monkeypatch.setenv("MEMORIST_API_KEY", f"{key}\n")
    assert cli("list").code == 0
    monkeypatch.setenv("MEMORIST_API_KEY", "mst_live_\nsecret")
    for command in (["list"], ["top", "--once"]):
        refused = cli(*command)
        assert refused.code == 4
        assert "one word of plain characters" in refused.err
        assert "cret" not in refused.err


def test_what_is_done_to_a_database_is_not_asked_of_a_server(
    cli: Cli, served: Served, key: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    commands = [
        ["db", "status"], ["backup", "create", "x"], ["keys", "list"], ["tenants", "list"], ["index", "status"],
        ["erase", "resume"], ["jobs", "run"],
    ]  # fmt: skip
    for command in [*commands, ["serve"], ["doctor"]]:
        refused = cli(*command, "--url", served.url)
        assert (refused.code, "done to a database" in refused.err) == (2, True), command
    monkeypatch.setenv("MEMORIST_URL", served.url)
    for command in commands:
        refused = cli(*command)
        assert (refused.code, served.url in refused.err, "MEMORIST_URL" in refused.err) == (2, True, True), command
    cli.ok("tenants", "create", "x", "--data", str(tmp_path / "here"))
    monkeypatch.setenv("MEMORIST_API_KEY", key)
    (tmp_path / "talk").write_text("User: I decided to use PostgreSQL.")
    for command in (
        ["extract", str(tmp_path / "talk"), "--dry-run"],
        ["edit", "mem_01J9Z3K4M5N6P7Q8R9S0T1V2W3", "--anew", "--content", "x"],
        ["import", str(tmp_path / "talk"), "--from", "mem0"],
    ):
        refused = cli(*command)
        assert refused.code == 2, command
    assert "bound to no user" in cli("list", "--all-users").err


# The server that runs here


@pytest.fixture
def running(data: Path) -> Iterator[Served]:
    """A server of the commands' own database, known to run."""
    settings = Settings(data=data, port=0, embedder="off", reranker="off")
    with serving(settings) as server:
        ensure_local_key(server.core, settings)
        with noted(settings, server.url):
            yield server


def door(cli: Cli, *options: str, text: str = "Something") -> str:
    """Which door a memory came through that is remembered now."""
    memory_id = cli.json("remember", "-", *options, stdin=f"{text} {new_id('note')}.".encode())["id"]
    where = options if "--tenant" in options else ()
    [event] = cli.json("events", memory_id, "--all-users", *where)["items"]
    source: str = event["source"]
    return source


@pytest.mark.usefixtures("running")
def test_server_of_the_store_is_found_and_used(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert door(cli) == "records"
    assert cli.json("recall", "Something")["total"] == 1
    assert cli.json("list")["items"][0]["user"] == "local"
    monkeypatch.setenv("MEMORIST_AGENT", "coder")
    assert door(cli) == "records"
    assert cli.json("list")["items"][0]["agent"] == "coder"
    assert door(cli, "--key", cli.key("user", "--user", "ada")) == "records"


@pytest.mark.usefixtures("running")
def test_database_is_opened_where_the_server_would_answer_otherwise(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert door(cli, "--user", "ada") == "cli", "the local key would act for somebody else"
    assert door(cli, "--tenant", "acme") == "cli"
    assert door(cli, text="A long story. " * 20_000) == "cli", "a server takes no body of that size"
    monkeypatch.setenv("MEMORIST_RECALL_MIN_SCORE", "0.5")
    assert door(cli) == "cli"


def test_database_is_opened_where_no_server_answers(cli: Cli, data: Path, running: Served) -> None:
    assert door(cli) == "records"
    (data / "local.key").rename(data / "elsewhere")
    assert door(cli) == "cli"
    (data / "elsewhere").rename(data / "local.key")
    with noted(Settings(data=data, embedder="off", reranker="off"), NOWHERE):
        assert door(cli) == "records", "the next one is asked"
    [note] = (data / "servers").glob("*.json")
    note.rename(data / "note")
    with noted(Settings(data=data, embedder="off", reranker="off"), NOWHERE):
        assert door(cli) == "cli"
    (data / "note").rename(note)
    assert running.core.identity.has_keys()
