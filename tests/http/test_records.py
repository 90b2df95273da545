"""One list of all memories, on both databases, over real HTTP."""

from typing import get_args

import httpx2
import pytest

from memorist.memories.values import Kind, Order, Status
from memorist.platform.values import Role
from memorist.surfaces.http.records import KindName, OrderName, StatusName
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
    assert not {"tenant", "content_hash", "dedup_key"} & rest["data"][0].keys()


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
