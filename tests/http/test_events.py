"""The stream of changes: complete, resumable, scoped, across servers, and gone when it should be."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import pytest

from memorist.platform.values import Principal, Role
from memorist.settings import Settings
from memorist.surfaces.http import events
from memorist.testing import new_tenant
from tests.http.conftest import Served, serving
from tests.support.waiting import eventually


@dataclass
class Event:
    """One event, as a browser's EventSource would dispatch it."""

    name: str = "message"
    id: str = ""
    data: list[str] = field(default_factory=list)

    def json(self) -> dict:
        value: dict = json.loads("\n".join(self.data))
        return value


class Stream:
    """Parses what comes, as the specification of server-sent events says."""

    def __init__(self, response: httpx2.Response) -> None:
        self.response = response
        self.last_id = ""
        self.comments: list[str] = []
        self._lines = response.iter_lines()

    def next(self) -> Event | None:
        """The next event with data; None when the stream has ended."""
        event = Event()
        for line in self._lines:
            if not line:
                self.last_id = event.id or self.last_id
                if event.data:
                    return event
                event = Event()
                continue
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "":
                self.comments.append(value)
            elif name == "event":
                event.name = value
            elif name == "id":
                event.id = value
            elif name == "data":
                event.data.append(value)
        return None

    def changes(self, count: int) -> list[tuple[str, str]]:
        found = []
        for _ in range(count):
            event = self.next()
            assert event is not None
            assert event.name == "resource_change"
            found.append((event.json()["action"], event.json()["id"]))
        return found


@contextmanager
def following(client: httpx2.Client, last: str | None = None, **parameters: str) -> Iterator[Stream]:
    headers = {} if last is None else {"Last-Event-ID": last}
    with client.stream("GET", "/v1/events/stream", headers=headers, params=parameters) as response:
        assert response.status_code == 200, response.read()
        assert response.headers["content-type"].startswith("text/event-stream")
        yield Stream(response)


def store(client: httpx2.Client, content: str, **more: object) -> str:
    response = client.post("/api/memory/store", json={"content": content, "chunkType": "fact", **more})
    assert response.status_code == 201, response.text
    memory_id: str = response.json()["data"]["id"]
    return memory_id


@pytest.fixture
def ada(by_keyword: Served, tenant: str) -> Iterator[httpx2.Client]:
    with by_keyword.client(tenant) as client:
        yield client


def test_every_change_is_broadcast_without_its_text(ada: httpx2.Client) -> None:
    with following(ada) as stream:
        memory_id = store(ada, "A SECRET TEXT")
        store(ada, "A SECRET TEXT", relevanceScore=0.5)
        ada.delete(f"/api/memory/{memory_id}")
        found = [stream.next() for _ in range(3)]
    assert all(event is not None and event.name == "resource_change" and event.id for event in found)
    told = [event.json() for event in found if event is not None]
    assert [set(change) for change in told] == [{"type", "resource", "action", "id", "at"}] * 3
    assert {(change["type"], change["resource"], change["id"]) for change in told} == {
        ("resource_change", "memory", memory_id)
    }
    assert [change["action"] for change in told] == ["created", "updated", "deleted"]


def test_storing_what_is_there_as_it_is_broadcasts_nothing(ada: httpx2.Client) -> None:
    with following(ada) as stream:
        first = store(ada, "Said twice")
        assert store(ada, "Said twice") == first
        other = store(ada, "Said once")
        assert stream.changes(2) == [("created", first), ("created", other)]


def test_stream_is_resumed_without_a_gap_or_a_repetition(ada: httpx2.Client) -> None:
    with following(ada) as stream:
        first = store(ada, "one")
        assert stream.changes(1) == [("created", first)]
        last = stream.last_id
    missed = [store(ada, f"missed {number}") for number in range(5)]
    with following(ada, last) as stream:
        later = store(ada, "later")
        expected = [("created", memory_id) for memory_id in [*missed, later]]
        assert stream.changes(6) == expected
        assert stream.last_id != last
    with following(ada, after=last) as stream:
        assert stream.changes(6) == expected
    with following(ada, after="0-0") as stream:
        assert stream.changes(7) == [("created", first), *expected]


