"""Messages of a session over HTTP, on both databases: their order, their parts, and what is refused."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import httpx2
import pytest

from memorist.ids import parse_id
from memorist.platform import validation
from memorist.platform.values import Principal, Role
from memorist.times import from_iso
from tests.http.conftest import Served
from tests.http.test_agent_tools import contents, recall, say, store_output
from tests.http.test_refusals import assert_problem


def test_messages_are_stored_in_their_order(ada: httpx2.Client) -> None:
    response = say(
        ada,
        "s1",
        {"role": "user", "content": "I like tea.", "name": "Ada", "event_time": "2026-05-02T14:23:01Z"},
        {"role": "assistant", "content": "Noted.", "meta": {"model": "m1"}},
    )
    assert response.status_code == 201
    answer = response.json()
    assert list(answer) == ["ids", "session_id", "count"]
    assert (answer["session_id"], answer["count"], len(answer["ids"])) == ("s1", 2, 2)
    assert all(one.startswith("mem_") for one in answer["ids"])
    assert answer["ids"] == sorted(answer["ids"])
    (item,) = recall(ada, "what did Ada like?", source_kinds=["chat_message"], top_k=1)["items"]
    assert (item["source_ref"], item["content"]) == ("s1", "I like tea.")
    assert item["event_time"] == "2026-05-02T14:23:01.000000Z"
    assert parse_id("mem", item["id"]) == answer["ids"][0]


def test_the_offset_of_a_time_is_kept_beside_the_message(served: Served, ada: httpx2.Client, tenant: str) -> None:
    said = {"role": "user", "content": "I like tea.", "event_time": "2026-05-02T08:00:00+09:00", "meta": {"a": 1}}
    (id_,) = say(ada, "s1", said).json()["ids"]
    (row,) = ada.get("/v1/sessions/s1/messages").json()["data"]
    assert (row["id"], row["event_time"], row["meta"]) == (id_, "2026-05-01T23:00:00.000000Z", {"a": 1})
    stored = served.core.memories.get(Principal(tenant, Role.USER, "ada"), id_)
    assert (stored.meta or {})["utc_offset_minutes"] == 540


def test_session_id_may_be_any_word(ada: httpx2.Client) -> None:
    for session in ("chat/42", "größe", "a:b@c?", "%2F"):
        path = httpx2.URL(f"/v1/sessions/{''.join(f'%{byte:02X}' for byte in session.encode())}/messages")
        stored = ada.post(path, json={"messages": [{"role": "user", "content": "tea"}]})
        assert (stored.status_code, stored.json()["session_id"]) == (201, session)


@pytest.mark.parametrize("session", ["with%20space", "x" * 129, "a%00b"])
def test_bad_session_id_is_refused(ada: httpx2.Client, session: str) -> None:
    assert assert_problem(say(ada, session, "hello"), 422, "invalid_field")["field"] == "session_id"
    assert assert_problem(store_output(ada, "rows", session), 422, "invalid_field")["field"] == "session_id"


def test_session_of_the_path_counts_and_not_that_of_the_header(ada: httpx2.Client) -> None:
    say(ada, "s1", "I like tea.", **{"X-Memorist-Session": "s2"})
    assert recall(ada, "tea", {"X-Memorist-Session": "s1"}, scope="session")["total"] == 1
    assert recall(ada, "tea", {"X-Memorist-Session": "s2"}, scope="session")["total"] == 0


@pytest.mark.parametrize("kind", ["text", "input_text", "output_text"])
def test_text_in_parts_is_joined(ada: httpx2.Client, kind: str) -> None:
    parts = [{"type": kind, "text": "I like tea."}, {"type": kind, "text": "With milk.", "cache_control": {"a": 1}}]
    assert say(ada, "s1", {"role": "user", "content": parts}).status_code == 201
    assert contents(recall(ada, "tea")) == ["I like tea.\nWith milk."]


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "data:"}},
        {"type": "tool_use", "id": "t1", "name": "x", "input": {}},
        {"type": "text"},
        {"type": "text", "text": None},
        {"text": "x"},
        {"type": ["text"], "text": "x"},
        "text",
        None,
    ],
)
def test_part_that_is_no_text_is_refused(ada: httpx2.Client, part: object) -> None:
    body = {"role": "user", "content": [{"type": "text", "text": "Look:"}, part]}
    problem = assert_problem(say(ada, "s1", "before", body), 422, "invalid_field")
    assert problem["field"] == "messages.1.content"
    assert "content.1 is not text" in str(problem["detail"])
    assert recall(ada, "before")["items"] == [], "all or none"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("role", None),
        ("role", ""),
        ("role", "two words"),
        ("content", None),
        ("content", ""),
        ("content", []),
        ("content", 5),
        ("content", "x" * (validation.MAX_CONTENT + 1)),
        ("content", "a\x00b"),
        ("name", "two\nlines"),
        ("event_time", "noon"),
        ("event_time", 5),
        ("meta", "text"),
        ("meta", {"a": "\x00"}),
        ("meta", {"a": "x" * 64_001}),
        ("tool_calls", []),
        ("user", "bob"),
    ],
)
def test_bad_message_is_refused_with_its_place(ada: httpx2.Client, field: str, value: object) -> None:
    bad = {"role": "user", "content": "tea", field: value}
    problem = assert_problem(say(ada, "s1", "fine", bad), 422, "invalid_field")
    assert problem["field"] == f"messages.1.{field}"


def test_number_of_messages_is_bounded(by_keyword: Served, tenant: str) -> None:
    with by_keyword.client(tenant) as ada:
        for count in (0, 1001):
            problem = assert_problem(say(ada, "s1", *["tea"] * count), 422, "invalid_field")
            assert problem["field"] == "messages"
        assert say(ada, "s1", *["tea"] * 1000).json()["count"] == 1000


def test_retry_of_messages_stores_nothing_twice(ada: httpx2.Client) -> None:
    first, again = (say(ada, "s1", "tea", "tea", **{"Idempotency-Key": "k1"}) for _ in range(2))
    assert first.json() == again.json()
    assert len(set(first.json()["ids"])) == 2, "a message may be said twice"
    assert again.headers["idempotency-replayed"] == "true"
    assert len(ada.get("/v1/sessions/s1/messages").json()["data"]) == 2
    assert_problem(say(ada, "s2", "tea", "tea", **{"Idempotency-Key": "k1"}), 422, "idempotency_mismatch")


def test_messages_of_one_request_keep_their_order_among_others(by_keyword: Served, tenant: str) -> None:
    with by_keyword.client(tenant) as ada, ThreadPoolExecutor(8) as pool:
        batches = [[f"batch {batch} line {line}" for line in range(20)] for batch in range(16)]
        answers = list(pool.map(lambda lines: say(ada, "s1", *lines), batches))
        assert [answer.status_code for answer in answers] == [201] * 16
        stored = [answer.json()["ids"] for answer in answers]
        assert all(ids == sorted(ids) for ids in stored)
        assert len({one for ids in stored for one in ids}) == 320
        rows = [ada.get(f"/v1/memories/{one}").json() for one in stored[7]]
        assert [row["body"] for row in rows] == batches[7]
        times = [from_iso(row["created_at"]) for row in rows]
        assert times == sorted(times)


def test_messages_of_a_session_are_listed_newest_first(served: Served, tenant: str) -> None:
    with served.client(tenant, user="ada") as ada, served.client(tenant, user="bob") as bob:
        said = [
            {"role": "user", "content": f"line {number}", "name": "Ada", "meta": {"n": number}} for number in range(3)
        ]
        ada.post("/v1/sessions/talk/1/messages", json={"messages": said})
        first = ada.get("/v1/sessions/talk/1/messages", params={"limit": 2}).json()
        assert [row["content"] for row in first["data"]] == ["line 2", "line 1"]
        assert {name: first["data"][0][name] for name in ("role", "name", "meta")} == {
            "role": "user",
            "name": "Ada",
            "meta": {"n": 2},
        }
        rest = ada.get("/v1/sessions/talk/1/messages", params={"cursor": first["next_cursor"]}).json()
        assert [row["content"] for row in rest["data"]] == ["line 0"]
        assert (rest["has_more"], rest["next_cursor"]) == (False, None)
        assert bob.get("/v1/sessions/talk/1/messages").json()["data"] == []
        assert ada.get("/v1/sessions/two%20words/messages").json()["data"] == []
        assert ada.get("/v1/sessions/talk/1/messages", params={"limit": 0}).status_code == 422


# One conversation, whichever agents speak in it


def _in_room(agent: str | None = None, session: str | None = "room") -> dict[str, str]:
    named = {"X-Memorist-User": "sam", "X-Memorist-Agent": agent, "X-Memorist-Session": session}
    return {name: value for name, value in named.items() if value is not None}


def _tell_the_room(service: httpx2.Client) -> str:
    """What an agent hears and is returned in a session, beside what it keeps elsewhere; the key of the output."""
    triage = _in_room("triage", None)
    assert say(service, "room", "My invoice INV-7781 is wrong.", **triage).status_code == 201
    assert say(service, "attic", "Of the invoice INV-7781 nobody else is to know.", **triage).status_code == 201
    note = {"content": "The invoice INV-7781 is a matter of triage.", "session": "room"}
    assert service.post("/v1/records", json=note, headers=triage).status_code == 201
    stored = store_output(service, "The invoice INV-7781 is over 40 EUR.", "room", **triage)
    return str(stored.json()["tool_output_key"])


ROOM = {"My invoice INV-7781 is wrong.", "The invoice INV-7781 is over 40 EUR."}


def _read(client: httpx2.Client, key: str, headers: dict[str, str]) -> int:
    body = {"tool_output_key": key}
    return client.post("/v1/tools/read_tool_output", json=body, headers=headers).status_code


@pytest.mark.parametrize("agent", ["triage", None, "billing"])
def test_session_is_one_conversation_whichever_agents_speak_in_it(
    by_keyword: Served, tenant: str, agent: str | None
) -> None:
    with by_keyword.client(tenant, Role.SERVICE, None) as service:
        key = _tell_the_room(service)
        asked = partial(recall, service, "invoice INV-7781", top_k=20, min_score=0)
        assert set(contents(asked(_in_room(agent), scope="session"))) == ROOM
        shown = set(contents(asked(_in_room(agent))))
        assert shown >= ROOM
        assert agent == "triage" or shown == ROOM, "nothing else of another agent's comes with it"
        assert _read(service, key, _in_room(agent)) == 200
        for headers in (_in_room(agent), _in_room(agent, None)):
            rows = service.get("/v1/sessions/room/messages", headers=headers).json()["data"]
            assert [row["content"] for row in rows] == ["My invoice INV-7781 is wrong."]
        assert service.get(f"/v1/records/{rows[0]['id']}", headers=_in_room(agent)).status_code == 200
        composed = service.post("/v1/context", json={"question": "invoice INV-7781"}, headers=_in_room(agent)).json()
        assert all(line in composed["text"] for line in ROOM)
        assert agent == "triage" or "nobody else" not in composed["text"]


def test_other_sessions_and_memories_of_an_agent_stay_its_own(by_keyword: Served, tenant: str) -> None:
    with by_keyword.client(tenant, Role.SERVICE, None) as service:
        key = _tell_the_room(service)
        for agent in (None, "billing"):
            for session in (None, "cellar"):
                found = recall(service, "invoice INV-7781", _in_room(agent, session), top_k=20, min_score=0)
                assert contents(found) == []
            listed = service.get("/v1/records", params={"session": "room"}, headers=_in_room(agent)).json()["data"]
            assert listed == []
        for session in (None, "attic"):
            assert _read(service, key, _in_room("billing", session)) == 404
        (said,) = service.get("/v1/sessions/room/messages", headers=_in_room("triage")).json()["data"]
        deleted = service.delete(f"/v1/records/{said['id']}", headers=_in_room("billing"))
        assert_problem(deleted, 403, "forbidden")
        other = {**_in_room("billing"), "X-Memorist-User": "eve"}
        assert contents(recall(service, "invoice INV-7781", other, top_k=20, min_score=0)) == []
        assert _read(service, key, other) == 404
        assert service.get("/v1/sessions/room/messages", headers=other).json()["data"] == []


def test_key_of_an_agent_stays_within_it_in_every_session(by_keyword: Served, tenant: str) -> None:
    with by_keyword.client(tenant, Role.SERVICE, None) as service:
        key = _tell_the_room(service)
    in_room = {"X-Memorist-Session": "room"}
    for secret in (
        by_keyword.key(tenant, Role.USER, "sam", "billing"),
        by_keyword.token(tenant, Role.USER, "sam", "billing"),
    ):
        with httpx2.Client(base_url=by_keyword.url, headers={"Authorization": f"Bearer {secret}"}) as bound:
            for scope in ("session", "any"):
                assert contents(recall(bound, "invoice INV-7781", in_room, scope=scope, min_score=0)) == []
            assert _read(bound, key, in_room) == 404
            assert bound.get("/v1/sessions/room/messages", headers=in_room).json()["data"] == []
    with by_keyword.client(tenant, user="sam") as sam:
        named = {**in_room, "X-Memorist-Agent": "billing"}
        assert _read(sam, key, named) == 200, "a user who merely names an agent is in its own conversation"
