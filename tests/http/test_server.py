"""The server as a process: its first start, its refusals, its signals, and several of them on one database."""

import asyncio
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from memorist import Memorist, Role, __version__
from memorist.addresses import is_loopback
from memorist.bootstrap import open_core
from memorist.errors import InvalidSetting
from memorist.platform.identity import new_secret
from memorist.platform.values import Principal
from memorist.settings import Settings
from memorist.surfaces.http.server import _link, ensure_local_key, listen
from tests.http.conftest import new_memory
from tests.support.scripted_http import scripted_server
from tests.support.stores import unwritable
from tests.support.waiting import SOON, eventually

pytestmark = pytest.mark.usefixtures("without_models")

MEMORIST = [sys.executable, "-m", "memorist"]


@contextmanager
def running(data: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server process, ready, and its address."""
    command = [*MEMORIST, "serve", "--port", "0", "--data", str(data), *arguments]
    log = (data.parent / f"{data.name}.log").open("a")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        assert process.stdout is not None
        first_line = process.stdout.readline()
        found = re.search(r"https?://\S+", first_line)
        assert found, f"the server said {first_line!r}"
        address = found[0]
        wait_until_healthy(address)
        yield process, address
    finally:
        process.terminate()
        process.wait(timeout=40)
        assert process.stdout is not None
        process.stdout.close()
        log.close()


def wait_until_healthy(address: str) -> None:
    transport = httpx2.HTTPTransport(retries=50, verify=False)
    with httpx2.Client(transport=transport) as client:
        assert client.get(f"{address}/healthz", timeout=20).status_code == 200


def local_key(data: Path) -> dict[str, str]:
    return {"Authorization": f"Bearer {(data / 'local.key').read_text().strip()}"}


def test_first_start_makes_a_private_key_that_later_starts_keep(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with running(data) as (process, address):
        key_file = data / "local.key"
        assert stat.S_IMODE(key_file.stat().st_mode) == 0o600
        assert stat.S_IMODE(data.stat().st_mode) == 0o700
        created = httpx2.post(f"{address}/v1/memories", json=new_memory(), headers=local_key(data))
        assert (created.status_code, created.json()["user_id"]) == (201, "local")
        assert process.poll() is None
    before = key_file.read_text()
    with running(data) as (_, address):
        assert key_file.read_text() == before
        (row,) = httpx2.get(f"{address}/v1/memories", headers=local_key(data)).json()["data"]
        assert row["body"] == created.json()["body"]


def test_greeting_for_programs_is_one_json_object(tmp_path: Path) -> None:
    data = tmp_path / "data"
    command = [*MEMORIST, "serve", "--port", "0", "--data", str(data), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        greeting = json.loads(process.stdout.readline())
        # Nothing was waited for: who has read the greeting can connect.
        assert httpx2.get(f"{greeting['url']}/healthz", timeout=20).status_code == 200
        assert greeting["key_file"] == str(data / "local.key")
        # The link signs in, once.
        assert greeting["dashboard"].startswith(f"{greeting['url']}/dashboard/enter?link=")
        answers = [httpx2.get(greeting["dashboard"]) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [303, 401]
        process.terminate()


def test_key_file_of_another_database_is_not_offered(tmp_path: Path, own_postgres_url: str) -> None:
    data = tmp_path / "data"
    with running(data):
        pass
    with Memorist.open(own_postgres_url) as other:
        other._core.identity.create_key(other.admin().principal, Role.ADMIN)
    core = open_core(Settings(data=data, database=own_postgres_url))
    assert ensure_local_key(core, Settings(data=data)) is None
    core.close()


def test_first_key_is_not_made_where_its_secret_cannot_be_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    settings = Settings(data=tmp_path / "file", database=str(tmp_path / "memorist.db"))
    core = open_core(settings)
    with pytest.raises(InvalidSetting, match="first key"):
        ensure_local_key(core, settings)
    assert not core.identity.has_keys()
    core.close()


def test_first_key_of_a_file_is_an_admins_for_all_that_start_with_it(tmp_path: Path, new_database_url: str) -> None:
    file = tmp_path / "first-key"
    file.write_text(f"{new_secret()}\n")
    settings = Settings(data=tmp_path / "data", database=new_database_url, host="0.0.0.0", first_key=str(file))
    core = open_core(settings)
    with ThreadPoolExecutor(4) as starting:
        assert list(starting.map(lambda _: ensure_local_key(core, settings), range(4))) == [file] * 4
    assert core.identity.authenticate(file.read_text().strip()).role is Role.ADMIN
    assert len(core.identity.list_keys(Principal("local", Role.ADMIN))) == 1
    core.close()


def test_several_that_start_first_at_once_make_one_key(tmp_path: Path, new_database_url: str) -> None:
    settings = Settings(data=tmp_path / "data", database=new_database_url)
    core = open_core(settings)
    together = threading.Barrier(8)

    def start(_: int) -> Path | None:
        together.wait(SOON)
        return ensure_local_key(core, settings)

    with ThreadPoolExecutor(8) as starting:
        assert list(starting.map(start, range(8))) == [tmp_path / "data" / "local.key"] * 8
    assert core.identity.authenticate((tmp_path / "data" / "local.key").read_text().strip()).role is Role.ADMIN
    assert len(core.identity.list_keys(Principal("local", Role.ADMIN))) == 1
    core.close()


def test_first_key_is_made_where_its_file_is_to_be(tmp_path: Path) -> None:
    file = tmp_path / "data" / "local.key"
    environment = os.environ | {"MEMORIST_FIRST_KEY": str(file)}
    command = [*MEMORIST, "serve", "--host", "0.0.0.0", "--port", "0", "--data", str(tmp_path / "data"), "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        greeting = json.loads(process.stdout.readline())
        assert greeting["key_file"] == str(file)
        # Others may read what a server writes that others can reach.
        assert "link=" not in greeting["dashboard"]
        process.terminate()


@pytest.mark.parametrize("file", ["first-key", "/dev/zero"])
def test_first_key_that_is_none_is_refused(tmp_path: Path, file: str) -> None:
    (tmp_path / "first-key").write_text("CHANGE-ME")
    settings = Settings(data=tmp_path / "data", first_key=str(tmp_path / file))
    core = open_core(settings)
    with pytest.raises(InvalidSetting, match="no whole API key"):
        ensure_local_key(core, settings)
    assert not core.identity.has_keys()
    core.close()


def test_other_address_without_a_key_refuses_to_start(tmp_path: Path) -> None:
    command = [*MEMORIST, "serve", "--host", "0.0.0.0", "--port", "0", "--data", str(tmp_path / "data")]
    refused = subprocess.run(command, capture_output=True, text=True, timeout=30)

    assert refused.returncode == 2
    assert "memorist keys create" in refused.stderr
    assert not (tmp_path / "data" / "local.key").exists()


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("[::1]", True), ("localhost", True),
     ("0.0.0.0", False), ("::", False), ("192.0.2.1", False), ("example.org", False), ("", False)],
)  # fmt: skip
def test_loopback_is_told_from_the_rest(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


def refused(data: Path, port: str) -> str:
    """What a server says that cannot have its port."""
    command = [*MEMORIST, "serve", "--port", port, "--data", str(data)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    return done.stderr


def test_taken_port_says_who_has_it_and_what_to_do(tmp_path: Path) -> None:
    with running(tmp_path / "one") as (_, address):
        port = address.rsplit(":", 1)[1]
        other = refused(tmp_path / "two", port)
        same = refused(tmp_path / "one", port)
    assert f"Memorist {__version__} serves other memories there. Choose another port with --port" in other
    assert f"Memorist {__version__} already serves these memories there. Use it at {address}" in same
    with scripted_server(lambda reply, _: reply.json({})) as other:
        assert "not a Memorist. Choose another with --port" in refused(tmp_path / "two", str(urlsplit(other.url).port))


def test_server_that_does_not_answer_yet_may_be_a_memorist(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "one", port=0)
    with listen(settings) as listener:
        said = refused(tmp_path / "two", str(listener.getsockname()[1]))
    assert "or a Memorist that is still starting. Choose another with --port" in said


@pytest.mark.parametrize("host", ["nobody.invalid", "203.0.113.5"])
def test_address_of_nobody_here_is_what_has_to_be_another(tmp_path: Path, host: str) -> None:
    with pytest.raises(InvalidSetting, match="Choose another with --host") as caught:
        listen(Settings(data=tmp_path, host=host, port=0))
    assert caught.value.field == "host"


def test_answer_in_parts_is_not_held_back(tmp_path: Path) -> None:
    """Otherwise the second part waits until the first was acknowledged, which a client puts off for 40 ms."""

    async def accepted() -> int:
        told: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        def connected(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            sending = writer.get_extra_info("socket")
            told.set_result(sending.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        listener = listen(Settings(data=tmp_path, port=0))
        async with await asyncio.start_server(connected, sock=listener):
            with socket.create_connection(listener.getsockname()):
                return await told

    assert asyncio.run(accepted()) != 0


def test_log_is_one_json_object_a_line_without_memories_or_keys(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with running(data) as (_, address):
        headers = local_key(data)
        httpx2.post(f"{address}/v1/memories", json=new_memory(body="PRIVATE"), headers=headers)
        httpx2.get(f"{address}/v1/memories?profile_id=PRIVATE&cursor=bad", headers=headers)
    lines = [json.loads(line) for line in (tmp_path / "data.log").read_text().splitlines()]
    requests = [line for line in lines if line["message"] == "request"]
    assert [(line["method"], line["path"], line["status"]) for line in requests] == [
        ("POST", "/v1/memories", 201),
        ("GET", "/v1/memories", 400),
    ]
    assert all({"time", "level", "logger", "request_id", "ms"} <= set(line) for line in requests)
    text = (tmp_path / "data.log").read_text()
    assert "PRIVATE" not in text
    assert "mst_live_" not in text


def test_termination_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    data = tmp_path / "data"
    acknowledged: list[str] = []
    refusals: list[str] = []

    def write(worker: int, address: str, headers: dict[str, str]) -> None:
        with httpx2.Client(base_url=address, headers=headers, timeout=30) as client:
            for number in range(100_000):
                try:
                    answer = client.post("/v1/memories", json=new_memory(f"w{worker}n{number}"))
                except httpx2.TransportError:
                    return
                (acknowledged if answer.status_code == 201 else refusals).append(answer.json().get("id", answer.text))

    with running(data) as (process, address):
        threads = [threading.Thread(target=write, args=(number, address, local_key(data))) for number in range(8)]
        for thread in threads:
            thread.start()
        while len(acknowledged) < 200:
            assert any(thread.is_alive() for thread in threads)
        process.send_signal(signal.SIGTERM)
        for thread in threads:
            thread.join()
        # The signal is passed on once everything is finished, as a shell expects.
        assert process.wait(timeout=40) in (0, -signal.SIGTERM)
    assert refusals == []
    with Memorist.open(data) as m:
        stored = {json.loads(line)["memory"]["id"] for line in list(m.admin().export())[1:-1]}
    assert set(acknowledged) <= stored


def test_revocation_reaches_every_process_at_once(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with running(data) as (_, first), running(data) as (_, second):
        made = subprocess.run(
            [*MEMORIST, "keys", "create", "--role", "user", "--user", "ada", "--data", str(data), "--json"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        key = json.loads(made.stdout)
        headers = {"Authorization": f"Bearer {key['key']}"}
        assert httpx2.post(f"{first}/v1/memories", json=new_memory(), headers=headers).status_code == 201
        assert len(httpx2.get(f"{second}/v1/memories", headers=headers).json()["data"]) == 1

        subprocess.run([*MEMORIST, "keys", "revoke", key["id"], "--data", str(data), "--json"], check=True)
        for address in (first, second):
            assert httpx2.get(f"{address}/v1/memories", headers=headers).status_code == 401


def test_server_works_on_postgres(tmp_path: Path, new_postgres_url: str) -> None:
    data = tmp_path / "data"
    with running(data, "--database", new_postgres_url) as (_, address):
        headers = local_key(data)
        assert httpx2.post(f"{address}/v1/memories", json=new_memory(), headers=headers).status_code == 201
        assert httpx2.get(f"{address}/readyz").json() == {"status": "ready"}
    assert not (data / "memorist.db").exists()


def test_greeting_has_no_link_where_none_can_be_written(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, embedder="off", reranker="off")
    core = open_core(settings, background=False)
    key_file = ensure_local_key(core, settings)
    assert _link(core, key_file).startswith("/enter?link=")
    with unwritable(core.store, settings.tenant):
        assert _link(core, key_file) == ""
    core.close()


def test_missing_database_stops_the_start_with_a_clear_error(tmp_path: Path) -> None:
    database = "postgresql://nobody@127.0.0.1:9/none"
    command = [*MEMORIST, "serve", "--port", "0", "--data", str(tmp_path), "--database", database]
    refused = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert refused.returncode == 6
    assert "store_unavailable" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_postgresql_without_its_driver_names_the_extra(tmp_path: Path) -> None:
    script = "import sys; sys.modules['psycopg'] = None\nfrom memorist.__main__ import main\nsys.exit(main())"
    database = ["--data", str(tmp_path), "--database", "postgresql://nobody@127.0.0.1:9/none"]
    for command, status in (["serve", "--port", "0"], 2), (["list"], 2), (["doctor"], 1):
        done = subprocess.run([sys.executable, "-c", script, *command, *database], capture_output=True, text=True)
        assert done.returncode == status
        assert 'pip install "memorist[postgres]"' in done.stdout + done.stderr
        assert "Traceback" not in done.stderr


def test_roles_are_those_of_the_documentation() -> None:
    assert [role.value for role in Role] == ["admin", "service", "user", "reader"]


def test_backups_that_fail_are_told_and_keep_nobody_from_being_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "full").write_text("in the way")
    monkeypatch.setenv("MEMORIST_BACKUP_EVERY_HOURS", "24")
    monkeypatch.setenv("MEMORIST_BACKUP_FOLDER", str(tmp_path / "full"))
    with running(tmp_path / "data") as (_, address):
        told = {"status": "ready", "warnings": ["Backups fail: the log says why."]}
        eventually(lambda: httpx2.get(f"{address}/readyz").json() == told)
        (tmp_path / "full").unlink()
        assert httpx2.get(f"{address}/readyz").status_code == 200
    assert "background work 'backups' failed" in (tmp_path / "data.log").read_text()
