"""What fails for a moment is tried again, and nothing is done twice."""

import asyncio
import socket
from collections.abc import Iterator
from datetime import timedelta
from email.utils import format_datetime
from typing import Any

import httpx2
import pytest

from memorist import errors
from memorist.client import AsyncClient, Client, Retries
from memorist.client.exchange import Wait, exchange
from memorist.client.streams import Following
from memorist.codec import to_record
from memorist.ids import new_id
from memorist.ingestion.service import Message
from memorist.memories.values import Remembered
from memorist.testing.makers import make_memory
from memorist.times import SystemClock
from memorist.verbs.kinds import Call
from tests.client.faulty import Faulty, answer, cut, events, faulty_server, hang_up, problem, silence

TOOLS = answer({"tools": []})
FACT = answer(to_record(Remembered(make_memory("t"), was_new=True)))
# The longest pause instead of a random one, so that it can be told.
STEADY = Retries(random=lambda _, most: most)


@pytest.fixture
def faulty() -> Iterator[Faulty]:
    with faulty_server() as server:
        yield server


class Pauses(list[float]):
    def __call__(self, seconds: float) -> None:
        self.append(seconds)


@pytest.fixture
def pauses() -> Pauses:
    return Pauses()


@pytest.fixture
def client(faulty: Faulty, pauses: Pauses) -> Iterator[Client]:
    with Client(faulty.url, api_key="mst_live_x", timeout=5, retries=STEADY, sleep=pauses) as client:
        yield client


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_overloaded_server_is_asked_again(client: Client, faulty: Faulty, pauses: Pauses, status: int) -> None:
    faulty.script = [answer(b"busy", status), answer(b"busy", status), TOOLS]
    assert client.tools() == []
    assert pauses == [0.5, 1.0]


def test_server_decides_how_long_to_wait(client: Client, faulty: Faulty, pauses: Pauses) -> None:
    faulty.script = [problem(503, "store_busy", Retry_After="7"), TOOLS]
    client.tools()
    assert pauses == [7.5]


def test_wait_until_a_date(client: Client, faulty: Faulty, pauses: Pauses) -> None:
    faulty.script = [answer(b"", 429, Retry_After=format_datetime(SystemClock().now() + timedelta(seconds=20))), TOOLS]
    client.tools()
    assert 15 < pauses[0] <= 20.5


def test_server_that_asks_for_too_long_is_not_waited_for(client: Client, faulty: Faulty, pauses: Pauses) -> None:
    faulty.script = [problem(503, "store_unavailable", Retry_After="3600")]
    with pytest.raises(errors.StoreUnavailable):
        client.tools()
    assert pauses == []


@pytest.mark.parametrize("is_awaited", [False, True])
def test_what_a_proxy_finds_a_users_server_by_is_sent_back_if_it_is_that(faulty: Faulty, is_awaited: bool) -> None:
    hint = "0123456789abcdef"
    hinted = [answer({"tools": []}, X_Memorist_Affinity=sent) for sent in (hint, "else")]
    faulty.script = [*hinted, TOOLS]

    async def ask() -> None:
        async with AsyncClient(faulty.url, api_key="mst_live_x") as client:
            for _ in range(3):
                await client.tools()

    if is_awaited:
        asyncio.run(ask())
    else:
        with Client(faulty.url, api_key="mst_live_x") as client:
            for _ in range(3):
                client.tools()
    assert [request.headers.get("x-memorist-affinity") for request in faulty.seen] == [None, hint, hint]


@pytest.mark.parametrize("code", ["llm_not_configured", "budget_spent"])
def test_what_waiting_does_not_help_is_told_at_once(client: Client, faulty: Faulty, code: str) -> None:
    faulty.script = [problem(503, code)]
    with pytest.raises(errors.MemoristError, match=code):
        client.turns()


def test_pauses_are_random_parts_of_a_span_that_doubles() -> None:
    retries = Retries()
    for attempt, most in enumerate([0.5, 1.0, 2.0]):
        found = [retries.pause(attempt) for _ in range(200)]
        assert all(one is not None and 0 <= one <= most for one in found)
        assert len(set(found)) > 100
    assert retries.pause(3) is None


@pytest.mark.parametrize("fault", [hang_up, cut], ids=["hung up", "cut"])
def test_read_survives_a_broken_connection(client: Client, faulty: Faulty, pauses: Pauses, fault: Any) -> None:
    faulty.script = [fault, TOOLS]
    assert client.tools() == []
    assert len(pauses) == 1


