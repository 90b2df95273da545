"""The native door, on both databases, over real HTTP."""

from dataclasses import fields
from typing import Any, get_args

import httpx2
import pytest

from memorist.memories.values import Kind, Memory, Order, Status
from memorist.platform.values import Role
from memorist.surfaces.http.native import KindName, OrderName, StatusName
from memorist.surfaces.http.responses import WHOLE
from tests.http.conftest import Served
from tests.http.test_refusals import assert_problem


def remember_three(client: httpx2.Client) -> None:
    client.post("/v1/tools/remember_fact", json={"content": "Rex lives in Rome."}).raise_for_status()
    client.post("/v1/memory", json={"text": "To run a marathon.", "category": "goal"}).raise_for_status()
    named = {"type": "user", "name": "who", "body": "An engineer."}
    client.post("/v1/memories", json=named).raise_for_status()


def test_memories_of_every_api_are_listed_newest_first_page_by_page(ada: httpx2.Client) -> None:
    remember_three(ada)
    first = ada.get("/v1/records", params={"limit": 2}).json()
    assert [row["content"] for row in first["data"]] == ["An engineer.", "To run a marathon."]
    assert first["has_more"] is True
    rest = ada.get("/v1/records", params={"limit": 2, "cursor": first["next_cursor"]}).json()
    assert [row["content"] for row in rest["data"]] == ["Rex lives in Rome."]
    assert (rest["has_more"], rest["next_cursor"]) == (False, None)
    assert {field.name for field in fields(Memory)} - {"owner"} <= rest["data"][0].keys()


def test_rows_are_as_the_reference_says(served: Served, ada: httpx2.Client) -> None:
    remember_three(ada)
    schema = httpx2.get(f"{served.url}/openapi.json").json()["components"]["schemas"]["MemoryRecord"]
    for row in ada.get("/v1/records").json()["data"]:
        assert row.keys() == schema["properties"].keys()


def test_version_of_a_row_is_its_etag(ada: httpx2.Client) -> None:
    remember_three(ada)
    row = ada.get("/v1/records", params={"named": True}).json()["data"][0]
    assert ada.get(f"/v1/memories/{row['id']}").headers["etag"] == f'"{row["version"]}"'


def test_every_word_of_the_core_is_known_here() -> None:
    for words, known in ((KindName, Kind), (StatusName, Status), (OrderName, Order)):
        assert get_args(words) == tuple(known)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"kind": "dream"}, "kind"),
        ({"status": "gone"}, "status"),
        ({"order": "importance"}, "order"),
        ({"order": "random"}, "order"),
        ({"limit": 0}, "limit"),
        ({"limit": 101}, "limit"),
        ({"named": "maybe"}, "named"),
        ({"agent": "two words"}, "agent"),
    ],
)
def test_wrong_questions_are_refused(ada: httpx2.Client, query: dict[str, str], field: str) -> None:
    response = ada.get("/v1/records", params=query)
    assert_problem(response, 422, "invalid_field")
    assert response.json()["field"] == field


def test_cursor_of_another_question_is_refused(ada: httpx2.Client) -> None:
    remember_three(ada)
    cursor = ada.get("/v1/records", params={"limit": 1}).json()["next_cursor"]
    response = ada.get("/v1/records", params={"cursor": cursor, "named": True})
    assert response.json()["code"] == "invalid_cursor"


def test_nobody_lists_without_a_key_or_for_others(served: Served, ada: httpx2.Client, tenant: str) -> None:
    remember_three(ada)
    assert httpx2.get(f"{served.url}/v1/records").status_code == 401
    assert ada.get("/v1/records", headers={"X-Memorist-User": "bob"}).status_code == 403
    with served.client(tenant, Role.USER, "bob") as bob:
        assert bob.get("/v1/records").json()["data"] == []


# One memory

EVERY_FIELD: dict[str, Any] = {
    "content": "We chose SQLite.",
    "kind": "fact",
    "category": "project",
    "name": "chosen",
    "description": "One line",
    "excerpt": "chose",
    "importance": 7,
    "confidence": 0.5,
    "relevance": 0.25,
    "meta": {"a": [1, None]},
    "source_ref": "elsewhere",
    "trust": "tool",
    "project": "/work",
    "session": "s1",
    "retention": "policy",
    "event_time": "2024-05-06T07:08:09.000000Z",
}


def remember(client: httpx2.Client, **fields: Any) -> dict[str, Any]:
    response = client.post("/v1/records", json={"content": "A text.", **fields})
    assert response.status_code == 201, response.text
    memory: dict[str, Any] = response.json()["memory"]
    return memory


