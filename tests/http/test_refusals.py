"""Whatever is sent, the answer is a clear problem with a code, never a crash, and nothing is lost."""

import gzip
import json
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from memorist.errors import StoreUnavailable
from memorist.platform import validation
from memorist.platform.values import Role
from memorist.settings import Settings
from memorist.surfaces.http.native import NewRecords
from memorist.surfaces.http.native_bulk import ExportedLines, MemoryIds
from memorist.surfaces.http.turns import NewTurn
from tests.http.conftest import Served, new_memory, serving

VALID_ID = "mem_01J9Z3K4M5N6P7Q8R9S0T1V2W3"


def assert_problem(response: httpx2.Response, status: int, code: str) -> dict[str, object]:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    problem: dict[str, object] = response.json()
    assert {"type", "title", "status", "detail", "code", "request_id"} <= set(problem)
    assert (problem["status"], problem["code"]) == (status, code)
    assert problem["type"] == f"/docs/errors#{code}"
    assert problem["request_id"] == response.headers["x-request-id"]
    assert "Traceback" not in response.text
    return problem


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 422, "invalid_field"),
        (b"{", 400, "invalid_json"),
        (b"nonsense", 400, "invalid_json"),
        (b'{"type": "user", "name": "n", "body": "\xff"}', 400, "invalid_json"),
        (b"[" * 100_000, 400, "invalid_json"),
        (b"[]", 422, "invalid_field"),
        (b"null", 422, "invalid_field"),
        (b'"text"', 422, "invalid_field"),
        (b'{"type": "user", "name": "n", "body": "\\ud800"}', 422, "invalid_field"),
        (b'{"type": "user", "name": "n", "body": "a\\u0000b"}', 422, "invalid_field"),
        (b'{"type": "user", "name": "n", "body": "b", "\\ud800": 1}', 422, "invalid_field"),
        (b'{"type": "user", "name": "n", "body": "b", "importance": 1e999}', 422, "invalid_field"),
        (b'{"type": "user", "name": "n", "body": "b", "importance": NaN}', 422, "invalid_field"),
    ],
)
def test_malformed_body_is_refused(ada: httpx2.Client, body: bytes, status: int, code: str) -> None:
    response = ada.post("/v1/memories", content=body, headers={"Content-Type": "application/json"})
    assert_problem(response, status, code)


def test_header_that_is_sent_twice_says_one_thing(served: Served, tenant: str) -> None:
    keys = [f"Bearer {served.key(tenant, Role.SERVICE, None)}" for _ in range(2)]
    sent = {
        "Authorization": keys,
        "X-Memorist-User": ["ada", "bob"],
        "X-Memorist-Agent": ["coder", "default"],
        "X-Memorist-Session": ["s1", "s2"],
        "Idempotency-Key": ["k1", "k2"],
    }
    always = [("Authorization", keys[0]), ("X-Memorist-User", "ada")]
    with httpx2.Client(base_url=served.url, timeout=30) as client:
        for name, (one, other) in sent.items():
            rest = [pair for pair in always if pair[0] != name]
            told = client.post("/v1/memories", json=new_memory(), headers=[*rest, (name, one), (name, other)])
            problem = assert_problem(told, 400, "invalid_request")
            assert problem["field"] == name.lower()
            assert problem["detail"] == f"The header {name.lower()} is sent twice, with different values. Send one."
        assert client.get("/v1/memories", headers=always).json()["data"] == []
        doubled = [(name, one) for name, (one, _) in sent.items() for _ in range(2)]
        assert client.post("/v1/memories", json=new_memory(), headers=doubled).status_code == 201


@pytest.mark.parametrize("sent_as", ["text/plain", "application/x-www-form-urlencoded", "text/json; charset=utf-8"])
@pytest.mark.parametrize("path", ["/v1/memories", "/v1/tools/recall"])
def test_json_that_is_sent_as_something_else_is_told_which_header_to_send(
    ada: httpx2.Client, path: str, sent_as: str
) -> None:
    body = json.dumps({"type": "user", "name": "n", "body": "b"})
    problem = assert_problem(ada.post(path, content=body, headers={"Content-Type": sent_as}), 422, "invalid_field")
    assert problem["field"] == "body"
    assert "Content-Type: application/json" in str(problem["detail"])