def test_repeated_write_carries_the_same_key(client: Client, faulty: Faulty) -> None:
    faulty.script = [hang_up, problem(503, "store_busy"), FACT]
    assert client.remember_fact("The sky is blue.").was_new
    keys = [request.headers["idempotency-key"] for request in faulty.seen]
    assert len(keys) == 3
    assert len(set(keys)) == 1


def test_each_write_has_a_key_of_its_own_unless_one_is_given(client: Client, faulty: Faulty) -> None:
    faulty.script = [FACT, FACT, FACT]
    client.remember_fact("One.")
    client.remember_fact("Two.")
    client.remember_fact("Three.", idempotency_key="mine")
    keys = [request.headers["idempotency-key"] for request in faulty.seen]
    assert len(set(keys)) == 3
    assert keys[2] == "mine"


def test_write_without_a_key_is_not_sent_twice(client: Client, faulty: Faulty) -> None:
    faulty.script = [hang_up]
    with pytest.raises(errors.ServerUnavailable):
        client.add_document("Notes", "Some text.")
    assert len(faulty.seen) == 1


def test_write_that_is_still_being_worked_on_is_waited_for(client: Client, faulty: Faulty, pauses: Pauses) -> None:
    faulty.script = [problem(409, "idempotency_in_flight", Retry_After="1"), FACT]
    client.remember_fact("The sky is blue.")
    assert pauses == [1.5]


def test_server_that_never_answers_is_given_up(faulty: Faulty, pauses: Pauses) -> None:
    faulty.script = [silence(faulty)] * 2
    with (
        Client(faulty.url, api_key="k", timeout=0.2, retries=Retries(most=1), sleep=pauses) as client,
        pytest.raises(errors.ServerUnavailable),
    ):
        client.tools()
    assert len(faulty.seen) == 2


def test_nobody_at_the_address(pauses: Pauses) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}"
        with (
            Client(url, api_key="k", timeout=2, sleep=pauses) as client,
            pytest.raises(errors.ServerUnavailable, match=f"{url} did not answer: .*refused"),
        ):
            # Nothing was sent, so that even a write without a key may be tried again.
            client.add_document("Notes", "Some text.")
    assert len(pauses) == 3


@pytest.mark.parametrize("kind", list(errors.all_errors()), ids=lambda kind: kind.code)
def test_every_code_is_an_error_of_the_one_tree(client: Client, faulty: Faulty, kind: type[Any]) -> None:
    faulty.script = [problem(418, kind.code)] + [TOOLS] * (kind is errors.IdempotencyInFlight)
    if kind is errors.IdempotencyInFlight:
        client.tools()
        return
    with pytest.raises(errors.MemoristError) as caught:
        client.tools()
    assert type(caught.value) is kind
    assert caught.value.message == f"It is {kind.code}."
    assert caught.value.field == "content"


def test_inner_error_names_the_request(client: Client, faulty: Faulty) -> None:
    faulty.script = [problem(500, "internal")]
    with pytest.raises(errors.MemoristError, match="req_1"):
        client.tools()


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (answer(b"<html>Sign in</html>"), errors.ServerUnavailable),
        (answer({"unexpected": 1}), errors.ServerUnavailable),
        (answer(b"", 301, Location="/elsewhere"), errors.ServerUnavailable),
        (answer(b"no", 401), errors.Unauthenticated),
        (answer(b"no", 403), errors.Forbidden),
        (answer(b"too large", 413), errors.PayloadTooLarge),
        (answer(b"[1]", 500), errors.ServerUnavailable),
    ],
)
def test_answer_of_something_else_is_told(client: Client, faulty: Faulty, step: Any, kind: type[Exception]) -> None:
    faulty.script = [step]
    with pytest.raises(kind):
        client.tools()


def test_both_clients_take_the_same_steps(faulty: Faulty) -> None:
    waited = []

    async def nap(seconds: float) -> None:
        waited.append(seconds)

    async def main() -> None:
        async with AsyncClient(faulty.url, api_key="k", retries=STEADY, sleep=nap) as client:
            faulty.script = [answer(b"", 503), hang_up, problem(429, "store_busy", Retry_After="2"), TOOLS]
            assert await client.tools() == []
            faulty.script = [problem(404, "not_found")]
            with pytest.raises(errors.NotFound):
                await client.get(new_id("mem"))

    asyncio.run(main())
    assert waited == [0.5, 1.0, 2.5]


def test_steps_of_a_call_need_no_network() -> None:
    steps = exchange(Call("GET", "/x", lambda body: body, reads=True), STEADY)
    next(steps)
    assert steps.send(httpx2.ReadTimeout("slow")) == Wait(0.5)
    next(steps)
    with pytest.raises(StopIteration) as end:
        steps.send(httpx2.Response(200, json=[1], request=httpx2.Request("GET", "http://x/x")))
    assert end.value.value == [1]