def test_every_field_that_is_written_is_read(ada: httpx2.Client) -> None:
    written = remember(ada, **EVERY_FIELD, ttl=86400, owner={"user": "ada", "agent": "coder"})
    read = ada.get(f"/v1/records/{written['id']}")
    assert {name: read.json()[name] for name in EVERY_FIELD} == EVERY_FIELD
    assert (read.json()["user"], read.json()["agent"]) == ("ada", "coder")
    assert read.json()["expires_at"] is not None
    assert read.headers["etag"] == f'"{written["version"]}"'
    again = ada.get(f"/v1/records/{written['id']}", headers={"If-None-Match": read.headers["etag"]})
    assert again.status_code == 304


def test_text_alone_is_stored_as_the_library_stores_it(ada: httpx2.Client) -> None:
    memory = remember(ada)
    assert (memory["trust"], memory["kind"], memory["retention"]) == ("user", "fact", "keep")
    assert ada.get("/v1/jobs").json()["data"] == []


def test_edit_applies_to_the_version_that_was_read(ada: httpx2.Client) -> None:
    memory = remember(ada, description="When", project="/a")
    path, tag = f"/v1/records/{memory['id']}", {"If-Match": f'"{memory["version"]}"'}
    changed = ada.patch(path, json={"content": "Other.", "description": None}, headers=tag)
    assert (changed.json()["content"], changed.json()["description"], changed.json()["project"]) == (
        "Other.",
        None,
        "/a",
    )
    assert_problem(ada.patch(path, json={"content": "Third."}, headers=tag), 412, "stale_version")
    assert_problem(ada.request("DELETE", path, headers=tag), 412, "stale_version")


def test_memory_is_forgotten_restored_and_archived(ada: httpx2.Client) -> None:
    path = f"/v1/records/{remember(ada)['id']}"
    assert ada.delete(path).json()["status"] == "soft_deleted"
    assert_problem(ada.get(path), 404, "not_found")
    assert ada.post(f"{path}/restore").json()["status"] == "active"
    assert ada.post(f"{path}/archive").json()["status"] == "archived"
    assert_problem(ada.post(f"{path}/archive"), 409, "illegal_transition")
    events = [event["event_type"] for event in ada.get(f"{path}/events").json()["data"]]
    assert events == ["created", "deleted", "restored", "archived"]


def test_write_under_the_same_key_has_one_effect(ada: httpx2.Client) -> None:
    body = {"content": "Said twice.", "kind": "chat_message"}
    first, again = (ada.post("/v1/records", json=body, headers={"Idempotency-Key": "k"}) for _ in range(2))
    assert first.json()["memory"]["id"] == again.json()["memory"]["id"]
    assert (first.json()["replayed"], again.json()["replayed"]) == (False, True)
    assert again.headers["idempotency-replayed"] == "true"


def test_many_are_stored_all_or_none(ada: httpx2.Client) -> None:
    stored = ada.post("/v1/records/batch", json={"records": [{"content": "One."}, {"content": "One."}]})
    assert [row["was_new"] for row in stored.json()["data"]] == [True, False]
    refused = ada.post("/v1/records/batch", json={"records": [{"content": "Two."}, {"content": " "}]})
    assert_problem(refused, 422, "invalid_field")
    assert len(ada.get("/v1/records").json()["data"]) == 1


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"content": "A text.", "color": "red"}, "color"),
        ({"content": "A text.", "same_as": ""}, "same_as"),
        ({"content": 5}, "content"),
        ({}, "content"),
        ({"content": "A text.", "kind": "dream"}, "kind"),
        ({"content": "A text.", "importance": "high"}, "importance"),
        ({"content": "A text.", "event_time": "yesterday"}, "event_time"),
        ({"content": "A text.", "ttl": -1}, "ttl"),
        ({"content": "A text.", "ttl": 1e300}, "ttl"),
        ({"content": "A text.", "owner": {"name": "ada"}}, "owner.name"),
    ],
)
def test_wrong_memories_are_refused(ada: httpx2.Client, body: Any, field: str) -> None:
    response = ada.post("/v1/records", json=body)
    assert_problem(response, 422, "invalid_field")
    assert response.json()["field"] == field


def test_question_takes_every_option(ada: httpx2.Client) -> None:
    found = remember(ada, content="The office is in Lisbon.", category="place")
    remember(ada, content="The office has a cat.")
    asked = {"query": "Where is the office?", "category": "place", "source_kinds": ["fact"], "explain": True}
    answer = ada.post("/v1/records/recall", json=asked).json()
    assert [hit["memory"]["id"] for hit in answer["hits"]] == [found["id"]]
    assert answer["hits"][0]["explanation"]
    response = ada.post("/v1/records/recall", json={"query": "x", "top_k": 1000})
    assert_problem(response, 422, "invalid_field")


# Everything