def test_client_that_saw_nothing_yet_can_be_resumed_too(ada: httpx2.Client) -> None:
    with following(ada) as stream:
        for line in stream._lines:
            if line.startswith("id: "):
                last = line.removeprefix("id: ")
                break
    missed = store(ada, "while it was away")
    with following(ada, last) as stream:
        assert stream.changes(1) == [("created", missed)]


def test_only_what_the_caller_may_see_is_broadcast(by_keyword: Served, tenant: str, ada: httpx2.Client) -> None:
    with (
        by_keyword.client(tenant, user="bob") as bob,
        by_keyword.client(tenant, Role.ADMIN, None) as admin,
        by_keyword.client(tenant, Role.READER) as reader,
        by_keyword.client(new_tenant(), Role.ADMIN, None) as stranger,
        following(bob) as of_bob,
        following(admin) as of_admin,
        following(reader) as of_reader,
        following(stranger) as of_stranger,
    ):
        hers = store(ada, "ada's")
        his = store(bob, "bob's")
        shared = store(admin, "everybody's")
        assert of_bob.changes(2) == [("created", his), ("created", shared)]
        assert of_admin.changes(3) == [("created", hers), ("created", his), ("created", shared)]
        assert of_reader.changes(2) == [("created", hers), ("created", shared)]
        theirs = store(stranger, "of another tenant")
        assert of_stranger.changes(1) == [("created", theirs)]


def test_service_key_follows_whom_it_acts_for(by_keyword: Served, tenant: str, ada: httpx2.Client) -> None:
    with by_keyword.client(tenant, Role.SERVICE, None) as service:
        service.headers["X-Memorist-User"] = "ada"
        with following(service) as stream:
            assert stream.changes(0) == []
            hers = store(ada, "ada's")
            assert stream.changes(1) == [("created", hers)]


def test_erasure_is_broadcast(by_keyword: Served, tenant: str, ada: httpx2.Client) -> None:
    memory_id = store(ada, "to be erased")
    with following(ada) as stream:
        by_keyword.core.erasure.reset(Principal(tenant, Role.USER, "ada"))
        assert stream.changes(1) == [("erased", memory_id)]


@pytest.mark.parametrize("last", ["x", "1", "1-2-3", "-", "1-x"])
def test_what_is_no_position_is_refused(ada: httpx2.Client, last: str) -> None:
    response = ada.get("/v1/events/stream", headers={"Last-Event-ID": last})
    assert (response.status_code, response.json()["code"]) == (400, "invalid_cursor")


def test_position_of_another_database_asks_for_a_new_start(ada: httpx2.Client) -> None:
    with following(ada, "999999999999999999-7") as stream:
        event = stream.next()
        assert event is not None
        assert (event.name, event.json()) == ("resync", {"type": "resync", "resource": "memory"})
        memory_id = store(ada, "afterwards")
        assert stream.changes(1) == [("created", memory_id)]


def test_key_is_needed(by_keyword: Served) -> None:
    assert httpx2.get(f"{by_keyword.url}/v1/events/stream").status_code == 401


def test_revoked_key_ends_its_stream(by_keyword: Served, tenant: str, ada: httpx2.Client) -> None:
    operator = Principal(tenant, Role.ADMIN)
    key, secret = by_keyword.core.identity.create_key(operator, Role.READER, user="ada")
    with httpx2.Client(base_url=by_keyword.url, headers={"Authorization": f"Bearer {secret}"}, timeout=30) as reader:
        with following(reader) as stream:
            before = store(ada, "before")
            assert stream.changes(1) == [("created", before)]
            by_keyword.core.identity.revoke_key(operator, key.id)
            store(ada, "after")
            assert stream.next() is None
        assert reader.get("/v1/events/stream").status_code == 401


def test_idle_stream_says_that_it_is_there(ada: httpx2.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "HEARTBEAT_SECONDS", 0.05)
    with following(ada) as stream:
        while "still here" not in stream.comments:
            line = next(stream._lines)
            if line.startswith(":"):
                stream.comments.append(line.removeprefix(":").strip())
        memory_id = store(ada, "still works")
        assert stream.changes(1) == [("created", memory_id)]