@pytest.mark.parametrize("key", ["mst_live_x\n", " mst_live_x", "mst_live_x\r\n"])
def test_what_surrounds_a_key_is_no_part_of_it(faulty: Faulty, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("MEMORIST_API_KEY", key)
    faulty.script = [TOOLS, TOOLS]
    for client in (Client(faulty.url, api_key=key), Client(faulty.url)):
        with client:
            client.tools()
    assert [request.headers["authorization"] for request in faulty.seen] == ["Bearer mst_live_x"] * 2


@pytest.mark.parametrize("kind", [Client, AsyncClient])
@pytest.mark.parametrize("key", ["mst_live_\nsecret", "mst_live_ secret", "mst_live_sécret", "mst_live_secret\x00"])
def test_key_that_cannot_be_sent_is_refused_and_not_quoted(kind: type[Any], key: str) -> None:
    with pytest.raises(errors.Unauthenticated) as caught:
        kind("http://127.0.0.1:9", api_key=key)
    assert "cret" not in caught.value.message


def test_request_that_cannot_be_sent_is_not_quoted_and_not_tried_again() -> None:
    steps = exchange(Call("GET", "/x", lambda body: body, reads=True), STEADY)
    next(steps)
    with pytest.raises(errors.ServerUnavailable) as caught:
        steps.send(httpx2.LocalProtocolError("Illegal header value b'Bearer secret'"))
    assert "secret" not in caught.value.message


# Streams


def test_stream_goes_on_after_the_last_event(client: Client, faulty: Faulty, pauses: Pauses) -> None:
    faulty.script = [
        events(
            "retry: 100\nid: 1\n: hello\n\nevent: token\nid: 2\ndata: a\n\n"
            "id: 3\n: still here\n\nevent: token\ndata: half"
        ),
        hang_up,
        events("event: token\nid: 4\ndata: b\n\nevent: done\nid: 5\ndata: {}\n\n"),
    ]
    found = [(event.event, event.data) for event in client.stream("/v1/turns/1", ends={"done"})]
    assert found == [("token", "a"), ("token", "b"), ("done", "{}")]
    assert [request.headers.get("last-event-id") for request in faulty.seen] == [None, "3", "3"]
    assert pauses == [0.1, 0.5]


def test_stream_begins_after_a_position(client: Client, faulty: Faulty) -> None:
    faulty.script = [events("event: done\ndata: 1\n\n")]
    assert len(list(client.stream("/s", after="41", ends={"done"}))) == 1
    assert faulty.seen[0].headers["last-event-id"] == "41"


def test_stream_of_a_server_that_stays_away_ends_with_an_error(client: Client, faulty: Faulty, pauses: Pauses) -> None:
    faulty.script = [hang_up] * 4
    with pytest.raises(errors.ServerUnavailable):
        list(client.stream("/s"))
    assert len(pauses) == 3


def test_stream_that_is_refused_is_not_tried_again(client: Client, faulty: Faulty) -> None:
    faulty.script = [problem(401, "unauthenticated")]
    with pytest.raises(errors.Unauthenticated):
        list(client.stream("/s"))


def test_awaited_stream_goes_on_after_the_last_event(faulty: Faulty) -> None:
    async def main() -> list[str]:
        async def nap(_: float) -> None: ...

        async with AsyncClient(faulty.url, api_key="k", sleep=nap) as client:
            return [event.data async for event in client.stream("/s", ends={"done"})]

    faulty.script = [events("id: 7\ndata: a\n\n"), answer(b"", 503), events("event: done\ndata: b\n\n")]
    assert asyncio.run(main()) == ["a", "b"]
    assert [request.headers.get("last-event-id") for request in faulty.seen] == [None, "7", "7"]


# Turns

STARTED = 'id: 1\nevent: turn.started\ndata: {"turn_id":"turn_1"}\n\n'
TOKEN = 'id: 2\nevent: token\ndata: {"text":"Hi"}\n\n'
COMPLETED = 'id: 3\nevent: turn.completed\ndata: {"answer":"Hi"}\n\n'


def test_turn_is_taken_once_and_goes_on_after_a_cut(client: Client, faulty: Faulty) -> None:
    faulty.script = [hang_up, events(STARTED + TOKEN), answer(b"", 503), events(COMPLETED)]
    found = [event.event for event in client.turn([{"role": "user", "content": "Hello"}], session="s1")]
    assert found == ["turn.started", "token", "turn.completed"]
    assert [(request.method, request.path) for request in faulty.seen] == [
        ("POST", "/v1/turns"),
        ("POST", "/v1/turns"),
        ("GET", "/v1/turns/turn_1/events"),
        ("GET", "/v1/turns/turn_1/events"),
    ]
    first, second = (request.headers["idempotency-key"] for request in faulty.seen[:2])
    assert first == second
    assert [request.headers.get("last-event-id") for request in faulty.seen] == [None, None, "2", "2"]
    assert b'"stream"' in faulty.seen[0].body


def test_turn_that_cannot_be_taken_is_told(client: Client, faulty: Faulty) -> None:
    faulty.script = [problem(503, "llm_not_configured")]
    with pytest.raises(errors.MemoristError) as caught:
        list(client.turn([Message("user", "Hello")]))
    assert caught.value.code == "llm_not_configured"


def test_events_of_a_turn_that_is_over_end(client: Client, faulty: Faulty) -> None:
    faulty.script = [events(""), events(TOKEN + COMPLETED)]
    assert list(client.turn_events(new_id("turn"), after=3)) == []
    assert [event.seq for event in client.turn_events(new_id("turn"), after=1)] == [2, 3]
    assert faulty.seen[0].headers["last-event-id"] == "3"


def test_awaited_turn_goes_on_after_a_cut(faulty: Faulty) -> None:
    async def main() -> list[int]:
        async def nap(_: float) -> None: ...

        async with AsyncClient(faulty.url, api_key="k", sleep=nap) as client:
            return [event.seq async for event in client.turn([Message("user", "Hello")])]

    faulty.script = [events(STARTED), events(TOKEN + COMPLETED)]
    assert asyncio.run(main()) == [1, 2, 3]


# Changes

BEGUN = "retry: 2000\nid: 0-0\n: following\n\n"
CHANGED = (
    'event: resource_change\nid: 0-1\ndata: {"action":"created","id":"01a1ddf2-ab2f-cbd6-c50d-f38228b7c7c2",'
    '"at":"2026-05-02T14:23:01.000000Z"}\n\n'
)
QUIET = 'event: quiet\nid: 0-1\ndata: {"type":"quiet"}\n\n'


def test_changes_end_when_the_server_says_that_none_comes(client: Client, faulty: Faulty) -> None:
    faulty.script = [events(BEGUN + CHANGED), events(BEGUN + CHANGED + QUIET)]
    assert [change.action for change in client.changes(after="0-0", wait=0.2)] == ["created", "created"]
    assert faulty.seen[0].path == "/v1/events/stream?wait=0.2"
    assert [request.headers["last-event-id"] for request in faulty.seen] == ["0-0", "0-1"]


def test_changes_are_asked_for_as_long_as_is_left_after_a_cut() -> None:
    now = [0.0]
    following = Following(Retries(), "/s", wait=5, ends={"quiet"}, clock=lambda: now[0])
    begun = httpx2.ServerSentEvent(id="0-1", event="message", retry=2000)
    change = httpx2.ServerSentEvent(id="0-2", event="resource_change", data="{}")
    asked = []
    for at, told in ((10, [begun]), (14, [begun, change]), (18, [begun]), (22, [begun])):
        now[0] = at
        asked.append(following.request["params"]["wait"])
        for event in told:
            following.hear(event)
    assert (asked, following.is_over) == ([5, 1, 1, 0], False)


def test_server_that_answers_nothing_has_told_no_changes(faulty: Faulty, pauses: Pauses) -> None:
    faulty.script = [hang_up] * 4
    with Client(faulty.url, api_key="k", sleep=pauses) as client, pytest.raises(errors.ServerUnavailable):
        list(client.changes(wait=0))


def test_changes_of_an_earlier_server_end_with_a_word_that_it_is_there() -> None:
    now = [0.0]
    following = Following(Retries(), "/s", wait=20, ends={"quiet"}, clock=lambda: now[0])
    begun, change, idle = (
        httpx2.ServerSentEvent(id="0-1", event=name, data=data, retry=retry)
        for name, data, retry in (("message", "", 2000), ("resource_change", "{}", None), ("message", "", None))
    )
    heard = []
    for at, event in ((30, begun), (31, change), (46, idle), (61, idle)):
        now[0] = at
        heard.append((following.hear(event), following.is_over))
    assert heard == [(False, False), (True, False), (False, False), (False, True)]


@pytest.mark.parametrize("position", ["", "a\nb", "é"])
def test_changes_after_no_position_are_not_asked_for(client: Client, faulty: Faulty, position: str) -> None:
    with pytest.raises(errors.InvalidCursor):
        list(client.changes(after=position, wait=0))
    assert faulty.seen == []