@pytest.mark.parametrize("path", ["/v1/memories", "/v1/tools/recall"])
def test_json_that_is_no_object_is_told_so(ada: httpx2.Client, path: str) -> None:
    problem = assert_problem(ada.post(path, json=["text"]), 422, "invalid_field")
    assert (problem["field"], problem["detail"]) == ("body", "body: Input should be a JSON object")


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/memory/add", {"content": "a", "metadata": ["b"]}, "metadata"),
        ("/v1/records", {"content": "a", "owner": "ada"}, "owner"),
        ("/v1/sessions/s/messages", {"messages": ["Hello."]}, "messages.0"),
        ("/v1/sessions/s/messages", {"messages": [{"role": "user", "content": "a", "meta": 5}]}, "messages.0.meta"),
    ],
)
def test_field_that_is_no_object_is_told_so_in_words_of_json(
    ada: httpx2.Client, path: str, body: dict[str, object], field: str
) -> None:
    problem = assert_problem(ada.post(path, json=body), 422, "invalid_field")
    assert (problem["field"], problem["detail"]) == (field, f"{field}: Input should be a JSON object")


@pytest.mark.parametrize(
    ("path", "body", "fields"),
    [
        ("/v1/documents", {"title": 5}, ["title"]),
        (
            "/v1/sessions/s/messages",
            {"messages": [{"role": "user"}, {"content": "a"}]},
            ["messages.0.content", "messages.1.role"],
        ),
        ("/v1/memories", {"type": "user", "name": "n", "body": "b", "str": 1}, ["str"]),
    ],
)
def test_refused_field_is_named_as_it_was_sent(
    ada: httpx2.Client, path: str, body: dict[str, object], fields: list[str]
) -> None:
    problem = ada.post(path, json=body).json()
    assert [one["field"] for one in problem["errors"]] == fields


@pytest.mark.parametrize(
    ("body", "field"),
    [(NewRecords, "records"), (ExportedLines, "lines"), (MemoryIds, "ids"), (NewTurn, "messages")],
)
def test_long_list_is_refused_before_all_of_it_is_looked_at(body: type[BaseModel], field: str) -> None:
    """Each wrong item is another error, and nobody else is served while they are made."""
    with pytest.raises(ValidationError) as refused:
        body.model_validate({field: [0] * 100_000})
    assert refused.value.error_count() <= 1


def test_most_names_that_there_are_not_are_not_even_told() -> None:
    with pytest.raises(ValidationError) as refused:
        NewTurn.model_validate({**{f"unknown{number}": 0 for number in range(10_000)}, "messages": 5})
    told = [one["loc"][0] for one in refused.value.errors()]
    assert (told[0], told[1:]) == ("messages", [f"unknown{number}" for number in range(20)])


@pytest.mark.parametrize(
    ("path", "field"),
    [("/v1/records/batch", "records"), ("/v1/records/erase", "ids"), ("/v1/turns", "messages")],
)
def test_list_that_is_too_long_is_named(ada: httpx2.Client, path: str, field: str) -> None:
    answer = ada.post(path, json={field: [0] * 2000})
    problem = assert_problem(answer, 400 if path == "/v1/turns" else 422, "invalid_field")
    assert problem["field"] == field
    assert "at most 1000" in str(problem["detail"])


def test_argument_of_a_tool_is_refused_at_its_first_wrong_item(ada: httpx2.Client) -> None:
    question = {"query": "x", "source_kinds": [0] * 100_000}
    for path in ("/v1/tools/recall", "/v1/records/recall"):
        problem = assert_problem(ada.post(path, json=question), 422, "invalid_field")
        assert problem["field"] == "source_kinds.0"
        assert len(problem.get("errors", [])) <= 1  # type: ignore[arg-type]


