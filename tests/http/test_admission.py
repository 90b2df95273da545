"""Who comes in, and how often: the key goes first, everybody has a share, and the log names nobody."""

import asyncio
import json
import logging
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from memorist.errors import TooManyRequests
from memorist.platform.values import Principal, Role
from memorist.settings import Settings
from memorist.surfaces.http import problems
from memorist.surfaces.http.app import create_api
from memorist.surfaces.http.boundary import METRICS, OPEN
from memorist.surfaces.http.callers import shared_with
from memorist.surfaces.http.fairness import Failures, Holding, Quota
from tests.http.conftest import Served, new_memory, serving
from tests.http.test_refusals import assert_problem
from tests.support.waiting import eventually

WRONG = "Bearer mst_live_" + "0" * 64 + "34b1e4cb"


def _operations() -> list[tuple[str, str]]:
    document = create_api(None).openapi()  # type: ignore[arg-type]
    found = [(method.upper(), path) for path, methods in document["paths"].items() for method in methods]
    # This machine reads the metrics without a key: tests/observing has who may.
    return sorted((method, path) for method, path in found if path not in OPEN | {METRICS})


# The key first


@pytest.mark.parametrize("authorization", [None, WRONG])
def test_no_route_tells_anything_without_a_key(by_keyword: Served, authorization: str | None) -> None:
    headers = {"Content-Type": "application/json"} | ({"Authorization": authorization} if authorization else {})
    with httpx2.Client(base_url=by_keyword.url, headers=headers, timeout=30) as client:
        for method, path in [*_operations(), ("POST", "/mcp"), ("GET", "/v1/nothing"), ("PUT", "/v1/memories")]:
            answer = client.request(method, f"{path}?limit=nonsense", content=b'{"unknown": 1')
            assert_problem(answer, 401, "unauthenticated")


@pytest.mark.parametrize("path", ["/v1/memories", "/v1/sessions/s/tool-outputs", "/mcp", "/api/memory/store"])
@pytest.mark.parametrize("length", [100, 10**12])
def test_body_of_a_wrong_key_is_not_read(by_keyword: Served, path: str, length: int) -> None:
    """It is announced, and never sent: who waited for it would never answer."""
    host, port = by_keyword.url.removeprefix("http://").split(":")
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: {WRONG}\r\nContent-Length: {length}\r\n\r\n"
    with closing(socket.create_connection((host, int(port)), timeout=20)) as raw:
        raw.sendall(head.encode())
        assert raw.recv(12) == b"HTTP/1.1 401"


def test_connection_is_used_on_after_a_refused_body(by_keyword: Served, tenant: str) -> None:
    with by_keyword.client(tenant) as client:
        for _ in range(2):
            answer = client.post("/v1/memories", content=b"x" * 100_000, headers={"Authorization": WRONG})
            assert answer.status_code == 401
        assert client.get("/v1/memories").status_code == 200