def test_export_goes_in_again_part_by_part(ada: httpx2.Client) -> None:
    for number in range(3):
        remember(ada, content=f"Text {number}.\u2028")
    header, *rows, end = ada.get("/v1/records/export").text.removesuffix("\n").split("\n")
    for part, count in (
        ({"kinds": ["fact", "chat_message"]}, 3),
        ({"kinds": "tool_output"}, 0),
        ({"until": "2020-01-01T00:00:00Z"}, 0),
    ):
        assert ada.get("/v1/records/export", params=part).text.count("\n") == 2 + count
    for part in ({"kinds": "dream"}, {"since": "yesterday"}):
        assert_problem(ada.get("/v1/records/export", params=part), 422, "invalid_field")
    assert ada.post("/v1/records/reset").json() == {"erased": 3}
    first = ada.post("/v1/records/import", json={"lines": [header, *rows[:2]]})
    rest = ada.post("/v1/records/import", json={"lines": [header, rows[2], end]}, params={"after": 2})
    assert (first.json()["imported"], rest.json()["imported"]) == (2, 1)
    assert (first.json()["incomplete"], rest.json()["incomplete"]) == (1, 0)
    refused = ada.post("/v1/records/import", json={"lines": [header, "{}"]}, params={"after": 7})
    assert "Line 9" in refused.json()["detail"]
    refused = ada.post("/v1/records/import", json={"lines": [header, "{}"]}, params={"after": 10_000_000})
    assert "Line 10000002" in refused.json()["detail"]


def test_index_is_finished_by_who_writes(served: Served, tenant: str) -> None:
    with served.client(tenant, Role.READER) as reader, served.client(tenant) as ada:
        assert_problem(reader.post("/v1/records/index"), 403, "forbidden")
        assert ada.post("/v1/records/index").json() == {"waiting": 0}


def test_erasure_has_a_receipt_that_can_be_verified(ada: httpx2.Client) -> None:
    nothing = ada.post("/v1/records/erase", json={"ids": []})
    assert assert_problem(nothing, 422, "invalid_field")["field"] == "ids"
    memory = remember(ada)
    receipt = ada.post("/v1/records/erase", json={"ids": [memory["id"]]}).json()
    assert receipt["counts"]["memories"] == 1
    assert ada.post(f"/v1/receipts/{receipt['id']}/verify").json()["ok"] is True
    remember(ada)
    assert ada.post("/v1/records/purge", json={}).json()["counts"]["memories"] == 1


def test_whole_value_comes_where_it_is_asked_for(ada: httpx2.Client) -> None:
    whole = {"Accept": WHOLE}
    stored = ada.post("/v1/documents", json={"title": "Notes", "content": "Cats purr."}, headers=whole).json()
    assert stored["document"]["content"] == "Cats purr."
    removed = ada.delete(f"/v1/documents/{stored['document']['id']}", headers=whole)
    assert removed.headers["content-type"] == WHOLE
    assert removed.json()["user"] == "ada"
    ada.post("/v1/documents", json={"title": "Notes", "content": "Cats.", "document_id": "d"})
    assert ada.delete("/v1/documents/d").status_code == 204


# Others


@pytest.mark.parametrize(
    ("method", "below"),
    [("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/archive"), ("POST", "/restore"), ("GET", "/events")],
)
def test_memory_of_somebody_else_is_not_found(
    served: Served, ada: httpx2.Client, tenant: str, method: str, below: str
) -> None:
    path = f"/v1/records/{remember(ada)['id']}{below}"
    body = {"content": "Mine."} if method == "PATCH" else None
    with served.client(tenant, Role.USER, "bob") as bob:
        assert_problem(bob.request(method, path, json=body), 404, "not_found")
        assert_problem(bob.post("/v1/records/erase", json={"ids": [path.split("/")[3]]}), 404, "not_found")
        assert bob.get("/v1/records/export").text.count("\n") == 2
        assert_problem(bob.post("/v1/records/purge", json={"user": "ada"}), 403, "forbidden")
        assert_problem(bob.post("/v1/admin/retention/sweep"), 403, "forbidden")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/records"),
        ("POST", "/v1/records/batch"),
        ("POST", "/v1/records/extract"),
        ("POST", "/v1/records/import"),
        ("POST", "/v1/records/reset"),
        ("POST", "/v1/facts"),
    ],
)
def test_readers_write_nothing(served: Served, tenant: str, method: str, path: str) -> None:
    bodies: dict[str, Any] = {
        "/v1/records/batch": {"records": [{"content": "A text."}]},
        "/v1/records/extract": {"transcript": "User: I decided to use PostgreSQL."},
        "/v1/records/import": {"lines": ['{"format":"memorist-export","version":1}']},
        "/v1/records/reset": None,
    }
    with served.client(tenant, Role.READER, "ada") as reader:
        response = reader.request(method, path, json=bodies.get(path, {"content": "A text."}))
        assert_problem(response, 403, "forbidden")


def test_key_says_whom_it_acts_as(served: Served, tenant: str) -> None:
    with served.client(tenant, Role.SERVICE, None) as service:
        found = service.get("/v1/principal", headers={"X-Memorist-User": "bob"}).json()
    assert (found["tenant"], found["role"], found["user"]) == (tenant, "service", "bob")