def test_large_body_of_who_only_reads_is_not_read(served: Served, tenant: str) -> None:
    """It is announced, and never sent: who waited for it would never answer."""
    key = served.key(tenant, Role.READER, "ada")
    host, port = served.url.removeprefix("http://").split(":")
    head = (
        f"POST /v1/records/import HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nContent-Length: {10**8}\r\n\r\n"
    )
    with socket.create_connection((host, int(port)), timeout=20) as raw:
        raw.sendall(head.encode())
        assert raw.recv(12) == b"HTTP/1.1 403"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("type", "goal"),
        ("type", None),
        ("type", 1),
        ("name", ""),
        ("name", "Not a slug"),
        ("name", "a" * 129),
        ("name", "ünïcode"),
        ("name", "../etc/passwd"),
        ("name", 5),
        ("description", "two\nlines"),
        ("description", "d" * (validation.MAX_LINE + 1)),
        ("description", ["a"]),
        ("body", ""),
        ("body", "   \n"),
        ("body", {"text": "x"}),
        ("body", "b" * (validation.MAX_CONTENT + 1)),
        ("importance", "1"),
        ("importance", 1.5),
        ("importance", True),
        ("importance", 2**31),
        ("importance", -(2**40)),
        ("profile_id", ""),
        ("profile_id", "with space"),
        ("profile_id", "x" * 129),
        ("profile_id", "a\x00b"),
        ("tenant_id", "other"),
        ("user_id", "bob"),
        ("unknown", "field"),
    ],
)
def test_bad_field_is_named_in_the_words_of_the_api(ada: httpx2.Client, field: str, value: object) -> None:
    problem = assert_problem(ada.post("/v1/memories", json=new_memory() | {field: value}), 422, "invalid_field")
    assert problem["field"] == field
    assert field in str(problem["detail"])


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/v1/memories?limit=0", 422, "invalid_field"),
        ("/v1/memories?limit=101", 422, "invalid_field"),
        ("/v1/memories?limit=ten", 422, "invalid_field"),
        ("/v1/memories?sort=random", 422, "invalid_field"),
        ("/v1/memories?type=goal", 422, "invalid_field"),
        ("/v1/memories?profile_id=%00", 422, "invalid_field"),
        ("/v1/memories?profile_id=", 422, "invalid_field"),
        ("/v1/memories?cursor=abc", 400, "invalid_cursor"),
        ("/v1/memories?cursor=%F0%9F%92%A9", 400, "invalid_cursor"),
        ("/v1/memories?cursor=WzEsMiwzXQ", 400, "invalid_cursor"),
        ("/v1/memories/mem_1", 422, "invalid_id"),
        ("/v1/memories/nonsense", 422, "invalid_id"),
        ("/v1/memories/%00", 422, "invalid_id"),
        (f"/v1/memories/{VALID_ID}x", 422, "invalid_id"),
        (f"/v1/memories/{VALID_ID}", 404, "not_found"),
        ("/v1/memories/11111111-2222-3333-4444-555555555555", 404, "not_found"),
        ("/v1/nothing", 404, "not_found"),
        ("/%ff%fe", 404, "not_found"),
    ],
)
def test_bad_address_is_refused(ada: httpx2.Client, path: str, status: int, code: str) -> None:
    assert_problem(ada.get(path), status, code)


@pytest.mark.parametrize("authorization", [None, "", "Bearer", "Bearer x", "Basic abc", "Bearer mst_live_" + "0" * 72])
def test_request_without_a_valid_key_is_refused(served: Served, authorization: str | None) -> None:
    headers = {} if authorization is None else {"Authorization": authorization}
    for method, path in [
        ("GET", "/v1/memories"),
        ("POST", "/v1/memories"),
        ("GET", "/v1/memories/section"),
        ("GET", f"/v1/memories/{VALID_ID}"),
        ("PATCH", f"/v1/memories/{VALID_ID}"),
        ("DELETE", f"/v1/memories/{VALID_ID}"),
    ]:
        body = new_memory() if method == "POST" else {"body": "x"} if method == "PATCH" else None
        response = httpx2.request(method, f"{served.url}{path}", headers=headers, json=body)
        assert_problem(response, 401, "unauthenticated")
        assert response.headers["www-authenticate"].startswith("Bearer")


def test_other_methods_are_refused_with_those_that_are_taken(ada: httpx2.Client) -> None:
    response = ada.put("/v1/memories", json={})
    assert_problem(response, 405, "method_not_allowed")
    assert response.headers["allow"] == "GET, POST"
    assert ada.post(f"/v1/memories/{VALID_ID}").headers["allow"] == "DELETE, GET, PATCH"


