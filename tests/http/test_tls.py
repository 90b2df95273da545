"""TLS in the server: certificates read anew, what is refused, and our own clients with a private authority."""

import asyncio
import json
import logging
import os
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from memorist.bootstrap import open_core
from memorist.client import AsyncClient, Client
from memorist.errors import InvalidSetting, MemoristError, ServerUnavailable
from memorist.platform.values import Role
from memorist.settings import Settings
from memorist.surfaces.http.server import Server, configured, listen
from memorist.surfaces.http.tls import Tls, lasting
from memorist.surfaces.mcp.server import ForwardedMemory
from memorist.trust import trusting
from tests.http.conftest import Served
from tests.http.test_server import running
from tests.support.certificates import Authority
from tests.support.waiting import eventually


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@dataclass
class Secured(Served):
    tls: Tls

    @property
    def address(self) -> tuple[str, int]:
        return "127.0.0.1", int(self.url.rpartition(":")[2])


@contextmanager
def secured(tmp_path: Path, pair: tuple[Path, Path], **others: object) -> Iterator[Secured]:
    settings = Settings(
        data=tmp_path / "data",
        port=0,
        embedder="off",
        reranker="off",
        tls_cert=str(pair[0]),
        tls_key=str(pair[1]),
        **others,  # type: ignore[arg-type]
    )
    tls = Tls.of(settings)
    assert tls is not None
    core = open_core(settings)
    listener = listen(settings)
    server = Server(configured(core, settings, tls=tls), core, tls=tls)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield Secured(f"https://127.0.0.1:{listener.getsockname()[1]}", core, tls)
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture
def server(tmp_path: Path, authority: Authority) -> Iterator[Secured]:
    with secured(tmp_path, authority.issue("server")) as running:
        yield running


def subject_at(server: Secured, authority: Authority) -> str:
    """Whom a new connection is shown."""
    with (
        socket.create_connection(server.address, timeout=10) as plain,
        trusting(str(authority.file)).wrap_socket(plain, server_hostname="127.0.0.1") as wrapped,
    ):
        told = wrapped.getpeercert()
        assert told is not None
        return str(told["subject"][0][0][1])


