"""What a connection may cost before it has shown a key: a limit ends it, and nobody else notices."""

import json
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import httpx2
import pytest

from memorist.platform.values import Role
from memorist.settings import Settings
from tests.http.conftest import Served, serving

_CAP = 4096
HEAD = b"GET /healthz HTTP/1.1\r\nHost: x\r\n"
POST = b"POST /v1/memories HTTP/1.1\r\nHost: x\r\n"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that is quick to lose its patience."""
    settings = Settings(
        data=tmp_path_factory.mktemp("guarded"),
        port=0,
        embedder="off",
        reranker="off",
        header_limit=_CAP,
        header_timeout_s=0.2,
        body_timeout_s=0.2,
        idle_timeout_s=0.2,
        connections=8,
        connections_per_peer=6,
    )
    with serving(settings) as server:
        yield server


@contextmanager
def connected(server: Served) -> Iterator[socket.socket]:
    host, port = server.url.removeprefix("http://").split(":")
    with closing(socket.create_connection((host, int(port)), timeout=20)) as raw:
        yield raw


def heard(raw: socket.socket) -> bytes:
    """All that the server says until it closes."""
    said = b""
    with suppress(ConnectionResetError):
        while part := raw.recv(65_536):
            said += part
    return said


def refusal(said: bytes) -> tuple[int, str]:
    head, _, body = said.partition(b"\r\n\r\n")
    assert b"content-type: application/problem+json" in head
    assert b"connection: close" in head.lower()
    problem = json.loads(body)
    assert head.startswith(b"HTTP/1.1 %d " % problem["status"])
    return problem["status"], problem["code"]


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(HEAD + b"X-Long: " + b"a" * _CAP + b"\r\n\r\n", id="one header"),
        pytest.param(b"GET /" + b"a" * _CAP + b" HTTP/1.1\r\nHost: x\r\n\r\n", id="request line"),
        pytest.param(HEAD + b"a: b\r\n" * 100 + b"\r\n", id="many headers"),
        pytest.param(b"\r\n" * _CAP, id="nothing but line ends"),
    ],
)
def test_head_over_the_limit_is_refused_and_cut(guarded: Served, sent: bytes) -> None:
    with connected(guarded) as raw:
        raw.sendall(sent)
        assert refusal(heard(raw)) == (431, "headers_too_large")


@pytest.mark.parametrize(
    "start",
    [
        HEAD + b"X-Long: ",
        b"GET /",
        POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX-Trailer: ",
        POST + b"Transfer-Encoding: chunked\r\n\r\n1;extension=",
    ],
)
def test_head_without_an_end_is_cut_early_and_costs_little(guarded: Served, start: bytes) -> None:
    sent = 0
    before = time.process_time()
    with connected(guarded) as raw:
        raw.sendall(start)
        with suppress(ConnectionError):
            for _ in range(85):
                raw.sendall(b"a" * 1_000_000)
                sent += 1_000_000
        said = heard(raw)
    assert sent < 40_000_000
    assert time.process_time() - before < 2
    # A client that did not stop to listen may have lost the answer with the connection.
    assert not said or said.startswith((b"HTTP/1.1 431", b"HTTP/1.1 401"))


def test_head_within_the_limit_is_answered(guarded: Served) -> None:
    with connected(guarded) as raw:
        raw.sendall(HEAD + b"a: b\r\n" * 90 + b"X-Long: " + b"a" * (_CAP - 1000) + b"\r\nConnection: close\r\n\r\n")
        assert heard(raw).startswith(b"HTTP/1.1 200")


def test_no_http_is_refused_with_a_problem(guarded: Served) -> None:
    with connected(guarded) as raw:
        raw.sendall(b"\x16\x03\x01 hello\r\n\r\n")
        assert refusal(heard(raw)) == (400, "invalid_request")


@pytest.mark.parametrize("sent", [b"G", HEAD, HEAD + b"X-Slow: a"])
def test_head_that_does_not_come_is_a_timeout(guarded: Served, sent: bytes) -> None:
    with connected(guarded) as raw:
        raw.sendall(sent)
        assert refusal(heard(raw)) == (408, "request_timeout")


def test_body_that_stands_still_is_a_timeout(guarded: Served) -> None:
    key = guarded.key("slow", Role.USER, user="ada")
    with connected(guarded) as raw:
        raw.sendall(POST + f"Authorization: Bearer {key}\r\nContent-Length: 100\r\n\r\n{{".encode())
        assert refusal(heard(raw)) == (408, "request_timeout")


@pytest.mark.parametrize("sent", [b"", HEAD + b"\r\n", HEAD + b"\r\n\r\n"])
def test_connection_without_a_request_is_closed(guarded: Served, sent: bytes) -> None:
    with connected(guarded) as raw:
        raw.sendall(sent)
        said = heard(raw)
    assert said == b"" if not sent else said.startswith(b"HTTP/1.1 200")


def test_idle_connections_make_room_for_those_who_ask(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, port=0, embedder="off", reranker="off", connections=8, connections_per_peer=6)
    with serving(settings) as server, ExitStack() as held:
        for _ in range(20):
            held.enter_context(connected(server)).sendall(b"GET ")
        assert httpx2.get(f"{server.url}/healthz").status_code == 200


def test_forms_that_trickle_make_room_for_those_who_ask(tmp_path: Path) -> None:
    """Whoever sends them is not signed in, and may have more than one address."""
    settings = Settings(data=tmp_path, port=0, embedder="off", reranker="off", connections=8, connections_per_peer=8)
    form = b"POST /dashboard/sign-in HTTP/1.1\r\nHost: x\r\nContent-Length: 4000\r\n\r\nk"
    with serving(settings) as server, ExitStack() as held:
        headers = {"Authorization": f"Bearer {server.key('known', Role.USER, user='ada')}"}
        for _ in range(8):
            held.enter_context(connected(server)).sendall(form)
        for _ in range(3):
            assert httpx2.get(f"{server.url}/v1/memories", headers=headers).status_code == 200


def test_idle_connection_makes_room_before_a_request_of_who_is_not_known_yet(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, port=0, embedder="off", reranker="off", connections=2, connections_per_peer=2)
    form = b"POST /dashboard/sign-in HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
    with serving(settings) as server, connected(server) as sends, connected(server) as idle:
        sends.sendall(form)
        assert sends.recv(12) == b"HTTP/1.1 100"
        idle.sendall(HEAD + b"\r\n")
        assert idle.recv(12) == b"HTTP/1.1 200"
        with connected(server) as raw:
            raw.sendall(HEAD + b"Connection: close\r\n\r\n")
            assert heard(raw).startswith(b"HTTP/1.1 200")
        sends.recv(65_536)  # The rest of what it was told.
        sends.sendall(b"k=")
        assert sends.recv(9) == b"HTTP/1.1 "


def test_body_of_who_is_known_is_not_ended_for_others(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, port=0, embedder="off", reranker="off", connections=3)
    with serving(settings) as server, ExitStack() as held:
        key = server.key("known", Role.USER, user="ada")
        for _ in range(2):
            sends = held.enter_context(connected(server))
            sends.sendall(POST + f"Authorization: Bearer {key}\r\nExpect: 100-continue\r\n".encode())
            sends.sendall(b"Content-Length: 100\r\n\r\n")
            assert sends.recv(12) == b"HTTP/1.1 100"
            sends.sendall(b"{")
        with connected(server) as raw:
            assert refusal(heard(raw)) == (503, "server_busy")


def test_form_that_trickles_is_a_timeout_as_a_whole(guarded: Served) -> None:
    with connected(guarded) as raw:
        raw.sendall(b"POST /dashboard/sign-in HTTP/1.1\r\nHost: x\r\nContent-Length: 4000\r\n\r\n")
        raw.settimeout(0.05)
        said = b""
        with suppress(ConnectionError):
            for _ in range(200):
                raw.sendall(b"k")
                try:
                    said = raw.recv(65_536)
                    break
                except TimeoutError:
                    continue
        assert said.startswith(b"HTTP/1.1 408")


def test_connection_beyond_those_at_work_is_told_that_there_is_no_room(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, port=0, embedder="off", reranker="off", connections=3)
    with serving(settings) as server, ExitStack() as held:
        key = server.key("busy", Role.USER, user="ada")
        stream = f"GET /v1/events/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\r\n".encode()
        for _ in range(2):
            at_work = held.enter_context(connected(server))
            at_work.sendall(stream)
            assert at_work.recv(12) == b"HTTP/1.1 200"
        with connected(server) as raw:
            assert refusal(heard(raw)) == (503, "server_busy")


def test_server_with_few_descriptors_outlives_idle_sockets(tmp_path: Path) -> None:
    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

    command = [sys.executable, "-m", "memorist", "serve", "--port", "0", "--data", str(tmp_path), "--json"]
    environment = {"MEMORIST_EMBEDDER": "off", "MEMORIST_RERANKER": "off", "PATH": "", "HOME": str(tmp_path)}
    log = tmp_path / "log"
    with (
        log.open("wb") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, preexec_fn=few, env=environment) as process,
        ExitStack() as held,
    ):
        try:
            assert process.stdout is not None
            url = json.loads(process.stdout.readline())["url"]
            server = Served(url, None)  # type: ignore[arg-type]
            for _ in range(80):
                held.enter_context(connected(server)).sendall(b"GET ")
            key = (tmp_path / "local.key").read_text().strip()
            headers = {"Authorization": f"Bearer {key}"}
            for _ in range(3):
                assert httpx2.get(f"{url}/v1/memories", headers=headers, timeout=20).status_code == 200
        finally:
            process.terminate()
    # While it cannot take connections it would wait a second, and then another.
    assert "Too many open files" not in log.read_text()


def test_requests_in_one_go_are_answered_one_after_another(guarded: Served) -> None:
    with connected(guarded) as raw:
        raw.sendall((HEAD + b"\r\n") * 3 + HEAD + b"Connection: close\r\n\r\n")
        assert heard(raw).count(b"HTTP/1.1 200 OK") == 4
