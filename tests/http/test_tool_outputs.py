"""Outputs of tools over HTTP, on both databases: kept whole, recalled by what they begin with, and bounded."""

import json
from pathlib import Path

import httpx2
import pytest

from memorist.settings import Settings
from memorist.testing import new_tenant
from tests.http.conftest import Served, serving
from tests.http.test_agent_tools import VALID_KEY, recall, say, store_output
from tests.http.test_refusals import assert_problem


def test_small_tool_output_is_its_own_preview(ada: httpx2.Client) -> None:
    response = store_output(ada, "42 rows")
    assert response.status_code == 201
    stored = response.json()
    assert list(stored) == ["id", "tool_output_key", "preview", "truncated"]
    assert (stored["preview"], stored["truncated"]) == ("42 rows", False)
    assert stored["tool_output_key"] == stored["id"].replace("mem_", "tout_")
    read = ada.post("/v1/tools/read_tool_output", json={"tool_output_key": stored["tool_output_key"]})
    assert read.json() == {
        "tool_output_key": stored["tool_output_key"],
        "tool_call_id": "tool_call_id_xyz",
        "tool_name": "metabase",
        "content": "42 rows",
    }


def test_large_tool_output_is_kept_whole_and_recalled_by_its_preview(ada: httpx2.Client) -> None:
    whole = ("order zebra; " + "".join(f"{number},line; " for number in range(200_000)))[:1_000_000]
    stored = store_output(ada, whole).json()

    assert stored["truncated"] is True
    assert len(stored["preview"]) <= 4000
    assert stored["preview"].startswith("order zebra; 0,line; ")
    assert stored["tool_output_key"] in stored["preview"]
    (item,) = recall(ada, "order zebra")["items"]
    assert item["content"] in stored["preview"]
    assert item["tool_output_key"] == stored["tool_output_key"]
    for key in (stored["tool_output_key"], item["id"], stored["id"]):
        read = ada.post("/v1/tools/read_tool_output", json={"tool_output_key": key})
        assert read.json()["content"] == whole
    part = {"tool_output_key": stored["tool_output_key"], "offset": 500_000, "limit": 100}
    read = ada.post("/v1/tools/read_tool_output", json=part).json()
    assert list(read) == ["tool_output_key", "tool_call_id", "tool_name", "content", "total_characters"]
    assert (read["content"], read["total_characters"]) == (whole[500_000:500_100], 1_000_000)


def test_json_of_a_tool_is_kept_as_json_text(ada: httpx2.Client) -> None:
    for content, kept in (
        ({"rows": [{"name": "zwölf"}]}, '{"rows": [{"name": "zwölf"}]}'),
        ([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], "one\ntwo"),
        ([{"type": "text", "text": "one"}, {"type": "image"}], '[{"type": "text", "text": "one"}, {"type": "image"}]'),
        ([], "[]"),
    ):
        assert store_output(ada, content).json()["preview"] == kept


@pytest.mark.parametrize("content", ["", [{"type": "text", "text": ""}]])
def test_empty_tool_output_is_kept_and_recalled_as_such(ada: httpx2.Client, content: object) -> None:
    response = store_output(ada, content)
    assert response.status_code == 201
    stored = response.json()
    assert (stored["preview"], stored["truncated"]) == ("[The tool returned an empty text.]", False)
    read = ada.post("/v1/tools/read_tool_output", json={"tool_output_key": stored["tool_output_key"]}).json()
    assert (read["tool_call_id"], read["content"]) == ("tool_call_id_xyz", "")
    (item,) = recall(ada, "what did the tool return?", source_kinds=["tool_output"])["items"]
    assert item["content"] == stored["preview"]