def test_it_speaks_tls_and_nothing_else(server: Secured, authority: Authority) -> None:
    with httpx2.Client(base_url=server.url, verify=trusting(str(authority.file))) as client:
        assert client.get("/healthz").json()["status"] == "ok"
        assert client.get("/v1/memories").status_code == 401
    with pytest.raises(httpx2.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        httpx2.get(f"{server.url}/healthz")
    with pytest.raises(httpx2.HTTPError):
        httpx2.get(f"{server.url.replace('https', 'http')}/healthz")


def test_old_versions_of_tls_are_refused(server: Secured) -> None:
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    old.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        old.maximum_version = ssl.TLSVersion.TLSv1_1
    with socket.create_connection(server.address, timeout=10) as plain, pytest.raises((ssl.SSLError, OSError)):
        old.wrap_socket(plain)


def test_a_new_certificate_is_used_and_no_connection_dropped(
    server: Secured, authority: Authority, tmp_path: Path
) -> None:
    files = (tmp_path / "server.pem", tmp_path / "server.key")
    with httpx2.Client(base_url=server.url, verify=trusting(str(authority.file))) as client:
        assert client.get("/healthz").is_success
        before = [connection.info() for connection in client._transport._pool.connections]  # type: ignore[attr-defined]
        assert subject_at(server, authority) == "server"
        authority.issue("renewed", into=files)
        eventually(lambda: subject_at(server, authority) == "renewed")
        assert client.get("/healthz").is_success
        after = client._transport._pool.connections  # type: ignore[attr-defined]
        assert (len(before), len(after)) == (1, 1)


def test_half_a_renewal_leaves_the_old_certificate(
    server: Secured, authority: Authority, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = authority.issue("other")
    server.tls.renew()
    (tmp_path / "server.pem").write_bytes(other[0].read_bytes())
    with caplog.at_level(logging.WARNING):
        eventually(lambda: "the old certificate stays in use" in caplog.text or server.tls.renew())
    assert subject_at(server, authority) == "server"
    (tmp_path / "server.key").write_bytes(other[1].read_bytes())
    eventually(lambda: subject_at(server, authority) == "other")


def test_handshakes_that_are_not_finished_end(tmp_path: Path, authority: Authority) -> None:
    with (
        secured(tmp_path, authority.issue("server"), header_timeout_s=0.2) as server,
        socket.create_connection(server.address, timeout=20) as idle,
    ):
        assert idle.recv(1) == b""


def test_handshakes_that_are_not_finished_make_room(tmp_path: Path, authority: Authority) -> None:
    with secured(tmp_path, authority.issue("server"), connections=32) as server:
        idle = [socket.create_connection(server.address, timeout=20) for _ in range(20)]
        try:
            assert subject_at(server, authority) == "server"
            assert idle[0].recv(1) == b""
        finally:
            for one in idle:
                one.close()


@dataclass
class Pair:
    """How the two files are, and what is said of it."""

    told: str
    cert: str = "server.pem"
    key: str = "server.key"


@pytest.mark.parametrize(
    "pair",
    [
        Pair("server.key does not fit the certificate", cert="other.pem"),
        Pair("none.pem cannot be read: No such file", cert="none.pem"),
        Pair("none.key cannot be read: No such file", key="none.key"),
        Pair("server.key holds no certificate as PEM", cert="server.key"),
        Pair("server.pem holds no private key as PEM", key="server.pem"),
        Pair("folder cannot be read: Is a directory", key="folder"),
        Pair("tls_key is not: TLS needs the key too", key=""),
        Pair("tls_cert is not: TLS needs the certificate too", cert=""),
    ],
    ids=lambda pair: pair.told,
)
def test_what_cannot_be_used_is_told_in_words(authority: Authority, tmp_path: Path, pair: Pair) -> None:
    authority.issue("server")
    authority.issue("other")
    (tmp_path / "folder").mkdir()
    cert, key = (str(tmp_path / name) if name else "" for name in (pair.cert, pair.key))
    with pytest.raises(InvalidSetting, match=pair.told):
        Tls.of(Settings(tls_cert=cert, tls_key=key))


@pytest.mark.parametrize(
    ("days", "mode", "told"),
    [
        (90, 0o600, ""),
        (90, 0o640, ""),
        (-1, 0o600, "has expired"),
        (3.5, 0o600, "expires in 3 days"),
        (90, 0o644, "Everybody on this machine may read"),
    ],
)
def test_what_will_be_trouble_is_warned_of(
    authority: Authority, caplog: pytest.LogCaptureFixture, days: float, mode: int, told: str
) -> None:
    certificate, key = authority.issue("server", days=days)
    key.chmod(mode)
    with caplog.at_level(logging.WARNING):
        Tls(certificate, key)
    assert told in caplog.text
    assert bool(caplog.text) is bool(told)


def test_browsers_are_told_to_insist_but_not_on_loopback(tmp_path: Path, authority: Authority) -> None:
    assert lasting(Settings(tls_cert="c", tls_key="k")) == []
    assert lasting(Settings(host="0.0.0.0")) == []
    with secured(tmp_path, authority.issue("server"), host="0.0.0.0") as server:
        answer = httpx2.get(f"{server.url}/healthz", verify=trusting(str(authority.file)))
    assert answer.headers["strict-transport-security"] == "max-age=31536000"


def test_cookies_of_the_dashboard_are_for_tls_only(server: Secured, authority: Authority) -> None:
    key = server.key("local", Role.ADMIN, "ada")
    with httpx2.Client(base_url=server.url, verify=trusting(str(authority.file))) as browser:
        entered = browser.post("/dashboard/sign-in", data={"key": key})
    cookies = entered.headers.get_list("set-cookie")
    assert entered.status_code == 303
    assert cookies
    assert all("secure" in cookie.lower() for cookie in cookies)


def test_our_clients_trust_a_private_authority(
    server: Secured, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = server.key("local", Role.USER, "ada")
    with Client(server.url, api_key=key, ca_file=str(authority.file)) as client:
        assert client.remember("Tea is green.").was_new
    with Client(server.url, api_key=key, sleep=lambda _: None) as client, pytest.raises(ServerUnavailable):
        client.recall("tea")
    monkeypatch.setenv("MEMORIST_CA_FILE", str(authority.file))

    async def ask() -> int:
        async with AsyncClient(server.url, api_key=key) as client:
            return len((await client.recall("tea")).hits)

    assert asyncio.run(ask()) == 1
    forwarded = ForwardedMemory(server.url, key, {}, str(authority.file))
    assert "tea" in json.dumps(forwarded.run("recall", {"query": "tea"})).lower()
    forwarded.close()
    with pytest.raises(MemoristError, match=r"The certificates in /none\.pem cannot be read"):
        Client(server.url, api_key=key, ca_file="/none.pem")


def test_hooks_trust_a_private_authority(server: Secured, authority: Authority, tmp_path: Path) -> None:
    """The settings come from a file, as for whoever ran `memorist install`."""
    key = server.key("local", Role.USER, "ada")
    with Client(server.url, api_key=key, ca_file=str(authority.file)) as client:
        client.remember("Ada prefers green tea.")
    config = tmp_path / "config.toml"
    config.write_text(f'url = "{server.url}"\napi_key = "{key}"\nca_file = "{authority.file}"\nhook_wait_ms = 30000\n')
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMORIST_")}
    answer = subprocess.run(
        [sys.executable, "-m", "memorist", "hook", "claude-code", "SessionStart"],
        input=json.dumps({"session_id": "one", "cwd": str(tmp_path)}),
        env={**kept, "MEMORIST_CONFIG": str(config), "MEMORIST_DATA": str(tmp_path / "own"), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "green tea" in answer.stdout, answer


def test_commands_trust_the_authority_of_the_settings_file(
    server: Secured, authority: Authority, tmp_path: Path
) -> None:
    key = server.key("local", Role.ADMIN)
    config = tmp_path / "config.toml"
    config.write_text(f'url = "{server.url}"\napi_key = "{key}"\nca_file = "{authority.file}"\n')
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMORIST_")}
    # This server counts nothing, which `top` is told over a connection that it trusts.
    for command, code, said in ((["list", "--user", "ada"], 0, ""), (["top", "--once"], 6, "answered 404")):
        answer = subprocess.run(
            [sys.executable, "-m", "memorist", *command],
            env={**kept, "MEMORIST_CONFIG": str(config), "MEMORIST_DATA": str(tmp_path / "own"), "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert (answer.returncode, said in answer.stderr) == (code, True), answer


def test_the_command_greets_with_https(authority: Authority, tmp_path: Path) -> None:
    certificate, key = authority.issue("server")
    with running(tmp_path / "data", "--tls-cert", str(certificate), "--tls-key", str(key)) as (_, address):
        assert address.startswith("https://127.0.0.1:")
        assert httpx2.get(f"{address}/healthz", verify=trusting(str(authority.file))).is_success