@pytest.mark.parametrize("user", ["with space", "x" * 129, "a\tb", b"\xff\xfe"])
def test_header_that_names_nobody_is_refused(ada: httpx2.Client, user: str | bytes) -> None:
    assert_problem(ada.get("/v1/memories", headers={"X-Memorist-User": user}), 422, "invalid_field")


@pytest.mark.parametrize("key", ["", "k" * 256])
def test_bad_idempotency_key_is_refused(ada: httpx2.Client, key: str) -> None:
    response = ada.post("/v1/memories", json=new_memory(), headers={"Idempotency-Key": key})
    assert_problem(response, 422, "invalid_field")


def test_body_over_the_limit_is_refused_with_and_without_a_length(ada: httpx2.Client) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(20):
            yield b"x" * 65_536

    assert_problem(ada.post("/v1/memories", content=b"x" * 1_100_000), 413, "payload_too_large")
    assert_problem(ada.post("/v1/memories", content=chunks()), 413, "payload_too_large")
    assert ada.get("/v1/memories").status_code == 200


@pytest.mark.parametrize(
    "path", ["/v1/memories", "/memory/add", "/v1/memory", "/api/memory/store", "/v1/records", "/mcp"]
)
def test_compressed_body_is_told_that_it_is(ada: httpx2.Client, path: str) -> None:
    body = gzip.compress(json.dumps(new_memory()).encode())
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    response = ada.post(path, content=body, headers=headers)
    problem = assert_problem(response, 415, "unsupported_encoding")
    assert "Content-Encoding" in str(problem["detail"])
    assert response.headers["accept-encoding"] == "identity"


def test_plain_body_may_say_that_it_is_one(ada: httpx2.Client) -> None:
    told = ada.post("/v1/memories", json=new_memory(), headers={"Content-Encoding": "identity"})
    assert told.status_code == 201


def test_body_of_the_limit_is_read(ada: httpx2.Client) -> None:
    body = json.dumps(new_memory()).encode()
    padded = body + b" " * (1_048_576 - len(body))
    assert ada.post("/v1/memories", content=padded, headers={"Content-Type": "application/json"}).status_code == 201


def test_request_id_is_echoed_where_it_is_harmless(ada: httpx2.Client) -> None:
    assert ada.get("/v1/memories", headers={"X-Request-Id": "abc-1"}).headers["x-request-id"] == "abc-1"
    hostile = ada.get("/v1/memories", headers={"X-Request-Id": "a b<script>"}).headers["x-request-id"]
    assert hostile.startswith("req_")