# Shares


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def narrow(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    database = request.getfixturevalue("postgres_url") if request.param == "postgres" else ""
    settings = Settings(
        data=tmp_path_factory.mktemp("narrow"), database=database, port=0, embedder="off", reranker="off",
        user_rate=1.5, key_rate=4,
    )  # fmt: skip
    with serving(settings) as server:
        yield server


def test_user_over_its_rate_is_told_when_to_come_back(narrow: Served, tenant: str) -> None:
    with narrow.client(tenant) as ada, narrow.client(tenant, user="bob") as bob:
        answers = [ada.get("/v1/memories") for _ in range(4)]
        assert [answer.status_code for answer in answers[:3]] == [200, 200, 200]
        assert_problem(answers[3], 429, "too_many_requests")
        assert answers[3].headers["retry-after"] == "1"
        assert bob.get("/v1/memories").status_code == 200
        assert httpx2.get(f"{narrow.url}/healthz").status_code == 200


def test_service_key_has_a_share_for_each_user_and_one_of_its_own(narrow: Served, tenant: str) -> None:
    with narrow.client(tenant, Role.SERVICE, None) as service:
        users = ["a", "a", "a", "a", "b", "b", "c", "c", "d"]
        found = [service.get("/v1/memories", headers={"X-Memorist-User": user}).status_code for user in users]
    assert found[:6] == [200, 200, 200, 429, 200, 200]
    assert 429 in found[6:] or found.count(200) == 8


def test_rate_is_refilled_with_time() -> None:
    now = [0.0]
    quota = Quota(rate=10, at_once=0, clock=lambda: now[0])

    def use(taken: list[int]) -> None:
        for number in range(100):
            assert quota.enter(("t", "ada")) is None
            quota.leave(("t", "ada"))
            taken.append(number)

    def ask() -> int:
        taken: list[int] = []
        with pytest.raises(TooManyRequests) as refused:
            use(taken)
        assert refused.value.retry_after == pytest.approx(0.1)
        return len(taken)

    assert ask() == 20
    now[0] += 0.5
    assert ask() == 5
    now[0] += 100
    assert ask() == 20


def test_what_is_over_the_number_at_once_waits_its_turn() -> None:
    async def story() -> None:
        quota = Quota(rate=0, at_once=2)
        ada, bob = ("t", "ada"), ("t", "bob")
        places = [Holding() for _ in range(18)]
        for place in places[:2]:
            await place.enter(quota, ada)
        waiting = [asyncio.ensure_future(place.enter(quota, ada)) for place in places[2:]]
        await asyncio.sleep(0)
        with pytest.raises(TooManyRequests):
            await Holding().enter(quota, ada)
        assert quota.enter(bob) is None
        waiting[0].cancel()
        quota.leave(ada)
        await waiting[1]
        assert not waiting[2].done()
        for task in waiting[2:]:
            quota.leave(ada)
            await task

    asyncio.run(story())


def test_quota_remembers_a_bounded_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memorist.surfaces.http.fairness._MOST_KNOWN", 10)
    quota = Quota(rate=1, at_once=1)

    quota.enter(("t", "at work"))
    for number in range(100):
        quota.enter(("t", str(number)))
        quota.leave(("t", str(number)))
    quota.leave(("t", "at work"))
    assert len(quota._shares) == 10


def test_more_than_the_server_takes_at_once_is_a_503(tmp_path: Path, tenant: str) -> None:
    settings = Settings(data=tmp_path, port=0, embedder="off", reranker="off", requests_at_once=1)
    with serving(settings) as server:
        key = server.key(tenant, Role.USER, "ada")
        host, port = server.url.removeprefix("http://").split(":")
        head = f"POST /v1/memories HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nContent-Length: 9\r\n\r\n"
        with closing(socket.create_connection((host, int(port)), timeout=20)) as raw:
            # Its body is still to come, so that it is at work.
            raw.sendall(head.encode() + b"{")
            headers = {"Authorization": f"Bearer {key}"}
            eventually(lambda: httpx2.get(f"{server.url}/v1/memories", headers=headers).status_code == 503)
            busy = httpx2.get(f"{server.url}/v1/memories", headers=headers)
            assert_problem(busy, 503, "server_busy")
            assert busy.headers["retry-after"] == "1"
        eventually(lambda: httpx2.get(f"{server.url}/v1/memories", headers=headers).status_code == 200)


@contextmanager
def trickling(server: Served, key: str, *users: str) -> Iterator[None]:
    """Requests for users whose body is still to come."""
    host, port = server.url.removeprefix("http://").split(":")
    head = f"POST /v1/memories HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nContent-Length: 9\r\n"
    with ExitStack() as held:
        for user in users:
            raw = held.enter_context(closing(socket.create_connection((host, int(port)), timeout=20)))
            raw.sendall(f"{head}X-Memorist-User: {user}\r\n\r\n{{".encode())
        yield


def test_key_that_acts_for_nobody_else_takes_nobody_elses_share(tmp_path: Path, tenant: str) -> None:
    settings = Settings(data=tmp_path, port=0, embedder="off", reranker="off", user_at_once=1)
    with (
        serving(settings) as server,
        server.client(tenant, user="bob") as bob,
        server.client(tenant, user="eve") as eve,
        trickling(server, server.key(tenant, Role.READER, "eve"), "bob"),
    ):
        # It has taken its place, which is eve's.
        eventually(lambda: _is_kept_waiting(eve))
        assert bob.get("/v1/memories").status_code == 200


def _is_kept_waiting(client: httpx2.Client) -> bool:
    try:
        client.get("/v1/memories", timeout=0.2)
    except httpx2.ReadTimeout:
        return True
    return False


def test_key_that_names_many_users_leaves_room_for_other_keys(tmp_path: Path, tenant: str) -> None:
    settings = Settings(data=tmp_path, port=0, embedder="off", reranker="off", requests_at_once=4)
    with serving(settings) as server, server.client(tenant, Role.SERVICE, None) as service:
        key = service.headers["authorization"].removeprefix("Bearer ")
        with trickling(server, key, "a", "b", "c"), server.client(tenant) as ada:
            eventually(lambda: service.get("/v1/memories").status_code == 429)
            assert ada.get("/v1/memories").status_code == 200
        eventually(lambda: service.get("/v1/memories").status_code == 200)


def test_user_has_one_share_however_its_name_is_spelled() -> None:
    ada = Principal("t", Role.USER, "adä")
    assert shared_with(ada, b"") == shared_with(ada, "adä".encode()) == shared_with(ada, b"bob") == "adä"
    assert shared_with(Principal("t", Role.SERVICE), "adä".encode()) == "adä"


def test_pages_take_the_share_of_who_is_signed_in(narrow: Served, tenant: str) -> None:
    with narrow.client(tenant) as ada, httpx2.Client(base_url=narrow.url) as browser:
        secret = ada.headers["authorization"].removeprefix("Bearer ")
        assert browser.post("/dashboard/sign-in", data={"key": secret}).status_code == 303
        assert browser.get("/dashboard/memories").status_code == 200
        # One way or the other, they are the same user's.
        shown = {browser.get("/dashboard/memories").status_code for _ in range(15)}
        asked = {ada.get("/v1/memories").status_code for _ in range(5)}
        assert shown == {200, 429}
        assert 429 in asked


def test_streams_of_one_user_have_a_number(by_keyword: Served, tenant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memorist.surfaces.http.fairness._MOST_STREAMS", 2)
    with by_keyword.client(tenant) as ada, by_keyword.client(tenant, user="bob") as bob:
        with ada.stream("GET", "/v1/events/stream"), ada.stream("GET", "/v1/events/stream"):
            assert_problem(ada.get("/v1/events/stream"), 429, "too_many_requests")
            with bob.stream("GET", "/v1/events/stream") as other:
                assert other.status_code == 200
        eventually(lambda: ada.get("/v1/events/stream", params={"wait": 0}).status_code == 200)


def test_streams_take_no_share_while_they_last(tmp_path: Path, tenant: str) -> None:
    settings = Settings(data=tmp_path, port=0, embedder="off", reranker="off", user_at_once=1)
    with (
        serving(settings) as server,
        server.client(tenant) as ada,
        ada.stream("GET", "/v1/events/stream") as stream,
        ada.stream("GET", "/v1/events/stream") as second,
    ):
        assert (stream.status_code, second.status_code) == (200, 200)
        assert ada.get("/v1/memories").status_code == 200


# Wrong keys


def test_wrong_keys_wait_longer_and_longer_and_are_forgiven() -> None:
    now = [0.0]
    failures = Failures(5.0, clock=lambda: now[0])
    waits = [failures.note("192.0.2.1") for _ in range(40)]
    assert waits[:10] == [0.0] * 10
    assert waits[10:14] == [0.1, 0.2, 0.4, 0.8]
    assert max(waits) == waits[-1] == 5.0
    assert failures.note("192.0.2.2") == 0.0
    failures.forgive("192.0.2.1")
    assert failures.note("192.0.2.1") == 0.0
    for number in range(20):
        last = failures.note(f"2001:db8::{number:x}")
    assert last == 5.0
    now[0] += 3600
    assert failures.note("2001:db8::1") == 0.0
    for number in range(20_000):
        failures.note(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}")
    assert len(failures._known) == 10_000


def test_wrong_key_waits_for_its_answer_and_others_do_not(tmp_path: Path, tenant: str) -> None:
    settings = Settings(data=tmp_path, port=0, embedder="off", reranker="off", failed_key_delay_s=60)
    with serving(settings) as server:
        for path in ("/v1/memories", "/dashboard/sign-in"):
            for _ in range(5):
                assert httpx2.post(server.url + path, headers={"Authorization": WRONG}).status_code == 401
        host, port = server.url.removeprefix("http://").split(":")[0], int(server.url.rsplit(":", 1)[1])
        with closing(socket.create_connection((host, port), timeout=0.05)) as raw:
            for _ in range(2):
                httpx2.get(f"{server.url}/v1/memories", headers={"Authorization": WRONG})
            raw.sendall(f"GET /v1/memories HTTP/1.1\r\nHost: x\r\nAuthorization: {WRONG}\r\n\r\n".encode())
            with pytest.raises(TimeoutError):
                raw.recv(1)
            with server.client(tenant) as client:
                assert client.get("/v1/memories").status_code == 200


# The log


def test_log_names_the_route_and_nobody(by_keyword: Served, tenant: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with by_keyword.client(tenant, Role.ADMIN, None) as admin:
        for _ in range(2):
            assert admin.delete("/v1/admin/users/Rosalind").status_code == 200
        admin.get("/v1/sessions/Rosalind/messages?cursor=Rosalind")
        admin.get("/v1/Rosalind")
        admin.get("/dashboard/memories/Rosalind")
        admin.get("/dashboard/Rosalind")

    def written() -> list[dict[str, Any]]:
        return [record.fields for record in caplog.records if record.getMessage() == "request"]  # type: ignore[attr-defined]

    # The line is written once the answer is out; so that of another test may come first.
    eventually(lambda: any(line["path"] == "/dashboard/{rest}" for line in written()))
    lines = written()[-6:]
    assert [line["path"] for line in lines] == [
        "/v1/admin/users/{user}",
        "/v1/admin/users/{user}",
        "/v1/sessions/{session_id}/messages",
        "(no route)",
        "/dashboard/memories/{id}",
        "/dashboard/{rest}",
    ]
    assert lines[0]["ids"] == lines[1]["ids"] != {}
    # The client of the test logs, too.
    ours = [record for record in caplog.records if not record.name.startswith("http")]
    assert {"memorist.http"} <= {record.name for record in ours}
    assert "Rosalind" not in json.dumps([(record.getMessage(), getattr(record, "fields", {})) for record in ours])


# Out of memory


def test_out_of_memory_is_no_fault_of_the_sender(
    by_keyword: Served, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exhausted(*_: object, **__: object) -> None:
        raise MemoryError

    with by_keyword.client(tenant) as client:
        with monkeypatch.context() as patched:
            patched.setattr("starlette.requests.Request.json", exhausted)
            answer = client.post("/v1/memories", json=new_memory())
        assert_problem(answer, 503, "server_busy")
        assert answer.headers["retry-after"] == "1"
        with monkeypatch.context() as patched:
            patched.setattr(by_keyword.core.memories, "list", exhausted)
            assert_problem(client.get("/v1/memories"), 503, "server_busy")
    assert problems.status_of(problems.meant_by(ValueError())) == 500


# Where it is warm


def test_affinity_is_of_whose_memories_a_request_is_about_and_changes_nothing(by_keyword: Served) -> None:
    with by_keyword.client("many", Role.SERVICE, user=None) as service, by_keyword.client("many", user="adä") as own:
        asked = {"X-Memorist-User": "adä".encode(), "X-Memorist-Affinity": b"anything; at-all"}
        answers = [own.get("/v1/memories"), service.get("/v1/memories", headers=asked)]
        hints = [answer.headers["X-Memorist-Affinity"] for answer in answers]
        # Pinned: a proxy would send everybody elsewhere after an upgrade.
        assert hints == ["59f9cbec45fbfe8e"] * 2
        others = [service.get("/v1/memories", headers={"X-Memorist-User": name}) for name in ("bob", "cleo")]
        assert len({*hints, *(answer.headers["X-Memorist-Affinity"] for answer in others)}) == 3
    assert "X-Memorist-Affinity" not in httpx2.get(f"{by_keyword.url}/v1/memories").headers