def test_tool_output_of_twenty_million_characters_is_kept_whole(by_keyword: Served, tenant: str) -> None:
    whole = "order zebra; " + "ä line of an output that has a lot of them;\n" * 454_546
    whole = whole[:20_000_000]
    with by_keyword.client(tenant) as ada:
        ada.timeout = 120
        stored = store_output(ada, whole)
        assert stored.status_code == 201, stored.text
        key = stored.json()["tool_output_key"]
        read = ada.post("/v1/tools/read_tool_output", json={"tool_output_key": key})
        assert read.json()["content"] == whole
        assert assert_problem(store_output(ada, whole + "x"), 422, "invalid_field")["field"] == "content"


def test_large_body_is_taken_only_where_it_belongs_and_from_those_who_are_known(
    by_keyword: Served, tenant: str
) -> None:
    body = {"tool_call_id": "c", "tool_name": "t", "content": "x" * 1_100_000}
    with by_keyword.client(tenant) as ada:
        assert ada.post("/v1/sessions/s/tool-outputs", json=body).status_code == 201
        in_pieces = iter([json.dumps(body).encode()])
        headers = {"Content-Type": "application/json"}
        assert ada.post("/v1/sessions/a/b/tool-outputs", content=in_pieces, headers=headers).status_code == 201
        assert_problem(ada.post("/v1/sessions/s/messages", json=body), 413, "payload_too_large")
        headers = {"Authorization": "Bearer mst_live_nobody"}
        assert_problem(ada.post("/v1/sessions/s/tool-outputs", json=body, headers=headers), 401, "unauthenticated")


def test_body_over_the_upload_limit_is_refused(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, port=0, embedder="off", reranker="off", upload_limit=2_000_000)
    with serving(settings) as server, server.client(new_tenant()) as ada:
        assert store_output(ada, "x" * 1_900_000).status_code == 201
        assert_problem(store_output(ada, "x" * 2_000_000), 413, "payload_too_large")
        pieces = (b"x" * 65_536 for _ in range(40))
        assert_problem(ada.post("/v1/sessions/s/tool-outputs", content=pieces), 413, "payload_too_large")
        assert store_output(ada, "still there").status_code == 201


def test_tool_output_that_is_not_there_is_not_found(served: Served, tenant: str, ada: httpx2.Client) -> None:
    mine = store_output(ada, "secret rows").json()["tool_output_key"]
    message = say(ada, "s1", "hello").json()["ids"][0].replace("mem_", "tout_")
    with served.client(tenant, user="bob") as bob:
        for client, key in ((ada, VALID_KEY), (ada, message), (ada, "mem_" + message[5:]), (bob, mine)):
            response = client.post("/v1/tools/read_tool_output", json={"tool_output_key": key})
            assert_problem(response, 404, "not_found")
    for key in ("tout_1", "", "../../etc/passwd", "mem_1", "mem_" + mine, "tout_mem_" + mine[5:]):
        response = ada.post("/v1/tools/read_tool_output", json={"tool_output_key": key})
        assert assert_problem(response, 422, "invalid_id")["field"] == "tool_output_key"


def test_retry_of_a_tool_output_is_replayed(ada: httpx2.Client) -> None:
    big = "x" * 10_000
    first, again = (store_output(ada, big, **{"Idempotency-Key": "k1"}) for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert again.headers["idempotency-replayed"] == "true"
    assert_problem(store_output(ada, big + "y", **{"Idempotency-Key": "k1"}), 422, "idempotency_mismatch")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("tool_call_id", ""),
        ("tool_call_id", None),
        ("tool_call_id", "x" * 501),
        ("tool_call_id", "two\nlines"),
        ("tool_name", " "),
        ("tool_name", 5),
        ("content", None),
        ("content", "a\x00b"),
        ("event_time", "noon"),
        ("session", "s2"),
    ],
)
def test_bad_tool_output_is_refused(ada: httpx2.Client, field: str, value: object) -> None:
    body = {"tool_call_id": "c1", "tool_name": "sql", "content": "rows", field: value}
    response = ada.post("/v1/sessions/s1/tool-outputs", json=body)
    assert assert_problem(response, 422, "invalid_field")["field"] == field