def test_garbage_on_the_socket_does_not_hurt_the_next_request(served: Served, ada: httpx2.Client) -> None:
    host, port = served.url.removeprefix("http://").split(":")
    for garbage in (b"\x00\x01\x02\r\n\r\n", b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n", b"POST /v1"):
        with socket.create_connection((host, int(port)), timeout=5) as raw:
            raw.sendall(garbage)
    assert ada.get("/v1/memories").status_code == 200


def test_database_that_went_away_is_a_503_with_a_code(tmp_path: Path) -> None:
    with serving(Settings(data=tmp_path, port=0)) as server, server.client("t1") as client:
        assert client.get("/readyz").status_code == 200
        server.core.store.close()

        for response in (
            client.get("/v1/memories"),
            client.post("/v1/memories", json=new_memory()),
            client.get("/readyz"),
        ):
            assert_problem(response, 503, "store_unavailable")
        assert client.get("/healthz").status_code == 200


def test_database_that_cannot_tell_of_its_trouble_is_warned_of_and_not_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse() -> str:
        raise StoreUnavailable("connection to server at db-7.internal failed")

    with serving(Settings(data=tmp_path, port=0)) as server:
        monkeypatch.setattr(server.core.store, "trouble", refuse)
        answer = httpx2.get(f"{server.url}/readyz")
    assert (answer.status_code, answer.json()["status"], len(answer.json()["warnings"])) == (200, "ready", 1)
    assert "db-7" not in answer.text
    assert "db-7" in caplog.text


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
FIELDS = st.sampled_from(["type", "name", "description", "body", "importance", "profile_id", "meta", "id"])


@hypothesis_settings(max_examples=150)
@given(changes=st.dictionaries(FIELDS, JSON_VALUES, max_size=4), method=st.sampled_from(["POST", "PATCH"]))
def test_no_body_ever_breaks_the_server(ada: httpx2.Client, changes: dict[str, object], method: str) -> None:
    path = "/v1/memories" if method == "POST" else f"/v1/memories/{VALID_ID}"
    body = json.dumps(new_memory() | changes if method == "POST" else changes).encode("utf-8", "surrogatepass")
    response = ada.request(method, path, content=body, headers={"Content-Type": "application/json"})
    assert response.status_code in {200, 201, 400, 403, 404, 409, 422}, response.text


AGENT_PATHS = {
    "/v1/tools/recall": {"query": "tea"},
    "/v1/tools/remember_fact": {"content": "tea"},
    "/v1/tools/read_tool_output": {"tool_output_key": "tout_01J9Z3K4M5N6P7Q8R9S0T1V2W3"},
    "/v1/sessions/s1/messages": {"messages": [{"role": "user", "content": "tea"}]},
    "/v1/sessions/s1/tool-outputs": {"tool_call_id": "c1", "tool_name": "t", "content": "tea"},
    "/v1/documents": {"title": "Tea", "content": "All about tea.", "media_type": "text/markdown"},
}
AGENT_FIELDS = st.sampled_from(
    [
        "query", "top_k", "source_kinds", "scope", "enable_rerank", "as_of", "known_at", "after", "before", "category",
        "project", "budget_tokens", "min_score", "explain", "why_not", "content", "idempotency_key", "tool_output_key",
        "offset", "limit", "tool_call_id", "tool_name", "event_time", "title", "media_type", "document_id", "shared",
        "content_base64", "messages", "role", "name", "meta",
    ]
)  # fmt: skip
TEXTS = st.sampled_from(["any", "user", "text/html", "<p>&#0;&#xd800;<h1>", "2026-05-02", "eA==", "# a\n\n## b\n\nc"])


@hypothesis_settings(max_examples=250)
@given(
    path=st.sampled_from(sorted(AGENT_PATHS)),
    changes=st.dictionaries(AGENT_FIELDS, JSON_VALUES | TEXTS, max_size=4),
    message=st.none() | st.dictionaries(AGENT_FIELDS, JSON_VALUES | TEXTS, max_size=3),
)
def test_no_body_ever_breaks_the_agent_tools(
    by_keyword: Served, tenant: str, path: str, changes: dict[str, object], message: dict[str, object] | None
) -> None:
    body = AGENT_PATHS[path] | changes
    if message is not None and path.endswith("/messages"):
        body = {"messages": [{"role": "user", "content": "tea"} | message]}
    content = json.dumps(body).encode("utf-8", "surrogatepass")
    with by_keyword.client(tenant) as client:
        response = client.post(path, content=content, headers={"Content-Type": "application/json"})
    assert response.status_code in {200, 201, 400, 403, 404, 422}, response.text


@pytest.mark.parametrize("path", AGENT_PATHS)
@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 422, "invalid_field"),
        (b"{", 400, "invalid_json"),
        (b"[]", 422, "invalid_field"),
        (b"null", 422, "invalid_field"),
        (b"[" * 100_000, 400, "invalid_json"),
        (b'{"\\ud800": 1}', 422, "invalid_field"),
        (b'{"a": "\xff"}', 400, "invalid_json"),
        (b"x" * 1_100_000, 413, "payload_too_large"),
    ],
)
def test_malformed_body_of_the_agent_tools_is_refused(
    ada: httpx2.Client, path: str, body: bytes, status: int, code: str
) -> None:
    if status == 413 and path.endswith("/tool-outputs"):
        status, code = 400, "invalid_json"  # It may be as long as that.
    assert_problem(ada.post(path, content=body, headers={"Content-Type": "application/json"}), status, code)


@hypothesis_settings(max_examples=150)
@given(
    name=st.sampled_from(["limit", "cursor", "profile_id", "type", "sort"]),
    value=st.text(st.characters(exclude_categories=["Cs"])),
)
def test_no_query_ever_breaks_the_server(ada: httpx2.Client, name: str, value: str) -> None:
    response = ada.get("/v1/memories", params={name: value})
    assert response.status_code in {200, 400, 422}, response.text