def test_stream_ends_when_no_change_came_for_as_long_as_asked(
    ada: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = [store(ada, f"waiting {number}") for number in range(3)]
    for wait in ("0", "0.2"):
        with following(ada, after="0-0", wait=wait) as stream:
            assert stream.changes(3) == [("created", memory_id) for memory_id in stored]
            last = stream.next()
            assert last is not None
            assert (last.name, last.id, last.json()) == (
                "quiet",
                stream.last_id,
                {"type": "quiet", "resource": "memory"},
            )
            assert stream.next() is None
    monkeypatch.setattr(events, "HEARTBEAT_SECONDS", 0.01)
    with following(ada, wait="0.1") as stream:
        last = stream.next()
        assert last is not None
        assert last.name == "quiet"
        assert "still here" in stream.comments
    assert ada.get("/v1/events/stream", params={"wait": "-1"}).status_code == 422


def test_nothing_is_left_of_clients_that_went_away(by_keyword: Served, tenant: str, ada: httpx2.Client) -> None:
    feed = by_keyword.core.feed
    for _ in range(3):
        streams = [_open_socket(by_keyword, ada) for _ in range(10)]
        eventually(lambda: tenant in feed._watches and len(feed._watches[tenant].followers) == 10)
        for stream in streams:
            stream.close()
        eventually(lambda: tenant not in feed._watches)
    eventually(lambda: "memorist-feed" not in [thread.name for thread in threading.enumerate()])


def _open_socket(served: Served, client: httpx2.Client) -> socket.socket:
    """A client that asks and then reads nothing but the beginning."""
    host, port = served.url.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)), timeout=30)
    request = f"GET /v1/events/stream HTTP/1.1\r\nHost: x\r\nAuthorization: {client.headers['Authorization']}\r\n\r\n"
    connection.sendall(request.encode())
    assert connection.recv(12) == b"HTTP/1.1 200"
    return connection


def test_client_that_reads_nothing_holds_nobody_up(by_keyword: Served, ada: httpx2.Client) -> None:
    stuck = _open_socket(by_keyword, ada)
    with following(ada) as stream:
        written = [store(ada, f"text {number}") for number in range(30)]
        assert stream.changes(30) == [("created", memory_id) for memory_id in written]
    stuck.close()


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_servers_of_one_database_broadcast_each_others_changes(
    request: pytest.FixtureRequest, tmp_path: Path, database: str
) -> None:
    url = request.getfixturevalue("postgres_url") if database == "postgres" else str(tmp_path / "memorist.db")
    settings = Settings(data=tmp_path, database=url, port=0, embedder="off", reranker="off")
    tenant = new_tenant()
    with serving(settings) as one, serving(settings) as two, one.client(tenant) as here, two.client(tenant) as there:
        with following(there) as stream:
            written = []
            for number in range(10):
                written.append(store(here, f"here {number}"))
                written.append(store(there, f"there {number}"))
            assert stream.changes(20) == [("created", memory_id) for memory_id in written]
            last = stream.last_id
        written = [store(here, f"more {number}") for number in range(3)]
        # A client that comes back may come to the other server.
        with following(here, last) as stream:
            assert stream.changes(3) == [("created", memory_id) for memory_id in written]


def test_stopping_the_server_ends_streams_at_once(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, port=0, embedder="off", reranker="off")
    ended = threading.Event()

    def follow(served: Served, tenant: str, ready: threading.Event) -> None:
        with served.client(tenant) as client, following(client) as stream:
            store(client, "one")
            assert len(stream.changes(1)) == 1
            ready.set()
            assert stream.next() is None
            ended.set()

    with serving(settings) as served:
        tenant = new_tenant()
        ready = threading.Event()
        thread = threading.Thread(target=follow, args=(served, tenant, ready))
        thread.start()
        assert ready.wait(30)
        stopping = time.monotonic()
    assert time.monotonic() - stopping < 10
    thread.join(30)
    assert ended.is_set()
